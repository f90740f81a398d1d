//! One known format: its expression, where in a text it is tried, and what a match must still pass.

use std::ops::Range;

use super::check::{Check, Opinion};
use super::data::{Entry, KeywordPlace, Shape};
use super::value;
use crate::model::Confidence;
use crate::text::expression::ByteExpression;
use crate::text::keywords::stands_free;

/// A secret in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// The index of the rule.
    pub rule: usize,
    /// The bytes of exactly the secret, on character borders.
    pub span: Range<usize>,
    /// The confidence.
    pub confidence: Confidence,
    /// The form it was found in, which says how specific it is; `None`: by a name alone.
    pub form: Option<Form>,
}

/// Bytes that may still be read of one text.
pub(super) struct CostMeter {
    left: usize,
    /// The bytes that there were at first.
    whole: usize,
    /// The part of them beyond what the length of the text allows.
    granted: usize,
}

impl CostMeter {
    /// The cost that every text may have: so many times its length, and a little.
    const PER_BYTE: usize = 24;
    const AT_LEAST: usize = 4 * 1024;
    /// The cost that the texts of a step may have beyond that, all together.
    pub(super) const OF_STEP: usize = 4 << 20;

    /// The effort for a text, with so much beyond what its length allows.
    pub(super) fn for_text(text: &str, granted: usize) -> Self {
        let own = text.len().saturating_mul(Self::PER_BYTE).saturating_add(Self::AT_LEAST);
        Self {
            left: own.saturating_add(granted),
            whole: own.saturating_add(granted),
            granted,
        }
    }

    pub(super) fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes.saturating_add(16));
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    /// Returns the number of bytes that were read.
    pub(super) fn read(&self) -> usize {
        self.whole.saturating_sub(self.left)
    }

    /// Returns the part of what was granted that is used up.
    pub(super) fn used(&self) -> usize {
        self.granted.saturating_sub(self.left)
    }
}

/// A known format.
pub(super) struct Format {
    pub(super) rule: usize,
    pub(super) form: Form,
    expression: ByteExpression,
    before: usize,
    reach: usize,
    entropy: Option<f64>,
    runs: bool,
    check: Check,
    confidence: Confidence,
}

/// The way in which a format is looked for; the more specific first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// A value that a name makes a credential.
    Named,
    /// A token somewhere around its keyword.
    TokenNearKeyword,
    /// A token that begins with its keyword: read from there.
    TokenAtKeyword,
    /// A pattern that says itself what stands around the secret.
    Pattern,
}

impl Format {
    /// The format of a rule; none where a name alone makes a value a secret.
    pub(super) fn of(rule: usize, entry: &Entry) -> Option<Self> {
        let text = match &entry.shape {
            Shape::Token(token) => match entry.keywords_at {
                KeywordPlace::Start => format!(r"\A({token})(?:[^A-Za-z0-9_]|$)"),
                KeywordPlace::Anywhere => format!("({token})(?:[^A-Za-z0-9_]|$)"),
            },
            Shape::Named { names, value } => format!(
                r#"(?:^|[^A-Za-z])(?i:{names})[A-Za-z0-9 _.\-]{{0,25}}(?:\\?["'`\])>]){{0,2}}\s{{0,3}}(?:=|:|,|>|\||\(|\bis\b|\s){{1,4}}\s{{0,4}}(?:\\?["'`<]){{0,3}}(?i:invoker |basic |token |ssws |apikey |token=)?({value})(?:[^A-Za-z0-9_]|$)"#
            ),
            Shape::Pattern(pattern) => pattern.clone(),
            Shape::Labelled => return None,
        };
        Some(Self {
            rule,
            form: match (&entry.shape, entry.keywords_at) {
                (Shape::Token(_), KeywordPlace::Start) => Form::TokenAtKeyword,
                (Shape::Token(_), KeywordPlace::Anywhere) => Form::TokenNearKeyword,
                (Shape::Named { .. }, _) => Form::Named,
                (Shape::Pattern(_) | Shape::Labelled, _) => Form::Pattern,
            },
            expression: ByteExpression::new(|| text),
            before: entry.before,
            reach: entry.reach,
            entropy: entry.entropy,
            runs: entry.runs,
            check: entry.check,
            confidence: entry.rule.confidence,
        })
    }

