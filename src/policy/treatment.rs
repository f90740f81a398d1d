//! What is made of findings.

use super::{NamePatterns, Policy};
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
    /// At least this severity.
    pub min_severity: Severity,
    /// At least this confidence.
    pub min_confidence: Confidence,
    /// What follows.
    pub treatment: Treatment,
}

impl TreatmentEntry {
    fn fits(&self, finding: &Finding, step: &Step) -> bool {
        let origin = finding
            .content
            .and_then(|id| step.content(id))
            .map(|content| content.origin);
        (self.rules.is_empty() || self.rules.matches(&finding.rule))
            && (self.reasons.is_empty() || self.reasons.contains(&finding.reason))
            && (self.origins.is_empty() || origin.is_some_and(|origin| self.origins.contains(&origin)))
            && (self.kinds.is_empty() || self.kinds.contains(&step.kind))
            && (self.methods.is_empty() || self.methods.contains(&step.method))
            && finding.severity >= self.min_severity
            && finding.confidence >= self.min_confidence
    }
}

impl Policy {
    /// The rule patterns of the treatment table that fit none of these rules and none of the organisation's own.
    pub fn unknown_rules<'p>(&'p self, rules: &[&str]) -> Vec<&'p str> {
        self.treatments
            .iter()
            .flat_map(|entry| {
                let own = self.own_rules.iter().map(|rule| rule.id.as_str());
                entry.rules.fitting_none(rules.iter().copied().chain(own))
            })
            .collect()
    }

    /// What this organisation makes of a finding: the first entry that fits, else what the rule suggests.
    pub fn treatment(&self, finding: &Finding, step: &Step) -> Treatment {
        self.treatments
            .iter()
            .find(|entry| entry.fits(finding, step))
            .map_or(finding.suggested, |entry| entry.treatment)
    }
}
