//! The fields that ACS defines, and the origin of the words in them.

use crate::model::{Origin, Place};
use crate::wire::json::Kind;
use crate::wire::zone::{Member, Shape, Zone};

use super::Hook;

/// The meaning of the fields of an ACS object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wire) enum AcsShape {
    /// The sender of a request and its session.
    Metadata,
    /// A signature.
    Signature,
    /// The payload of a hook.
    Payload(Hook),
    /// `{type, value, provenance}`, and lists of them.
    Value,
    /// The called tool, and other members of a call that identify it: what they hold beside that is an argument.
    Tool,
    /// Names, ids and counts.
    Known,
}

impl AcsShape {
    pub(in crate::wire) fn member(self, zone: Zone, member: Member<'_, '_>) -> Option<Zone> {
        let known = zone.shaped(Shape::Acs(AcsShape::Known));
        match self {
            AcsShape::Metadata => match member.key {
                "agent_id" | "session_id" | "agent_name" | "turn_id" | "parent_turn_id" | "environment"
                | "platform" | "platform_version" | "adapter_version" | "cwd" | "transcript_path"
                | "permission_mode" => Some(zone.free()),
                "session_state" | "user_context" => Some(known),
                _ => None,
            },
            AcsShape::Signature => {
                matches!(member.key, "algorithm" | "value" | "key_id").then(|| zone.shaped(Shape::Nothing))
            }
            AcsShape::Payload(hook) => payload_member(hook, zone, member),
            AcsShape::Value => match member.key {
                "type" | "mime_type" | "provenance" | "source_id" | "score" | "provenance_id" | "entry_id" => {
                    Some(zone.known())
                }
                "value" if is_file(member) => Some(zone.shaped(Shape::FileBytes)),
                "value" => Some(zone.free()),
                _ => None,
            },
            AcsShape::Tool => {
                matches!(member.key, "name" | "version" | "provider" | "provenance").then(|| zone.known())
            }
            AcsShape::Known => matches!(
                member.key,
                "name"
                    | "version"
                    | "provider"
                    | "id"
                    | "value"
                    | "type"
                    | "origin"
                    | "provenance_id"
                    | "source_id"
                    | "derived_from"
                    | "algorithm"
                    | "digest"
                    | "ref"
                    | "skill_id"
                    | "step_id"
                    | "scope"
                    | "agent_name"
                    | "user_id"
                    | "chain_hash"
                    | "source"
                    | "model"
                    | "transcript_path"
            )
            .then_some(zone),
        }
    }

    /// Returns the zone of a member that ACS does not define here. In a call, a member that is not known to be something else is an argument.
    pub(in crate::wire) const fn undefined_member(self, zone: Zone) -> Zone {
        match self {
            AcsShape::Payload(Hook::ToolCallRequest) | AcsShape::Tool => {
                Zone::new(Shape::ArgumentValue, Origin::ToolArguments, Place::Body)
            }
            _ => zone.decoration(),
        }
    }
}

fn payload_member(hook: Hook, zone: Zone, member: Member<'_, '_>) -> Option<Zone> {
    let value = zone.shaped(Shape::Acs(AcsShape::Value));
    Some(match (hook, member.key) {
        (Hook::UserMessage | Hook::AgentResponse | Hook::MemoryStore, "content" | "entries") => value,
        (Hook::KnowledgeRetrieval | Hook::MemoryContextRetrieval, "results" | "entries") => value,
        (Hook::KnowledgeRetrieval | Hook::MemoryContextRetrieval, "query" | "keywords") => value.by(Origin::Agent),
        (Hook::ToolCallRequest, "arguments" | "raw_command") => zone.shaped(Shape::ArgumentValue),
        (Hook::ToolCallResult, "outputs" | "error") => value,
        (Hook::PostCompact | Hook::SubagentStop, "summary") => value,
        (Hook::SkillRegister, "definition" | "declared_capabilities" | "composition") => zone.free(),
        (_, "reasoning" | "agent_reasoning") => Zone::body(Origin::Reasoning),
        (Hook::ToolCallRequest, "intent") => Zone::body(Origin::Reasoning),
        (Hook::ToolCallRequest, "tool" | "operation" | "capability" | "platform" | "platform_context") => {
            zone.known().shaped(Shape::Acs(AcsShape::Tool))
        }
        (_, key) if is_known(key) => zone.known(),
        _ => return None,
    })
}

/// Returns `true` for names, ids and counts of the payloads.
fn is_known(key: &str) -> bool {
    matches!(
        key,
        "tool"
            | "operation"
            | "capability"
            | "provenance"
            | "exit_status"
            | "request_id_ref"
            | "execution_id"
            | "duration_ms"
            | "source"
            | "memory_store"
            | "trigger_type"
            | "policy_mode"
            | "platform"
            | "platform_context"
            | "turn_id"
            | "parent_turn_id"
            | "triggered_by"
            | "entries_to_compact"
            | "entries_compacted"
            | "provenance_summary"
            | "subagent_session_id"
            | "parent_session_id"
            | "parent_step_id"
            | "intent_derivation"
            | "subagent_descriptor"
            | "subagent_step_count"
            | "final_chain_hash"
            | "outcome"
            | "step_count"
            | "skill_id"
            | "digest"
            | "load_trigger"
            | "load_path"
            | "registration_ref"
            | "registration_provenance"
            | "digest_verified"
            | "replaced_by"
            | "reason"
            | "session_reason"
    )
}

/// Returns `true` if a value holds a file in base64.
fn is_file(member: Member<'_, '_>) -> bool {
    let kind = member.table.text_of(member.object, "type");
    matches!(kind.as_deref(), Some("image" | "audio" | "file")) && member.table.kind(member.value) == Kind::String
}

impl Zone {
    /// Returns the zone of names, ids and counts: the step is not about them, and they have no author.
    const fn known(self) -> Self {
        Self::new(
            Shape::Acs(AcsShape::Known),
            self.decoration().origin,
            Place::Surroundings,
        )
    }
}
