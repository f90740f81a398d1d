//! The thoughts that some models write before their answer, in every form in which they mark them.

use super::AnswerError;
use crate::model::head;

/// The marks of models around the thoughts that they write before their answer, other than an element (`<think>…</think>`).
const THOUGHTS: [(&str, &str); 3] = [
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
];
/// The names of elements that hold thoughts, of which only the end is written: some templates open them in the prompt.
const THINKING: [&str; 7] = [
    "think",
    "thinking",
    "thought",
    "reasoning",
    "analysis",
    "reflection",
    "scratchpad",
];

/// Returns what follows the thoughts that some models write before their answer: any elements at its beginning.
///
/// Thoughts may hold a draft of the answer, canary and all: if they do not end, there is no answer.
pub(super) fn after_thoughts<'a>(reply: &'a str, canary: &str) -> Result<&'a str, AnswerError> {
    let mut rest = reply.trim_start();
    while let Some(end) = end_of_opening(rest) {
        let at = rest.to_ascii_lowercase().find(&end).ok_or(AnswerError::OnlyThoughts)?;
        rest = rest.get(at + end.len()..).unwrap_or_default().trim_start();
    }
    // Not every mark of an end closes thoughts: a reply that begins as an answer quotes it, and what has been answered before
    // it is not thrown away.
    if !rest.starts_with(['{', '`']) {
        let small = rest.to_ascii_lowercase();
        let elements = THINKING.iter().map(|name| format!("</{name}>"));
        let ends = elements.chain(THOUGHTS.iter().map(|(_, end)| (*end).to_owned()));
        let last = ends.filter_map(|end| small.find(&end).map(|at| at + end.len())).min();
        if let Some((thoughts, answer)) = last.and_then(|at| rest.split_at_checked(at))
            && !thoughts.contains(canary)
        {
            return Ok(answer);
        }
    }
    Ok(rest)
}

/// Returns the mark that ends the thoughts with which a reply begins, in small letters.
fn end_of_opening(reply: &str) -> Option<String> {
    let head = head(reply, 64).to_ascii_lowercase();
    if let Some((_, end)) = THOUGHTS.iter().find(|(begin, _)| head.starts_with(begin)) {
        return Some((*end).to_owned());
    }
    let name = head.strip_prefix('<')?.split('>').next()?.trim();
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-'));
    (is_name && head.contains('>')).then(|| format!("</{name}>"))
}
