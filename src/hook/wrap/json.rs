//! Configurations in JSON. Entries are changed at their places in the text, by the ranges that the parser gives.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast, parse_to_serde_value};

use super::{Command, EVENTS, Headers, Kind, NO_SERVER, OAUTH, OTHER_FORM, Path, SUBCOMMAND, Server, variable};
use crate::hook::settings::SettingsError;

/// The members whose members are servers.
const LISTS: &[&[&str]] = &[
    &["mcpServers"],
    &["context_servers"],
    &["servers"],
    &["mcp", "servers"],
    &["mcp"],
];
/// The member in which a client keeps the same for each folder.
const FOLDERS: &str = "projects";
/// The members that are an address, by client.
const ADDRESSES: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// A replacement of a part of a text.
type Splice = (Range<usize>, String);

pub(super) fn servers(text: &str) -> Result<Vec<Server>, SettingsError> {
    let Some(root) = parsed(text)? else {
        return Ok(Vec::new());
    };
    let mut servers = Vec::new();
    let mut take = |way: Path, list: &Object<'_>| {
        for member in &list.properties {
            let Value::Object(entry) = &member.value else { continue };
            let mut path = way.clone();
            path.push(member.name.as_str().to_owned());
            // `mcp` is a list itself, or holds one.
            let is_list = path == ["mcp", "servers"];
            if !is_list {
                servers.push(Server {
                    path,
                    kind: kind(entry),
                });
            }
        }
    };
    for list in LISTS {
        let found = list.iter().try_fold(&root, |object, name| member(object, name));
        if let Some(found) = found {
            take(list.iter().map(|name| (*name).to_owned()).collect(), found);
        }
    }
    for folder in member(&root, FOLDERS).iter().flat_map(|folders| &folders.properties) {
        if let Value::Object(of_folder) = &folder.value
            && let Some(list) = member(of_folder, "mcpServers")
        {
            let way = [FOLDERS, folder.name.as_str(), "mcpServers"];
            take(way.map(str::to_owned).to_vec(), list);
        }
    }
    Ok(servers)
}

pub(super) fn wrap(text: &str, paths: &[Path], command: &Command<'_>) -> Result<String, SettingsError> {
    let Some(root) = parsed(text)? else {
        return Ok(text.to_owned());
    };
    let mut splices = Vec::new();
    for path in paths {
        let entry = entry(&root, path).and_then(|property| property.value.as_object());
        if let Some(entry) = entry {
            let server = path.last().map_or("", String::as_str);
            splices.extend(of_entry(server, entry, command));
        }
    }
    Ok(spliced(text, splices))
}

pub(super) fn unwrap(
    text: &str,
    paths: &[Path],
    before: &str,
    written: &str,
) -> Result<(String, Vec<Path>), SettingsError> {
    let (now, then, ours) = (parsed(text)?, parsed(before)?, parsed(written)?);
    let (now_values, our_values) = (values(text)?, values(written)?);
    let (Some(now), Some(then), Some(_)) = (now, then, ours) else {
        return Ok((text.to_owned(), paths.to_vec()));
    };
    let (mut splices, mut changed) = (Vec::new(), Vec::new());
    for path in paths {
        let value = |values: &serde_json::Value| path.iter().try_fold(values, |value, name| value.get(name)).cloned();
        let (is, was) = (entry(&now, path), entry(&then, path));
        match (is, was) {
            // It was taken out since: there is nothing to put back.
            (None, _) => {}
            (Some(is), Some(was)) if value(&now_values) == value(&our_values) => {
                let original = before.get(range(&was.value)).unwrap_or_default();
                splices.push((range(&is.value), original.to_owned()));
            }
            (Some(_), _) => changed.push(path.clone()),
        }
    }
    Ok((spliced(text, splices), changed))
}

fn kind(entry: &Object<'_>) -> Kind {
    let words = |name: &str| entry.get_array(name).map(strings).unwrap_or_default();
    let type_of = entry.get_string("type").map_or("", |text| text.value.as_ref());
    let address = ADDRESSES.iter().find_map(|name| entry.get_string(name));
    match (entry.get("command").map(|member| &member.value), address) {
        _ if words("command")
            .iter()
            .chain(&words("args"))
            .any(|word| word == SUBCOMMAND) =>
        {
            Kind::Wrapped
        }
        (Some(Value::StringLit(_)), None) if entry.get("args").is_none_or(|args| args.value.as_array().is_some()) => {
            Kind::Program
        }
        (Some(Value::Array(array)), None)
            if array
                .elements
                .first()
                .is_some_and(|first| first.as_string_lit().is_some()) =>
        {
            Kind::Program
        }
        (Some(_), _) => Kind::LeftAlone(OTHER_FORM),
        (None, Some(_))
            if ["oauth", "auth", "authProviderType"]
                .iter()
                .any(|name| is_set(entry, name)) =>
        {
            Kind::LeftAlone(OAUTH)
        }
        (None, Some(_)) if type_of == "sse" => Kind::LeftAlone(EVENTS),
        (None, Some(_)) if entry.get("env").or_else(|| entry.get("args")).is_some() => Kind::LeftAlone(OTHER_FORM),
        (None, Some(url)) => Kind::Address {
            url: url.value.to_string(),
            headers: match entry.get_object("headers") {
                Some(headers) if !headers.properties.is_empty() => Headers::Given,
                Some(_) | None => Headers::None,
            },
        },
        (None, None) => Kind::LeftAlone(NO_SERVER),
    }
}

