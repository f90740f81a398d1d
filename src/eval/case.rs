//! Labelled steps: what is asked, what happened before, and what is expected.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::wrong::{self, Wrong};
use super::{history, keys};
use crate::model::{Decision, ReasonCode, named_enum};
use crate::policy::PROFILE_NAMES;
use crate::wire;

/// A labelled step.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its id, unique within its suite.
    pub id: String,
    /// Its place, as `FILE:LINE`.
    pub place: String,
    /// The parts that were not read and do nothing: keys that are not known, reason codes of others.
    pub notes: Vec<String>,
    /// Its source: the record's `source`, else the name of its file.
    pub source: String,
    /// The licence it comes under, where the record says so.
    pub license: Option<String>,
    /// The group that must not be torn apart when cases are split; the case's own id where it has none.
    pub group: String,
    /// The kinds of trick or work that it stands for.
    pub tags: Vec<String>,
    /// Its weight.
    pub weight: Weight,
    /// The request, as an agent would send it.
    pub request: Box<RawValue>,
    /// The earlier steps of its session, oldest first, as requests; references to agents are resolved.
    pub history: Vec<Arc<str>>,
    /// The need for a judge to tell.
    pub needs: Needs,
    /// The expected verdict.
    pub expected: Expected,
}

/// The weight of a case in every figure: over 0, at most [`Weight::MAX`]; 1 where none is given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Weight(f64);

impl Weight {
    /// The largest weight.
    pub const MAX: f64 = 1e6;

    /// Makes a weight; `None` where it is not over 0, or too large.
    pub fn new(weight: f64) -> Option<Self> {
        (weight > 0.0 && weight <= Self::MAX).then_some(Self(weight))
    }

    /// Returns the number.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns `true` if it is the weight of a case that gives none.
    pub(super) fn is_one(&self) -> bool {
        self.0 == 1.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self(1.0)
    }
}

impl TryFrom<f64> for Weight {
    type Error = String;

    fn try_from(weight: f64) -> Result<Self, String> {
        Self::new(weight).ok_or_else(|| format!("expected a weight over 0, at most {}, found {weight}", Self::MAX))
    }
}

impl From<Weight> for f64 {
    fn from(weight: Weight) -> Self {
        weight.0
    }
}

named_enum! {
    /// The use of the history of a case.
    History {
        /// It is replayed before the step, in a session of the case's own.
        Replayed = "replayed",
        /// It is left out: the step is judged by itself.
        LeftOut = "left out",
    }
}

/// The need for a judge to tell what has to become of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Rules are enough, as far as the record says.
    Rules,
    /// No fixed rule can know.
    Judge,
}

/// The expected verdict.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The best decision.
    pub decision: Decision,
    /// Every decision that counts as right.
    pub acceptable: Vec<Decision>,
    /// True if little harm would be done if an attack passed.
    pub low_severity: bool,
    /// The reason for the label, in a sentence.
    pub note: String,
    /// Reason codes that fit.
    pub reason_codes: Vec<ReasonCode>,
    /// The built-in policy profile that is in force, unless a configuration says whose policy applies.
    pub policy: String,
    /// The organisation of the configuration whose policy is in force, regardless of other cases.
    pub organisation: Option<String>,
    /// The spans that a modification has to take out.
    pub spans: Vec<Span>,
}

/// A stretch of text that a modification has to take out.
#[derive(Clone, Debug, Deserialize)]
pub struct Span {
    /// The pointer to its text.
    pub pointer: String,
    /// The text.
    pub text: String,
    /// True if it must go.
    #[serde(default)]
    pub required: bool,
}

/// A labelled step as it stands in a suite.
#[derive(Deserialize)]
pub struct CaseFile {
    id: String,
    source: Option<String>,
    split_group: Option<String>,
    group: Option<String>,
    #[serde(default)]
    weight: Weight,
    license: Option<String>,
    request: Box<RawValue>,
    #[serde(default)]
    history: Vec<Box<RawValue>>,
    expected: RawExpected,
    #[serde(default)]
    meta: RawMeta,
}

#[derive(Default, Deserialize)]
struct RawMeta {
    needs: Option<String>,
    tag: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Deserialize)]
struct RawExpected {
    decision: String,
    #[serde(default)]
    acceptable: Vec<String>,
    #[serde(default)]
    reason_codes: Vec<String>,
    policy: Option<String>,
    organisation: Option<String>,
    severity: Option<String>,
    note: Option<String>,
    #[serde(default)]
    spans: Vec<Span>,
}

/// The same again, for the keys of its parts.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default)]
    expected: Option<&'a RawValue>,
    #[serde(borrow, default)]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct PartsOfExpected<'a> {
    #[serde(borrow, default)]
    spans: Vec<&'a RawValue>,
}

/// The longest id, in bytes.
const MAX_ID: usize = 256;

