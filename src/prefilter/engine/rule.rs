//! Findings of rules in views of a text.

use std::ops::Range;

use super::Subject;
use crate::model::{Finding, Rule, RuleKey, RuleTable};
use crate::text::views::ViewText;

impl<K: RuleKey> RuleTable<K> {
    /// A finding of the rule of this key at a span of a view, explained by the rule's title.
    pub(in crate::prefilter) fn titled(
        &self,
        key: K,
        subject: &Subject<'_>,
        view: &ViewText<'_>,
        span: Range<usize>,
    ) -> Finding {
        let rule = self.rule(key);
        rule.at(subject, view, span, rule.title.clone())
    }
}

impl Rule {
    /// A finding of this rule at a span of a view. The span is carried back to the raw text.
    pub fn at(
        &self,
        subject: &Subject<'_>,
        view: &ViewText<'_>,
        span: Range<usize>,
        explanation: impl Into<String>,
    ) -> Finding {
        Finding {
            content: Some(subject.content.id),
            span: view.raw_span(span),
            view: view.view(),
            ..self.on_step(subject.content.pointer.clone(), explanation)
        }
    }
}
