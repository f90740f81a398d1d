//! Under what cases are run: the configuration, whose policy is in force, who is asked.

use anyhow::Context;
use clap::Args;

use super::answers::{AnswerArguments, AnswerSource};
use crate::app;
use crate::cli::{ConfigArgument, OrganisationArgument, organisation};
use crate::config::Config;
use crate::eval::{Case, History, JudgeSource, Organisations, Runner};
use crate::pipeline::Guardian;

/// Under what cases are run.
#[derive(Debug, Args)]
pub(super) struct ConditionArguments {
    /// Judge each step by itself, without what happened before it.
    #[arg(long)]
    without_history: bool,
    /// Judge each case under the built-in profile that it names, also where the configuration has a policy.
    #[arg(long, conflicts_with = "organisation")]
    profiles: bool,
    /// Ask no endpoint: measure what the guardian decides by itself.
    #[arg(long, conflicts_with_all = ["record", "url"])]
    offline: bool,
    #[command(flatten)]
    pub(super) answers: AnswerArguments,
    #[command(flatten)]
    organisation: OrganisationArgument,
    #[command(flatten)]
    config: ConfigArgument,
}

impl ConditionArguments {
    /// Loads the configuration of the run.
    pub(super) fn configured(&self) -> anyhow::Result<Config> {
        let config = if self.answers.asks_nobody() {
            self.config.load_to_ask_nobody()?
        } else if self.answers.records() {
            self.config.load()?
        } else {
            self.config.load_to_ask_if_possible(self.offline)?
        };
        // A measurement leaves no records among those of real steps.
        Ok(config.alone())
    }

    pub(super) fn history(&self) -> History {
        if self.without_history {
            History::LeftOut
        } else {
            History::Replayed
        }
    }

    /// Returns the policy in force, and its name for the report.
    pub(super) fn in_force(&self, config: &Config) -> anyhow::Result<(Organisations, String)> {
        let asked_for = self.organisation.organisation.is_some();
        if !asked_for && (self.profiles || !config.says_policy) {
            let name = "as each case names it".to_owned();
            return Ok((Organisations::PerProfile(app::profile_organisation), name));
        }
        let organisation = self.organisation.of(config)?;
        let policy = app::policy(organisation)?;
        let name = format!("{} {} of `{}`", policy.name, policy.version, organisation.id);
        Ok((Organisations::Always(organisation.id.clone()), name))
    }

    /// Makes a runner of cases under these conditions.
    pub(super) fn runner<'g>(
        &self,
        guardian: &'g Guardian,
        config: &Config,
        organisations: Organisations,
        judge: JudgeSource,
    ) -> Runner<'g> {
        Runner {
            history: self.history(),
            judge,
            ..Runner::new(guardian, config.wire, organisations)
        }
    }
}

/// Sessions that are over take no room: no case needs that of another, and those of the cases under way fit twice.
pub(super) fn bound_sessions(config: &mut Config, at_once: usize) {
    if let Some(sessions) = &mut config.sessions {
        let under_way = at_once.max(1).saturating_mul(sessions.bytes_per_session) as u64;
        sessions.bytes = sessions.bytes.min(under_way.saturating_mul(2));
        sessions.organisation_share = 1.0;
    }
}

/// Suites hold more attacks in a minute than traffic does; and where nothing is asked, there is nothing to limit.
pub(super) fn unlimit(config: &mut Config, answers: &AnswerSource) {
    if matches!(answers, AnswerSource::Live { .. }) {
        config.limits.suspected_per_minute = std::num::NonZeroU32::MAX;
    } else {
        config.unlimit();
    }
}

/// The organisation that a case names is there.
pub(super) fn check_organisation(case: &Case, config: &Config) -> anyhow::Result<()> {
    let Some(id) = &case.expected.organisation else {
        return Ok(());
    };
    organisation(config, id).with_context(|| format!("{}: `expected.organisation`", case.place))?;
    Ok(())
}
