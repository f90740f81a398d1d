//! The sections and entries of a policy file as they are written, each with the checks that concern it alone.

use std::collections::BTreeMap;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::model::{Confidence, Kind, Method, Origin, ReasonCode, Severity, Treatment, all_of, one_of};
use crate::policy::{
    DestinationRules, HarmlessEntry, MaskStyle, NamePatterns, RecordRules, ToolClassRules, ToolRules, TreatmentEntry,
    Undeclared,
};

/// `[audit]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecordLines {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) contents: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seen: Option<bool>,
}

impl RecordLines {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// One entry of `[[treatments]]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct TreatmentLine {
    pub(super) rules: Vec<String>,
    reasons: Vec<String>,
    origins: Vec<String>,
    kinds: Vec<String>,
    methods: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leaving: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_severity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_confidence: Option<String>,
    pub(super) treatment: String,
}

impl TreatmentLine {
    /// Makes the line for one rule's findings.
    pub(super) fn of_rule((id, treatment): (String, String)) -> Self {
        Self {
            rules: vec![id],
            treatment,
            ..Self::default()
        }
    }
}

/// One entry of `[[harmless]]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct HarmlessLine {
    pub(super) name: String,
    methods: Vec<String>,
    kinds: Vec<String>,
    tools: Vec<String>,
    agents: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    users: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    only_ids: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<BTreeMap<String, String>>,
}

/// `[tools]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolLines {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allow: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deny: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) undeclared: Option<String>,
    /// Class of tools (or `none`) to patterns of tool ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) classes: BTreeMap<String, Vec<String>>,
}

impl ToolLines {
    pub(super) fn build(&self) -> Result<ToolRules, (String, String)> {
        let at = |key: &str| {
            let key = key.to_owned();
            move |why| (key, why)
        };
        let allow = self.allow.as_deref().map(NamePatterns::new);
        let undeclared = self.undeclared.as_deref().unwrap_or("evidence");
        Ok(ToolRules {
            allow: allow.transpose().map_err(at("allow"))?,
            deny: NamePatterns::new(self.deny.as_deref().unwrap_or_default()).map_err(at("deny"))?,
            undeclared: one_of(undeclared, Undeclared::ALL).map_err(at("undeclared"))?,
            classes: ToolClassRules::new(&self.classes).map_err(|(key, why)| (format!("classes.{key}"), why))?,
        })
    }
}

/// `[destinations]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct DestinationLines {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allow: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deny: Option<Vec<String>>,
}

impl DestinationLines {
    pub(super) fn build(&self) -> Result<DestinationRules, (&'static str, String)> {
        Ok(DestinationRules {
            allow: hosts(self.allow.as_deref()).map_err(|why| ("allow", why))?,
            deny: hosts(self.deny.as_deref()).map_err(|why| ("deny", why))?,
        })
    }
}

fn hosts(list: Option<&[String]>) -> Result<NamePatterns, String> {
    let lower: Vec<String> = list
        .iter()
        .copied()
        .flatten()
        .map(|host| host.to_ascii_lowercase())
        .collect();
    match lower.iter().find(|host| !may_fit_a_host(host)) {
        Some(other) => Err(format!(
            "expected a host, such as `api.acme.example` or `*.acme.example`, without scheme, port, path and user, \
             found `{other}`"
        )),
        None => NamePatterns::new(&lower),
    }
}

/// Returns `true` if a pattern can fit a host at all: one with a scheme or a path never does, and no error would say so.
fn may_fit_a_host(pattern: &str) -> bool {
    let is_address =
        pattern.parse::<core::net::Ipv6Addr>().is_ok() || pattern.starts_with('[') && pattern.ends_with(']');
    is_address
        || !pattern.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '\\' | '@' | ':' | '#'))
}

/// `[mask]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct MaskLines {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) style: Option<String>,
    /// For the style `hash`: the name of the variable that holds the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key_env: Option<String>,
}

/// `[disclosure]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct DisclosureLines {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) findings: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) coverage: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) local: Option<bool>,
}

impl RecordLines {
    pub(super) fn build(&self) -> RecordRules {
        RecordRules {
            contents: self.contents.unwrap_or(false),
            seen: self.seen.unwrap_or(true),
        }
    }
}

