//! Rule data: the TOML files of known credential formats, read and checked.
//!
//! An example that looks like a real key would make repository scanners cry wolf, so examples may hold seams (`{+}`), which
//! reading takes out.

use serde::Deserialize;

use super::check::Check;
use crate::model::{Confidence, ReasonCode, Severity, Treatment};
use crate::prefilter::Rule;

/// The rule files, by name.
const FILES: &[(&str, &str)] = &[
    ("cloud", include_str!("../rules/secret/cloud.toml")),
    ("code", include_str!("../rules/secret/code.toml")),
    ("models", include_str!("../rules/secret/models.toml")),
    ("messages", include_str!("../rules/secret/messages.toml")),
    ("payment", include_str!("../rules/secret/payment.toml")),
    ("monitoring", include_str!("../rules/secret/monitoring.toml")),
    ("services", include_str!("../rules/secret/services.toml")),
    ("keys", include_str!("../rules/secret/keys.toml")),
    ("connections", include_str!("../rules/secret/connections.toml")),
    ("labelled", include_str!("../rules/secret/labelled.toml")),
];

/// A rule with how it is found.
#[derive(Debug)]
pub(super) struct Entry {
    /// What is documented of it.
    pub rule: Rule,
    /// How it is found.
    pub shape: Shape,
    /// What has to stand in a text before the pattern is tried.
    pub keywords: Vec<String>,
    /// Where keywords stand in a token.
    pub keywords_at: KeywordPlace,
    /// Bytes before a keyword at which a match may begin.
    pub before: usize,
    /// Bytes after a keyword within which a match should end; a longer one is followed further.
    pub reach: usize,
    /// Bits per byte that a value must have; `None`: by its length.
    pub entropy: Option<f64>,
    /// Whether the format itself holds long runs of one letter.
    pub runs: bool,
    /// What else a value must pass.
    pub check: Check,
}

/// How a rule finds its secret.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A token that says itself what it is; it stands free of other letters and digits.
    Token(String),
    /// A value of a common form that the name beside it makes a credential.
    Named {
        /// The names, a pattern without regard to case.
        names: String,
        /// The value.
        value: String,
    },
    /// A pattern whose first participating group is the secret.
    Pattern(String),
    /// By code, from the names of values.
    Labelled,
}

/// Where in a token its keywords stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeywordPlace {
    /// The token begins with the keyword.
    #[default]
    Start,
    /// The keyword stands inside, or near by.
    Anywhere,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rule: Vec<Data>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    id: String,
    title: String,
    provider: Option<String>,
    token: Option<String>,
    names: Option<String>,
    value: Option<String>,
    pattern: Option<String>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    keywords_at: KeywordPlace,
    before: Option<usize>,
    reach: Option<usize>,
    entropy: Option<f64>,
    #[serde(default)]
    runs: bool,
    #[serde(default)]
    check: Check,
    severity: String,
    confidence: String,
    fires_on: Vec<String>,
    silent_on: Vec<String>,
}

/// Reads every rule file.
///
/// # Errors
///
/// A sentence that names the file, the rule and what is wrong; a test holds that there is none.
pub(super) fn read() -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for (name, text) in FILES {
        let file: File = toml::from_str(text).map_err(|error| format!("rules/secret/{name}.toml: {error}"))?;
        for data in file.rule {
            let id = data.id.clone();
            entries.push(entry(data).map_err(|error| format!("rules/secret/{name}.toml, rule `{id}`: {error}"))?);
        }
    }
    Ok(entries)
}

fn entry(data: Data) -> Result<Entry, String> {
    let severity = Severity::from_name(&data.severity).ok_or_else(|| format!("`{}` is no severity", data.severity))?;
    let confidence =
        Confidence::from_name(&data.confidence).ok_or_else(|| format!("`{}` is no confidence", data.confidence))?;
    let shape = match (data.token, data.names, data.value, data.pattern) {
        (Some(token), None, None, None) => Shape::Token(token),
        (None, Some(names), Some(value), None) => Shape::Named { names, value },
        (None, None, None, Some(pattern)) => Shape::Pattern(pattern),
        (None, None, None, None) => Shape::Labelled,
        _ => return Err("expected `token`, or `names` with `value`, or `pattern`, found a mixture".to_owned()),
    };
    if data.keywords.is_empty() != (shape == Shape::Labelled) {
        return Err("expected `keywords` exactly where there is a pattern".to_owned());
    }
    if data
        .keywords
        .iter()
        .any(|keyword| keyword.is_empty() || !keyword.is_ascii())
    {
        return Err("expected keywords of ASCII letters".to_owned());
    }
    let title = match data.provider {
        Some(provider) if !data.title.contains(&provider) => format!("{} ({provider})", data.title),
        Some(_) | None => data.title,
    };
    Ok(Entry {
        rule: Rule {
            id: format!("{}.{}", super::FAMILY, data.id),
            title,
            reason: ReasonCode::SecretExposure,
            severity,
            confidence,
            suggests: Treatment::Mask,
            fires_on: data.fires_on.iter().map(|text| sewn(text)).collect(),
            silent_on: data.silent_on.iter().map(|text| sewn(text)).collect(),
        },
        shape,
        keywords: data.keywords,
        keywords_at: data.keywords_at,
        before: data.before.unwrap_or(64),
        reach: data.reach.unwrap_or(256),
        entropy: data.entropy,
        runs: data.runs,
        check: data.check,
    })
}

/// An example without its seams.
fn sewn(example: &str) -> String {
    example.replace("{+}", "")
}
