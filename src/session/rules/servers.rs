//! Demands and offers of servers of the Model Context Protocol: forms that want passwords, completions that want what was said elsewhere, links to
//! files of the client's own machine, definitions that want more than a tool needs.
//!
//! A server speaks to software by nature: its definitions and sampling requests need no "dear assistant" to be orders.

use super::rule_context::RuleContext;
use super::{FindingSite, RuleId, finding};
use crate::model::{Confidence, Content, FactKind, Finding, Form, Kind, Origin, Severity, Step, head};
use crate::session::lexicon::{self, Sign, Signs};
use crate::session::orders;
use crate::session::taint::{UserRelation, short};
use crate::text::views::Normalized;

/// Texts of one step that are read.
const MAX_CONTENTS: usize = 4_096;
/// Bytes of one text that are read.
const MAX_LEN: usize = 8 * 1024;
/// Findings of one step.
const MAX: usize = 4;

/// Returns the signs of a text of small letters.
fn asked(text: &str) -> Signs {
    lexicon::signs().map_or_else(Signs::default, |words| words.signs_of(text, |_, _| true))
}

pub(super) fn screen(context: &RuleContext<'_>, found: &mut Vec<Finding>) {
    let step = context.step;
    match step.kind {
        Kind::McpResponse => {}
        Kind::A2aResponse => {
            found.extend(demand(context));
            return;
        }
        Kind::McpRequest | Kind::ToolCall => {
            found.extend(private_file(context));
            found.extend(feeds(context));
            return;
        }
        _ => return,
    }
    match method(step) {
        "elicitation/create" => found.extend(form(context)),
        "sampling/createMessage" => found.extend(completion(context)),
        _ => found.extend(private_file(context)),
    }
    found.extend(definitions(context));
}

fn method(step: &Step) -> &str {
    let fact = step.facts.iter().find(|fact| fact.kind == FactKind::McpMethod);
    fact.map_or("", |fact| fact.text.as_str())
}

/// Returns the texts of a server, small.
fn texts<'a>(context: &RuleContext<'a>, origin: Origin) -> impl Iterator<Item = (&'a Content, String)> {
    let contents = context.step.contents.iter().take(MAX_CONTENTS);
    contents.filter(move |content| content.origin == origin).map(|content| {
        (
            content,
            Normalized::of(head(&content.text, MAX_LEN)).text().to_lowercase(),
        )
    })
}

fn tell(rule: RuleId, context: &RuleContext<'_>, content: &Content, what: &str) -> Option<Finding> {
    finding(rule, context, FindingSite::of(content, what, method(context.step)))
}

/// Finds a form that asks the user for a password, a code, a card: the protocol forbids it.
fn form(context: &RuleContext<'_>) -> Option<Finding> {
    let (content, _) = texts(context, Origin::ToolOutput).find(|(content, text)| {
        let pointer = content.pointer.as_str();
        let asks = pointer.contains("/requestedSchema") || pointer.ends_with("/message");
        // "Never enter a password here."
        asks && asked(&text.replace('_', " ")).has(Sign::Secrets) && !orders::signs_of(text).has(Sign::Forbids)
    })?;
    tell(RuleId::FormWantsSecret, context, content, "the form")
}

/// Finds another agent that asks for credentials, for what its caller was told, or for its files.
fn demand(context: &RuleContext<'_>) -> Option<Finding> {
    let (content, _) = texts(context, Origin::RemoteAgent).find(|(_, text)| {
        let demands = |sentence: &str| {
            let signs = orders::signs_of(sentence);
            signs.has(Sign::Act)
                && !signs.has(Sign::Forbids)
                && asked(sentence).has_any(&[Sign::Talk, Sign::Files, Sign::Keys])
        };
        text.split(['.', '!', '?', '\n', '。']).any(demands) && !orders::tells_of_attacks(text)
    })?;
    let mut finding = tell(RuleId::ServerWantsTalk, context, content, "the answer")?;
    finding.confidence = Confidence::Medium;
    Some(finding)
}

/// Finds a completion that asks the model for what was said to it or by other servers.
fn completion(context: &RuleContext<'_>) -> Option<Finding> {
    let everywhere = context
        .step
        .facts
        .iter()
        .any(|fact| fact.kind == FactKind::IncludeContext && fact.text == "allServers");
    let (content, text) = texts(context, Origin::ToolOutput).find(|(content, text)| {
        content.form != Form::Key && asked(text).has(Sign::Talk) && !orders::tells_of_attacks(text)
    })?;
    let mut finding = tell(RuleId::ServerWantsTalk, context, content, "the completion")?;
    if !(everywhere || asked(&text).has(Sign::Whole)) {
        (finding.severity, finding.confidence) = (Severity::Medium, Confidence::Medium);
    }
    Some(finding)
}

