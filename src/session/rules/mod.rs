//! The rules over a session: what a step means in the light of the steps before it.
//!
//! A rule sees; it never decides: like a prefilter's, its finding gets a treatment from the organisation's policy. What a
//! rule is called, what it suggests and what other code wants of it is data (`session.toml`, read by `rule_table.rs`); each file here holds what some of them look for:
//!
//! | file | looks for |
//! |---|---|
//! | `act.rs` | nothing by itself: what a call does, in words |
//! | `hijack.rs` | calls, messages and memories that follow an instruction of nobody's |
//! | `flow.rs` | where things go to, and where they came from |
//! | `files.rs` | files that are written, then run |
//! | `again.rs` | what was denied, tried again |
//! | `arguments.rs` | options of tools that are named like programs, environments, statements that mean everything |
//! | `approvals.rs` | approvals that are used for something else |
//! | `orders.rs` | texts that tell software what to do |
//! | `split.rs`, `memories.rs` | instructions in two pieces; memories of untrusted texts |
//! | `outward.rs` | words of one text that leave for a place which another text named |
//! | `later.rs` | what is written now and runs, or steers an agent, later |
//! | `servers.rs` | what servers ask for and offer |
//! | `definitions.rs` | tools that are not what they were |
//! | `split_secrets.rs` | credentials that come in pieces |

mod act;
pub(super) mod again;
mod approvals;
mod arguments;
mod definitions;
mod files;
mod flow;
mod hijack;
mod later;
mod memories;
mod orders;
mod outward;
mod scene;
mod servers;
mod split;
mod split_secrets;

use std::ops::Range;

use super::Past;
use super::data_file_error::DataFileError;
pub use super::rule_table::FAMILY;
use super::rule_table::{self, RuleId};
use crate::model::{Content, ContentId, FileUse, Finding, Origin, Pointer, Rule, Step};
use crate::policy::Policy;
use flow::Exfiltrates;
use scene::Scene;

/// Reads the rules.
pub(super) fn check() -> Result<(), DataFileError> {
    servers::check()?;
    later::check()?;
    rule_table::check()
}

/// What session rules ask the prefilters: what a text would do that is no content of the step, and what becomes of a file.
pub trait TextScreener {
    /// What is found in a text if it were of this origin; an argument counts as a command.
    fn examine(&self, step: &Step, origin: Origin, text: &str, policy: &Policy) -> Vec<Finding>;

    /// What becomes of a file by itself, once it is written.
    fn becomes_of(&self, path: &str) -> Option<FileUse>;
}

/// Every rule over a session.
pub fn catalogue() -> impl Iterator<Item = &'static Rule> + Clone {
    rule_table::all().iter().map(|known| &known.rule)
}

/// What the rules see in a step, in the light of what happened before it.
pub fn screen(past: &Past, step: &Step, policy: &Policy, screener: &dyn TextScreener) -> Vec<Finding> {
    let scene = Scene::of(past, step, policy);
    let mut found = definitions::screen(&scene);
    memories::screen(&scene, &mut found);
    found.extend(orders::screen(&scene));
    arguments::screen(&scene, policy, screener, &mut found);
    servers::screen(&scene, &mut found);
    later::screen(&scene, policy, screener, &mut found);
    if !past.is_empty() {
        let hijacked = hijack::screen(&scene, &mut found);
        // One finding for the same way out is enough.
        if flow::screen(&scene, hijacked, &mut found) == Exfiltrates::No {
            outward::screen(&scene, &mut found);
        }
        files::screen(&scene, policy, screener, &mut found);
        approvals::screen(&scene, &mut found);
        again::screen(&scene, &mut found);
        split::screen(&scene, policy, screener, &mut found);
        split_secrets::screen(&scene, policy, screener, &mut found);
    }
    found
}

/// What a finding is about, and what goes into its explanation.
struct Sighting<'a> {
    content: Option<ContentId>,
    pointer: Pointer,
    span: Range<usize>,
    what: &'a str,
    place: &'a str,
}

impl<'a> Sighting<'a> {
    /// Of a content as a whole.
    fn of(content: &Content, what: &'a str, place: &'a str) -> Self {
        Self {
            content: Some(content.id),
            pointer: content.pointer.clone(),
            span: 0..content.text.len(),
            what,
            place,
        }
    }
}

/// A finding of a rule.
fn finding(rule: RuleId, scene: &Scene<'_>, sighting: Sighting<'_>) -> Option<Finding> {
    let known = rule_table::rule(rule)?;
    let explanation = known
        .explains
        .replace("{tool}", &super::taint::short(scene.tool()))
        .replace("{what}", sighting.what)
        .replace("{place}", sighting.place);
    Some(Finding {
        content: sighting.content,
        span: sighting.span,
        ..known.rule.on_step(sighting.pointer, explanation)
    })
}

#[cfg(test)]
mod tests;
