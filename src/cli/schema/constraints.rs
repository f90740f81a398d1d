//! The rules of a schema about a key beyond its type: the names that it may have, the bounds of a number, the keys of a table.

use anyhow::Context;
use serde_json::{Map, Value, json};

use crate::config::Constraint;

impl Constraint {
    /// Puts it into a schema. `path` names keys from the outermost one on, lists are looked through, and `*` is any name that a
    /// map has.
    ///
    /// # Errors
    ///
    /// When there is no such key.
    pub(super) fn put(self, schema: &mut Value, path: &str) -> anyhow::Result<()> {
        let mut names = path.split('.').filter(|name| !name.is_empty());
        let entry = names.try_fold(schema, member).and_then(Value::as_object_mut);
        let entry = match (&self, entry) {
            // Of a list, what is said of names and needs is said of each item.
            (Self::OneOf(_) | Self::Needs(_) | Self::Also(_), Some(entry)) => inside(entry),
            (_, entry) => entry,
        };
        let entry = entry.with_context(|| format!("the type of the file has no key `{path}`"))?;
        match self {
            Self::OneOf(names) => drop(entry.insert("enum".to_owned(), json!(names))),
            Self::Between(least, most) => {
                entry.insert("minimum".to_owned(), json!(least));
                entry.insert("maximum".to_owned(), json!(most));
            }
            Self::Positive => drop(entry.insert("minimum".to_owned(), json!(1))),
            Self::Share => {
                entry.insert("exclusiveMinimum".to_owned(), json!(0));
                entry.insert("maximum".to_owned(), json!(1));
            }
            Self::Keys(names) => {
                let value = entry
                    .insert("additionalProperties".to_owned(), json!(false))
                    .unwrap_or_default();
                let properties: Map<String, Value> =
                    names.into_iter().map(|name| (name.to_owned(), value.clone())).collect();
                entry.insert("properties".to_owned(), Value::Object(properties));
            }
            Self::Needs(keys) => drop(entry.insert("required".to_owned(), json!(keys))),
            Self::Also(keys) => {
                let known = entry.get_mut("properties").and_then(Value::as_object_mut);
                let known = known.with_context(|| format!("`{path}` is no table"))?;
                for key in keys {
                    known.entry(*key).or_insert_with(|| json!({}));
                }
            }
            Self::Open => drop(entry.insert("additionalProperties".to_owned(), json!(true))),
            Self::Words(words) => drop(entry.insert("description".to_owned(), json!(words))),
            Self::Schema(schema) => *entry = schema.as_object().cloned().unwrap_or_default(),
        }
        Ok(())
    }
}

/// Returns the schema of a key in a table, or in each table of a list.
pub(super) fn member<'s>(schema: &'s mut Value, name: &str) -> Option<&'s mut Value> {
    let schema = inside(schema.as_object_mut()?)?;
    match name {
        "*" => schema.get_mut("additionalProperties"),
        name => schema.get_mut("properties")?.get_mut(name),
    }
}

/// Returns the schema of a list's items; of everything else, itself.
fn inside(schema: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    if schema.contains_key("items") {
        schema.get_mut("items")?.as_object_mut()
    } else {
        Some(schema)
    }
}