impl TreatmentLine {
    pub(super) fn build(&self) -> Result<TreatmentEntry, (&'static str, String)> {
        let lists = [&self.rules, &self.reasons, &self.origins, &self.kinds, &self.methods];
        if lists.iter().all(|list| list.is_empty()) && self.min_severity.is_none() && self.min_confidence.is_none() {
            return Err((
                "treatment",
                "expected at least one condition, or the entry would fit every finding".to_owned(),
            ));
        }
        Ok(TreatmentEntry {
            rules: NamePatterns::new(&self.rules).map_err(|why| ("rules", why))?,
            reasons: self
                .reasons
                .iter()
                .map(|name| ReasonCode::named(name))
                .collect::<Result<_, _>>()
                .map_err(|w| ("reasons", w))?,
            origins: all_of(&self.origins, Origin::ALL).map_err(|why| ("origins", why))?,
            kinds: all_of(&self.kinds, Kind::ALL).map_err(|why| ("kinds", why))?,
            methods: all_of(&self.methods, Method::ALL).map_err(|why| ("methods", why))?,
            leaving: self.leaving,
            min_severity: match &self.min_severity {
                Some(name) => one_of(name, Severity::ALL).map_err(|why| ("min_severity", why))?,
                None => Severity::Info,
            },
            min_confidence: match &self.min_confidence {
                Some(name) => one_of(name, Confidence::ALL).map_err(|why| ("min_confidence", why))?,
                None => Confidence::Low,
            },
            treatment: one_of(&self.treatment, Treatment::ALL).map_err(|why| ("treatment", why))?,
        })
    }
}

impl HarmlessLine {
    pub(super) fn build(&self) -> Result<HarmlessEntry, (&'static str, String)> {
        if self.name.trim().is_empty() {
            return Err(("name", "expected a name, by which verdicts report the entry".to_owned()));
        }
        let shape = |name: &str, text: &str| {
            // By itself first: a message about it shows what was written, and a stray `)` closes nothing of ours.
            let compiled = Regex::new(text).and_then(|_| Regex::new(&format!("^(?:{text})$")));
            compiled.map_err(|error| ("arguments", format!("expected an expression for `{name}`: {error}")))
        };
        let entry = HarmlessEntry {
            name: self.name.clone(),
            methods: all_of(&self.methods, Method::ALL).map_err(|why| ("methods", why))?,
            kinds: all_of(&self.kinds, Kind::ALL).map_err(|why| ("kinds", why))?,
            tools: NamePatterns::new(&self.tools).map_err(|why| ("tools", why))?,
            agents: NamePatterns::new(&self.agents).map_err(|why| ("agents", why))?,
            users: NamePatterns::new(&self.users).map_err(|why| ("users", why))?,
            only_ids: self.only_ids.unwrap_or(false),
            max_bytes: self.max_bytes,
            arguments: match &self.arguments {
                Some(shapes) => Some(
                    shapes
                        .iter()
                        .map(|(name, text)| Ok((name.clone(), shape(name, text)?)))
                        .collect::<Result<_, (&'static str, String)>>()?,
                ),
                None => None,
            },
        };
        let narrow = !(entry.methods.is_empty() && entry.kinds.is_empty() && entry.tools.is_empty());
        narrow.then_some(entry).ok_or_else(|| {
            (
                "name",
                "expected at least one of `methods`, `kinds` and `tools`, or every step would be harmless".to_owned(),
            )
        })
    }
}

impl MaskLines {
    pub(super) fn build(&self) -> Result<MaskStyle, (&'static str, String)> {
        match self.style.as_deref().unwrap_or("stars") {
            "stars" => Ok(MaskStyle::Stars),
            "placeholder" => Ok(MaskStyle::Placeholder),
            "last_four" => Ok(MaskStyle::LastFour),
            "hash" => {
                let name = self.key_env.as_deref().ok_or_else(|| {
                    (
                        "mask.key_env",
                        "expected the name of the variable that holds the key of the style `hash`".to_owned(),
                    )
                })?;
                let key = std::env::var(name).ok().filter(|key| key.len() >= 16).ok_or_else(|| {
                    (
                        "mask.key_env",
                        format!("expected at least 16 characters in the environment variable `{name}`"),
                    )
                })?;
                Ok(MaskStyle::Hash {
                    key: *blake3::hash(key.as_bytes()).as_bytes(),
                })
            }
            other => Err((
                "mask.style",
                format!("expected one of `stars`, `placeholder`, `last_four`, `hash`, found `{other}`"),
            )),
        }
    }
}
