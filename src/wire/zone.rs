//! Zones: the origin of the words at each place.
//!
//! Every node of a request lies in a zone, which says who wrote it, whether the step is about it, and what the fields below it mean. A protocol names
//! the fields it defines; everything else is data with names of its own, and those names are contents too. One walk ([`super::walk`]) applies this to
//! every node, so that no string can be forgotten.

use crate::model::{Origin, Place};

use super::identifier::{is_identifier, words_of_all};
use super::json::{NodeId, Table};
use super::part::PartShape;
use super::{a2a, acs, aos, mcp};

/// Words that the identifiers of one member may have together: more may say something.
const MAX_WORDS: usize = 6;

/// The meaning of the fields below a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Data with no field that a protocol defines.
    Free,
    /// Not content: `jsonrpc`, `id` and `method` of the envelope.
    Nothing,
    /// The members of a request.
    Envelope,
    /// A file in base64.
    FileBytes,
    /// The value of a tool's argument; its label is the argument's name.
    ArgumentValue,
    /// A part of a message.
    Part(PartShape),
    /// A field of AOS.
    Aos(aos::AosShape),
    /// A field of A2A or AgentVault.
    A2a(a2a::A2aShape),
    /// A field of MCP.
    Mcp(mcp::McpShape),
    /// A field of ACS.
    Acs(acs::AcsShape),
}

/// The author of a node, whether the step is about it, and the meaning of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Zone {
    pub(super) shape: Shape,
    pub(super) origin: Origin,
    pub(super) place: Place,
}

/// A member of an object whose zone is asked for.
#[derive(Clone, Copy)]
pub(super) struct Member<'t, 'j> {
    pub(super) table: &'t Table<'j>,
    /// The object.
    pub(super) object: NodeId,
    /// The member's name.
    pub(super) key: &'t str,
    /// The member's value.
    pub(super) value: NodeId,
}

impl Zone {
    pub(super) const fn new(shape: Shape, origin: Origin, place: Place) -> Self {
        Self { shape, origin, place }
    }

    /// Returns the zone of words of this origin that the step is about.
    pub(super) const fn body(origin: Origin) -> Self {
        Self::new(Shape::Free, origin, Place::Body)
    }

    /// Returns the same zone with other fields.
    pub(super) const fn shaped(self, shape: Shape) -> Self {
        Self::new(shape, self.origin, self.place)
    }

    /// Returns the zone of data or plain text by the author of this zone.
    pub(super) const fn free(self) -> Self {
        self.shaped(Shape::Free)
    }

    /// Returns the zone of an id, a discriminator, a timestamp: part of the protocol rather than of the content.
    pub(super) const fn aside(self) -> Self {
        Self::new(Shape::Free, self.origin, Place::Surroundings)
    }

    /// The zone of a member that ties or qualifies. Where words stand in the place of an identifier, the step is about them too.
    pub(super) fn tie(self, member: Member<'_, '_>) -> Self {
        let table = member.table;
        let names = |node| {
            let text = table.text(node).is_none_or(|text| {
                // The longest of the protocols' own words.
                is_identifier(text.strip_prefix("TASK_STATE_").unwrap_or(&text))
            });
            text && table.key(node).is_none_or(|key| is_identifier(&key))
        };
        let say_little = || {
            let below = table
                .below(member.value)
                .flat_map(|node| [table.text(node), table.key(node)]);
            let texts: Vec<_> = below.flatten().collect();
            words_of_all(texts.iter().map(|text| &**text)) <= MAX_WORDS
        };
        // One identifier alone says little.
        if names(member.value) && table.below(member.value).all(names) && say_little() {
            self.aside()
        } else {
            self.free()
        }
    }

    /// Returns the same place, in the words of another.
    pub(super) const fn by(self, origin: Origin) -> Self {
        Self::new(self.shape, origin, self.place)
    }

    /// Returns the zone of metadata and of fields that no protocol defines. What decorates words from outside comes from outside too; of the rest the
    /// author is unknown, so it carries no authority.
    pub(super) const fn decoration(self) -> Self {
        let origin = if self.origin.is_external() {
            self.origin
        } else {
            Origin::Unknown
        };
        Self::new(Shape::Free, origin, self.place)
    }

    /// Returns the zone of a member that the protocol defines here; `None` for any other.
    pub(super) fn member(self, member: Member<'_, '_>) -> Option<Zone> {
        match self.shape {
            Shape::Free | Shape::Nothing | Shape::FileBytes | Shape::ArgumentValue => None,
            Shape::Envelope => match member.key {
                "jsonrpc" | "id" | "method" => Some(self.shaped(Shape::Nothing)),
                _ => None,
            },
            Shape::Part(shape) => shape.member(self, member),
            Shape::Aos(shape) => shape.member(self, member),
            Shape::A2a(shape) => shape.member(self, member),
            Shape::Mcp(shape) => shape.member(self, member),
            Shape::Acs(shape) => shape.member(self, member),
        }
    }

    /// Returns the zone of a member that no protocol defines here.
    pub(super) fn undefined_member(self) -> Zone {
        match self.shape {
            Shape::Free | Shape::ArgumentValue => self,
            Shape::Aos(shape) => shape.undefined_member(self),
            Shape::Mcp(shape) => shape.undefined_member(self),
            Shape::Acs(shape) => shape.undefined_member(self),
            Shape::Nothing | Shape::Envelope | Shape::FileBytes | Shape::Part(_) | Shape::A2a(_) => self.decoration(),
        }
    }
}

/// Nodes that a decoder has found and whose zones it knows better than the fields above them, in document order.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    anchors: Vec<(NodeId, Zone)>,
}

impl Anchors {
    /// Puts a node into a zone.
    pub(super) fn set(&mut self, node: NodeId, zone: Zone) {
        self.anchors.push((node, zone));
    }

    /// Returns the anchors in document order; of two on one node the first set counts.
    pub(super) fn into_sorted(mut self) -> Vec<(NodeId, Zone)> {
        self.anchors.sort_by_key(|(node, _)| *node);
        self.anchors.dedup_by_key(|(node, _)| *node);
        self.anchors
    }
}
