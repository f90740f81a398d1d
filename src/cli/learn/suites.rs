//! Labelled suites for learning: a person's labels, and floors.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use super::super::train::labelled;
use super::super::{ConfigArgument, Ended, Quiet, start_logging};
use crate::config::Config;
use crate::eval::{self, Organisations};
use crate::learning::{Floor, FloorStep, Store, Verdicted};
use crate::local::{Model, Slots, shape};
use crate::model::{Decision, OrganisationId};
use crate::{app, wire};

/// Keeps a person's labels of an organisation. How many there are.
pub(super) async fn keep_labels(
    config: &Config,
    organisation: &OrganisationId,
    base: &Model,
    suites: &[PathBuf],
) -> anyhow::Result<usize> {
    let store = Store::open(&config.learning.folder(organisation))?;
    let cases = eval::read(suites)?;
    let vocabulary = Arc::new(base.vocabulary().clone());
    let cases = labelled(config, Organisations::Always(organisation.clone()), &cases, &vocabulary).await?;
    let today = jiff::Timestamp::now().as_second().div_euclid(86_400);
    let count = cases.len();
    for (case, features) in cases {
        let (_, step) = wire::decode_step(case.request.get().as_bytes(), &config.wire)
            .map_err(|refusal| anyhow::anyhow!("{}: {refusal}", case.id))?;
        let call = step.tool_call.as_ref();
        let verdict = Verdicted {
            session: step
                .session
                .as_ref()
                .map_or(case.group.as_str(), |id| id.as_str())
                .to_owned(),
            user: step.user.as_ref().map_or("", |id| id.as_str()).to_owned(),
            caller: "person".to_owned(),
            tool: call.map_or(step.kind.as_str(), |call| &call.tool).to_owned(),
            shape: shape(&step),
            decision_id: case.id.clone(),
            harmful: case.expected.decision == Decision::Deny,
            by_person: true,
            base: base.version().to_owned(),
            slots: Slots::of(&features, base),
            unknown: features.unknown,
            ..Verdicted::default()
        };
        store.add(&verdict, today)?;
    }
    Ok(count)
}

/// Makes a floor of labelled suites.
pub(super) async fn write_floor(suites: &[PathBuf], out: &Path, config: &ConfigArgument) -> anyhow::Result<Ended> {
    let config = config.load_to_ask_nobody()?;
    start_logging(&config, Quiet::Yes)?;
    let base = super::base(&config)?;
    let cases = eval::read(suites)?;
    let vocabulary = Arc::new(base.vocabulary().clone());
    let profiles = Organisations::PerProfile(app::profile_organisation);
    let cases = labelled(&config, profiles, &cases, &vocabulary).await?;
    let steps = cases.into_iter().map(|(case, features)| FloorStep {
        suite: case.source.clone(),
        group: case.group.clone(),
        harmful: case.expected.decision == Decision::Deny,
        slots: Slots::of(&features, &base),
    });
    let floor = Floor {
        base: base.version().to_owned(),
        steps: steps.collect(),
    };
    std::fs::write(out, floor.to_bytes()).with_context(|| format!("{}: cannot be written", out.display()))?;
    let attacks = floor.steps.iter().filter(|step| step.harmful).count();
    super::super::output::write(format_args!(
        "{}: {} steps, {attacks} of them attacks, for model {}\n",
        out.display(),
        floor.steps.len(),
        floor.base
    ));
    Ok(Ended::Done)
}