/// Returns the keys that are not known, over all parts of a labelled step.
fn unread(line: &str) -> Result<Vec<String>, Wrong> {
    let mut unread = keys::CASE.unknown(line).map_err(|why| Wrong::at("", why))?;
    let Ok(parts) = serde_json::from_str::<Parts<'_>>(line) else {
        return Ok(unread);
    };
    if let Some(expected) = parts.expected {
        unread.extend(
            keys::EXPECTED
                .unknown(expected.get())
                .map_err(|why| Wrong::at("/expected", why))?,
        );
        let parts = serde_json::from_str::<PartsOfExpected<'_>>(expected.get());
        for (index, span) in parts.into_iter().flat_map(|parts| parts.spans).enumerate() {
            unread.extend(
                keys::SPAN
                    .unknown(span.get())
                    .map_err(|why| Wrong::at(format!("/expected/spans/{index}"), why))?,
            );
        }
    }
    if let Some(meta) = parts.meta {
        unread.extend(keys::META.unknown(meta.get()).map_err(|why| Wrong::at("/meta", why))?);
    }
    Ok(unread)
}

/// Reads one labelled step.
pub(super) fn parse(line: &str, suite: &str, place: &str) -> Result<Case, Wrong> {
    // Before anything else: a key that is missing may be there under another name.
    let mut notes: Vec<String> = unread(line)?
        .into_iter()
        .map(|key| format!("`{key}` is no key of a labelled step"))
        .collect();
    let raw: CaseFile = wrong::parse(line, "a labelled step, one JSON object a line")?;
    if raw.id.is_empty() || raw.id.len() > MAX_ID || raw.id.chars().any(char::is_control) {
        let found = raw.id.len();
        let why = format!("expected 1 to {MAX_ID} bytes without control characters, found {found} bytes");
        return Err(Wrong::at("/id", why));
    }
    readable(&raw.request)?;
    let history = history::resolve(&raw.request, &raw.history).map_err(|why| Wrong::at("/history", why))?;
    Ok(Case {
        history: history.into_iter().map(Arc::from).collect(),
        needs: match raw.meta.needs.as_deref() {
            Some("judge") => Needs::Judge,
            Some("rules") | None => Needs::Rules,
            Some(other) => {
                let why = format!("`meta.needs`: expected `judge` or `rules`, found `{other}`");
                return Err(Wrong::at("/meta/needs", why));
            }
        },
        expected: expected(raw.expected, &mut notes)?,
        place: place.to_owned(),
        notes,
        license: raw.license,
        weight: raw.weight,
        group: raw.split_group.or(raw.group).unwrap_or_else(|| raw.id.clone()),
        tags: raw
            .meta
            .tag
            .into_iter()
            .chain(raw.meta.tags)
            .filter(|tag| !tag.is_empty())
            .collect(),
        id: raw.id,
        source: raw.source.unwrap_or_else(|| suite.to_owned()),
        request: raw.request,
    })
}

/// Checks that a guardian can read the request: one that none can read says nothing about one.
fn readable(request: &RawValue) -> Result<(), Wrong> {
    let limits = wire::Limits::default().of_any_size();
    let Err(error) = wire::decode_step(request.get().as_bytes(), &limits) else {
        return Ok(());
    };
    let inner = error.data.as_ref().and_then(|data| data.get("pointer")?.as_str());
    Err(Wrong::at(
        format!("/request{}", inner.unwrap_or_default()),
        error.message,
    ))
}

fn expected(raw: RawExpected, notes: &mut Vec<String>) -> Result<Expected, Wrong> {
    let decision = |name: &str, pointer: &str| {
        Decision::from_name(name)
            .ok_or_else(|| Wrong::at(pointer, format!("expected `allow`, `modify` or `deny`, found `{name}`")))
    };
    let best = decision(&raw.decision, "/expected/decision")?;
    let mut acceptable = Vec::new();
    for (index, name) in raw.acceptable.iter().enumerate() {
        acceptable.push(decision(name, &format!("/expected/acceptable/{index}"))?);
    }
    if !acceptable.contains(&best) {
        acceptable.push(best);
    }
    let policy = raw.policy.unwrap_or_else(|| "default".to_owned());
    if !PROFILE_NAMES.contains(&policy.as_str()) {
        let why = format!(
            "`expected.policy`: expected a built-in profile ({}), found `{policy}`; a policy of your own is said by \
             `--config`, or by `expected.organisation`",
            PROFILE_NAMES.join(", ")
        );
        return Err(Wrong::at("/expected/policy", why));
    }
    let mut reason_codes = Vec::new();
    for name in &raw.reason_codes {
        match ReasonCode::parse(name) {
            Some(code) => reason_codes.push(code),
            None => notes.push(format!("`{name}` in `expected.reason_codes` is no reason code")),
        }
    }
    Ok(Expected {
        decision: best,
        acceptable,
        low_severity: raw.severity.as_deref() == Some("low"),
        note: raw.note.unwrap_or_default(),
        reason_codes,
        policy,
        organisation: raw.organisation,
        spans: raw.spans,
    })
}
