//! The serialised form of the model's closed sets, in files and in what a session remembers: a name, so that nothing depends on the order of an
//! enum, and an unknown name is refused with those that there are.
//!
//! The model itself knows no serialisation.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{
    Confidence, Gap, Kind, Method, Origin, Outcome, ReasonCode, RuleObject, Severity, ToolClass, Treatment, one_of,
};

/// Serialises types by a text, and reads them from it.
macro_rules! as_text {
    ($($type:ty: |$value:ident| $write:expr, |$text:ident| $read:expr;)+) => {
        $(impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let $value = self;
                serializer.serialize_str(&$write)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let $text = String::deserialize(deserializer)?;
                $read.map_err(<D::Error as serde::de::Error>::custom)
            }
        })+
    };
}
pub(crate) use as_text;

macro_rules! by_name {
    ($($name:ident),+) => {
        as_text! { $($name: |value| value.as_str(), |name| one_of(&name, $name::ALL);)+ }
    };
}

by_name! { Confidence, Gap, Kind, Method, Origin, Outcome, RuleObject, Severity, ToolClass, Treatment }

as_text! { ReasonCode: |code| code.as_str(), |name| ReasonCode::named(&name); }
