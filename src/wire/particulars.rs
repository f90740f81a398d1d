//! Which of the contents around a step's body tell what the step is, whatever the protocol.

use crate::model::{Content, Form, Particular, Place};

/// Particulars of one step.
const MOST: usize = 16;

/// The particulars among these contents, in their order.
pub(super) fn of(contents: &[Content]) -> Vec<Particular> {
    let told = contents.iter().filter(|content| {
        content.place == Place::Surroundings && content.form != Form::Key && !content.text.trim().is_empty()
    });
    told.filter_map(|content| {
        let what = what(content.pointer.as_str())?;
        Some(Particular {
            what,
            content: content.id,
        })
    })
    .take(MOST)
    .collect()
}

/// What stands at this place, if it is a particular.
fn what(pointer: &str) -> Option<&'static str> {
    let (parent, last) = pointer.rsplit_once('/')?;
    let of = parent.rsplit('/').next().unwrap_or_default();
    match (of, last) {
        // The method of the envelope is no content.
        (_, "method") => Some("method of the message inside"),
        ("trigger", "type") => Some("trigger"),
        ("event", "type") => Some("event"),
        ("user", "name") => Some("user"),
        ("organization", "name") if parent.ends_with("/user/organization") => Some("user's organisation"),
        (_, "includeContext") => Some("includeContext"),
        ("params", "mode") => Some("mode"),
        (_, "id") => {
            let grandparent = parent.rsplit('/').nth(1);
            (grandparent == Some("results")).then_some("document")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_what_a_step_is_is_known_by_its_place() {
        for (pointer, expected) in [
            ("/params/message/method", Some("method of the message inside")),
            ("/params/trigger/type", Some("trigger")),
            ("/params/trigger/event/type", Some("event")),
            ("/params/context/user/name", Some("user")),
            ("/params/context/user/organization/name", Some("user's organisation")),
            ("/params/context/agent/organization/name", None),
            ("/params/message/params/includeContext", Some("includeContext")),
            ("/params/knowledgeStep/results/3/id", Some("document")),
            ("/params/context/session/id", None),
            ("/params/context/timestamp", None),
        ] {
            assert_eq!(what(pointer), expected, "{pointer}");
        }
    }
}
