//! The passages that go with a stretch of text that a judge wants to take out: never a part of a word, an address or a sentence.
//!
//! Half a sentence says something else than the whole (`Do not pay`), half an address is another address. So a value goes with all of its token, and
//! other words with their sentence, line, comment or JSON string. Whole sentences remain, with a mark between them, in which a value may be a mark
//! too.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// The bounds of the passages of a text; found in one pass.
pub(super) struct Passages<'t> {
    text: &'t str,
    /// Ends of sentences and lines, ends of strings if the text is JSON; ascending.
    bounds: Vec<usize>,
    /// HTML comments.
    comments: Vec<Range<usize>>,
    /// The strings of a JSON text that are no names; `None` for any other text.
    strings: Option<Vec<Range<usize>>>,
}

/// Tags of HTML that end a paragraph.
#[expect(clippy::expect_used, reason = "a literal pattern that a test compiles")]
static BLOCK_TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)</?(?:p|div|li|ul|ol|tr|td|th|table|h[1-6]|br|hr|section|article|body|head|title|blockquote)\b[^<>]{0,500}>")
        .expect("the pattern compiles")
});

impl<'t> Passages<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let strings = json_strings(text);
        let mut bounds = sentence_ends(text, strings.is_some());
        bounds.extend(BLOCK_TAG.find_iter(text).flat_map(|tag| [tag.start(), tag.end()]));
        bounds.extend(strings.iter().flatten().flat_map(|string| [string.start, string.end]));
        bounds.extend([0, text.len()]);
        bounds.sort_unstable();
        bounds.dedup();
        Self {
            text,
            bounds,
            comments: comments(text),
            strings,
        }
    }

    /// Returns the token or tokens of a value, if these bytes are nothing else: each has a digit or is a link.
    pub(super) fn value(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let within = self.within(span)?;
        let head = self.text.get(within.start..span.start)?;
        let tail = self.text.get(span.end..within.end)?;
        let coarse = span.start - reach(head.chars().rev(), is_gap)..span.end + reach(tail.chars(), is_gap);
        let chunk = self.text.get(coarse.clone())?;
        if chunk.len() >= MAX_TOKEN {
            return None;
        }
        let found = if chunk.contains("://") || chunk.contains('@') {
            coarse
        } else {
            let stops = |c: char| is_gap(c) || matches!(c, ',' | ';' | '|') || is_unspaced(c);
            span.start - reach_past_digits(head.chars().rev(), stops)..span.end + reach_past_digits(tail.chars(), stops)
        };
        let value = self.without_punctuation(&found, span)?;
        let mut words = self.text.get(value.clone())?.split_whitespace().peekable();
        words.peek()?;
        words
            .all(|word| word.contains(|c: char| c.is_numeric()) || word.contains("://"))
            .then_some(value)
    }

    /// Returns the whole sentences, lines, comment or string that these bytes belong to. `None` if the text is JSON and they are not inside one
    /// string of it.
    pub(super) fn passage(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let within = self.within(span)?;
        let open = self.comments.partition_point(|comment| comment.start <= span.start);
        let comment = open.checked_sub(1).and_then(|last| self.comments.get(last));
        if let Some(comment) = comment.filter(|comment| holds(comment, span)) {
            return Some(comment.clone());
        }
        let begin = self.bounds.partition_point(|bound| *bound <= span.start);
        let begin = self.bounds.get(begin.checked_sub(1)?)?.max(&within.start);
        let end = self.bounds.partition_point(|bound| *bound < span.end);
        let end = self.bounds.get(end)?.min(&within.end);
        let found = self.text.get(*begin..*end)?;
        let lead = found.len() - found.trim_start().len();
        Some(begin + lead..begin + lead + found.trim().len()).filter(|passage| !passage.is_empty())
    }

    /// Returns the text or, in JSON, the string that holds these bytes.
    fn within(&self, span: &Range<usize>) -> Option<Range<usize>> {
        match &self.strings {
            None => Some(0..self.text.len()),
            Some(strings) => {
                let next = strings.partition_point(|string| string.start <= span.start);
                strings
                    .get(next.checked_sub(1)?)
                    .filter(|string| holds(string, span))
                    .cloned()
            }
        }
    }

    /// Returns a token without brackets and full stops around it, as long as they are not to be taken out.
    fn without_punctuation(&self, token: &Range<usize>, span: &Range<usize>) -> Option<Range<usize>> {
        let head = self.text.get(token.start..span.start)?;
        let tail = self.text.get(span.end..token.end)?;
        let head = head.trim_start_matches(['(', '[', '{', '\'', '*', '_']);
        let tail = tail.trim_end_matches([')', ']', '}', '\'', '*', '_', '.', ',', ';', ':', '!', '?']);
        Some(span.start - head.len()..span.end + tail.len())
    }
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Returns `true` for characters that no address holds.
fn is_gap(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '<' | '>' | '`')
}

