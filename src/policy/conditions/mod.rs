//! Conditions: `[conditions]` of a policy, written in Cedar (<https://www.cedarpolicy.com>), over all that is known of a step.
//!
//! ```text
//! policy file ─▶ scan (size, nesting) ─▶ parse ─▶ validate against the schema ─▶ a set of conditions
//! step ─▶ facts ─▶ evaluate the sets of all layers ─▶ a finding for each condition that holds
//! ```
//!
//! A condition is a `forbid`. It denies, suspects or is evidence; none ever lets a step happen. INVARIANT: a condition that could not
//! be evaluated is a suspicion, and never passed over.

mod arguments;
mod condition_set;
mod facts;
mod reads;
mod scan;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use cedar_policy::{AuthorizationError, Authorizer, Entities, EntityTypeName, EvaluationError, Request, Schema};
use serde::{Deserialize, Serialize};

use super::values::Wrong;
use super::{OwnCode, PolicyError};
use crate::model::{Finding, Pointer, ReasonCode, Rule, Treatment};
use arguments::Unseen;
use condition_set::{ConditionSet, Place};
pub use facts::{Facts, SessionSeen, Time};
use reads::Reads;

/// The family's name: what a condition is reported under begins so.
pub const CONDITION_FAMILY: &str = "condition";
/// The facts that conditions may ask about, as a Cedar schema.
pub const CONDITION_SCHEMA: &str = include_str!("schema.cedarschema");

/// The most conditions of an effective policy.
const MAX_CONDITIONS: usize = 200;
/// Stack that evaluating what the scan lets through takes at most. Measured: 200 operators in a row take 1 MiB, without
/// optimisation 16 MiB.
const STACK: usize = if cfg!(debug_assertions) { 24 << 20 } else { 5 << 18 };

/// `[conditions]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConditionsSection {
    /// A file beside the policy file; once it is read, `text` holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip)]
    sets: Vec<Arc<ConditionSet>>,
}

/// One condition.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Its documentation; its id is `condition.` and its `@id`.
    pub rule: Rule,
    /// The line on which it begins, with its file.
    pub place: String,
    /// Rules, and families of rules, whose findings it asks for, each with its line.
    pub asked_rules: Vec<(String, String)>,
    reads: Reads,
}

/// The conditions of an effective policy: those of the narrowest layer first.
#[derive(Clone, Debug, Default)]
pub struct Conditions(Vec<Arc<ConditionSet>>);

impl ConditionsSection {
    pub(super) fn is_default(&self) -> bool {
        self.file.is_none() && self.text.is_none()
    }

    /// Reads and compiles what the section says. `policy` is the policy file as it is written, `file` its name; `layer` says whose
    /// section it is, such as `teams` and a name.
    pub(super) fn read(&mut self, policy: &str, layer: Option<(&str, &String)>, file: &str) -> Result<(), PolicyError> {
        let (place, text) = match (&self.file, &self.text) {
            (None, None) => return Ok(()),
            (None, Some(inline)) => (Place::inline(policy, layer, file), inline.clone()),
            (Some(name), None) => Place::beside(file, name)?,
            (Some(_), Some(_)) => {
                return Err(PolicyError::Invalid {
                    file: file.to_owned(),
                    key: "conditions".to_owned(),
                    why: "expected `file` or `text`, found both".to_owned(),
                });
            }
        };
        self.file = None;
        self.sets = vec![Arc::new(ConditionSet::compile(&text, &place)?)];
        self.text = Some(text);
        Ok(())
    }

    /// Joins both, each as it is.
    pub(super) fn over(self, base: Self) -> Self {
        let text = match (self.text, base.text) {
            (Some(own), Some(wider)) => Some(format!("{own}\n{wider}")),
            (own, wider) => own.or(wider),
        };
        Self {
            file: None,
            text,
            sets: self.sets.into_iter().chain(base.sets).collect(),
        }
    }

