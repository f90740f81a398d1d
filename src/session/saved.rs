//! The serialised form of what a session remembers: the model's own types by their names, so that nothing depends on the order of an enum, and
//! unknown names are refused.
//!
//! The model itself knows no serialisation; those of its types that stand in a session are translated here.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{
    ClassSet, Confidence, Earlier, EarlierText, Excerpt, Gap, Kind, Method, Noted, Origin, Outcome, Pointer,
    ReasonCode, Request, Severity, ToolClass,
};

/// A type whose values are recognised by a name.
pub(super) trait Named: Sized {
    /// Returns the name.
    fn name(&self) -> Cow<'_, str>;
    /// Returns the value of this name.
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

/// A type that is written field by field.
pub(super) trait Saved: Sized {
    fn save<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

macro_rules! saved {
    ($($type:ty => $saved:ty),+ $(,)?) => {
        $(impl Saved for $type {
            fn save<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$saved>::serialize(self, serializer)
            }
            fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$saved>::deserialize(deserializer)
            }
        })+
    };
}

saved! {
    EarlierText => SavedText,
    Noted => SavedNoted,
    Request => SavedRequest,
    Earlier => SavedStep,
}

impl<T: Saved> Saved for Arc<T> {
    fn save<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().save(serializer)
    }
    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::load(deserializer).map(Arc::new)
    }
}

/// One such value.
struct One<T>(T);

impl<T: Saved> Serialize for One<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.save(serializer)
    }
}

impl<'de, T: Saved> Deserialize<'de> for One<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::load(deserializer).map(One)
    }
}

/// A value that is written field by field: for `#[serde(with = "…")]`.
pub(super) mod by_field {
    use super::{Deserializer, Saved, Serializer};

    pub(in crate::session) fn serialize<T: Saved, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.save(serializer)
    }

    pub(in crate::session) fn deserialize<'de, T: Saved, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::load(deserializer)
    }
}

/// A list of such values.
pub(super) mod each_by_field {
    use super::{Deserialize, Deserializer, One, Saved, Serializer};

    pub(in crate::session) fn serialize<T: Saved, S: Serializer>(
        values: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(One))
    }

    pub(in crate::session) fn deserialize<'de, T: Saved, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        let values = Vec::<One<T>>::deserialize(deserializer)?;
        Ok(values.into_iter().map(|One(value)| value).collect())
    }
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
    #[serde(with = "SavedExcerpt")]
    text: Excerpt,
    answers: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "EarlierText")]
struct SavedText {
    #[serde(with = "by_name")]
    origin: Origin,
    #[serde(with = "by_name")]
    pointer: Pointer,
    label: Option<String>,
    #[serde(with = "SavedExcerpt")]
    text: Excerpt,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Noted")]
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
#[serde(remote = "Earlier")]
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
    #[serde(with = "each_by_field")]
    said: Vec<EarlierText>,
    unsaid: usize,
    #[serde(with = "each_by_field")]
    noted: Vec<Noted>,
}
