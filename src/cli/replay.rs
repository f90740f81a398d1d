//! `guardian replay`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::output::say;
use super::{ConfigArgument, Ended, OrganisationArgument, Quiet, input, printable, start_logging};
use crate::config::Config;
use crate::eval::{self, Case, Doubt, Organisations, Outcome, Runner, Trace};
use crate::model::OrganisationId;
use crate::{app, audit, pipeline};

/// Show which recorded steps would be decided otherwise under another configuration, and why.
///
/// The file is a trace (AOS requests, one a line) or an audit file whose policy has `contents = true`. Every step is decided
/// under both configurations, after the steps that were recorded before it in its session; they may differ in policy, prompts, rules
/// and model. Of audit records, --before may be left out: then it is what was decided at the time. The exit code is 3 where a
/// verdict changes.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The trace or the audit file; `-` for standard input.
    #[arg(value_name = "TRACE | AUDIT")]
    file: PathBuf,
    /// The configuration before.
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
    /// The configuration after.
    #[arg(long, value_name = "FILE")]
    after: PathBuf,
    #[command(flatten)]
    organisation: OrganisationArgument,
    /// Ask no endpoint: compare what the guardian decides by itself.
    #[arg(long)]
    offline: bool,
}

/// Steps that are decided at the same time.
const AT_ONCE: usize = 8;

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let name = input::name(&arguments.file);
    let text = input::text(&arguments.file)?;
    let under = |config: &Path| Configuration {
        config: ConfigArgument {
            config: Some(config.to_owned()),
        },
        organisation: arguments.organisation.clone(),
        offline: arguments.offline,
    };
    let before = arguments.before.as_deref().map(under);
    let changed = compare(&name, &text, before.as_ref(), &under(&arguments.after)).await?;
    Ok(match changed {
        0 => Ended::Done,
        _ => Ended::UnderThreshold,
    })
}

/// Under which configuration steps are decided, and whose policy and prompts apply.
pub(super) struct Configuration {
    pub(super) config: ConfigArgument,
    pub(super) organisation: OrganisationArgument,
    pub(super) offline: bool,
}

/// Prints which steps of a trace would be decided otherwise after than before, or than at the time. Answers how many.
pub(super) async fn compare(
    name: &str,
    text: &str,
    before: Option<&Configuration>,
    after: &Configuration,
) -> anyhow::Result<usize> {
    let trace = eval::read_trace(name, text).map_err(|why| anyhow::anyhow!("{why}"))?;
    let before = match before {
        Some(before) => before.decide(&trace.cases).await?,
        None => recorded(&trace)?,
    };
    let after = after.decide(&trace.cases).await?;
    Ok(tell(&trace, &before, &after))
}

/// Says which verdicts change, and why; apart from the count, those of steps that their records do not tell whole. Answers how many differ.
pub(super) fn tell(trace: &Trace, before: &[Outcome], after: &[Outcome]) -> usize {
    let changed: Vec<(&Outcome, &Outcome)> = before
        .iter()
        .zip(after)
        .filter(|(before, after)| before.decision != after.decision)
        .collect();
    let doubt_of = |outcome: &Outcome| trace.records.get(&outcome.id).and_then(|record| record.doubt);
    for (before, after) in &changed {
        let mut line = printable(&after.id);
        if let Some(record) = trace.records.get(&after.id) {
            let names = [Some(&record.decision_id), record.agent.as_ref()];
            line = names
                .map(|name| name.map_or_else(|| "-".to_owned(), |name| printable(name)))
                .join("  ");
        }
        let tool = trace.records.get(&after.id).and_then(|record| record.tool.as_deref());
        let tool = tool.map(|tool| format!(" {}", printable(tool))).unwrap_or_default();
        say!(
            "{line}  {}{tool}  {} -> {}",
            after.method,
            before.decision,
            after.decision
        );
        if let Some(doubt) = doubt_of(after) {
            say!("    uncertain: {}", doubt.as_str());
        }
        for (when, outcome) in [("before", before), ("after", after)] {
            if !outcome.reasoning.is_empty() {
                let (source, why) = (&outcome.verdict_source, printable(&outcome.reasoning));
                say!("    {when}: {source}: {why}");
            }
        }
    }
    let (certain, uncertain): (Vec<_>, Vec<_>) = changed.iter().partition(|(_, after)| doubt_of(after).is_none());
    let to = |decision: &str| certain.iter().filter(|(_, after)| after.decision == decision).count();
    say!(
        "{} of {} verdicts change: {} become allow, {} modify, {} deny, {} an error",
        certain.len(),
        after.len(),
        to("allow"),
        to("modify"),
        to("deny"),
        to("error")
    );
    if !uncertain.is_empty() {
        say!(
            "{} more may change: their steps are not known as they were",
            uncertain.len()
        );
    }
    let mut doubts: BTreeMap<Doubt, usize> = BTreeMap::new();
    for doubt in after.iter().filter_map(doubt_of) {
        *doubts.entry(doubt).or_default() += 1;
    }
    for (doubt, steps) in doubts {
        say!("of {steps} steps, {}", doubt.as_str());
    }
    if trace.left_out > 0 {
        say!(
            "{} more decisions cannot be made again of their records",
            trace.left_out
        );
    }
    changed.len()
}

/// Returns the recorded decisions as outcomes.
pub(super) fn recorded(trace: &Trace) -> anyhow::Result<Vec<Outcome>> {
    anyhow::ensure!(
        !trace.records.is_empty(),
        "--before: expected a configuration to compare with; a trace does not say what was decided"
    );
    let outcome = |case: &Case| Outcome {
        id: case.id.clone(),
        decision: trace
            .records
            .get(&case.id)
            .map_or_else(String::new, |record| record.decision.clone()),
        ..Outcome::default()
    };
    Ok(trace.cases.iter().map(outcome).collect())
}

impl Configuration {
    /// Decides about every step.
    async fn decide(&self, cases: &[Case]) -> anyhow::Result<Vec<Outcome>> {
        let place = || match &self.config.config {
            Some(file) => file.display().to_string(),
            None => "the configuration".to_owned(),
        };
        let config = self.config.load_to_ask_if_possible(self.offline).with_context(place)?;
        let id = self.organisation.of(&config).with_context(place)?.id.clone();
        decide_under(config, id, cases, |_| {}).await.with_context(place)
    }
}

/// Decides about every step as this organisation of a configuration, once `change` has changed the organisations.
pub(super) async fn decide_under(
    mut config: Config,
    organisation: OrganisationId,
    cases: &[Case],
    change: impl FnOnce(&mut pipeline::Organisations),
) -> anyhow::Result<Vec<Outcome>> {
    config.unlimit();
    start_logging(&config, Quiet::Yes)?;
    let config = app::measuring(&config);
    let guardian = app::guardian(&config, &audit::Settings::Off)?;
    let mut organisations = app::organisations(&config)?;
    change(&mut organisations);
    guardian.replace_organisations(organisations);
    let runner = Runner::new(&guardian, config.wire, Organisations::Always(organisation));
    Ok(runner.run(cases, AT_ONCE).await?)
}
