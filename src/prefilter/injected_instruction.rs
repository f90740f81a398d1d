//! Instructions that stand in data, and attempts of users to talk an agent out of its rules.
//!
//! Only contents without authority are looked at for injected instructions: tool outputs, documents, memories, remote
//! agents, triggers, tool descriptions. What a user says is held to another, narrower list. Signals are
//! weighed here by who speaks and how it is disguised, and what was seen is told.

mod disguises;
mod likelihood;
mod lists;
mod quoted_example;

use std::ops::Range;

use super::disguise::Disguise;
use super::signals::{Cluster, HALVES, Hit, Part, Signals};
use super::{Family, KeywordHit, Prefilter, Subject, ViewText, Word, Work};
use crate::model::{Finding, Kind, Origin, Place, Rule, Severity};
use crate::text::DataError;
use disguises::{Disguises, layer_disguise, may_be_disguised};
use lists::{List, Lists, lists};
use quoted_example::is_quoted_example;

pub(super) use likelihood::{Likelihood, likelihood, telling};

const FAMILY: &str = "injected_instruction";

/// From this sum of weights on, instructions are likely.
const LIKELY: u32 = 7 * HALVES;

/// From this sum on weak signals are worth telling.
const COMPANY: u32 = 5 * HALVES;

/// The weight added to a signal that was hidden or disguised.
const WEIGHT_OF_DISGUISE: u32 = 3 * HALVES;

/// A text shorter than this is a note rather than a document.
const NOTE: usize = 600;

/// The family.
pub(super) struct InjectedInstruction(&'static Lists);

impl InjectedInstruction {
    /// Reads the rules and compiles their expressions.
    pub(super) fn new() -> Result<Self, DataError> {
        lists().map(Self)
    }
}

impl Family for InjectedInstruction {
    fn family(&self) -> &'static str {
        FAMILY
    }

    fn rules(&self) -> &[Rule] {
        &self.0.rules
    }
}

impl Prefilter for InjectedInstruction {
    fn words(&self) -> Vec<Word> {
        let lists = [&self.0.external, &self.0.user];
        let words = lists.into_iter().flat_map(|list| list.signals.words());
        words.cloned().collect()
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let lists = self.0;
        let list = match subject.content.origin {
            Origin::User => &lists.user,
            origin if origin.is_external() => &lists.external,
            _ => return,
        };
        let signals = &list.signals;
        let before = match subject.content.origin {
            Origin::User => lists.external.signals.words().len(),
            _ => 0,
        };
        for view in subject.views.folded() {
            let words = subject.hits(view).filter_map(|seen| {
                let word = seen
                    .word
                    .checked_sub(before)
                    .filter(|word| *word < signals.words().len())?;
                Some(KeywordHit { word, ..seen })
            });
            let hits = signals.hits_at(view.text(), words, subject.context);
            if !view.layers().is_empty() {
                subject.context.work(Work::HitBehindLayers, hits.len());
            }
            if !hits.is_empty() {
                self.tell(list, subject, view, &hits, found);
            }
            if subject.content.origin != Origin::User && may_be_disguised(subject, view) {
                self.tell_disguised(subject, view, found);
            }
        }
    }
}

impl InjectedInstruction {
    /// Tells the orders of any kind that are thoroughly disguised, in one finding a view.
    fn tell_disguised(&self, subject: &Subject<'_>, view: &ViewText<'_>, found: &mut Vec<Finding>) {
        let signals = &self.0.disguised;
        let disguises = Disguises::default();
        let hit = signals.hits(view.text()).into_iter().find(|hit| {
            !hit.is_quoted()
                && disguises.of(subject, view, &hit.span) == Disguise::Thorough
                && !is_quoted_example(subject, view, &hit.span)
        });
        let Some(hit) = hit else { return };
        if let Some(rule) = signals.kinds().get(hit.kind) {
            let mut finding = rule.at(subject, view, hit.span, format!("{}{}", rule.title, how(view)));
            finding.reason = subject.content.origin.reason_of_injection();
            found.push(finding);
        }
    }

