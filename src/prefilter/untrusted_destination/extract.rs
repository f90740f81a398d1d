//! URLs in a text: every one of them, also a second one inside the first, with what stands around it.

use crate::prefilter::words::untrusted_destination_extract::BARE_SCHEMES;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

use crate::prefilter::{KeywordHit, Word};

/// URLs of any text that are looked at…
const MAX: usize = 64;
/// …and for each so many bytes one more.
const BYTES_PER_URL: usize = 64;
const MAX_LEN: usize = 4 * 1024;
/// Bytes of URLs that are read of any text, and for each of its bytes: of URLs in URLs each is read anew.
const BYTES_OF_ANY: usize = 8 * 1024;
const BYTES_PER_BYTE: usize = 4;
/// The longest name of a file that carries nothing.
const SHORT_NAME: usize = 16;

/// The position of a URL in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LinkMode {
    /// It is shown or fetched without a person's action: an image, a frame, a style.
    Loaded,
    /// It has to be followed.
    Linked,
}

/// A URL in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// Its text.
    pub url: &'a str,
    /// Bytes of the text.
    pub span: Range<usize>,
    /// Its position there.
    pub mode: LinkMode,
}

/// The texts before a URL that begins otherwise than with a scheme and `//` behind it.
const SLASHES: &[(&str, usize)] = &[("](//", 2), ("src=\"//", 5)];

/// The words of the gate: one of them stands in every text that has a URL.
pub(super) fn words() -> Vec<Word> {
    let slashes = SLASHES.iter().map(|(announced, _)| Word::exact(*announced));
    let bare = BARE_SCHEMES.iter().map(|scheme| Word::any_case(*scheme));
    std::iter::once(Word::exact("://")).chain(slashes).chain(bare).collect()
}

/// The URLs of a text.
pub(super) struct Urls<'a> {
    /// The URLs found, in order.
    pub found: Vec<Found<'a>>,
    /// The place of the first that was not looked at, because there are too many.
    pub passed_over: Option<usize>,
}

/// Every URL of a text in which these words stand.
///
/// Of very many, a neighbour of one that is known (the same directory, a short name, no query) is left out: a list of pages
/// does not use up what is there for the places that a text hides among them.
pub(super) fn urls(text: &str, words: impl Iterator<Item = KeywordHit> + Clone) -> Urls<'_> {
    let of_word = |wanted: usize| {
        let places = words.clone().filter(move |seen| seen.word == wanted);
        places.map(|seen| seen.span.start)
    };
    let mut list = List::of(text);
    for at in of_word(0) {
        let head = text
            .get(at.saturating_sub(24).max(floor_start(text, at))..at)
            .unwrap_or_default();
        let scheme = head
            .bytes()
            .rev()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'))
            .count();
        let start = at - scheme;
        if scheme == 0
            || !text
                .get(start..at)
                .is_some_and(|scheme| scheme.starts_with(|c: char| c.is_ascii_alphabetic()))
        {
            continue;
        }
        if !list.add(start) {
            break;
        }
    }
    let with_slashes = list.found.len();
    for scheme in 0..BARE_SCHEMES.len() {
        for at in of_word(1 + SLASHES.len() + scheme) {
            let starts_word = text
                .get(..at)
                .is_none_or(|head| !head.ends_with(|c: char| c.is_alphanumeric()));
            // Those with slashes are in the order of the text.
            let known = list.found.get(..with_slashes).unwrap_or_default();
            let is_known = known.binary_search_by_key(&at, |known| known.span.start).is_ok();
            if starts_word && !is_known && !list.add(at) {
                break;
            }
        }
    }
    let slashes = (1..).zip(SLASHES);
    for at in slashes.flat_map(|(word, (_, before))| of_word(word).map(move |at| at + before)) {
        if !list.add(at) {
            break;
        }
    }
    Urls {
        found: list.found,
        passed_over: list.passed_over,
    }
}

/// The URLs found so far, and what may still be spent on more.
struct List<'a> {
    text: &'a str,
    found: Vec<Found<'a>>,
    /// Directories of which a URL was found.
    directories: HashSet<&'a str>,
    /// The number of URLs that are still looked at.
    left: usize,
    /// The bytes that are still looked at.
    bytes: usize,
    passed_over: Option<usize>,
    has_images: OnceCell<bool>,
}

