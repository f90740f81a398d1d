//! The rules over a session: the meaning of a step in the light of the steps before it.
//!
//! A rule sees; it never decides: like a prefilter's, its finding gets a treatment from the organisation's policy. The names of the rules, their
//! suggestions and the properties that other code needs are data (`session.toml`, read by `rule_table.rs`); each file here holds the search of some
//! of them:
//!
//! | file | looks for |
//! |---|---|
//! | `act.rs` | nothing by itself: the act of a call, in words |
//! | `hijack.rs` | calls, messages and memories that follow an instruction without authority |
//! | `flow.rs` | destinations that untrusted content named, private data that leaves |
//! | `files.rs` | files that are written, then run |
//! | `retry_after_denial.rs` | denied steps, tried again |
//! | `arguments.rs` | options of tools that are named like programs, environments, statements that mean everything |
//! | `approvals.rs` | approvals that are used for something else |
//! | `orders.rs` | texts that tell software what to do |
//! | `split.rs`, `memories.rs` | instructions in two pieces; memories of untrusted texts |
//! | `exfiltration.rs` | words of one text that leave for a place which another text named |
//! | `deferred_execution.rs` | texts that are written now and run, or steer an agent, later |
//! | `servers.rs` | demands and offers of servers |
//! | `definitions.rs` | tools that are not what they were |
//! | `split_secrets.rs` | credentials that come in pieces |

mod act;
mod approvals;
mod arguments;
mod deferred_execution;
mod definitions;
mod exfiltration;
mod files;
mod flow;
mod hijack;
mod memories;
mod orders;
pub(super) mod retry_after_denial;
mod rule_context;
mod servers;
mod split;
mod split_secrets;

use std::ops::Range;

use super::SessionSnapshot;
pub use super::rule_table::FAMILY;
use super::rule_table::{self, RuleId};
use crate::model::{Content, ContentId, FileUse, Finding, Origin, Pointer, Rule, Step};
use crate::policy::Policy;
use crate::session::taint::TaintHit;
use flow::Exfiltrates;
use rule_context::RuleContext;

/// Reads the rules.
pub(super) fn check() -> Result<(), crate::text::DataError> {
    rule_table::check()
}

/// The questions of session rules to the prefilters: about a text that is no content of the step, and about the use of a file.
pub trait TextScreener {
    /// Returns the findings in a text as if it were of this origin; an argument counts as a command.
    fn examine(&self, step: &Step, origin: Origin, text: &str, policy: &Policy) -> Vec<Finding>;

    /// Returns the use of a file that takes effect by itself, once it is written.
    fn becomes_of(&self, path: &str) -> Option<FileUse>;
}

/// Returns every rule over a session.
pub fn catalogue() -> impl Iterator<Item = &'static Rule> + Clone {
    rule_table::all().iter().map(|known| &known.rule)
}

/// Returns the findings of the rules in a step, in the light of what happened before it.
pub fn screen(past: &SessionSnapshot, step: &Step, policy: &Policy, screener: &dyn TextScreener) -> Vec<Finding> {
    let context = RuleContext::of(past, step, policy, screener);
    let mut found = definitions::screen(&context);
    memories::screen(&context, &mut found);
    found.extend(orders::screen(&context));
    arguments::screen(&context, &mut found);
    servers::screen(&context, &mut found);
    deferred_execution::screen(&context, &mut found);
    if !past.is_empty() {
        let hijacked = hijack::screen(&context, &mut found);
        // One finding for the same way out is enough.
        if flow::screen(&context, hijacked, &mut found) == Exfiltrates::No {
            exfiltration::screen(&context, &mut found);
        }
        files::screen(&context, &mut found);
        approvals::screen(&context, &mut found);
        retry_after_denial::screen(&context, &mut found);
        split::screen(&context, &mut found);
        split_secrets::screen(&context, &mut found);
    }
    found
}

/// The subject of a finding, and the words for its explanation.
struct FindingSite<'a> {
    content: Option<ContentId>,
    pointer: Pointer,
    span: Range<usize>,
    what: &'a str,
    place: &'a str,
}

impl<'a> FindingSite<'a> {
    /// Makes the site of a content as a whole.
    fn of(content: &Content, what: &'a str, place: &'a str) -> Self {
        Self::of_any(Some(content), what, place)
    }

    /// Makes the site of a content as a whole, or of the step.
    fn of_any(content: Option<&Content>, what: &'a str, place: &'a str) -> Self {
        Self {
            content: content.map(|content| content.id),
            pointer: content.map(|content| content.pointer.clone()).unwrap_or_default(),
            span: 0..content.map_or(0, |content| content.text.len()),
            what,
            place,
        }
    }

    /// Makes the site of something that was read before.
    fn of_hit(hit: &TaintHit, what: &'a str, place: &'a str) -> Self {
        Self {
            content: hit.content,
            pointer: hit.pointer.clone(),
            span: hit.span.clone(),
            what,
            place,
        }
    }

    /// Returns the same site at a part of the content.
    fn at(self, span: Range<usize>) -> Self {
        Self { span, ..self }
    }
}

/// Makes a finding of a rule.
fn finding(rule: RuleId, context: &RuleContext<'_>, site: FindingSite<'_>) -> Option<Finding> {
    let known = rule_table::rule(rule)?;
    let explanation = known
        .explains
        .replace("{tool}", &super::taint::short(context.tool()))
        .replace("{what}", site.what)
        .replace("{place}", site.place);
    Some(Finding {
        content: site.content,
        span: site.span,
        ..known.rule.on_step(site.pointer, explanation)
    })
}

#[cfg(test)]
mod tests;
