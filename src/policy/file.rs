//! The policy file: TOML in, a checked and compiled [`Policy`] out.

mod lines;

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::conditions::ConditionsSection;
use super::custom_rules::{OwnRuleLine, OwnRules};
use super::error::PolicyError;
use super::everyday::EverydaySection;
use super::examples::{self, ExampleLine};
use super::judge_section::{self, CodeLine, JudgeSection};
use super::local_judge_section::LocalJudgeSection;
use super::modes::{ModeLine, Modes};
use super::suggest::with_suggestion;
use super::values::each;
use super::{Policy, PostureTable};
use crate::model::{Disclosure, Method, Posture, one_of};
use lines::{DestinationLines, DisclosureLines, HarmlessLine, MaskLines, RecordLines, ToolLines, TreatmentLine};

/// A policy file as it is written. Every key may be left out; what is left out comes from the profile that it extends.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyFile {
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The built-in profile that this one builds on; `default` when left out. (`default` itself says `nothing`.)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// The information about the organisation for the judge, in the organisation's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// The steps that need no judge when nothing was seen in them. These come before those of the profile.
    pub harmless: Vec<HarmlessLine>,
    /// Steps that the organisation has decided. These come before those of the profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ExampleLine>,
    /// The everyday work of an agent. Lists add to those of the profile.
    #[serde(skip_serializing_if = "EverydaySection::is_default")]
    pub everyday: EverydaySection,
    /// The treatments of findings. These come before those of the profile.
    pub treatments: Vec<TreatmentLine>,
    /// The organisation's own rules. These come before those of the profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<OwnRuleLine>,
    /// The conditions under which steps are forbidden. These add to those of the profile.
    #[serde(skip_serializing_if = "ConditionsSection::is_default")]
    pub conditions: ConditionsSection,
    /// The modes: which verdicts are enforced. These come before those of the profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<ModeLine>,
    /// The tools that may be called.
    pub tools: ToolLines,
    /// The hosts that data may go to.
    pub destinations: DestinationLines,
    /// Method (or `default`) to `deny`, `allow` or `error`.
    pub posture: BTreeMap<String, String>,
    /// The way in which masked text is replaced.
    pub mask: MaskLines,
    /// The weights of findings for the local judge.
    pub local_judge: LocalJudgeSection,
    /// The demands on a judge that is a model.
    pub judge: JudgeSection,
    /// The organisation's own reason codes, with what they mean.
    pub reason_codes: BTreeMap<String, CodeLine>,
    /// The parts of a verdict that agents are shown.
    pub disclosure: DisclosureLines,
    /// The contents of audit records.
    #[serde(skip_serializing_if = "RecordLines::is_default")]
    pub audit: RecordLines,
    /// The differences for a team, by its name.
    #[serde(skip_serializing)]
    pub teams: BTreeMap<String, LayerFile>,
    /// The differences for an agent, by its id or a pattern of ids.
    #[serde(skip_serializing)]
    pub agents: BTreeMap<String, LayerFile>,
    /// In a layer: patterns of the callers for whom it holds.
    #[serde(skip_serializing)]
    pub callers: Option<Vec<String>>,
    /// In the layer of an agent: the team to which it belongs.
    #[serde(skip_serializing)]
    pub team: Option<String>,
    /// The path that it was read from.
    #[serde(skip)]
    pub(super) path: Option<String>,
}

/// The layer of a team or an agent, as it is written: any key of a policy but `extends`, `teams` and `agents`.
#[derive(Clone, Debug, Default)]
pub struct LayerFile(pub(super) Box<PolicyFile>);

/// By hand, because a policy file holds layers and a layer is a policy file: who only asks for the shape of the type
/// (a map instead of the wrapped value) gets an empty one, and is not led in circles.
impl<'de> Deserialize<'de> for LayerFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Wrapped;
        impl<'de> Visitor<'de> for Wrapped {
            type Value = LayerFile;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table with keys of a policy")
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<LayerFile, D::Error> {
                PolicyFile::deserialize(inner).map(|file| LayerFile(Box::new(file)))
            }

            fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<LayerFile, A::Error> {
                Ok(LayerFile::default())
            }
        }
        deserializer.deserialize_newtype_struct("LayerFile", Wrapped)
    }
}

