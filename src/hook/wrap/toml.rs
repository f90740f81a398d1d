//! Configurations in TOML: those of Codex.

use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike, Value, value};

use super::{Command, Headers, Kind, NO_SERVER, OTHER_FORM, Path, SUBCOMMAND, Server, variable};
use crate::hook::settings::SettingsError;

const LIST: &str = "mcp_servers";
/// The members of an entry that have to do with its headers.
const BEARER: &str = "bearer_token_env_var";
const HEADERS: &str = "http_headers";
const HEADERS_FROM: &str = "env_http_headers";

pub(super) fn servers(text: &str) -> Result<Vec<Server>, SettingsError> {
    let document = parsed(text)?;
    let list = document.get(LIST).and_then(Item::as_table_like);
    let entries = list.into_iter().flat_map(TableLike::iter);
    let server = |(name, entry): (&str, &Item)| Server {
        path: vec![LIST.to_owned(), name.to_owned()],
        kind: entry.as_table_like().map_or(Kind::LeftAlone(OTHER_FORM), kind),
    };
    Ok(entries.map(server).collect())
}

pub(super) fn wrap(text: &str, paths: &[Path], command: &Command<'_>) -> Result<String, SettingsError> {
    let mut document = parsed(text)?;
    for path in paths {
        if let Some(entry) = entry(&mut document, path) {
            wrap_entry(path.last().map_or("", String::as_str), entry, command);
        }
    }
    Ok(document.to_string())
}

pub(super) fn unwrap(
    text: &str,
    paths: &[Path],
    before: &str,
    written: &str,
) -> Result<(String, Vec<Path>), SettingsError> {
    let (mut now, mut then) = (parsed(text)?, parsed(before)?);
    // Two entries are the same that say the same, however they are written.
    let (now_values, our_values) = (values(text)?, values(written)?);
    let mut changed = Vec::new();
    for path in paths {
        let said = |values: &::toml::Table| {
            let [list, name] = path.as_slice() else { return None };
            values.get(list)?.get(name).cloned()
        };
        let was = item(&mut then, path).cloned();
        let Some(is) = item(&mut now, path) else { continue };
        match was {
            Some(was) if said(&now_values) == said(&our_values) => *is = was,
            Some(_) | None => changed.push(path.clone()),
        }
    }
    Ok((now.to_string(), changed))
}

fn values(text: &str) -> Result<::toml::Table, SettingsError> {
    text.parse()
        .map_err(|error: ::toml::de::Error| SettingsError::NotToml(error.to_string()))
}

fn kind(entry: &dyn TableLike) -> Kind {
    let text = |name: &str| entry.get(name).and_then(Item::as_str);
    let args = entry.get("args").and_then(Item::as_array);
    let words = || args.into_iter().flatten().filter_map(Value::as_str);
    let has = |name: &str| entry.contains_key(name);
    match (text("command"), text("url")) {
        (Some(_), _) if words().any(|word| word == SUBCOMMAND) => Kind::Wrapped,
        (Some(_), None) if args.is_some() || !has("args") => Kind::Program,
        (Some(_), _) => Kind::LeftAlone(OTHER_FORM),
        (None, Some(_)) if has("args") || has("env") || has("env_vars") => Kind::LeftAlone(OTHER_FORM),
        (None, Some(url)) => Kind::Address {
            url: url.to_owned(),
            headers: match [BEARER, HEADERS, HEADERS_FROM].into_iter().any(has) {
                true => Headers::Given,
                false => Headers::None,
            },
        },
        (None, None) => Kind::LeftAlone(NO_SERVER),
    }
}

fn wrap_entry(server: &str, entry: &mut dyn TableLike, command: &Command<'_>) {
    let text = |entry: &dyn TableLike, name: &str| entry.get(name).and_then(Item::as_str).map(str::to_owned);
    if let Some(program) = text(entry, "command") {
        set(entry, "command", command.guardian.into());
        let words = command.of_program(server, &program);
        match entry.get_mut("args").and_then(Item::as_array_mut) {
            Some(args) => {
                for (index, word) in words.into_iter().enumerate() {
                    args.insert(index, word);
                }
            }
            None => {
                entry.insert("args", value(words.into_iter().collect::<Array>()));
            }
        }
        return;
    }
    let Some(url) = text(entry, "url") else { return };
    // Each header with the variable that holds its value; those with a value of their own get it in the environment of the bridge.
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut environment = InlineTable::new();
    let pairs = |item: Option<Item>| -> Vec<(String, String)> {
        let table = item.as_ref().and_then(Item::as_table_like);
        let pairs = table.into_iter().flat_map(TableLike::iter);
        pairs
            .filter_map(|(name, value)| Some((name.to_owned(), value.as_str()?.to_owned())))
            .collect()
    };
    for (name, value) in pairs(entry.remove(HEADERS)) {
        let variable = variable(&name);
        environment.insert(&variable, value.into());
        headers.push((name, variable));
    }
    let mut passed: Vec<String> = Vec::new();
    for (name, variable) in pairs(entry.remove(HEADERS_FROM)) {
        passed.push(variable.clone());
        headers.push((name, variable));
    }
    let mut words = command.of_address(
        server,
        &url,
        headers
            .iter()
            .map(|(name, variable)| (name.as_str(), variable.as_str())),
    );
    if let Some(token) = entry.remove(BEARER).as_ref().and_then(Item::as_str) {
        words.extend(["--bearer-env".to_owned(), token.to_owned()]);
        passed.push(token.to_owned());
    }
    entry.remove("url");
    entry.insert("command", value(command.guardian));
    entry.insert("args", value(words.into_iter().collect::<Array>()));
    if !passed.is_empty() {
        entry.insert("env_vars", value(passed.into_iter().collect::<Array>()));
    }
    if !environment.is_empty() {
        entry.insert("env", value(environment));
    }
}

/// Puts a value in the place of another one, with the white space and the comment around it.
fn set(entry: &mut dyn TableLike, name: &str, new: Value) {
    if let Some(old) = entry.get_mut(name).and_then(Item::as_value_mut) {
        let decor = old.decor().clone();
        *old = new;
        *old.decor_mut() = decor;
    }
}

fn item<'d>(document: &'d mut DocumentMut, path: &[String]) -> Option<&'d mut Item> {
    let [list, name] = path else { return None };
    document.get_mut(list)?.as_table_like_mut()?.get_mut(name)
}

fn entry<'d>(document: &'d mut DocumentMut, path: &[String]) -> Option<&'d mut dyn TableLike> {
    item(document, path)?.as_table_like_mut()
}

fn parsed(text: &str) -> Result<DocumentMut, SettingsError> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| SettingsError::NotToml(error.to_string()))
}
