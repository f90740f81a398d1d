//! Words: quotes off, variables and substitutions in, braces out.

use std::ops::Range;

use super::Word;
use super::run::{FIELD_BREAK, Frame, MAX_FIELDS, MAX_VALUE, Shell, TURN};
use super::syntax::Piece;

impl Shell {
    /// One word, whatever spaces come out of it.
    pub(super) fn one_word(&mut self, pieces: &[Piece], span: &Range<usize>, frame: &Frame) -> Word {
        let words = self.expand_pieces(pieces, span, frame, Splitting::Off);
        words.into_iter().next().unwrap_or_default()
    }

    pub(super) fn expand(&mut self, pieces: &[Piece], span: &Range<usize>, frame: &Frame) -> Vec<Word> {
        let words = self.expand_pieces(pieces, span, frame, Splitting::On);
        let live = pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Plain(text) if text.contains('{')));
        if !live {
            return words;
        }
        let mut expanded = Vec::new();
        for word in words {
            let (alternatives, turns) = braces(&word);
            self.reading.work += TURN * turns;
            self.reading.cut |= alternatives.is_none();
            expanded.extend(alternatives.unwrap_or_default());
        }
        expanded.truncate(MAX_FIELDS);
        expanded
    }

    fn expand_pieces(
        &mut self,
        pieces: &[Piece],
        span: &Range<usize>,
        frame: &Frame,
        splitting: Splitting,
    ) -> Vec<Word> {
        let mut words = Vec::new();
        let mut word = Word {
            quoted: !pieces.is_empty(),
            ..Word::default()
        };
        let mut begun = false;
        let mut hides = false;
        for (index, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Plain(text) => {
                    word.text.push_str(text);
                    word.quoted = false;
                    begun = true;
                }
                Piece::Quoted(text) => {
                    word.text.push_str(text);
                    begun = true;
                }
                Piece::Variable {
                    name,
                    operation,
                    quoted,
                } => {
                    let mut value = self.value(name, operation, frame);
                    if value.is_none() && !*quoted && splits_letters(pieces, index) {
                        // Nothing was ever assigned: it stands there to split a name.
                        value = Some(String::new());
                        hides = true;
                    }
                    if !*quoted
                        && name != "IFS"
                        && let Some(separators) = self.variables.get("IFS")
                    {
                        value = value.map(|value| value.replace(|c| separators.contains(c), &FIELD_BREAK.to_string()));
                    }
                    let value = self.within_budget(value.unwrap_or_else(|| written(name, operation)));
                    let split = splitting == Splitting::On && !*quoted || value.contains(FIELD_BREAK);
                    word.quoted &= *quoted;
                    begun = append(&value, split, &mut word, &mut words) || begun || *quoted;
                }
                Piece::Output { script, quoted } => {
                    let calls = self.run(script, Some(span.clone()), frame.depth + 1);
                    let value = self.known_output(&calls);
                    self.capture(&calls);
                    word.quoted &= *quoted;
                    match value {
                        Some(value) => {
                            let split = splitting == Splitting::On && !*quoted;
                            let value = self.within_budget(value.trim_end_matches('\n').to_owned());
                            word.inside.push(calls);
                            append(&value, split, &mut word, &mut words);
                        }
                        None => {
                            word.text.push_str("$(…)");
                            word.inside.push(calls);
                        }
                    }
                    begun = true;
                }
                Piece::Process { script } => {
                    let calls = self.run(script, Some(span.clone()), frame.depth + 1);
                    word.text.push_str("<(…)");
                    word.inside.push(calls);
                    word.quoted = false;
                    begun = true;
                }
            }
        }
        word.disguised = hides || is_disguised(pieces);
        if begun {
            words.push(word);
        }
        words
    }

    /// The value of a variable with an operation, where it is known.
    fn value(&self, name: &str, operation: &str, frame: &Frame) -> Option<String> {
        let plain = match name {
            "IFS" => Some(" ".to_owned()),
            "@" | "*" => frame
                .positional
                .borrow()
                .get(1..)
                .filter(|given| !given.is_empty())
                .map(|given| given.join(&FIELD_BREAK.to_string())),
            _ => match name.parse::<usize>() {
                Ok(number) => frame.positional.borrow().get(number).cloned(),
                Err(_) => self.variables.get(name).cloned().or_else(|| everywhere(name)),
            },
        };
        if operation.is_empty() {
            return plain;
        }
        if let Some(default) = operation.strip_prefix(":-").or_else(|| operation.strip_prefix(":=")) {
            return plain
                .filter(|value| !value.is_empty())
                .or_else(|| Some(default.trim_matches(['"', '\'']).to_owned()));
        }
        if let Some(instead) = operation.strip_prefix(":+") {
            return plain.map(|_| instead.trim_matches(['"', '\'']).to_owned());
        }
        if operation.starts_with(":?") || operation.starts_with('?') {
            return plain;
        }
        if operation == "%/*" {
            return plain.map(|value| {
                value
                    .rsplit_once('/')
                    .map_or(value.clone(), |(head, _)| head.to_owned())
            });
        }
        if operation == "##*/" {
            return plain.map(|value| value.rsplit('/').next().unwrap_or_default().to_owned());
        }
        if let Some(slice) = operation.strip_prefix(':') {
            let value = plain.or_else(|| matches!(name, "PWD" | "OLDPWD").then(|| "/".to_owned()))?;
            let (from, length) = slice.split_once(':').unwrap_or((slice, "64"));
            let from: usize = from.trim().parse().ok()?;
            let length: usize = length.trim().parse().ok()?;
            return Some(value.chars().skip(from).take(length.min(MAX_VALUE)).collect());
        }
        if let Some(replacement) = operation.strip_prefix('/') {
            let (all, replacement) = replacement
                .strip_prefix('/')
                .map_or((1, replacement), |rest| (usize::MAX, rest));
            let (from, to) = replacement.split_once('/').unwrap_or((replacement, ""));
            if from.is_empty() {
                return plain;
            }
            return plain.map(|value| value.replacen(from, to, all.min(1_000)));
        }
        match operation {
            ",," | "," => plain.map(|value| value.to_lowercase()),
            "^^" | "^" => plain.map(|value| value.to_uppercase()),
            _ => plain,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Splitting {
    On,
    Off,
}

/// Adds a value to the word under construction; returns `true` if a word has begun.
fn append(value: &str, split: bool, word: &mut Word, words: &mut Vec<Word>) -> bool {
    if !split {
        word.text.push_str(value);
        return true;
    }
    let is_break = |c: char| c.is_ascii_whitespace() || c == FIELD_BREAK;
    let mut parts = value.split(is_break);
    if let Some(first) = parts.next() {
        word.text.push_str(first);
    }
    for part in parts {
        if !word.text.is_empty() && words.len() < MAX_FIELDS {
            words.push(Word {
                quoted: false,
                ..std::mem::take(word)
            });
        }
        word.text.push_str(part);
    }
    !word.text.is_empty()
}

/// Returns the spelling of a variable whose value stays unknown.
fn written(name: &str, operation: &str) -> String {
    if name.is_empty() {
        "0".to_owned()
    } else if operation.is_empty() {
        format!("${name}")
    } else {
        format!("${{{name}{operation}}}")
    }
}

/// Returns the value that a variable has wherever a text runs; `${PATH:0:1}` is a slash.
fn everywhere(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/user".to_owned()),
        "PATH" => Some("/usr/local/bin:/usr/bin:/bin".to_owned()),
        "SHELL" => Some("/bin/bash".to_owned()),
        _ => None,
    }
}

/// Returns `true` if a piece stands between letters of one name.
fn splits_letters(pieces: &[Piece], index: usize) -> bool {
    let letter = |piece: Option<&Piece>, last: bool| match piece {
        Some(Piece::Plain(text)) => {
            let c = if last {
                text.chars().next_back()
            } else {
                text.chars().next()
            };
            c.is_some_and(|c| c.is_ascii_lowercase())
        }
        _ => false,
    };
    letter(index.checked_sub(1).and_then(|before| pieces.get(before)), true) && letter(pieces.get(index + 1), false)
}

/// Returns `true` if quotes split a plain name: `r''m`, `r\m`, `"r"m`.
fn is_disguised(pieces: &[Piece]) -> bool {
    let plain = pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Plain(text) if !text.is_empty()));
    let quoted = pieces.iter().any(|piece| matches!(piece, Piece::Quoted(_)));
    let letters = pieces.iter().all(|piece| match piece {
        Piece::Plain(text) | Piece::Quoted(text) => text.chars().all(|c| c.is_ascii_alphanumeric() || c == '/'),
        Piece::Variable { name, .. } => name == "@" || name == "*" || name == "IFS",
        Piece::Output { .. } | Piece::Process { .. } => false,
    });
    let special = pieces.iter().any(|piece| matches!(piece, Piece::Variable { .. }));
    let alias_bypass = matches!(pieces, [Piece::Quoted(first), Piece::Plain(_)] if first.len() == 1);
    plain && (quoted || special) && letters && !alias_bypass
}

