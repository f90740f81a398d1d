//! Checks that a modified message differs from the message that was judged only where it may.

use super::json::Json;

/// Members that identify the message and its kind. A message in which they are changed is another one.
const FIXED: &[&str] = &[
    "jsonrpc",
    "id",
    "method",
    "taskId",
    "contextId",
    "messageId",
    "artifactId",
    "kind",
    "type",
    "role",
    "state",
    "executionId",
    "toolId",
];

/// Returns `true` if two messages are the same but for strings that may be modified.
pub(super) fn differs_in_strings_only(before: &Json, after: &Json) -> bool {
    match (before, after) {
        (Json::Text(_), Json::Text(_)) => true,
        (Json::Array(before), Json::Array(after)) => {
            before.len() == after.len()
                && before
                    .iter()
                    .zip(after)
                    .all(|(before, after)| differs_in_strings_only(before, after))
        }
        (Json::Object(before), Json::Object(after)) => {
            before.len() == after.len()
                && before.iter().zip(after).all(|((name, before), (same, after))| {
                    let fixed = FIXED.contains(&name.as_str());
                    name == same
                        && if fixed {
                            before == after
                        } else {
                            differs_in_strings_only(before, after)
                        }
                })
        }
        _ => before == after,
    }
}
