//! The shape of a file, read off the type that reads it: serde tells a deserializer which fields a struct has and which type
//! each of them is.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, json};

/// The shape of one place of a file.
#[derive(Debug, PartialEq)]
pub(super) enum Shape {
    /// A value of which serde says nothing: the type tries several.
    Any,
    Bool,
    Integer,
    Number,
    Text,
    /// One of these names.
    Names(&'static [&'static str]),
    List(Box<Shape>),
    /// Any names, each with such a value.
    Map(Box<Shape>),
    /// These names and no others.
    Table(Vec<(&'static str, Shape)>),
}

impl Shape {
    /// Returns the shape of what this type reads.
    ///
    /// # Errors
    ///
    /// When the type takes no value that is made of zeros and ones, empty texts and lists of one.
    pub(super) fn of<T: DeserializeOwned>() -> Result<Self, Unreadable> {
        let mut shape = Self::Any;
        T::deserialize(Tracer(&mut shape))?;
        Ok(shape)
    }

    /// Returns it as a JSON Schema.
    pub(super) fn schema(&self) -> Value {
        match self {
            Self::Any => json!({}),
            Self::Bool => json!({"type": "boolean"}),
            Self::Integer => json!({"type": "integer", "minimum": 0}),
            Self::Number => json!({"type": "number"}),
            Self::Text => json!({"type": "string"}),
            Self::Names(names) => json!({"type": "string", "enum": names}),
            Self::List(item) => json!({"type": "array", "items": item.schema()}),
            Self::Map(value) => json!({"type": "object", "additionalProperties": value.schema()}),
            Self::Table(fields) => {
                let properties: Map<String, Value> = fields
                    .iter()
                    .map(|(name, shape)| ((*name).to_owned(), shape.schema()))
                    .collect();
                json!({"type": "object", "properties": properties, "additionalProperties": false})
            }
        }
    }
}

/// The reason why a type could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unreadable(String);

impl de::Error for Unreadable {
    fn custom<T: fmt::Display>(why: T) -> Self {
        Self(why.to_string())
    }
}

/// Gives a type the values that it asks for, and writes down what they were.
struct Tracer<'s>(&'s mut Shape);

/// Answers with a value of nothing, for each of these types.
macro_rules! told {
    ($($ask:ident => $shape:ident, $visit:ident($value:expr);)+) => {$(
        fn $ask<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
            *self.0 = Shape::$shape;
            visitor.$visit($value)
        }
    )+};
}

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = Unreadable;

    told! {
        deserialize_any => Any, visit_str("");
        deserialize_bool => Bool, visit_bool(false);
        deserialize_u8 => Integer, visit_u64(0);
        deserialize_u16 => Integer, visit_u64(0);
        deserialize_u32 => Integer, visit_u64(0);
        deserialize_u64 => Integer, visit_u64(0);
        deserialize_f32 => Number, visit_f64(1.0);
        deserialize_f64 => Number, visit_f64(1.0);
        deserialize_str => Text, visit_str("");
        deserialize_string => Text, visit_str("");
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        *self.0 = Shape::Names(names);
        visitor.visit_enum(StrDeserializer::new(names.first().unwrap_or(&"")))
    }

    /// Reads a raw value of serde_json, which asks for a map whose one key is the name of its type.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        visitor.visit_map(Fields {
            left: &[name],
            found: &mut Vec::new(),
        })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let mut item = Shape::Any;
        let value = visitor.visit_seq(One(Some(&mut item)))?;
        *self.0 = Shape::List(Box::new(item));
        Ok(value)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unreadable> {
        let mut entry = Shape::Any;
        let value = visitor.visit_map(One(Some(&mut entry)))?;
        *self.0 = Shape::Map(Box::new(entry));
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unreadable> {
        let mut found = Vec::new();
        let value = visitor.visit_map(Fields {
            left: fields,
            found: &mut found,
        })?;
        *self.0 = Shape::Table(found);
        Ok(value)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

/// A list of one item, or a map of one entry.
struct One<'s>(Option<&'s mut Shape>);

impl<'de> SeqAccess<'de> for One<'_> {
    type Error = Unreadable;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Unreadable> {
        self.0.take().map(|item| seed.deserialize(Tracer(item))).transpose()
    }
}

impl<'de> MapAccess<'de> for One<'_> {
    type Error = Unreadable;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unreadable> {
        let name = self.0.as_ref().map(|_| StrDeserializer::new("name"));
        name.map(|name| seed.deserialize(name)).transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Unreadable> {
        let entry = self
            .0
            .take()
            .ok_or_else(|| de::Error::custom("a value without a key"))?;
        seed.deserialize(Tracer(entry))
    }
}

/// The fields of a struct, one after the other.
struct Fields<'s> {
    left: &'s [&'static str],
    found: &'s mut Vec<(&'static str, Shape)>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Unreadable;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unreadable> {
        let name = self.left.first().map(|name| StrDeserializer::new(name));
        name.map(|name| seed.deserialize(name)).transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Unreadable> {
        let Some((name, left)) = self.left.split_first() else {
            return Err(de::Error::custom("a value without a key"));
        };
        self.left = left;
        let mut shape = Shape::Any;
        let value = seed.deserialize(Tracer(&mut shape))?;
        self.found.push((name, shape));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its shape is looked at")]
    struct Outer {
        name: Option<String>,
        share: f32,
        inner: Vec<Inner>,
        table: BTreeMap<String, BTreeMap<String, u16>>,
    }

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only its shape is looked at")]
    struct Inner {
        on: bool,
        tries: Option<usize>,
    }

    #[test]
    fn a_shape_has_every_field_of_a_type() {
        let inner = Shape::Table(vec![("on", Shape::Bool), ("tries", Shape::Integer)]);
        assert_eq!(
            Shape::of::<Outer>().unwrap(),
            Shape::Table(vec![
                ("name", Shape::Text),
                ("share", Shape::Number),
                ("inner", Shape::List(Box::new(inner))),
                ("table", Shape::Map(Box::new(Shape::Map(Box::new(Shape::Integer))))),
            ])
        );
    }
}
