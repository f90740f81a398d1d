//! `guardian keys`: API keys in the configuration, as their hashes.

use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Subcommand;
use jiff::Timestamp;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};

use super::output::say;
use super::{ConfigArgument, Ended, settings_file};
use crate::app;
use crate::config::{self, ApiKey, ConfigFile, Keys};
use crate::files;

/// Make, list or revoke API keys. A running server heeds a change at once.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a key for an organisation: prints the key, once, and writes its hash into the configuration.
    ///
    /// An organisation that is not there yet is made. The key cannot be found out afterwards.
    New {
        /// The organisation.
        #[arg(value_name = "ORGANISATION")]
        organisation: String,
        /// What it is called in records and limits [default: `key-` and how its hash begins].
        #[arg(long)]
        name: Option<String>,
        /// What it may be used for: judge, audit, admin.
        #[arg(long, value_delimiter = ',', default_value = "judge")]
        scopes: Vec<String>,
        /// When it ends: `90d`, a date or a time [default: never].
        #[arg(long, value_name = "WHEN")]
        expires: Option<String>,
        #[command(flatten)]
        config: ConfigArgument,
    },
    /// List keys: organisation, name, scopes, end.
    List {
        #[command(flatten)]
        config: ConfigArgument,
    },
    /// Take a key out of the configuration.
    Revoke {
        /// Its name, as `guardian keys list` and audit records show it.
        #[arg(value_name = "NAME")]
        name: String,
        /// Whose key, where several organisations have one of this name.
        #[arg(long, value_name = "ID")]
        organisation: Option<String>,
        #[command(flatten)]
        config: ConfigArgument,
    },
}

/// Bytes of a key.
const KEY_BYTES: usize = 32;

pub(super) fn run(command: &Command) -> anyhow::Result<Ended> {
    match command {
        Command::New {
            organisation,
            name,
            scopes,
            expires,
            config,
        } => {
            let file = file(config);
            let expires = expires.as_deref().map(end).transpose()?;
            let mut bytes = [0; KEY_BYTES];
            aws_lc_rs::rand::fill(&mut bytes).map_err(|_| anyhow::anyhow!("the system gives no random numbers"))?;
            let key = format!("gdn_{}", URL_SAFE_NO_PAD.encode(bytes));
            let hash = ApiKey::of(&key);
            let told = name.clone().unwrap_or_else(|| hash.name());
            let mut document = read(&file)?;
            let entry = entry(&hash, &told, scopes, expires);
            add(&mut document, organisation, entry)?;
            write(&file, &document)?;
            eprintln!(
                "{}: `{organisation}` has the key `{told}` now; it is shown this once:",
                file.display()
            );
            say!("{key}");
            check_in_force(&file).context("a running server does NOT know this key yet")?;
        }
        Command::List { config } => list(config)?,
        Command::Revoke {
            name,
            organisation,
            config,
        } => {
            let file = file(config);
            let mut document = read(&file)?;
            let removed = remove(&mut document, name, organisation.as_deref())?;
            let told = super::printable(name);
            anyhow::ensure!(
                removed > 0,
                "no key `{told}` in {}: see `guardian keys list`",
                file.display()
            );
            anyhow::ensure!(
                removed == 1,
                "several organisations have a key `{told}`: say which with `--organisation`"
            );
            write(&file, &document)?;
            eprintln!("{}: the key `{told}` is taken out", file.display());
            if let Err(why) = check_in_force(&file) {
                eprintln!("note: a running server refuses the key all the same; {why:#}");
            }
        }
    }
    Ok(Ended::Done)
}

fn list(config: &ConfigArgument) -> anyhow::Result<()> {
    let loaded = config::load_with(config.config.as_deref(), Keys::Unneeded)?;
    let now = Timestamp::now();
    for organisation in &loaded.organisations {
        for key in &organisation.api_keys {
            let scopes: Vec<&str> = key.scopes.names().collect();
            let end = match key.expires {
                None => "does not end".to_owned(),
                Some(end) if end <= now => format!("EXPIRED on {end}"),
                Some(end) => format!("ends on {end}"),
            };
            say!("{}  {}  {}  {end}", organisation.id, key.name, scopes.join(","));
        }
    }
    for missing in &loaded.missing_keys {
        eprintln!(
            "note: `{}`: the environment variable `{}` is not set here",
            missing.at, missing.variable
        );
    }
    Ok(())
}

fn file(config: &ConfigArgument) -> PathBuf {
    config
        .config
        .clone()
        .unwrap_or_else(|| PathBuf::from(config::DEFAULT_FILE))
}

fn read(file: &Path) -> anyhow::Result<DocumentMut> {
    let text = settings_file::read(file)?.unwrap_or_default();
    text.parse().with_context(|| format!("{}: is no TOML", file.display()))
}

/// Writes the configuration, if it can be used.
fn write(file: &Path, document: &DocumentMut) -> anyhow::Result<()> {
    let text = document.to_string();
    let name = file.display().to_string();
    let folder = file.parent().unwrap_or(Path::new("."));
    ConfigFile::parse(&text, &name)
        .and_then(|parsed| parsed.resolve_with(&name, folder, Keys::Unneeded))
        .context("nothing is written: the configuration could not be used any more")?;
    // A link to a file elsewhere stays one.
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    files::replace(&target, text.as_bytes()).with_context(|| format!("{name}: cannot be written"))
}

/// Checks that a running server takes up what was written: it heeds no edit while another of its files is broken.
fn check_in_force(file: &Path) -> anyhow::Result<()> {
    let config = config::load_with(Some(file), Keys::Unneeded)?;
    let organisations = app::organisations(&config).map(drop);
    organisations.context("a running server heeds nothing else of the configuration before this is mended")
}

