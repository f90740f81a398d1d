//! How what a session remembers is written down: the model's own types by their names, so that nothing depends on the order of an
//! enum, and unknown names are refused.
//!
//! The model itself knows no serialisation; what of it stands in a session is translated here.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{
    ClassSet, Confidence, Earlier, Excerpt, Gap, Kind, Method, Noted, Origin, Outcome, Pointer, ReasonCode, Request,
    Said, Severity, ToolClass,
};

/// What has a name by which it is known again.
pub(super) trait Named: Sized {
    /// The name.
    fn name(&self) -> Cow<'_, str>;
    /// What has this name.
    fn named(name: &str) -> Option<Self>;
}

macro_rules! named {
    ($($type:ty => $from:expr),+ $(,)?) => {
        $(impl Named for $type {
            fn name(&self) -> Cow<'_, str> {
                Cow::Borrowed(self.as_str())
            }
            fn named(name: &str) -> Option<Self> {
                $from(name)
            }
        })+
    };
}

named! {
    Method => Method::from_name,
    Origin => Origin::from_name,
    Outcome => Outcome::from_name,
    Severity => Severity::from_name,
    Confidence => Confidence::from_name,
    ReasonCode => ReasonCode::parse,
    Gap => Gap::from_name,
    Kind => |name| Kind::ALL.iter().copied().find(|kind| kind.as_str() == name),
    Pointer => |text| Some(Pointer::new(text)),
}

impl Named for ClassSet {
    fn name(&self) -> Cow<'_, str> {
        let names: Vec<&str> = self.iter().map(ToolClass::as_str).collect();
        Cow::Owned(names.join(" "))
    }
    fn named(names: &str) -> Option<Self> {
        names.split_whitespace().map(ToolClass::from_name).collect()
    }
}

/// One value by its name: for `#[serde(with = "…")]`.
pub(super) mod by_name {
    use super::{Deserialize, Deserializer, Error, Named, Serializer};

    pub(in crate::session) fn serialize<T: Named, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.name())
    }

    pub(in crate::session) fn deserialize<'de, T: Named, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let name = String::deserialize(deserializer)?;
        T::named(&name).ok_or_else(|| D::Error::custom("a name that there is not"))
    }
}

/// A value by its name, where there is one.
pub(super) mod by_name_if_any {
    use super::{Deserialize, Deserializer, Error, Named, Serialize, Serializer};

    pub(in crate::session) fn serialize<T: Named, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.as_ref().map(Named::name).serialize(serializer)
    }

    pub(in crate::session) fn deserialize<'de, T: Named, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let unknown = || D::Error::custom("a name that there is not");
        match Option::<String>::deserialize(deserializer)? {
            None => Ok(None),
            Some(name) => T::named(&name).map(Some).ok_or_else(unknown),
        }
    }
}

/// A list of values by their names.
mod by_names {
    use super::{Deserialize, Deserializer, Error, Named, Serializer};

    pub(super) fn serialize<T: Named, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(Named::name))
    }

    pub(super) fn deserialize<'de, T: Named, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        let values = names.iter().map(|name| T::named(name)).collect::<Option<Vec<T>>>();
        values.ok_or_else(|| D::Error::custom("a name that there is not"))
    }
}

/// A step as it is told of, written as [`SavedStep`].
pub(super) mod step {
    use super::{Arc, Deserialize, Deserializer, Earlier, SavedStep, Serialize, Serializer};

    pub(in crate::session) fn serialize<S: Serializer>(step: &Arc<Earlier>, serializer: S) -> Result<S::Ok, S::Error> {
        SavedStep::from(step.as_ref()).serialize(serializer)
    }

    pub(in crate::session) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Earlier>, D::Error> {
        SavedStep::deserialize(deserializer).map(|saved| Arc::new(saved.into()))
    }
}

/// What the user asked for, written as [`SavedRequest`]s.
pub(super) mod requests {
    use super::{Arc, Deserialize, Deserializer, Request, SavedRequest, Serializer};

