//! The file as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ConfigError;

/// `guardian.toml`, with every key optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    pub(super) listen: Option<String>,
    pub(super) allow_unauthenticated: Option<bool>,
    pub(super) prompts_dir: Option<String>,
    pub(super) policy: Option<String>,
    pub(super) judge: Option<JudgeSection>,
    pub(super) limits: LimitSection,
    pub(super) cache: CacheSection,
    pub(super) sessions: SessionSection,
    pub(super) audit: AuditSection,
    pub(super) log: LogSection,
    pub(super) organisations: Vec<OrganisationSection>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct JudgeSection {
    pub(super) base_url: Option<String>,
    pub(super) model: Option<String>,
    pub(super) api_key_env: Option<String>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) on_failure: Option<String>,
    pub(super) structured_output: Option<String>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) temperature: Option<f32>,
    pub(super) prompt_budget_tokens: Option<usize>,
    pub(super) agent_reasoning: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) canaries: Option<CanarySection>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CanarySection {
    pub(super) every_minutes: Option<u64>,
    pub(super) min_right: Option<f64>,
    pub(super) on_alarm: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitSection {
    pub(super) requests_per_minute: Option<u32>,
    pub(super) judge_calls_per_minute: Option<u32>,
    pub(super) max_body_bytes: Option<usize>,
    pub(super) max_batch: Option<usize>,
    pub(super) max_depth: Option<usize>,
    pub(super) max_in_flight: Option<usize>,
    pub(super) max_in_flight_bytes: Option<usize>,
    pub(super) body_timeout_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CacheSection {
    pub(super) max_bytes: Option<u64>,
    pub(super) ttl_seconds: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SessionSection {
    pub(super) enabled: Option<bool>,
    pub(super) max_sessions: Option<u64>,
    pub(super) max_bytes: Option<u64>,
    pub(super) max_steps: Option<usize>,
    pub(super) max_session_bytes: Option<usize>,
    pub(super) ttl_seconds: Option<u64>,
    pub(super) by_credential: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AuditSection {
    pub(super) to: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LogSection {
    pub(super) filter: Option<String>,
    pub(super) format: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OrganisationSection {
    pub(super) id: Option<String>,
    pub(super) api_keys: Vec<String>,
    pub(super) prompts: Option<String>,
    pub(super) policy: Option<String>,
}

impl ConfigFile {
    /// Reads TOML; `file` is for messages.
    ///
    /// # Errors
    ///
    /// When it is no TOML or has a key that does not exist.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::Malformed {
            file: file.to_owned(),
            why: error.to_string().trim().to_owned(),
        })
    }
}
