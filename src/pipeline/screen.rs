//! Screen: prefilters on every content, and the treatment of their findings by the organisation's policy.

use std::borrow::Cow;
use std::sync::Arc;

use super::Organisation;
use super::draft::Draft;
use super::egress::Egress;
use super::examiner::Examiner;
use super::names_and_ids as names;
use crate::model::{
    Content, Decision, Diagnostic, Finding, Kind, Method, Origin, Place, ReasonCode, Screening, Step, Treatment,
    Verdict, Withheld,
};
use crate::policy::Policy;
use crate::prefilter::Prefilters;
use crate::session::{self, SessionSnapshot, rules};
use crate::telemetry;

/// A screened step: each finding with its treatment.
pub(super) struct Screened {
    pub(super) step: Arc<Step>,
    screening: Screening,
    /// The treatment of each finding by the policy.
    said: Vec<Treatment>,
    /// The treatments that decide: the same, but for findings of observed rules.
    treatments: Vec<Treatment>,
    /// The texts around the step that the policy masks: they go on as they are, but no judge is shown them.
    hidden: Withheld,
    /// Credentials in names and ids that no rule for contents sees.
    in_names: Vec<String>,
}

impl Examiner {
    /// Screens a step in the light of its session. Deterministic, and bounded by the size of the step.
    pub(super) fn screen(&self, step: Arc<Step>, past: &SessionSnapshot) -> Screened {
        let mut screened = Screened::new(&self.prefilters, step, self.policy(), past);
        self.set_aside(&mut screened);
        self.add_conditions(&mut screened, past);
        screened
    }
}

impl Screened {
    fn new(prefilters: &Prefilters, step: Arc<Step>, policy: &Policy, past: &SessionSnapshot) -> Self {
        let mut screening = prefilters.screen(&step, policy);
        let across_steps = rules::screen(past, &step, policy, prefilters);
        screening.findings.extend(across_steps);
        let rules = |id: &str| prefilters.rules().find(|rule| rule.id == id);
        session::lower(past, &step, &mut screening.findings, rules);
        let egress = match screening.findings.as_slice() {
            [] => Egress::None,
            _ => Egress::of(&step, policy),
        };
        let mut hidden = Vec::new();
        let mut treatments = Vec::with_capacity(screening.findings.len());
        for finding in &screening.findings {
            let content = finding.content.and_then(|id| step.content(id));
            let said = policy.treatment_of(finding, &step, egress.flow_of(finding, &step));
            if let (Treatment::Mask, Some(content)) = (said, content)
                && content.place == Place::Surroundings
            {
                hidden.extend(content.text.get(finding.span.clone()));
            }
            treatments.push(treatment(finding, &step, said));
        }
        let in_names = names::credentials(prefilters, &step, policy);
        let hidden = Withheld::these(hidden.into_iter().chain(in_names.iter().map(String::as_str)));
        Self {
            step,
            screening,
            said: treatments.clone(),
            treatments,
            hidden,
            in_names,
        }
    }

    /// Returns the texts around the step that the policy masks.
    pub(super) fn hidden(&self) -> Withheld {
        self.hidden.clone()
    }

    pub(super) fn kind(&self) -> Kind {
        self.step.kind
    }

    pub(super) fn method(&self) -> Method {
        self.step.method
    }

    /// Sets these findings aside: they are reported, and decide nothing.
    pub(super) fn set_aside(&mut self, is_observed: impl Fn(&Finding, &Step) -> bool) {
        for (finding, treatment) in self.screening.findings.iter().zip(&mut self.treatments) {
            if is_observed(finding, &self.step) {
                *treatment = Treatment::Ignore;
            }
        }
    }

    /// Returns the findings that were set aside, with their treatment by the policy.
    pub(super) fn aside(&self) -> impl Iterator<Item = (&Finding, Treatment)> {
        let said = self.said.iter().zip(&self.treatments);
        let pairs = self.screening.findings.iter().zip(said);
        pairs
            .filter(|(_, (said, treatment))| said != treatment)
            .map(|(finding, (said, _))| (finding, *said))
    }

    /// Adds findings that carry their own treatment.
    pub(super) fn add(&mut self, findings: Vec<Finding>) {
        let treatments = findings.iter().map(|finding| finding.suggested);
        self.said.extend(treatments.clone());
        self.treatments.extend(treatments);
        self.screening.findings.extend(findings);
    }

    /// Returns the findings that count for something.
    pub(super) fn heeded(&self) -> impl Iterator<Item = &Finding> {
        let pairs = self.screening.findings.iter().zip(&self.treatments);
        pairs
            .filter(|(_, treatment)| **treatment != Treatment::Ignore)
            .map(|(finding, _)| finding)
    }

    /// Returns the findings with this treatment.
    pub(super) fn treated(&self, as_this: Treatment) -> impl Iterator<Item = &Finding> {
        let pairs = self.screening.findings.iter().zip(&self.treatments);
        pairs
            .filter(move |(_, treatment)| **treatment == as_this)
            .map(|(finding, _)| finding)
    }

