//! Prefilters: pure, synchronous, deterministic rules over every content in every view.
//!
//! A prefilter sees; it never decides. What it sees becomes a [`Finding`], and the organisation's policy makes a
//! treatment of that. To add a family: one file in this folder, one line in [`Prefilters::standard`].

mod catalogue;
mod destructive_command;
mod disguise;
mod expression;
mod gate;
mod hidden_text;
mod implied;
mod injected_instruction;
mod joined;
mod locations;
mod notes;
mod obfuscation;
mod oversize;
mod own;
mod path;
mod personal_data;
mod plain;
mod rule;
mod scan;
mod secret;
mod signals;
mod sql;
mod structure;
mod subject;
mod tables;
mod throwaway;
mod tidy;
mod tool;
mod untrusted_destination;
mod views;
mod warm_up;

use crate::model::{Content, Examined, Finding, Screening, Step, View, ViewSet};
use crate::policy::Policy;
use plain::Heeded;
use views::Glance;

pub use gate::{Case, Gate, Seen, Sightings, Word};
pub use notes::Notes;
pub use own::own_rules;
pub use plain::Plain;
pub use rule::Rule;
pub use subject::{Spoken, Subject};
pub use views::{ViewText, Views};

/// A family of rules.
pub trait Prefilter: Send + Sync {
    /// The family's name: the first part of its rule ids, and the name of its file.
    fn family(&self) -> &'static str;

    /// Its rules, for documentation, `guardian rules`, and the tests that hold their examples.
    fn rules(&self) -> &[Rule];

    /// The words that it gates on: the gate looks for those of all families in one pass, and tells each where its own stand
    /// ([`Subject::sightings`]), by their places in this list.
    fn words(&self) -> Vec<Word> {
        Vec::new()
    }

    /// The words by which it knows the contents that concern it when it looks at the shape of a step ([`Spoken`]).
    fn step_words(&self) -> Vec<Word> {
        Vec::new()
    }

    /// Whether a plain content may concern it: one without any word of any family, without digits, codes, or anything else
    /// that an analysis is about.
    fn heeds_plain(&self, _plain: Plain<'_>) -> bool {
        true
    }

    /// Looks at one content in all its views.
    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>);

    /// Looks at the shape of the step: its tool call, its tools, its remarks.
    fn screen_step(&self, _step: &Step, _policy: &Policy, _spoken: Spoken<'_>, _found: &mut Vec<Finding>) {}
}

/// The one list of prefilters.
pub struct Prefilters {
    families: Vec<Box<dyn Prefilter>>,
    gate: Gate,
}

impl Prefilters {
    /// Every family there is, in the order in which their findings are reported.
    pub fn standard() -> Self {
        Self::of(vec![
            Box::new(injected_instruction::InjectedInstruction::new()),
            Box::new(hidden_text::HiddenText::new()),
            Box::new(obfuscation::Obfuscation::new()),
            Box::new(secret::Secret),
            Box::new(personal_data::PersonalData),
            Box::new(oversize::Oversize::new()),
            Box::new(structure::Structure::new()),
            Box::new(destructive_command::DestructiveCommand::new()),
            Box::new(sql::Sql::new()),
            Box::new(path::Path::new()),
            Box::new(tool::Tool::new()),
            Box::new(untrusted_destination::UntrustedDestination::new()),
            Box::new(own::Own),
        ])
    }

    fn of(families: Vec<Box<dyn Prefilter>>) -> Self {
        let gate = views::gate(families.iter().map(AsRef::as_ref));
        Self { families, gate }
    }

    /// Every family.
    pub fn families(&self) -> impl Iterator<Item = &dyn Prefilter> {
        self.families.iter().map(AsRef::as_ref)
    }

