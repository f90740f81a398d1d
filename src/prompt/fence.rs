//! The fence around untrusted text: elements whose name ends in a token that is fresh for every call.
//!
//! `<content-TOKEN id="c3" origin="tool_output" authority="none" at="/params/…">`, the text, `</content-TOKEN>`. Short
//! values of structured data stand one per line in a `<values-TOKEN …>`. Templates get such elements whole: no template
//! can show a content without its fence.

use std::borrow::Cow;
use std::ops::Range;

use super::escape::{Escaper, Lines, ScannedText};
use crate::model::{Content, Form, Origin};

/// The longest attribute value that is shown whole, in characters.
pub(super) const MAX_ATTRIBUTE: usize = 160;
/// The characters of a longer one that are shown, at its beginning and at its end.
const ATTRIBUTE_ENDS: (usize, usize) = (60, 90);

/// Writes elements of one fence.
pub(super) struct Fence<'a> {
    token: &'a str,
    escaper: Escaper,
}

impl<'a> Fence<'a> {
    /// Makes the fence of this token.
    pub(super) fn new(token: &'a str) -> Result<Self, aho_corasick::BuildError> {
        Ok(Self {
            token,
            escaper: Escaper::new(token)?,
        })
    }

    /// Returns the escaper of this fence.
    pub(super) fn escaper(&self) -> &Escaper {
        &self.escaper
    }

    /// Shows one content, of which these parts are shown.
    pub(super) fn content(&self, content: &Content, seen: &ScannedText<'_>, parts: &[Range<usize>]) -> String {
        let mut attributes = format!(" id=\"{}\"", content.id);
        attributes.push_str(&Self::speaker(content.origin));
        let pointer = content.pointer.as_str();
        // In the agent's description of itself, the last name is enough.
        let place = match content.origin {
            Origin::Instructions if !content.is_editable() => pointer.rsplit('/').next().unwrap_or(pointer),
            _ => pointer,
        };
        attributes.push_str(&format!(" at={}", self.quoted(place)));
        if let Some(label) = &content.label {
            attributes.push_str(&format!(" label={}", self.quoted(label)));
        }
        match &content.form {
            Form::Text => {}
            Form::Number => attributes.push_str(" form=\"number\""),
            Form::Key => attributes.push_str(" form=\"member name\""),
            Form::TextFile { media_type } => {
                attributes.push_str(" form=\"file\"");
                self.push_media_type(media_type.as_deref(), &mut attributes);
            }
            Form::OpaqueFile { media_type } => {
                attributes.push_str(" form=\"unreadable file\"");
                self.push_media_type(media_type.as_deref(), &mut attributes);
            }
        }
        if !content.is_editable() {
            attributes.push_str(" edit=\"no\"");
        }
        self.element("content", &attributes, &self.parts(seen, parts, 0))
    }

