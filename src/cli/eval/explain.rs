//! `guardian eval explain`.

use std::path::PathBuf;

use clap::Args;

use super::conditions::{ConditionArguments, check_organisation, unlimit};
use crate::cli::output::say;
use crate::cli::{Ended, Quiet, printable, start_logging};
use crate::eval::{self, Case, Ceiling, Exchange, Meter, Outcome, Shown};
use crate::model::{Step, Verdict};
use crate::{app, audit};

/// Show one case end to end.
///
/// Printed are what is expected, the session before the step, its texts with what was found in them, the findings with the words
/// that they saw, the scorer's evidence, what a model was asked and said (an endpoint, or a recording with --replay), how it was
/// settled, and whether that is right. The exit code is 3 where it is wrong.
#[derive(Debug, Args)]
pub(in crate::cli) struct Arguments {
    /// The id of a case, or the place of one as FILE:LINE.
    #[arg(value_name = "CASE")]
    case: String,
    /// Suites in which an id is looked for.
    #[arg(value_name = "PATH", default_value = "evals")]
    paths: Vec<PathBuf>,
    /// Also show what a model would be asked where none is.
    #[arg(long)]
    prompt: bool,
    #[command(flatten)]
    conditions: ConditionArguments,
}

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let conditions = &arguments.conditions;
    anyhow::ensure!(
        !conditions.answers.writes(),
        "--batch-out, --record: expected a run of suites (`guardian eval run`); `explain` writes nothing"
    );
    let mut config = conditions.configured()?;
    start_logging(&config, Quiet::Yes)?;
    let case = found(arguments)?;
    check_organisation(&case, &config)?;
    let (organisations, policy) = conditions.in_force(&config)?;
    let answers = conditions.answers.open(&config)?;
    unlimit(&mut config, &answers);
    let guardian = app::guardian_with_profiles(&config, &audit::Settings::Off)?;
    let (judge, meter) = answers.judge_on(&guardian, Ceiling::default(), Meter::listening);
    let runner = conditions.runner(&guardian, &config, organisations.clone(), judge);
    let (outcome, decided) = runner.explain(&case).await;
    let mut exchanges = meter.map_or_else(Vec::new, |meter| meter.exchanges());
    if exchanges.is_empty() && arguments.prompt {
        let (judge, meter) = conditions.answers.unasked(&config)?;
        let runner = conditions.runner(&guardian, &config, organisations, judge);
        runner.explain(&case).await;
        exchanges = meter.exchanges();
    }
    expectation(&case, &policy);
    let verdict = decided.as_ref().map(|(step, decided)| (step, &**decided.verdict));
    if let Some((step, verdict)) = verdict {
        texts(&Shown::of(&case, step, verdict));
        findings(step, verdict);
        evidence(step, verdict);
    }
    asked(&exchanges);
    settlement(&outcome, verdict.map(|(_, verdict)| verdict));
    Ok(if outcome.right {
        Ended::Done
    } else {
        Ended::UnderThreshold
    })
}

/// Returns the case of this id or place.
fn found(arguments: &Arguments) -> anyhow::Result<Case> {
    let place = arguments
        .case
        .rsplit_once(':')
        .filter(|(file, line)| line.parse::<usize>().is_ok() && std::path::Path::new(file).is_file());
    let paths = place.map_or_else(|| arguments.paths.clone(), |(file, _)| vec![PathBuf::from(file)]);
    let suites = eval::read_all(&paths)?;
    let fits = |case: &Case| match place {
        Some(_) => case.place == arguments.case,
        None => case.id == arguments.case,
    };
    let mut found: Vec<Case> = suites.cases.into_iter().filter(fits).collect();
    let ids: Vec<&str> = found.iter().map(|case| case.id.as_str()).collect();
    anyhow::ensure!(
        ids.len() < 2,
        "{} holds a session of several labelled steps; name one by its id: {}",
        arguments.case,
        printable(&ids.join(", "))
    );
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    found.pop().ok_or_else(|| {
        anyhow::anyhow!(
            "expected the id of a case in {}, or FILE:LINE of a line with a labelled step; found none for `{}`",
            names.join(", "),
            printable(&arguments.case)
        )
    })
}

