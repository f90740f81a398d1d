//! The record of a change: what came into force, for whom, and by what. It stands among the records of steps and has no `decision_id`.
//! Beside it, the line of the history of policies.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A change for one organisation, or for the whole server where `organisation` is empty.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Change {
    /// The time at which it came into force.
    pub time: String,
    /// `change`.
    pub kind: &'static str,
    /// The organisation.
    pub organisation: String,
    /// The cause: `file watch`, `SIGHUP`, or a command and its user.
    pub caller: String,
    /// The policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Versions>,
    /// Layers of the policy: `teams.NAME`, `agents.ID`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub layers: BTreeMap<String, Versions>,
    /// The prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Versions>,
    /// Names of keys that came.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub keys_added: BTreeSet<String>,
    /// Names of keys that went.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub keys_removed: BTreeSet<String>,
    /// The other differences, by the section of the configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<&'static str>,
    /// Files that differ, each with the user that owns it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// The versions before and after; `None` where there was or is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Versions {
    /// Before.
    pub from: Option<String>,
    /// After.
    pub to: Option<String>,
}

/// That a policy came into force, or that a command is about to put it there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InForce {
    /// The time.
    pub time: String,
    /// The organisation of the policy.
    pub organisation: String,
    /// Its version; [`InForce::NONE`] for a layer that went.
    pub version: String,
    /// The cause: `start`, `file watch`, `SIGHUP`, or a command and its user.
    pub by: String,
}

impl InForce {
    /// The version of a layer that is not there.
    pub const NONE: &str = "none";

    /// What the history calls a layer, `teams.NAME` or `agents.ID`, of an organisation; no id of one has a space.
    pub fn of_layer(organisation: &str, layer: &str) -> String {
        format!("{organisation} {layer}")
    }
}
