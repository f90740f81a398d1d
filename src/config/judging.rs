//! The judge as a whole: what it is shown, how long it may take, what happens when it fails, and how it is watched.

use std::time::Duration;

use super::ConfigError;
use super::file::{CanarySection, JudgeSection};
use super::settings::Reader;
use crate::model::Posture;
use crate::{judge, pipeline, prompt, selftest};

impl Reader<'_> {
    pub(super) fn judge(&self, section: &JudgeSection) -> Result<judge::Settings, ConfigError> {
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

    pub(super) fn canaries(
        &self,
        section: &CanarySection,
        timeout: Duration,
    ) -> Result<selftest::Settings, ConfigError> {
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
            min_right: self.number("judge.canaries.min_right", section.min_right, 0.8, 0.0..=1.0)?,
            on_alarm: self.one_of("judge.canaries.on_alarm", on_alarm, ALARMS)?,
            timeout,
        })
    }

    pub(super) fn timeout(&self, section: Option<&JudgeSection>) -> Result<Duration, ConfigError> {
        match section.and_then(|section| section.timeout_ms) {
            Some(ms) => self.millis("judge.timeout_ms", ms, 50),
            None => Ok(pipeline::Settings::default().timeout),
        }
    }

    pub(super) fn pipeline(&self, section: Option<&JudgeSection>) -> Result<pipeline::Settings, ConfigError> {
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
            ..pipeline::Settings::default()
        })
    }
}
