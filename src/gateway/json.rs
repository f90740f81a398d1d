//! JSON as gateways relay it: read strictly, order and numbers kept, written anew.
//!
//! What a gateway forwards is written from this value, which is also what was judged: two readers cannot understand it differently.

use std::collections::HashSet;
use std::fmt::Write as _;

use jiter::{Jiter, JiterError, JiterErrorType, Peek};

/// A JSON value. Numbers are kept as they were written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, in its own digits.
    Number(Box<str>),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, in the order of its members; no name occurs twice.
    Object(Vec<(String, Json)>),
}

/// How large a value may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Levels of arrays and objects.
    pub(super) depth: usize,
    /// Values, whole and parts alike.
    pub(super) values: usize,
}

/// Why a text is no JSON that a gateway takes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsonFault {
    /// It is no JSON.
    #[error("expected JSON: {0}")]
    Malformed(String),
    /// It is JSON that has no single meaning, or too much of it.
    #[error("{0}")]
    Refused(String),
}

impl Json {
    /// Reads a text.
    ///
    /// # Errors
    ///
    /// When it is no JSON, has a name twice in one object, or leaves its bounds.
    pub(super) fn parse(bytes: &[u8], bounds: &Bounds) -> Result<Self, JsonFault> {
        // Between brackets and quotes, bytes that are no UTF-8 would otherwise depend on the reader.
        let text = std::str::from_utf8(bytes).map_err(|error| JsonFault::Malformed(error.to_string()))?;
        let mut reader = Reader {
            jiter: Jiter::new(text.as_bytes()),
            depth: bounds.depth,
            values: bounds.values,
        };
        let peek = reader.jiter.peek().map_err(malformed)?;
        let value = reader.value(peek)?;
        reader.jiter.finish().map_err(malformed)?;
        Ok(value)
    }

    /// A string.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Json::Text(text.into())
    }

    /// The member of this name, where this is an object that has it.
    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Array(_) => None,
        }
    }

    /// As [`get`](Self::get), to change it.
    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        match self {
            Json::Object(members) => members.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Array(_) => None,
        }
    }

    /// The value that a path of names leads to.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Json> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    /// The string of this name.
    pub(super) fn str_of(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// This as a string.
    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// The elements, where this is an array.
    pub(super) fn items(&self) -> &[Json] {
        match self {
            Json::Array(items) => items,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Object(_) => &[],
        }
    }

    /// Whether it is an object.
    pub(super) fn is_object(&self) -> bool {
        matches!(self, Json::Object(_))
    }

    /// Whether it is `true`.
    pub(super) fn is_true(&self) -> bool {
        *self == Json::Bool(true)
    }

    /// Puts a member into an object, in place of one of the same name.
    pub(super) fn set(&mut self, name: &str, value: impl Into<Json>) {
        let value = value.into();
        if let Some(present) = self.get_mut(name) {
            *present = value;
        } else if let Json::Object(members) = self {
            members.push((name.to_owned(), value));
        }
    }

    /// Takes a member out of an object.
    pub(super) fn remove(&mut self, name: &str) -> Option<Json> {
        let Json::Object(members) = self else { return None };
        let at = members.iter().position(|(key, _)| key == name)?;
        Some(members.remove(at).1)
    }

    /// The bytes that it takes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let inside = match self {
            Json::Null | Json::Bool(_) => 0,
            Json::Number(digits) => digits.len(),
            Json::Text(text) => text.len(),
            Json::Array(items) => items.iter().map(Json::bytes).sum(),
            Json::Object(members) => members
                .iter()
                .map(|(name, value)| 32 + name.len() + value.bytes())
                .sum(),
        };
        inside + size_of::<Self>()
    }

    /// The text.
    pub(super) fn write(&self) -> String {
        let mut out = String::new();
        self.write_to(&mut out);
        out
    }

    /// Appends the text.
    pub(super) fn write_to(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(true) => out.push_str("true"),
            Json::Bool(false) => out.push_str("false"),
            Json::Number(digits) => out.push_str(digits),
            Json::Text(text) => write_string(text, out),
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_to(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                    out.push(':');
                    value.write_to(out);
                }
                out.push('}');
            }
        }
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Json::Null,
            serde_json::Value::Bool(value) => Json::Bool(value),
            serde_json::Value::Number(number) => Json::Number(number.to_string().into()),
            serde_json::Value::String(text) => Json::Text(text),
            serde_json::Value::Array(items) => Json::Array(items.into_iter().map(Json::from).collect()),
            serde_json::Value::Object(members) => {
                Json::Object(members.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Json::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Json::Text(text)
    }
}

