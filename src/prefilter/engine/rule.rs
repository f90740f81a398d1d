//! Findings of rules in views of a text.

use std::ops::Range;

use super::Subject;
use crate::model::{Finding, Rule};
use crate::text::views::ViewText;

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
