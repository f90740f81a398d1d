//! Parts of messages and files, in the spellings of AOS, A2A 0.x and 1.0, AgentVault and MCP.

use super::json::{Kind, Table};
use super::zone::{Member, Shape, Zone};

/// The meaning of the fields of an object in a list of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartShape {
    /// A part: text, data or a file.
    Part,
    /// The file of a file part, or an embedded resource.
    File,
    /// MCP annotations of a part.
    Annotations,
}

impl PartShape {
    /// Returns the zone of parts by the author of this zone.
    pub(super) const fn parts(zone: Zone) -> Zone {
        zone.shaped(Shape::Part(PartShape::Part))
    }

    pub(super) fn member(self, zone: Zone, member: Member<'_, '_>) -> Option<Zone> {
        match self {
            PartShape::Part => part_member(zone, member),
            PartShape::File => file_member(zone, member),
            PartShape::Annotations => annotation_member(zone, member),
        }
    }
}

fn part_member(zone: Zone, member: Member<'_, '_>) -> Option<Zone> {
    Some(match member.key {
        "kind" | "type" | "mimeType" | "mediaType" | "id" | "toolUseId" | "lastModified" | "size" => zone.tie(member),
        "text" | "url" | "uri" | "name" | "filename" | "title" | "description" => zone.free(),
        // AgentVault: `content` is a text part's text or a data part's data. MCP: a tool result's own parts.
        "content" if is_of_kind(member, &["tool_result"]) => PartShape::parts(zone),
        "content" | "structuredContent" | "input" => zone.free(),
        "data" if is_of_kind(member, &["image", "audio", "file", "video"]) => file_bytes(zone, member),
        "data" => zone.free(),
        "raw" | "bytes" | "blob" => file_bytes(zone, member),
        "file" | "resource" => zone.shaped(Shape::Part(PartShape::File)),
        "annotations" => zone.shaped(Shape::Part(PartShape::Annotations)),
        "metadata" | "_meta" => zone.decoration(),
        _ => return None,
    })
}

fn file_member(zone: Zone, member: Member<'_, '_>) -> Option<Zone> {
    Some(match member.key {
        "mimeType" | "mediaType" | "id" | "kind" | "type" | "lastModified" | "size" => zone.tie(member),
        "name" | "filename" | "uri" | "url" | "fileWithUri" | "title" | "description" | "text" => zone.free(),
        "bytes" | "data" | "raw" | "blob" | "fileWithBytes" => file_bytes(zone, member),
        "annotations" => zone.shaped(Shape::Part(PartShape::Annotations)),
        "metadata" | "_meta" => zone.decoration(),
        _ => return None,
    })
}

fn annotation_member(zone: Zone, member: Member<'_, '_>) -> Option<Zone> {
    matches!(member.key, "audience" | "priority" | "lastModified").then(|| zone.tie(member))
}

/// Returns the zone of bytes, which are a string; anything else under that name is data like any other.
fn file_bytes(zone: Zone, member: Member<'_, '_>) -> Zone {
    if member.table.kind(member.value) == Kind::String {
        zone.shaped(Shape::FileBytes)
    } else {
        zone.free()
    }
}

fn is_of_kind(member: Member<'_, '_>, kinds: &[&str]) -> bool {
    let table: &Table<'_> = member.table;
    ["kind", "type"]
        .iter()
        .filter_map(|name| table.text_of(member.object, name))
        .any(|kind| kinds.contains(&kind.as_ref()))
}
