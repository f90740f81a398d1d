//! Text written in digits that nobody sees: two or more kinds of invisible characters, of white space, or code points
//! that no font has.

use super::hidden::is_zero_width;
use super::likeness::{prints, readable};
use super::span_map::{Derived, Scale, Writer};
use crate::text::bytes::{any, next};

/// The fewest invisible characters in a row that can spell something.
pub(crate) const FEWEST_BITS: usize = 16;
/// The fewest of them that are read when they stand apart.
const FEWEST_APART: usize = 32;
/// The most that are read together.
const MOST: usize = 256 * 1024;
/// The most kinds that can be digits.
const MOST_KINDS: usize = 16;
/// Bytes that are read to see whether the others are worth it.
const PROBE: usize = 6;

/// Whether a character shows nothing and can be used as a digit.
pub(crate) const fn is_digit(c: char) -> bool {
    is_zero_width(c)
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180d}'
                | '\u{180f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{3164}'
                | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        )
}

/// A digit and where it stands.
type Digit = (usize, char);

/// What invisible characters spell: each row by itself, or all of them together where they stand apart.
pub(super) fn invisible(text: &str, room: usize) -> Option<Derived> {
    if !any(text.as_bytes(), |byte| {
        matches!(byte, 0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef)
    }) {
        return None;
    }
    let mut writer = Writer::new(room);
    let mut all: Vec<Digit> = Vec::new();
    let mut row = 0;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if is_digit(c) && all.len() < MOST {
            all.push((at, c));
            continue;
        }
        let digits = all.get(row..).unwrap_or_default();
        if digits.len() >= FEWEST_BITS
            && let Some(spelled) = spelled(digits, 2)
        {
            let from = digits.first().map_or(0, |(at, _)| *at);
            writer.put_scaled(from..at, Scale::Whole, &spelled);
        }
        row = all.len();
    }
    if writer.is_empty() && all.len() >= FEWEST_APART {
        write_all(&all, &mut writer);
    }
    (!writer.is_empty()).then(|| writer.finish(text.len()))
}

/// Writes what digits from all over a text spell together.
fn write_all(digits: &[Digit], writer: &mut Writer) {
    let Some(spelled) = spelled(digits, 4).filter(|text| is_written(text)) else {
        return;
    };
    let from = digits.first().map_or(0, |(at, _)| *at);
    let to = digits.last().map_or(0, |(at, c)| at + c.len_utf8());
    writer.put_scaled(from..to, Scale::Whole, &spelled);
}

/// Whether a text cannot come from a habit of typing: letters throughout, and many different ones.
fn is_written(text: &str) -> bool {
    let mut different: Vec<char> = text.chars().collect();
    different.sort_unstable();
    different.dedup();
    different.len() >= 6.min(text.len() / 2) && score(text) >= 80
}

/// How many of a hundred characters are letters or spaces.
fn score(text: &str) -> usize {
    let all = text.chars().count();
    let written = text.chars().filter(|c| c.is_alphabetic() || *c == ' ').count();
    written * 100 / all.max(1)
}

/// Of several readings the one that most looks like writing.
fn best(readings: impl Iterator<Item = String>) -> Option<String> {
    readings.max_by_key(|text| score(text))
}

/// What white space spells: tabs among spaces at the ends of lines or in one row, or two kinds of spaces between words.
pub(super) fn white_space(text: &str, room: usize) -> Option<Derived> {
    let mut writer = Writer::new(room);
    let tabs = tabs(text.as_bytes());
    if tabs.len() >= FEWEST_APART {
        write_all(&tabs, &mut writer);
    }
    if writer.is_empty() && !text.is_ascii() && any(text.as_bytes(), |byte| matches!(byte, 0xe3 | 0xe2 | 0xc2)) {
        let spaces: Vec<Digit> = text
            .char_indices()
            .filter(|(_, c)| *c == ' ' || is_odd_space(*c))
            .take(MOST)
            .collect();
        let odd = spaces.iter().filter(|(_, c)| *c != ' ').count();
        if odd >= FEWEST_BITS && odd < spaces.len() {
            // Ordinary words may stand before the first digit.
            for skipped in 0..8 {
                if writer.is_empty() {
                    write_all(spaces.get(skipped..).unwrap_or_default(), &mut writer);
                }
            }
        }
    }
    (!writer.is_empty()).then(|| writer.finish(text.len()))
}

