//! Rule data: the TOML files of known credential formats, read and checked.

use serde::Deserialize;

use super::check::Check;
use crate::model::{ReasonCode, Rule, RuleObject, Treatment};
use crate::prefilter::engine::RuleFile;
use crate::prefilter::engine::rules::{self, NothingElse};
use crate::text::{DataError, DataFile, data_file};

/// The rule files.
const FILES: &[RuleFile] = &[
    file(data_file!("prefilter/rules/secret/cloud.toml")),
    file(data_file!("prefilter/rules/secret/code.toml")),
    file(data_file!("prefilter/rules/secret/models.toml")),
    file(data_file!("prefilter/rules/secret/messages.toml")),
    file(data_file!("prefilter/rules/secret/payment.toml")),
    file(data_file!("prefilter/rules/secret/monitoring.toml")),
    file(data_file!("prefilter/rules/secret/services.toml")),
    file(data_file!("prefilter/rules/secret/keys.toml")),
    file(data_file!("prefilter/rules/secret/connections.toml")),
    file(data_file!("prefilter/rules/secret/labelled.toml")),
];

const fn file(data: DataFile) -> RuleFile {
    RuleFile {
        data,
        family: super::FAMILY,
        reason: ReasonCode::SecretExposure,
        suggests: Treatment::Mask,
        object: RuleObject::Words,
    }
}

/// A rule with how it is found.
#[derive(Debug)]
pub(super) struct Entry {
    /// The documented part of the rule.
    pub rule: Rule,
    /// The form of its secret.
    pub shape: Shape,
    /// Keywords of which one has to stand in a text before the pattern is tried.
    pub keywords: Vec<String>,
    /// The place of keywords in a token.
    pub keywords_at: KeywordPlace,
    /// Bytes before a keyword at which a match may begin.
    pub before: usize,
    /// Bytes after a keyword within which a match should end; a longer one is followed further.
    pub reach: usize,
    /// Bits per byte that a value must have; `None`: by its length.
    pub entropy: Option<f64>,
    /// True if the format itself holds long runs of one letter.
    pub runs: bool,
    /// Another check that a value must pass.
    pub check: Check,
}

/// The form by which a rule finds its secret.
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

/// The place in a token of its keywords.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeywordPlace {
    /// The token begins with the keyword.
    #[default]
    Start,
    /// The keyword stands inside, or near by.
    Anywhere,
}

/// The fields of a rule of this family beyond those of every rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
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
}

/// Reads every rule file.
pub(super) fn read() -> Result<Vec<Entry>, DataError> {
    let mut entries = Vec::new();
    for file in FILES {
        let (rules, NothingElse {}) = rules::read::<Data, _>(file)?;
        for (rule, data) in rules {
            let id = rule.id.clone();
            entries.push(entry(rule, data).map_err(|why| file.wrong(&id, why))?);
        }
    }
    Ok(entries)
}

fn entry(mut rule: Rule, data: Data) -> Result<Entry, &'static str> {
    let shape = match (data.token, data.names, data.value, data.pattern) {
        (Some(token), None, None, None) => Shape::Token(token),
        (None, Some(names), Some(value), None) => Shape::Named { names, value },
        (None, None, None, Some(pattern)) => Shape::Pattern(pattern),
        (None, None, None, None) => Shape::Labelled,
        _ => return Err("expected `token`, or `names` with `value`, or `pattern`, found a mixture"),
    };
    if data.keywords.is_empty() != (shape == Shape::Labelled) {
        return Err("expected `keywords` exactly where there is a pattern");
    }
    if data
        .keywords
        .iter()
        .any(|keyword| keyword.is_empty() || !keyword.is_ascii())
    {
        return Err("expected keywords of ASCII letters");
    }
    if let Some(provider) = data.provider.filter(|provider| !rule.title.contains(provider)) {
        rule.title = format!("{} ({provider})", rule.title);
    }
    Ok(Entry {
        rule,
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
