//! The file as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};

use super::{ConfigError, bounds};

/// `guardian.toml`, with every key optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConfigFile {
    pub(super) mode: Option<String>,
    pub(super) listen: Option<String>,
    pub(super) allow_unauthenticated: Option<bool>,
    pub(super) allow_plain_http: Option<bool>,
    pub(super) watch_files: Option<bool>,
    pub(super) other_organisation: Option<String>,
    pub(super) tls: Option<TlsSection>,
    pub(super) prompts_dir: Option<String>,
    pub(super) policy: Option<String>,
    pub(super) judge: Option<JudgeSection>,
    pub(super) local_judge: LocalJudgeSection,
    pub(super) learning: LearningSection,
    pub(super) limits: LimitSection,
    pub(super) a2a: A2aSection,
    pub(super) cache: CacheSection,
    pub(super) sessions: SessionSection,
    pub(super) shared: SharedSection,
    pub(super) audit: AuditSection,
    pub(super) metrics: MetricsSection,
    pub(super) log: LogSection,
    pub(super) otlp: OtlpSection,
    pub(super) events: EventSection,
    pub(super) oidc: OidcSections,
    pub(super) organisations: Vec<OrganisationSection>,
    pub(super) gateways: Vec<GatewaySection>,
    pub(super) acs: AcsSection,
}

/// A section with keys of its own and those of an endpoint. Those stand here once: serde cannot refuse unknown keys of a section that is
/// flattened into another.
macro_rules! endpoint_section {
    ($(#[$doc:meta])* $section:ident { $($own:ident: $type:ty,)* }) => {
        endpoint_section! {
            $(#[$doc])* $section { $($own: $type,)* } and {
                name: Option<String>,
                base_url: Option<String>,
                api: Option<String>,
                api_version: Option<String>,
                model: Option<String>,
                api_key_env: Option<String>,
                timeout_ms: Option<u64>,
                structured_output: Option<String>,
                max_output_tokens: Option<u32>,
                temperature: Option<f32>,
                headers: BTreeMap<String, String>,
                price_in: Option<f64>,
                price_out: Option<f64>,
                requests_per_minute: Option<u32>,
                tokens_per_minute: Option<u32>,
                ca_file: Option<String>,
                proxy: Option<String>,
            }
        }
    };
    ($(#[$doc:meta])* $section:ident { $($own:ident: $type:ty,)* } and { $($key:ident: $value:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(super) struct $section {
            $(pub(super) $own: $type,)*
            $(pub(super) $key: $value,)*
        }

        impl From<&$section> for EndpointSection {
            fn from(section: &$section) -> Self {
                Self { $($key: section.$key.clone(),)* }
            }
        }
    };
}

endpoint_section! {
    /// The judge, and its first endpoint.
    JudgeSection {
        on_failure: Option<String>,
        prompt_budget_tokens: Option<usize>,
        agent_reasoning: Option<String>,
        unusable_answers: Option<String>,
        max_in_flight: Option<usize>,
        hedge_after_ms: Option<u64>,
        endpoints: Vec<EndpointSection>,
        first: Option<EndpointSection>,
        canaries: Option<CanarySection>,
    }
}

endpoint_section! {
    /// One endpoint of a judge.
    EndpointSection {}
}

impl JudgeSection {
    /// Returns the endpoint that the section itself describes, if it does.
    pub(super) fn own_endpoint(&self) -> Option<EndpointSection> {
        (self.base_url.is_some() || self.endpoints.is_empty()).then(|| self.into())
    }
}

/// The trained scorer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LocalJudgeSection {
    pub(super) mode: Option<String>,
    pub(super) model: Option<String>,
    pub(super) audit_share: Option<f64>,
}