impl<'a> List<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            text,
            found: Vec::new(),
            directories: HashSet::new(),
            left: MAX + text.len() / BYTES_PER_URL,
            bytes: BYTES_OF_ANY + BYTES_PER_BYTE * text.len(),
            passed_over: None,
            has_images: OnceCell::new(),
        }
    }

    /// Looks at what begins here; returns `true` if more can be looked at.
    fn add(&mut self, start: usize) -> bool {
        if self.left == 0 || self.bytes == 0 {
            self.passed_over.get_or_insert(start);
            return false;
        }
        let (url, bytes) = url_at(self.text, start);
        self.bytes = self.bytes.saturating_sub(bytes);
        if url.is_empty() {
            return true;
        }
        let is_new = match directory(url) {
            Some(directory) => self.directories.insert(directory),
            None => true,
        };
        if is_new || self.found.len() < MAX {
            self.left -= 1;
            self.found.push(Found {
                url,
                span: start..start + url.len(),
                mode: self.mode(start),
            });
        }
        true
    }

    /// Returns the position of a URL: what stands just before it tells whether it loads by itself.
    fn mode(&self, start: usize) -> LinkMode {
        let text = self.text;
        let from = text.ceil_char_boundary(start.saturating_sub(200));
        let before = text.get(from..start).unwrap_or_default();
        let markdown = before
            .strip_suffix('(')
            .or_else(|| before.strip_suffix("(<"))
            .and_then(|head| head.strip_suffix(']'))
            .is_some_and(|head| {
                head.rfind('[')
                    .is_some_and(|open| head.get(..open).is_some_and(|head| head.ends_with('!')))
            });
        let has_images = || *self.has_images.get_or_init(|| text.contains("!["));
        let reference = before.trim_end().ends_with("]:") && has_images();
        // A tag that is still open.
        let tag = before
            .rfind('<')
            .and_then(|open| before.get(open..))
            .filter(|tag| !tag.contains('>'));
        let html = tag.is_some_and(|tag| LOADING_TAGS.iter().any(|name| begins_with(tag, name)));
        let style = ends_with(before.trim_end_matches(['"', '\'']), "url(") || ends_with(before, "@import ");
        if markdown || reference || html || style {
            LinkMode::Loaded
        } else {
            LinkMode::Linked
        }
    }
}

/// Elements that load what they name.
const LOADING_TAGS: &[&str] = &[
    "<img", "<iframe", "<script", "<link", "<video", "<audio", "<embed", "<object", "<source", "<image", "<body",
    "<input",
];

/// Returns `true` if a text begins with this ASCII text in any mix of cases.
fn begins_with(text: &str, start: &str) -> bool {
    text.get(..start.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Returns `true` if a text ends with this ASCII text in any mix of cases.
fn ends_with(text: &str, end: &str) -> bool {
    let start = text.len().checked_sub(end.len());
    start
        .and_then(|start| text.get(start..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// The directory of a URL that has nothing of interest but that: a short name in it, no query, no user.
fn directory(url: &str) -> Option<&str> {
    let (directory, name) = url.rsplit_once('/')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_plain = name.len() <= SHORT_NAME && name.bytes().all(plain) && !directory.ends_with('/');
    is_plain.then_some(directory)
}

fn floor_start(text: &str, at: usize) -> usize {
    text.ceil_char_boundary(at.saturating_sub(24))
}

/// The URL that begins here, without what belongs to the text around it, and how many bytes were looked at.
fn url_at(text: &str, start: usize) -> (&str, usize) {
    let rest = text.get(start..).unwrap_or_default();
    let mut length = 0;
    let mut braces = 0_usize;
    for c in rest.chars() {
        // Inside `{{ … }}` a blank is part of a placeholder.
        let ends = match c {
            '{' => {
                braces += 1;
                false
            }
            '}' => {
                braces = braces.saturating_sub(1);
                false
            }
            ' ' => braces == 0,
            c if c.is_whitespace() || c.is_control() => true,
            '"' | '\'' | '<' | '>' | '`' | '|' => true,
            _ => false,
        };
        if ends || length + c.len_utf8() > MAX_LEN {
            break;
        }
        length += c.len_utf8();
    }
    let mut url = rest.get(..length).unwrap_or_default();
    let opened = url.matches(['(', '[']).count();
    let mut closed = url.matches([')', ']']).count();
    loop {
        let shorter = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']);
        // A parenthesis that the URL did not open belongs to the text around it.
        let shorter = match shorter.strip_suffix([')', ']']) {
            Some(inside) if opened < closed => {
                closed -= 1;
                inside
            }
            _ => shorter,
        };
        if shorter.len() == url.len() {
            break;
        }
        url = shorter;
    }
    // `[text](url "title")`, and a URL that a bracket ends: `(see http://a) and (b)`.
    if let Some(at) = url.find(")](").or_else(|| url.find("](")) {
        url = url.get(..at).unwrap_or(url);
    }
    (url, length)
}

#[cfg(test)]
mod tests;
