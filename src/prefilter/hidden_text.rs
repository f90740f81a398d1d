//! Text that a person does not see and a model reads: invisible characters, reversed order, hidden markup, terminal codes.

use crate::prefilter::words::hidden_text::MARKUP_WORDS;
use std::ops::Range;

use super::injected_instruction::{Likelihood, likelihood};
use super::{Prefilter, Subject, Word};
use crate::model::{Finding, View};
use crate::prefilter::engine::{family, rule_keys};
use crate::text::bytes::{ByteClasses, next};
use crate::text::expression::expressions;
use crate::text::views::{Layer, MIN_BITS, escape_sequence_length, is_digit, is_zero_width, selector_byte};

/// More findings of one rule in one view say nothing new.
const MAX: usize = 16;

rule_keys! {
    /// Its rules.
    enum At {
        Tags = "tags",
        Selectors = "selectors",
        ZeroWidthRun = "zero_width_run",
        SplitWords = "split_words",
        Override = "override",
        Markup = "markup",
        MarkupInstruction = "markup_instruction",
        TerminalEscape = "terminal_escape",
    }
}

family! {
    /// The family.
    HiddenText of At = "hidden_text", Obfuscation, Words
}

impl Prefilter for HiddenText {
    fn words(&self) -> Vec<Word> {
        MARKUP_WORDS.iter().map(|word| Word::any_case(*word)).collect()
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        for view in subject.views.as_written() {
            let whole = 0..view.text().len();
            match view.layers().last().filter(|_| view.view() == View::Hidden) {
                Some(Layer::Tags) => found.push(self.rules.titled(At::Tags, subject, view, whole)),
                Some(Layer::Selectors) => found.push(self.rules.titled(At::Selectors, subject, view, whole)),
                _ => {}
            }
            if view.view() == View::Normalized {
                continue;
            }
            if !view.kinds().is_ascii() {
                for (at, span) in invisible(view.text()) {
                    found.push(self.rules.titled(at, subject, view, span));
                }
                for span in overrides(view.text()).into_iter().take(MAX) {
                    found.push(self.rules.titled(At::Override, subject, view, span));
                }
            }
            if view.kinds().has(ByteClasses::ODD_CONTROL.or(ByteClasses::BEYOND_ASCII)) {
                for span in terminal_escapes(view.text()).into_iter().take(MAX) {
                    found.push(self.rules.titled(At::TerminalEscape, subject, view, span));
                }
            }
        }
        for view in subject.views.folded() {
            if subject.hits(view).next().is_none() {
                continue;
            }
            let hidden = hidden_markup(view.text());
            let before = found.len();
            for span in hidden.into_iter().chain(asides(view.text())) {
                if found.len() - before >= 4 * MAX {
                    break;
                }
                let whole = view.text().get(span.clone()).unwrap_or_default();
                match likelihood(inner(whole)) {
                    Likelihood::None => {}
                    // What honest pages hide tells people what to do as well.
                    Likelihood::Possible if whole.starts_with("<noscript") || whole.starts_with("<details") => {}
                    Likelihood::Possible => found.push(self.rules.titled(At::Markup, subject, view, span)),
                    Likelihood::Likely => found.push(self.rules.titled(At::MarkupInstruction, subject, view, span)),
                }
            }
        }
    }
}

/// Rows of invisible characters, and words that they split.
fn invisible(text: &str) -> Vec<(At, Range<usize>)> {
    /// Selectors in a row that no character has.
    const SELECTORS: usize = 8;
    let mut found = Vec::new();
    let mut word = LetterRun::default();
    let mut row: (usize, usize) = (0, 0);
    let mut selectors: (usize, usize) = (0, 0);
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if found.len() >= 2 * MAX {
            break;
        }
        let is_private = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10fffd}');
        if is_digit(c) || is_private {
            row = if row.1 == 0 { (at, 1) } else { (row.0, row.1 + 1) };
        } else {
            if row.1 >= MIN_BITS {
                found.push((At::ZeroWidthRun, row.0..at));
            }
            row = (0, 0);
        }
        if selector_byte(c).is_some() {
            selectors = if selectors.1 == 0 {
                (at, 1)
            } else {
                (selectors.0, selectors.1 + 1)
            };
        } else {
            if selectors.1 >= SELECTORS {
                found.push((At::Selectors, selectors.0..at));
            }
            selectors = (0, 0);
        }
        if let Some(span) = word.next(at, c) {
            found.push((At::SplitWords, span));
        }
    }
    found
}