/// An object of these members.
pub(super) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let escaped = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            // The line separators end a line for some readers of event streams.
            '\0'..='\u{1f}' | '\u{7f}' | '\u{85}' | '\u{2028}' | '\u{2029}' => "",
            _ => continue,
        };
        out.push_str(text.get(plain..at).unwrap_or_default());
        plain = at + c.len_utf8();
        if escaped.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push_str(escaped);
        }
    }
    out.push_str(text.get(plain..).unwrap_or_default());
    out.push('"');
}

struct Reader<'j> {
    jiter: Jiter<'j>,
    depth: usize,
    values: usize,
}

impl Reader<'_> {
    fn value(&mut self, peek: Peek) -> Result<Json, JsonFault> {
        self.values = self
            .values
            .checked_sub(1)
            .ok_or_else(|| JsonFault::Refused("there are too many values".to_owned()))?;
        match peek {
            Peek::Array => self.nested(Self::array),
            Peek::Object => self.nested(Self::object),
            Peek::String => Ok(Json::Text(self.jiter.known_str().map_err(malformed)?.to_owned())),
            Peek::True | Peek::False => Ok(Json::Bool(self.jiter.known_bool(peek).map_err(malformed)?)),
            Peek::Null => self.jiter.known_null().map(|()| Json::Null).map_err(malformed),
            _ if peek.is_num() => {
                let digits = self.jiter.known_number_bytes(peek).map_err(malformed)?;
                let digits = std::str::from_utf8(digits).map_err(|error| JsonFault::Malformed(error.to_string()))?;
                Ok(Json::Number(digits.into()))
            }
            _ => Err(JsonFault::Malformed(
                "a value starts with an unexpected character".to_owned(),
            )),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Json, JsonFault>) -> Result<Json, JsonFault> {
        self.depth = self
            .depth
            .checked_sub(1)
            .ok_or_else(|| JsonFault::Refused("it is nested too deeply".to_owned()))?;
        let value = read(self)?;
        self.depth += 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Json, JsonFault> {
        let mut items = Vec::new();
        let mut next = self.jiter.known_array().map_err(malformed)?;
        while let Some(peek) = next {
            items.push(self.value(peek)?);
            next = self.jiter.array_step().map_err(malformed)?;
        }
        Ok(Json::Array(items))
    }

    fn object(&mut self) -> Result<Json, JsonFault> {
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut names = HashSet::new();
        let mut next = self.jiter.known_object().map_err(malformed)?.map(str::to_owned);
        while let Some(name) = next {
            if !names.insert(name.clone()) {
                return Err(JsonFault::Refused("a name occurs twice in one object".to_owned()));
            }
            let peek = self.jiter.peek().map_err(malformed)?;
            members.push((name, self.value(peek)?));
            next = self.jiter.next_key().map_err(malformed)?.map(str::to_owned);
        }
        Ok(Json::Object(members))
    }
}

fn malformed(error: JiterError) -> JsonFault {
    match error.error_type {
        JiterErrorType::JsonError(kind) => JsonFault::Malformed(format!("{kind} at byte {}", error.index)),
        JiterErrorType::WrongType { .. } => JsonFault::Malformed(format!("a surprise at byte {}", error.index)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        depth: 32,
        values: 1_000,
    };

    fn again(text: &str) -> String {
        Json::parse(text.as_bytes(), &BOUNDS).unwrap().write()
    }

    #[test]
    fn order_numbers_and_text_stay_as_they_are() {
        for text in [
            r#"{"z":1,"a":[1.0,1e400,9007199254740993,123456789012345678901234567890,-0]}"#,
            r#"["\"\\\n\t","é😀",true,false,null,{},[]]"#,
            r#""\u2028\u0000""#,
        ] {
            assert_eq!(again(text), text);
        }
        assert_eq!(again("  { \"a\" : [ 1 , 2 ] } "), r#"{"a":[1,2]}"#);
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        let twice = Json::parse(br#"{"a":1,"\u0061":2}"#, &BOUNDS);
        assert!(matches!(twice, Err(JsonFault::Refused(_))), "{twice:?}");
        for text in [
            &b"{\"a\":\"\xff\"}"[..],
            br#""\ud800""#,
            b"{} {}",
            b"NaN",
            b"",
            b"{\"a\":1,}",
            b"[1",
        ] {
            let read = Json::parse(text, &BOUNDS);
            assert!(matches!(read, Err(JsonFault::Malformed(_))), "{text:?}: {read:?}");
        }
        let deep = "[".repeat(40) + &"]".repeat(40);
        assert!(matches!(
            Json::parse(deep.as_bytes(), &BOUNDS),
            Err(JsonFault::Refused(_))
        ));
        let many = format!("[{}1]", "1,".repeat(2_000));
        assert!(matches!(
            Json::parse(many.as_bytes(), &BOUNDS),
            Err(JsonFault::Refused(_))
        ));
    }
}