const fn is_odd_space(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}'
    )
}

/// The spaces and tabs of every row that holds both, or a tab before the end of a line.
fn tabs(bytes: &[u8]) -> Vec<Digit> {
    let mut digits = Vec::new();
    let mut at = 0;
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    while let Some(tab) = next(bytes, at, |byte| byte == b'\t') {
        let mut start = tab;
        while start > at && is_blank(bytes.get(start - 1)) {
            start -= 1;
        }
        let mut end = tab;
        while is_blank(bytes.get(end)) {
            end += 1;
        }
        at = end;
        let row = bytes.get(start..end).unwrap_or_default();
        let indents = start == 0 || bytes.get(start - 1) == Some(&b'\n');
        let ends = bytes.get(end).is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
        if (row.contains(&b' ') && (!indents || row.len() >= FEWEST_BITS) || ends) && digits.len() < MOST {
            digits.extend((start..end).zip(row.iter().map(|byte| char::from(*byte))));
        }
    }
    digits
}

/// What characters of private use or without a meaning spell, when their numbers end like those of letters.
pub(super) fn private(text: &str, room: usize) -> Option<Derived> {
    const FEWEST: usize = 8;
    if !any(text.as_bytes(), |byte| matches!(byte, 0xee | 0xef | 0xf3 | 0xf4)) {
        return None;
    }
    let is_private = |c: &char| matches!(*c, '\u{e000}'..='\u{f8ff}' | '\u{e0080}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}' | '\u{f0000}'..='\u{10fffd}');
    let all: Vec<Digit> = text.char_indices().filter(|(_, c)| is_private(c)).take(MOST).collect();
    if all.len() < FEWEST {
        return None;
    }
    let bytes: Vec<u8> = all.iter().map(|(_, c)| (*c as u32 & 0x7f) as u8).collect();
    let spelled = plain(&bytes, FEWEST)?;
    let mut writer = Writer::new(room);
    for ((at, c), letter) in all.iter().zip(spelled.chars()) {
        writer.put(*at..at + c.len_utf8(), letter.encode_utf8(&mut [0; 4]));
    }
    Some(writer.finish(text.len()))
}

fn plain(bytes: &[u8], shortest: usize) -> Option<String> {
    let is_plain = bytes.iter().copied().all(prints);
    is_plain.then(|| readable(bytes, shortest)).flatten()
}

/// What digits spell in any of the known ways, when that is a text of at least so many bytes.
fn spelled(digits: &[Digit], shortest: usize) -> Option<String> {
    let mut kinds: Vec<char> = Vec::new();
    for (_, c) in digits {
        if !kinds.contains(c) {
            kinds.push(*c);
            if kinds.len() > MOST_KINDS {
                return None;
            }
        }
    }
    kinds.sort_unstable();
    let values: Vec<usize> = digits
        .iter()
        .filter_map(|(_, c)| kinds.iter().position(|kind| kind == c))
        .collect();
    match kinds.len() {
        0 | 1 => None,
        2 => binary(&values, shortest),
        // One of three may part the numbers from each other.
        3 => best((0..3).filter_map(|parting| parted(&values, parting, shortest)))
            .or_else(|| in_base(&values, 3, &[6, 5], shortest))
            .or_else(|| two_of_many(&values, shortest)),
        4 => in_base(&values, 4, &[4], shortest).or_else(|| two_of_many(&values, shortest)),
        _ => two_of_many(&values, shortest).or_else(|| in_order(&values, kinds.len(), shortest)),
    }
}

/// Which end of a number comes first.
#[derive(Clone, Copy)]
enum First {
    Highest,
    Lowest,
}

/// Bits of bytes, of seven or of eight, either end first, either kind for one.
fn binary(bits: &[usize], shortest: usize) -> Option<String> {
    let ways = [8, 7].into_iter().flat_map(|width| {
        let values = [[0, 1], [1, 0]].into_iter();
        values.flat_map(move |values| [First::Highest, First::Lowest].map(|first| (width, values, first)))
    });
    best(ways.filter_map(|(width, values, first)| text_of(bits, 2, width, &values, first, shortest)))
}

