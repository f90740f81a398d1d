//! `guardian judge`.

mod timeline;

use super::output::say;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::records::quoted;
use super::{ConfigArgument, Ended, OrganisationArgument, Quiet, input, start_logging};
use crate::model::{Caller, Decision, Disclosure, Finding, RequestId, Step, Verdict, WITHHELD, head};
use crate::pipeline::{Decided, Guardian};
use crate::wire::chat::{self, Under};
use crate::wire::{self, Call, Facts, Incoming, Item, Json, Limits, RpcError};
use crate::{app, audit};

use timeline::{Length, Link, Timeline};

/// Judge one request, or a whole trace, and say why.
///
/// Reads one JSON-RPC request, a batch, JSON lines (a trace: one request a line; lines of evaluation suites work
/// too), or a message log as OpenAI and Anthropic write it: `{"messages": [...]}`, `{"input": [...]}`, or the list. The steps of a
/// trace are numbered and judged in their order, each in the light of those before it in its session; what an earlier step led to is
/// told under `from`. Nothing is recorded, and no key of an organisation is needed. The exit code is that of the strictest decision: 0 allow, 10 modify, 20 deny, 1 error.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The file to read; `-` for standard input.
    #[arg(value_name = "STEP.json | TRACE.jsonl | CHAT.json | -", default_value = "-")]
    file: PathBuf,
    /// Print the JSON-RPC answers that a server would send, one a line.
    #[arg(long)]
    json: bool,
    /// Ask no endpoint: show what the guardian decides by itself.
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    organisation: OrganisationArgument,
    #[command(flatten)]
    config: ConfigArgument,
}

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let config = arguments.config.load_to_ask_if_possible(arguments.offline)?;
    start_logging(&config, Quiet::Yes)?;
    let input = input::requests(&arguments.file)?;
    let mut limits = config.wire;
    // A step made of a log carries what the agent is told beside its own words.
    limits.max_body_bytes = limits
        .max_body_bytes
        .max(input.len().saturating_mul(4).saturating_add(4096));
    let mut documents = Vec::new();
    for document in self::documents(&input)? {
        documents.extend(steps_of(document, &limits)?);
    }
    let guardian = Arc::new(app::guardian(&config, &audit::Settings::Off)?);
    let organisation = arguments.organisation.of(&config)?.id.clone();
    let caller = Caller {
        organisation,
        name: "command-line".to_owned(),
    };

    let mut worst = Ended::Done;
    let mut timeline = Timeline::new(if documents.len() > 1 {
        Length::Several
    } else {
        Length::One
    });
    let print = if arguments.json { Print::Json } else { Print::Text };
    for document in documents {
        let items = match wire::decode(&document, &limits) {
            Err(error) => {
                print.error(&timeline.next(), None, &error);
                worst = worst.max(Ended::Failed);
                continue;
            }
            Ok(Incoming::One(item)) => vec![item],
            Ok(Incoming::Batch(items)) => items,
        };
        for item in items {
            worst = worst.max(judge(&guardian, &caller, item, print, &mut timeline).await?);
        }
    }
    guardian.flush_audit();
    Ok(worst)
}

async fn judge(
    guardian: &Guardian,
    caller: &Caller,
    item: Item,
    print: Print,
    timeline: &mut Timeline,
) -> anyhow::Result<Ended> {
    let number = timeline.next();
    let (id, step) = match (item.id, item.call) {
        (id, Err(error)) => {
            print.error(&number, id.as_ref(), &error);
            return Ok(Ended::Failed);
        }
        (Some(id), Ok(Call::Step(step))) => (id, step),
        (id, Ok(_)) => {
            let id = id.unwrap_or(RequestId::Text(String::new()));
            print.pong(&number, &id);
            return Ok(Ended::Done);
        }
    };
    let admitted = guardian.admit(caller).await?;
    let decided = guardian.decide(&admitted, Arc::clone(&step)).await;
    let links = timeline.take(&step, &decided.verdict);
    print.verdict(&number, &id, &step, &decided, &links);
    Ok(match decided.verdict.decision {
        _ if decided.verdict.undecided => Ended::Failed,
        Decision::Allow => Ended::Done,
        Decision::Modify => Ended::Modified,
        Decision::Deny => Ended::Denied,
    })
}

/// Returns the requests that a document stands for: those of the steps of a message log, in a session of their own; others are one.
fn steps_of<'d>(document: &'d [u8], limits: &Limits) -> anyhow::Result<Vec<Cow<'d, [u8]>>> {
    let log = Json::parse(document, limits.max_depth, limits.max_nodes);
    // What cannot be read is told as an error of the request.
    let Some(log) = log.ok().filter(chat::is_log) else {
        return Ok(vec![Cow::Borrowed(document)]);
    };
    let session = uuid::Uuid::new_v4().to_string();
    let instructions = String::new();
    let steps = chat::steps(&[log], &Under { session, instructions })?;
    let numbered = steps.iter().zip(1..).map(|(step, number): (_, usize)| {
        let mut request = step.request();
        let id = step
            .place
            .as_ref()
            .map_or_else(|| number.to_string(), ToString::to_string);
        request.set("id", id);
        Cow::Owned(request.write().into_bytes())
    });
    Ok(numbered.collect())
}

/// A line of an evaluation suite. A message log may have the member as well, and an answer beside it.
#[derive(Deserialize)]
struct Labelled<'a> {
    #[serde(borrow)]
    request: &'a RawValue,
    response: Option<IgnoredAny>,
}