/// A word of ASCII letters that is being read, with the invisible characters inside it.
#[derive(Default)]
struct LetterRun {
    start: Option<usize>,
    pending: usize,
    splits: usize,
    end: usize,
}

impl LetterRun {
    /// Reads a character; answers the word that ended before it when it was split at least twice.
    fn next(&mut self, at: usize, c: char) -> Option<Range<usize>> {
        if c.is_ascii_alphabetic() {
            self.start.get_or_insert(at);
            self.splits += usize::from(self.pending > 0);
            self.pending = 0;
            self.end = at + 1;
            return None;
        }
        if self.start.is_some() && is_zero_width(c) {
            self.pending += 1;
            return None;
        }
        let word = std::mem::take(self);
        word.start.filter(|_| word.splits >= 2).map(|start| start..word.end)
    }
}

/// Overrides, and right-to-left isolates or embeddings around nothing but Latin letters.
fn overrides(text: &str) -> Vec<Range<usize>> {
    const FARTHEST: usize = 200;
    // Isolates inside isolates are read again for each; more of them than any text needs are told as they are.
    let mut left = 8 * text.len() + FARTHEST;
    let mut spans = Vec::new();
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match c {
            '\u{202d}' | '\u{202e}' => spans.push(at..end),
            '\u{2067}' | '\u{202b}' if left == 0 => spans.push(at..end),
            '\u{2067}' | '\u{202b}' => {
                let inside: String = text
                    .get(end..)
                    .unwrap_or_default()
                    .chars()
                    .take_while(|c| !matches!(c, '\u{2069}' | '\u{202c}' | '\n'))
                    .take(FARTHEST)
                    .collect();
                left = left.saturating_sub(inside.len());
                let right_to_left = inside
                    .chars()
                    .any(|c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'));
                if !right_to_left && inside.chars().filter(char::is_ascii_alphabetic).count() >= 4 {
                    spans.push(at..end + inside.len());
                }
            }
            _ => {}
        }
        if spans.len() >= MAX {
            break;
        }
    }
    spans
}

/// Terminal codes other than colours.
fn terminal_escapes(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut at = 0;
    // The one-character introducer is encoded as C2 9B.
    while let Some(start) = next(text.as_bytes(), at, |byte| matches!(byte, 0x1b | 0xc2)) {
        if !text
            .get(start..)
            .is_some_and(|rest| rest.starts_with(['\u{1b}', '\u{9b}']))
        {
            at = start + 1;
            continue;
        }
        let rest = text.get(start..).unwrap_or_default();
        let length = escape_sequence_length(rest);
        let code = rest.get(..length).unwrap_or_default();
        let colour = code
            .strip_prefix("\u{1b}[")
            .or_else(|| code.strip_prefix('\u{9b}'))
            .and_then(|parameters| parameters.strip_suffix('m'))
            .is_some_and(|parameters| !conceals(parameters));
        if length > 1 && !colour {
            spans.push(start..start + length);
            if spans.len() >= MAX {
                break;
            }
        }
        at = start + length;
    }
    spans
}

/// Returns `true` if the parameters of a colour make text invisible: concealed, or of the colour of its background.
pub(super) fn conceals(parameters: &str) -> bool {
    let of_kind = |kind: char| {
        let colours = parameters.split(';').filter(|one| one.len() == 2);
        colours.filter_map(|one| one.strip_prefix(kind)).next_back()
    };
    let is_concealed = parameters.split(';').any(|one| matches!(one, "8" | "08"));
    is_concealed || of_kind('3').is_some_and(|ink| of_kind('4') == Some(ink))
}