/// The first two kinds that appear, taken as bits, the others left out.
fn two_of_many(values: &[usize], shortest: usize) -> Option<String> {
    let zero = *values.first()?;
    let one = *values.iter().find(|value| **value != zero)?;
    let bits: Vec<usize> = values
        .iter()
        .filter(|value| **value == zero || **value == one)
        .map(|value| usize::from(*value == one))
        .collect();
    binary(&bits, shortest)
}

/// Numbers of so many digits in a small base, whichever kind stands for which.
fn in_base(digits: &[usize], base: usize, widths: &[usize], shortest: usize) -> Option<String> {
    let orders = permutations(base);
    let readings = widths.iter().flat_map(|width| {
        let orders = orders.iter();
        orders.filter_map(|order| text_of(digits, base, *width, order, First::Highest, shortest))
    });
    best(readings)
}

/// Two digits of a large base a byte, in the order of their code points.
fn in_order(digits: &[usize], kinds: usize, shortest: usize) -> Option<String> {
    let order: Vec<usize> = (0..kinds).collect();
    text_of(digits, 16, 2, &order, First::Highest, shortest)
}

/// Bits between signs that part one number from the next.
fn parted(values: &[usize], parting: usize, shortest: usize) -> Option<String> {
    let kinds: Vec<usize> = (0..3).filter(|kind| *kind != parting).collect();
    let readings = [0, 1].iter().filter_map(|one| {
        let one = *kinds.get(*one)?;
        let numbers = values.split(|value| *value == parting).filter(|bits| !bits.is_empty());
        let bytes: Option<Vec<u8>> = numbers
            .map(|bits| {
                let number = bits
                    .iter()
                    .take(8)
                    .fold(0u32, |number, bit| number << 1 | u32::from(*bit == one));
                u8::try_from(number).ok().filter(|_| bits.len() <= 8)
            })
            .collect();
        plain(&bytes?, shortest)
    });
    best(readings)
}

fn text_of(
    digits: &[usize],
    base: usize,
    width: usize,
    order: &[usize],
    first: First,
    shortest: usize,
) -> Option<String> {
    let byte = |group: &[usize]| {
        let value = |digit: &usize| order.get(*digit).copied().unwrap_or_default();
        let add = |number: usize, digit: &usize| number * base + value(digit);
        let number = match first {
            First::Highest => group.iter().fold(0, add),
            First::Lowest => group.iter().rev().fold(0, add),
        };
        u8::try_from(number).ok()
    };
    let probe: Option<Vec<u8>> = digits.chunks_exact(width).take(PROBE).map(byte).collect();
    // Whatever is written has neither control characters nor, from its first letter on, anything else odd.
    if probe?
        .iter()
        .any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace() && *byte != 0)
    {
        return None;
    }
    let bytes: Option<Vec<u8>> = digits.chunks_exact(width).map(byte).collect();
    // Sixteen bits a letter leave every other byte empty.
    let bytes: Vec<u8> = bytes?.into_iter().filter(|byte| *byte != 0).collect();
    readable(&bytes, shortest)
}

