//! Findings as the judge gets to see them: as evidence, the gravest first, each with the words that it is about.
//!
//! One line for each rule, all of them inside one fence: explanations and quotations repeat words of the request. Findings around the step — in the
//! agent's own description, in ids — are the same at every step of a session and say little about this one: they have one line, the last.

use std::collections::BTreeSet;
use std::ops::Range;

use super::fence::Fence;
use super::{PromptInput, tokens};
use crate::model::{Content, Finding, Origin, Place, ReasonCode, Severity, Treatment, View, head};
use crate::text::views;

/// Lines of findings.
const MAX_LINES: usize = 12;
/// The number of lines after which findings that are mere information are left out.
const LINES_BEFORE_INFO: usize = 3;
/// Quotations of one rule: the tenth address says no more than the third.
const MAX_QUOTED: usize = 3;
/// Contents that one rule lists.
const MAX_NAMED: usize = 12;
/// Characters of a quotation.
const MAX_EXCERPT: usize = 150;
/// Characters of a quotation that stands for a whole content: that one is shown.
const MAX_OF_WHOLE: usize = 60;
/// Characters of a secret that are quoted. The content itself is shown as it is: the judge has to be able to tell a
/// credential from a placeholder, and to name it in an edit.
const MAX_OF_SECRET: usize = 4;
/// Bytes by which a quotation is extended to end with a word.
const MAX_TO_WORD: usize = 24;

/// A finding, with its treatment by the policy.
pub(super) type Admitted<'a> = (&'a Finding, Treatment);

/// Findings as they are shown.
pub(super) struct Evidence {
    /// Fenced; empty when there are none.
    pub(super) fenced: String,
    /// Findings that are not listed.
    pub(super) more: usize,
}

/// Returns the findings that the judge is told about: those that the policy does not ignore, the gravest first; findings around the step come after
/// those in it.
pub(super) fn admitted<'a>(input: &PromptInput<'a>) -> Vec<Admitted<'a>> {
    let mut admitted: Vec<Admitted<'_>> = input
        .findings
        .iter()
        .map(|finding| (finding, input.policy.treatment(finding, input.step)))
        .filter(|(_, treatment)| *treatment != Treatment::Ignore)
        .collect();
    admitted.sort_by_key(|(finding, treatment)| {
        let around = is_around(finding, input);
        (
            around,
            std::cmp::Reverse((finding.severity, finding.confidence, *treatment)),
        )
    });
    admitted
}

/// Returns `true` if the finding is around the step.
pub(super) fn is_around(finding: &Finding, input: &PromptInput<'_>) -> bool {
    content_of(finding, input).is_some_and(|content| content.place == Place::Surroundings)
}

/// Returns `true` if a finding around the step is worth a word: an agent's own words steer no other agent, and names are everywhere.
pub(super) fn tells(finding: &Finding, input: &PromptInput<'_>) -> bool {
    let own = content_of(finding, input).is_some_and(|content| content.origin == Origin::Instructions);
    let least = if own { Severity::High } else { Severity::Medium };
    finding.severity >= least && finding.reason != ReasonCode::PersonalData
}

