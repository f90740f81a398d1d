//! Texts that code spells out instead of writing them: in numbers, turned round, put together, encoded.
//!
//! An expression is read from its head: something that has a value, then what is done to it, step by step. What is not
//! known gives nothing.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::values::{literal, split_arguments, value};

/// Steps that are followed in one expression.
const MOST_STEPS: usize = 64;
/// Numbers that spell one text.
const MOST_LETTERS: usize = 4096;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Parts of which one stands in every expression that this module can read.
const MARKS: &[&str] = &[
    ".join(",
    "chr(",
    "::-1]",
    ".format(",
    "%",
    "fromCharCode",
    "fromCodePoint",
    "fromhex(",
    "b64decode(",
    "decode64(",
    "base64_decode(",
    "unhexlify(",
    "pack(",
    "rot13",
    "rot_13",
    "bytes([",
    "bytearray([",
    "atob(",
    "Buffer.from(",
    "environ",
    "getenv(",
    "process.env",
    ".reverse",
    ".replace(",
    "reversed(",
    "homedir()",
    "strrev(",
    "str_rot13(",
];

/// What an expression spells.
pub(super) fn spelled(expression: &str, constants: &HashMap<String, String>, depth: usize) -> Option<String> {
    if !MARKS.iter().any(|mark| expression.contains(mark)) {
        return None;
    }
    let mut whole = String::new();
    let mut rest = expression.trim();
    for _ in 0..MOST_STEPS {
        let (part, behind) = operand(rest, constants, depth)?;
        whole.push_str(&part);
        rest = behind.trim_start();
        if rest.is_empty() || rest == ";" {
            return Some(whole);
        }
        // `.` joins in PHP, `+` elsewhere.
        rest = rest.strip_prefix(['+', '.'])?.trim_start();
    }
    None
}

/// What stands at the head of a text and all that is done to it, and the text behind that.
fn operand<'t>(text: &'t str, constants: &HashMap<String, String>, depth: usize) -> Option<(String, &'t str)> {
    let (mut known, mut rest) = head(text, constants, depth)?;
    for _ in 0..MOST_STEPS {
        match step(&known, rest, constants, depth) {
            Some((next, behind)) => (known, rest) = (next, behind),
            None => break,
        }
    }
    Some((known, rest))
}

/// What stands inside brackets at the head of a text, and what follows them.
fn inside(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    let body = text.strip_prefix(open)?;
    let mut depth = 1_usize;
    let mut quote: Option<char> = None;
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => {
                chars.next();
            }
            (Some(opened), c) if c == opened => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, c) if c == open => depth += 1,
            (None, c) if c == close => {
                depth -= 1;
                if depth == 0 {
                    return Some((body.get(..at)?, body.get(at + close.len_utf8()..)?));
                }
            }
            (None, _) => {}
        }
    }
    None
}

/// The letters that a list of numbers, or a row of them, stands for.
fn letters(numbers: &str) -> Option<String> {
    let numbers = numbers
        .trim()
        .trim_start_matches(['[', '('])
        .trim_end_matches([']', ')']);
    if !numbers.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut text = String::new();
    for number in numbers
        .split(',')
        .map(str::trim)
        .filter(|number| !number.is_empty())
        .take(MOST_LETTERS)
    {
        let code = match number.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        text.push(char::from_u32(code)?);
    }
    Some(text)
}

/// The places where a function's name ends that turns numbers into letters.
const LETTER_MAKERS: &[&str] = &[
    "chr(",
    "String.fromCharCode(",
    "String.fromCodePoint(",
    "bytes(",
    "bytearray(",
];
/// What a function of another language makes of a text.
type Decode = fn(&str) -> Option<String>;
/// Functions that take a text and give another.
const DECODERS: &[(&str, Decode)] = &[
    ("bytes.fromhex(", from_hex),
    ("bytearray.fromhex(", from_hex),
    ("binascii.unhexlify(", from_hex),
    ("unhexlify(", from_hex),
    ("hex2bin(", from_hex),
    ("base64.b64decode(", from_base64),
    ("b64decode(", from_base64),
    ("base64_decode(", from_base64),
    ("decode_base64(", from_base64),
    ("Base64.decode64(", from_base64),
    ("atob(", from_base64),
    ("strrev(", turned),
    ("str_rot13(", rotated),
    ("reversed(", turned),
];
/// Where a person's own files lie, in the words of several languages.
const HOMES: &[&str] = &[
    "os.environ['HOME']",
    "os.environ[\"HOME\"]",
    "os.environ.get('HOME')",
    "os.environ.get(\"HOME\")",
    "os.getenv('HOME')",
    "os.getenv(\"HOME\")",
    "process.env.HOME",
    "require('os').homedir()",
    "require(\"os\").homedir()",
    "ENV['HOME']",
    "getenv('HOME')",
];