/// Returns `true` for letters of scripts that put no spaces between words.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{2fdf}' | '\u{3001}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

/// The most characters that a token may go on for.
const MAX_TOKEN: usize = 4_096;

fn reach(chars: impl Iterator<Item = char>, stops: impl Fn(char) -> bool) -> usize {
    chars
        .take(MAX_TOKEN)
        .take_while(|c| !stops(*c))
        .map(char::len_utf8)
        .sum()
}

/// Does the same as [`reach`], but a comma between digits belongs to the number.
fn reach_past_digits(chars: impl Iterator<Item = char>, stops: impl Fn(char) -> bool) -> usize {
    let mut chars = chars.take(MAX_TOKEN).peekable();
    let (mut reached, mut after_digit) = (0, true);
    while let Some(c) = chars.next() {
        let joins = c == ',' && after_digit && chars.peek().is_some_and(|next| next.is_numeric());
        if stops(c) && !joins {
            break;
        }
        after_digit = c.is_numeric();
        reached += c.len_utf8();
    }
    reached
}

/// Finds HTML comments, from `<!--` to `-->`.
fn comments(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text.get(at..).and_then(|rest| rest.find("<!--")) {
        let open = at + open;
        let inside = open + "<!--".len();
        let Some(close) = text.get(inside..).and_then(|rest| rest.find("-->")) else {
            break;
        };
        at = inside + close + "-->".len();
        found.push(open..at);
    }
    found
}

/// Finds the insides of the strings of a JSON object or array that are no names of members; `None` for any other text.
fn json_strings(text: &str) -> Option<Vec<Range<usize>>> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let mut strings: Vec<Range<usize>> = Vec::new();
    let mut open = None;
    let mut escaped = false;
    // True if nothing but space came since the last string.
    let mut just_closed = false;
    for (at, byte) in text.bytes().enumerate() {
        match open {
            Some(_) if escaped => escaped = false,
            Some(_) if byte == b'\\' => escaped = true,
            Some(start) if byte == b'"' => {
                strings.push(start..at);
                (open, just_closed) = (None, true);
            }
            Some(_) => {}
            None if byte == b'"' => open = Some(at + 1),
            None if byte == b':' && just_closed => {
                strings.pop();
                just_closed = false;
            }
            None => just_closed &= byte.is_ascii_whitespace(),
        }
    }
    Some(strings)
}

/// Finds the ends of sentences and of lines; a line that goes on in the next one does not end. In JSON, `
/// ` ends a line.
fn sentence_ends(text: &str, json: bool) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = at + c.len_utf8();
        match c {
            '\n' if !goes_on(text, after) => ends.push(after),
            '\\' if json => {
                // The escape as a whole, so that no end falls into it.
                if let Some((_, escape)) = chars.next()
                    && escape == 'n'
                    && !goes_on(text, after + 1)
                {
                    ends.extend([at, after + 1]);
                }
            }
            '。' | '！' | '？' => ends.push(after),
            '.' | '!' | '?' | '…' => {
                let closers = |c: char| {
                    matches!(
                        c,
                        '"' | '\'' | ')' | ']' | '»' | '”' | '’' | '*' | '_' | '.' | '!' | '?'
                    )
                };
                let rest = text.get(after..).unwrap_or_default();
                let closed = reach(rest.chars().take(MAX_CLOSERS), |c| !closers(c));
                let rest = rest.get(closed..).unwrap_or_default();
                if rest.starts_with(char::is_whitespace) && begins_sentence(rest) {
                    ends.push(after + closed);
                }
            }
            _ => {}
        }
    }
    ends
}

/// The number of quotes, brackets and full stops that may close a sentence.
const MAX_CLOSERS: usize = 8;
/// The distance within which the first letter of the next sentence is looked for.
const LOOK: usize = 200;

/// Returns `true` if what follows may begin a sentence: `approx. five`, `No. 5` go on.
fn begins_sentence(rest: &str) -> bool {
    let first = rest.chars().take(LOOK).find(|c| !c.is_whitespace());
    !first.is_some_and(|c| c.is_lowercase() || c.is_numeric())
}

/// Returns `true` if a line goes on in the one that begins here: with a word in small letters that begins no record (`name: …`).
fn goes_on(text: &str, next: usize) -> bool {
    let rest = text.get(next..).unwrap_or_default();
    let blank = |c: &char| matches!(c, ' ' | '\t' | '>');
    let word: String = rest
        .chars()
        .take(LOOK)
        .skip_while(blank)
        .take_while(|c| !c.is_whitespace())
        .collect();
    let inner = word.trim_end_matches([',', ';']);
    word.starts_with(char::is_lowercase) && !word.ends_with(':') && !inner.contains(['=', ',', ';', '|', '@'])
}
