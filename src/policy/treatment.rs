//! The treatments of findings.

use super::suggest::did_you_mean;
use super::{NamePatterns, Policy, PolicyError, Suspected};
use crate::model::{Confidence, Finding, Kind, Method, Origin, ReasonCode, Severity, Step, Treatment};

/// One line of the treatment table: conditions, all of which must hold, and what follows.
#[derive(Clone, Debug)]
pub struct TreatmentEntry {
    /// Patterns of rule ids; empty: any.
    pub rules: NamePatterns,
    /// Reason codes; empty: any.
    pub reasons: Vec<ReasonCode>,
    /// Origins of the content; empty: any.
    pub origins: Vec<Origin>,
    /// Kinds of step; empty: any.
    pub kinds: Vec<Kind>,
    /// Methods; empty: any.
    pub methods: Vec<Method>,
    /// True if the step hands something to a third party; `None`: either.
    pub leaving: Option<bool>,
    /// The least severity.
    pub min_severity: Severity,
    /// The least confidence.
    pub min_confidence: Confidence,
    /// The treatment that follows.
    pub treatment: Treatment,
}

/// The flow of a finding's data: to a third party, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFlow {
    /// It leaves: by a message, a post, an upload.
    Outbound,
    /// It stays.
    Internal,
}

impl TreatmentEntry {
    fn fits(&self, finding: &Finding, step: &Step, flow: DataFlow) -> bool {
        let origin = finding
            .content
            .and_then(|id| step.content(id))
            .map(|content| content.origin);
        (self.rules.is_empty() || self.rules.matches(&finding.rule))
            && (self.reasons.is_empty() || self.reasons.contains(&finding.reason))
            && (self.origins.is_empty() || origin.is_some_and(|origin| self.origins.contains(&origin)))
            && (self.kinds.is_empty() || self.kinds.contains(&step.kind))
            && (self.methods.is_empty() || self.methods.contains(&step.method))
            && self
                .leaving
                .is_none_or(|leaving| leaving == (flow == DataFlow::Outbound))
            && finding.severity >= self.min_severity
            && finding.confidence >= self.min_confidence
    }
}

impl Policy {
    /// Holds that every rule pattern of the tables fits one of these rules or one of the organisation's own, and that conditions
    /// ask for such rules; `file` is for messages.
    ///
    /// # Errors
    ///
    /// The first pattern that fits none: a misspelled one, most likely.
    pub fn hold_rules<'p>(
        &'p self,
        file: &str,
        rules: impl Iterator<Item = &'p str> + Clone,
    ) -> Result<(), PolicyError> {
        let own = || self.own_rules.iter().map(|own| own.rule.id.as_str());
        // The file's own entries come before those of what it extends.
        let treatments = self.treatments.iter().map(|entry| &entry.rules).enumerate();
        let conditions = self.conditions.iter().map(|condition| condition.rule.id.as_str());
        let modes = self.modes.rules().enumerate();
        let named = treatments
            .map(|at| ("treatments", at))
            .chain(modes.map(|at| ("modes", at)));
        for (table, (index, patterns)) in named {
            // What a condition leads to, it says itself.
            let conditions = conditions.clone().filter(|_| table == "modes");
            let known = rules.clone().chain(own()).chain(conditions);
            if let Some(pattern) = patterns.fitting_none(known).first() {
                return Err(PolicyError::Invalid {
                    file: file.to_owned(),
                    key: format!("{table}[{index}].rules"),
                    why: format!(
                        "expected patterns that fit a rule, found `{}`, which fits none; `guardian rules list` shows all",
                        pattern.escape_debug()
                    ),
                });
            }
        }
        let known = rules.chain(own());
        let families = known.clone().filter_map(|rule| rule.split('.').next());
        let known = known.chain(families);
        let mut asked = self.conditions.iter().flat_map(|condition| &condition.asked_rules);
        match asked.find(|(name, _)| known.clone().all(|rule| rule != name)) {
            None => Ok(()),
            Some((name, place)) => Err(PolicyError::Malformed {
                file: place.clone(),
                why: format!(
                    "`findings`: expected a rule or a family of rules, found `{}`; `guardian rules list` shows all{}",
                    name.escape_debug(),
                    did_you_mean(name, known)
                ),
            }),
        }
    }

    /// Returns this organisation's treatment of a finding in a step that hands nothing to a third party.
    pub fn treatment(&self, finding: &Finding, step: &Step) -> Treatment {
        self.treatment_of(finding, step, DataFlow::Internal)
    }

    /// Returns this organisation's treatment of a finding: the first entry that fits, else what the rule suggests. A suspicion is a
    /// denial where the policy wants no model to overrule one.
    pub fn treatment_of(&self, finding: &Finding, step: &Step, flow: DataFlow) -> Treatment {
        let treatment = self
            .treatments
            .iter()
            .find(|entry| entry.fits(finding, step, flow))
            .map_or(finding.suggested, |entry| entry.treatment);
        match (treatment, self.judge.suspected) {
            (Treatment::Suspect, Suspected::Deny) => Treatment::Deny,
            (treatment, Suspected::Ask | Suspected::Deny) => treatment,
        }
    }
}