/// Finds a link to, or the reading of, a file that belongs to its owner alone.
fn private_file(context: &RuleContext<'_>) -> Option<Finding> {
    let contents = context.step.contents.iter().take(MAX_CONTENTS);
    let content = contents
        .filter(|content| matches!(content.label.as_deref(), Some("uri")) || content.pointer.as_str().ends_with("/uri"))
        .find(|content| {
            let uri = content.text.to_ascii_lowercase();
            uri.starts_with("file:") && asked(&uri).has(Sign::Files)
        })?;
    tell(RuleId::LinksPrivateFile, context, content, "the link")
}

/// Returns `true` if the argument that a description is about has an address for a default.
fn fills_itself_in(context: &RuleContext<'_>, content: &Content) -> bool {
    let pointer = content.pointer.as_str();
    let property = pointer.rsplit_once('/').map_or(pointer, |(property, _)| property);
    let mut values = context.step.contents_of(Origin::ToolDescription).take(MAX_CONTENTS);
    values.any(|value| {
        let place = value.pointer.as_str().strip_prefix(property).unwrap_or_default();
        (place.starts_with("/default") || place.starts_with("/const") || place.starts_with("/enum"))
            && (value.text.contains('@') || value.text.contains("://"))
    })
}

/// Finds an argument that is filled in as wanted by a definition that asked for more than the tool needs.
fn feeds(context: &RuleContext<'_>) -> Option<Finding> {
    let orders = context.facts().instructions();
    let orders: Vec<&str> = orders
        .filter(|order| order.place.origin == Origin::ToolDescription)
        .map(|order| order.place.pointer.as_str())
        .collect();
    let content = context.arguments().find(|content| {
        let Some(label) = content.label.as_deref() else {
            return false;
        };
        let within = format!("/properties/{label}/");
        // The honest value of the argument is filled in as well: an id, a word.
        let carries = content.text.split_whitespace().count() >= 4
            || context
                .hits
                .iter()
                .any(|hit| hit.content == Some(content.id) && hit.relation == UserRelation::Stranger);
        carries && orders.iter().any(|pointer| pointer.contains(&within))
    })?;
    tell(
        RuleId::FeedsDefinition,
        context,
        content,
        &format!("`{}`", short(content.label.as_deref().unwrap_or_default())),
    )
}

/// Finds definitions that want what was said, or a private file, or something that no one is to be told of.
fn definitions(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (content, text) in texts(context, Origin::ToolDescription) {
        if content.form == Form::Key || text.len() < 12 || found.len() >= MAX {
            continue;
        }
        let signs = orders::signs_of(&text);
        if signs.has(Sign::About) {
            continue;
        }
        let forbids = signs.has(Sign::Forbids);
        let hides = signs.has(Sign::Quiet) && signs.has(Sign::Act);
        let asked_for = asked(&text);
        let talk = asked_for.has(Sign::Talk) && !forbids;
        let file = asked_for.has(Sign::Files) || asked(&text.replace('~', "/")).has(Sign::Files);
        // Text in a list of values, or as a default, is a value and says nothing.
        let value = ["/enum/", "/default", "/const", "/examples"]
            .iter()
            .any(|place| content.pointer.as_str().contains(place));
        let sentence = text.split_whitespace().count() >= 4;
        // "Do not ask the user for it" spares the user a question.
        let asks = text.contains(" ask ") || text.contains("nachfrag") || text.contains("demander");
        let argument = content.pointer.as_str().contains("/properties/");
        // An address that fills itself in, and is not to be spoken of.
        let sends_itself = hides && fills_itself_in(context, content);
        let strong = sends_itself
            || (argument && hides && !asks)
            || (signs.has(Sign::Quiet) && (file || talk))
            || (talk && (asked_for.has(Sign::Whole) || hides))
            || (hides && file)
            || (value && sentence && signs.has(Sign::Act) && (file || signs.has(Sign::Private) || hides));
        let weak = talk || hides;
        if !(strong || weak) {
            continue;
        }
        let finding = tell(RuleId::DefinitionWantsMore, context, content, "the definition").map(|mut finding| {
            if !strong {
                (finding.severity, finding.confidence) = (Severity::Medium, Confidence::Medium);
            }
            finding
        });
        found.extend(finding);
    }
    found
}
