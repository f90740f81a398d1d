//! The examination of one step: content by content, then what its contents say together, then its shape.

use std::rc::Rc;

use super::cost_meter::{CostMeter, Work};
use super::description_cache::DescriptionLookup;
use super::plain::{Heeded, Plain};
use super::repeats::{Memo, Outcome};
use super::scan_context::ScanContext;
use super::scan_outcome::ScanOutcome;
use super::subject::{Spoken, Subject};
use super::{Prefilter, Prefilters, derived, finding_order, oversize, split_arrays};
use crate::model::{Content, ContentId, Examined, Finding, Screening, Step, View, ViewSet};
use crate::policy::Policy;
use crate::text::views;
use crate::text::views::{DecodeBudget, Glance, Views};

/// The examination of one step, as far as it has got.
pub(in crate::prefilter) struct Scanner<'s> {
    prefilters: &'s Prefilters,
    step: &'s Step,
    policy: &'s Policy,
    effort: Rc<CostMeter>,
    notes: Vec<ScanContext>,
    room: DecodeBudget,
    heeded: Heeded<'s>,
    agent: DescriptionLookup<'s>,
    memo: Memo<'s>,
    looking_around: Heeded<'s>,
    /// Of each content that was reached, the vocabularies of which it holds words.
    vocabularies: Vec<u64>,
    all_views: ViewSet,
    /// The first content that was not examined to its end, since the step takes too much work.
    unexamined: Option<ContentId>,
    screening: Screening,
}

impl<'s> Scanner<'s> {
    /// The examination of this step, for no more than so much work.
    pub(in crate::prefilter) fn of(
        prefilters: &'s Prefilters,
        step: &'s Step,
        policy: &'s Policy,
        effort: &Rc<CostMeter>,
    ) -> Self {
        let mut screening = Screening::default();
        screening.coverage.examined.reserve(step.contents.len());
        Self {
            prefilters,
            step,
            policy,
            notes: prefilters.families().map(|_| ScanContext::within(effort)).collect(),
            room: DecodeBudget::of(step),
            heeded: Heeded::default(),
            agent: prefilters.descriptions.meet(step, policy),
            memo: Memo::of_step(step),
            looking_around: Heeded::default(),
            vocabularies: Vec::with_capacity(step.contents.len()),
            all_views: ViewSet::default(),
            unexamined: None,
            screening,
            effort: Rc::clone(effort),
        }
    }

    /// Everything that is seen in the step.
    pub(in crate::prefilter) fn screening(mut self) -> Screening {
        for (place, content) in self.step.contents.iter().enumerate() {
            self.reach(place, content);
        }
        self.look_at_joined();
        self.look_at_implied();
        let mut found = self.look_at_shape();
        self.tell_what_is_left_out();
        if self.prefilters.families().next().is_some() {
            self.all_views.insert(View::Structure);
        }
        let mut screening = self.screening;
        screening.coverage.views = self.all_views.iter().collect();
        screening.findings.append(&mut found);
        screening.findings = finding_order::of_step(screening.findings);
        screening
    }

    /// Examines a content, unless it is known what that gives.
    fn reach(&mut self, place: usize, content: &'s Content) {
        if self.effort.is_exhausted() {
            self.screening.coverage.cut_bytes += content.text.len();
            self.leave_out(content);
            self.vocabularies.push(0);
            return;
        }
        let gave = match self.agent.gave(place, &self.room, &self.notes, &self.effort) {
            Some(gave) => {
                self.room.take(gave.taken);
                gave
            }
            None => {
                let told = self.screening.findings.len() + self.screening.coverage.cut.len();
                let gave = self.examine(content);
                let is_clean = self.screening.findings.len() + self.screening.coverage.cut.len() == told;
                self.agent
                    .learn(place, is_clean.then_some(gave), &self.notes, &self.effort);
                gave
            }
        };
        let coverage = &mut self.screening.coverage;
        coverage.contents += 1;
        coverage.bytes += content.text.len();
        coverage.derived_bytes += gave.derived_bytes;
        coverage.examined.push(Examined {
            pointer: content.pointer.clone(),
            views: gave.views,
        });
        self.all_views = self.all_views.or(gave.views);
        self.vocabularies.push(gave.vocabularies);
    }

    /// Examines a content; what is seen in it is told.
    fn examine(&mut self, content: &'s Content) -> ScanOutcome {
        let glance = Glance::at(content, &self.prefilters.keywords);
        if glance.is_plain(content) && !self.heeds_plain(content) {
            return ScanOutcome {
                views: Glance::plain_views(),
                derived_bytes: glance.plain_derived_bytes(content),
                ..ScanOutcome::default()
            };
        }
        if let Some(known) = self.memo.of(content) {
            self.effort.spend(Work::Finding, known.findings.len());
            self.screening.findings.extend(known.findings_at(content));
            return known.gave;
        }
        let views = Views::sharing(content, &self.prefilters.keywords, glance, &mut self.room);
        let mut findings = self.look_at(content, &views, |_| true);
        let gave = ScanOutcome::from(&views);
        let cut = views.cut_bytes();
        self.screening.coverage.cut_bytes += cut;
        if self.effort.is_exhausted() {
            self.leave_out(content);
        } else if cut > 0 {
            self.screening.coverage.cut.push(content.pointer.clone());
        } else if self.memo.is_kept() && !self.looks_around(content) {
            let findings = findings.clone();
            self.memo.keep(content, Outcome { findings, gave });
        }
        self.screening.findings.append(&mut findings);
        gave
    }

