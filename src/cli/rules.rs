//! `guardian rules`.

use super::output::say;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Subcommand, ValueEnum};
use serde_json::json;

use super::{Ended, input};
use crate::app;
use crate::config::PolicyChoice;
use crate::model::{Finding, Rule, Step};
use crate::policy::{CONDITION_FAMILY, OWN_FAMILY, Policy};
use crate::prefilter::{Prefilters, own_rules};
use crate::session;
use crate::wire;

/// Show what rules there are, what one means, or what fires on a text.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List every rule: id, reason code, severity, confidence, what it suggests.
    List {
        /// Only rules of this family (the part of the id before the dot).
        #[arg(long, value_name = "FAMILY")]
        family: Option<String>,
        /// Print Markdown, with meanings: the documentation of the rules.
        #[arg(long, conflicts_with = "json")]
        markdown: bool,
        /// Print one JSON object a line, with meanings and examples.
        #[arg(long)]
        json: bool,
        /// A policy file: its own rules as well, as the family `own`.
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Say what a rule means, with texts on which it fires and look-alikes on which it does not.
    Explain {
        /// The rule's id.
        id: String,
        /// A policy file, for a rule of its own.
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Say which rules fire on a text, where, and why. Exits with 20 when the policy would deny for one of them.
    Test {
        /// The text.
        #[arg(required_unless_present = "file", conflicts_with = "file")]
        text: Option<String>,
        /// A file with the text, in UTF-8; `-` stands for standard input.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Where the text stands.
        #[arg(long, value_enum, default_value_t = TextPlace::ToolResult)]
        r#as: TextPlace,
        /// The tool, for an argument.
        #[arg(long, default_value = "bash")]
        tool: String,
        /// The argument's name, for an argument.
        #[arg(long, default_value = "command")]
        argument: String,
        /// A policy file, with its own rules; the built-in policy when left out.
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
}

/// Where a tested text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TextPlace {
    /// A message of the user.
    User,
    /// An answer of the agent.
    Agent,
    /// An argument of a tool call.
    Argument,
    /// A tool's answer.
    ToolResult,
    /// A document that was retrieved.
    Document,
    /// A memory that was retrieved.
    Memory,
}

pub(super) fn run(command: &Command) -> anyhow::Result<Ended> {
    let prefilters = Prefilters::standard()?;
    match command {
        Command::List {
            family,
            markdown,
            json,
            policy,
        } => {
            let form = match (markdown, json) {
                (true, _) => Form::Markdown,
                (false, true) => Form::Json,
                (false, false) => Form::Table,
            };
            let families = families(&prefilters, &self::policy(policy.as_deref())?);
            list(&families, family.as_deref(), form)
        }
        Command::Explain { id, policy } => explain(families(&prefilters, &self::policy(policy.as_deref())?), id),
        Command::Test {
            text,
            file,
            r#as,
            tool,
            argument,
            policy,
        } => {
            let text = match (text, file) {
                (Some(text), _) => text.clone(),
                (None, Some(file)) => input::text(file)?,
                (None, None) => anyhow::bail!("expected a text, or a file with `--file`"),
            };
            let called = match policy {
                Some(_) => "policy",
                None => "built-in policy",
            };
            let policy = self::policy(policy.as_deref())?;
            let step = step(&text, *r#as, tool, argument)?;
            test(&prefilters, &policy, called, &step)
        }
    }
}

/// The form in which a list is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Table,
    Markdown,
    Json,
}

/// Returns the policy of a file; without one, that which applies when nothing is configured.
fn policy(file: Option<&Path>) -> anyhow::Result<Policy> {
    Ok(match file {
        Some(file) => app::chosen_policy(&PolicyChoice::File(file.to_owned()))?,
        None => Policy::standard()?,
    })
}

/// Returns every family with its rules: those that look at one step, those over a session, and those that only the policy has.
fn families<'p>(prefilters: &'p Prefilters, policy: &Policy) -> Vec<(&'p str, Vec<Rule>)> {
    let over_sessions = session::rules::catalogue().cloned();
    let conditions = policy.conditions.iter().map(|condition| condition.rule.clone());
    prefilters
        .families()
        .map(|family| (family.family(), family.rules().to_vec()))
        .chain(std::iter::once((session::rules::FAMILY, over_sessions.collect())))
        .chain([
            (OWN_FAMILY, own_rules(policy)),
            (CONDITION_FAMILY, conditions.collect()),
        ])
        .filter(|(_, rules)| !rules.is_empty())
        .collect()
}

