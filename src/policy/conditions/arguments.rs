//! Arguments of a call, as conditions see them: flat, by name and path, bounded.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::model::ToolCall;

/// Values that are told of a call.
const MAX_VALUES: usize = 1_000;
/// Bytes of one text. A text that is compared with a pattern is walked once for each part of the pattern.
const MAX_TEXT: usize = 64 * 1024;
/// Objects and lists within each other.
const MAX_DEPTH: usize = 16;

/// The facts about a call's arguments.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// Each value as text: objects and lists as JSON. Nothing inside of lists.
    pub(super) texts: BTreeMap<String, String>,
    /// Those that read as a number.
    pub(super) numbers: BTreeMap<String, i64>,
    /// Every text, number and boolean, also inside of lists.
    pub(super) values: BTreeMap<String, BTreeSet<String>>,
    pub(super) unseen: Unseen,
    count: usize,
}

/// The parts of the arguments that conditions do not see.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    /// The arguments of which something is missing.
    pub(super) paths: BTreeSet<String>,
    /// True if something is missing without a known place.
    pub(super) rest: bool,
}

impl Unseen {
    pub(super) fn hides(&self, name: &str) -> bool {
        let is_inside = |path: &String| {
            name.strip_prefix(path.as_str())
                .is_some_and(|rest| rest.starts_with('.'))
        };
        self.rest || self.paths.contains(name) || self.paths.iter().any(is_inside)
    }
}

impl Arguments {
    pub(super) fn of(call: Option<&ToolCall>) -> Self {
        let mut told = Self::default();
        for argument in call.iter().flat_map(|call| &call.arguments) {
            match serde_json::from_str(&argument.json) {
                Ok(value) => told.take(&argument.name, &value, 0, Inside::Objects),
                Err(_) => drop(told.unseen.paths.insert(argument.name.clone())),
            }
        }
        told
    }

    fn take(&mut self, path: &str, value: &Value, depth: usize, inside: Inside) {
        self.count += 1;
        if self.count > MAX_VALUES {
            self.unseen.rest = true;
            return;
        }
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if text.len() > MAX_TEXT || depth > MAX_DEPTH {
            self.unseen.paths.insert(path.to_owned());
        } else {
            self.tell(path, text, value, inside);
        }
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    self.take(&format!("{path}.{name}"), member, depth + 1, inside);
                }
            }
            Value::Array(items) => {
                items
                    .iter()
                    .for_each(|item| self.take(path, item, depth + 1, Inside::Lists));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn tell(&mut self, path: &str, text: String, value: &Value, inside: Inside) {
        if !matches!(value, Value::Object(_) | Value::Array(_) | Value::Null) {
            self.values.entry(path.to_owned()).or_default().insert(text.clone());
        }
        if inside == Inside::Lists {
            return;
        }
        if let (Value::String(_) | Value::Number(_), Some(number)) = (value, number(&text)) {
            self.numbers.insert(path.to_owned(), number);
        }
        if self.texts.insert(path.to_owned(), text).is_some() {
            // `a.b` as a name, and as `b` within `a`: it is not known which of them the tool reads.
            self.unseen.paths.insert(path.to_owned());
        }
    }
}

/// The place of a value: in a list, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Objects,
    Lists,
}

/// Reads a number, also where it is written as a text. A fraction counts as the next whole number away from zero, so that no amount
/// is less than it is; what is too large is the largest one.
fn number(text: &str) -> Option<i64> {
    let text = text.trim();
    if !text
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'))
    {
        return None;
    }
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        Some(if number < 0.0 { number.floor() } else { number.ceil() } as i64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_every_form_in_which_tools_read_them() {
        for (text, is) in [
            ("900", Some(900)),
            (" 900 ", Some(900)),
            ("900.01", Some(901)),
            ("-0.5", Some(-1)),
            ("9e2", Some(900)),
            ("1e400", Some(i64::MAX)),
            ("-1e400", Some(i64::MIN)),
            ("18446744073709551615", Some(i64::MAX)),
            ("inf", None),
            ("NaN", None),
            ("", None),
            ("9 00", None),
            ("900 EUR", None),
        ] {
            assert_eq!(number(text), is, "{text}");
        }
    }
}