    pub(super) fn is_self_evident(&self) -> bool {
        let token = matches!(self.form, Form::TokenAtKeyword | Form::TokenNearKeyword);
        (token || self.check == Check::Pem) && self.confidence == Confidence::High
    }

    /// Returns `true` if its expression compiles; for the test that holds that all do.
    #[cfg(test)]
    pub(super) fn compiles(&self) -> bool {
        self.expression.regex().is_some()
    }

    /// Adds the surroundings of a keyword to the windows, which are in the order of the text.
    pub(super) fn widen(&self, windows: &mut Vec<Range<usize>>, keyword: Range<usize>, len: usize) {
        let start = keyword.start.saturating_sub(self.before);
        let end = len.min(keyword.end.saturating_add(self.reach));
        match windows.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            Some(_) | None => windows.push(start..end),
        }
    }

    /// Reads a token that begins here.
    pub(super) fn read_token(&self, text: &str, start: usize, effort: &mut CostMeter, hits: &mut Vec<Hit>) {
        let bytes = text.as_bytes();
        if !stands_free(bytes, start) {
            return;
        }
        let Some(regex) = self.expression.regex() else { return };
        let mut end = bytes.len().min(start.saturating_add(self.reach));
        while let Some(seen) = bytes.get(start..end) {
            effort.spend(seen.len());
            let Some(captures) = regex.captures(seen) else { return };
            let whole = captures.get(0).map_or(0, |whole| whole.end());
            if start + whole == end && end < bytes.len() && !effort.is_exhausted() {
                // The border of what was read may have cut the token short: look again with more of the text.
                end = bytes.len().min(end.saturating_add(seen.len()));
                continue;
            }
            if let Some(secret) = captures.get(1) {
                hits.extend(self.judged(text, start + secret.start()..start + secret.end()));
            }
            return;
        }
    }

    /// Reads a window.
    pub(super) fn read_window(&self, text: &str, window: Range<usize>, effort: &mut CostMeter, hits: &mut Vec<Hit>) {
        let Some(regex) = self.expression.regex() else { return };
        let bytes = text.as_bytes();
        let (mut from, mut end) = (window.start, window.end);
        while from < end && !effort.is_exhausted() {
            let Some(captures) = bytes.get(..end).and_then(|seen| regex.captures_at(seen, from)) else {
                effort.spend(end - from);
                return;
            };
            let Some(whole) = captures.get(0) else { return };
            effort.spend(whole.end().saturating_sub(from));
            if whole.end() == end && end < bytes.len() {
                end = bytes.len().min(end.saturating_add((end - from).max(self.reach)));
                continue;
            }
            let secret = captures.iter().skip(1).flatten().next().unwrap_or(whole);
            if self.form == Form::TokenNearKeyword && !stands_free(bytes, secret.start()) {
                from = secret.start() + 1;
                continue;
            }
            hits.extend(self.judged(text, secret.range()));
            from = secret.end().max(from + 1);
        }
    }

    fn judged(&self, text: &str, span: Range<usize>) -> Option<Hit> {
        let bytes = text.as_bytes();
        let secret = bytes.get(span.clone())?;
        let floor = self.entropy.unwrap_or(if secret.len() >= 20 { 3.0 } else { 2.0 });
        if (!self.runs && value::is_placeholder(secret)) || value::entropy(secret) < floor {
            return None;
        }
        let confidence = match self.check.opinion(bytes, span.clone()) {
            Opinion::Refuted => return None,
            Opinion::Weak => Confidence::Low,
            Opinion::Doubtful => self.confidence.min(Confidence::Medium),
            Opinion::Plausible => self.confidence,
        };
        Some(Hit {
            rule: self.rule,
            span: text.floor_char_boundary(span.start)..text.ceil_char_boundary(span.end),
            confidence,
            form: Some(self.form),
        })
    }
}