/// Expands `a{b,c}d` to `abd acd`, nested and repeated braces too, and counts the turns; no words where there are more of
/// them than a person would write in so few bytes.
fn braces(word: &Word) -> (Option<Vec<Word>>, usize) {
    let most = (16 + word.text.len()).min(2 * MAX_FIELDS);
    let mut open = vec![word.text.clone()];
    let mut done = Vec::new();
    let mut turns = 0;
    while let Some(text) = open.pop() {
        turns += 1;
        if turns > most {
            return (None, turns);
        }
        match split_brace(&text) {
            Some(alternatives) => open.extend(alternatives.into_iter().rev()),
            None => done.push(Word { text, ..word.clone() }),
        }
    }
    (Some(done), turns)
}

/// The alternatives of the first brace that has a comma.
fn split_brace(text: &str) -> Option<Vec<String>> {
    let open = text.find('{')?;
    let (before, rest) = text.split_at_checked(open)?;
    let inside_on = rest.get(1..)?;
    let mut depth = 0_usize;
    let mut commas = Vec::new();
    for (at, c) in inside_on.char_indices() {
        match c {
            '{' => depth += 1,
            ',' if depth == 0 => commas.push(at),
            '}' if depth == 0 => {
                if commas.is_empty() {
                    return None;
                }
                let after = inside_on.get(at + 1..)?;
                let mut starts = vec![0];
                starts.extend(commas.iter().map(|comma| comma + 1));
                commas.push(at);
                let parts = starts
                    .iter()
                    .zip(&commas)
                    .filter_map(|(from, to)| inside_on.get(*from..*to));
                return Some(parts.map(|part| format!("{before}{part}{after}")).collect());
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}