fn list(families: &[(&str, Vec<Rule>)], family: Option<&str>, form: Form) -> anyhow::Result<Ended> {
    let of_family = |name: &str| family.is_none_or(|wanted| wanted == name);
    let known: Vec<&str> = families.iter().map(|(name, _)| *name).collect();
    if let Some(wanted) = family.filter(|wanted| !known.contains(wanted)) {
        anyhow::bail!("there is no family `{wanted}`; there are: {}", known.join(", "));
    }
    let chosen = families
        .iter()
        .filter(|(name, _)| of_family(name))
        .flat_map(|(_, rules)| rules);
    match form {
        Form::Markdown => super::output::write(format_args!("{}", documentation_of(families, of_family))),
        Form::Json => chosen.for_each(|rule| say!("{}", as_json(rule))),
        Form::Table => {
            say!("{:48} {:22} {:9} {:7} suggests", "rule", "reason", "severity", "sure");
            for rule in chosen {
                say!(
                    "{:48} {:22} {:9} {:7} {}",
                    rule.id,
                    rule.reason.as_str(),
                    rule.severity.as_str(),
                    rule.confidence.as_str(),
                    rule.suggests.as_str()
                );
            }
        }
    }
    Ok(Ended::Done)
}

fn as_json(rule: &Rule) -> serde_json::Value {
    json!({
        "id": rule.id,
        "title": rule.title,
        "reasonCode": rule.reason.as_str(),
        "severity": rule.severity.as_str(),
        "confidence": rule.confidence.as_str(),
        "suggests": rule.suggests.as_str(),
        "firesOn": rule.fires_on,
        "silentOn": rule.silent_on,
    })
}

/// Returns the documentation of every rule, made of the rules themselves.
#[cfg(test)]
fn documentation(prefilters: &Prefilters) -> String {
    documentation_of(&families(prefilters, &Policy::standard().unwrap()), |_| true)
}

fn documentation_of(families: &[(&str, Vec<Rule>)], wanted: impl Fn(&str) -> bool) -> String {
    let mut text = String::from(
        "# The rules\n\nMade by `guardian rules list --markdown`; a test holds it to the rules. What follows from a finding is the\n\
         policy's to say: the last column is what the rule itself suggests.\n",
    );
    for (family, rules) in families.iter().filter(|(family, _)| wanted(family)) {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n## {}\n\n| rule | looks for | reason | severity | confidence | suggests |\n|---|---|---|---|---|---|\n",
            family
        );
        for rule in rules {
            let _ = writeln!(
                text,
                "| `{}` | {} | `{}` | {} | {} | {} |",
                rule.id,
                rule.title.replace('|', "\\|").trim_end_matches('.'),
                rule.reason,
                rule.severity,
                rule.confidence,
                rule.suggests
            );
        }
    }
    text.push_str(
        "\n## Rules that deny alone\n\nWhat suggests `deny` is certain: it settles a step without any judge. What suggests `suspect` denies a step where no model \
         can be asked; beside one it is a question. How often a denial was wrong on honest work is measured by a test:\n\n\
         | rule | wrong on |\n|---|---|\n",
    );
    let settling = crate::eval::settling();
    for rule in settling
        .wrong
        .keys()
        .filter(|rule| wanted(rule.split('.').next().unwrap_or_default()))
    {
        let _ = writeln!(text, "| `{rule}` | {} |", settling.rate_of(rule).unwrap_or_default());
    }
    text
}

fn explain(families: Vec<(&str, Vec<Rule>)>, id: &str) -> anyhow::Result<Ended> {
    let rule = families
        .into_iter()
        .flat_map(|(_, rules)| rules)
        .find(|rule| rule.id == id)
        .with_context(|| {
            format!(
                "there is no rule `{id}`; `guardian rules list` shows all, with `--policy FILE` also those of a policy"
            )
        })?;
    say!("{}", rule.id);
    say!("  {}", rule.title);
    say!("  reason:     {}: {}", rule.reason, rule.reason.meaning());
    say!("  OWASP:      {}", rule.reason.owasp().join(", "));
    say!("  severity:   {}, if it is right", rule.severity);
    say!("  confidence: {} that it is right", rule.confidence);
    say!("  suggests:   {} (the organisation's policy decides)", rule.suggests);
    if let Some(rate) = crate::eval::settling().rate_of(&rule.id) {
        say!("  wrong on:   {rate} of `evals/`, where it settled a step alone or helped to");
    }
    for (title, texts) in [("fires on", &rule.fires_on), ("silent on", &rule.silent_on)] {
        say!("  {title}:");
        for text in texts {
            // The rules over a session have little sessions for examples, a step a line.
            for line in text.trim().lines() {
                say!("    {}", super::printable(line));
            }
            if text.trim().contains('\n') {
                say!("");
            }
        }
    }
    Ok(Ended::Done)
}

