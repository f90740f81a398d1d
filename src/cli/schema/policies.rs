//! The rules that the readers of a policy hold its values to. A test compares each name and bound with what they say.

use serde_json::{Value, json};

use crate::config::Constraint::{self, Between, Keys, Needs, OneOf, Schema, Share, Words};
use crate::model::{
    Authorization, Confidence, Decision, Enforcement, Kind, Method, Origin, Posture, ReasonCode, Risk, Severity,
    ToolClass, Treatment, names,
};
use crate::policy::{LongTexts, PROFILE_NAMES, SessionIncomplete, Suspected, Undeclared};

/// Returns the rules about each key, by its path.
pub(super) fn constraints() -> Vec<(String, Constraint)> {
    let all = findings()
        .into_iter()
        .chain(own_rules())
        .chain(tables())
        .chain(judging())
        .chain(layers());
    all.map(|(path, said)| (path.to_owned(), said)).collect()
}

fn severities() -> Constraint {
    Constraint::one_of(Severity::ALL)
}

fn confidences() -> Constraint {
    Constraint::one_of(Confidence::ALL)
}

fn origins() -> Constraint {
    Constraint::one_of(Origin::ALL)
}

/// Returns the schema of a reason code, a published one or one of the organisation's own.
fn reason() -> Value {
    let published: Vec<String> = ReasonCode::all().map(|code| code.as_str().to_owned()).collect();
    json!({"type": "string", "anyOf": [{"enum": published}, {"pattern": "^org\\."}]})
}

/// Returns the rules about treatments of findings, and about steps that need no judge.
fn findings() -> Vec<(&'static str, Constraint)> {
    let kinds = || Constraint::one_of(Kind::ALL);
    let methods = || Constraint::one_of(Method::ALL);
    vec![
        ("extends", OneOf([PROFILE_NAMES, &["nothing"]].concat())),
        ("examples", Needs(&["step", "decision", "why"])),
        ("examples.decision", Constraint::one_of(Decision::ALL)),
        (
            "examples.reason_codes",
            Schema(json!({"type": "array", "items": reason()})),
        ),
        ("treatments", Needs(&["treatment"])),
        (
            "treatments.reasons",
            Schema(json!({"type": "array", "items": reason()})),
        ),
        ("treatments.origins", origins()),
        ("treatments.kinds", kinds()),
        ("treatments.methods", methods()),
        ("treatments.min_severity", severities()),
        ("treatments.min_confidence", confidences()),
        ("treatments.treatment", Constraint::one_of(Treatment::ALL)),
        ("harmless", Needs(&["name"])),
        ("harmless.kinds", kinds()),
        ("harmless.methods", methods()),
        ("modes", Needs(&["mode"])),
        ("modes.mode", Constraint::one_of(Enforcement::ALL)),
        ("modes.methods", methods()),
    ]
}

fn own_rules() -> Vec<(&'static str, Constraint)> {
    vec![
        ("rules", Needs(&["id", "title", "reason", "words", "pattern"])),
        (
            "rules.id",
            Schema(json!({"type": "string", "pattern": "^[a-z0-9_]{1,64}$"})),
        ),
        ("rules.reason", Schema(reason())),
        ("rules.severity", severities()),
        ("rules.confidence", confidences()),
        (
            "rules.treatment",
            OneOf(vec!["ignore", "evidence", "mask", "suspect", "deny"]),
        ),
        ("rules.origins", origins()),
    ]
}

/// Tables whose keys are names.
fn tables() -> Vec<(&'static str, Constraint)> {
    let and = |mut names: Vec<&'static str>, other| {
        names.push(other);
        names
    };
    let rest = json!({"anyOf": [{"type": "string"}, {"type": "object"}]});
    let own_code = json!({"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": rest}]});
    vec![
        ("tools.undeclared", Constraint::one_of(Undeclared::ALL)),
        ("tools.classes", Keys(and(names(ToolClass::ALL), "none"))),
        ("posture.*", Constraint::one_of(Posture::ALL)),
        ("posture", Keys(and(names(Method::ALL), "default"))),
        ("mask.style", OneOf(vec!["stars", "placeholder", "last_four", "hash"])),
        (
            "reason_codes",
            // TOML reads a name with dots as tables in tables.
            Schema(json!({
                "type": "object", "patternProperties": {"^org(\\.|$)": own_code}, "additionalProperties": false,
            })),
        ),
    ]
}

/// Returns the rules about layers: a layer is a policy without layers, and with those whom it is for.
fn layers() -> Vec<(&'static str, Constraint)> {
    let policy = || Schema(json!({"$ref": "#"}));
    vec![
        ("teams.*", policy()),
        ("agents.*", policy()),
        ("teams", Words("What differs for a team, by its name.")),
        (
            "agents",
            Words("What differs for an agent, by its id or a pattern of ids."),
        ),
        (
            "callers",
            Words("In a layer: patterns of the callers for whom it holds."),
        ),
        ("team", Words("In the layer of an agent: the team to which it belongs.")),
    ]
}

fn judging() -> Vec<(&'static str, Constraint)> {
    let decisions = || Constraint::one_of(Decision::ALL);
    vec![
        ("everyday.allow_below", Between(0, 1)),
        ("local_judge.deny_at", Share),
        ("local_judge.thresholds.*.allow_below", Between(0, 1)),
        ("local_judge.thresholds.*.deny_above", Between(0, 1)),
        (
            "local_judge.thresholds",
            Keys([names(Kind::ALL), vec!["default"]].concat()),
        ),
        ("judge.min_confidence", Between(0, 1)),
        ("judge.min_confidence_acting", Between(0, 1)),
        ("judge.suspected", Constraint::one_of(Suspected::ALL)),
        ("judge.session_incomplete", Constraint::one_of(SessionIncomplete::ALL)),
        ("judge.long_texts", Constraint::one_of(LongTexts::ALL)),
        ("judge.table.*.*", decisions()),
        ("judge.table.*", Keys(names(Authorization::ALL))),
        ("judge.table", Keys(names(Risk::ALL))),
        ("judge.first.min_confidence", Between(0, 1)),
        ("judge.first.escalate_risk", Constraint::one_of(Risk::ALL)),
        ("judge.first.escalate", decisions()),
    ]
}
