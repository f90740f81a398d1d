//! The judge of what rules do not settle: the configured endpoint, a batch, or a recording.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use crate::cli::output::say;
use crate::config::Config;
use crate::eval::{BatchQuestions, Ceiling, JudgeSource, Meter, Recording, Remote, RunLog};
use crate::judge::{self, Judge};
use crate::pipeline::Guardian;
use crate::{llm, prompt};

/// The model that questions are written for when none is named.
const BATCH_MODEL: &str = "gpt-4.1-mini";
/// The address of a batch, which another program sends: nothing goes to it.
const NO_ADDRESS: &str = "http://localhost/v1";
/// The limits of one file of the OpenAI Batch API.
const MAX_IN_A_FILE: (usize, usize) = (50_000, 200_000_000);

#[derive(Debug, Args)]
pub(super) struct AnswerArguments {
    /// Write the questions that a judge would be asked there, as the OpenAI Batch API takes them, and judge nothing. Needs no
    /// endpoint and no network.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["batch_in", "record", "replay"])]
    batch_out: Option<PathBuf>,
    /// Take the judge's answers from the output of a batch; may be given several times. Lines
    /// `{"custom_id": …, "answer": {…}}` are understood too.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "replay"])]
    batch_in: Vec<PathBuf>,
    /// The model that a batch is for [default: the configured one, else gpt-4.1-mini].
    #[arg(long, value_name = "NAME")]
    batch_model: Option<String>,
    /// Ask the configured endpoint, and write down there what it says; what the file holds already is not asked again.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Take what the endpoint says from a recording; nothing is asked.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Ask a running guardian at this address, as agents do, rather than decide here. Earlier steps of a case are posted first.
    #[arg(long, value_name = "URL", conflicts_with_all = ["batch_out", "batch_in", "record", "replay"])]
    url: Option<String>,
    /// The environment variable with the key for --url.
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    key_env: Option<String>,
}

/// The source of answers.
pub(super) enum AnswerSource {
    /// The configured judge.
    Live { name: String },
    /// The configured endpoint, on a recording.
    Recorded {
        name: String,
        judge: Arc<Judge>,
        recording: Arc<Recording>,
        file: PathBuf,
    },
    /// A recording, or the answers to a batch.
    Replayed {
        name: String,
        judge: Arc<Judge>,
        recording: Arc<Recording>,
    },
    /// No judge: the questions are written out.
    Questions {
        judge: Arc<Judge>,
        questions: Arc<BatchQuestions>,
        file: PathBuf,
    },
    /// A running guardian.
    Server { name: String, remote: Arc<Remote> },
}

impl AnswerArguments {
    /// Returns `true` if no endpoint is asked.
    pub(super) fn asks_nobody(&self) -> bool {
        self.batch_out.is_some() || !self.batch_in.is_empty() || self.replay.is_some() || self.url.is_some()
    }

    /// Returns `true` if a file of questions or answers is written.
    pub(super) fn writes(&self) -> bool {
        self.batch_out.is_some() || self.record.is_some()
    }

    /// Returns `true` if answers come from a recording.
    pub(super) fn replays(&self) -> bool {
        self.replay.is_some()
    }

    /// Returns `true` if every answer is asked for again.
    pub(super) fn asks_anew(&self) -> bool {
        self.batch_out.is_none() && self.batch_in.is_empty() && self.replay.is_none() && self.record.is_none()
    }

    /// Returns `true` if an endpoint has to be asked.
    pub(super) fn records(&self) -> bool {
        self.record.is_some()
    }

