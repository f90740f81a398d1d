//! The file and the environment, checked, as the settings of each component.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file::{
    A2aSection, CanarySection, JudgeSection, LimitSection, LogSection, OrganisationSection, SessionSection,
};
use super::{ApiKey, ConfigError, ConfigFile};
use crate::model::{OrganisationId, Posture};
use crate::policy::PROFILE_NAMES;
use crate::{audit, cache, judge, limit, local, pipeline, prompt, selftest, server, session, telemetry, wire, work};

/// Everything that is configured, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it came from, for messages.
    pub file: String,
    /// The server.
    pub server: server::Settings,
    /// What a request may be.
    pub wire: wire::Limits,
    /// The judge, where one is configured.
    pub judge: Option<judge::Settings>,
    /// The trained scorer of the local judge.
    pub local_judge: local::Settings,
    /// How a server asks its judge about known steps; `None`: it does not.
    pub canaries: Option<selftest::Settings>,
    /// The pipeline.
    pub pipeline: pipeline::Settings,
    /// How much is examined at the same time.
    pub work: work::Settings,
    /// Rate limits.
    pub limits: limit::Settings,
    /// The cache.
    pub cache: cache::Settings,
    /// What is remembered of sessions; `None`: nothing.
    pub sessions: Option<session::Settings>,
    /// The audit log; `None`: whatever the command finds fit.
    pub audit: Option<audit::Settings>,
    /// What happens while its records cannot be written.
    pub audit_on_failure: audit::OnFailure,
    /// Logs.
    pub log: telemetry::Settings,
    /// The organisations; at least one.
    pub organisations: Vec<OrganisationSettings>,
}

/// An organisation, as configured.
#[derive(Clone, Debug)]
pub struct OrganisationSettings {
    /// Its id.
    pub id: OrganisationId,
    /// Its keys.
    pub api_keys: Vec<ApiKey>,
    /// Its prompts; `None`: those that are compiled in.
    pub prompts: Option<PathBuf>,
    /// Its policy.
    pub policy: PolicyChoice,
    /// What it may use of the judge.
    pub allowance: limit::Allowance,
    /// What is made of the trained scorer.
    pub local_judge: local::Mode,
}

/// Which policy applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyChoice {
    /// A built-in profile.
    Profile(String),
    /// A file.
    File(PathBuf),
}

impl Config {
    /// Whether what only a start puts into effect is the same: everything but organisations.
    pub fn starts_like(&self, other: &Self) -> bool {
        let fixed = |config: &Self| {
            let Self {
                file: _,
                server,
                wire,
                judge,
                local_judge,
                canaries,
                pipeline,
                work,
                limits,
                cache,
                sessions,
                audit,
                audit_on_failure,
                log,
                organisations: _,
            } = config;
            format!(
                "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
                server,
                wire,
                judge,
                local_judge,
                canaries,
                pipeline,
                work,
                limits,
                cache,
                sessions,
                audit,
                audit_on_failure,
                log
            )
        };
        fixed(self) == fixed(other)
    }
}

/// Whether endpoints are going to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// They are: a key that is named has to be there.
    Needed,
    /// They are not: a key that is not there is left out.
    Unneeded,
}

/// Reads values of one file and says where a wrong one stands.
pub(super) struct Reader<'a> {
    file: &'a str,
    folder: &'a Path,
    pub(super) keys: Keys,
}

impl ConfigFile {
    /// Checks every value. `file` is for messages; paths are relative to `folder`.
    ///
    /// # Errors
    ///
    /// The first value that cannot be used.
    pub fn resolve(self, file: &str, folder: &Path) -> Result<Config, ConfigError> {
        self.resolve_with(file, folder, Keys::Needed)
    }