fn head<'t>(text: &'t str, constants: &HashMap<String, String>, depth: usize) -> Option<(String, &'t str)> {
    if let Some((known, rest)) = literal(text) {
        return Some((known, rest));
    }
    if let Some(rest) = HOMES.iter().find_map(|home| text.strip_prefix(home)) {
        return Some(("~".to_owned(), rest));
    }
    let arguments = |name: &str| inside(text.get(name.len() - 1..)?, '(', ')');
    if let Some(name) = LETTER_MAKERS.iter().find(|name| text.starts_with(**name)) {
        let (numbers, rest) = arguments(name)?;
        let numbers = numbers.trim_start_matches("...");
        return Some((letters(numbers)?, rest));
    }
    if let Some((name, decode)) = DECODERS.iter().find(|(name, _)| text.starts_with(name)) {
        let (inner, rest) = arguments(name)?;
        return Some((decode(&value(inner, constants, depth + 1)?)?, rest));
    }
    if text.starts_with("codecs.decode(") {
        let (inner, rest) = arguments("codecs.decode(")?;
        let parts = split_arguments(inner);
        let known = value(parts.first()?, constants, depth + 1)?;
        let how = parts.get(1)?;
        let decoded = match () {
            () if how.contains("rot") => rotated(&known),
            () if how.contains("hex") => from_hex(&known),
            () if how.contains("base64") => from_base64(&known),
            () => None,
        };
        return Some((decoded?, rest));
    }
    if text.starts_with("Buffer.from(") {
        let (inner, rest) = arguments("Buffer.from(")?;
        if let Some(text) = letters(inner) {
            return Some((text, rest));
        }
        let parts = split_arguments(inner);
        let known = value(parts.first()?, constants, depth + 1)?;
        let decoded = match parts.get(1).map(|how| how.trim_matches(['\'', '"'])) {
            Some("base64") => from_base64(&known)?,
            Some("hex") => from_hex(&known)?,
            _ => known,
        };
        return Some((decoded, rest));
    }
    if text.starts_with("pack(") {
        let (inner, rest) = arguments("pack(")?;
        let (template, what) = inner.split_once(',')?;
        let known = match template.trim_matches(['\'', '"', ' ']).chars().next()? {
            'C' | 'c' | 'U' | 'W' => letters(what)?,
            'H' => from_hex(&value(what, constants, depth + 1)?)?,
            _ => return None,
        };
        return Some((known, rest));
    }
    if text.starts_with('[') {
        // Numbers are letters only where something makes letters of them.
        let (numbers, rest) = inside(text, '[', ']')?;
        let makes = [
            ".pack(",
            ".map(String.fromCharCode)",
            ".map(c",
            ".map((",
            ".map(x",
            ".map(&:chr)",
        ];
        return makes
            .iter()
            .any(|make| rest.starts_with(make))
            .then(|| letters(numbers))
            .flatten()
            .map(|known| (known, rest));
    }
    let name = text.trim_start_matches('$');
    let end = name
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(name.len());
    let known = constants.get(name.get(..end)?)?;
    Some((known.clone(), name.get(end..)?))
}

/// What one step makes of a value: a method, an operator with a side of its own, a turn.
fn step<'t>(
    known: &str,
    rest: &'t str,
    constants: &HashMap<String, String>,
    depth: usize,
) -> Option<(String, &'t str)> {
    let trimmed = rest.trim_start();
    for turn in [
        "[::-1]",
        ".split('').reverse().join('')",
        ".split(\"\").reverse().join(\"\")",
        ".reverse",
    ] {
        if let Some(rest) = trimmed.strip_prefix(turn) {
            return Some((turned(known)?, rest));
        }
    }
    if let Some(rest) = trimmed.strip_prefix('%') {
        let rest = rest.trim_start();
        let (parts, behind) = if rest.starts_with('(') {
            let (inner, behind) = inside(rest, '(', ')')?;
            (split_arguments(inner), behind)
        } else {
            (vec![rest.to_owned()], "")
        };
        let mut parts = parts.iter();
        let mut text = String::new();
        let mut left = known;
        while let Some((before, after)) = left.split_once('%') {
            text.push_str(before);
            match after.chars().next()? {
                's' | 'd' | 'r' => text.push_str(&value(parts.next()?, constants, depth + 1)?),
                '%' => text.push('%'),
                _ => return None,
            }
            left = after.get(1..)?;
        }
        text.push_str(left);
        return Some((text, behind));
    }
    let method = trimmed.strip_prefix('.')?;
    let name_end = method.find('(')?;
    let name = method.get(..name_end)?;
    let (inner, behind) = inside(method.get(name_end..)?, '(', ')')?;
    let parts = || -> Option<Vec<String>> {
        split_arguments(inner)
            .iter()
            .map(|part| value(part, constants, depth + 1))
            .collect()
    };
    let next = match name {
        "decode" | "encode" | "toString" | "strip" | "trim" | "lower" | "map" | "pack" | "toLowerCase" => match name {
            "lower" | "toLowerCase" => known.to_lowercase(),
            "strip" | "trim" => known.trim().to_owned(),
            _ => known.to_owned(),
        },
        "reverse" => turned(known)?,
        "replace" => match parts()?.as_slice() {
            [from, to] if !from.is_empty() && to.len() <= from.len() => known.replace(from, to),
            _ => return None,
        },
        "format" => {
            let mut parts = parts()?.into_iter();
            let mut text = String::new();
            let mut left = known;
            while let Some((before, after)) = left.split_once('{') {
                text.push_str(before);
                let (_, behind) = after.split_once('}')?;
                text.push_str(&parts.next()?);
                left = behind;
            }
            text.push_str(left);
            text
        }
        "join" => joined(known, inner, constants, depth)?,
        _ => return None,
    };
    Some((next, behind))
}

