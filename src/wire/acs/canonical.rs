//! Canonical JSON (RFC 8785): the bytes that a signature and a chain of hashes cover.

use std::fmt::Write;

use crate::wire::json::{self, Bounds, Kind, NodeId, Table};

/// Returns the canonical text of a node, without the member `left_out`; `None` if a number has no double.
pub(in crate::wire) fn canonical(table: &Table<'_>, node: NodeId, left_out: Option<NodeId>) -> Option<String> {
    let mut out = String::with_capacity(table.raw(node).len());
    write(table, node, left_out, &mut out)?;
    Some(out)
}

/// Returns the canonical text of a value that was built here.
pub(crate) fn canonical_json(value: &serde_json::Value) -> Option<String> {
    let text = value.to_string();
    let bounds = Bounds {
        depth: 256,
        values: usize::try_from(u32::MAX).unwrap_or(usize::MAX),
        bytes: text.len(),
    };
    let table = json::parse(text.as_bytes(), bounds).ok()?;
    canonical(&table, Table::ROOT, None)
}

/// Appends a node. The depth of the table is bounded, and with it that of these calls.
fn write(table: &Table<'_>, node: NodeId, left_out: Option<NodeId>, out: &mut String) -> Option<()> {
    match table.kind(node) {
        Kind::Null | Kind::Bool => out.push_str(table.raw(node)),
        Kind::Number => write_number(table.raw(node), out)?,
        Kind::String => write_string(&table.text(node)?, out)?,
        Kind::Array => {
            out.push('[');
            for (index, item) in table.children(node).enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(table, item, left_out, out)?;
            }
            out.push(']');
        }
        Kind::Object => {
            let members = table.children(node).filter(|member| Some(*member) != left_out);
            let named = members.map(|member| Some((table.key(member)?, member)));
            let mut members = named.collect::<Option<Vec<_>>>()?;
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(&name, out)?;
                out.push(':');
                write(table, member, left_out, out)?;
            }
            out.push('}');
        }
    }
    Some(())
}

/// Writes a string: serde_json escapes what RFC 8785 says, and nothing else.
fn write_string(text: &str, out: &mut String) -> Option<()> {
    out.push_str(&serde_json::to_string(text).ok()?);
    Some(())
}

/// Writes a number as ECMAScript writes the double nearest to it.
fn write_number(raw: &str, out: &mut String) -> Option<()> {
    let value: f64 = raw.parse().ok().filter(|value: &f64| value.is_finite())?;
    if value == 0.0 {
        out.push('0');
        return Some(());
    }
    if value < 0.0 {
        out.push('-');
    }
    // The shortest digits that mean this double, and its power of ten.
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e')?;
    let digits = mantissa.replace('.', "");
    let count = i32::try_from(digits.len()).ok()?;
    let point = exponent.parse::<i32>().ok()?.checked_add(1)?;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    match point {
        _ if count <= point && point <= 21 => {
            out.push_str(&digits);
            out.push_str(&zeros(point - count));
        }
        1..=21 => {
            let (whole, rest) = digits.split_at_checked(usize::try_from(point).ok()?)?;
            let _ = write!(out, "{whole}.{rest}");
        }
        -5..=0 => {
            let _ = write!(out, "0.{}{digits}", zeros(-point));
        }
        _ => {
            let (first, rest) = digits.split_at_checked(1)?;
            let dot = if rest.is_empty() { "" } else { "." };
            let _ = write!(out, "{first}{dot}{rest}e{:+}", point - 1);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical_of(text: &str) -> Option<String> {
        let bounds = Bounds {
            depth: 16,
            values: 1_000,
            bytes: 10_000,
        };
        canonical(&json::parse(text.as_bytes(), bounds).unwrap(), Table::ROOT, None)
    }

    #[test]
    fn the_examples_of_rfc_8785() {
        let text = r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#;
        let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(canonical_of(text).as_deref(), Some(expected));
    }

    #[test]
    fn members_stand_in_the_order_of_their_utf_16() {
        let text = r#"{"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7}"#;
        let order: Vec<char> = canonical_of(text)
            .unwrap()
            .chars()
            .filter(|c| ('1'..='7').contains(c))
            .collect();
        // `1` is a name, too.
        assert_eq!(order, ['2', '1', '4', '6', '7', '1', '5', '3']);
    }

    #[test]
    fn numbers_are_written_as_ecmascript_writes_them() {
        for (written, canonical) in [
            ("0", "0"),
            ("-0", "0"),
            ("1.0", "1"),
            ("100", "100"),
            ("1e21", "1e+21"),
            ("123456789012345680000", "123456789012345680000"),
            ("0.000001", "0.000001"),
            ("1e-7", "1e-7"),
            ("-1.5e-9", "-1.5e-9"),
            ("9007199254740993", "9007199254740992"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("12.5", "12.5"),
        ] {
            assert_eq!(canonical_of(written).as_deref(), Some(canonical), "{written}");
        }
        assert_eq!(canonical_of("1e400"), None);
    }
}