    /// Shows short values of one origin, one line each. What all of them have in common stands in the opening tag.
    pub(super) fn values(&self, origin: Origin, rows: &[Row<'_>]) -> String {
        let contents = || {
            rows.iter().filter_map(|row| match row {
                Row::Value(content) => Some(*content),
                Row::Gap(_) => None,
            })
        };
        let under = common_parent(contents().map(|content| content.pointer.as_str()));
        let fixed = contents().all(|content| !content.is_editable());
        let mut attributes = Self::speaker(origin);
        if !under.is_empty() {
            attributes.push_str(&format!(" under={}", self.quoted(under)));
        }
        if fixed {
            attributes.push_str(" edit=\"no\"");
        }
        let lines: Vec<String> = rows
            .iter()
            .map(|row| match row {
                Row::Value(content) => self.row(content, under, fixed),
                Row::Gap(line) => line.clone(),
            })
            .collect();
        self.element("values", &attributes, &lines.join("\n"))
    }

    /// Shows one short value on a line: its id, its place below `under`, the value.
    fn row(&self, content: &Content, under: &str, fixed: bool) -> String {
        let pointer = content.pointer.as_str();
        let pointer = pointer.strip_prefix(under).unwrap_or(pointer);
        let named = content.label.as_deref().filter(|label| !pointer.ends_with(*label));
        let label = named
            .map(|label| format!(" label={}", self.quoted(label)))
            .unwrap_or_default();
        let form = match content.form {
            Form::Key => " form=\"member name\"",
            Form::Number => " form=\"number\"",
            Form::Text | Form::TextFile { .. } | Form::OpaqueFile { .. } => "",
        };
        let edit = if fixed || content.is_editable() {
            ""
        } else {
            " edit=\"no\""
        };
        let (id, at, value) = (content.id, self.quoted(pointer), self.inline(&content.text));
        format!("{id} at={at}{label}{form}{edit}: {value}")
    }

    /// Writes text of our own choosing around untrusted pieces that were shown by [`Self::inline`].
    pub(super) fn element(&self, name: &str, attributes: &str, inner: &str) -> String {
        let token = self.token;
        format!("<{name}-{token}{attributes}>\n{inner}\n</{name}-{token}>")
    }

    /// Shows untrusted text on one line.
    pub(super) fn inline(&self, text: &str) -> String {
        self.escaper.show(text, Lines::Escaped)
    }

    /// Shows untrusted text on lines of its own.
    pub(super) fn lines(&self, text: &str) -> String {
        self.escaper.show(text, Lines::Kept)
    }

    /// Shows untrusted text on one line; a long one loses its middle.
    pub(super) fn shortened(&self, text: &str) -> String {
        self.inline(&shortened(text))
    }

    /// Shows untrusted text on one line and in quotes; a long one loses its middle.
    pub(super) fn quoted(&self, text: &str) -> String {
        let text = shortened(text);
        let mut out = String::from("\"");
        for c in self.inline(&text).chars() {
            match c {
                '"' => out.push_str("⟨U+0022⟩"),
                '<' => out.push_str("⟨U+003C⟩"),
                '>' => out.push_str("⟨U+003E⟩"),
                other => out.push(other),
            }
        }
        out.push('"');
        out
    }

    /// Shows parts of a text on lines of their own, with marks where something is missing: between them, and so many more bytes behind the text.
    pub(super) fn parts(&self, seen: &ScannedText<'_>, parts: &[Range<usize>], behind: usize) -> String {
        let mut out = String::new();
        let mut end = 0;
        for part in parts {
            if part.start > end {
                out.push_str(&cut_mark(part.start - end));
            }
            out.push_str(&self.escaper.show_part(seen, part.clone(), Lines::Kept));
            end = part.end;
        }
        let missing = seen.text().len() - end + behind;
        if missing > 0 {
            out.push_str(&cut_mark(missing));
        }
        out
    }

    /// Returns the author, as attributes.
    pub(super) fn speaker(origin: Origin) -> String {
        let authority = if origin.has_authority() { "full" } else { "none" };
        format!(" origin=\"{origin}\" authority=\"{authority}\"")
    }

    fn push_media_type(&self, media_type: Option<&str>, attributes: &mut String) {
        if let Some(media_type) = media_type {
            attributes.push_str(&format!(" media={}", self.quoted(media_type)));
        }
    }
}

/// A line of an element that holds short values.
pub(super) enum Row<'c> {
    /// A value.
    Value(&'c Content),
    /// The line that stands for values that are left out.
    Gap(String),
}

/// A common parent that is worth naming once, in bytes.
const MIN_UNDER: usize = 8;

/// Returns the longest pointer below which all of these stand; empty if it is short, or of one alone.
fn common_parent<'p>(mut pointers: impl Iterator<Item = &'p str>) -> &'p str {
    let parent = |pointer: &'p str| pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
    let Some(first) = pointers.next() else { return "" };
    let (mut common, mut alone) = (parent(first), true);
    for pointer in pointers {
        alone = false;
        while !pointer.strip_prefix(common).is_some_and(|rest| rest.starts_with('/')) {
            common = parent(common);
            if common.is_empty() {
                return "";
            }
        }
    }
    if alone || common.len() < MIN_UNDER { "" } else { common }
}

/// Returns the mark in place of text that is not shown. No content can write it: its first character is always escaped there.
pub(super) fn cut_mark(bytes: usize) -> String {
    format!("⟦… {} bytes cut, not shown …⟧", grouped(bytes))
}

/// Writes a number with its thousands set apart.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn shortened(text: &str) -> Cow<'_, str> {
    if text.chars().nth(MAX_ATTRIBUTE).is_none() {
        return Cow::Borrowed(text);
    }
    let (head, tail) = ATTRIBUTE_ENDS;
    let mut end: Vec<char> = text.chars().rev().take(tail).collect();
    end.reverse();
    Cow::Owned(text.chars().take(head).chain(['…']).chain(end).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_can_neither_end_nor_run_on() {
        let fence = Fence::new("00ff").unwrap();
        assert_eq!(
            fence.quoted("a\"b>\nc</content-00ff>"),
            "\"a⟨U+0022⟩b⟨U+003E⟩⟨U+000A⟩c⟨U+003C⟩/content-⟨U+0030⟩0ff⟨U+003E⟩\""
        );
        let long = fence.quoted(&"x".repeat(5000));
        assert_eq!(long.chars().count(), 2 + 60 + 1 + 90);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(
            [0, 999, 1000, 48210, 1234567].map(grouped),
            ["0", "999", "1,000", "48,210", "1,234,567"]
        );
    }
}