fn expectation(case: &Case, policy: &str) {
    say!("case      {} ({})", printable(&case.id), printable(&case.place));
    let tags = if case.tags.is_empty() {
        String::new()
    } else {
        format!("; {}", case.tags.join(", "))
    };
    say!(
        "from      {}{}; policy: {}",
        printable(&case.source),
        printable(&tags),
        printable(policy)
    );
    let expected = &case.expected;
    let decisions: Vec<&str> = expected.acceptable.iter().map(|decision| decision.as_str()).collect();
    let codes: Vec<&str> = expected.reason_codes.iter().map(|code| code.as_str()).collect();
    say!(
        "expected  {} [{}] {}",
        decisions.join(" or "),
        codes.join(", "),
        printable(&expected.note)
    );
}

fn texts(shown: &Shown) {
    for (who, text) in &shown.before {
        say!("before    {}: {}", printable(who), printable(text));
    }
    for passage in &shown.texts {
        let segments = passage.segments.iter().map(|segment| match segment.mark.as_str() {
            "" | "evidence" => printable(&segment.text),
            _ => format!("⟦{}⟧", printable(&segment.text)),
        });
        let place = format!("{} {}", passage.origin, passage.pointer);
        say!("text      {}: {}", printable(&place), segments.collect::<String>());
    }
}

/// Returns the words of a content at these bytes.
fn words(step: &Step, content: Option<crate::model::ContentId>, span: &std::ops::Range<usize>) -> String {
    let text = content.and_then(|id| step.content(id)?.text.get(span.clone()));
    text.map_or_else(String::new, |text| format!(": \"{}\"", printable(text)))
}

fn findings(step: &Step, verdict: &Verdict) {
    for finding in &verdict.findings {
        say!(
            "finding   {} ({}, {} confidence, {}) at {}[{}..{}], seen {}{}",
            finding.rule,
            finding.severity,
            finding.confidence,
            finding.reason,
            printable(finding.pointer.as_str()),
            finding.span.start,
            finding.span.end,
            finding.view,
            words(step, finding.content, &finding.span)
        );
    }
}

fn evidence(step: &Step, verdict: &Verdict) {
    let Some(local) = &verdict.local else {
        say!("scorer    was not asked");
        return;
    };
    let unread = local
        .unread
        .map_or_else(String::new, |why| format!("; may not be allowed alone: {why}"));
    say!(
        "scorer    probability of harm {:.3}, {} ({}); model {}{unread}",
        local.probability,
        local.leaning,
        local.standing,
        local.model
    );
    for moved in &local.evidence {
        let what = printable(&moved.what);
        say!(
            "          {:+.2} {what}{}",
            moved.weight,
            words(step, moved.content, &moved.span)
        );
    }
}

fn asked(exchanges: &[Exchange]) {
    for exchange in exchanges {
        say!("asked     {}", printable(&exchange.model));
        for (part, text) in [("system", &exchange.system), ("user", &exchange.user)] {
            say!("  {part}:");
            text.lines().for_each(|line| say!("  | {}", printable(line)));
        }
        let said = exchange
            .said
            .as_deref()
            .unwrap_or("nothing: it was not asked, or the recording does not hold the question");
        say!("said      {}", printable(said));
    }
    if exchanges.is_empty() {
        say!("asked     no model");
    }
}

fn settlement(outcome: &Outcome, verdict: Option<&Verdict>) {
    let codes = outcome.reason_codes.join(", ");
    say!(
        "settled   {} by {} [{codes}], confidence {:.2}",
        outcome.decision,
        outcome.verdict_source,
        outcome.confidence
    );
    if !outcome.reasoning.is_empty() {
        say!("because   {}", printable(&outcome.reasoning));
    }
    if let Some(verdict) = verdict {
        say!("message   {}", printable(&verdict.message));
        if let Some(step) = &verdict.modified {
            say!("modified  {}", printable(step.original.json()));
        }
        for diagnostic in &verdict.diagnostics {
            say!("note      {}: {}", diagnostic.code, printable(&diagnostic.detail));
        }
    } else if let Some(error) = &outcome.error {
        say!("note      {}", printable(error));
    }
    let reason = if outcome.reason_right {
        ""
    } else {
        ", for another reason than expected"
    };
    say!("verdict   {}{reason}", if outcome.right { "right" } else { "WRONG" });
}