/// Learning from the judge.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LearningSection {
    pub(super) enabled: Option<bool>,
    pub(super) directory: Option<String>,
    pub(super) every: Option<String>,
    pub(super) keep_days: Option<u32>,
    pub(super) min_days: Option<usize>,
    pub(super) floor: Option<String>,
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
    pub(super) organisation_calls_per_minute: Option<u32>,
    pub(super) organisation_tokens_per_minute: Option<u64>,
    pub(super) organisation_spend_per_day: Option<f64>,
    pub(super) max_organisations: Option<usize>,
    pub(super) queue_ms: Option<u64>,
    pub(super) requests_per_minute: Option<u32>,
    pub(super) judge_calls_per_minute: Option<u32>,
    pub(super) suspected_per_minute: Option<u32>,
    pub(super) max_body_bytes: Option<usize>,
    pub(super) max_batch: Option<usize>,
    pub(super) max_depth: Option<usize>,
    pub(super) max_in_flight: Option<usize>,
    pub(super) max_in_flight_bytes: Option<usize>,
    pub(super) body_timeout_ms: Option<u64>,
    pub(super) worker_threads: Option<usize>,
    pub(super) max_waiting: Option<usize>,
    pub(super) longest_wait_ms: Option<u64>,
    pub(super) max_connections: Option<usize>,
    pub(super) max_connections_per_peer: Option<usize>,
    pub(super) drain_delay_ms: Option<u64>,
    pub(super) idle_timeout_ms: Option<u64>,
}

/// Messages between agents.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct A2aSection {
    pub(super) side: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CacheSection {
    pub(super) max_bytes: Option<u64>,
    pub(super) ttl_seconds: Option<u64>,
    pub(super) deny_ttl_seconds: Option<u64>,
    pub(super) organisation_share: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SessionSection {
    pub(super) enabled: Option<bool>,
    pub(super) max_sessions: Option<u64>,
    pub(super) max_bytes: Option<u64>,
    pub(super) organisation_share: Option<f64>,
    pub(super) max_steps: Option<usize>,
    pub(super) max_session_bytes: Option<usize>,
    pub(super) ttl_seconds: Option<u64>,
    pub(super) by_credential: Option<bool>,
    pub(super) directory: Option<String>,
    pub(super) max_disk_bytes: Option<u64>,
}

/// Certificates.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TlsSection {
    pub(super) certificate: Option<String>,
    pub(super) key: Option<String>,
    pub(super) client_ca: Option<String>,
}

/// State that several nodes share.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SharedSection {
    pub(super) redis: Option<String>,
    pub(super) prefix: Option<String>,
    pub(super) timeout_ms: Option<u64>,
    pub(super) key_env: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AuditSection {
    pub(super) ca_file: Option<String>,
    pub(super) keep: Option<String>,
    pub(super) max_spool_bytes: Option<u64>,
    pub(super) on_failure: Option<String>,
    pub(super) sign_key_env: Option<String>,
    pub(super) sign_key_file: Option<String>,
    pub(super) spool: Option<String>,
    pub(super) to: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct MetricsSection {
    pub(super) listen: Option<String>,
    pub(super) api_keys: Option<Vec<String>>,
}

/// Envelopes of the Agent Control Standard.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AcsSection {
    pub(super) skew_seconds: Option<u64>,
    pub(super) on_decision_failure: Option<String>,
    pub(super) max_sessions: Option<usize>,
    pub(super) journal: Option<String>,
    pub(super) keys: Vec<AcsKeySection>,
}

/// A secret that signs envelopes.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AcsKeySection {
    pub(super) key_id: Option<String>,
    pub(super) value: Option<String>,
    pub(super) organisation: Option<String>,
}

impl std::fmt::Debug for AcsKeySection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AcsKeySection({:?}, {:?})", self.key_id, self.organisation)
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LogSection {
    pub(super) filter: Option<String>,
    pub(super) format: Option<String>,
}

/// The destination of telemetry.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OtlpSection {
    pub(super) endpoint: Option<String>,
    pub(super) protocol: Option<String>,
    pub(super) sample: Option<f64>,
    pub(super) content: Option<bool>,
}

/// The destination of events.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct EventSection {
    pub(super) nats: Option<String>,
    pub(super) stream: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) webhook: Option<String>,
    pub(super) webhook_key_env: Option<String>,
    pub(super) file: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OrganisationSection {
    pub(super) id: Option<String>,
    pub(super) api_keys: Vec<String>,
    pub(super) keys: Vec<KeySection>,
    pub(super) certificates: Vec<String>,
    pub(super) prompts: Option<String>,
    pub(super) policy: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) local_judge: Option<String>,
    pub(super) learning: Option<bool>,
    pub(super) calls_per_minute: Option<u32>,
    pub(super) tokens_per_minute: Option<u64>,
    pub(super) spend_per_day: Option<f64>,
    pub(super) weight: Option<u32>,
}

