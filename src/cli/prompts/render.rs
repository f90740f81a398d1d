//! `guardian prompts render`: what a model would be sent about a step, also as the last one of a trace.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use super::Templates;
use crate::cli::judge::documents;
use crate::cli::output::say;
use crate::cli::{Ended, input, runtime};
use crate::config::Config;
use crate::judge::AgentReasoning;
use crate::model::{Caller, History, Step, Withheld};
use crate::pipeline::{Admitted, Guardian, JudgeView};
use crate::prefilter::Prefilters;
use crate::prompt::{Length, Marks, PromptInput, Prompts, Reasoning};
use crate::{app, audit, wire};

pub(super) fn run(file: &Path, length: Length, templates: &Templates) -> anyhow::Result<Ended> {
    let mut config = templates.config.load_to_ask_nobody()?;
    let asked = config.judge.take();
    let organisation = templates.organisation.of(&config)?;
    let policy = app::policy(organisation)?;
    let prompts = match &templates.dir {
        Some(dir) => Prompts::load(dir)?,
        None => app::prompts(organisation)?,
    };
    let (earlier, step) = read_steps(file, &config)?;
    let guardian = app::guardian(&config, &audit::Settings::Off)?;
    let caller = Caller {
        organisation: organisation.id.clone(),
        name: "command-line".to_owned(),
    };
    let runtime = runtime()?;
    let admitted = runtime.block_on(guardian.admit(&caller))?;
    let shown = runtime.block_on(shown_of(&guardian, &admitted, earlier, Arc::clone(&step)));
    let shown = match shown {
        Some(shown) => shown,
        None => {
            eprintln!("rules settle this step, so no model is asked; this is what it would be shown otherwise");
            JudgeView {
                findings: Prefilters::standard()?.screen(&step, &policy).findings,
                withheld: Withheld::default(),
                suspicion: None,
                history: History::default(),
                step,
            }
        }
    };
    let (budget_tokens, reasoning) = asked.as_ref().map_or_else(
        || (crate::prompt::DEFAULT_BUDGET_TOKENS, Reasoning::Shown),
        |judge| {
            let reasoning = match judge.reasoning {
                // Of two prompts, the one that holds more.
                AgentReasoning::Shown | AgentReasoning::Both => Reasoning::Shown,
                AgentReasoning::Withheld => Reasoning::Withheld,
            };
            (judge.budget_tokens, reasoning)
        },
    );
    let input = PromptInput {
        step: &shown.step,
        findings: &shown.findings,
        withheld: &shown.withheld,
        suspicion: shown.suspicion.as_ref(),
        history: &shown.history,
        policy: &policy,
        length,
        budget_tokens,
        reasoning,
        ranks: None,
        part: None,
    };
    let rendered = prompts.render(&input, &Marks::fresh())?;
    say!(
        "===== system =====\n{}\n===== user =====\n{}",
        rendered.system,
        rendered.user
    );
    eprintln!(
        "about {} tokens; {} contents shown, {} cut",
        rendered.tokens,
        rendered.shown.len(),
        rendered.cut.len()
    );
    Ok(Ended::Done)
}

/// Returns the judge's view of the last step, once the earlier ones have been decided without it.
async fn shown_of(
    guardian: &Guardian,
    admitted: &Admitted,
    earlier: Vec<Arc<Step>>,
    last: Arc<Step>,
) -> Option<JudgeView> {
    for step in earlier {
        let decided = guardian.decide_by(None, admitted, step).await;
        eprintln!("before: {}", decided.verdict.message);
    }
    guardian.shown_to_judge(admitted, last).await
}

/// Reads the earlier steps of a trace, and its last one.
fn read_steps(file: &Path, config: &Config) -> anyhow::Result<(Vec<Arc<Step>>, Arc<Step>)> {
    let bytes = input::requests(file)?;
    let mut limits = config.wire;
    limits.max_body_bytes = limits.max_body_bytes.max(bytes.len());
    let mut steps = Vec::new();
    for (index, document) in documents(&bytes)?.into_iter().enumerate() {
        let (_, step) = wire::decode_step(document, &limits).map_err(|error| {
            let number = index + 1;
            anyhow::anyhow!(
                "{}: request {number}: {} ({})",
                input::name(file),
                error.message,
                error.code
            )
        })?;
        steps.push(step);
    }
    let last = steps
        .pop()
        .with_context(|| format!("{}: expected a request", input::name(file)))?;
    Ok((steps, last))
}