    /// Shows one content to the families that it concerns.
    pub(in crate::prefilter) fn look_at(
        &self,
        content: &Content,
        views: &Views<'_>,
        concerned: impl Fn(&dyn Prefilter) -> bool,
    ) -> Vec<Finding> {
        self.effort.spend_on(content, views);
        let mut found = Vec::new();
        let families = self.prefilters.families().zip(&self.notes);
        for (vocabulary, (family, notes)) in (views::OF_FAMILIES..).zip(families) {
            if self.effort.is_exhausted() {
                break;
            }
            let subject = Subject {
                step: self.step,
                policy: self.policy,
                content,
                views,
                vocabulary,
                notes,
            };
            if concerned(family) {
                family.screen_content(&subject, &mut found);
            }
        }
        if found.is_empty() {
            return found;
        }
        self.effort.spend(Work::Finding, found.len());
        finding_order::of_content(found)
    }

    /// Shows a text that no document holds to the families that it concerns.
    fn look_at_text(&mut self, text: &Content, concerned: impl Fn(&dyn Prefilter) -> bool) -> Vec<Finding> {
        let glance = Glance::at(text, &self.prefilters.keywords);
        let views = Views::sharing(text, &self.prefilters.keywords, glance, &mut self.room);
        self.screening.coverage.derived_bytes += views.derived_bytes();
        self.look_at(text, &views, concerned)
    }

    /// Looks at what pieces say together that are split over the items of an array.
    fn look_at_joined(&mut self) {
        for joined in split_arrays::joined(self.step) {
            if self.effort.is_exhausted() {
                self.unexamined.get_or_insert(joined.whole.id);
                return;
            }
            let findings = self.look_at_text(&joined.whole, |_| true);
            self.screening.findings.extend(joined.on_pieces(findings));
        }
    }

    /// Looks at what contents stand for without saying it.
    fn look_at_implied(&mut self) {
        let all = derived::implied(self.step);
        if !all.unopened.is_empty() {
            let cut = self.prefilters.limits.rule(oversize::At::Cut);
            let unopened = all.unopened.iter();
            self.screening
                .findings
                .extend(unopened.map(|content| derived::not_opened(cut, content)));
        }
        let mut known = None;
        for implied in all.texts {
            if self.effort.is_exhausted() {
                self.unexamined.get_or_insert(implied.whole.id);
                return;
            }
            self.screening.coverage.derived_bytes += implied.whole.text.len();
            let concerned = |family: &dyn Prefilter| implied.concerns(family.family());
            let findings = self.look_at_text(&implied.whole, concerned);
            let known = known.get_or_insert_with(|| derived::Known::of(&self.screening.findings));
            let new = implied.on_contents(findings, known);
            self.screening.findings.extend(new);
        }
    }

    /// Looks at the shape of the step.
    fn look_at_shape(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let first = views::OF_FAMILIES + self.notes.len();
        for (vocabulary, family) in (first..).zip(self.prefilters.families()) {
            let spoken = Spoken {
                vocabularies: &self.vocabularies,
                vocabulary,
            };
            family.screen_step(self.step, self.policy, spoken, &mut found);
        }
        found
    }

    fn leave_out(&mut self, content: &Content) {
        self.unexamined.get_or_insert(content.id);
        self.screening.coverage.cut.push(content.pointer.clone());
    }

    fn tell_what_is_left_out(&mut self) {
        if let Some(first) = self.unexamined.and_then(|content| self.step.content(content))
        {
            let rule = self.prefilters.limits.rule(oversize::At::TooIntricate);
            let left_out = self.screening.coverage.cut.len();
            let finding = oversize::too_intricate(rule, first, left_out);
            self.screening.findings.push(finding);
        }
    }

    /// Whether a plain content concerns any family.
    pub(in crate::prefilter) fn heeds_plain(&mut self, content: &'s Content) -> bool {
        let (prefilters, policy, effort) = (self.prefilters, self.policy, &self.effort);
        self.heeded.or_ask(content, || {
            effort.spend(Work::Name, 1);
            let plain = Plain {
                label: content.label.as_deref(),
                origin: content.origin,
                place: content.place,
                policy,
            };
            prefilters.families().any(|family| family.heeds_plain(plain))
        })
    }

    /// Whether any family looks at what stands beside a content of this name.
    fn looks_around(&mut self, content: &'s Content) -> bool {
        let (prefilters, effort) = (self.prefilters, &self.effort);
        self.looking_around.or_ask(content, || {
            effort.spend(Work::Name, 1);
            let label = content.label.as_deref();
            label.is_some_and(|label| prefilters.families().any(|family| family.looks_around(label)))
        })
    }
}