/// Returns `true` if a member is there, and neither null nor false.
fn is_set(entry: &Object<'_>, name: &str) -> bool {
    entry.get(name).is_some_and(|member| match &member.value {
        Value::NullKeyword(_) => false,
        Value::BooleanLit(value) => value.value,
        Value::StringLit(_) | Value::NumberLit(_) | Value::Object(_) | Value::Array(_) => true,
    })
}

/// Returns the changes of an entry.
fn of_entry(server: &str, entry: &Object<'_>, command: &Command<'_>) -> Vec<Splice> {
    match entry.get("command").map(|member| &member.value) {
        Some(Value::StringLit(program)) => {
            let words = command.of_program(server, &program.value);
            let own = (range(program), quoted(command.guardian));
            match entry.get_array("args") {
                Some(args) => vec![own, first(args, &words)],
                None => vec![(own.0, format!("{}, \"args\": {}", own.1, list(&words)))],
            }
        }
        // The list holds program and arguments.
        Some(Value::Array(words)) => {
            let mut before = vec![command.guardian.to_owned()];
            before.extend(command.words(server));
            before.push("--".to_owned());
            vec![first(words, &before)]
        }
        Some(_) => Vec::new(),
        None => of_address(server, entry, command),
    }
}

/// Returns the edits by which an entry with an address becomes one of a program, in the form that its client has for programs.
fn of_address(server: &str, entry: &Object<'_>, command: &Command<'_>) -> Vec<Splice> {
    let Some((address, url)) = ADDRESSES
        .iter()
        .find_map(|name| Some((entry.get(name)?, entry.get_string(name)?)))
    else {
        return Vec::new();
    };
    let type_of = entry.get_string("type");
    // OpenCode says `remote` and `local`, and has one list for program and arguments; Copilot says `local` and lists tools.
    let is_opencode = type_of.is_some_and(|text| text.value == "remote");
    let is_local = is_opencode || entry.get("tools").is_some();
    let headers = entry.get_object("headers");
    let names: Vec<(String, String)> = headers
        .iter()
        .flat_map(|headers| &headers.properties)
        .map(|header| (header.name.as_str().to_owned(), variable(header.name.as_str())))
        .collect();
    let pairs = names.iter().map(|(name, variable)| (name.as_str(), variable.as_str()));
    let words = command.of_address(server, &url.value, pairs);
    let guardian = quoted(command.guardian);
    let program = match is_opencode {
        true => {
            let all: Vec<String> = [command.guardian.to_owned()].into_iter().chain(words).collect();
            format!("\"command\": {}", list(&all))
        }
        false => format!("\"command\": {guardian}, \"args\": {}", list(&words)),
    };
    let mut splices = vec![(range(address), program)];
    if let Some(type_of) = type_of {
        splices.push((range(type_of), quoted(if is_local { "local" } else { "stdio" })));
    }
    if let (Some(property), Some(headers)) = (entry.get("headers"), headers) {
        let environment = if is_opencode { "environment" } else { "env" };
        splices.push((range(&property.name), quoted(environment)));
        // The values stay where they are, with what the client puts into them.
        for (header, (_, variable)) in headers.properties.iter().zip(&names) {
            splices.push((range(&header.name), quoted(variable)));
        }
    }
    splices
}

/// Words at the beginning of a list.
fn first(array: &Array<'_>, words: &[String]) -> Splice {
    let mut text = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ");
    if !array.elements.is_empty() {
        text.push_str(", ");
    }
    // Behind the bracket.
    let at = array.range.start + 1;
    (at..at, text)
}

fn strings(array: &Array<'_>) -> Vec<String> {
    let texts = array.elements.iter().filter_map(|value| value.as_string_lit());
    texts.map(|text| text.value.to_string()).collect()
}

fn member<'o, 'a>(object: &'o Object<'a>, name: &str) -> Option<&'o Object<'a>> {
    object.get_object(name)
}

fn entry<'o, 'a>(root: &'o Object<'a>, path: &[String]) -> Option<&'o ObjectProp<'a>> {
    let (last, way) = path.split_last()?;
    way.iter()
        .try_fold(root, |object, name| member(object, name))?
        .get(last)
}

fn range(node: &impl Ranged) -> Range<usize> {
    let range = node.range();
    range.start..range.end
}

fn spliced(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|(range, _)| range.start);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (range, new) in splices {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

fn parsed(text: &str) -> Result<Option<Object<'_>>, SettingsError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default())
        .map_err(|error| SettingsError::NotJson(error.to_string()))?;
    // Of a name that is there twice, a client takes one, and it is not known which.
    if let Some(name) = parsed.value.as_ref().and_then(twice) {
        return Err(SettingsError::OtherType(format!(
            "each name once, found `{}` twice",
            name.escape_debug()
        )));
    }
    match parsed.value {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(SettingsError::OtherType("an object, in braces".to_owned())),
    }
}

/// Returns a name that an object has twice. The parser bounds the depth.
fn twice(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Object(object) => {
            let mut names = std::collections::HashSet::new();
            let again = object
                .properties
                .iter()
                .find(|member| !names.insert(member.name.as_str()));
            let inner = || object.properties.iter().find_map(|member| twice(&member.value));
            again.map(|member| member.name.as_str().to_owned()).or_else(inner)
        }
        Value::Array(array) => array.elements.iter().find_map(twice),
        Value::StringLit(_) | Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => None,
    }
}

fn values(text: &str) -> Result<serde_json::Value, SettingsError> {
    parse_to_serde_value(text, &ParseOptions::default()).map_err(|error| SettingsError::NotJson(error.to_string()))
}
