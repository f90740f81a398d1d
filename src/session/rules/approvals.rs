//! An approval that is used for something else: the user said “yes” to one thing, and another is done.

use super::hijack::of_hit;
use super::rule_context::{Role, RuleContext};
use super::{FindingSite, RuleId, finding};
use crate::model::{Confidence, Content, ContentId, Finding, Outcome, Pointer, ToolClass};
use crate::session::lexicon::{names_one_of, words};
use crate::session::orders::{self, Strength};
use crate::session::taint::{self, TaintKind, UserRelation, ValueKind};

pub(super) fn screen(context: &RuleContext<'_>, found: &mut Vec<Finding>) {
    if !context.step.kind.calls() {
        return;
    }
    found.extend(claimed(context));
    let grave = [
        ToolClass::Pays,
        ToolClass::Destroys,
        ToolClass::ChangesPermissions,
        ToolClass::SendsOut,
    ];
    if !context.has_any(&grave) && !orders_goods(context) {
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
    let strange = strange_target(context, &approved)
        .map(|(content, what)| (Some(content.id), content.pointer.clone(), content.text.len(), what))
        .or_else(|| other_amount(context, &approved))
        .or_else(|| wider_path(context, &approved));
    let Some((content, pointer, length, what)) = strange else {
        return;
    };
    let verb = match event.step.outcome {
        Outcome::Denied => "denied",
        Outcome::Done | Outcome::Allowed | Outcome::Modified => "proposed",
    };
    let place = format!("r{} answers what was {verb} in step {answered}", request.number);
    let site = FindingSite {
        content,
        pointer,
        span: 0..length,
        what: &what,
        place: &place,
    };
    found.extend(finding(RuleId::ApprovedOtherwise, context, site));
}

/// Returns `true` if a text of this step claims consent, or wants something done quietly.
pub(super) fn claims_consent(context: &RuleContext<'_>, step: u32) -> bool {
    let mut sources = context.facts().sources().filter(|kept| kept.place.number == step);
    let claims = |text: &str| {
        let hides = |passage: &orders::Passage| matches!(passage.strength(), Some(Strength::Quiet | Strength::Secret));
        orders::passages(text).iter().any(hides)
    };
    sources.any(|kept| kept.text.parts.iter().any(|(_, text)| claims(text)))
}

/// Returns `true` if the tool sets up something that continues by itself: a rule of forwarding, a hook, an account that is paid into.
fn stands(context: &RuleContext<'_>) -> bool {
    !context.classified.reads && names_one_of(context.tool(), &words().standing)
}

/// Returns `true` if the tool orders, books or buys something.
fn orders_goods(context: &RuleContext<'_>) -> bool {
    !context.classified.reads && names_one_of(context.tool(), &words().ordering)
}

/// Finds a payment, a grant, a deletion whose object first stood in a text that claims consent for it, or wants it done quietly. A bare “yes” that
/// came since the text was read is the user's own consent.
fn claimed(context: &RuleContext<'_>) -> Option<Finding> {
    let grave = [ToolClass::Pays, ToolClass::Destroys, ToolClass::ChangesPermissions];
    let stays = stands(context);
    if !context.has_any(&grave) && !stays {
        return None;
    }
    let hit = context.hits.iter().find(|hit| {
        let object = match hit.kind {
            TaintKind::Value(ValueKind::Digits) => context.has(ToolClass::Pays) || stays,
            TaintKind::Value(ValueKind::Path | ValueKind::Id) => context.has(ToolClass::Destroys),
            TaintKind::Value(kind) => kind.is_destination(),
            TaintKind::Passage => false,
        };
        object && hit.relation == UserRelation::Stranger && context.role(&hit.pointer, hit.content) == Role::Other
    })?;
    let requests = context.past.authority().requests();
    let since = requests
        .last()
        .is_some_and(|last| last.step > hit.first.number && last.answers.is_some());
    if since || !claims_consent(context, hit.first.number) {
        return None;
    }
    let mut finding = of_hit(RuleId::ConsentClaimed, context, hit)?;
    if context.facts().delegates() {
        finding.confidence = Confidence::Medium;
    }
    Some(finding)
}

/// Returns the target of the call if the approved step was aimed at another one and the user never spoke of it.
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

/// Returns `true` if a path leads to a file that was named without its folder.
fn names_file(approved: &str, path: &str) -> bool {
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    !path.contains(':') && (3..path.len()).contains(&file.len()) && approved.contains(file)
}

/// A difference from what was approved: the text, its place, its length, and its name in an explanation.
type Other = (Option<ContentId>, Pointer, usize, String);

/// Finds an amount that stands neither in what was approved nor in anything that the user said, if what was approved names one.
fn other_amount(context: &RuleContext<'_>, approved: &str) -> Option<Other> {
    let known = amounts(approved);
    if !context.acts() || known.is_empty() {
        return None;
    }
    let said: Vec<u64> = context
        .past
        .authority()
        .requests()
        .iter()
        .flat_map(|request| amounts(&request.text.head))
        .collect();
    let call = context.step.tool_call.as_ref()?;
    let pays = context.has(ToolClass::Pays);
    let names = || words().quantities.iter().chain(words().amounts.iter().filter(|_| pays));
    let is_amount = |name: &str| names().any(|known| name.to_lowercase().contains(known.as_str()));
    let argument = call.arguments.iter().find(|argument| {
        let paid = amounts(&argument.json);
        is_amount(&argument.name)
            && !paid.is_empty()
            && paid.iter().all(|paid| !known.contains(paid) && !said.contains(paid))
    })?;
    let content = context
        .step
        .contents
        .iter()
        .find(|content| content.pointer == argument.pointer);
    Some((
        content.map(|content| content.id),
        argument.pointer.clone(),
        content.map_or(0, |content| content.text.len()),
        format!("`{}`", taint::short(&argument.name)),
    ))
}

/// Reads amounts in hundredths, both ways: `1.240,00` and `1,240.00`.
fn amounts(text: &str) -> Vec<u64> {
    const MAX: usize = 64;
    let mut found = Vec::new();
    let text = text.replace([' ', '\u{a0}', '\u{202f}', '\''], "");
    for piece in text
        .split(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))
        .take(4_096)
    {
        let piece = piece.trim_matches(['.', ',']);
        let digits = piece.chars().filter(char::is_ascii_digit).count();
        if found.len() >= MAX || !(1..=12).contains(&digits) {
            continue;
        }
        let (whole, cents) = match piece.rsplit_once(['.', ',']) {
            Some((whole, cents)) if (1..=2).contains(&cents.len()) => (whole, format!("{cents:0<2}")),
            _ => (piece, "00".to_owned()),
        };
        let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
        found.extend(
            format!("{whole}{cents}")
                .parse::<u64>()
                .ok()
                .filter(|amount| *amount > 0),
        );
    }
    found
}

/// Finds a folder, if one thing in it was approved.
fn wider_path(context: &RuleContext<'_>, approved: &str) -> Option<Other> {
    let paths: Vec<&str> = approved
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | ',' | ';'))
        .map(|word| word.trim_end_matches(['.', '?', '!', ':']))
        .filter(|word| word.len() > 3 && word.contains('/'))
        .take(64)
        .collect();
    let content = context.arguments().find(|content| {
        let wider = content.text.trim().trim_end_matches(['/', '*']);
        let is_path = wider.len() > 1 && wider.contains('/') && !wider.contains(char::is_whitespace);
        let holds = |path: &&str| {
            path.trim_end_matches('/')
                .strip_prefix(wider)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let named = paths.iter().any(|path| path.trim_end_matches(['/', '*']) == wider);
        is_path && !named && paths.iter().any(holds) && !context.facts().taint().user_said_all(wider)
    })?;
    let label = content.label.as_deref().map(taint::short).unwrap_or_default();
    Some((
        Some(content.id),
        content.pointer.clone(),
        content.text.len(),
        format!("`{label}`"),
    ))
}