/// Lists the findings within so many tokens.
pub(super) fn listed(admitted: &[Admitted<'_>], input: &PromptInput<'_>, fence: &Fence<'_>, room: usize) -> Evidence {
    let mut list = List {
        lines: Vec::new(),
        told: 0,
        left: room,
    };
    for group in groups(admitted, input) {
        let Some((first, _)) = group.first() else { continue };
        let beside_the_point = first.severity == Severity::Info && list.lines.len() >= LINES_BEFORE_INFO;
        if list.lines.len() >= MAX_LINES || beside_the_point {
            continue;
        }
        if !list.push(line(&group, input, fence), group.len()) {
            break;
        }
    }
    let around: Vec<Admitted<'_>> = admitted
        .iter()
        .filter(|(finding, _)| is_around(finding, input))
        .copied()
        .collect();
    let telling: Vec<Admitted<'_>> = around
        .iter()
        .filter(|(finding, _)| tells(finding, input))
        .copied()
        .collect();
    // The number of those that are not worth a word is not told.
    list.told += around.len() - telling.len();
    if !telling.is_empty() {
        list.push(summary(&telling, input, fence), telling.len());
    }
    let fenced = match list.lines.as_slice() {
        [] => String::new(),
        lines => fence.element("findings", "", &lines.join("\n")),
    };
    Evidence {
        fenced,
        more: admitted.len().saturating_sub(list.told),
    }
}

/// Lines within a room.
struct List {
    lines: Vec<String>,
    /// The number of findings that they report.
    told: usize,
    left: usize,
}

impl List {
    /// Adds a line; returns `true` if there was room for it.
    fn push(&mut self, line: String, findings: usize) -> bool {
        let costs = tokens::estimate(&line) + 1;
        if costs > self.left {
            return false;
        }
        self.left -= costs;
        self.told += findings;
        self.lines.push(line);
        true
    }
}

/// Groups the findings in the step: those of one rule and treatment together; personal data that is not masked all together.
fn groups<'a>(admitted: &[Admitted<'a>], input: &PromptInput<'_>) -> Vec<Vec<Admitted<'a>>> {
    let mut groups: Vec<Vec<Admitted<'_>>> = Vec::new();
    for (finding, treatment) in admitted.iter().filter(|(finding, _)| !is_around(finding, input)) {
        let ordinary = |(finding, treatment): &Admitted<'_>| {
            finding.reason == ReasonCode::PersonalData && *treatment == Treatment::Evidence
        };
        let same = |group: &&mut Vec<Admitted<'_>>| {
            group.first().is_some_and(|(first, first_treatment)| {
                let alike = first.rule == finding.rule && first_treatment == treatment;
                alike || (ordinary(&(finding, *treatment)) && ordinary(&(first, *first_treatment)))
            })
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push((finding, *treatment)),
            None => groups.push(vec![(finding, *treatment)]),
        }
    }
    groups
}

/// Writes a line about the findings of one group.
fn line(group: &[Admitted<'_>], input: &PromptInput<'_>, fence: &Fence<'_>) -> String {
    let Some((first, treatment)) = group.first() else {
        return String::new();
    };
    let rules: BTreeSet<&str> = group.iter().map(|(finding, _)| finding.rule.as_str()).collect();
    let rules: Vec<String> = rules.into_iter().map(|rule| fence.inline(rule)).collect();
    let mut line = format!(
        "{} ({}, {}, {} confidence",
        rules.join(", "),
        fence.inline(first.reason.as_str()),
        first.severity,
        first.confidence
    );
    if *treatment != Treatment::Evidence {
        line.push_str(&format!(", treatment {treatment}"));
    }
    line.push_str(&format!("): {}", fence.shortened(&first.explanation)));
    let mut quoted: BTreeSet<String> = BTreeSet::new();
    // Of several rules in one line each has its own words.
    let most = if rules.len() > 1 { 2 * MAX_QUOTED } else { MAX_QUOTED };
    for (finding, _) in group {
        if quoted.len() >= most {
            break;
        }
        let words = words(finding, input, fence);
        if !words.is_empty() && quoted.insert(words.clone()) {
            line.push_str(&format!(" | {words}"));
        }
    }
    let unquoted = group.len().saturating_sub(quoted.len());
    if unquoted > 0 && !quoted.is_empty() {
        line.push_str(&format!(" | {unquoted} more{}", named(group, input)));
    }
    line
}

/// Returns one line about the findings around the step; the gravest with their words.
fn summary(telling: &[Admitted<'_>], input: &PromptInput<'_>, fence: &Fence<'_>) -> String {
    let mut line = "around the step, and so at every step:".to_owned();
    let mut rules: BTreeSet<&str> = BTreeSet::new();
    for (finding, _) in telling {
        if rules.len() >= MAX_QUOTED && !rules.contains(finding.rule.as_str()) {
            break;
        }
        if rules.insert(&finding.rule) {
            let words = words(finding, input, fence);
            line.push_str(&format!(" | {} {words}", fence.inline(&finding.rule)));
        }
    }
    line
}

/// Names the contents that a group is about: ` in c3, c7`.
fn named(group: &[Admitted<'_>], input: &PromptInput<'_>) -> String {
    let ids: BTreeSet<_> = group
        .iter()
        .filter_map(|(finding, _)| content_of(finding, input))
        .map(|content| content.id)
        .collect();
    let names: Vec<String> = ids.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!(" in {}", names.join(", ")),
    }
}

/// Returns the content that a finding is about, if it is shown at all.
fn content_of<'a>(finding: &Finding, input: &PromptInput<'a>) -> Option<&'a Content> {
    let content = finding.content.and_then(|id| input.step.content(id));
    content.filter(|content| input.reasoning.shows(content.origin))
}

