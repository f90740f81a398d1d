//! The part of a policy file that concerns the local judge, checked: `[local_judge]`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LocalJudgeRules;
use super::values::Wrong;
use crate::model::{Kind, one_of};

/// `[local_judge]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct LocalJudgeSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    deny_at: Option<f64>,
    /// Kind of step (or `default`) to thresholds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    thresholds: BTreeMap<String, ThresholdLine>,
}

/// One entry of `[local_judge.thresholds]`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct ThresholdLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_below: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deny_above: Option<f64>,
}

/// The thresholds for the probability of harm that the trained scorer gives a step. Those that are left out are the thresholds
/// that the scorer's model brings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thresholds {
    /// Below it the step is allowed. 0: never.
    pub allow_below: Option<f64>,
    /// Above it the step is suspected: denied where no model can be asked, else a question that names the suspicion. 1: never.
    pub deny_above: Option<f64>,
}

/// Thresholds by kind of step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThresholdTable {
    default: Thresholds,
    by_kind: BTreeMap<Kind, Thresholds>,
}

impl ThresholdTable {
    /// Returns the thresholds for steps of this kind: its own, else the default ones.
    pub fn of(&self, kind: Kind) -> Thresholds {
        let own = self.by_kind.get(&kind).copied().unwrap_or_default();
        Thresholds {
            allow_below: own.allow_below.or(self.default.allow_below),
            deny_above: own.deny_above.or(self.default.deny_above),
        }
    }
}

impl LocalJudgeSection {
    /// Puts these lines over those of a profile.
    pub(super) fn over(self, base: Self) -> Self {
        let mut thresholds = base.thresholds;
        thresholds.extend(self.thresholds);
        Self {
            deny_at: self.deny_at.or(base.deny_at),
            thresholds,
        }
    }

    pub(super) fn build(&self) -> Result<LocalJudgeRules, Wrong> {
        let deny_at = self.deny_at.unwrap_or(0.75);
        if !(deny_at > 0.0 && deny_at <= 1.0) {
            return Err((
                "local_judge.deny_at".to_owned(),
                format!("expected a number over 0 and up to 1, found `{deny_at}`"),
            ));
        }
        let mut table = ThresholdTable::default();
        for (name, line) in &self.thresholds {
            let key = format!("local_judge.thresholds.{name}");
            let thresholds = line.build().map_err(|(part, why)| (format!("{key}.{part}"), why))?;
            if name == "default" {
                table.default = thresholds;
            } else {
                let kind = one_of(name, Kind::ALL).map_err(|why| (key, why))?;
                table.by_kind.insert(kind, thresholds);
            }
        }
        Ok(LocalJudgeRules {
            deny_at,
            thresholds: table,
        })
    }
}

impl ThresholdLine {
    fn build(self) -> Result<Thresholds, (&'static str, String)> {
        for (part, value) in [("allow_below", self.allow_below), ("deny_above", self.deny_above)] {
            if let Some(value) = value.filter(|value| !(0.0..=1.0).contains(value)) {
                return Err((part, format!("expected a probability from 0 to 1, found `{value}`")));
            }
        }
        if let (Some(allow), Some(deny)) = (self.allow_below, self.deny_above)
            && allow > deny
        {
            let why = format!("expected at least `allow_below` ({allow}), found `{deny}`");
            return Err(("deny_above", why));
        }
        Ok(Thresholds {
            allow_below: self.allow_below,
            deny_above: self.deny_above,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicyFile;

    fn rules(text: &str) -> Result<LocalJudgeRules, String> {
        let file = PolicyFile::parse(text, "p").map_err(|error| error.to_string())?;
        Ok(file.compile("p").map_err(|error| error.to_string())?.local_judge)
    }

    #[test]
    fn a_kind_has_its_own_thresholds_else_the_default_ones() {
        let table = rules(
            "[local_judge.thresholds]\ndefault = { allow_below = 0.1, deny_above = 0.5 }\ntool_call = { allow_below = 0.0 }",
        )
        .unwrap()
        .thresholds;
        assert_eq!(table.of(Kind::ToolCall).allow_below, Some(0.0));
        assert_eq!(table.of(Kind::ToolCall).deny_above, Some(0.5));
        assert_eq!(table.of(Kind::ToolResult).allow_below, Some(0.1));
        assert_eq!(table.of(Kind::ToolResult).deny_above, Some(0.5));
        assert_eq!(rules("").unwrap().thresholds.of(Kind::ToolResult).deny_above, None);
    }

    #[test]
    fn wrong_thresholds_are_named_with_their_key() {
        for (text, key) in [
            (
                "default = { allow_below = 1.5 }",
                "local_judge.thresholds.default.allow_below",
            ),
            (
                "tool_call = { allow_below = 0.5, deny_above = 0.4 }",
                "local_judge.thresholds.tool_call.deny_above",
            ),
            ("calls = { allow_below = 0.5 }", "local_judge.thresholds.calls"),
        ] {
            let error = rules(&format!("[local_judge.thresholds]\n{text}")).unwrap_err();
            assert!(error.contains(&format!("`{key}`")), "{key}: {error}");
        }
    }
}
