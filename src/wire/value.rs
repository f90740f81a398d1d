//! JSON as a value: read strictly, order and numbers kept, written anew.
//!
//! A gateway forwards text that is written from this value, which is also what was judged: two readers cannot understand it differently.

use std::fmt::{self, Write as _};

use super::{Kind, NodeId, RpcError, Table, read_json};

/// A place in a document: names and indices from its root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place(Vec<Key>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    Name(&'static str),
    Index(usize),
}

impl Place {
    /// Returns the member of this name.
    pub(crate) fn name(&self, name: &'static str) -> Self {
        self.with(Key::Name(name))
    }

    /// Returns the element at this index.
    pub(crate) fn index(&self, index: usize) -> Self {
        self.with(Key::Index(index))
    }

    /// Returns the first index in it.
    pub(crate) fn first_index(&self) -> Option<usize> {
        self.0.iter().find_map(|key| match key {
            Key::Name(_) => None,
            Key::Index(index) => Some(*index),
        })
    }

    fn with(&self, key: Key) -> Self {
        let mut keys = self.0.clone();
        keys.push(key);
        Self(keys)
    }

    /// Returns the place that holds this one; `None` for a document.
    pub(crate) fn holder(&self) -> Option<Self> {
        let (_, keys) = self.0.split_last()?;
        Some(Self(keys.to_vec()))
    }
}

impl fmt::Display for Place {
    /// Writes the place as a JSON Pointer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|key| match key {
            Key::Name(name) => write!(f, "/{name}"),
            Key::Index(index) => write!(f, "/{index}"),
        })
    }
}

/// A JSON value. Numbers are kept as they were written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
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

impl Json {
    /// Reads a text.
    ///
    /// # Errors
    ///
    /// When it is no JSON, has a name twice in one object, or leaves its bounds.
    pub(crate) fn parse(bytes: &[u8], depth: usize, values: usize) -> Result<Self, RpcError> {
        let table = read_json(bytes, depth, values)?;
        Ok(Self::of_node(&table, Table::ROOT))
    }

    fn of_node(table: &Table<'_>, node: NodeId) -> Self {
        match table.kind(node) {
            Kind::Null => Json::Null,
            Kind::Bool => Json::Bool(table.raw(node) == "true"),
            Kind::Number => Json::Number(table.raw(node).into()),
            Kind::String => Json::Text(table.text(node).unwrap_or_default().into_owned()),
            Kind::Array => Json::Array(table.children(node).map(|item| Self::of_node(table, item)).collect()),
            Kind::Object => {
                let name = |member| table.key(member).unwrap_or_default().into_owned();
                let members = table.children(node);
                Json::Object(
                    members
                        .map(|member| (name(member), Self::of_node(table, member)))
                        .collect(),
                )
            }
        }
    }

    /// Makes a string.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Json::Text(text.into())
    }

    /// Returns the member of this name, if this is an object that has it.
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Array(_) => None,
        }
    }

    /// Returns the member of [`get`](Self::get), to change it.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        match self {
            Json::Object(members) => members.iter_mut().find(|(key, _)| key == name).map(|(_, value)| value),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Array(_) => None,
        }
    }

    /// Returns the value that a path of names leads to.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Json> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    /// Returns the value at a place.
    pub(crate) fn at_place(&self, place: &Place) -> Option<&Json> {
        place.0.iter().try_fold(self, |value, key| match key {
            Key::Name(name) => value.get(name),
            Key::Index(index) => value.items().get(*index),
        })
    }

    /// Returns the value of [`at_place`](Self::at_place), to change it.
    pub(crate) fn at_place_mut(&mut self, place: &Place) -> Option<&mut Json> {
        place.0.iter().try_fold(self, |value, key| match (key, value) {
            (Key::Name(name), value) => value.get_mut(name),
            (Key::Index(index), Json::Array(items)) => items.get_mut(*index),
            (Key::Index(_), _) => None,
        })
    }

    /// Returns the string of this name.
    pub(crate) fn str_of(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Returns the string, if this is one.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// Returns the index, if this is a whole number that is not negative.
    pub(crate) fn as_index(&self) -> Option<usize> {
        match self {
            Json::Number(digits) => digits.parse().ok(),
            Json::Null | Json::Bool(_) | Json::Text(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// Returns the elements, if this is an array.
    pub(crate) fn items(&self) -> &[Json] {
        match self {
            Json::Array(items) => items,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Object(_) => &[],
        }
    }

    /// Returns `true` if it is an object.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Json::Object(_))
    }

    /// Returns `true` if it is `true`.
    pub(crate) fn is_true(&self) -> bool {
        *self == Json::Bool(true)
    }

    /// Puts a member into an object, in place of one of the same name.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Json>) {
        let value = value.into();
        if let Some(present) = self.get_mut(name) {
            *present = value;
        } else if let Json::Object(members) = self {
            members.push((name.to_owned(), value));
        }
    }

    /// Takes a member out of an object.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Json> {
        let Json::Object(members) = self else { return None };
        let at = members.iter().position(|(key, _)| key == name)?;
        Some(members.remove(at).1)
    }

    /// Returns about the number of bytes that it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
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

    /// Returns the text.
    pub(crate) fn write(&self) -> String {
        let mut out = String::new();
        self.write_to(&mut out);
        out
    }

    /// Appends the text.
    pub(crate) fn write_to(&self, out: &mut String) {
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

impl From<&Json> for serde_json::Value {
    fn from(value: &Json) -> Self {
        // A value that was read or built here is JSON.
        serde_json::from_str(&value.write()).unwrap_or_default()
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

/// Makes an object of these members.
pub(crate) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::code;

    fn read(text: &[u8]) -> Result<Json, i64> {
        Json::parse(text, 32, 1_000).map_err(|error| error.code)
    }

    fn again(text: &str) -> String {
        read(text.as_bytes()).unwrap().write()
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
        assert_eq!(read(br#"{"a":1,"\u0061":2}"#), Err(code::INVALID_REQUEST));
        for text in [
            &b"{\"a\":\"\xff\"}"[..],
            br#""\ud800""#,
            b"{} {}",
            b"NaN",
            b"",
            b"{\"a\":1,}",
            b"[1",
        ] {
            assert_eq!(read(text), Err(code::PARSE), "{text:?}");
        }
        let deep = "[".repeat(40) + &"]".repeat(40);
        assert_eq!(read(deep.as_bytes()), Err(code::INVALID_REQUEST));
        let many = format!("[{}1]", "1,".repeat(2_000));
        assert_eq!(read(many.as_bytes()), Err(code::INVALID_REQUEST));
    }
}