fn entry(hash: &ApiKey, name: &str, scopes: &[String], expires: Option<Timestamp>) -> Table {
    let hex: String = hash.digest().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut entry = Table::new();
    entry.insert("key", value(format!("sha256:{hex}")));
    entry.insert("name", value(name));
    entry.insert("scopes", value(scopes.iter().map(String::as_str).collect::<Array>()));
    if let Some(end) = expires {
        entry.insert("expires", value(end.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()));
    }
    entry
}

/// Returns the organisations of a configuration.
fn organisations(document: &mut DocumentMut) -> anyhow::Result<&mut ArrayOfTables> {
    let item = document
        .entry("organisations")
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    item.as_array_of_tables_mut()
        .context("expected `[[organisations]]` in the configuration")
}

fn is_named(table: &Table, id: &str) -> bool {
    table.get("id").and_then(Item::as_str) == Some(id)
}

fn add(document: &mut DocumentMut, organisation: &str, entry: Table) -> anyhow::Result<()> {
    let organisations = organisations(document)?;
    if !organisations.iter().any(|table| is_named(table, organisation)) {
        let mut table = Table::new();
        table.insert("id", value(organisation));
        organisations.push(table);
    }
    let table = organisations.iter_mut().find(|table| is_named(table, organisation));
    let table = table.context("the organisation is not there")?;
    let keys = table
        .entry("keys")
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let keys = keys.as_array_of_tables_mut();
    keys.context("expected `[[organisations.keys]]` in the configuration")?
        .push(entry);
    Ok(())
}

/// Takes keys of this name out; how many there were.
fn remove(document: &mut DocumentMut, name: &str, organisation: Option<&str>) -> anyhow::Result<usize> {
    let variable = |name: &str| std::env::var(name).ok();
    let is_of = |text: Option<&str>| {
        let parsed = text.and_then(|text| ApiKey::parse(text, variable).ok());
        parsed.is_some_and(|key| key.name() == name)
    };
    let mut removed = 0;
    for table in organisations(document)?.iter_mut() {
        if organisation.is_some_and(|id| !is_named(table, id)) {
            continue;
        }
        if let Some(keys) = table.get_mut("keys").and_then(Item::as_array_of_tables_mut) {
            let before = keys.len();
            keys.retain(|key| match key.get("name").and_then(Item::as_str) {
                Some(own) => own != name,
                None => !is_of(key.get("key").and_then(Item::as_str)),
            });
            removed += before - keys.len();
        }
        if let Some(keys) = table.get_mut("api_keys").and_then(Item::as_array_mut) {
            let before = keys.len();
            keys.retain(|key| !is_of(key.as_str()));
            removed += before - keys.len();
        }
    }
    Ok(removed)
}

/// Reads `90d`, a date or a time.
fn end(text: &str) -> anyhow::Result<Timestamp> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok());
    let after = |days: i64| {
        let hours = jiff::Span::new().try_hours(days.checked_mul(24)?).ok()?;
        Timestamp::now().checked_add(hours).ok()
    };
    let end = match days {
        Some(days) if days > 0 => after(days),
        Some(_) => None,
        None => config::moment(text).filter(|end| *end > Timestamp::now()),
    };
    end.with_context(|| {
        format!(
            "`--expires`: expected days such as `90d`, or a date such as `2027-01-31` or a time that is to come, found `{}`",
            super::printable(text)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Scope;

    const FILE: &str = "# ours\nlisten = \"127.0.0.1:1\" # here\n\n[[organisations]]\nid = \"acme\"\napi_keys = [\"sha256:\
                        2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\"]\nmode = \"observe\"\n";

    #[test]
    fn a_key_comes_and_goes_and_leaves_the_rest_as_it_was() {
        let mut document: DocumentMut = FILE.parse().unwrap();
        let scopes: Vec<String> = Scope::ALL.iter().map(|scope| scope.as_str().to_owned()).collect();
        let hash = ApiKey::of("a-key-that-is-long-enough");
        let until = end("2999-01-31").unwrap();
        add(&mut document, "acme", entry(&hash, "ci", &scopes, Some(until))).unwrap();
        add(&mut document, "globex", entry(&hash, "other", &scopes[..1], None)).unwrap();
        let text = document.to_string();
        let parsed = ConfigFile::parse(&text, "f").unwrap();
        assert!(
            parsed
                .resolve("f", Path::new("."))
                .unwrap_err()
                .to_string()
                .contains("also belongs"),
            "{text}"
        );
        assert_eq!(remove(&mut document, "other", None).unwrap(), 1);
        assert_eq!(remove(&mut document, "ci", Some("globex")).unwrap(), 0);
        assert_eq!(remove(&mut document, "ci", Some("acme")).unwrap(), 1);
        assert_eq!(remove(&mut document, "key-2c26b46b", None).unwrap(), 1);
        let text = document.to_string();
        assert!(text.starts_with("# ours\nlisten = \"127.0.0.1:1\" # here\n"), "{text}");
    }

    #[test]
    fn an_end_is_a_day_or_days_from_now() {
        assert_eq!(end("2999-01-31").unwrap().to_string(), "2999-01-31T00:00:00Z");
        assert!(end("90d").unwrap() > Timestamp::now());
        for wrong in [
            "",
            "d",
            "0d",
            "-3d",
            "soon",
            "2020-01-01",
            "99999999999999999999d",
            "9223372036854775807d",
        ] {
            assert!(end(wrong).is_err(), "{wrong}");
        }
    }
}
