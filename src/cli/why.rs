//! `guardian why`.

use anyhow::Context;
use clap::Args;

use super::output::say;
use super::records::{Colours, Records, RecordsArgument, agent_of, by_weight, outcome, quoted};
use super::{Ended, printable};
use crate::audit::{KeptRecord, Query};
use crate::model::WITHHELD;
use crate::policy::CONDITION_FAMILY;

/// Explain one decision: what happened, what was seen, and what would let it through.
///
/// Decisions are looked for in the audit file or database. A denial names its id; `guardian monitor` shows ids as well.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The id of the decision, or how it begins (8 characters or more); `last` is the latest that was not allowed.
    #[arg(value_name = "ID", default_value = "last")]
    id: String,
    /// Print the record as it was written: one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    records: RecordsArgument,
}

/// A record that was found, as it was written and as it was read.
type Found = (String, KeptRecord);

/// Findings that are shown.
const MAX_FINDINGS: usize = 12;

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    anyhow::ensure!(
        arguments.id.len() >= 8 || arguments.id == "last",
        "expected the id of a decision, 8 characters of it or more, or `last`; found `{}`",
        printable(&arguments.id)
    );
    let mut found: Option<Found> = None;
    if let Some(file) = arguments.records.missing() {
        anyhow::bail!("{}: there is no such file", file.display());
    }
    let mut names = Vec::new();
    for mut records in arguments.records.records()? {
        names.push(records.name());
        look(&mut records, &arguments.id, &mut found)?;
    }
    let (line, record) = found.with_context(|| {
        let unreadable = arguments.records.unreadable().map(|why| format!("; {why}"));
        format!(
            "there is no such decision in {}: name the audit file or database of the guardian that decided (--audit){}",
            names.join(" and "),
            unreadable.unwrap_or_default()
        )
    })?;
    if arguments.json {
        say!("{line}");
    } else {
        explain(&record);
    }
    Ok(Ended::Done)
}

/// Looks for an id, or through the latest 10,000 records.
fn look(records: &mut Records, id: &str, found: &mut Option<Found>) -> anyhow::Result<()> {
    if matches!(records, Records::Lines(files) if files.are_missing()) {
        return Ok(());
    }
    let lines = match id {
        "last" => records.search(&Query {
            limit: usize::MAX,
            ..Query::default()
        })?,
        id => records.line_of(id)?.into_iter().collect(),
    };
    let records = lines
        .into_iter()
        .filter_map(|line| Some((KeptRecord::of(line.as_bytes())?, line)));
    for (record, line) in records {
        let is_later = found
            .as_ref()
            .is_none_or(|(_, other)| record.decision_id > other.decision_id);
        if id != "last" || is_later && outcome(&record).1 != "allow" {
            *found = Some((line, record));
        }
    }
    Ok(())
}

fn explain(record: &KeptRecord) {
    let (words, decision) = outcome(record);
    let tool = record.tool.as_deref().unwrap_or_default();
    say!(
        "{}  {} {}",
        Colours::of_output().paint(decision, &printable(&words)),
        printable(&record.method),
        printable(tool)
    );
    line("decision", &record.decision_id);
    line("time", &record.time);
    let by = match &record.model {
        Some(model) => format!("{} ({model})", record.source),
        None => record.source.clone(),
    };
    line("decided by", &format!("{by}, in {:.1} ms", record.duration_ms));
    line(
        "caller",
        &format!("{} of organisation {}", record.caller, record.organisation),
    );
    let ids = [
        ("agent", &agent_of(record)),
        ("session", &record.session),
        ("user", &record.user),
        ("step", &record.step),
    ];
    for (name, id) in ids {
        line(name, id.as_deref().unwrap_or_default());
    }
    match record.would_be() {
        Some(observed) => {
            line("why", &observed.reason_codes.join(", "));
            line("not said", &observed.message);
            line("because", &observed.reasoning);
            line("observed", "the step went on: verdicts are observed here, not enforced");
        }
        None => {
            line("why", &record.reason_codes.join(", "));
            line("said", &record.message);
            line("because", &record.reasoning);
        }
    }
    findings(record);
    line(
        "edits",
        &if record.edits > 0 {
            record.edits.to_string()
        } else {
            String::new()
        },
    );
    line("notes", &record.diagnostics.join(", "));
    if decision != "allow" {
        for (index, way) in ways(record).iter().enumerate() {
            line(if index == 0 { "to allow it" } else { "" }, way);
        }
    }
    line("policy", &format!("guardian policy show {}", record.policy_version));
}

