//! An approval that is used for something else: the user said “yes” to one thing, and another is done.

use super::hijack::of_echo;
use super::rule_context::{Role, RuleContext};
use super::{FindingSite, RuleId, finding};
use crate::model::{Confidence, Content, Finding, Kind, Outcome, ToolClass};
use crate::session::lexicon::{names_one_of, words};
use crate::session::orders::{self, Strength};
use crate::session::taint::{self, EchoKind, Standing, ValueKind};

pub(super) fn screen(context: &RuleContext<'_>, found: &mut Vec<Finding>) {
    match context.step.kind {
        Kind::ToolCall | Kind::McpRequest | Kind::A2aRequest => {}
        _ => return,
    }
    found.extend(claimed(context));
    let grave = [
        ToolClass::Pays,
        ToolClass::Destroys,
        ToolClass::ChangesPermissions,
        ToolClass::SendsOut,
    ];
    if !grave.into_iter().any(|class| context.has(class)) {
        return;
    }
    let latest = context.past.authority().requests().last();
    let Some((request, answered)) = latest.and_then(|request| Some((request, request.answers?))) else {
        return;
    };
    let Some(event) = context.past.event(answered) else {
        return;
    };
    let approved: String = event
        .step
        .said
        .iter()
        .flat_map(|said| [said.text.head.as_str(), "\n", said.text.tail.as_str(), "\n"])
        .collect();
    let Some((content, what)) = strange_target(context, &approved) else {
        return;
    };
    let verb = match event.step.outcome {
        Outcome::Denied => "denied",
        Outcome::Done | Outcome::Allowed | Outcome::Modified => "proposed",
    };
    let place = format!("r{} answers what was {verb} in step {answered}", request.number);
    let site = FindingSite::of(content, &what, &place);
    found.extend(finding(RuleId::ApprovedOtherwise, context, site));
}

/// Whether a text of this step claims consent, or wants something done quietly.
fn claims_consent(context: &RuleContext<'_>, step: u32) -> bool {
    let mut sources = context.facts().sources().filter(|kept| kept.place.number == step);
    let claims = |text: &str| {
        let hides = |passage: &orders::Passage| matches!(passage.strength(), Some(Strength::Quiet | Strength::Secret));
        orders::passages(text).iter().any(hides)
    };
    sources.any(|kept| kept.text.parts.iter().any(|(_, text)| claims(text)))
}

/// Whether the tool sets up what goes on by itself: a rule of forwarding, a hook, an account that is paid into.
fn stands(context: &RuleContext<'_>) -> bool {
    !context.classified.reads && names_one_of(context.tool(), &words().standing)
}

/// A payment, a grant, a deletion whose object first stood in a text that claims consent for it, or wants it done quietly. A
/// bare “yes” that came since the text was read is the user's own consent.
fn claimed(context: &RuleContext<'_>) -> Option<Finding> {
    let grave = [ToolClass::Pays, ToolClass::Destroys, ToolClass::ChangesPermissions];
    let stays = stands(context);
    if !grave.into_iter().any(|class| context.has(class)) && !stays {
        return None;
    }
    let echo = context.echoes.iter().find(|echo| {
        let object = match echo.kind {
            EchoKind::Value(ValueKind::Digits) => context.has(ToolClass::Pays) || stays,
            EchoKind::Value(ValueKind::Path | ValueKind::Id) => context.has(ToolClass::Destroys),
            EchoKind::Value(kind) => kind.is_destination(),
            EchoKind::Passage => false,
        };
        object && echo.standing == Standing::Stranger && context.role(&echo.pointer, echo.content) == Role::Other
    })?;
    let requests = context.past.authority().requests();
    let since = requests
        .last()
        .is_some_and(|last| last.step > echo.first.number && last.answers.is_some());
    if since || !claims_consent(context, echo.first.number) {
        return None;
    }
    let mut told = of_echo(RuleId::ConsentClaimed, context, echo)?;
    if context.facts().delegates() {
        told.confidence = Confidence::Medium;
    }
    Some(told)
}

/// Who or what the call is aimed at, where the approved step was aimed at somebody else, and the user never spoke of it.
fn strange_target<'a>(context: &'a RuleContext<'_>, approved: &str) -> Option<(&'a Content, String)> {
    let known: Vec<(ValueKind, u64)> = taint::values_of(approved);
    let aimed = |kind: ValueKind| kind.is_destination() || kind == ValueKind::Path;
    let has_target = known.iter().any(|(kind, _)| aimed(*kind));
    let users = context.facts().taint();
    context.arguments().find_map(|content| {
        if context.role(&content.pointer, Some(content.id)) == Role::Body {
            return None;
        }
        let label = content.label.as_deref().map(taint::short).unwrap_or_default();
        if names_file(approved, &content.text) {
            return None;
        }
        let values = taint::values_of(&content.text);
        let mut targets = values.iter().filter(|(kind, _)| aimed(*kind)).peekable();
        if targets.peek().is_some() {
            let strange = |value: &&(ValueKind, u64)| !known.contains(value) && !users.is_users(value.1);
            // One receiver more than was approved is another matter than the same one in another spelling.
            let more = context.sends_out()
                && values
                    .iter()
                    .filter(|(kind, _)| *kind == ValueKind::Email)
                    .any(|value| strange(&value));
            let strange = has_target && (more || targets.all(|value| strange(&value)));
            return strange.then(|| (content, format!("`{label}`")));
        }
        let names_receiver = (words().receivers.contains(label.to_ascii_lowercase().as_str())
            || (context.has(ToolClass::ChangesPermissions)
                && words().rights.contains(label.to_ascii_lowercase().as_str())))
            && !content.text.trim().is_empty()
            && content.text.len() <= 80;
        let said = |word: &str| taint::plain(approved).contains(&format!(" {word} ")) || users.user_said(word);
        let words = taint::plain(&content.text);
        let strange = names_receiver && words.split_whitespace().all(|word| !said(word)) && words.trim().len() >= 2;
        strange.then(|| (content, format!("`{label}`")))
    })
}

/// Whether a path leads to a file that was named without its folder.
fn names_file(approved: &str, path: &str) -> bool {
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    !path.contains(':') && (3..path.len()).contains(&file.len()) && approved.contains(file)
}
