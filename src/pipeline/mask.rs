//! Mask: takes out of a step what the policy masks, before any judge sees it.

use std::sync::Arc;

use super::draft::Draft;
use super::examiner::Examiner;
use super::local_opinion::LocalOpinion;
use super::screen::{Screened, explain, reasons};
use crate::model::{Decision, Edit, Finding, Origin, ReasonCode, Step, Suspicion, Treatment, Withheld};
use crate::policy::MaskStyle;
use crate::session::SessionSnapshot;

/// A step that may be shown to a judge: masked as far as it had to be.
pub(super) struct Cleared {
    /// The step, without the masked text.
    pub(super) step: Arc<Step>,
    /// The edits that masked it, in the coordinates of the step as received.
    pub(super) masks: Vec<Edit>,
    /// The reasons for the masks.
    pub(super) mask_reasons: Vec<ReasonCode>,
    /// The masked text and its places, for the audit record.
    pub(super) mask_reasoning: String,
    /// The texts around the step that the policy masks: they stay in the step, and are masked in the prompt.
    pub(super) hidden: Withheld,
    /// The findings that a judge is shown as evidence.
    pub(super) evidence: Vec<Finding>,
    /// The findings for which the guardian alone would deny the step.
    pub(super) suspects: Vec<Finding>,
    /// The finding that a model has to answer before it lets the step happen.
    pub(super) suspicion: Option<Suspicion>,
    /// The opinion of the local judge's trained scorer, if it was asked.
    pub(super) local_opinion: Option<LocalOpinion>,
}

impl Cleared {
    /// Returns the findings that a model is shown: suspects, evidence, and the passage that the trained scorer weighs highest.
    pub(super) fn shown_evidence(&self) -> Vec<Finding> {
        let hint = self
            .local_opinion
            .as_ref()
            .and_then(|local_opinion| local_opinion.hint.clone());
        let seen = self.suspects.iter().chain(&self.evidence);
        seen.cloned().chain(hint).collect()
    }
}

impl Examiner {
    /// Masks a step; returns a denial if it has to be masked but cannot be.
    pub(super) fn mask(&self, screened: &Screened, past: &SessionSnapshot) -> Result<Cleared, Box<Draft>> {
        let masked: Vec<&Finding> = screened.treated(Treatment::Mask).collect();
        if masked.is_empty() {
            return Ok(Cleared {
                step: Arc::clone(&screened.step),
                masks: Vec::new(),
                mask_reasons: Vec::new(),
                mask_reasoning: String::new(),
                hidden: screened.hidden(),
                evidence: screened.treated(Treatment::Evidence).cloned().collect(),
                suspects: screened.treated(Treatment::Suspect).cloned().collect(),
                suspicion: None,
                local_opinion: None,
            });
        }
        let method = screened.method();
        let denied = |why: &str| {
            Draft::of_rules(Decision::Deny, method, reasons(&masked), explain(&masked, "masks"))
                .refuse_modification(method, why)
        };
        let denied = |why: &str| Box::new(denied(why));
        if !method.allows_modification() {
            return Err(denied("the protocol does not let this method be modified"));
        }
        let masks = edits(&masked, &screened.step, &self.policy().mask);
        let step = screened
            .step
            .original
            .edited(&masks)
            .map_err(|error| denied(&error.to_string()))?;
        let again = self.screen(step, past);
        if again.treated(Treatment::Deny).next().is_some() || again.treated(Treatment::Mask).next().is_some() {
            return Err(denied("what had to be masked can still be read afterwards"));
        }
        Ok(Cleared {
            step: Arc::clone(&again.step),
            masks,
            mask_reasons: reasons(&masked),
            mask_reasoning: explain(&masked, "masks"),
            hidden: screened.hidden(),
            evidence: again.treated(Treatment::Evidence).cloned().collect(),
            suspects: again.treated(Treatment::Suspect).cloned().collect(),
            suspicion: None,
            local_opinion: None,
        })
    }
}

/// Makes one edit for each stretch of text that findings cover; overlapping findings become one edit.
fn edits(findings: &[&Finding], step: &Step, style: &MaskStyle) -> Vec<Edit> {
    let mut spans: Vec<&&Finding> = findings.iter().filter(|finding| finding.content.is_some()).collect();
    spans.sort_by_key(|finding| (finding.content, finding.span.start));
    let mut edits: Vec<Edit> = Vec::new();
    for finding in spans {
        let Some(content) = finding.content else { continue };
        match edits.last_mut() {
            Some(last) if last.content == content && finding.span.start < last.span.end => {
                last.span.end = last.span.end.max(finding.span.end);
            }
            _ => edits.push(Edit {
                content,
                span: finding.span.clone(),
                replacement: replacement(finding, step, style),
                reason: finding.reason.clone(),
            }),
        }
    }
    edits
}

/// Returns the replacement of the text: in a part of an argument one plain word, elsewhere as the policy says.
fn replacement(finding: &Finding, step: &Step, style: &MaskStyle) -> String {
    let content = finding.content.and_then(|id| step.content(id));
    let part_of_argument = content
        .is_some_and(|content| content.origin == Origin::ToolArguments && finding.span.len() < content.text.len());
    let text = covered(step, finding);
    if part_of_argument {
        style.word(finding, text)
    } else {
        style.stand_in(finding, text)
    }
}

/// Returns the text that a finding is about.
fn covered<'a>(step: &'a Step, finding: &Finding) -> &'a str {
    let content = finding.content.and_then(|id| step.content(id));
    content
        .and_then(|content| content.text.get(finding.span.clone()))
        .unwrap_or_default()
}
