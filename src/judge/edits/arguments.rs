//! Edits of a call's arguments and of everything else that is acted upon: only a value that a rule found to be a secret or personal data is replaced,
//! by one plain word.
//!
//! An argument is read by a program. Taking words away can widen a command (`rm x --dry-run`) or a query (`WHERE id = 5`),
//! another word can be another recipient, and stars are a pattern that matches every file. So the judge only chooses which of
//! the values that rules named are masked; the word that stands there afterwards is the policy's
//! ([`MaskStyle::word`](crate::policy::MaskStyle::word)). Every other modification of an argument is refused.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Bounds, EditRefusal};
use crate::model::{Content, Edit, Finding, Kind, Origin};

impl Bounds<'_> {
    /// Adds one edit for each value that a replacement masks at this span of an argument.
    pub(super) fn mask_argument(
        &self,
        content: &Content,
        at: Range<usize>,
        find: &str,
        replace: &str,
        edits: &mut Vec<Edit>,
    ) -> Result<(), EditRefusal> {
        let stretches = masked_stretches(find, replace).ok_or(EditRefusal::Widens)?;
        for stretch in stretches {
            let masked = at.start + stretch.start..at.start + stretch.end;
            let finding = self.data_at(content, &masked).ok_or(EditRefusal::Widens)?;
            let text = content.text.get(finding.span.clone()).unwrap_or_default();
            edits.push(Edit {
                content: content.id,
                span: finding.span.clone(),
                replacement: self.word_or_mask(content, finding, text),
                reason: finding.reason.clone(),
            });
        }
        Ok(())
    }

    /// Returns one plain word; the policy's mask if a field of a message to another agent is all value.
    fn word_or_mask(&self, content: &Content, finding: &Finding, text: &str) -> String {
        if content.origin != Origin::ToolArguments
            && self.step.kind == Kind::A2aRequest
            && finding.span.len() == content.text.len()
        {
            self.mask.stand_in(finding, text)
        } else {
            self.mask.word(finding, text)
        }
    }

    /// Returns the finding that names these bytes of a content as data.
    pub(super) fn data_at(&self, content: &Content, masked: &Range<usize>) -> Option<&Finding> {
        self.findings.iter().find(|finding| {
            finding.content == Some(content.id)
                && finding.reason.is_data()
                && finding.span.start <= masked.start
                && masked.end <= finding.span.end
        })
    }
}

/// The placeholders of something that was taken out: stars, one plain word, or a name in brackets that is all capitals.
#[expect(clippy::expect_used, reason = "a literal pattern that a test compiles")]
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\*{3,}|\bMASKED[A-Z0-9_]*\b|\[(?:[A-Z][A-Z0-9_ -]{2,40}|redacted|removed|masked)\]")
        .expect("the pattern compiles")
});

/// Returns the stretches of `find` for which `replace` has a placeholder; `None` if `replace` is anything else than `find` with stretches of it
/// masked. An empty `replace` masks all of the text.
pub(super) fn masked_stretches(find: &str, replace: &str) -> Option<Vec<Range<usize>>> {
    let mut stretches = Vec::new();
    if replace.is_empty() {
        stretches.push(0..find.len());
        return Some(stretches);
    }
    let mut kept: Vec<&str> = PLACEHOLDER.split(replace).collect();
    let last = kept.pop()?;
    let (first, between) = kept.split_first()?;
    let mut at = find.starts_with(first).then_some(first.len())?;
    for stretch in between {
        let rest = find.get(at..)?;
        let offset = rest.find(stretch)?;
        stretches.push(at..at + offset);
        at += offset + stretch.len();
    }
    let end = find.len().checked_sub(last.len())?;
    (find.ends_with(last) && at <= end).then(|| stretches.push(at..end))?;
    stretches.iter().all(|stretch| !stretch.is_empty()).then_some(stretches)
}
