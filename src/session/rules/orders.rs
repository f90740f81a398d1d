//! Texts without authority that tell software what to do.

use super::scene::Scene;
use super::{Sighting, finding};
use crate::model::{Confidence, Content, Finding, Form, Origin, Place, ReasonCode};
use crate::session::orders::{self, Strength};

/// Findings of one step.
const MOST: usize = 6;
/// Contents of one step that are read.
const MOST_CONTENTS: usize = 256;

pub(super) fn screen(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    let read = scene.step.contents.iter().filter(|content| is_read(content));
    for content in read.take(MOST_CONTENTS) {
        let mut worst = None;
        for passage in orders::passages(&content.text) {
            let Some(strength) = passage.strength() else { continue };
            if worst.as_ref().is_none_or(|(known, _)| *known < strength) {
                worst = Some((strength, passage.span));
            }
        }
        let Some((strength, span)) = worst else { continue };
        if found.len() >= MOST {
            return;
        }
        let rule = match strength {
            Strength::Protective => continue,
            Strength::Quiet => "quiet_request",
            Strength::Forged => "forged_turns",
            Strength::Addressed => "order_to_software",
            Strength::Secret => "order_in_secret",
        };
        let sighting = Sighting {
            content: Some(content.id),
            pointer: content.pointer.clone(),
            span,
            what: "the text",
            place: content.origin.as_str(),
        };
        let mut told = finding(rule, scene, sighting);
        if let Some(told) = &mut told {
            told.reason = reason(content.origin);
            // What is remembered is obeyed later, when nobody looks.
            if strength == Strength::Quiet && content.origin == Origin::Memory {
                told.confidence = Confidence::Medium;
            }
        }
        found.extend(told);
    }
}

fn is_read(content: &Content) -> bool {
    content.origin.is_external()
        && content.place == Place::Body
        && content.form != Form::Key
        && content.text.len() >= 24
}

fn reason(origin: Origin) -> ReasonCode {
    match origin {
        Origin::Memory => ReasonCode::MemoryPoisoning,
        Origin::ToolDescription => ReasonCode::ToolPoisoning,
        Origin::Instructions
        | Origin::User
        | Origin::Agent
        | Origin::Reasoning
        | Origin::ToolArguments
        | Origin::ToolOutput
        | Origin::Knowledge
        | Origin::RemoteAgent
        | Origin::Trigger
        | Origin::Unknown => ReasonCode::PromptInjection,
    }
}
