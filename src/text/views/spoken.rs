//! Letters that are spelled out for the ear: Morse code, and the words of the radio alphabet.

use super::span_map::{Derived, Writer};
use crate::text::keywords::{Seen, Word};

/// The letters of Morse code.
const MORSE: &[(&[u8], char)] = &[
    (b".-", 'a'),
    (b"-...", 'b'),
    (b"-.-.", 'c'),
    (b"-..", 'd'),
    (b".", 'e'),
    (b"..-.", 'f'),
    (b"--.", 'g'),
    (b"....", 'h'),
    (b"..", 'i'),
    (b".---", 'j'),
    (b"-.-", 'k'),
    (b".-..", 'l'),
    (b"--", 'm'),
    (b"-.", 'n'),
    (b"---", 'o'),
    (b".--.", 'p'),
    (b"--.-", 'q'),
    (b".-.", 'r'),
    (b"...", 's'),
    (b"-", 't'),
    (b"..-", 'u'),
    (b"...-", 'v'),
    (b".--", 'w'),
    (b"-..-", 'x'),
    (b"-.--", 'y'),
    (b"--..", 'z'),
    (b"-----", '0'),
    (b".----", '1'),
    (b"..---", '2'),
    (b"...--", '3'),
    (b"....-", '4'),
    (b".....", '5'),
    (b"-....", '6'),
    (b"--...", '7'),
    (b"---..", '8'),
    (b"----.", '9'),
    (b".-.-.-", '.'),
    (b"--..--", ','),
    (b"..--..", '?'),
    (b"---...", ':'),
    (b"-..-.", '/'),
    (b".--.-.", '@'),
    (b".----.", '\''),
    (b"-....-", '-'),
];

/// The words of the radio alphabet, in its order.
const RADIO: &[&str] = &[
    "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet", "kilo", "lima",
    "mike", "november", "oscar", "papa", "quebec", "romeo", "sierra", "tango", "uniform", "victor", "whiskey", "xray",
    "yankee", "zulu",
];
/// Those that are seldom used for anything else.
const RARE: &[&str] = &[
    "foxtrot", "quebec", "romeo", "sierra", "tango", "whiskey", "yankee", "november", "juliet", "zulu",
];
/// The fewest letters that are read.
const FEWEST: usize = 8;

/// Writes what every row of Morse code says, one a line.
pub(super) fn morse(bytes: &[u8], writer: &mut Writer) {
    let belongs = |byte: &u8| matches!(byte, b'.' | b'-' | b' ' | b'/' | b'|' | b'\n');
    let mut at = 0;
    while at < bytes.len() && !writer.is_full() {
        let run = bytes.iter().skip(at).take_while(|byte| belongs(byte)).count();
        let end = at + run;
        if run >= 3 * FEWEST {
            row(bytes, at, end, writer);
        }
        at = end + 1;
    }
}

fn row(bytes: &[u8], start: usize, end: usize, writer: &mut Writer) {
    let mut said: Vec<(usize, usize, char)> = Vec::new();
    let mut at = start;
    let (mut spaces, mut letters) = (0, 0);
    while at < end {
        let rest = bytes.get(at..end).unwrap_or_default();
        let length = rest.iter().take_while(|byte| matches!(byte, b'.' | b'-')).count();
        let Some(signs) = rest.get(..length).filter(|signs| !signs.is_empty()) else {
            // One space parts letters; anything more parts words.
            spaces += if rest.first() == Some(&b' ') { 1 } else { 2 };
            at += 1;
            continue;
        };
        let Some((_, letter)) = MORSE.iter().find(|(known, _)| *known == signs) else {
            // A full stop before, or a line of dashes behind.
            if letters >= FEWEST {
                break;
            }
            said.clear();
            letters = 0;
            at += length;
            continue;
        };
        if spaces > 1 && !said.is_empty() {
            said.push((at, at, ' '));
        }
        spaces = 0;
        letters += 1;
        said.push((at, at + length, *letter));
        at += length;
    }
    let different = MORSE
        .iter()
        .filter(|(_, letter)| said.iter().any(|(_, _, c)| c == letter))
        .count();
    if letters < FEWEST || different < FEWEST / 2 {
        return;
    }
    for (from, to, c) in said {
        writer.put(from..to, c.encode_utf8(&mut [0; 4]));
    }
    writer.put(end..end, "\n");
}