/// Returns the requests in an input: one document; or, where each line is a document of its own, one a line.
pub(super) fn documents(input: &[u8]) -> anyhow::Result<Vec<&[u8]>> {
    let lines: Vec<&[u8]> = input
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|l| !l.is_empty())
        .collect();
    // The first line tells: a whole object is the first of many, anything else is the beginning of one document.
    let whole = |line: &&[u8]| serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line).is_ok();
    let is_trace = lines.len() > 1 && lines.first().is_some_and(whole);
    let documents = if is_trace { lines } else { vec![input.trim_ascii()] };
    Ok(documents.into_iter().map(unlabelled).collect())
}

fn unlabelled(document: &[u8]) -> &[u8] {
    match serde_json::from_slice::<Labelled<'_>>(document) {
        Ok(labelled) if labelled.response.is_none() => labelled.request.get().as_bytes(),
        Ok(_) | Err(_) => document,
    }
}

#[derive(Clone, Copy)]
enum Print {
    Text,
    Json,
}

impl Print {
    fn verdict(self, number: &str, id: &RequestId, step: &Step, decided: &Decided, links: &[Link]) {
        match self {
            Print::Json => {
                let facts = Facts {
                    decision_id: decided.decision_id.clone(),
                    duration_ms: decided.duration.as_secs_f64() * 1e3,
                };
                line(&wire::encode_verdict(id, &decided.verdict, &facts, &Disclosure::ALL));
            }
            Print::Text => text(number, step, decided, links),
        }
    }

    fn error(self, number: &str, id: Option<&RequestId>, error: &RpcError) {
        match self {
            Print::Json => line(&wire::encode_error(id, error)),
            Print::Text => say!("{number}error    {} ({})", super::printable(&error.message), error.code),
        }
    }

    fn pong(self, number: &str, id: &RequestId) {
        match self {
            Print::Json => {
                line(&wire::encode_ping(
                    id,
                    env!("CARGO_PKG_VERSION"),
                    &jiff::Timestamp::now().to_string(),
                    &[],
                ));
            }
            Print::Text => say!("{number}pong     ping"),
        }
    }
}

fn line(json: &[u8]) {
    say!("{}", String::from_utf8_lossy(json));
}

/// Findings that are spelled out for a reader.
const SPELLED_OUT: usize = 8;

fn text(number: &str, step: &Step, decided: &Decided, links: &[Link]) {
    let verdict = &decided.verdict;
    let observed = verdict.observed.as_deref();
    let observed = observed.filter(|observed| observed.outcome() != "allow");
    say!(
        "{number}{:8} {}  (by {}, {:.1} ms)",
        verdict.outcome(),
        timeline::what(step),
        verdict.source,
        decided.duration.as_secs_f64() * 1e3
    );
    if verdict.decision == Decision::Allow && verdict.findings.is_empty() && observed.is_none() {
        return;
    }
    let (codes, message, reasoning) = match observed {
        Some(observed) => {
            say!("  observed: {} if verdicts were enforced", observed.outcome());
            (&observed.reason_codes, &observed.message, &observed.reasoning)
        }
        None => (&verdict.reason_codes, &verdict.message, &verdict.reasoning),
    };
    let codes: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    if !codes.is_empty() {
        say!("  why:     {}", codes.join(", "));
    }
    say!("  message: {}", super::printable(message));
    if !reasoning.is_empty() {
        say!("  because: {}", super::printable(reasoning));
    }
    findings(verdict, step);
    for link in links {
        say!(
            "  from:    step {}, {}: {}",
            link.number,
            link.what,
            super::printable(&link.how)
        );
    }
    if let Some(step) = &verdict.modified {
        say!("  modified request: {}", super::printable(step.original.json()));
    }
    for diagnostic in &verdict.diagnostics {
        say!(
            "  note:    {}: {}",
            diagnostic.code,
            super::printable(&diagnostic.detail)
        );
    }
}

/// Returns `true` if a secret or personal data stands in or beside what a finding is about.
fn touches_data(finding: &Finding, verdict: &Verdict) -> bool {
    let near = |other: &Finding| {
        other.reason.is_data()
            && other.content == finding.content
            && other.span.start < finding.span.end + FEW
            && finding.span.start < other.span.end + FEW
    };
    verdict.findings.iter().any(near)
}

/// Bytes of the words of a finding that are shown.
const MAX_WORDS: usize = 160;
/// Fewer bytes are shown with as many around them.
const FEW: usize = 24;

fn findings(verdict: &Verdict, step: &Step) {
    for finding in verdict.findings.iter().take(SPELLED_OUT) {
        let Finding {
            rule,
            severity,
            confidence,
            pointer,
            ..
        } = finding;
        let place = super::printable(pointer.as_str());
        let words = match finding.words(step, if finding.span.len() < FEW { FEW } else { 0 }) {
            Some(_) if touches_data(finding, verdict) => format!(": {WITHHELD}"),
            Some(words) if words.len() > MAX_WORDS => format!(": {}…", quoted(head(words, MAX_WORDS))),
            Some(words) => format!(": {}", quoted(words)),
            None => String::new(),
        };
        say!("  saw:     {rule} ({severity}, {confidence} confidence) at {place}{words}");
    }
    if verdict.findings.len() > SPELLED_OUT {
        say!(
            "  saw:     {} more findings (--json shows all)",
            verdict.findings.len() - SPELLED_OUT
        );
    }
}