    /// Returns the decision, if rules alone settle it for certain: any denial; or a step that is named as harmless, with nothing to weigh against it.
    pub(super) fn settled(&self, policy: &Policy) -> Option<Draft> {
        let denying: Vec<&Finding> = self.treated(Treatment::Deny).collect();
        if !denying.is_empty() {
            let draft = Draft::of_rules(
                Decision::Deny,
                self.method(),
                reasons(&denying),
                explain(&denying, "denies"),
            );
            return Some(draft);
        }
        let open = self
            .treatments
            .iter()
            .any(|t| matches!(t, Treatment::Mask | Treatment::Suspect | Treatment::Evidence));
        if open {
            return None;
        }
        let allowing: Vec<&Finding> = self.treated(Treatment::Allow).collect();
        let reasoning = match policy.harmless(&self.step) {
            Some(entry) => format!(
                "The policy names this step as harmless (`{}`), and nothing was seen in it.",
                entry.name
            ),
            None if allowing.is_empty() => return None,
            None => explain(&allowing, "allows"),
        };
        Some(Draft::of_rules(Decision::Allow, self.method(), Vec::new(), reasoning))
    }

    /// Returns the texts that must not be repeated in any account of this step.
    pub(super) fn withheld(&self) -> Withheld {
        Withheld::of(
            &self.step,
            self.screening.findings.iter().zip(self.said.iter().copied()),
            self.in_names.iter().map(String::as_str),
        )
    }

    /// Returns the findings that were not set aside.
    pub(super) fn weighed(&self) -> Cow<'_, [Finding]> {
        let findings = &self.screening.findings;
        if self.said == self.treatments {
            return Cow::Borrowed(findings);
        }
        let pairs = findings.iter().zip(self.said.iter().zip(&self.treatments));
        Cow::Owned(
            pairs
                .filter(|(_, (said, treatment))| said == treatment)
                .map(|(finding, _)| finding.clone())
                .collect(),
        )
    }

    /// Returns the findings and the coverage.
    pub(super) fn screening(&self) -> &Screening {
        &self.screening
    }

    /// Returns the findings.
    pub(super) fn into_findings(self) -> Vec<Finding> {
        self.screening.findings
    }

    /// Adds the results of screening to a verdict: findings, coverage, versions.
    pub(super) fn complete(self, mut verdict: Verdict, organisation: &Organisation) -> Verdict {
        for (finding, treatment) in self.screening.findings.iter().zip(&self.treatments) {
            let family = finding.rule.split('.').next().unwrap_or_default().to_owned();
            metrics::counter!(telemetry::names::FINDINGS, "family" => family, "treatment" => treatment.as_str())
                .increment(1);
        }
        verdict.findings = self.screening.findings;
        verdict.coverage = self.screening.coverage;
        verdict.policy_version.clone_from(&organisation.policy.version);
        verdict.prompt_version = organisation.prompts.version().to_owned();
        let leniencies = self.step.leniencies().into_iter().map(|(code, what)| Diagnostic {
            code,
            detail: what.to_owned(),
        });
        verdict.diagnostics.extend(leniencies);
        verdict
    }
}

/// The policy's treatment, with exceptions. What surrounds a step (the agent's own instructions, ids) is never masked in the
/// step, but in the prompt; the judge is told. A secret in the instructions is no evidence against a step: those who run the agent
/// put it there. The name of an argument is what the call sends: that it cannot be masked makes a denial of it. And in what a call is made of, only data is masked: a command without the words that a rule objects to is
/// another command, so such a step is denied.
fn treatment(finding: &Finding, step: &Step, said: Treatment) -> Treatment {
    let content = finding.content.and_then(|id| step.content(id));
    let is_data = finding.reason.is_data();
    match (said, content) {
        (Treatment::Mask, None) => Treatment::Evidence,
        (Treatment::Mask, Some(content)) if content.place == Place::Surroundings => match content.origin {
            Origin::Instructions if is_data => Treatment::Ignore,
            Origin::ToolArguments if is_data && names_argument(content, step) => Treatment::Mask,
            _ => Treatment::Evidence,
        },
        (Treatment::Mask, Some(content)) if content.origin == Origin::ToolArguments && !is_data => Treatment::Deny,
        (treatment, _) => treatment,
    }
}

/// Whether it names an argument of the call, rather than the tool or the execution.
fn names_argument(content: &Content, step: &Step) -> bool {
    let names_tool = step
        .tool_call
        .as_ref()
        .is_some_and(|call| call.content == Some(content.id));
    let member = content.pointer.as_str().rsplit('/').next();
    matches!(member, Some("name" | "id")) && !names_tool
}

/// Returns the reason codes of findings, the gravest first, each once.
pub(super) fn reasons(findings: &[&Finding]) -> Vec<ReasonCode> {
    let mut by_gravity: Vec<&&Finding> = findings.iter().collect();
    by_gravity.sort_by_key(|finding| std::cmp::Reverse((finding.severity, finding.confidence)));
    let mut codes = Vec::new();
    for finding in by_gravity {
        if !codes.contains(&finding.reason) {
            codes.push(finding.reason.clone());
        }
    }
    codes
}

/// Findings that are spelled out in a reasoning; of more, only the number is told.
const SPELLED_OUT: usize = 5;

/// Describes the findings and their places, for the audit record.
pub(super) fn explain(findings: &[&Finding], verb: &str) -> String {
    let mut lines: Vec<String> = findings
        .iter()
        .take(SPELLED_OUT)
        .map(|finding| {
            let place = if finding.pointer.as_str().is_empty() {
                "the step"
            } else {
                finding.pointer.as_str()
            };
            let what = finding.explanation.trim_end_matches('.');
            format!("Rule `{}` {verb}, at {place}: {what}.", finding.rule)
        })
        .collect();
    if findings.len() > SPELLED_OUT {
        lines.push(format!("And {} more.", findings.len() - SPELLED_OUT));
    }
    lines.join(" ")
}
