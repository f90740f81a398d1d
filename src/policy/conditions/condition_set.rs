//! A set of conditions: the conditions of one text, parsed, validated and compiled.

use cedar_policy::{Effect, Policy, PolicyId, PolicySet, ValidationMode, ValidationWarning, Validator};
use miette::Diagnostic;
use toml::de::{DeTable, DeValue};

use super::reads::Reads;
use super::{CONDITION_FAMILY, Condition, SCHEMA_NAMES, scan};
use crate::model::{Confidence, Origin, ReasonCode, Rule, RuleObject, Severity, ToolClass, Treatment, one_of, quoted};
use crate::policy::PolicyError;
use crate::policy::suggest::did_you_mean;
use crate::policy::values::line;

/// The longest `@id`.
const MAX_ID: usize = 64;
/// The longest `@title`, in characters.
const MAX_TITLE: usize = 200;
/// The treatments that a condition may lead to.
const TREATMENTS: &[Treatment] = &[Treatment::Evidence, Treatment::Suspect, Treatment::Deny];
/// Stack for parsing and validating what the scan lets through. Measured: 16 MiB at most, without optimisation.
const STACK: usize = 32 << 20;

/// The compiled conditions of one text.
#[derive(Debug)]
pub(super) struct ConditionSet {
    pub(super) conditions: Vec<Condition>,
    /// The policies by the ids of the conditions' rules.
    pub(super) policies: PolicySet,
}

/// The place of a text.
#[derive(Debug)]
pub(super) struct Place {
    file: String,
    /// The line of the file on which it begins.
    first_line: usize,
}

impl Place {
    /// Returns the place of `text` of a section in a policy file.
    pub(super) fn inline(policy: &str, layer: Option<(&str, &String)>, file: &str) -> Self {
        let begins = || {
            let document = DeTable::parse(policy).ok()?;
            let mut table = document.get_ref();
            if let Some((section, name)) = layer {
                let layers = table.get(section)?.get_ref().as_table()?;
                table = layers.get(name.as_str())?.get_ref().as_table()?;
            }
            let value = match table.get("conditions")?.get_ref() {
                DeValue::Table(section) => section.get("text")?.span(),
                _ => return None,
            };
            let before = policy.get(..value.start)?.matches('\n').count();
            let quotes = policy.get(value)?;
            let opens_a_line = ["'''\n", "\"\"\"\n", "'''\r\n", "\"\"\"\r\n"]
                .iter()
                .any(|open| quotes.starts_with(open));
            Some(before + usize::from(opens_a_line))
        };
        Self {
            file: file.to_owned(),
            first_line: begins().unwrap_or(0),
        }
    }

    /// Returns the place of a file beside the policy file, with its text.
    pub(super) fn beside(policy: &str, name: &str) -> Result<(Self, String), PolicyError> {
        let is_plain = !name.is_empty() && !name.contains(['/', '\\']) && name.ends_with(".cedar");
        if !is_plain {
            return Err(PolicyError::Invalid {
                file: policy.to_owned(),
                key: "conditions.file".to_owned(),
                why: format!(
                    "expected the name of a `.cedar` file in the folder of the policy file, found `{}`",
                    name.escape_debug()
                ),
            });
        }
        let path = std::path::Path::new(policy).with_file_name(name);
        let file = path.display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|error| PolicyError::Unreadable {
            file: file.clone(),
            why: error.to_string(),
        })?;
        Ok((Self { file, first_line: 0 }, text))
    }

    fn line(&self, text: &str, at: usize) -> String {
        let before = text.get(..text.floor_char_boundary(at)).unwrap_or_default();
        format!("{}:{}", self.file, self.first_line + before.matches('\n').count() + 1)
    }
}

impl ConditionSet {
    pub(super) fn compile(text: &str, place: &Place) -> Result<Self, PolicyError> {
        let compiled = stacker::grow(STACK, || Self::compiled(text, place));
        compiled.map_err(|(at, why)| PolicyError::Malformed {
            file: place.line(text, at),
            why,
        })
    }

    fn compiled(text: &str, place: &Place) -> Result<Self, (usize, String)> {
        let mut compiled = Self {
            conditions: Vec::new(),
            policies: PolicySet::new(),
        };
        let mut starts = Vec::new();
        for at in scan::conditions(text)? {
            let start = at.start;
            let wrong = |why: String| (start, why);
            let policy = Policy::parse(None, text.get(at).unwrap_or_default()).map_err(|errors| {
                let first = errors.iter().next().map(|error| told(error));
                let (offset, why) = first.unwrap_or_else(|| (0, "expected a condition in Cedar".to_owned()));
                (start + offset, why)
            })?;
            let rule = rule(&policy).map_err(wrong)?;
            let json = policy.to_json().map_err(|error| wrong(error.to_string()))?;
            let policy = policy.new_id(PolicyId::new(&rule.id));
            compiled.policies.add(policy).map_err(|_| {
                wrong(format!(
                    "expected an `@id` that no other condition has, found `{}` twice",
                    rule.id
                ))
            })?;
            starts.push(start);
            let reads = Reads::of(&json);
            let mut asked_rules = Vec::new();
            for (set, name) in &reads.expected {
                let quoted = text.get(start..).and_then(|text| text.find(&format!("\"{name}\"")));
                let at = start + quoted.unwrap_or_default();
                match set.as_str() {
                    "findings" => asked_rules.push((name.clone(), place.line(text, at))),
                    _ => known(set, name).map_err(|why| (at, why))?,
                }
            }
            compiled.conditions.push(Condition {
                place: place.line(text, start),
                asked_rules,
                reads,
                rule,
            });
        }
        compiled.validated(&starts)
    }

