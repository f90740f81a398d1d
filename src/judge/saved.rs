//! The serialised form of an answer for other processes: named fields, the model's own types by their names.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Assessment, Judged, stricter};
use crate::llm::{Cost, Counted, Usage};
use crate::model::{Authorization, ContentId, Decision, Diagnostic, Edit, ReasonCode, Risk, Stage};

/// Every code that a note on an answer can have.
const NOTES: &[&str] = &[
    stricter::DISAGREEMENT,
    "authorization_lowered",
    "edit_adds_destination",
    "edit_adds_text",
    "edit_changes_nothing",
    "edit_joins_words",
    "edit_missing",
    "edit_no_value",
    "edit_not_allowed",
    "edit_not_editable",
    "edit_not_found",
    "edit_structure",
    "edit_too_long",
    "edit_unknown_content",
    "edit_widens",
    "judge_escalated",
    "judge_flawed",
    "judge_hedged",
    "judge_parts",
    "judge_raised",
    "judge_unconfirmed",
    "judge_unsure",
    "undeclared_code",
];

#[derive(Serialize, Deserialize)]
struct SavedAnswer {
    risk: String,
    authorization: String,
    decision: String,
    reason_codes: Vec<String>,
    confidence: f64,
    reasoning: String,
    message: String,
    edits: Vec<SavedEdit>,
    stage: String,
    model: String,
    endpoint: String,
    prompt_tokens: u64,
    completion_tokens: u64,
    is_estimate: bool,
    cost_micros: u64,
    latency_ms: u64,
    cut: bool,
    asked_by: Option<String>,
    notes: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
struct SavedEdit {
    content: usize,
    start: usize,
    end: usize,
    replacement: String,
    reason: String,
}

impl Judged {
    /// Returns the answer in its written form.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let assessment = &self.assessment;
        let edits = assessment.edits.iter().map(|edit| SavedEdit {
            content: edit.content.index(),
            start: edit.span.start,
            end: edit.span.end,
            replacement: edit.replacement.clone(),
            reason: edit.reason.as_str().to_owned(),
        });
        let saved = SavedAnswer {
            risk: assessment.risk.as_str().to_owned(),
            authorization: assessment.authorization.as_str().to_owned(),
            decision: assessment.decision.as_str().to_owned(),
            reason_codes: assessment
                .reason_codes
                .iter()
                .map(|code| code.as_str().to_owned())
                .collect(),
            confidence: assessment.confidence,
            reasoning: assessment.reasoning.clone(),
            message: assessment.message.clone(),
            edits: edits.collect(),
            stage: self.stage.as_str().to_owned(),
            model: self.model.clone(),
            endpoint: self.endpoint.to_string(),
            prompt_tokens: self.usage.prompt_tokens,
            completion_tokens: self.usage.completion_tokens,
            is_estimate: self.usage.counted == Counted::Estimated,
            cost_micros: self.cost.micros(),
            latency_ms: u64::try_from(self.latency.as_millis()).unwrap_or(u64::MAX),
            cut: self.cut,
            asked_by: self.decision.as_deref().map(str::to_owned),
            notes: self
                .notes
                .iter()
                .map(|note| (note.code.to_owned(), note.detail.clone()))
                .collect(),
        };
        rmp_serde::to_vec_named(&saved).ok()
    }

    /// Reads an answer in its written form; returns `None` if it is not of this version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let saved: SavedAnswer = rmp_serde::from_slice(bytes).ok()?;
        let codes = saved.reason_codes.iter().map(|code| ReasonCode::parse(code));
        let edits = saved.edits.into_iter().map(|edit| {
            Some(Edit {
                content: ContentId::from_index(edit.content),
                span: edit.start..edit.end,
                replacement: edit.replacement,
                reason: ReasonCode::parse(&edit.reason)?,
            })
        });
        let notes = saved.notes.into_iter().map(|(code, detail)| {
            let code = NOTES.iter().find(|known| **known == code)?;
            Some(Diagnostic { code, detail })
        });
        Some(Self {
            assessment: Assessment {
                risk: Risk::from_name(&saved.risk)?,
                authorization: Authorization::from_name(&saved.authorization)?,
                decision: Decision::from_name(&saved.decision)?,
                reason_codes: codes.collect::<Option<_>>()?,
                confidence: saved.confidence,
                reasoning: saved.reasoning,
                message: saved.message,
                edits: edits.collect::<Option<_>>()?,
            },
            stage: Stage::from_name(&saved.stage)?,
            model: saved.model,
            endpoint: saved.endpoint.into(),
            usage: Usage {
                prompt_tokens: saved.prompt_tokens,
                completion_tokens: saved.completion_tokens,
                counted: match saved.is_estimate {
                    true => Counted::Estimated,
                    false => Counted::ByEndpoint,
                },
            },
            cost: Cost::from_micros(saved.cost_micros),
            latency: Duration::from_millis(saved.latency_ms),
            cut: saved.cut,
            decision: saved.asked_by.map(Arc::from),
            notes: notes.collect::<Option<_>>()?,
        })
    }
}
