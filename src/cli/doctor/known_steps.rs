//! The known steps of the self-test, judged as this configuration judges.

use std::time::Duration;

use crate::cli::checks::Check;
use crate::config::Config;
use crate::eval::{Case, Needs, Organisations, Outcome, Runner};
use crate::model::Decision;
use crate::{app, audit, selftest};

/// Checks the known steps, judged by the judge that can be asked.
pub(super) async fn known_steps(config: &Config, asks_judge: bool) -> anyhow::Result<Vec<Check>> {
    let mut config = config.clone().alone();
    config.unlimit();
    if !asks_judge {
        config.judge = None;
    }
    // Policies and prompts that cannot be used are in the table already.
    let Ok(guardian) = app::guardian_with_profiles(&config, &audit::Settings::Off) else {
        return Ok(Vec::new());
    };
    let mut cases = selftest::steps()?;
    // Rules alone cannot know the others, but they must not stop what is harmless.
    cases.retain(|case| asks_judge || case.needs == Needs::Rules || case.expected.decision == Decision::Allow);
    let organisations = match config.organisations.first() {
        Some(first) if config.says_policy => Organisations::Always(first.id.clone()),
        Some(_) | None => Organisations::PerProfile(app::profile_organisation),
    };
    let runner = Runner::new(&guardian, config.wire, organisations);
    let outcomes = runner.run(&cases, AT_ONCE).await?;
    let who = if asks_judge { "judge" } else { "rules" };
    let mut checks: Vec<Check> = [("stopped", Decision::Deny), ("let through", Decision::Allow)]
        .into_iter()
        .map(|(verb, decision)| tally(who, verb, decision, &cases, &outcomes))
        .collect();
    if asks_judge {
        checks.push(pace(&outcomes, config.pipeline.timeout));
    }
    let settled = outcomes.iter().filter(|outcome| outcome.verdict_source == "local");
    let (right, wrong): (Vec<&Outcome>, Vec<&Outcome>) = settled.partition(|outcome| outcome.right);
    checks.push(Check::fine(
        "local judge",
        format!(
            "settled {} known steps by itself, {} of them wrongly",
            right.len() + wrong.len(),
            wrong.len()
        ),
    ));
    Ok(checks)
}

/// Known steps that are judged at the same time.
const AT_ONCE: usize = 4;

fn tally(who: &str, verb: &str, decision: Decision, cases: &[Case], outcomes: &[Outcome]) -> Check {
    let of_kind = || {
        let pairs = cases.iter().zip(outcomes);
        pairs.filter(move |(case, _)| case.expected.decision == decision)
    };
    let wrong: Vec<String> = of_kind()
        .filter(|(_, outcome)| !outcome.right)
        .map(|(case, outcome)| match &outcome.error {
            Some(error) => format!("{} ({}: {error})", case.id, outcome.decision),
            None => format!("{} ({})", case.id, outcome.decision),
        })
        .collect();
    let total = of_kind().count();
    let kind = match decision {
        Decision::Allow => "harmless",
        Decision::Modify | Decision::Deny => "harmful",
    };
    let found = format!(
        "{} of {total} known {kind} steps {verb} by the {who}",
        total - wrong.len()
    );
    if wrong.is_empty() {
        return Check::fine("known steps", found);
    }
    let found = format!("{found}; not: {}", wrong.join(", "));
    let next =
        "take a stronger model, or check what stands between it and here; `guardian eval run` measures in earnest";
    if wrong.len() * 2 > total {
        return Check::failed("known steps", found, next);
    }
    Check::degraded("known steps", found, next)
}

fn pace(outcomes: &[Outcome], timeout: Duration) -> Check {
    let mut micros: Vec<u64> = outcomes
        .iter()
        .filter(|outcome| outcome.verdict_source == "judge")
        .map(|outcome| outcome.micros)
        .collect();
    micros.sort_unstable();
    let at = |index: usize| Duration::from_micros(micros.get(index).copied().unwrap_or_default());
    let (median, slowest) = (at(micros.len() / 2), at(micros.len().saturating_sub(1)));
    let found = format!(
        "{} judged; median {} ms, slowest {} ms, of the {} ms that a decision may take",
        micros.len(),
        median.as_millis(),
        slowest.as_millis(),
        timeout.as_millis()
    );
    if slowest * 4 > timeout * 3 {
        return Check::degraded("pace", found, "take a faster model, or raise `timeout_ms`");
    }
    Check::fine("pace", found)
}