    /// Holds it to the schema.
    fn validated(self, starts: &[usize]) -> Result<Self, (usize, String)> {
        let schema_names = SCHEMA_NAMES
            .as_ref()
            .ok_or_else(|| (0, "the schema of conditions cannot be used".to_owned()))?;
        let validated = Validator::new(schema_names.schema.clone()).validate(&self.policies, ValidationMode::Strict);
        let start_of = |id: &PolicyId| {
            let is_it = |condition: &Condition| condition.rule.id == AsRef::<str>::as_ref(id);
            let at = self.conditions.iter().position(is_it);
            at.and_then(|at| starts.get(at)).copied().unwrap_or_default()
        };
        let errors = validated
            .validation_errors()
            .map(|error| (error.policy_id(), told(error)));
        let impossible = validated.validation_warnings().filter_map(|warning| match warning {
            ValidationWarning::ImpossiblePolicy(_) => Some((warning.policy_id(), (0, "it can never hold".to_owned()))),
            _ => None,
        });
        let place = |(id, (offset, why)): (&PolicyId, (usize, String))| (start_of(id) + offset, why);
        // What does not fit the schema can never hold either.
        match errors.map(place).min().or_else(|| impossible.map(place).min()) {
            Some((at, why)) => Err((
                at,
                format!("{why} (`guardian policy schema --conditions` shows what may be asked)"),
            )),
            None => Ok(self),
        }
    }
}

/// Refuses a name that is never in the set of this attribute.
fn known(set: &str, name: &str) -> Result<(), String> {
    let codes: Vec<ReasonCode> = ReasonCode::all().collect();
    let names: Vec<&str> = match set {
        "classes" => ToolClass::ALL.iter().map(|class| class.as_str()).collect(),
        "origins" => Origin::ALL.iter().map(|origin| origin.as_str()).collect(),
        "reasons" if !name.starts_with("org.") => codes.iter().map(ReasonCode::as_str).collect(),
        _ => return Ok(()),
    };
    if names.contains(&name) {
        return Ok(());
    }
    let suggested = did_you_mean(name, names.iter().copied());
    let names = quoted(&names);
    Err(format!(
        "`{set}`: expected one of {names}, found `{}`{suggested}",
        name.escape_debug()
    ))
}

/// Reads the documentation of a condition from its annotations.
fn rule(policy: &Policy) -> Result<Rule, String> {
    if policy.effect() == Effect::Permit {
        return Err("expected `forbid`, found `permit`: what no condition forbids goes on as without them".to_owned());
    }
    let known = ["id", "title", "reason", "treatment"];
    if let Some((unknown, _)) = policy.annotations().find(|(name, _)| !known.contains(name)) {
        return Err(format!(
            "expected `@id`, `@title`, `@reason` or `@treatment`, found `@{unknown}`"
        ));
    }
    let id = policy.annotation("id").unwrap_or_default();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !(1..=MAX_ID).contains(&id.len()) || !id.chars().all(fits) {
        let found = id.escape_debug();
        return Err(format!(
            "expected `@id(\"…\")` with 1 to {MAX_ID} of `a-z 0-9 _`, found `{found}`"
        ));
    }
    let title = match policy.annotation("title") {
        None => "The condition holds.".to_owned(),
        Some(title) => {
            let fits = line(title, MAX_TITLE);
            let why = || format!("expected `@title` in one line without `|`, at most {MAX_TITLE} characters");
            fits.ok_or_else(why)?.trim_end_matches('.').to_owned() + "."
        }
    };
    let reason = policy
        .annotation("reason")
        .unwrap_or(ReasonCode::PolicyViolation.as_str());
    let treatment = policy.annotation("treatment").unwrap_or(Treatment::Deny.as_str());
    let suggests = one_of(treatment, TREATMENTS).map_err(|why| format!("`@treatment`: {why}"))?;
    let (severity, confidence) = match suggests {
        // What is no more than evidence does not deny by its weight alone.
        Treatment::Evidence => (Severity::Medium, Confidence::Medium),
        _ => (Severity::High, Confidence::High),
    };
    Ok(Rule {
        id: format!("{CONDITION_FAMILY}.{id}"),
        title,
        reason: ReasonCode::parse(reason).ok_or_else(|| {
            format!(
                "expected a published reason code or `org.…` in `@reason`, found `{}`",
                reason.escape_debug()
            )
        })?,
        severity,
        confidence,
        suggests,
        fires_on: Vec::new(),
        silent_on: Vec::new(),
        // What an organisation forbids, its users cannot allow.
        object: RuleObject::Nothing,
        administration: false,
    })
}

/// Returns the place of an error that Cedar reports, and its text.
fn told(error: &dyn Diagnostic) -> (usize, String) {
    let label = error.labels().and_then(|mut labels| labels.next());
    let offset = label.as_ref().map_or(0, |label| label.offset());
    let more = label.as_ref().and_then(|label| label.label().map(str::to_owned));
    let help = error.help().map(|help| help.to_string());
    let parts = std::iter::once(error.to_string()).chain(more).chain(help);
    (offset, parts.collect::<Vec<_>>().join("; "))
}