    pub(super) fn open(&self, config: &Config) -> anyhow::Result<AnswerSource> {
        if let Some(url) = &self.url {
            let key = self.key_env.as_ref().map(|variable| {
                let key = std::env::var(variable).ok().filter(|key| !key.is_empty());
                key.with_context(|| format!("--key-env: the environment variable `{variable}` is not set"))
            });
            return Ok(AnswerSource::Server {
                name: format!("the guardian at {url}"),
                remote: Arc::new(Remote::new(url, key.transpose()?.map(secrecy::SecretString::from))?),
            });
        }
        if let Some(file) = &self.batch_out {
            return self.questions(config, file);
        }
        if !self.batch_in.is_empty() {
            let settings = self.settings(config);
            let recording = Recording::of_batch(&self.batch_in, settings.llm.model())?;
            return Ok(AnswerSource::Replayed {
                name: format!("{} (batch)", recording.model().unwrap_or(settings.llm.model())),
                judge: Arc::new(Judge::new(settings)?),
                recording: Arc::new(recording),
            });
        }
        if let Some(file) = &self.record {
            let settings = config.judge.clone().with_context(|| {
                "`--record` needs an endpoint to record: a `[judge]` section, or GUARDIAN_JUDGE_BASE_URL and \
                 GUARDIAN_JUDGE_MODEL"
            })?;
            let settings = once(settings);
            let recording = Arc::new(Recording::continued(file)?);
            return Ok(AnswerSource::Recorded {
                name: settings.llm.model().to_owned(),
                judge: Arc::new(Judge::new(settings)?),
                recording,
                file: file.clone(),
            });
        }
        if let Some(file) = &self.replay {
            let recording = Recording::replayed(file)?;
            // What was asked of whom in which order is part of the run: everything stays as it is configured.
            let settings = config.judge.clone().unwrap_or_else(|| unconfigured(recording.model()));
            let settings = once(settings);
            return Ok(AnswerSource::Replayed {
                name: format!("{} (replayed)", settings.llm.model()),
                judge: Arc::new(Judge::new(settings)?),
                recording: Arc::new(recording),
            });
        }
        Ok(AnswerSource::Live {
            name: config
                .judge
                .as_ref()
                .map_or_else(|| "local rules".to_owned(), |judge| judge.llm.model().to_owned()),
        })
    }

    /// Makes a judge of the configuration, or one as it would be if only a model were configured, that is only to be heard.
    pub(super) fn unasked(&self, config: &Config) -> anyhow::Result<(JudgeSource, Arc<Meter>)> {
        let meter = Arc::new(Meter::counting().listening());
        let judge = Arc::new(Judge::new(self.settings(config))?);
        Ok((JudgeSource::Metered(judge, Arc::clone(&meter)), meter))
    }

    fn questions(&self, config: &Config, file: &Path) -> anyhow::Result<AnswerSource> {
        let settings = self.settings(config);
        let endpoint = settings.llm.endpoints.first().context("there is no endpoint")?;
        let endpoint = endpoint.clone();
        let out = std::fs::File::create(file).with_context(|| format!("{}: cannot be written", file.display()))?;
        Ok(AnswerSource::Questions {
            questions: Arc::new(BatchQuestions::new(endpoint, Box::new(BufWriter::new(out)))),
            judge: Arc::new(Judge::new(settings)?),
            file: file.to_owned(),
        })
    }

    /// Returns the settings for questions of a batch: as configured, or as they would be if only a model were.
    fn settings(&self, config: &Config) -> judge::Settings {
        let mut settings = once(config.judge.clone().unwrap_or_else(|| unconfigured(None)));
        // One endpoint answers a batch, whichever it is.
        settings.first = None;
        settings.llm.endpoints.truncate(1);
        if let (Some(model), Some(endpoint)) = (&self.batch_model, settings.llm.endpoints.first_mut()) {
            endpoint.model.clone_from(model);
        }
        settings
    }
}

/// Returns the settings of a judge of which nothing is configured but, perhaps, the model.
fn unconfigured(model: Option<&str>) -> judge::Settings {
    judge::Settings {
        llm: llm::Settings::new(NO_ADDRESS, model.unwrap_or(BATCH_MODEL)).into(),
        first: None,
        budget_tokens: prompt::DEFAULT_BUDGET_TOKENS,
        reasoning: judge::AgentReasoning::Shown,
        unusable: judge::UnusableAnswers::Fail,
    }
}

/// Returns the settings with no second question after an unusable answer: a recorder holds one answer to a question.
fn once(settings: judge::Settings) -> judge::Settings {
    judge::Settings {
        unusable: judge::UnusableAnswers::Fail,
        ..settings
    }
}

