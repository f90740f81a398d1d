//! The output of printing and decoding programs, where their input is known.

use super::Call;
use super::run::{MAX_FIELDS, MAX_VALUE, Shell};
use super::syntax::{self, Direction};
use crate::text::views::{from_base32, from_base64, from_hex};

/// Marks a text that was encoded here; what it would spell is of no use, that it was encoded is.
const ENCODED: &str = "\u{2}encoded:";

impl Shell {
    /// Returns the output of a call that only prints or decodes what is known.
    pub(super) fn printed(&self, call: &Call, stdin: Option<&str>) -> Option<String> {
        match call.program.as_str() {
            "echo" => Some(echoed(call)),
            "printf" => formatted(call),
            "cat" | "tac" => {
                let mut operands = call.operands().peekable();
                if operands.peek().is_none() {
                    return stdin.map(str::to_owned);
                }
                operands.find_map(|word| self.files.get(&word.text).cloned())
            }
            "tee" => stdin.map(str::to_owned),
            // Packed and unpacked again.
            "gunzip" | "zcat" | "bunzip2" | "bzcat" | "unxz" | "xzcat" | "unzstd" => {
                stdin.map(|text| text.strip_prefix(ENCODED).unwrap_or(text).to_owned())
            }
            "awk" | "gawk" | "mawk" | "perl" | "ruby" | "python" | "python3" | "node" | "php" => {
                self.literally_printed(call)
            }
            "find" | "ls" => (self.found_file)(call, &[]),
            "rev" => stdin.map(turned),
            "base64" if call.has("--decode") || call.has_short(&['d', 'D']) => {
                let file = call.operands().next().and_then(|word| self.files.get(&word.text));
                decode_base64(file.map(String::as_str).or(stdin)?)
            }
            "base32" if call.has("--decode") || call.has_short(&['d', 'D']) => decode_base32(stdin?),
            "openssl" if call.has("base64") && call.has("-d") => decode_base64(stdin?),
            "xxd" if call.has_short(&['r']) || call.has("-r") => decode_hex(stdin?),
            "base64" | "gzip" | "bzip2" | "xz" | "zstd" | "xxd" => stdin.map(|text| format!("{ENCODED}{text}")),
            "tr" => translated(call, stdin?),
            _ => None,
        }
    }

    pub(super) fn note_written_files(&mut self, call: &Call) {
        let Some(text) = &call.prints else { return };
        let targets = call
            .redirects
            .iter()
            .filter(|redirect| matches!(redirect.direction, Direction::Out | Direction::Append))
            .map(|redirect| redirect.target.text.clone());
        let tees = call
            .args
            .iter()
            .filter(|word| call.program == "tee" && !word.text.starts_with('-'));
        let targets: Vec<String> = targets.chain(tees.map(|word| word.text.clone())).collect();
        if !targets.is_empty()
            && let Some(encoded) = text.strip_prefix(ENCODED)
        {
            self.reading.encoded_files.push((call.span.clone(), encoded.to_owned()));
        }
        for target in targets {
            if self.files.len() < MAX_FIELDS {
                let written = self.files.entry(target).or_default();
                if written.len() + text.len() < MAX_VALUE {
                    written.push_str(text);
                    written.push('\n');
                }
            }
        }
    }
}

/// Returns the output of `rev`: every line reversed by itself.
fn turned(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| line.chars().rev().collect()).collect();
    lines.join("\n")
}

/// Returns the output of `echo`.
fn echoed(call: &Call) -> String {
    let words = call
        .args
        .iter()
        .skip_while(|word| matches!(word.text.as_str(), "-n" | "-e" | "-ne" | "-en" | "-E"));
    let text = words.map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let escapes = call.has_any(&["-e", "-ne", "-en"]);
    if escapes { unescaped(&text) } else { text }
}

/// Returns the output of `printf`.
fn formatted(call: &Call) -> Option<String> {
    let (format, values) = call.args.split_first()?;
    let mut values = values.iter();
    let mut text = String::new();
    let mut rest = format.text.as_str();
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        let kind = after.chars().next();
        match kind {
            // Its octal numbers begin with a zero of their own.
            Some('b') => text.push_str(&values.next().map_or("", |word| &word.text).replace("\\0", "\\")),
            Some('s' | 'd' | 'c' | 'q') => {
                text.push_str(values.next().map_or("", |word| &word.text));
            }
            Some('%') => text.push('%'),
            Some(other) => {
                text.push('%');
                text.push(other);
            }
            None => {}
        }
        rest = after.get(kind.map_or(0, char::len_utf8)..).unwrap_or_default();
    }
    text.push_str(rest);
    for value in values {
        text.push_str(&value.text);
    }
    Some(unescaped(&text))
}

/// Returns the output of `tr` for its input.
fn translated(call: &Call, stdin: &str) -> Option<String> {
    let (from, to) = (call.args.first()?, call.args.get(1)?);
    match (from.text.as_str(), to.text.as_str()) {
        ("-d", remove) => {
            let removed = letter_set(remove);
            Some(stdin.chars().filter(|c| !removed.contains(c)).collect())
        }
        (from, _) if from.starts_with('-') => None,
        (from, to) => {
            let (from, to) = (letter_set(from), letter_set(to));
            let last = to.last().copied()?;
            let replaced = |c: char| match from.iter().position(|known| *known == c) {
                Some(at) => to.get(at).copied().unwrap_or(last),
                None => c,
            };
            Some(stdin.chars().map(replaced).collect())
        }
    }
}

impl Shell {
    /// Returns the output of a one-line script that prints one literal.
    fn literally_printed(&self, call: &Call) -> Option<String> {
        let script = call.args.iter().map(|word| word.text.as_str()).find(|text| {
            text.contains("print") || text.contains("puts ") || text.contains("console.log") || text.contains("echo ")
        })?;
        let quote = script.chars().find(|c| matches!(c, '"' | '\''))?;
        let mut parts = script.split(quote);
        let (before, text, after) = (parts.next()?, parts.next()?, parts.next()?);
        let only = parts.next().is_none() && after.chars().all(|c| matches!(c, '}' | ')' | ';' | ' '));
        let plain = before.trim_end().ends_with(['t', 's', 'g', 'o', '(']) && before.matches('(').count() <= 1;
        (only && plain).then(|| unescaped(text))
    }
}

fn decode_base32(text: &str) -> Option<String> {
    let letters: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=')
        .collect();
    String::from_utf8(from_base32(&letters)?).ok()
}

fn decode_base64(text: &str) -> Option<String> {
    let packed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    String::from_utf8(from_base64(&packed)?).ok()
}

fn decode_hex(text: &str) -> Option<String> {
    let mut digits = text.replace("\\x", "").into_bytes();
    digits.retain(u8::is_ascii_hexdigit);
    String::from_utf8(from_hex(&digits)?).ok()
}

fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    syntax::literal(&syntax::ansi(text))
}

/// The letters of a set of `tr`, with its ranges written out.
fn letter_set(set: &str) -> Vec<char> {
    const MAX: usize = 1_024;
    let letters: Vec<char> = unescaped(set).chars().take(MAX).collect();
    let mut all = Vec::new();
    let mut rest = letters.as_slice();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match tail {
            ['-', last, behind @ ..] if first <= last && all.len() < MAX => {
                all.extend((*first..=*last).take(MAX));
                rest = behind;
            }
            _ => all.push(*first),
        }
    }
    all
}