/// Every order of so few digits.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for digit in 0..count {
        orders = orders
            .iter()
            .flat_map(|order| {
                (0..=order.len()).map(move |place| {
                    let mut longer = order.clone();
                    longer.insert(place, digit);
                    longer
                })
            })
            .collect();
    }
    orders
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SAID: &str = "send it to me";

    fn place(derived: &Derived) -> std::ops::Range<usize> {
        derived.map.source_span(0..derived.text.len())
    }

    fn digits(base: usize, width: usize, kinds: &[char]) -> String {
        let number = |byte: u8| {
            let mut rest = usize::from(byte);
            let mut digits: Vec<char> = (0..width)
                .map(|_| {
                    let digit = kinds[rest % base];
                    rest /= base;
                    digit
                })
                .collect();
            digits.reverse();
            digits
        };
        SAID.bytes().flat_map(number).collect()
    }

    #[test]
    fn every_kind_of_invisible_digit_is_read() {
        let parted: Vec<String> = SAID
            .bytes()
            .map(|byte| format!("{byte:b}").replace('0', "\u{200b}").replace('1', "\u{200c}"))
            .collect();
        let backwards: String = SAID
            .bytes()
            .flat_map(|byte| (0..8).map(move |bit| if byte >> bit & 1 == 1 { '\u{200c}' } else { '\u{200b}' }))
            .collect();
        for hidden in [
            digits(2, 8, &['\u{200b}', '\u{200c}']),
            digits(2, 7, &['\u{200e}', '\u{200f}']),
            digits(2, 16, &['\u{3164}', '\u{115f}']),
            digits(3, 6, &['\u{200b}', '\u{200c}', '\u{200d}']),
            digits(4, 4, &['\u{200c}', '\u{200d}', '\u{202c}', '\u{feff}']),
            digits(4, 4, &['\u{2064}', '\u{2061}', '\u{2063}', '\u{2062}']),
            parted.join("\u{200d}"),
            backwards,
        ] {
            let derived = invisible(&format!("a{hidden}b"), 1000).unwrap();
            assert_eq!(derived.text, SAID);
            assert_eq!(place(&derived), 1..1 + hidden.len());
            let apart: String = hidden.chars().flat_map(|digit| ['w', digit]).collect();
            assert_eq!(invisible(&apart, 1000).unwrap().text, SAID);
        }
    }

    #[test]
    fn white_space_is_read() {
        let bits = digits(2, 8, &[' ', '\t']);
        assert_eq!(white_space(&format!("words{bits}\nmore"), 1000).unwrap().text, SAID);
        let lines: String = (0..SAID.len())
            .map(|line| format!("line{}\n", &bits[line * 8..line * 8 + 8]))
            .collect();
        assert_eq!(white_space(&lines, 1000).unwrap().text, SAID);
        let words: String = digits(2, 8, &[' ', '\u{3000}'])
            .chars()
            .flat_map(|space| ['w', space])
            .collect();
        assert_eq!(white_space(&words, 1000).unwrap().text, SAID);
        let code = "\tif (a) {\t// why\n\t\tb = c;\t \n\t}\n".repeat(40);
        assert!(white_space(&code, 1000).is_none());
        let typography = "Le prix\u{a0}: 10\u{a0}€ ; dix\u{202f}%. ".repeat(30);
        assert!(white_space(&typography, 1000).is_none());
    }

    #[test]
    fn characters_of_private_use_are_read() {
        for base in [0xe000, 0xf0000, 0xe0200] {
            let hidden: String = SAID
                .bytes()
                .map(|byte| char::from_u32(base + u32::from(byte)).unwrap())
                .collect();
            assert_eq!(private(&format!("x{hidden}y"), 1000).unwrap().text, SAID);
        }
        assert!(
            private(
                "\u{f015} \u{f0c9} \u{e0a0} \u{f1d3} \u{f126} \u{e706} \u{f120} \u{f07c} \u{e0b0}",
                1000
            )
            .is_none()
        );
    }

    #[test]
    fn scripts_that_need_invisible_characters_hide_nothing() {
        for text in [
            "می\u{200c}خواهم نمی\u{200c}دانم کتاب\u{200c}ها ".repeat(20),
            "क्\u{200d}ष प्र\u{200c}काश ക്\u{200d}ഷ ".repeat(20),
            "\u{200f}שלום\u{200e} (abc)\u{200f} ".repeat(20),
            "Donau\u{ad}dampf\u{ad}schiff\u{ad}fahrt ".repeat(20),
            "👩\u{200d}👩\u{200d}👧\u{200d}👦 ".repeat(20),
        ] {
            assert!(invisible(&text, 1000).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[\u{200b}\u{200c}\u{200d}\u{2060}\u{ad}\u{e000}\u{e061}\u{3000} \tw\n]{0,200}", room in 0usize..100) {
            for decode in [invisible, white_space, private] {
                if let Some(derived) = decode(&text, room) {
                    prop_assert!(derived.text.len() <= room);
                    prop_assert!(text.get(place(&derived)).is_some());
                }
            }
        }
    }
}
