//! Texts that are derived from the arguments of a call: the strings of a JSON text inside a string.
//!
//! They are screened like arguments of their own name, and what is found is carried back to the contents that are there.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::model::{Content, ContentId, Finding, Rule, Step, View};
use crate::text::spans::overlap;
use crate::text::views::{Leaf, MAX_LEAVES, leaves};

/// JSON in a string in JSON in a string is opened this many times.
const MAX_DEPTH: usize = 4;
/// The most texts that are derived from a step.
const MAX: usize = 512;

/// A text that is derived from arguments.
pub(in crate::prefilter) struct DerivedText {
    /// A content that no document holds, with the id and the place of the one it comes from.
    pub(in crate::prefilter) whole: Content,
    /// The leaves that lead there, outermost first.
    way: Vec<Arc<Leaf>>,
}

/// The texts derived from a step.
pub(in crate::prefilter) struct All<'s> {
    /// Every derived text, up to a number.
    pub(in crate::prefilter) texts: Vec<DerivedText>,
    /// Contents that hold more texts than were opened, or deeper ones.
    pub(in crate::prefilter) unopened: Vec<&'s Content>,
}

/// Every text that is derived from the arguments of a step.
pub(in crate::prefilter) fn derived_from(step: &Step) -> All<'_> {
    let (mut texts, mut unopened) = (Vec::new(), Vec::new());
    for content in step.contents.iter().filter(|content| content.is_argument_text()) {
        if open(content, &mut texts) == Opened::Partly {
            unopened.push(content);
        }
    }
    All { texts, unopened }
}

/// Returns the finding that not all of a content was opened, by the rule about what is left unexamined.
pub(in crate::prefilter) fn not_opened(rule: &Rule, content: &Content) -> Finding {
    let what = "The JSON in this string holds more strings, or deeper ones, than are examined one by one.";
    Finding {
        view: View::Json,
        ..rule.on_content(content, what)
    }
}

/// The extent to which a content was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opened {
    Wholly,
    Partly,
}

/// Adds every string inside a content that is JSON.
fn open(content: &Content, derived: &mut Vec<DerivedText>) -> Opened {
    let mut opened = Opened::Wholly;
    let mut waiting = vec![(content.clone(), Vec::new())];
    while let Some((content, way)) = waiting.pop() {
        let Some(leaves) = leaves(&content.text) else {
            continue;
        };
        if leaves.len() >= MAX_LEAVES || (way.len() >= MAX_DEPTH && !leaves.is_empty()) {
            opened = Opened::Partly;
        }
        if way.len() >= MAX_DEPTH {
            continue;
        }
        for leaf in leaves {
            if derived.len() >= MAX {
                return Opened::Partly;
            }
            let mut whole = content.clone();
            whole.text.clone_from(&leaf.text);
            whole.label = leaf.key.clone().or(whole.label);
            let mut way = way.clone();
            way.push(Arc::new(leaf));
            waiting.push((whole.clone(), way.clone()));
            derived.push(DerivedText { whole, way });
        }
    }
    opened
}

/// The places where rules found something, content by content.
pub(in crate::prefilter) struct Places(HashMap<Option<ContentId>, Vec<(String, Range<usize>)>>);

impl Places {
    /// The places of these findings.
    pub(in crate::prefilter) fn of(findings: &[Finding]) -> Self {
        let mut known = Self(HashMap::new());
        findings.iter().for_each(|finding| known.add(finding));
        known
    }

    fn add(&mut self, finding: &Finding) {
        let places = self.0.entry(finding.content).or_default();
        places.push((finding.rule.clone(), finding.span.clone()));
    }

    fn has(&self, finding: &Finding) -> bool {
        let places = self.0.get(&finding.content).map_or(&[][..], Vec::as_slice);
        places
            .iter()
            .any(|(rule, span)| *rule == finding.rule && overlap(span, &finding.span))
    }
}

impl DerivedText {
    /// Findings on the derived text as findings on what is there, without those that are known; they are known from now on.
    pub(in crate::prefilter) fn on_contents(&self, findings: Vec<Finding>, known: &mut Places) -> Vec<Finding> {
        let carried: Vec<Finding> = findings
            .into_iter()
            .map(|finding| self.carry_back(finding))
            .filter(|finding| !known.has(finding))
            .collect();
        carried.iter().for_each(|finding| known.add(finding));
        carried
    }

    fn carry_back(&self, mut finding: Finding) -> Finding {
        let inner = finding.span.clone();
        finding.span = self.way.iter().rev().fold(inner, |span, leaf| leaf.source_span(span));
        finding
    }
}

#[cfg(test)]
mod tests;