fn test(prefilters: &Prefilters, policy: &Policy, called: &str, step: &Step) -> anyhow::Result<Ended> {
    let screening = prefilters.screen(step, policy);
    let mut denied = false;
    for finding in &screening.findings {
        let treatment = policy.treatment(finding, step);
        denied |= treatment >= crate::model::Treatment::Suspect;
        let Finding {
            rule,
            severity,
            confidence,
            span,
            view,
            explanation,
            ..
        } = finding;
        say!(
            "{rule}  ({severity}, {confidence} confidence, {view} view) at bytes {}..{}",
            span.start,
            span.end
        );
        say!("  {}", super::printable(explanation));
        say!("  the {called} makes of it: {treatment}");
    }
    if screening.findings.is_empty() {
        say!("no rule fires");
    }
    let views: Vec<&str> = screening.coverage.views.iter().map(|view| view.as_str()).collect();
    say!("looked at: {}", views.join(", "));
    Ok(if denied { Ended::Denied } else { Ended::Done })
}

/// Returns a request with this text in it, decoded as every request is.
fn step(text: &str, place: TextPlace, tool: &str, argument: &str) -> anyhow::Result<std::sync::Arc<Step>> {
    let message = |role: &str| {
        (
            "steps/message",
            json!({"message": {"role": role, "content": [{"kind": "text", "text": text}]}}),
        )
    };
    let (method, mut params) = match place {
        TextPlace::User => message("user"),
        TextPlace::Agent => message("agent"),
        TextPlace::Argument => (
            "steps/toolCallRequest",
            json!({"toolCallRequest": {"executionId": "e", "toolId": tool, "inputs": [{"name": argument, "value": text}]}}),
        ),
        TextPlace::ToolResult => (
            "steps/toolCallResult",
            json!({"executionId": "e", "result": {"outputs": [{"kind": "text", "text": text}]}}),
        ),
        TextPlace::Document => (
            "steps/knowledgeRetrieval",
            json!({"knowledgeStep": {"query": "", "results": [{"id": "d", "content": text}]}}),
        ),
        TextPlace::Memory => ("steps/memoryContextRetrieval", json!({"memory": [text]})),
    };
    if let Some(params) = params.as_object_mut() {
        params.insert("context".to_owned(), json!({"agent": {"id": "test"}}));
    }
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let limits = wire::Limits::default().of_any_size();
    let (_, step) = wire::decode_step(request, &limits).map_err(|error| anyhow::anyhow!("{}", error.message))?;
    Ok(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_of_the_rules_is_made_of_the_rules() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md");
        let written = std::fs::read_to_string(file).unwrap_or_default();
        assert!(
            written == documentation(&Prefilters::standard().unwrap()),
            "run: cargo run -- rules list --markdown > docs/rules.md"
        );
    }

    /// Rules that have no example of both kinds, and why: an example is one text, of some lines.
    const WITHOUT_EXAMPLES: &[(&str, &str)] = &[
        ("obfuscation.pieces", "looks at the names of several arguments"),
        ("oversize.cut", "a text that makes it fire is too long to be listed"),
        ("oversize.large", "a text that makes it fire is too long to be listed"),
        ("oversize.many", "counts the texts of a step"),
        (
            "oversize.too_intricate",
            "a text that makes it fire is too long to be listed",
        ),
        ("personal_data.flood", "counts findings"),
        ("secret.flood", "counts findings"),
        ("structure.remark", "looks at the shape of a request"),
        ("untrusted_destination.flood", "counts addresses"),
    ];

    #[test]
    fn every_rule_has_an_id_of_its_own_and_examples_of_both_kinds() {
        let mut ids = std::collections::BTreeSet::new();
        let mut exempt: std::collections::BTreeSet<&str> = WITHOUT_EXAMPLES.iter().map(|(id, _)| *id).collect();
        let prefilters = Prefilters::standard().unwrap();
        for (family, rules) in families(&prefilters, &Policy::standard().unwrap()) {
            for rule in rules {
                assert!(ids.insert(rule.id.clone()), "{} is there twice", rule.id);
                assert!(rule.id.starts_with(&format!("{family}.")), "{}", rule.id);
                let both = !rule.fires_on.is_empty() && !rule.silent_on.is_empty();
                let exempt = exempt.remove(rule.id.as_str());
                assert!(both != exempt, "{}: {both}, in the list: {exempt}", rule.id);
            }
        }
        assert!(exempt.is_empty(), "there are no rules {exempt:?}");
    }
}