    /// Every rule of every family.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.families.iter().flat_map(|family| family.rules())
    }

    /// Screens a step: every content, every view, every family.
    ///
    /// Findings come in document order. Of very many only the gravest are kept: a step cannot drown a finding in others.
    pub fn screen(&self, step: &Step, policy: &Policy) -> Screening {
        let mut screening = Screening::default();
        screening.coverage.examined.reserve(step.contents.len());
        let mut all_views = ViewSet::default();
        let mut vocabularies = Vec::with_capacity(step.contents.len());
        let mut found = Vec::new();
        let notes: Vec<Notes> = self.families.iter().map(|_| Notes::default()).collect();
        let mut room = views::Room::of(step);
        let mut heeded = Heeded::default();
        for content in &step.contents {
            let coverage = &mut screening.coverage;
            coverage.contents += 1;
            coverage.bytes += content.text.len();
            let glance = Glance::at(content, &self.gate);
            if glance.is_plain(content) && !self.heed_plain(content, policy, &mut heeded) {
                coverage.derived_bytes += glance.plain_derived_bytes(content);
                all_views = all_views.or(Glance::plain_views());
                coverage.examined.push(Examined {
                    pointer: content.pointer.clone(),
                    views: Glance::plain_views(),
                });
                vocabularies.push(0);
                continue;
            }
            let views = Views::sharing(content, &self.gate, glance, &mut room);
            coverage.derived_bytes += views.derived_bytes();
            coverage.cut_bytes += views.cut_bytes();
            if views.cut_bytes() > 0 {
                coverage.cut.push(content.pointer.clone());
            }
            let of_content: ViewSet = views.iter().map(ViewText::view).collect();
            all_views = all_views.or(of_content);
            coverage.examined.push(Examined {
                pointer: content.pointer.clone(),
                views: of_content,
            });
            let raw = views.iter().next();
            vocabularies.push(raw.map_or(0, |raw| raw.sightings().vocabularies()));
            self.look_at(step, policy, content, &views, &notes, |_| true, &mut found);
            if !found.is_empty() {
                let mut of_content = tidy::of_content(std::mem::take(&mut found));
                screening.findings.append(&mut of_content);
            }
        }
        for joined in joined::joined(step) {
            let glance = Glance::at(&joined.whole, &self.gate);
            let views = Views::sharing(&joined.whole, &self.gate, glance, &mut room);
            screening.coverage.derived_bytes += views.derived_bytes();
            self.look_at(step, policy, &joined.whole, &views, &notes, |_| true, &mut found);
            let findings = tidy::of_content(std::mem::take(&mut found));
            screening.findings.extend(joined.on_pieces(findings));
        }
        let mut known = None;
        let all = implied::implied(step);
        if !all.unopened.is_empty()
            && let Some(cut) = self.rules().find(|rule| rule.id == oversize::CUT)
        {
            let unopened = all.unopened.iter();
            screening
                .findings
                .extend(unopened.map(|content| implied::not_opened(cut, content)));
        }
        for implied in all.texts {
            let glance = Glance::at(&implied.whole, &self.gate);
            let views = Views::sharing(&implied.whole, &self.gate, glance, &mut room);
            screening.coverage.derived_bytes += implied.whole.text.len() + views.derived_bytes();
            let concerned = |family: &dyn Prefilter| implied.concerns(family.family());
            self.look_at(step, policy, &implied.whole, &views, &notes, concerned, &mut found);
            let findings = tidy::of_content(std::mem::take(&mut found));
            let known = known.get_or_insert_with(|| implied::Known::of(&screening.findings));
            let new = implied.on_contents(findings, known);
            screening.findings.extend(new);
        }
        let first = views::OF_FAMILIES + self.families.len();
        for (vocabulary, family) in (first..).zip(&self.families) {
            let spoken = Spoken {
                vocabularies: &vocabularies,
                vocabulary,
            };
            family.screen_step(step, policy, spoken, &mut found);
        }
        if !self.families.is_empty() {
            all_views.insert(View::Structure);
        }
        screening.coverage.views = all_views.iter().collect();
        screening.findings.append(&mut found);
        screening.findings = tidy::of_step(screening.findings);
        screening
    }

    /// Whether a plain content concerns any family.
    fn heed_plain<'s>(&self, content: &'s Content, policy: &Policy, heeded: &mut Heeded<'s>) -> bool {
        let (label, origin) = (content.label.as_deref(), content.origin);
        heeded.or_ask(label, origin, || {
            let plain = Plain { label, origin, policy };
            self.families.iter().any(|family| family.heeds_plain(plain))
        })
    }

    /// Shows one content to the families that it concerns.
    #[allow(clippy::too_many_arguments, reason = "most of it goes into one subject")]
    fn look_at(
        &self,
        step: &Step,
        policy: &Policy,
        content: &Content,
        views: &Views<'_>,
        notes: &[Notes],
        concerned: impl Fn(&dyn Prefilter) -> bool,
        found: &mut Vec<Finding>,
    ) {
        for ((vocabulary, family), notes) in (views::OF_FAMILIES..).zip(&self.families).zip(notes) {
            let subject = Subject {
                step,
                policy,
                content,
                views,
                vocabulary,
                notes,
            };
            if concerned(family.as_ref()) {
                family.screen_content(&subject, found);
            }
        }
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
