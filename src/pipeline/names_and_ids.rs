//! Credentials in names and ids: in the id of a request, which is no content of the step, and inside a longer name, where rules for
//! texts do not look (`get_AKIA…`). Sessions and records tell of these names, so what they hold is withheld.

use crate::model::{Origin, ReasonCode, Step};
use crate::policy::Policy;
use crate::prefilter::Prefilters;
use crate::session::rules::TextScreener;

/// Letters and digits in a row from which on they may be a credential.
const MIN_LEN: usize = 16;
/// Names of one step that are looked at.
const MAX: usize = 16;
/// Bytes of a name that are looked at.
const MAX_LEN: usize = 1024;

/// The credentials that stand in names and ids of a step.
pub(super) fn credentials(prefilters: &Prefilters, step: &Step, policy: &Policy) -> Vec<String> {
    let mut names: Vec<&str> = names(step).filter(|name| may_hold_one(name)).take(MAX).collect();
    names.sort_unstable();
    names.dedup();
    let mut found = Vec::new();
    for name in names {
        let end = name.floor_char_boundary(MAX_LEN);
        let name = name.get(..end).unwrap_or_default();
        // Where words are joined, a credential is one of them; some credentials hold the joint.
        for text in [name.to_owned(), name.replace(['_', '.', '/', ':'], " ")] {
            let seen = prefilters.examine(step, Origin::ToolOutput, &text, policy).into_iter();
            let secrets = seen.filter(|finding| finding.reason == ReasonCode::SecretExposure);
            found.extend(secrets.filter_map(|secret| name.get(secret.span).map(str::to_owned)));
        }
    }
    found
}

/// The names and ids that sessions and records tell of. Other ids are contents of the step, and were examined as such.
fn names(step: &Step) -> impl Iterator<Item = &str> {
    let of_call = step.tool_call.iter().flat_map(|call| {
        let arguments = call.arguments.iter().map(|argument| argument.name.as_str());
        std::iter::once(call.tool.as_str()).chain(arguments)
    });
    step.ties.request.as_deref().into_iter().chain(of_call)
}

/// Whether a name has a run of letters and digits as credentials do: no word, and no number in hexadecimal.
fn may_hold_one(name: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| {
        run.len() >= MIN_LEN
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| !byte.is_ascii_hexdigit())
    })
}
