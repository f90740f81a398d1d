//! Arguments that are more than they look: the options of a tool that is named like a program, environments, statements that
//! mean everything, data that runs when it is read.

use super::act::is_harm;
use super::rule_context::RuleContext;
use super::{FindingSite, RuleId, finding};
use crate::model::{Content, Finding, Origin, Severity, ToolClass};
use crate::session::{lexicon, orders};
use crate::shell::programs::{self, Role, is_code_variable};
use crate::shell::quoted;
use crate::tools;

/// Bytes of a command that is put together.
const MAX_LEN: usize = 4_000;

pub(super) fn screen(context: &RuleContext<'_>, found: &mut Vec<Finding>) {
    let kind = context.step.kind;
    if kind.calls_tool() {
        found.extend(program(context));
        found.extend(deletes_all(context));
        found.extend(writes_where_only_reading(context));
    } else if kind.is_tool_answer() {
        found.extend(runs_when_read(context));
    }
}

/// Finds harm in the command line that a call of a tool named like a program amounts to, and in its environment.
fn program(context: &RuleContext<'_>) -> Option<Finding> {
    let words = tools::words_of(context.tool());
    let named = words.iter().find(|word| programs::is(Role::NamesTools, word));
    let mut command = String::new();
    for content in context.arguments() {
        if let Some(name) = content.label.as_deref().filter(|label| is_code_variable(label)) {
            command.push_str(&format!("{name}={} ", quoted(&content.text)));
        }
    }
    let loads = !command.is_empty();
    if named.is_none() && !(loads && (context.has(ToolClass::Executes) || context.acts())) {
        return None;
    }
    command.push_str(named.map_or("true", String::as_str));
    let mut first: Option<&Content> = None;
    // One text is the whole line; several are words of it.
    let whole = context.arguments().filter(is_option).count() == 1;
    for content in context
        .arguments()
        .filter(|content| named.is_some() && is_option(content))
    {
        first = first.or(Some(content));
        if command.len() + content.text.len() > MAX_LEN {
            break;
        }
        command.push(' ');
        match whole {
            true => command.push_str(&content.text),
            false => command.push_str(&quoted(&content.text)),
        }
    }
    let first = first.or_else(|| context.arguments().next())?;
    let worst = context
        .examine(Origin::ToolArguments, &command)
        .into_iter()
        .filter(|seen| is_harm(seen) && seen.severity >= Severity::High)
        .max_by_key(|seen| (seen.severity, seen.confidence))?;
    let mut finding = finding(
        RuleId::ProgramCall,
        context,
        FindingSite::of(first, &worst.explanation, ""),
    )?;
    (finding.reason, finding.severity, finding.confidence) = (worst.reason, worst.severity, worst.confidence);
    Some(finding)
}

fn is_option(content: &&Content) -> bool {
    let label = content.label.as_deref().unwrap_or_default();
    !is_code_variable(label)
        && !matches!(
            label,
            "cwd" | "workdir" | "workspace" | "host" | "reason" | "description" | "note"
        )
}

/// Finds a statement of a document store or a search index that deletes everything.
fn deletes_all(context: &RuleContext<'_>) -> Option<Finding> {
    let texts = || context.step.contents.iter().filter(|content| content.is_argument());
    let by_query = texts().find(|content| content.text.contains("_delete_by_query"));
    let says = |word: &str| texts().any(|content| content.text.contains(word));
    let everything = by_query.filter(|_| says("match_all") && !says("must") && !says("filter"));
    let many = || {
        texts().find(|content| {
            let text: String = content.text.chars().filter(|c| !c.is_whitespace()).collect();
            ["deleteMany({})", "delete_many({})", "remove({})", "deleteMany({},"]
                .iter()
                .any(|all| text.contains(all))
        })
    };
    let content = everything.or_else(many)?;
    finding(
        RuleId::DeletesAll,
        context,
        FindingSite::of(content, "the statement", ""),
    )
}

/// Finds a statement that changes data, of an agent whose instructions say that it only reads.
fn writes_where_only_reading(context: &RuleContext<'_>) -> Option<Finding> {
    let instructions = context
        .step
        .contents_of(Origin::Instructions)
        .map(|content| content.text.to_lowercase());
    let only_reads = instructions.take(4).any(|text| {
        lexicon::reading_only()
            .iter()
            .any(|words| text.contains(words.as_str()))
    });
    if !only_reads {
        return None;
    }
    let content = context.arguments().find(|content| {
        let text = content.text.trim_start().to_ascii_lowercase();
        let mut words = text.split_whitespace();
        let (verb, object) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        match verb {
            "delete" => object == "from",
            "insert" => object == "into",
            "update" => text.contains(" set "),
            "drop" | "alter" | "truncate" => matches!(
                object,
                "table" | "database" | "schema" | "view" | "index" | "user" | "role"
            ),
            _ => false,
        }
    })?;
    finding(
        RuleId::WritesWhereOnlyReading,
        context,
        FindingSite::of(content, "the statement", ""),
    )
}

/// Finds data that runs, or fetches, when a lenient reader takes it in; not if a text tells of attacks.
fn runs_when_read(context: &RuleContext<'_>) -> Option<Finding> {
    let content = context.step.contents.iter().find(|content| {
        let text = content.text.as_str();
        let entity = text.contains("<!ENTITY")
            && (text.contains("SYSTEM \"file:") || text.contains("SYSTEM 'file:") || text.contains("SYSTEM \"http"));
        let active = entity
            || [
                "!!python/object/apply",
                "!!python/object/new",
                "${jndi:",
                "!!javax.script",
            ]
            .iter()
            .any(|sign| text.contains(sign));
        content.origin == Origin::ToolOutput && content.is_body_value() && active && !orders::tells_of_attacks(text)
    })?;
    finding(RuleId::RunsWhenRead, context, FindingSite::of(content, "the data", ""))
}