    /// Returns the conditions that stand in this section, by themselves.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Condition> {
        self.sets.iter().flat_map(|set| &set.conditions)
    }

    pub(super) fn build(&self, codes: &[OwnCode]) -> Result<Conditions, Wrong> {
        let at = |id: &str, why: String| Err((format!("conditions.{id}"), why));
        let mut ids = BTreeSet::new();
        for Condition { rule, place, .. } in self.iter() {
            let own = matches!(rule.reason, ReasonCode::Organisation(_));
            if own && codes.iter().all(|declared| declared.code != rule.reason) {
                let why = format!(
                    "{place}: expected a published reason code or an `org.…` of `[reason_codes]` in `@reason`, found `{}`",
                    rule.reason.as_str()
                );
                return at(&rule.id, why);
            }
            if !ids.insert(&rule.id) {
                let why = format!("{place}: expected an `@id` that no other condition of the policy has");
                return at(&rule.id, why);
            }
        }
        if ids.len() > MAX_CONDITIONS {
            let why = format!(
                "expected at most {MAX_CONDITIONS} conditions over all layers, found {}",
                ids.len()
            );
            return Err(("conditions".to_owned(), why));
        }
        Ok(Conditions(self.sets.clone()))
    }
}

impl Conditions {
    /// Returns every condition.
    pub fn iter(&self) -> impl Iterator<Item = &Condition> + Clone {
        self.0.iter().flat_map(|set| &set.conditions)
    }

    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if one of them asks for the trained scorer's probability.
    pub fn ask_for_the_score(&self) -> bool {
        self.iter().any(|condition| condition.reads.score)
    }

    /// Returns a finding for each condition that holds for a step, or of which it is not known whether it does.
    pub fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some((request, entities, unseen)) = SCHEMA_NAMES
            .as_ref()
            .and_then(|schema_names| facts.request(schema_names))
        else {
            return self
                .iter()
                .map(|c| c.unknown("the step could not be told in Cedar"))
                .collect();
        };
        let evaluate = || self.0.iter().flat_map(|set| set.findings(&request, &entities, &unseen));
        stacker::maybe_grow(STACK, STACK, || evaluate().collect())
    }
}

impl ConditionSet {
    fn findings(&self, request: &Request, entities: &Entities, unseen: &Unseen) -> Vec<Finding> {
        let response = Authorizer::new().is_authorized(request, &self.policies, entities);
        let holding: BTreeSet<&str> = response.diagnostics().reason().map(AsRef::as_ref).collect();
        let outcome = |condition: &Condition| {
            if holding.contains(condition.rule.id.as_str()) {
                return Some(condition.rule.on_step(Pointer::default(), condition.rule.title.clone()));
            }
            let mut errors = response.diagnostics().errors();
            let failed = errors.find_map(|AuthorizationError::PolicyEvaluationError(error)| {
                (AsRef::<str>::as_ref(error.policy_id()) == condition.rule.id).then(|| error.inner())
            });
            match failed {
                Some(error) => Some(condition.unknown(told(error))),
                None if condition.reads.concern(unseen) => {
                    Some(condition.unknown("an argument that it reads is too large, too deep or named twice"))
                }
                None => None,
            }
        };
        self.conditions.iter().filter_map(outcome).collect()
    }
}

impl Condition {
    fn unknown(&self, why: &str) -> Finding {
        Finding {
            suggested: Treatment::Suspect,
            ..self.rule.on_step(
                Pointer::default(),
                format!("It cannot be told whether it holds, because {why}: {}", self.rule.title),
            )
        }
    }
}

/// Describes the error, without a word of the step.
fn told(error: &EvaluationError) -> &'static str {
    match error {
        EvaluationError::IntegerOverflow(_) => "a number is too large to calculate with",
        EvaluationError::RecursionLimit(_) => "it is nested too deeply",
        _ => "it asks for something that is not there",
    }
}

/// The schema and its names, read once.
struct SchemaNames {
    schema: Schema,
    action: EntityTypeName,
    caller: EntityTypeName,
    tool: EntityTypeName,
    texts: EntityTypeName,
    numbers: EntityTypeName,
    values: EntityTypeName,
}

static SCHEMA_NAMES: LazyLock<Option<SchemaNames>> = LazyLock::new(|| {
    let name = |name: &str| name.parse().ok();
    Some(SchemaNames {
        schema: Schema::from_cedarschema_str(CONDITION_SCHEMA).ok()?.0,
        action: name("Action")?,
        caller: name("Caller")?,
        tool: name("Tool")?,
        texts: name("Texts")?,
        numbers: name("Numbers")?,
        values: name("Values")?,
    })
});

#[cfg(test)]
mod tests;