impl PolicyFile {
    /// Reads a file, without compiling it.
    ///
    /// # Errors
    ///
    /// When it cannot be read, is no TOML, or has an unknown key.
    pub fn read(path: &Path) -> Result<Self, PolicyError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| PolicyError::Unreadable {
            file: file.clone(),
            why: error.to_string(),
        })?;
        let path = std::path::absolute(path).ok();
        Ok(Self {
            path: path.map(|path| path.display().to_string()),
            ..Self::parse(&text, &file)?
        })
    }

    /// Reads TOML, and the conditions that it names; `file` is for messages, and conditions in a file stand beside it.
    ///
    /// # Errors
    ///
    /// When it is no TOML, has an unknown key, or conditions that cannot be used.
    pub fn parse(text: &str, file: &str) -> Result<Self, PolicyError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut read: Self = toml::from_str(text).map_err(|error| PolicyError::Malformed {
            file: file.to_owned(),
            why: with_suggestion(&error.to_string()),
        })?;
        read.conditions.read(text, None, file)?;
        for (section, layers) in [("teams", &mut read.teams), ("agents", &mut read.agents)] {
            for (name, LayerFile(layer)) in layers {
                layer.conditions.read(text, Some((section, name)), file)?;
            }
        }
        Ok(read)
    }

    /// Returns a built-in profile as it is written.
    ///
    /// # Errors
    ///
    /// When there is none of this name.
    pub fn profile(name: &str) -> Result<Self, PolicyError> {
        let text = super::profiles::source(name).ok_or_else(|| PolicyError::UnknownProfile(name.to_owned()))?;
        Self::parse(text, &format!("profile `{name}`"))
    }

    /// This file over what it extends.
    pub(super) fn resolve(mut self, depth: usize) -> Result<Self, PolicyError> {
        const MAX_DEPTH: usize = 4;
        match self.extends.take().as_deref().unwrap_or("default") {
            "nothing" => Ok(self),
            name if depth < MAX_DEPTH => {
                let base = Self::profile(name)?.resolve(depth + 1)?;
                Ok(self.over(base))
            }
            name => Err(PolicyError::UnknownProfile(name.to_owned())),
        }
    }

    /// This layer over a wider one. What is said of one key replaces it, entries come before those of the wider layer; denials and
    /// guidance of the wider layer stand.
    pub(super) fn over(self, base: Self) -> Self {
        let mut posture = base.posture;
        posture.extend(self.posture);
        let mut reason_codes = base.reason_codes;
        reason_codes.extend(self.reason_codes);
        let mut classes = base.tools.classes;
        classes.extend(self.tools.classes);
        Self {
            name: self.name.or(base.name),
            path: self.path.or(base.path),
            extends: None,
            guidance: joined(base.guidance, self.guidance),
            examples: self.examples.into_iter().chain(base.examples).collect(),
            harmless: self.harmless.into_iter().chain(base.harmless).collect(),
            everyday: self.everyday.over(base.everyday),
            // What a rule says of itself comes behind what is said of it, and before what a profile makes of its reason.
            treatments: self
                .treatments
                .into_iter()
                .chain(
                    self.rules
                        .iter()
                        .filter_map(OwnRuleLine::treatment)
                        .map(TreatmentLine::of_rule),
                )
                .chain(base.treatments)
                .collect(),
            rules: self.rules.into_iter().chain(base.rules).collect(),
            conditions: self.conditions.over(base.conditions),
            modes: self.modes.into_iter().chain(base.modes).collect(),
            tools: ToolLines {
                allow: self.tools.allow.or(base.tools.allow),
                deny: both(self.tools.deny, base.tools.deny),
                undeclared: self.tools.undeclared.or(base.tools.undeclared),
                classes,
            },
            destinations: DestinationLines {
                allow: self.destinations.allow.or(base.destinations.allow),
                deny: both(self.destinations.deny, base.destinations.deny),
            },
            posture,
            mask: MaskLines {
                style: self.mask.style.or(base.mask.style),
                key_env: self.mask.key_env.or(base.mask.key_env),
            },
            local_judge: self.local_judge.over(base.local_judge),
            judge: self.judge.over(base.judge),
            reason_codes,
            disclosure: DisclosureLines {
                reasoning: self.disclosure.reasoning.or(base.disclosure.reasoning),
                findings: self.disclosure.findings.or(base.disclosure.findings),
                coverage: self.disclosure.coverage.or(base.disclosure.coverage),
                cost: self.disclosure.cost.or(base.disclosure.cost),
                local: self.disclosure.local.or(base.disclosure.local),
            },
            audit: RecordLines {
                contents: self.audit.contents.or(base.audit.contents),
                seen: self.audit.seen.or(base.audit.seen),
            },
            ..Self::default()
        }
    }

    /// What the policy says, as a file; its version is made of it.
    pub(super) fn source(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }

    pub(super) fn build(self, file: &str) -> Result<Policy, PolicyError> {
        let at = |key: &str, why: String| PolicyError::Invalid {
            file: file.to_owned(),
            key: key.to_owned(),
            why,
        };
        let source = self.source().map_err(|why| at("policy", why))?;
        let version = version_of(&source);
        let own_codes = judge_section::own_codes(&self.reason_codes).map_err(|(key, why)| at(&key, why))?;
        let own_rules = OwnRules::new(&self.rules, &own_codes).map_err(|(key, why)| at(&key, why))?;
        let conditions = self.conditions.build(&own_codes).map_err(|(key, why)| at(&key, why))?;
        let treatments =
            each("treatments", &self.treatments, TreatmentLine::build).map_err(|(key, why)| at(&key, why))?;
        let harmless = each("harmless", &self.harmless, HarmlessLine::build).map_err(|(key, why)| at(&key, why))?;
        let tools = self
            .tools
            .build()
            .map_err(|(key, why)| at(&format!("tools.{key}"), why))?;
        let destinations = self.destinations.build();
        let destinations = destinations.map_err(|(key, why)| at(&format!("destinations.{key}"), why))?;
        Ok(Policy {
            name: self.name.unwrap_or_else(|| "unnamed".to_owned()),
            version,
            treatments,
            harmless,
            everyday: self.everyday.build().map_err(|(key, why)| at(&key, why))?,
            modes: Modes::new(&self.modes).map_err(|(key, why)| at(&key, why))?,
            tools,
            destinations,
            posture: posture_table(&self.posture).map_err(|(key, why)| at(&format!("posture.\"{key}\""), why))?,
            mask: self.mask.build().map_err(|(key, why)| at(key, why))?,
            local_judge: self.local_judge.build().map_err(|(key, why)| at(&key, why))?,
            judge: self.judge.build().map_err(|(key, why)| at(&key, why))?,
            own_codes,
            own_rules,
            conditions,
            guidance: self.guidance.unwrap_or_default(),
            examples: examples::examples(&self.examples).map_err(|(key, why)| at(&key, why))?,
            disclosure: Disclosure {
                reasoning: self.disclosure.reasoning.unwrap_or(true),
                findings: self.disclosure.findings.unwrap_or(true),
                coverage: self.disclosure.coverage.unwrap_or(true),
                cost: self.disclosure.cost.unwrap_or(false),
                local: self.disclosure.local.unwrap_or(false),
            },
            records: self.audit.build(),
            layers: Default::default(),
            path: self.path,
            source,
        })
    }
}

