//! Credentials in names and ids: in the id of a request, which is no content of the step, and inside a longer name, where rules for
//! texts do not look (`get_AKIA…`). Sessions, records and prompts tell of these names, so what they hold is withheld.

use std::ops::Range;

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
/// Where words are joined to one name.
const JOINTS: [char; 4] = ['_', '.', '/', ':'];
/// Words before a run of letters and digits, and behind it, with which it may be one credential (`sk_live_…`, a token of three
/// pieces).
const AROUND: (usize, usize) = (3, 2);

/// Finds the credentials that stand in names and ids of a step.
pub(super) fn credentials(prefilters: &Prefilters, step: &Step, policy: &Policy) -> Vec<String> {
    let mut names: Vec<&str> = names(step).filter(|name| may_hold_one(name)).take(MAX).collect();
    names.sort_unstable();
    names.dedup();
    let mut found = Vec::new();
    for name in names {
        let end = name.floor_char_boundary(MAX_LEN);
        let name = name.get(..end).unwrap_or_default();
        // Where words are joined, a credential is one of them; some credentials hold the joint.
        for text in [name.to_owned(), name.replace(JOINTS, " "), pieces(name).join("\n")] {
            let seen = prefilters.examine(step, Origin::ToolOutput, &text, policy).into_iter();
            let secrets = seen.filter(|finding| finding.reason == ReasonCode::SecretExposure);
            let secrets = secrets.filter_map(|secret| text.get(secret.span));
            found.extend(secrets.flat_map(str::lines).map(str::to_owned));
        }
    }
    found
}

/// What of a name may be one credential: each run of letters and digits with some of the words that it is joined to.
fn pieces(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    for word in name.split(JOINTS) {
        words.push(start..start + word.len());
        start += word.len() + 1;
    }
    let mut pieces = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if !name.get(word.clone()).is_some_and(may_hold_one) {
            continue;
        }
        let starts = words.get(at.saturating_sub(AROUND.0)..=at).unwrap_or_default();
        let ends = words.iter().skip(at).take(AROUND.1 + 1);
        let piece = |start: &Range<usize>, end: &Range<usize>| name.get(start.start..end.end);
        pieces.extend(ends.flat_map(|end| starts.iter().filter_map(move |start| piece(start, end))));
    }
    pieces
}

/// Returns the names and ids that sessions and records tell of. Other ids are contents of the step, and were examined as such.
fn names(step: &Step) -> impl Iterator<Item = &str> {
    let of_call = step.tool_call.iter().flat_map(|call| {
        let arguments = call.arguments.iter().map(|argument| argument.name.as_str());
        std::iter::once(call.tool.as_str()).chain(arguments)
    });
    step.ties.request.as_deref().into_iter().chain(of_call)
}

/// Returns `true` if a name has a run of letters and digits as credentials do: no word, and no number in hexadecimal.
fn may_hold_one(name: &str) -> bool {
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|run| {
        run.len() >= MIN_LEN
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| !byte.is_ascii_hexdigit())
    })
}
