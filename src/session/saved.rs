//! The serialised form of what a session remembers of the model's own types: names and texts as in files (`policy`), the rest field by field.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{
    ClassSet, Confidence, Earlier, EarlierText, Excerpt, Kind, Method, Noted, Origin, Outcome, Pointer, ReasonCode,
    Request, Severity, ToolClass, one_of,
};
use crate::policy::as_text;

as_text! {
    Pointer: |pointer| pointer.as_str(), |text| Ok::<_, String>(Pointer::new(text));
    ClassSet: |classes| classes.iter().map(ToolClass::as_str).collect::<Vec<_>>().join(" "),
        |names| names.split_whitespace().map(|name| one_of(name, ToolClass::ALL)).collect::<Result<_, _>>();
}

/// Serialises types as others say that have the same fields.
macro_rules! by_field {
    ($($type:ty: $saved:ty;)+) => {
        $(impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$saved>::serialize(self, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$saved>::deserialize(deserializer)
            }
        })+
    };
}

by_field! {
    Excerpt: SavedExcerpt;
    Request: SavedRequest;
    EarlierText: SavedText;
    Noted: SavedNoted;
    Earlier: SavedStep;
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Excerpt")]
struct SavedExcerpt {
    head: String,
    cut: usize,
    tail: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Request")]
struct SavedRequest {
    number: u32,
    step: u32,
    text: Excerpt,
    answers: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "EarlierText")]
struct SavedText {
    origin: Origin,
    pointer: Pointer,
    label: Option<String>,
    text: Excerpt,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Noted")]
struct SavedNoted {
    rule: String,
    reason: ReasonCode,
    severity: Severity,
    confidence: Confidence,
    pointer: Pointer,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Earlier")]
struct SavedStep {
    number: u32,
    last: u32,
    times: u32,
    method: Method,
    kind: Kind,
    tool: Option<String>,
    outcome: Outcome,
    reasons: Vec<ReasonCode>,
    said: Vec<EarlierText>,
    unsaid: usize,
    noted: Vec<Noted>,
}
