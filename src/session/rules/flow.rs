//! The flow of data: destinations that untrusted content named, private data that leaves.

use super::hijack::{Follows, is_said, of_hit};
use super::rule_context::RuleContext;
use super::{FindingSite, RuleId, finding};
use crate::model::{Finding, Kind, Origin, ToolClass};
use crate::session::lexicon::{names_one_of, words};
use crate::session::taint::{Provenance, TaintHit, TaintKind, UserRelation, ValueKind};

/// The result of the search for private data that leaves for a place that another text named.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Exfiltrates {
    Yes,
    No,
}

pub(super) fn screen(context: &RuleContext<'_>, follows: Follows, found: &mut Vec<Finding>) -> Exfiltrates {
    if !context.step.kind.calls() {
        return Exfiltrates::No;
    }
    let leaving = leaving(context);
    if let Some(hit) = after_order(context) {
        found.extend(of_hit(RuleId::PrivateAfterOrder, context, hit));
    }
    if let Some(leaving) = leaving {
        found.extend(of_hit(leaving.0, context, leaving.1));
    } else {
        found.extend(after_private(context));
    }
    if leaving.is_some_and(|(rule, _)| rule == RuleId::Exfiltration) {
        return Exfiltrates::Yes;
    }
    if follows == Follows::No {
        found.extend(destination(context));
    }
    Exfiltrates::No
}

/// Finds a destination that the user did not bring up.
fn destination(context: &RuleContext<'_>) -> Option<Finding> {
    let acts =
        context.sends_out() || context.has_any(&[ToolClass::Pays, ToolClass::ChangesPermissions, ToolClass::Executes]);
    if !acts {
        return None;
    }
    let strange = |hit: &&TaintHit| !is_ordinary(context, hit);
    let hit = match context.has(ToolClass::Executes) {
        // Earlier output of a shell or a tool of the same kind is the agent's own workplace.
        true => context.hits.iter().filter(|hit| reaches_out(hit)).find(strange)?,
        false => context.strange_destinations().find(strange)?,
    };
    let rule = if context.has(ToolClass::Pays) {
        RuleId::TaintedPayee
    } else if context.has(ToolClass::Executes) {
        RuleId::TaintedCommand
    } else if context.has(ToolClass::SendsOut) || context.step.kind == Kind::A2aRequest {
        RuleId::TaintedDestination
    } else {
        RuleId::TaintedGrant
    };
    of_hit(rule, context, hit)
}

/// Returns `true` if a command reaches for another machine that a text from outside named.
fn reaches_out(hit: &TaintHit) -> bool {
    let elsewhere = matches!(
        hit.kind,
        TaintKind::Value(ValueKind::Url | ValueKind::Host | ValueKind::Email)
    );
    elsewhere && hit.relation == UserRelation::Stranger && !hit.first.classes.has(ToolClass::Executes)
}

/// Returns `true` for a reply to the author of a text, and for an id from a look-up that goes into the next one.
fn is_ordinary(context: &RuleContext<'_>, hit: &TaintHit) -> bool {
    let is_id = matches!(hit.kind, TaintKind::Value(ValueKind::Digits)) && !context.has(ToolClass::Pays);
    (hit.author && !hit.instructed) || is_id
}

/// Returns private data in what is handed out, with the rule that reports it.
fn leaving<'a>(context: &'a RuleContext<'_>) -> Option<(RuleId, &'a TaintHit)> {
    if !context.sends_out() {
        return None;
    }
    let destination = context.strange_destinations().find(|hit| !is_ordinary(context, hit));
    let private = context.hits.iter().find(|hit| {
        let telling = match hit.kind {
            TaintKind::Value(kind) => !matches!(
                kind,
                ValueKind::Name | ValueKind::Host | ValueKind::File | ValueKind::Url | ValueKind::Number
            ),
            TaintKind::Passage => true,
        };
        let own =
            destination.is_some_and(|destination| destination.pointer == hit.pointer && destination.span == hit.span);
        let carried = is_said(context, hit)
            || matches!(
                hit.kind,
                TaintKind::Value(ValueKind::Id | ValueKind::Digits | ValueKind::Account)
            );
        telling
            && !own
            && carried
            && hit.relation == UserRelation::Stranger
            && hit.first.classes.has(ToolClass::ReadsSensitive)
    })?;
    let unasked = !context.user_asked_to_send();
    // A memory, a list of contacts: where people keep addresses. An order there is another matter.
    let elsewhere = destination.is_some_and(|destination| {
        let kept = destination.first.origin == Origin::Memory && !destination.instructed;
        destination.first.number != private.first.number && !kept
    });
    Some(if unasked && elsewhere {
        (RuleId::Exfiltration, private)
    } else {
        (RuleId::PrivateSentOut, private)
    })
}

/// Finds something that was read elsewhere and leaves after a text told software what to do: in a message, a search, a form, an address, or any tool
/// that carries words to others.
fn after_order<'a>(context: &'a RuleContext<'_>) -> Option<&'a TaintHit> {
    // A server reads the arguments that it is called with.
    let server = context.step.kind == Kind::McpRequest;
    let carries = context.sends_out() || carries_words(context.tool()) || server;
    let stands = |place: &Provenance| place.origin == Origin::ToolDescription && server;
    let orders = || {
        let instructions = context.facts().instructions();
        instructions.filter(|instruction| instruction.addressed || stands(&instruction.place))
    };
    let latest = orders().map(|order| order.place.number).max().filter(|_| carries)?;
    // A user that has spoken since decides anew; but how a server describes itself stands for as long as it is used.
    if context.facts().heard() > latest && !orders().any(|order| stands(&order.place)) {
        return None;
    }
    let private = |hit: &&TaintHit| {
        let telling = match hit.kind {
            TaintKind::Value(kind) => !matches!(
                kind,
                ValueKind::Name
                    | ValueKind::Host
                    | ValueKind::File
                    | ValueKind::Url
                    | ValueKind::Path
                    | ValueKind::Handle
            ),
            TaintKind::Passage => true,
        };
        let of_the_order = orders().any(|order| order.place.number == hit.first.number);
        telling && !of_the_order && hit.relation == UserRelation::Stranger
    };
    let mut found = context.hits.iter().filter(private);
    let first = found.next()?;
    // One number may be anything; a passage, or two values, were read.
    let certain = first.kind == TaintKind::Passage || found.next().is_some();
    certain.then_some(first)
}

/// Returns `true` if a tool that only reads hands its input to another party: a search, a page that is fetched, a form.
pub(super) fn carries_words(tool: &str) -> bool {
    let lists = words();
    names_one_of(tool, &lists.carrying)
        || (names_one_of(tool, &lists.open_places) && names_one_of(tool, &lists.searching))
}

/// Finds untrusted reading, then private reading, then sending out.
fn after_private(context: &RuleContext<'_>) -> Option<Finding> {
    if !context.sends_out() || context.user_asked_to_send() {
        return None;
    }
    let (untrusted, sensitive) = (context.facts().untrusted()?, context.facts().sensitive()?);
    let (what, place) = (untrusted.describe(), sensitive.describe());
    let site = FindingSite::of_any(context.tool_content(), &what, &place);
    finding(RuleId::OutwardAfterPrivate, context, site)
}
