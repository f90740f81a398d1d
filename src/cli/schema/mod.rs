//! The JSON Schemas of guardian.toml, of a policy and of labelled cases: keys from the types that read the files, words and examples from their
//! references (of cases, from a table here), names and bounds as the readers hold them.
//!
//! Editors that know JSON Schema complete and check the files with them. What a file means, and whether one key fits another,
//! is for the program to say: `guardian config check`.

mod cases;
mod constraints;
mod policies;
mod shape;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::reference::{self, Key};
use crate::config::Constraint;
use constraints::member;
use shape::Shape;

/// Returns the schema of guardian.toml.
pub(super) fn config() -> anyhow::Result<Value> {
    schema::<crate::config::ConfigFile>("guardian.toml", crate::config::constraints(), crate::config::REFERENCE)
}

/// Returns the schema of a policy.
pub(super) fn policy() -> anyhow::Result<Value> {
    schema::<crate::policy::PolicyFile>(
        "A policy of aos-guardian",
        policies::constraints(),
        crate::policy::REFERENCE,
    )
}

/// Returns the schema of a line of a suite: a labelled step, a labelled session, or a message log with labels.
pub(super) fn case() -> anyhow::Result<Value> {
    let mut forms = vec![
        shaped::<crate::eval::CaseFile>("A labelled step", cases::step())?,
        shaped::<crate::eval::SessionFile>("A labelled session", cases::session())?,
    ];
    forms.push(cases::log());
    Ok(serde_json::json!({
        "$schema": DRAFT, "title": "A line of a suite of aos-guardian", "anyOf": forms,
    }))
}

/// Prints a schema.
pub(super) fn print(schema: &Value) {
    // In one order, so that a difference between two versions shows what differs.
    let mut sorted = schema.clone();
    sorted.sort_all_objects();
    super::output::write(format_args!("{sorted:#}\n"));
}

fn schema<T: DeserializeOwned>(title: &str, said: Vec<(String, Constraint)>, words: &str) -> anyhow::Result<Value> {
    let mut schema = shaped::<T>(title, said)?;
    describe(&mut schema, &reference::sections(words));
    take_over_descriptions(&mut schema, &Map::new());
    add(&mut schema, "$schema", DRAFT.into());
    Ok(schema)
}

/// Draft 7 is what editors of TOML know.
const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// Returns the shape of a type with what is said of its keys.
fn shaped<T: DeserializeOwned>(title: &str, said: Vec<(String, Constraint)>) -> anyhow::Result<Value> {
    let mut schema = Shape::of::<T>()?.schema();
    for (path, said) in said {
        said.put(&mut schema, &path)?;
    }
    add(&mut schema, "title", title.into());
    Ok(schema)
}

/// Gives every section and key the words of the reference, and what stands there as an example.
fn describe(schema: &mut Value, sections: &[reference::Section]) {
    for section in sections {
        let path = section.name.trim_matches(['[', ']']);
        let mut names = path.split('.').filter(|name| !name.is_empty());
        let Some(table) = names.try_fold(&mut *schema, member) else {
            continue;
        };
        // What stands at the top of a reference is about its lines.
        if !path.is_empty() {
            add(table, "description", section.intro.as_str().into());
        }
        for key in &section.keys {
            if let Some(entry) = member(table, key.name.trim_matches('"')) {
                add(entry, "description", key.meaning.as_str().into());
                if let Some(value) = example(key) {
                    add(entry, "examples", Value::Array(vec![value]));
                }
            }
        }
    }
}

fn add(schema: &mut Value, name: &str, value: Value) {
    if let Some(schema) = schema.as_object_mut().filter(|_| value != "") {
        schema.insert(name.to_owned(), value);
    }
}

/// Returns the value that the reference shows.
fn example(key: &Key) -> Option<Value> {
    let table: toml::Table = toml::from_str(&format!("value = {}", key.value)).ok()?;
    serde_json::to_value(table.get("value")?).ok()
}

/// Gives a key without words those of the same key in the table around its own: `[judge.first]` takes the keys of `[judge]`.
fn take_over_descriptions(schema: &mut Value, outer: &Map<String, Value>) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(items) = object.get_mut("items") {
        take_over_descriptions(items, outer);
    }
    let Some(Value::Object(properties)) = object.get_mut("properties") else {
        return;
    };
    for (name, entry) in properties.iter_mut() {
        let words = outer.get(name).and_then(|same| same.get("description"));
        if let Some(words) = words.filter(|_| entry.get("description").is_none()) {
            add(entry, "description", words.clone());
        }
    }
    let around = properties.clone();
    for entry in properties.values_mut() {
        take_over_descriptions(entry, &around);
    }
}
