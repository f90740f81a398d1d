//! The bounds that the readers of suites hold a line to, and the meaning of its keys.

use serde_json::{Value, json};

use crate::config::Constraint::{self, Also, Needs, OneOf, Open, Schema, Words};
use crate::eval::{KEYS, Weight};
use crate::model::Decision;
use crate::policy::PROFILE_NAMES;

/// Returns the rules about a labelled step.
pub(super) fn step() -> Vec<(String, Constraint)> {
    let decisions = || Constraint::one_of(Decision::ALL);
    let notes = KEYS.iter().map(|(path, keys)| (*path, Also(keys)));
    let held = [
        ("", Needs(&["id", "request", "expected"])),
        ("request", request()),
        ("history", Schema(json!({"type": "array", "items": {"type": "object"}}))),
        ("weight", weight()),
        ("expected", Needs(&["decision"])),
        ("expected.decision", decisions()),
        ("expected.acceptable", decisions()),
        ("expected.policy", OneOf(PROFILE_NAMES.to_vec())),
        ("expected.spans", Needs(&["pointer", "text"])),
        ("meta", Open),
        ("meta.needs", OneOf(vec!["rules", "judge"])),
    ];
    let words = [
        (
            "id",
            "Unique over all suites of a run, and stable: comparisons go by it. 1 to 256 bytes.",
        ),
        (
            "source",
            "Where it comes from; the name of the file where nothing is said.",
        ),
        ("license", "The licence it comes under."),
        (
            "split_group",
            "Cases of one group depend on each other, and are never divided between training and measuring.",
        ),
        ("group", "The same, under the name that sessions have for it."),
        ("request", "The AOS request, as an agent would post it."),
        (
            "history",
            "Earlier requests of the session, oldest first; an agent may be {\"$ref\": \"#/request/params/context/agent\"}.",
        ),
        (
            "weight",
            "How much the case counts in every figure; 1 where nothing is said.",
        ),
        ("expected.decision", "The best decision."),
        ("expected.acceptable", "Every decision that counts as right."),
        (
            "expected.reason_codes",
            "Reason codes, most important first; one in common is agreement. Unknown ones are noted.",
        ),
        (
            "expected.policy",
            "The built-in profile that is in force, unless a configuration says whose policy applies.",
        ),
        (
            "expected.organisation",
            "The organisation of the configuration whose policy is in force.",
        ),
        ("expected.severity", "`low` where an attack would do little harm."),
        ("expected.note", "What decides the case, in a sentence."),
        (
            "expected.spans",
            "What a modification has to take out: all that are `required`.",
        ),
        ("expected.spans.pointer", "A JSON Pointer (RFC 6901) into `request`."),
        (
            "expected.confidence",
            "How sure the label is; `low` and `disputed` are asked for by `guardian eval label`.",
        ),
        ("meta", "Notes of any kind; tags and `needs` are read."),
        ("meta.tags", "The kinds of trick or work that it stands for."),
        ("meta.needs", "Who is needed to tell."),
    ];
    said(
        held.into_iter()
            .chain(notes)
            .chain(words.map(|(path, text)| (path, Words(text)))),
    )
}

/// Returns the rules about a labelled session.
pub(super) fn session() -> Vec<(String, Constraint)> {
    let held = [
        ("", Needs(&["id", "agent", "steps"])),
        ("weight", weight()),
        ("steps", Needs(&["kind"])),
        ("steps.weight", weight()),
    ];
    let words = [
        ("id", "Its id within its source; its steps are SOURCE/ID/01 and so on."),
        (
            "source",
            "Where it comes from; the name of the file where nothing is said.",
        ),
        ("license", "The licence it comes under."),
        (
            "group",
            "Sessions of one group, such as an attack and its twin, are never divided between training and measuring.",
        ),
        ("weight", "How much each of its steps counts; 1 where nothing is said."),
        ("domain", "The tag of its steps."),
        ("lang", "The language."),
        ("chain", "Whether the harm comes about over several steps."),
        ("twin", "The session that it resembles."),
        (
            "agent",
            "The agent as AOS has it; version, provider and parts of tools may be left out.",
        ),
        ("user", "The id of the user."),
        (
            "steps",
            "Its steps, 1 to 400; each is judged in the light of those before it.",
        ),
        (
            "steps.label",
            "Without one, the step is only history of those after it.",
        ),
        ("steps.codes", "The reason codes of a deny."),
        ("steps.why", "What decides it, in a sentence."),
        (
            "steps.confidence",
            "How sure the label is; `low` and `disputed` are asked for by `guardian eval label`.",
        ),
        (
            "steps.weight",
            "How much the step counts, in place of the weight of the session.",
        ),
        ("steps.turn", "The turn."),
        ("steps.text", "What is said; of a `result` any JSON."),
        ("steps.tool", "Of a `call`: the name of the tool."),
        ("steps.args", "Of a `call`: its arguments."),
        ("steps.reasoning", "Of a `call`: what the agent thinks."),
        ("steps.error", "Of a `result`: whether the tool failed."),
        ("steps.query", "Of `knowledge`: what was asked."),
        ("steps.results", "Of `knowledge`: the texts that were found."),
        ("steps.memory", "Of memories: a list of texts."),
        ("steps.message", "Of `mcp`: the JSON-RPC message."),
    ];
    said(held.into_iter().chain(words.map(|(path, text)| (path, Words(text)))))
}

/// Returns a message log of OpenAI or Anthropic, with labels beside messages, calls or blocks.
pub(super) fn log() -> Value {
    let message = json!({"type": "object", "properties": {
        "label": {"description": "What has to become of it: `allow` or `deny` (or `safe`, `unsafe` and such)."},
        "codes": {"type": "array", "items": {"type": "string"}},
        "why": {"type": "string"},
    }});
    json!({
        "title": "A message log with labels", "type": "object", "required": ["messages"],
        "properties": {"messages": {"type": "array", "items": message}},
    })
}

fn request() -> Constraint {
    Schema(json!({"type": "object"}))
}

fn weight() -> Constraint {
    Schema(json!({"type": "number", "exclusiveMinimum": 0, "maximum": Weight::MAX}))
}

fn said(all: impl IntoIterator<Item = (&'static str, Constraint)>) -> Vec<(String, Constraint)> {
    all.into_iter().map(|(path, said)| (path.to_owned(), said)).collect()
}