    /// Turns the hits of one view into findings.
    fn tell(&self, list: &List, subject: &Subject<'_>, view: &ViewText<'_>, hits: &[Hit], found: &mut Vec<Finding>) {
        let origin = subject.content.origin;
        let signals = &list.signals;
        let disguises = Disguises::default();
        let weigh = |hit: &Hit| {
            let is_example = is_quoted_example(subject, view, &hit.span);
            let weight = match disguises.of(subject, view, &hit.span) {
                _ if is_example => hit.weight / 2,
                Disguise::None => hit.weight,
                Disguise::Slight | Disguise::Thorough => hit.weight + WEIGHT_OF_DISGUISE,
            };
            // A short text in an encoding that addresses a machine is no document that happens to be encoded.
            let weight = match layer_disguise(view) {
                Disguise::Slight if hit.part == Part::Order && !is_example && view.text().len() < NOTE => {
                    weight + WEIGHT_OF_DISGUISE
                }
                _ => weight,
            };
            match hit.part {
                // To say how tools are used is what tool descriptions are for.
                Part::Order | Part::Steering if origin == Origin::ToolDescription => weight / 2,
                // To tell the agent what to do is what system messages are for.
                Part::Order | Part::Steering | Part::Override | Part::Instructing if is_system_message(subject) => {
                    weight / 2
                }
                // To speak of earlier instructions is not.
                Part::Override if origin == Origin::ToolDescription => weight + 2 * HALVES,
                Part::Order | Part::Steering | Part::Override | Part::Instructing | Part::Other => weight,
            }
        };
        let clusters = signals.gravest(hits, COMPANY, weigh);
        let mut add = |rule: &Rule, span: Range<usize>, explanation: String, quoted: bool| {
            let mut finding = rule.at(subject, view, span, explanation);
            finding.reason = origin.reason_of_injection();
            if quoted {
                finding.severity = finding.severity.min(Severity::Low);
            }
            found.push(finding);
        };
        for cluster in &clusters {
            let rule = match cluster.score {
                score if score >= list.enough => list.strong,
                LIKELY.. => list.likely,
                _ => continue,
            };
            let explanation = explain(signals, cluster, list.enough, view);
            add(self.0.together.rule(rule), cluster.span.clone(), explanation, false);
        }
        for hit in hits {
            let in_company =
                |cluster: &Cluster| cluster.span.start <= hit.span.start && hit.span.end <= cluster.span.end;
            if (hit.is_told_alone() || clusters.iter().any(in_company))
                && let Some(rule) = signals.kinds().get(hit.kind)
            {
                let explanation = format!("{}{}", rule.title, how(view));
                add(rule, hit.span.clone(), explanation, hit.is_quoted());
            }
        }
    }
}

fn explain(signals: &Signals, cluster: &Cluster, enough: u32, view: &ViewText<'_>) -> String {
    let names: Vec<&str> = cluster
        .kinds
        .iter()
        .filter_map(|kind| signals.kinds().get(*kind))
        .map(|kind| kind.id.split_once('.').map_or(kind.id.as_str(), |(_, id)| id))
        .collect();
    format!(
        "Signals of instructions stand together: {} (weight {} of {} for certain).{}",
        names.join(", "),
        cluster.score / HALVES,
        enough / HALVES,
        how(view)
    )
}

/// Returns how the text was reached, where it was not in the open.
fn how(view: &ViewText<'_>) -> String {
    if view.layers().is_empty() {
        return String::new();
    }
    format!(" Read after decoding ({}).", view.path())
}

/// Returns `true` if a text is what the orchestrator says to the agent (AOS 4.1.1, role `system`), rather than a remark beside it.
fn is_system_message(subject: &Subject<'_>) -> bool {
    let Subject { step, content, .. } = subject;
    step.kind == Kind::SystemMessage && content.place == Place::Body && content.origin == Origin::Unknown
}

#[cfg(test)]
mod tests;
