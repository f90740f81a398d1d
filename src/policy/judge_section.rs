//! The parts of a policy file that concern the judge, checked: `[judge]` and `[reason_codes]`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::judging::{
    ConfidenceRules, FirstStageRules, JudgeRules, LongTexts, OwnCode, SessionIncomplete, StrictnessTable, Suspected,
};
use super::values::{Wrong, line};
use crate::model::{Authorization, Decision, ReasonCode, Risk, all_of, one_of};

/// The most codes of its own that an organisation has.
const MAX_CODES: usize = 64;
/// The longest meaning of a code, in characters.
const MAX_MEANING: usize = 200;

/// `[judge]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct JudgeSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    min_confidence: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_confidence_acting: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    long_texts: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_incomplete: Option<String>,
    table: BTreeMap<String, BTreeMap<String, String>>,
    first: FirstStageSection,
}

/// `[judge.first]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct FirstStageSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    min_confidence: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    escalate_risk: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    escalate: Option<Vec<String>>,
}

/// The meaning of a reason code; or, as TOML reads a name with dots, of all that begin so.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged, expecting = "expected a sentence in quotes that says what the code means")]
pub enum CodeLine {
    /// The meaning.
    Meaning(String),
    /// The meanings by what follows the next dot.
    Further(BTreeMap<String, CodeLine>),
}

impl JudgeSection {
    /// Puts these lines over those of a profile: cell by cell, key by key.
    pub(super) fn over(self, base: Self) -> Self {
        let mut table = base.table;
        for (risk, cells) in self.table {
            table.entry(risk).or_default().extend(cells);
        }
        Self {
            min_confidence: self.min_confidence.or(base.min_confidence),
            min_confidence_acting: self.min_confidence_acting.or(base.min_confidence_acting),
            long_texts: self.long_texts.or(base.long_texts),
            suspected: self.suspected.or(base.suspected),
            session_incomplete: self.session_incomplete.or(base.session_incomplete),
            table,
            first: FirstStageSection {
                min_confidence: self.first.min_confidence.or(base.first.min_confidence),
                escalate_risk: self.first.escalate_risk.or(base.first.escalate_risk),
                escalate: self.first.escalate.or(base.first.escalate),
            },
        }
    }

    pub(super) fn build(&self) -> Result<JudgeRules, Wrong> {
        let first = &self.first;
        Ok(JudgeRules {
            table: self.table()?,
            confidence: ConfidenceRules {
                acting: confidence("judge.min_confidence_acting", self.min_confidence_acting.unwrap_or(0.5))?,
                other: confidence("judge.min_confidence", self.min_confidence.unwrap_or(0.3))?,
            },
            long_texts: one_of(self.long_texts.as_deref().unwrap_or("chosen"), LongTexts::ALL)
                .map_err(|why| ("judge.long_texts".to_owned(), why))?,
            suspected: one_of(self.suspected.as_deref().unwrap_or("ask"), Suspected::ALL)
                .map_err(|why| ("judge.suspected".to_owned(), why))?,
            session_incomplete: one_of(
                self.session_incomplete.as_deref().unwrap_or("note"),
                SessionIncomplete::ALL,
            )
            .map_err(|why| ("judge.session_incomplete".to_owned(), why))?,
            first: FirstStageRules {
                min_confidence: confidence("judge.first.min_confidence", first.min_confidence.unwrap_or(0.8))?,
                escalate_risk: one_of(first.escalate_risk.as_deref().unwrap_or("high"), Risk::ALL)
                    .map_err(|why| ("judge.first.escalate_risk".to_owned(), why))?,
                escalate: all_of(first.escalate.as_deref().unwrap_or_default(), Decision::ALL)
                    .map_err(|why| ("judge.first.escalate".to_owned(), why))?,
            },
        })
    }

    fn table(&self) -> Result<StrictnessTable, Wrong> {
        let mut table = StrictnessTable::default();
        for (risk, cells) in &self.table {
            let at_risk = one_of(risk, Risk::ALL).map_err(|why| (format!("judge.table.{risk}"), why))?;
            for (grant, laxest) in cells {
                let wrong = |why| (format!("judge.table.{risk}.{grant}"), why);
                let at_grant = one_of(grant, Authorization::ALL).map_err(wrong)?;
                table.set(at_risk, at_grant, one_of(laxest, Decision::ALL).map_err(wrong)?);
            }
        }
        match table.contradiction() {
            None => Ok(table),
            Some([(risk, grant), (milder, stronger)]) => {
                let (is, than) = (table.laxest(risk, grant), table.laxest(milder, stronger));
                let why = format!(
                    "expected a greater risk or a weaker grant never to be laxer, found `{risk}.{grant}` = `{is}` beside \
                     `{milder}.{stronger}` = `{than}`; write both down as they are meant"
                );
                Err(("judge.table".to_owned(), why))
            }
        }
    }
}

fn confidence(key: &str, value: f64) -> Result<f64, Wrong> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err((
        key.to_owned(),
        format!("expected a number from 0 to 1, found `{value}`"),
    ))
}

/// Returns the organisation's own reason codes, by name.
pub(super) fn own_codes(lines: &BTreeMap<String, CodeLine>) -> Result<Vec<OwnCode>, Wrong> {
    let mut meanings = BTreeMap::new();
    let mut left: Vec<(String, &CodeLine)> = lines.iter().map(|(name, line)| (name.clone(), line)).collect();
    while let Some((name, line)) = left.pop() {
        match line {
            CodeLine::Meaning(meaning) => {
                meanings.insert(name, meaning);
            }
            CodeLine::Further(further) => {
                left.extend(further.iter().map(|(rest, line)| (format!("{name}.{rest}"), line)));
            }
        }
    }
    if meanings.len() > MAX_CODES {
        let why = format!("expected at most {MAX_CODES} codes, found {}", meanings.len());
        return Err(("reason_codes".to_owned(), why));
    }
    meanings
        .into_iter()
        .map(|(name, meaning)| own_code(&name, meaning))
        .collect()
}

fn own_code(name: &str, meaning: &str) -> Result<OwnCode, Wrong> {
    let wrong = |why: String| (format!("reason_codes.\"{name}\""), why);
    let code = match ReasonCode::parse(name) {
        Some(code @ ReasonCode::Organisation(_)) => code,
        _ => {
            let expected = "expected a name of `org.` and at most 60 of `a-z 0-9 _ . -`";
            return Err(wrong(expected.to_owned()));
        }
    };
    let meaning = line(meaning, MAX_MEANING).ok_or_else(|| {
        let expected = "expected its meaning in one sentence, of one line, without `|`";
        wrong(format!("{expected}, at most {MAX_MEANING} characters"))
    })?;
    Ok(OwnCode {
        code,
        meaning: meaning.to_owned(),
    })
}
