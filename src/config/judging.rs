//! The judge as a whole: what it is shown, how long it may take, what happens when it fails, and how it is watched.

use std::time::Duration;

use super::ConfigError;
use super::file::{CanarySection, JudgeSection};
use super::settings::Reader;
use crate::model::Posture;
use crate::{judge, pipeline, prompt, selftest};

impl Reader<'_> {
    pub(super) fn judge(&self, section: &JudgeSection) -> Result<judge::Settings, ConfigError> {
        let settings = judge::Settings {
            llm: self.chain(section)?,
            first: self.first_stage(section)?,
            unusable: self
                .named(
                    "judge.unusable_answers",
                    section.unusable_answers.as_deref(),
                    judge::UnusableAnswers::ALL,
                )?
                .unwrap_or_default(),
            budget_tokens: section.prompt_budget_tokens.unwrap_or(prompt::DEFAULT_BUDGET_TOKENS),
            reasoning: self
                .named(
                    "judge.agent_reasoning",
                    section.agent_reasoning.as_deref(),
                    judge::AgentReasoning::ALL,
                )?
                .unwrap_or(judge::AgentReasoning::Shown),
        };
        judge::Judge::new(settings.clone()).map_err(|error| self.wrong("judge", error.to_string()))?;
        Ok(settings)
    }

    pub(super) fn canaries(
        &self,
        section: &CanarySection,
        timeout: Duration,
    ) -> Result<selftest::Settings, ConfigError> {
        let minutes = section.every_minutes.ok_or_else(|| {
            self.wrong(
                "judge.canaries.every_minutes",
                "is needed when `[judge.canaries]` is there: the minutes between rounds",
            )
        })?;
        Ok(selftest::Settings {
            every: Duration::from_secs(60 * minutes),
            min_right: section.min_right.unwrap_or(0.8),
            on_alarm: self
                .named(
                    "judge.canaries.on_alarm",
                    section.on_alarm.as_deref(),
                    selftest::OnAlarm::ALL,
                )?
                .unwrap_or(selftest::OnAlarm::Log),
            timeout,
        })
    }

    pub(super) fn timeout(&self, section: Option<&JudgeSection>) -> Duration {
        let given = section.and_then(|section| section.timeout_ms);
        given.map_or(pipeline::Settings::default().timeout, Duration::from_millis)
    }

    pub(super) fn pipeline(&self, section: Option<&JudgeSection>) -> Result<pipeline::Settings, ConfigError> {
        let on_failure = section.and_then(|section| section.on_failure.as_deref());
        let at_once = section.and_then(|section| section.max_in_flight);
        Ok(pipeline::Settings {
            timeout: self.timeout(section),
            on_failure: self
                .named("judge.on_failure", on_failure, Posture::ALL)?
                .unwrap_or(Posture::Deny),
            judged_at_once: at_once.unwrap_or(pipeline::Settings::default().judged_at_once),
            ..pipeline::Settings::default()
        })
    }
}