    /// As [`resolve`](Self::resolve), where keys of endpoints may be missing if nobody is going to be asked.
    ///
    /// # Errors
    ///
    /// The first value that cannot be used.
    pub fn resolve_with(mut self, file: &str, folder: &Path, keys: Keys) -> Result<Config, ConfigError> {
        self.take_environment(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        let reader = Reader { file, folder, keys };
        let judge = self.judge.as_ref().map(|section| reader.judge(section)).transpose()?;
        let pipeline = reader.pipeline(self.judge.as_ref())?;
        let organisations = reader.organisations(&self)?;
        let authenticated = organisations
            .iter()
            .any(|organisation| !organisation.api_keys.is_empty());
        let canaries = self.judge.as_ref().and_then(|judge| judge.canaries.as_ref());
        Ok(Config {
            file: file.to_owned(),
            canaries: canaries
                .map(|section| reader.canaries(section, pipeline.timeout))
                .transpose()?,
            server: reader.server(&self, authenticated, pipeline.timeout)?,
            wire: reader.wire(&self.limits, &self.a2a)?,
            judge,
            local_judge: reader.local_judge(&self.local_judge)?,
            pipeline,
            work: reader.work(&self.limits)?,
            limits: reader.limits(&self.limits)?,
            cache: reader.cache(&self.cache)?,
            sessions: reader.sessions(&self.sessions)?,
            audit: self.audit.to.as_deref().map(|to| match to {
                "off" => audit::Settings::Off,
                "stderr" => audit::Settings::Stderr,
                path => audit::Settings::File(reader.path(path)),
            }),
            audit_on_failure: reader.one_of(
                "audit.on_failure",
                self.audit.on_failure.as_deref().unwrap_or("continue"),
                &[
                    ("continue", audit::OnFailure::Continue),
                    ("refuse", audit::OnFailure::Refuse),
                ],
            )?,
            log: reader.log(&self.log)?,
            organisations,
        })
    }

    /// Puts environment variables over what the file says.
    fn take_environment(&mut self, variable: impl Fn(&str) -> Option<String>) {
        if let Some(listen) = variable("GUARDIAN_LISTEN") {
            self.listen = Some(listen);
        }
        let base_url = variable("GUARDIAN_JUDGE_BASE_URL");
        let model = variable("GUARDIAN_JUDGE_MODEL");
        let api_key_env = variable("GUARDIAN_JUDGE_API_KEY_ENV");
        if base_url.is_some() || model.is_some() || api_key_env.is_some() {
            let judge = self.judge.get_or_insert_default();
            judge.base_url = base_url.or(judge.base_url.take());
            judge.model = model.or(judge.model.take());
            judge.api_key_env = api_key_env.or(judge.api_key_env.take());
        }
        if let Some(filter) = variable("GUARDIAN_LOG") {
            self.log.filter = Some(filter);
        }
    }
}

impl Reader<'_> {
    pub(super) fn wrong(&self, key: &str, why: impl Into<String>) -> ConfigError {
        ConfigError::Invalid {
            file: self.file.to_owned(),
            key: key.to_owned(),
            why: why.into(),
        }
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    pub(super) fn one_of<T: Copy>(&self, key: &str, found: &str, known: &[(&str, T)]) -> Result<T, ConfigError> {
        known
            .iter()
            .find(|(name, _)| *name == found)
            .map(|(_, value)| *value)
            .ok_or_else(|| {
                let names: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
                self.wrong(key, format!("expected one of {}, found `{found}`", names.join(", ")))
            })
    }

    pub(super) fn within<T: PartialOrd + std::fmt::Display>(
        &self,
        key: &str,
        value: T,
        least: T,
        most: T,
    ) -> Result<T, ConfigError> {
        if value < least || value > most {
            return Err(self.wrong(key, format!("expected {least} to {most}, found {value}")));
        }
        Ok(value)
    }

    fn judge(&self, section: &JudgeSection) -> Result<judge::Settings, ConfigError> {
        let mut settings = judge::Settings {
            llm: self.chain(section)?,
            first: self.first_stage(section)?,
            unusable: judge::UnusableAnswers::default(),
            budget_tokens: prompt::DEFAULT_BUDGET_TOKENS,
            reasoning: judge::AgentReasoning::Shown,
        };
        if let Some(tokens) = section.prompt_budget_tokens {
            settings.budget_tokens = self.within("judge.prompt_budget_tokens", tokens, 2_000, 1_000_000)?;
        }
        if let Some(unusable) = &section.unusable_answers {
            const UNUSABLE: &[(&str, judge::UnusableAnswers)] = &[
                ("ask_again", judge::UnusableAnswers::AskAgain),
                ("fail", judge::UnusableAnswers::Fail),
            ];
            settings.unusable = self.one_of("judge.unusable_answers", unusable, UNUSABLE)?;
        }
        if let Some(reasoning) = &section.agent_reasoning {
            const SHOWN: &[(&str, judge::AgentReasoning)] = &[
                ("shown", judge::AgentReasoning::Shown),
                ("withheld", judge::AgentReasoning::Withheld),
                ("both", judge::AgentReasoning::Both),
            ];
            settings.reasoning = self.one_of("judge.agent_reasoning", reasoning, SHOWN)?;
        }
        judge::Judge::new(settings.clone()).map_err(|error| self.wrong("judge", error.to_string()))?;
        Ok(settings)
    }

    fn canaries(&self, section: &CanarySection, timeout: Duration) -> Result<selftest::Settings, ConfigError> {
        const ALARMS: &[(&str, selftest::OnAlarm)] =
            &[("log", selftest::OnAlarm::Log), ("deny", selftest::OnAlarm::Deny)];
        let minutes = section.every_minutes.ok_or_else(|| {
            self.wrong(
                "judge.canaries.every_minutes",
                "is needed when `[judge.canaries]` is there: the minutes between rounds",
            )
        })?;
        let minutes = self.within("judge.canaries.every_minutes", minutes, 1, 10_080)?;
        let on_alarm = section.on_alarm.as_deref().unwrap_or("log");
        Ok(selftest::Settings {
            every: Duration::from_secs(60 * minutes),
            min_right: self.within("judge.canaries.min_right", section.min_right.unwrap_or(0.8), 0.0, 1.0)?,
            on_alarm: self.one_of("judge.canaries.on_alarm", on_alarm, ALARMS)?,
            timeout,
        })
    }

    pub(super) fn timeout(&self, section: Option<&JudgeSection>) -> Result<Duration, ConfigError> {
        match section.and_then(|section| section.timeout_ms) {
            Some(ms) => Ok(Duration::from_millis(self.within(
                "judge.timeout_ms",
                ms,
                50,
                600_000,
            )?)),
            None => Ok(pipeline::Settings::default().timeout),
        }
    }

    fn pipeline(&self, section: Option<&JudgeSection>) -> Result<pipeline::Settings, ConfigError> {
        const POSTURES: &[(&str, Posture)] = &[
            ("deny", Posture::Deny),
            ("allow", Posture::Allow),
            ("error", Posture::Error),
        ];
        let on_failure = section
            .and_then(|section| section.on_failure.as_deref())
            .unwrap_or("deny");
        Ok(pipeline::Settings {
            timeout: self.timeout(section)?,
            on_failure: self.one_of("judge.on_failure", on_failure, POSTURES)?,
        })
    }

    fn wire(&self, section: &LimitSection, a2a: &A2aSection) -> Result<wire::Limits, ConfigError> {
        let defaults = wire::Limits::default();
        Ok(wire::Limits {
            max_body_bytes: section.max_body_bytes.unwrap_or(defaults.max_body_bytes),
            max_batch: self.within(
                "limits.max_batch",
                section.max_batch.unwrap_or(defaults.max_batch),
                1,
                10_000,
            )?,
            max_depth: self.within(
                "limits.max_depth",
                section.max_depth.unwrap_or(defaults.max_depth),
                16,
                1_000,
            )?,
            a2a_side: self.one_of(
                "a2a.side",
                a2a.side.as_deref().unwrap_or(defaults.a2a_side.as_str()),
                &[("client", wire::Side::Client), ("server", wire::Side::Server)],
            )?,
            ..defaults
        })
    }

    fn limits(&self, section: &LimitSection) -> Result<limit::Settings, ConfigError> {
        let defaults = limit::Settings::default();
        Ok(limit::Settings {
            most_organisations: self.within(
                "limits.max_organisations",
                section.max_organisations.unwrap_or(defaults.most_organisations),
                1,
                10_000_000,
            )?,
            queue: match section.queue_ms {
                Some(ms) => Duration::from_millis(self.within("limits.queue_ms", ms, 0, 60_000)?),
                None => defaults.queue,
            },
            requests_per_minute: self.positive("limits.requests_per_minute", section.requests_per_minute)?,
            judge_calls_per_minute: self.positive("limits.judge_calls_per_minute", section.judge_calls_per_minute)?,
        })
    }

    /// A limit, where there is one.
    pub(super) fn positive(&self, key: &str, value: Option<u32>) -> Result<Option<NonZeroU32>, ConfigError> {
        match value {
            None => Ok(None),
            Some(n) => NonZeroU32::new(n)
                .map(Some)
                .ok_or_else(|| self.wrong(key, "expected a positive number; leave it out for no limit")),
        }
    }

    fn sessions(&self, section: &SessionSection) -> Result<Option<session::Settings>, ConfigError> {
        let defaults = session::Settings::default();
        let settings = session::Settings {
            sessions: self.within(
                "sessions.max_sessions",
                section.max_sessions.unwrap_or(defaults.sessions),
                1,
                100_000_000,
            )?,
            bytes: self.within(
                "sessions.max_bytes",
                section.max_bytes.unwrap_or(defaults.bytes),
                1024 * 1024,
                1024 * 1024 * 1024 * 1024,
            )?,
            organisation_share: self.share(
                "sessions.organisation_share",
                section.organisation_share.unwrap_or(defaults.organisation_share),
            )?,
            steps_per_session: self.within(
                "sessions.max_steps",
                section.max_steps.unwrap_or(defaults.steps_per_session),
                1,
                10_000,
            )?,
            bytes_per_session: self.within(
                "sessions.max_session_bytes",
                section.max_session_bytes.unwrap_or(defaults.bytes_per_session),
                256 * 1024,
                64 * 1024 * 1024,
            )?,
            time_to_live: match section.ttl_seconds {
                Some(seconds) => {
                    Duration::from_secs(self.within("sessions.ttl_seconds", seconds, 1, 30 * 24 * 3_600)?)
                }
                None => defaults.time_to_live,
            },
            nameless: match section.by_credential {
                Some(false) => session::Nameless::Alone,
                Some(true) | None => defaults.nameless,
            },
        };
        Ok(section.enabled.unwrap_or(true).then_some(settings))
    }

    fn log(&self, section: &LogSection) -> Result<telemetry::Settings, ConfigError> {
        const FORMATS: &[(&str, telemetry::LogFormat)] = &[
            ("text", telemetry::LogFormat::Text),
            ("json", telemetry::LogFormat::Json),
        ];
        let defaults = telemetry::Settings::default();
        Ok(telemetry::Settings {
            filter: section.filter.clone().unwrap_or(defaults.filter),
            format: match &section.format {
                Some(format) => self.one_of("log.format", format, FORMATS)?,
                None => defaults.format,
            },
        })
    }

    fn organisations(&self, file: &ConfigFile) -> Result<Vec<OrganisationSettings>, ConfigError> {
        let prompts = file.prompts_dir.as_deref().map(|dir| self.path(dir));
        let policy = file
            .policy
            .as_deref()
            .map_or(PolicyChoice::Profile("default".to_owned()), |p| self.policy(p));
        if file.organisations.is_empty() {
            let id = pipeline::Organisation::default_id();
            return Ok(vec![OrganisationSettings {
                id,
                api_keys: Vec::new(),
                prompts,
                policy,
                allowance: self.allowance(&file.limits, None)?,
                local_judge: self.local_mode(&file.local_judge, None)?,
            }]);
        }
        let mut organisations: Vec<OrganisationSettings> = Vec::new();
        for (index, section) in file.organisations.iter().enumerate() {
            let at = |key: &str| format!("organisations[{index}].{key}");
            let mut organisation = self.organisation(section, &at, &prompts, &policy)?;
            organisation.allowance = self.allowance(&file.limits, Some((section, &at)))?;
            organisation.local_judge = self.local_mode(&file.local_judge, Some((&at("local_judge"), section)))?;
            for other in &organisations {
                if other.id == organisation.id {
                    return Err(self.wrong(&at("id"), format!("`{}` is there twice", organisation.id)));
                }
                if other.api_keys.iter().any(|key| organisation.api_keys.contains(key)) {
                    return Err(self.wrong(&at("api_keys"), format!("a key also belongs to `{}`", other.id)));
                }
            }
            organisations.push(organisation);
        }
        Ok(organisations)
    }

    fn organisation(
        &self,
        section: &OrganisationSection,
        at: &dyn Fn(&str) -> String,
        prompts: &Option<PathBuf>,
        policy: &PolicyChoice,
    ) -> Result<OrganisationSettings, ConfigError> {
        let id = section.id.as_deref().unwrap_or_default();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if id.is_empty() || id.len() > 64 || !id.chars().all(fits) {
            return Err(self.wrong(
                &at("id"),
                format!("expected 1 to 64 of `a-z A-Z 0-9 - _ .`, found `{id}`"),
            ));
        }
        if section.api_keys.is_empty() {
            return Err(self.wrong(
                &at("api_keys"),
                "expected at least one key, or nobody could speak for it",
            ));
        }
        let mut api_keys = Vec::new();
        for (index, text) in section.api_keys.iter().enumerate() {
            let key = ApiKey::parse(text, |name| std::env::var(name).ok())
                .map_err(|why| self.wrong(&at(&format!("api_keys[{index}]")), why))?;
            api_keys.push(key);
        }
        Ok(OrganisationSettings {
            id: OrganisationId::new(id),
            api_keys,
            prompts: section
                .prompts
                .as_deref()
                .map(|dir| self.path(dir))
                .or_else(|| prompts.clone()),
            policy: section
                .policy
                .as_deref()
                .map_or_else(|| policy.clone(), |p| self.policy(p)),
            allowance: limit::Allowance::default(),
            local_judge: local::Mode::default(),
        })
    }

    /// A built-in profile by its name, else a file.
    fn policy(&self, text: &str) -> PolicyChoice {
        if PROFILE_NAMES.contains(&text) {
            PolicyChoice::Profile(text.to_owned())
        } else {
            PolicyChoice::File(self.path(text))
        }
    }
}
