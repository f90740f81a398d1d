//! The examination of one step: content by content, then what its contents say together, then its shape.

use std::rc::Rc;

use super::cost_meter::{CostMeter, Work};
use super::scan_context::ScanContext;
use super::subject::Subject;
use super::{CalledTool, Prefilters, derived, finding_order, oversize, split_arrays};
use crate::model::{Content, ContentId, Examined, Finding, Origin, Place, Screening, Step, View, ViewSet};
use crate::policy::Policy;
use crate::text::views;
use crate::text::views::{DecodeBudget, Triage, ViewText, Views};

/// The examination of one step, as far as it has got.
pub(in crate::prefilter) struct Scanner<'s> {
    prefilters: &'s Prefilters,
    step: &'s Step,
    policy: &'s Policy,
    meter: Rc<CostMeter>,
    called: CalledTool<'s>,
    contexts: Vec<ScanContext>,
    budget: DecodeBudget,
    views: ViewSet,
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
        meter: &Rc<CostMeter>,
    ) -> Self {
        let mut screening = Screening::default();
        screening.coverage.examined.reserve(step.contents.len());
        Self {
            prefilters,
            step,
            policy,
            contexts: prefilters.families().map(|_| ScanContext::within(meter)).collect(),
            budget: DecodeBudget::of(step),
            views: ViewSet::default(),
            unexamined: None,
            screening,
            called: CalledTool::of(step, policy),
            meter: Rc::clone(meter),
        }
    }

    /// Everything that is seen in the step.
    pub(in crate::prefilter) fn screening(mut self) -> Screening {
        for content in &self.step.contents {
            self.reach(content);
        }
        self.look_at_joined();
        self.look_at_derived();
        let mut found = self.look_at_shape();
        self.tell_what_is_left_out();
        if self.prefilters.families().next().is_some() {
            self.views.insert(View::Structure);
        }
        let mut screening = self.screening;
        screening.coverage.views = self.views.iter().collect();
        screening.findings.append(&mut found);
        screening.findings = finding_order::of_step(screening.findings);
        screening
    }

    /// Examines a content, unless the step has taken all the work that it may.
    fn reach(&mut self, content: &'s Content) {
        if self.meter.is_exhausted() {
            self.screening.coverage.cut_bytes += content.text.len();
            self.leave_out(content);
            return;
        }
        let triage = Triage::at(content, &self.prefilters.keywords);
        let (views, derived_bytes) = match triage.is_trivial(content) && !self.concerns_trivial(content) {
            true => (Triage::trivial_views(), triage.trivial_derived_bytes(content)),
            false => self.examine(content, triage),
        };
        let coverage = &mut self.screening.coverage;
        coverage.contents += 1;
        coverage.bytes += content.text.len();
        coverage.derived_bytes += derived_bytes;
        coverage.examined.push(Examined {
            pointer: content.pointer.clone(),
            views,
        });
        self.views = self.views.or(views);
    }

    /// Examines a content; what is seen in it is told. Answers in which views, and how many bytes these have but the raw one.
    fn examine(&mut self, content: &'s Content, triage: Triage) -> (ViewSet, usize) {
        let views = Views::sharing(content, &self.prefilters.keywords, triage, &mut self.budget);
        let mut findings = self.look_at(content, &views);
        let cut = views.cut_bytes();
        self.screening.coverage.cut_bytes += cut;
        if self.meter.is_exhausted() {
            self.leave_out(content);
        } else if cut > 0 {
            self.screening.coverage.cut.push(content.pointer.clone());
        }
        self.screening.findings.append(&mut findings);
        (views.iter().map(ViewText::view).collect(), views.derived_bytes())
    }

    /// Shows one content to every family.
    pub(in crate::prefilter) fn look_at(&self, content: &Content, views: &Views<'_>) -> Vec<Finding> {
        self.meter.spend_on(content, views);
        let mut found = Vec::new();
        let families = self.prefilters.families().zip(&self.contexts);
        for (vocabulary, (family, context)) in (views::OF_FAMILIES..).zip(families) {
            if self.meter.is_exhausted() {
                break;
            }
            let subject = Subject {
                step: self.step,
                policy: self.policy,
                content,
                called: &self.called,
                views,
                vocabulary,
                context,
            };
            family.screen_content(&subject, &mut found);
        }
        if found.is_empty() {
            return found;
        }
        self.meter.spend(Work::Finding, found.len());
        finding_order::of_content(found)
    }

    /// Shows a text that no document holds to every family.
    fn look_at_text(&mut self, text: &Content) -> Vec<Finding> {
        let triage = Triage::at(text, &self.prefilters.keywords);
        let views = Views::sharing(text, &self.prefilters.keywords, triage, &mut self.budget);
        self.screening.coverage.derived_bytes += views.derived_bytes();
        self.look_at(text, &views)
    }

    /// Looks at what pieces say together that are split over the items of an array.
    fn look_at_joined(&mut self) {
        for joined in split_arrays::joined(self.step) {
            if self.meter.is_exhausted() {
                self.unexamined.get_or_insert(joined.whole.id);
                return;
            }
            let findings = self.look_at_text(&joined.whole);
            self.screening.findings.extend(joined.on_pieces(findings));
        }
    }

    /// Looks at what contents stand for without saying it.
    fn look_at_derived(&mut self) {
        let all = derived::derived_from(self.step);
        if !all.unopened.is_empty() {
            let cut = self.prefilters.limits.rule(oversize::At::Cut);
            let unopened = all.unopened.iter();
            self.screening
                .findings
                .extend(unopened.map(|content| derived::not_opened(cut, content)));
        }
        let mut known = None;
        for text in all.texts {
            if self.meter.is_exhausted() {
                self.unexamined.get_or_insert(text.whole.id);
                return;
            }
            self.screening.coverage.derived_bytes += text.whole.text.len();
            let findings = self.look_at_text(&text.whole);
            let known = known.get_or_insert_with(|| derived::Places::of(&self.screening.findings));
            let new = text.on_contents(findings, known);
            self.screening.findings.extend(new);
        }
    }

    /// Looks at the shape of the step.
    fn look_at_shape(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for family in self.prefilters.families() {
            family.screen_step(self.step, self.policy, &mut found);
        }
        found
    }

    fn leave_out(&mut self, content: &Content) {
        self.unexamined.get_or_insert(content.id);
        self.screening.coverage.cut.push(content.pointer.clone());
    }

    fn tell_what_is_left_out(&mut self) {
        if let Some(first) = self.unexamined.and_then(|content| self.step.content(content)) {
            let rule = self.prefilters.limits.rule(oversize::At::TooIntricate);
            let left_out = self.screening.coverage.cut.len();
            let finding = oversize::too_intricate(rule, first, left_out);
            self.screening.findings.push(finding);
        }
    }

    /// Returns `true` if a plain content may concern a family all the same: one without any word of any family, without digits, codes,
    /// or anything else that an analysis is about. It may be acted on as it stands, even if it is a single word; its name may say what it
    /// is; or the organisation has rules of its own.
    pub(in crate::prefilter) fn concerns_trivial(&self, content: &Content) -> bool {
        self.meter.spend(Work::Name, 1);
        let speaks = matches!(content.origin, Origin::ToolArguments | Origin::Agent | Origin::Unknown);
        // No one acts on ids and names around a step.
        let may_act = speaks && content.place == Place::Body;
        let told_by_name = |label: &str| self.prefilters.families().any(|family| family.is_told_by_name(label));
        may_act || !self.policy.own_rules.is_empty() || content.label.as_deref().is_some_and(told_by_name)
    }
}