/// What a text joins: a list of texts, letters made of numbers, or a text turned round.
fn joined(glue: &str, what: &str, constants: &HashMap<String, String>, depth: usize) -> Option<String> {
    let what = what.trim();
    if let Some(at) = what.rfind('[').filter(|_| what.contains("chr")) {
        let (numbers, _) = inside(what.get(at..)?, '[', ']')?;
        return letters(numbers);
    }
    if let Some(inner) = what.strip_prefix("reversed(").and_then(|rest| rest.strip_suffix(')')) {
        return turned(&value(inner, constants, depth + 1)?);
    }
    let list = what.strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
    let parts: Option<Vec<String>> = split_arguments(list)
        .iter()
        .map(|part| value(part, constants, depth + 1))
        .collect();
    Some(parts?.join(glue))
}

fn turned(text: &str) -> Option<String> {
    Some(text.chars().rev().collect())
}

fn rotated(text: &str) -> Option<String> {
    let rotate = |c: char, first: u8| char::from(first + (c as u8 - first + 13) % 26);
    let letters = text.chars().map(|c| match c {
        'a'..='z' => rotate(c, b'a'),
        'A'..='Z' => rotate(c, b'A'),
        other => other,
    });
    Some(letters.collect())
}

fn from_hex(text: &str) -> Option<String> {
    let digits: Option<Vec<u8>> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let bytes = digits?
        .chunks_exact(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect();
    String::from_utf8(bytes).ok()
}

fn from_base64(text: &str) -> Option<String> {
    let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    String::from_utf8(BASE64.decode(packed).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spells(expression: &str) -> Option<String> {
        let constants = HashMap::from([("a".to_owned(), "rm".to_owned())]);
        spelled(expression, &constants, 0)
    }

    #[test]
    fn what_is_spelled_out_is_read() {
        for expression in [
            "''.join(chr(c) for c in [114, 109, 32, 45, 114, 102])",
            "''.join(map(chr, [114, 109, 32, 45, 114, 102]))",
            "bytes([114, 109, 32, 45, 114, 102]).decode()",
            "String.fromCharCode(114, 109, 32, 45, 114, 102)",
            "chr(114) + chr(109) + ' -rf'",
            "chr(114).chr(109).' -rf'",
            "pack(\"C*\", 114, 109, 32, 45, 114, 102)",
            "[114, 109, 32, 45, 114, 102].pack('c*')",
            "'fr- mr'[::-1]",
            "''.join(reversed('fr- mr'))",
            "'fr- mr'.split('').reverse().join('')",
            "' '.join(['rm', '-rf'])",
            "'%s -%s' % (a, 'rf')",
            "'{} -{}'.format(a, 'rf')",
            "a + ' -{}'.format('rf')",
            "codecs.decode('ez -es', 'rot13')",
            "bytes.fromhex('726d202d7266').decode()",
            "base64.b64decode('cm0gLXJm').decode('utf-8')",
            "Buffer.from('cm0gLXJm', 'base64').toString()",
            "atob('cm0gLXJm')",
            "'rXm -rXf'.replace('X', '')",
        ] {
            assert_eq!(spells(expression).as_deref(), Some("rm -rf"), "{expression}");
        }
        assert_eq!(spells("os.environ['HOME']").as_deref(), Some("~"));
    }

    #[test]
    fn what_is_not_known_spells_nothing() {
        for expression in [
            "chr(x)",
            "''.join(parts)",
            "'%s' % name",
            "[1, 2, 3]",
            "'a'.format(b)[0]",
            "bytes(10, x)",
            "'x' % (",
        ] {
            assert_eq!(spells(expression), None, "{expression}");
        }
    }
}
