//! An approval that is used for something else: the user said “yes” to one thing, and another is done.

use super::scene::{Role, Scene};
use super::{Sighting, finding};
use crate::model::{Content, Finding, Kind, Outcome, ToolClass};
use crate::session::taint::{self, ValueKind};

pub(super) fn screen(scene: &Scene<'_>, found: &mut Vec<Finding>) {
    match scene.step.kind {
        Kind::ToolCall | Kind::McpRequest | Kind::A2aRequest => {}
        _ => return,
    }
    let grave = [
        ToolClass::Pays,
        ToolClass::Destroys,
        ToolClass::ChangesPermissions,
        ToolClass::SendsOut,
    ];
    if !grave.into_iter().any(|class| scene.has(class)) {
        return;
    }
    let latest = scene.past.authority().requests().last();
    let Some((request, answered)) = latest.and_then(|request| Some((request, request.answers?))) else {
        return;
    };
    let Some(event) = scene.past.event(answered) else {
        return;
    };
    let approved: String = event
        .step
        .said
        .iter()
        .flat_map(|said| [said.text.head.as_str(), "\n", said.text.tail.as_str(), "\n"])
        .collect();
    let Some((content, what)) = strange_target(scene, &approved) else {
        return;
    };
    let verb = match event.step.outcome {
        Outcome::Denied => "denied",
        Outcome::Done | Outcome::Allowed | Outcome::Modified => "proposed",
    };
    let place = format!("r{} answers what was {verb} in step {answered}", request.number);
    let sighting = Sighting {
        content: Some(content.id),
        pointer: content.pointer.clone(),
        span: 0..content.text.len(),
        what: &what,
        place: &place,
    };
    found.extend(finding("approved_otherwise", scene, sighting));
}

/// Who or what the call is aimed at, where the approved step was aimed at somebody else, and the user never spoke of it.
fn strange_target<'a>(scene: &'a Scene<'_>, approved: &str) -> Option<(&'a Content, String)> {
    let known: Vec<(ValueKind, u64)> = taint::values_of(approved);
    let aimed = |kind: ValueKind| kind.is_destination() || kind == ValueKind::Path;
    let has_target = known.iter().any(|(kind, _)| aimed(*kind));
    let users = scene.trail().taint();
    scene.arguments().find_map(|content| {
        if scene.role(&content.pointer, Some(content.id)) == Role::Body {
            return None;
        }
        let label = content.label.as_deref().map(taint::short).unwrap_or_default();
        let values = taint::values_of(&content.text);
        let mut targets = values.iter().filter(|(kind, _)| aimed(*kind)).peekable();
        if targets.peek().is_some() {
            let strange = has_target && targets.all(|value| !known.contains(value) && !users.is_users(value.1));
            return strange.then(|| (content, format!("`{label}`")));
        }
        let names_receiver = is_receiver(&label) && !content.text.trim().is_empty() && content.text.len() <= 80;
        let said = |word: &str| taint::plain(approved).contains(&format!(" {word} ")) || users.user_said(word);
        let words = taint::plain(&content.text);
        let strange = names_receiver && words.split_whitespace().all(|word| !said(word)) && words.trim().len() >= 2;
        strange.then(|| (content, format!("`{label}`")))
    })
}

fn is_receiver(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    [
        "to",
        "recipient",
        "receiver",
        "payee",
        "beneficiary",
        "account",
        "email",
        "user",
        "target",
    ]
    .contains(&label.as_str())
}
