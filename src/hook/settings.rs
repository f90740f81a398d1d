//! Writes hooks into a program's settings, and takes them out. Texts in, texts out: comments, order and white space of everything else
//! stay as they are.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::event::Row;
use super::program::{Form, Program};

/// The reason why settings cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// They are no JSON.
    #[error("expected JSON, comments allowed: {0}; correct the file first")]
    NotJson(String),
    /// They are no TOML.
    #[error("expected TOML: {0}; correct the file first")]
    NotToml(String),
    /// A value in them has another type.
    #[error("expected {0}; correct the file first")]
    OtherType(String),
    /// A file of this name is not ours.
    #[error("the file was not written by this command; move it away first")]
    NotOurs,
}

/// The hooks of ours that a program has in its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hooked {
    /// All of them.
    Whole,
    /// None.
    No,
    /// These events have none.
    Partly(Vec<&'static str>),
    /// All of them, and this switch turns every hook off.
    SwitchedOff(&'static str),
}

/// The first words of a plugin of ours.
const MARK: &str = "// Written by `guardian hook install";

/// Adds our hooks to the settings, in the place of those that were there. The command is given in words; the program waits so many seconds.
///
/// # Errors
///
/// When the settings are none that can be edited.
pub fn install(
    program: &Program,
    text: Option<&str>,
    command: &[String],
    seconds: u64,
) -> Result<String, SettingsError> {
    match &program.settings.form {
        Form::Plugin(plugin) => {
            not_somebody_elses(text)?;
            Ok(plugin(&Value::from(command.to_vec()).to_string(), seconds))
        }
        Form::Entries { version, entry, .. } => {
            let without = match text {
                Some(text) => uninstall(program, text)?.unwrap_or_default(),
                None => String::new(),
            };
            let line = shell_line(command);
            let root = parse(if without.trim().is_empty() { "{}\n" } else { &without })?;
            let members = object(&root)?;
            if let Some(version) = version
                && members.get("version").is_none()
            {
                members.append("version", CstInputValue::Number(version.to_string()));
            }
            let hooks = match members.get("hooks") {
                Some(_) => members.object_value("hooks"),
                None => members.object_value_or_create("hooks"),
            };
            let hooks = hooks.ok_or_else(|| SettingsError::OtherType("an object in `hooks`".to_owned()))?;
            for row in program.events {
                list(&hooks, row)?.append(input(&entry(row, &line, seconds)));
            }
            Ok(root.to_string())
        }
    }
}

/// Returns the settings without our hooks; `None` where nothing is left of them.
///
/// # Errors
///
/// As [`install`].
pub fn uninstall(program: &Program, text: &str) -> Result<Option<String>, SettingsError> {
    if let Form::Plugin(_) = program.settings.form {
        not_somebody_elses(Some(text))?;
        return Ok(None);
    }
    if text.trim().is_empty() {
        return Ok(None);
    }
    let root = parse(text)?;
    let members = object(&root)?;
    let mut took = false;
    if let Some(hooks) = members.object_value("hooks") {
        for event in hooks.properties() {
            let Some(entries) = event.array_value() else { continue };
            let taken = take_out(&entries, program.name);
            took |= taken;
            if taken && entries.elements().is_empty() {
                event.remove();
            }
        }
        if took
            && hooks.properties().is_empty()
            && let Some(property) = members.get("hooks")
        {
            property.remove();
        }
    }
    let left = members.properties();
    let only_version = left
        .iter()
        .all(|member| member.decoded_name().as_deref() == Some("version"));
    let has_comment = root.to_string().contains("//") || root.to_string().contains("/*");
    Ok(if took && only_version && !has_comment {
        None
    } else {
        Some(root.to_string())
    })
}

/// Returns which hooks of ours are there.
///
/// # Errors
///
/// As [`install`].
pub fn installed(program: &Program, text: Option<&str>) -> Result<Hooked, SettingsError> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(Hooked::No);
    };
    let Form::Entries { off, .. } = &program.settings.form else {
        return Ok(if text.starts_with(MARK) {
            Hooked::Whole
        } else {
            Hooked::No
        });
    };
    let root = parse(text)?;
    let members = object(&root)?;
    let hooks = members.object_value("hooks");
    let is_there = |row: &&Row| {
        let entries = hooks.as_ref().and_then(|hooks| hooks.array_value(row.name));
        entries.is_some_and(|entries| entries.elements().iter().any(|entry| is_ours(entry, program.name)))
    };
    let (there, missing): (Vec<&Row>, Vec<&Row>) = program.events.iter().partition(is_there);
    let switched_off = off.filter(|switch| {
        let value = members.get(switch).and_then(|member| member.value());
        value
            .and_then(|value| value.as_boolean_lit())
            .is_some_and(|value| value.value())
    });
    Ok(match (there.is_empty(), missing.is_empty(), switched_off) {
        (true, _, _) => Hooked::No,
        (false, false, _) => Hooked::Partly(missing.iter().map(|row| row.name).collect()),
        (false, true, Some(switch)) => Hooked::SwitchedOff(switch),
        (false, true, None) => Hooked::Whole,
    })
}

fn not_somebody_elses(text: Option<&str>) -> Result<(), SettingsError> {
    match text {
        Some(text) if !text.trim().is_empty() && !text.starts_with(MARK) => Err(SettingsError::NotOurs),
        Some(_) | None => Ok(()),
    }
}

fn parse(text: &str) -> Result<CstRootNode, SettingsError> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| SettingsError::NotJson(error.to_string()))
}

fn object(root: &CstRootNode) -> Result<CstObject, SettingsError> {
    root.object_value()
        .ok_or_else(|| SettingsError::OtherType("an object, in braces".to_owned()))
}

/// Returns the entries of an event.
fn list(hooks: &CstObject, row: &Row) -> Result<CstArray, SettingsError> {
    let list = match hooks.get(row.name) {
        Some(_) => hooks.array_value(row.name),
        None => hooks.array_value_or_create(row.name),
    };
    list.ok_or_else(|| SettingsError::OtherType(format!("an array in `hooks.{}`", row.name)))
}

/// Takes our hooks out of the entries of an event; a group in which nothing else is goes with them.
fn take_out(entries: &CstArray, name: &str) -> bool {
    let mut took = false;
    for entry in entries.elements() {
        let Some(group) = entry.as_object() else { continue };
        match group.array_value("hooks") {
            Some(inner) => {
                let taken = take_out(&inner, name);
                took |= taken;
                if taken && inner.elements().is_empty() {
                    group.remove();
                }
            }
            None if is_ours(&entry, name) => {
                took = true;
                group.remove();
            }
            None => {}
        }
    }
    took
}

/// Returns `true` if an entry, or a hook in it, calls this command.
fn is_ours(entry: &CstNode, name: &str) -> bool {
    let Some(entry) = entry.as_object() else { return false };
    if let Some(inner) = entry.array_value("hooks") {
        return inner.elements().iter().any(|hook| is_ours(hook, name));
    }
    let command = entry.get("command").and_then(|member| member.value());
    let command = command.and_then(|value| value.as_string_lit()?.decoded_value().ok());
    let hook = format!(" hook {name}");
    let begins = ["--alone", "--url"].map(|option| format!("{hook} {option}"));
    command.is_some_and(|command| {
        command.contains("guardian") && command.contains(&hook) || begins.iter().any(|begin| command.contains(begin))
    })
}

/// Writes a command as a shell takes it.
fn shell_line(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=@%+,".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), input(value)));
            CstInputValue::Object(members.collect())
        }
    }
}

#[cfg(test)]
mod tests;
