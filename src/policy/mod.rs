//! An organisation's policy: what is made of findings, which tools may be used, what happens when no judge can decide.
//!
//! A policy is data: a TOML file that extends a built-in profile (`profiles/*.toml`). It is read and checked once,
//! compiled, given a version (a hash of what it says), and never changes afterwards; a reload makes a new one.
//! A team or an agent of the organisation may have a layer of its own over it (`layers.rs`); each effective policy is compiled when
//! the file is read.
//! This module knows no clock and no network, and no prefilter by name: rules are matched by pattern.

mod conditions;
mod custom_rules;
mod error;
mod everyday;
mod examples;
mod explain;
mod file;
mod harmless;
mod judge_section;
mod judging;
mod layers;
mod local_judge_section;
mod mask;
mod modes;
mod names;
mod profiles;
mod serialised_names;
mod suggest;
mod tool_classes;
mod treatment;
mod values;

use std::collections::BTreeMap;

use crate::model::{Disclosure, Method, Posture, named_enum};

pub use conditions::{CONDITION_FAMILY, CONDITION_SCHEMA, Condition, Conditions, Facts, SessionSeen, Time};
pub use custom_rules::{Extent, Letters, OWN_FAMILY, OwnHits, OwnRule, OwnRuleLine, OwnRules};
pub use error::PolicyError;
pub use everyday::{Everyday, home_of};
pub use examples::Example;
pub use explain::{Statement, explain};
pub use file::PolicyFile;
pub use harmless::HarmlessEntry;
pub use judging::{
    ConfidenceRules, FirstStageRules, JudgeRules, LongTexts, OwnCode, SessionIncomplete, StrictnessTable, Suspected,
};
pub use layers::{Layers, Selected};
pub use local_judge_section::{ThresholdTable, Thresholds};
pub use mask::MaskStyle;
pub use modes::Modes;
pub use names::NamePatterns;
pub use profiles::PROFILE_NAMES;
pub(crate) use serialised_names::as_text;
pub use suggest::{did_you_mean, with_suggestion};
pub use tool_classes::ToolClassRules;
pub use treatment::{DataFlow, TreatmentEntry};

/// Every key of a policy with what it does when left out, as a file that can be used.
pub const REFERENCE: &str = include_str!("reference.toml");

/// A compiled policy.
#[derive(Clone, Debug)]
pub struct Policy {
    /// A name for people.
    pub name: String,
    /// Changes exactly when what the policy says changes.
    pub version: String,
    /// The treatments of findings: the first entry that fits decides.
    treatments: Vec<TreatmentEntry>,
    /// The steps that need no judge when nothing was seen in them.
    harmless: Vec<HarmlessEntry>,
    /// The everyday work of an agent.
    pub everyday: Everyday,
    /// The modes: which verdicts are enforced, where that differs from the organisation.
    pub modes: Modes,
    /// The tools that may be called.
    pub tools: ToolRules,
    /// The hosts that data may go to.
    pub destinations: DestinationRules,
    /// The posture: what happens when no judge can decide.
    pub posture: PostureTable,
    /// The way in which masked text is replaced.
    pub mask: MaskStyle,
    /// The weights of findings for the local judge.
    pub local_judge: LocalJudgeRules,
    /// The demands on a judge that is a model.
    pub judge: JudgeRules,
    /// The organisation's own reason codes, by name.
    pub own_codes: Vec<OwnCode>,
    /// The organisation's own rules.
    pub own_rules: OwnRules,
    /// The conditions under which it forbids steps.
    pub conditions: Conditions,
    /// The information for the judge in the organisation's own words; rendered into the system prompt.
    pub guidance: String,
    /// Steps that the organisation has decided, for its judge to go by.
    pub examples: Vec<Example>,
    /// The parts of a verdict that the organisation shows to its agents.
    pub disclosure: Disclosure,
    /// The contents of the audit records of the organisation's steps.
    pub records: RecordRules,
    /// The file from which it was read: agents that it guards have no business there.
    pub path: Option<String>,
    /// The policy, with what it builds on, as a file: the version is the hash of this text.
    pub source: String,
    /// The differences for teams and agents, each over this policy.
    pub layers: Layers,
}

/// The tools that may be called.
#[derive(Clone, Debug)]
pub struct ToolRules {
    /// The only tools that may be called, when given.
    pub allow: Option<NamePatterns>,
    /// The tools that may never be called.
    pub deny: NamePatterns,
    /// Calls of tools that the agent itself does not declare.
    pub undeclared: Undeclared,
    /// The classes of tools that the organisation states.
    pub classes: ToolClassRules,
}

/// The hosts that data may go to. A host that fits neither list is judged by what it is.
#[derive(Clone, Debug)]
pub struct DestinationRules {
    /// Hosts that the organisation trusts: nothing is found there, whatever they look like.
    pub allow: NamePatterns,
    /// Hosts that nothing may go to. They come before allowed ones.
    pub deny: NamePatterns,
}

named_enum! {
    /// The treatment of a call of a tool that the agent does not declare, although it declares some.
    Undeclared {
        /// Nothing.
        Ignore = "ignore",
        /// A finding for the judge.
        Evidence = "evidence",
        /// A finding that denies.
        Deny = "deny",
    }
}

/// The posture per method.
#[derive(Clone, Debug)]
pub struct PostureTable {
    default: Option<Posture>,
    per_method: BTreeMap<Method, Posture>,
}

impl PostureTable {
    /// Returns the posture for a step of this method: its own entry, else the policy's default, else `fallback`, which is the
    /// server's own (`[judge] on_failure`).
    pub fn of(&self, method: Method, fallback: Posture) -> Posture {
        self.per_method
            .get(&method)
            .copied()
            .or(self.default)
            .unwrap_or(fallback)
    }
}

/// The weights of findings for the local judge, and the thresholds for its scorer's probabilities; its own documentation has the rules.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalJudgeRules {
    /// Deny when the combined weight of findings reaches this, 0 to 1.
    pub deny_at: f64,
    /// The thresholds for the trained scorer's probabilities.
    pub thresholds: ThresholdTable,
}

/// The contents of the audit records of an organisation's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRules {
    /// The texts of a step, without what is withheld.
    pub contents: bool,
    /// The words on which findings fired, without what is withheld.
    pub seen: bool,
}

impl Policy {
    /// Counts files as the work's only outside of the homes of users in whose homes none of these folders lie.
    pub fn work_in(&mut self, folders: &[String]) {
        self.everyday.work_in(folders);
        self.layers.change(|policy| policy.everyday.work_in(folders));
    }

    /// Returns the policy that applies when nothing is configured.
    ///
    /// # Errors
    ///
    /// Never with the profiles that are compiled in; a test holds that.
    pub fn standard() -> Result<Self, PolicyError> {
        Self::profile("default")
    }

    /// Returns a built-in profile.
    ///
    /// # Errors
    ///
    /// When there is no profile of this name.
    pub fn profile(name: &str) -> Result<Self, PolicyError> {
        PolicyFile::profile(name)?.compile(name)
    }

    /// Reads and compiles a policy file.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] with the file, the key, what was expected and what was found.
    pub fn load(path: &std::path::Path) -> Result<Self, PolicyError> {
        PolicyFile::read(path)?.compile(&path.display().to_string())
    }
}

#[cfg(test)]
mod tests;