expressions! {
    /// Openings, in folded text, of something that is not shown.
    static OPENING = concat!(
        r#"<!--|\[(?://|comment|hidden|note|_|#)\]: ?(?:#|<>) ?["'(]|<([a-z][a-z0-9]{0,15})\b[^<>]{0,400}?(?:"#,
        r#"display\s{0,4}:\s{0,4}none|visibility\s{0,4}:\s{0,4}(?:hidden|collapse)|opacity\s{0,4}:\s{0,4}0?(?:\.0\d{0,8})?\s{0,4}[;"']|"#,
        r#"font-size\s{0,4}:\s{0,4}(?:[01]|[01]?\.\d{1,4})(?:px|pt|r?em|%)?\s{0,4}[;"']|"#,
        r#"color\s{0,4}:\s{0,4}(?:#fff(?:fff)?(?:[0-9a-f]{2})?\b|white|transparent|rgba?\(255,\s{0,4}255,\s{0,4}255|rgba\([\d,\s%.]{1,24},\s{0,4}0?(?:\.0\d{0,4})?\s{0,4}\)|hsla?\([\d.]{1,5},\s{0,4}\d{1,3}%,\s{0,4}100%)|"#,
        r#"(?:left|top|right|bottom|text-indent|margin(?:-left|-top)?)\s{0,4}:\s{0,4}-\d{3,6}|clip\s{0,4}:\s{0,4}rect\(\s{0,4}[01](?:px)?[\s,]|"#,
        r#"clip-path\s{0,4}:\s{0,4}(?:inset\((?:100|50)%|circle\(0)|(?:max-)?(?:height|width)\s{0,4}:\s{0,4}[01](?:px)?\s{0,4}[;"']|scale\(0(?:\.0\d{0,4})?[,)]|"#,
        r#"z-index\s{0,4}:\s{0,4}-\d|\shidden\b|aria-hidden\s{0,4}=\s{0,4}["']?true|\bclass\s{0,4}=\s{0,4}["'](?:[a-z0-9_ -]{0,60} )?(?:sr-only|visually-?hidden|screen-reader-text|d-none|hidden|invisible|offscreen)\b|"#,
        r#"\bcolor\s{0,4}=\s{0,4}["']?(?:#fff(?:fff)?|white)\b|\bsize\s{0,4}=\s{0,4}["']?0\b|\bfill(?:-opacity)?\s{0,4}[=:]\s{0,4}["']?(?:none|white|#fff(?:fff)?|transparent|0)\b)[^<>]{0,400}?>|"#,
        r#"<(template|noscript|desc|metadata|details)\b[^<>]{0,400}>"#,
    );
    /// Text that a person sees only by pointing at it, or never: attributes of elements, descriptions and titles of images.
    static ASIDE = concat!(
        r#"(?:\balt|\btitle|\baria-label|\bcontent|\bvalue|\bplaceholder|\blongdesc|\bsrcdoc|\bdata-[a-z-]{1,24})\s{0,4}=\s{0,4}(?:"([^"<>]+)"|'([^'<>]+)')|"#,
        r#"!\[([^\]\n]+)\](?:\([^\s()]+\s+"([^"\n]+)")?|\]\([^\s()]+\s+"([^"\n]+)"\)|\]:\s{1,4}\S{1,400}\s{1,4}["'(]([^"'()\n]+)["')]"#,
    );
}

/// Returns the text of a comment or an element, without the mark that opens it.
fn inner(hidden: &str) -> &str {
    let inside = hidden.strip_prefix("<!--").or_else(|| {
        let element = hidden.starts_with('<').then(|| hidden.split_once('>'))?;
        element.map(|(_, inside)| inside).filter(|inside| !inside.is_empty())
    });
    inside.unwrap_or(hidden)
}

/// Spans of texts that stand beside what is shown.
fn asides(folded: &str) -> Vec<Range<usize>> {
    const MIN_LEN: usize = 20;
    const MAX_LEN: usize = 4096;
    let texts = ASIDE.captures_iter(folded);
    texts
        .flat_map(|found| {
            found
                .iter()
                .skip(1)
                .flatten()
                .map(|text| text.range())
                .collect::<Vec<_>>()
        })
        .filter(|text| (MIN_LEN..=MAX_LEN).contains(&text.len()))
        .collect()
}

/// Spans of comments and of elements that are not shown.
fn hidden_markup(folded: &str) -> Vec<Range<usize>> {
    const MAX_LEN: usize = 8192;
    let most = 4 * MAX + folded.len() / 64;
    let mut spans = Vec::new();
    for found in OPENING.captures_iter(folded) {
        let Some(whole) = found.get(0) else { continue };
        // What opens inside something hidden is part of it.
        if spans.last().is_some_and(|last: &Range<usize>| whole.start() < last.end) {
            continue;
        }
        let reach = folded.floor_char_boundary(whole.end().saturating_add(MAX_LEN));
        let rest = folded.get(whole.end()..reach).unwrap_or_default();
        let length = match found.get(1).or(found.get(2)) {
            Some(name) => rest.find(&format!("</{}", name.as_str())),
            None if whole.as_str() == "<!--" => rest.find("-->"),
            None => rest.find('\n'),
        };
        let end = whole.end() + length.unwrap_or(rest.len());
        if spans.len() >= most {
            // Of more than honest texts have, the rest is one.
            spans.push(whole.start()..folded.len());
            break;
        }
        spans.push(whole.start()..end);
    }
    spans
}

#[cfg(test)]
mod tests;