    pub(in crate::session) fn serialize<S: Serializer>(
        requests: &[Arc<Request>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(requests.iter().map(|request| SavedRequest::from(request.as_ref())))
    }

    pub(in crate::session) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Arc<Request>>, D::Error> {
        let saved = Vec::<SavedRequest>::deserialize(deserializer)?;
        Ok(saved.into_iter().map(|saved| Arc::new(saved.into())).collect())
    }
}

#[derive(Serialize, Deserialize)]
struct SavedExcerpt {
    head: String,
    cut: usize,
    tail: String,
}

#[derive(Serialize, Deserialize)]
struct SavedRequest {
    number: u32,
    step: u32,
    text: SavedExcerpt,
    answers: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct SavedSaid {
    #[serde(with = "by_name")]
    origin: Origin,
    #[serde(with = "by_name")]
    pointer: Pointer,
    label: Option<String>,
    text: SavedExcerpt,
}

#[derive(Serialize, Deserialize)]
struct SavedNoted {
    rule: String,
    #[serde(with = "by_name")]
    reason: ReasonCode,
    #[serde(with = "by_name")]
    severity: Severity,
    #[serde(with = "by_name")]
    confidence: Confidence,
    #[serde(with = "by_name")]
    pointer: Pointer,
}

#[derive(Serialize, Deserialize)]
struct SavedStep {
    number: u32,
    last: u32,
    times: u32,
    #[serde(with = "by_name")]
    method: Method,
    #[serde(with = "by_name")]
    kind: Kind,
    tool: Option<String>,
    #[serde(with = "by_name")]
    outcome: Outcome,
    #[serde(with = "by_names")]
    reasons: Vec<ReasonCode>,
    said: Vec<SavedSaid>,
    unsaid: usize,
    noted: Vec<SavedNoted>,
}

impl From<&Excerpt> for SavedExcerpt {
    fn from(excerpt: &Excerpt) -> Self {
        let Excerpt { head, cut, tail } = excerpt.clone();
        Self { head, cut, tail }
    }
}

impl From<SavedExcerpt> for Excerpt {
    fn from(saved: SavedExcerpt) -> Self {
        let SavedExcerpt { head, cut, tail } = saved;
        Self { head, cut, tail }
    }
}

impl From<&Request> for SavedRequest {
    fn from(request: &Request) -> Self {
        Self {
            number: request.number,
            step: request.step,
            text: (&request.text).into(),
            answers: request.answers,
        }
    }
}

impl From<SavedRequest> for Request {
    fn from(saved: SavedRequest) -> Self {
        Self {
            number: saved.number,
            step: saved.step,
            text: saved.text.into(),
            answers: saved.answers,
        }
    }
}

impl From<&Earlier> for SavedStep {
    fn from(step: &Earlier) -> Self {
        let said = step.said.iter().map(|said| SavedSaid {
            origin: said.origin,
            pointer: said.pointer.clone(),
            label: said.label.clone(),
            text: (&said.text).into(),
        });
        let noted = step.noted.iter().map(|noted| SavedNoted {
            rule: noted.rule.clone(),
            reason: noted.reason.clone(),
            severity: noted.severity,
            confidence: noted.confidence,
            pointer: noted.pointer.clone(),
        });
        Self {
            number: step.number,
            last: step.last,
            times: step.times,
            method: step.method,
            kind: step.kind,
            tool: step.tool.clone(),
            outcome: step.outcome,
            reasons: step.reasons.clone(),
            said: said.collect(),
            unsaid: step.unsaid,
            noted: noted.collect(),
        }
    }
}

impl From<SavedStep> for Earlier {
    fn from(saved: SavedStep) -> Self {
        let said = saved.said.into_iter().map(|said| Said {
            origin: said.origin,
            pointer: said.pointer,
            label: said.label,
            text: said.text.into(),
        });
        let noted = saved.noted.into_iter().map(|noted| Noted {
            rule: noted.rule,
            reason: noted.reason,
            severity: noted.severity,
            confidence: noted.confidence,
            pointer: noted.pointer,
        });
        Self {
            number: saved.number,
            last: saved.last,
            times: saved.times,
            method: saved.method,
            kind: saved.kind,
            tool: saved.tool,
            outcome: saved.outcome,
            reasons: saved.reasons,
            said: said.collect(),
            unsaid: saved.unsaid,
            noted: noted.collect(),
        }
    }
}
