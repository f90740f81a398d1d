//! Denied steps that are tried again in other words. The session remembers; what it remembers weighs less with every step.
//!
//! Only denials that speak against the wish count, not those that speak against its form: an agent that takes the secret out of a mail and sends it
//! again has understood. And the user's word ends the matter: a user that asked again, or said yes, is obeyed or denied for other reasons.

use super::rule_context::RuleContext;
use super::{FindingSite, RuleId, finding};
use crate::model::{Earlier, Finding, Outcome, ReasonCode};
use crate::session::Event;
use crate::session::intent::{Intent, Likeness};

/// The factor on the weight of a denial with every step after it.
const DECAY: f64 = 0.92;
/// From this weight on it is no coincidence any more.
const INSISTS: f64 = 1.3;
/// Below this weight a denial is forgotten.
const FORGOTTEN: f64 = 0.15;

pub(super) fn screen(context: &RuleContext<'_>, found: &mut Vec<Finding>) {
    let mut denied = context
        .past
        .events()
        .rev()
        .filter_map(|event| Some((event, event.intent.as_deref()?)))
        .peekable();
    if denied.peek().is_none() {
        return;
    }
    let Some(present) = Intent::of(context.step, context.classified.set) else {
        return;
    };
    let mut weight = 0.0;
    let mut latest: Option<&Event> = None;
    for (event, intent) in denied {
        let age = context
            .past
            .next_number()
            .saturating_sub(event.step.last)
            .saturating_sub(1);
        let fresh = DECAY.powi(i32::try_from(age).unwrap_or(i32::MAX));
        if fresh < FORGOTTEN || confirmed(context, &event.step) {
            continue;
        }
        let likeness = match intent.likeness(&present) {
            Some(Likeness::Target) => 1.0,
            Some(Likeness::Wording) => 0.7,
            None => continue,
        };
        weight += fresh * likeness * f64::from(event.step.times.min(4));
        latest = latest.or(Some(event));
    }
    let Some(event) = latest else { return };
    let rule = if weight >= INSISTS {
        RuleId::InsistsOnDenied
    } else {
        RuleId::ResemblesDenied
    };
    let place = format!("step {}", event.step.last);
    found.extend(finding(rule, context, FindingSite::of_any(None, "the step", &place)));
}

/// Returns `true` if a denial speaks against what was wanted.
pub(in crate::session) fn counts(step: &Earlier) -> bool {
    let against_the_wish = |reason: &ReasonCode| match reason {
        ReasonCode::Jailbreak
        | ReasonCode::GoalHijack
        | ReasonCode::HarmfulRequest
        | ReasonCode::HarmfulContent
        | ReasonCode::PolicyViolation
        | ReasonCode::OutOfScope
        | ReasonCode::DataExfiltration
        | ReasonCode::DestructiveAction
        | ReasonCode::MaliciousCode
        | ReasonCode::PrivilegeEscalation
        | ReasonCode::ToolNotAllowed
        | ReasonCode::UntrustedDestination
        | ReasonCode::PromptInjection
        | ReasonCode::MemoryPoisoning
        | ReasonCode::ToolPoisoning
        | ReasonCode::Organisation(_) => true,
        ReasonCode::SecretExposure
        | ReasonCode::PersonalData
        | ReasonCode::InvalidArguments
        | ReasonCode::Obfuscation
        | ReasonCode::MalformedPayload
        | ReasonCode::Oversized
        | ReasonCode::ModificationRefused
        | ReasonCode::JudgeUnavailable
        | ReasonCode::ApprovalRequired => false,
    };
    step.outcome == Outcome::Denied && step.reasons.iter().any(against_the_wish)
}

/// Returns `true` if the user answered the denied step itself.
fn confirmed(context: &RuleContext<'_>, denied: &Earlier) -> bool {
    let mut requests = context.past.authority().requests().iter();
    requests.any(|request| {
        request
            .answers
            .is_some_and(|step| step == denied.number || step == denied.last)
    })
}