/// A key of an organisation, with what it may be used for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct KeySection {
    pub(super) key: Option<String>,
    pub(super) name: Option<String>,
    pub(super) scopes: Option<Vec<String>>,
    pub(super) expires: Option<String>,
}

/// An issuer of tokens.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OidcSection {
    pub(super) issuer: Option<String>,
    pub(super) audience: Option<String>,
    pub(super) audiences: Vec<String>,
    pub(super) name: Option<String>,
    pub(super) jwks_url: Option<String>,
    pub(super) algorithms: Option<Vec<String>>,
    pub(super) organisation_claim: Option<String>,
    pub(super) organisation: Option<String>,
    pub(super) caller_claim: Option<String>,
    pub(super) scope_claim: Option<String>,
    pub(super) leeway_seconds: Option<u64>,
    pub(super) refresh_seconds: Option<u64>,
    pub(super) max_stale_seconds: Option<u64>,
    pub(super) unknown_key_seconds: Option<u64>,
    pub(super) ca_file: Option<String>,
}

/// The keys of an issuer, for the schema.
const KEYS: &[&str] = &[
    "issuer",
    "audience",
    "audiences",
    "name",
    "jwks_url",
    "algorithms",
    "organisation_claim",
    "organisation",
    "caller_claim",
    "scope_claim",
    "leeway_seconds",
    "refresh_seconds",
    "max_stale_seconds",
    "unknown_key_seconds",
    "ca_file",
];

/// `[oidc]`, or `[[oidc]]` for several issuers.
#[derive(Clone, Debug, Default)]
pub(super) struct OidcSections(pub(super) Vec<OidcSection>);

impl<'de> Deserialize<'de> for OidcSections {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrSeveral;
        impl<'de> Visitor<'de> for OneOrSeveral {
            type Value = OidcSections;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a section `[oidc]`, or several `[[oidc]]`")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let one = OidcSection::deserialize(MapAccessDeserializer::new(map))?;
                Ok(OidcSections(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(OidcSections)
            }
        }
        deserializer.deserialize_struct("OidcSection", KEYS, OneOrSeveral)
    }
}

/// A gateway before or behind an agent that speaks another protocol.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct GatewaySection {
    pub(super) name: Option<String>,
    pub(super) protocol: Option<String>,
    pub(super) listen: Option<String>,
    pub(super) upstream: Option<String>,
    pub(super) direction: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) stream_mode: Option<String>,
    pub(super) hold_bytes: Option<usize>,
    pub(super) on_deny: Option<String>,
    pub(super) public_url: Option<String>,
    pub(super) organisation: Option<String>,
    pub(super) client_keys: Option<Vec<String>>,
    pub(super) client_auth: Option<String>,
    pub(super) client_tokens: Option<bool>,
    pub(super) allow_unauthenticated: bool,
    pub(super) oauth2: Option<GatewayOAuth2Section>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) pass_auth: Option<bool>,
    pub(super) pass_headers: Vec<String>,
    pub(super) guardian_url: Option<String>,
    pub(super) guardian_key_env: Option<String>,
    pub(super) upstream_timeout_ms: Option<u64>,
    pub(super) max_message_bytes: Option<usize>,
    pub(super) max_in_flight: Option<usize>,
    pub(super) push_hosts: Vec<String>,
    pub(super) tools_file: Option<String>,
}

/// The credentials with which a gateway gets tokens for the agent behind it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct GatewayOAuth2Section {
    pub(super) token_url: Option<String>,
    pub(super) client_id: Option<String>,
    pub(super) client_secret: Option<String>,
    pub(super) scope: Option<String>,
}

impl ConfigFile {
    /// Reads TOML; `file` is for messages.
    ///
    /// # Errors
    ///
    /// When it is no TOML, has a key that does not exist, or a number out of its bounds.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let malformed = |error: toml::de::Error| ConfigError::Malformed {
            file: file.to_owned(),
            why: crate::policy::with_suggestion(&error.to_string()),
        };
        bounds::check(file, &toml::from_str(text).map_err(malformed)?)?;
        toml::from_str(text).map_err(malformed)
    }
}