/// Returns the guidance of a wider layer, then that of this one.
fn joined(wider: Option<String>, own: Option<String>) -> Option<String> {
    match (wider, own) {
        (Some(wider), Some(own)) => Some(format!("{}\n\n{own}", wider.trim_end())),
        (wider, own) => own.or(wider),
    }
}

/// Returns the entries of both lists.
fn both(own: Option<Vec<String>>, wider: Option<Vec<String>>) -> Option<Vec<String>> {
    match (own, wider) {
        (Some(mut own), Some(wider)) => {
            own.extend(wider);
            Some(own)
        }
        (own, wider) => own.or(wider),
    }
}

/// Twelve hexadecimal digits of a hash of what the resolved policy says.
pub(super) fn version_of(source: &str) -> String {
    blake3::hash(source.as_bytes()).to_hex().chars().take(12).collect()
}

fn posture_table(lines: &BTreeMap<String, String>) -> Result<PostureTable, (String, String)> {
    let mut table = PostureTable {
        default: None,
        per_method: BTreeMap::new(),
    };
    for (key, value) in lines {
        let posture = one_of(value, Posture::ALL).map_err(|why| (key.clone(), why))?;
        if key == "default" {
            table.default = Some(posture);
        } else {
            let method = one_of(key, Method::ALL).map_err(|why| (key.clone(), why))?;
            table.per_method.insert(method, posture);
        }
    }
    Ok(table)
}