/// Returns the bytes of a content's text that a finding is about, on character borders and within the text.
pub(super) fn span(finding: &Finding, content: &Content) -> Range<usize> {
    let text = &content.text;
    let start = text.floor_char_boundary(finding.span.start);
    let end = text.ceil_char_boundary(finding.span.end.min(text.len()));
    start..end.max(start)
}

/// Quotes the words that a finding is about, with their place.
fn words(finding: &Finding, input: &PromptInput<'_>, fence: &Fence<'_>) -> String {
    if let Some(content) = content_of(finding, input) {
        let quoted = excerpt(finding, content, fence);
        return format!("of=\"{}\"{quoted}", content.id);
    }
    // A number among the arguments is no content.
    let mut arguments = input.step.tool_call.iter().flat_map(|call| &call.arguments);
    match arguments.find(|argument| argument.pointer == finding.pointer) {
        Some(argument) if finding.content.is_none() => {
            format!("{} = {}", fence.quoted(&argument.name), fence.quoted(&argument.json))
        }
        _ => String::new(),
    }
}

/// Returns a quotation, with a space before it; empty if there is nothing to quote.
fn excerpt(finding: &Finding, content: &Content, fence: &Fence<'_>) -> String {
    let span = span(finding, content);
    let raw = content.text.get(span.clone()).unwrap_or_default();
    let decoded = match finding.view {
        View::Decoded | View::Json => innermost(raw),
        View::Raw | View::Normalized | View::Folded | View::Hidden | View::Structure => None,
    };
    let secret = finding.reason == ReasonCode::SecretExposure;
    let most = if secret {
        MAX_OF_SECRET
    } else if span.len() == content.text.len() && decoded.is_none() {
        MAX_OF_WHOLE
    } else {
        MAX_EXCERPT
    };
    let text = match &decoded {
        Some(decoded) => decoded.as_str(),
        None if secret => raw,
        None => content.text.get(to_words(&content.text, span)).unwrap_or(raw),
    };
    if text.is_empty() {
        return String::new();
    }
    let quoted = fence.quoted(&cut_to_words(text, most));
    match decoded {
        Some(_) => format!(" decoded {quoted}"),
        None => format!(" {quoted}"),
    }
}

/// Decodes an encoded piece of text, all layers taken off.
fn innermost(raw: &str) -> Option<String> {
    /// Bytes that are looked at.
    const MAX: usize = 8 * 1024;
    let decoded = views::decoded(head(raw, MAX)).pop()?;
    Some(decoded.text().trim_end().to_owned())
}

/// Extends a span so that it neither begins nor ends within a word, as far as the words are short.
fn to_words(text: &str, span: Range<usize>) -> Range<usize> {
    let inside = text.get(span.clone()).unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    let after = text.get(span.end..).unwrap_or_default();
    let (mut start, mut end) = (span.start, span.end);
    if inside.starts_with(char::is_alphanumeric) {
        let rest = before.trim_end_matches(char::is_alphanumeric).len();
        start = if span.start - rest <= MAX_TO_WORD { rest } else { start };
    }
    if inside.ends_with(char::is_alphanumeric) {
        let rest = after.len() - after.trim_start_matches(char::is_alphanumeric).len();
        end = if rest <= MAX_TO_WORD { end + rest } else { end };
    }
    start..end
}

/// Returns so many characters of a text at most, with a mark where something is missing; a text that is cut ends with a word if it can.
fn cut_to_words(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let head = text.get(..end).unwrap_or_default();
    let whole = head.rfind(char::is_whitespace).filter(|at| *at + MAX_TO_WORD >= end);
    format!("{}…", head.get(..whole.unwrap_or(end)).unwrap_or(head).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_end_with_words_and_say_where_they_were_cut() {
        let text = "please transfer everything";
        assert_eq!(&text[to_words(text, 9..13)], "transfer");
        assert_eq!(&text[to_words(text, 0..6)], "please");
        assert_eq!(cut_to_words(text, 18), "please transfer…");
        assert_eq!(cut_to_words("abcdefgh", 4), "abcd…");
        assert_eq!(cut_to_words("abc", 4), "abc");
    }
}
