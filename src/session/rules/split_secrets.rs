//! Credentials that come in pieces: the end of a text of an earlier step, and the beginning of one of this step.

use super::rule_context::RuleContext;
use super::{FindingSite, RuleId, finding};
use crate::model::{Confidence, Content, Finding, Form, Origin, Place, ReasonCode, head};

/// Bytes on either side of the seam that are looked at.
const REACH: usize = 160;
/// Shorter words are no piece of a credential, and no shorter word is one.
const MIN_PIECE: usize = 4;
/// The length that the word over the seam must have at least.
const MIN_WORD: usize = 14;
/// Seams of one step that are looked at closely.
const MAX: usize = 8;

pub(super) fn screen(context: &RuleContext<'_>, found: &mut Vec<Finding>) {
    let mut left = MAX;
    for content in context.step.contents.iter().filter(|content| carries(context, content)) {
        for end in context.facts().ends().rev() {
            let Some((joined, seam)) = joined(&end.text, &content.text) else {
                continue;
            };
            if left == 0 {
                return;
            }
            left -= 1;
            let crosses =
                |finding: &Finding| is_secret(finding) && finding.span.start < seam && seam < finding.span.end;
            let mut seen = context.examine(Origin::ToolOutput, &joined).into_iter();
            // A credential that is whole already is continued by nothing: the next text begins a word of its own.
            let secret = seen.find(crosses).filter(|_| {
                let before = joined.get(..seam).unwrap_or_default();
                let alone = context.examine(Origin::ToolOutput, before);
                !alone
                    .iter()
                    .any(|finding| is_secret(finding) && finding.span.end == before.len())
            });
            if let Some(secret) = secret {
                let begin = content.text.len() - content.text.trim_start().len();
                let span = begin..(begin + secret.span.end - seam).min(content.text.len());
                let place = end.place.describe();
                let site = FindingSite::of(content, "", &place).at(span);
                found.extend(finding(RuleId::SplitSecret, context, site));
                break;
            }
        }
    }
}

/// Returns `true` if it is a credential by its own form: one that is a credential only by a word before it continues by chance.
fn is_secret(finding: &Finding) -> bool {
    finding.reason == ReasonCode::SecretExposure
        && finding.confidence >= Confidence::Medium
        && !finding.rule.starts_with("secret.labelled_")
}

/// Returns `true` for texts that come in, or go out in a call.
fn carries(context: &RuleContext<'_>, content: &Content) -> bool {
    let origin = match context.step.kind {
        kind if kind.is_tool_answer() => Origin::ToolOutput,
        kind if kind.calls_tool() => Origin::ToolArguments,
        _ => return false,
    };
    content.origin == origin && content.place == Place::Body && content.form == Form::Text
}

/// Joins the end of one text and the beginning of another, if a word goes over the seam that can be a credential; returns the place of the seam, too.
fn joined(end: &str, text: &str) -> Option<(String, usize)> {
    let (end, text) = (end.trim_end(), text.trim_start());
    let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '=' | '.');
    let before: String = end.chars().rev().take_while(is_part).take(REACH).collect();
    let behind: String = text.chars().take_while(is_part).take(REACH).collect();
    let has_digit = before.chars().chain(behind.chars()).any(|c| c.is_ascii_digit());
    let both = before.len() >= MIN_PIECE && behind.len() >= MIN_PIECE && !is_plain_word(&behind);
    if !both || !has_digit || before.len() + behind.len() < MIN_WORD {
        return None;
    }
    let from = end.ceil_char_boundary(end.len().saturating_sub(REACH));
    let tail = end.get(from..)?;
    Some((format!("{tail}{}", head(text, REACH)), tail.len()))
}

/// Returns `true` for a word of a language, as sentences and commands begin with: letters alone, no capital but the first.
fn is_plain_word(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(char::is_alphabetic)
        && chars.all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '.' | '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_over_the_seam_that_can_be_credentials_are_looked_at() {
        assert_eq!(
            joined("the key is AB12CD34", "EF56GH78 and so on"),
            Some(("the key is AB12CD34EF56GH78 and so on".to_owned(), 19))
        );
        assert_eq!(joined("It ends here.", "And goes on."), None);
        assert_eq!(joined("sunny", "weather1"), None);
        assert_eq!(joined("https://a.example/r?token=9f8c1e0d7b", "Completed."), None);
        assert_eq!(joined("", "AB12CD34EF56GH78"), None);
    }
}