/// The words of the gate that [`radio`] asks for.
pub(super) fn words() -> Vec<Word> {
    RARE.iter().map(|word| Word::any_case(*word)).collect()
}

/// What is spelled in the words of the radio alphabet, given which of the rare ones stand in a folded text.
pub(super) fn radio(folded: &str, mut seen: impl Iterator<Item = Seen>, room: usize) -> Option<Derived> {
    let first = seen.next()?;
    seen.find(|seen| seen.word != first.word)?;
    let mut writer = Writer::new(room);
    let mut said: Vec<(usize, usize, char)> = Vec::new();
    let mut letters = 0;
    let (mut at, mut gap) = (0, String::new());
    let pieces = folded.split_inclusive(|c: char| !c.is_alphanumeric());
    for piece in pieces {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        let (from, to) = (at, at + word.len());
        at += piece.len();
        if word.is_empty() || word == "x" && piece.ends_with('-') {
            gap.push_str(piece);
            continue;
        }
        let letter = match word {
            "alfa" => Some('a'),
            "juliett" => Some('j'),
            "ray" if gap.ends_with("x-") => Some('x'),
            word => (b'a'..=b'z')
                .map(char::from)
                .zip(RADIO)
                .find(|(_, known)| **known == word)
                .map(|(letter, _)| letter),
        };
        match letter {
            Some(letter) => {
                if !said.is_empty() && gap.chars().any(|c| c != ' ' && c != '-' && c != 'x') || gap.len() > 2 {
                    said.push((from, from, ' '));
                }
                letters += 1;
                said.push((from, to, letter));
            }
            None => {
                finish(&mut said, letters, &mut writer);
                letters = 0;
            }
        }
        gap.clear();
        gap.push_str(piece.get(word.len()..).unwrap_or_default());
    }
    finish(&mut said, letters, &mut writer);
    (!writer.is_empty()).then(|| writer.finish(folded.len()))
}

fn finish(said: &mut Vec<(usize, usize, char)>, letters: usize, writer: &mut Writer) {
    let said = std::mem::take(said);
    if letters < FEWEST {
        return;
    }
    let end = said.last().map_or(0, |(_, to, _)| *to);
    for (from, to, c) in said {
        writer.put(from..to, c.encode_utf8(&mut [0; 4]));
    }
    writer.put(end..end, "\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::keywords::Keywords;

    fn keyed(text: &str) -> String {
        let mut writer = Writer::new(1 << 20);
        morse(text.as_bytes(), &mut writer);
        writer.text().to_owned()
    }

    fn spelled(text: &str) -> Option<String> {
        let hits = Keywords::of([words()]).hits(text);
        radio(text, hits.of(0), 1 << 20).map(|derived| derived.text)
    }

    #[test]
    fn morse_code_is_read() {
        let code = "--- .--. . -. / - .... . / -.. --- --- .-.";
        for text in [
            code.to_owned(),
            code.replace('/', " "),
            code.replace('/', "|"),
            format!("hear: {code} over"),
        ] {
            assert_eq!(keyed(&text), "open the door\n", "{text}");
        }
        for text in [
            "----------",
            "- one\n- two\n- three\n",
            "... --- ...",
            "wait ........ what - - - - - - - -",
        ] {
            assert_eq!(keyed(text), "", "{text}");
        }
    }

    #[test]
    fn the_radio_alphabet_is_read() {
        let text = "oscar papa echo november, tango hotel echo, delta oscar oscar romeo";
        assert_eq!(spelled(text).as_deref(), Some("open the door\n"));
        assert_eq!(
            spelled("we danced tango in quebec last november, romeo and juliet too"),
            None
        );
        assert_eq!(
            spelled("x-ray yankee zulu alfa bravo charlie delta echo romeo").as_deref(),
            Some("xyzabcder\n")
        );
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "([.-]{1,6}[ /|é]){0,60}", words in "((tango|romeo|x-ray|é|echo)[ ,-]{1,3}){0,20}") {
            keyed(&text);
            spelled(&words);
        }
    }
}