impl AnswerSource {
    /// Returns the judge, within a ceiling; and the meter on which calls are counted, where there is one.
    pub(super) fn judge(&self, guardian: &Guardian, ceiling: Ceiling) -> (JudgeSource, Option<Arc<Meter>>) {
        self.judge_on(guardian, ceiling, |meter| meter)
    }

    /// Returns the same, on a meter made of the usual one.
    pub(super) fn judge_on(
        &self,
        guardian: &Guardian,
        ceiling: Ceiling,
        of: impl Fn(Meter) -> Meter,
    ) -> (JudgeSource, Option<Arc<Meter>>) {
        let metered = |judge: &Arc<Judge>, meter: Meter| {
            let meter = Arc::new(of(meter));
            (JudgeSource::Metered(Arc::clone(judge), Arc::clone(&meter)), Some(meter))
        };
        match self {
            AnswerSource::Live { .. } => match guardian.model_judge() {
                Some(judge) => metered(judge, Meter::new(ceiling, None)),
                None => (JudgeSource::Own, None),
            },
            AnswerSource::Recorded { judge, recording, .. } | AnswerSource::Replayed { judge, recording, .. } => {
                metered(judge, Meter::new(ceiling, Some(Arc::<Recording>::clone(recording))))
            }
            AnswerSource::Questions { judge, questions, .. } => metered(
                judge,
                Meter::new(ceiling, Some(Arc::<BatchQuestions>::clone(questions))),
            ),
            AnswerSource::Server { remote, .. } => (JudgeSource::Server(Arc::clone(remote)), None),
        }
    }

    /// Returns the judge that will be asked over the network, where one will be.
    pub(super) fn asked<'a>(&'a self, guardian: &'a Guardian) -> Option<&'a Arc<Judge>> {
        match self {
            AnswerSource::Live { .. } => guardian.model_judge(),
            AnswerSource::Recorded { judge, .. } => Some(judge),
            AnswerSource::Replayed { .. } | AnswerSource::Questions { .. } | AnswerSource::Server { .. } => None,
        }
    }

    /// Who judged, for the report.
    pub(super) fn name(&self) -> &str {
        match self {
            AnswerSource::Live { name }
            | AnswerSource::Recorded { name, .. }
            | AnswerSource::Replayed { name, .. }
            | AnswerSource::Server { name, .. } => name,
            AnswerSource::Questions { judge, .. } => judge.model(),
        }
    }

    /// Ends the run, and says what has become of questions and answers.
    pub(super) fn finish(&self, log: &RunLog) -> anyhow::Result<()> {
        match self {
            AnswerSource::Live { .. } | AnswerSource::Server { .. } => {}
            AnswerSource::Recorded { recording, file, .. } => {
                recording
                    .finish()
                    .with_context(|| format!("{}: cannot be written", file.display()))?;
                eprintln!("{}: {} exchanges", file.display(), recording.len());
            }
            AnswerSource::Questions { judge, questions, file } => {
                let place = || file.display().to_string();
                let written = questions.finish().with_context(place)?;
                let (mut cases, mut settled) = (0, 0);
                for outcome in log.outcomes() {
                    let outcome = outcome?;
                    cases += 1;
                    settled += usize::from(outcome.verdict_source == "rules");
                    if outcome.verdict_source == "-" {
                        let why = outcome.error.as_deref().unwrap_or_default();
                        eprintln!("not asked: {}: {}", outcome.id, crate::cli::printable(why));
                    }
                }
                say!(
                    "{}: {} questions to {} ({:.1} MB); of {cases} cases, rules settle {settled}",
                    file.display(),
                    written.questions,
                    judge.model(),
                    written.bytes as f64 / 1e6,
                );
                let (most, most_bytes) = MAX_IN_A_FILE;
                if written.questions > most || written.bytes > most_bytes {
                    eprintln!("the OpenAI Batch API takes {most} requests and 200 MB in one file: split it by lines");
                }
            }
            AnswerSource::Replayed { .. } => {
                let mut unanswered = 0;
                for outcome in log.outcomes() {
                    unanswered += usize::from(outcome?.decision == "error");
                }
                if unanswered > 0 {
                    eprintln!("{unanswered} cases have no answer and count as errors (--mistakes lists them)");
                }
            }
        }
        Ok(())
    }
}