/// Prints a line, where there is something to say.
fn line(name: &str, text: &str) {
    if !text.is_empty() {
        say!("  {name:12} {}", printable(text));
    }
}

/// Prints the findings, in their words.
fn findings(record: &KeptRecord) {
    for finding in by_weight(record).into_iter().take(MAX_FINDINGS) {
        let place = if finding.pointer.is_empty() {
            "the step"
        } else {
            &finding.pointer
        };
        line(
            "saw",
            &format!(
                "{} ({}, {} confidence) at {place}",
                finding.rule, finding.severity, finding.confidence
            ),
        );
        let words = match finding.seen.as_deref() {
            None => "the words are not in the record".to_owned(),
            Some(words) if words.contains(WITHHELD) => {
                format!("{} (secret or personal: not in the record)", quoted(words))
            }
            Some(words) => quoted(words),
        };
        line("", &words);
    }
    if record.findings.len() > MAX_FINDINGS {
        line(
            "",
            &format!(
                "and {} more findings (--json shows all)",
                record.findings.len() - MAX_FINDINGS
            ),
        );
    }
}

/// Returns what would let such a step happen: keys of the policy, by who decided and why.
fn ways(record: &KeptRecord) -> Vec<String> {
    let codes = record
        .would_be()
        .map_or(&record.reason_codes, |observed| &observed.reason_codes);
    let mut ways = Vec::new();
    for (code, way) in [
        (
            "tool_not_allowed",
            "name the tool in `allow` of `[tools]`, or take it out of `deny`",
        ),
        (
            "untrusted_destination",
            "name the host in `allow` of `[destinations]`, if it is trusted",
        ),
    ] {
        if codes.iter().any(|found| found == code) {
            ways.push(way.to_owned());
        }
    }
    match record.source.as_str() {
        "fallback" => ways.push(
            "no decision could be made: `guardian doctor` tells why; `[posture]` in the policy says what happens meanwhile"
                .to_owned(),
        ),
        "local" => ways.push(
            "the trained scorer decided: raise `deny_above` in `[local_judge.thresholds.default]` of the policy"
                .to_owned(),
        ),
        "judge" | "cache" => ways.push(
            "the judge decided: write into `guidance` what is usual here, or name such steps in `[[harmless]]`"
                .to_owned(),
        ),
        _ => {}
    }
    let mut rules: Vec<&str> = Vec::new();
    for finding in record
        .findings
        .iter()
        .filter(|finding| codes.contains(&finding.reason_code))
    {
        if !rules.contains(&finding.rule.as_str()) {
            rules.push(&finding.rule);
        }
    }
    let conditions: Vec<&str> = rules
        .extract_if(.., |rule| rule.split('.').next() == Some(CONDITION_FAMILY))
        .collect();
    if !conditions.is_empty() {
        ways.push(format!(
            "in the policy, the conditions {conditions:?} in `[conditions]`, or `[[modes]]` with `mode = \"observe\"` and `rules = {conditions:?}`"
        ));
    }
    if !rules.is_empty() {
        ways.push(format!(
            "in the policy, `[[modes]]` with `mode = \"observe\"`, or `[[treatments]]` with `treatment = \"ignore\"`, each with `rules = {rules:?}` \
             (`guardian rules explain {}` says what one means)",
            rules.first().copied().unwrap_or_default()
        ));
    }
    ways
}
