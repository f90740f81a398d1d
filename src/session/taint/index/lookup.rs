//! The look-up of the parts of a step that were read before, and of the user's relation to its values.

use std::ops::Range;
use std::sync::Arc;

use super::{AUTHOR, INSTRUCTED, MAX_BYTES, PLAIN, TaintIndex};
use crate::model::{Content, ContentId, Kind, Origin, Place, Pointer, Step, head, nearest_double};
use crate::session::taint::prints::{all_values, stem};
use crate::session::taint::values::{self, Value, ValueKind};
use crate::session::taint::{Provenance, TaintHit, TaintKind, UserRelation, shingles};
use crate::text::views::{Normalized, ViewText, decoded};
use crate::text::words;

/// Echoes that are told of one step.
const MAX_HITS: usize = 256;

impl TaintIndex {
    /// Returns everything of a step's body that was read before, in document order.
    pub fn look(&self, step: &Step) -> Vec<TaintHit> {
        let mut hits = Vec::new();
        if self.places.is_empty() {
            return hits;
        }
        let mut left = MAX_BYTES;
        for content in step.contents.iter().filter(|content| may_go_out(step, content)) {
            let text = head(&content.text, left);
            left -= text.len();
            self.look_at(content, text, &mut hits);
            if hits.len() > MAX_HITS {
                break;
            }
        }
        for argument in step.tool_call.iter().flat_map(|call| &call.arguments) {
            if !argument.json.starts_with('"') && argument.json.len() <= 4096 {
                let mut found = Vec::new();
                values::values(&argument.json, &mut found);
                // Of a number both readings count: one that was read as text may be sent with an exponent.
                let nearest = nearest_double(&argument.json);
                values::values(nearest.as_deref().unwrap_or_default(), &mut found);
                found.retain(|value| matches!(value.kind, ValueKind::Number | ValueKind::Digits));
                for value in found {
                    hits.extend(self.hit(&value, "", None, &argument.pointer));
                }
            }
        }
        hits.truncate(MAX_HITS);
        hits
    }

    fn look_at(&self, content: &Content, text: &str, hits: &mut Vec<TaintHit>) {
        let before = hits.len();
        let normal = Normalized::of(text);
        let text = normal.text();
        let layers = decoded(text);
        for value in all_values(text, &layers) {
            let written = text.get(value.span.clone()).unwrap_or_default();
            hits.extend(self.hit(&value, written, Some(content.id), &content.pointer));
        }
        let whole = |layer: &ViewText<'_>| layer.raw_span(0..layer.text().len());
        let encoded = || {
            layers
                .iter()
                .find_map(|layer| self.passage(content, layer.text(), Some(whole(layer))))
        };
        hits.extend(self.passage(content, text, None).or_else(encoded));
        for hit in hits.iter_mut().skip(before) {
            hit.span = normal.raw_span(hit.span.clone());
        }
    }

    fn hit(&self, value: &Value, written: &str, content: Option<ContentId>, pointer: &Pointer) -> Option<TaintHit> {
        let relation = self.relation(value, written);
        let super::Occurrence { place, flags } = *self.values.get(&value.key)?;
        let first = self.places.get(usize::from(place))?;
        Some(TaintHit {
            kind: TaintKind::Value(value.kind),
            content,
            pointer: pointer.clone(),
            span: value.span.clone(),
            first: Arc::clone(first),
            relation,
            instructed: flags & INSTRUCTED != 0,
            plain: flags & PLAIN != 0,
            author: flags & AUTHOR != 0,
        })
    }

    /// Returns the user's relation to a value.
    fn relation(&self, value: &Value, written: &str) -> UserRelation {
        if self.user_values.contains(&value.key) {
            return UserRelation::User;
        }
        let named = match value.kind {
            // `sarah.baker@…`, when the user spoke of Sarah.
            ValueKind::Email => {
                let local = written.split('@').next().unwrap_or_default();
                let parts = words::words(local).filter(|word| word.end - word.start >= 3);
                let (mut named, mut known, mut count) = (false, 0, 0);
                for part in parts {
                    named |= self.user_names.contains(&part.hash);
                    known += usize::from(self.user_words.contains(&part.hash));
                    count += 1;
                }
                named || (count >= 2 && known == count)
            }
            // `shop.example` and `news.shop.example`, when the user spoke of the shop; not `shop.evil.example`.
            ValueKind::Host => written.rsplit('.').nth(1).is_some_and(|label| {
                words::words(label).any(|word| word.end - word.start >= 4 && self.user_words.contains(&word.hash))
            }),
            ValueKind::Handle | ValueKind::File | ValueKind::Path => {
                words::words(written).any(|word| word.end - word.start >= 4 && self.user_words.contains(&word.hash))
            }
            ValueKind::Url
            | ValueKind::Account
            | ValueKind::Digits
            | ValueKind::Number
            | ValueKind::Id
            | ValueKind::Name => false,
        };
        if named {
            UserRelation::Named
        } else {
            UserRelation::Stranger
        }
    }

    /// Finds a passage of a text that was read before: two shingles at least.
    fn passage(&self, content: &Content, text: &str, encoded: Option<Range<usize>>) -> Option<TaintHit> {
        if self.shingles.is_empty() {
            return None;
        }
        let mut met = shingles::shingles(text).filter_map(|(span, hash)| {
            let seen = self.shingles.get(&hash)?;
            (!self.user_shingles.contains(&hash)).then_some((span, seen))
        });
        let (start, seen) = met.next()?;
        let (end, _) = met.last()?;
        Some(TaintHit {
            kind: TaintKind::Passage,
            content: Some(content.id),
            pointer: content.pointer.clone(),
            span: encoded.unwrap_or(start.start..end.end),
            first: Arc::clone(self.places.get(usize::from(seen.place))?),
            relation: UserRelation::Stranger,
            instructed: false,
            plain: true,
            author: false,
        })
    }

    /// Returns the place where a passage of a text was read first.
    pub(in crate::session) fn passage_of(&self, text: &str) -> Option<Arc<Provenance>> {
        let normal = Normalized::of(text);
        let mut met = shingles::shingles(normal.text()).filter_map(|(_, hash)| self.shingles.get(&hash));
        let (first, _second) = (met.next()?, met.next()?);
        self.places.get(usize::from(first.place)).cloned()
    }

    /// Returns `true` if the user, or the agent's instructions, used this word.
    pub fn user_said(&self, word: &str) -> bool {
        self.trusted().0.contains(&words::word(word))
    }

    /// Returns `true` if the user, or the agent's instructions, used the word of this fingerprint.
    pub(in crate::session) fn user_said_word(&self, word: u64) -> bool {
        self.trusted().0.contains(&word)
    }

    /// Returns `true` if the agent's instructions used the word of this fingerprint.
    pub(in crate::session) fn instructed_word(&self, word: u64) -> bool {
        self.own_words.contains(&word)
    }

    /// Returns `true` if the user, or the agent's instructions, used any form of this word.
    pub fn user_meant(&self, word: &str) -> bool {
        self.trusted().1.contains(&stem(word))
    }

    /// Returns `true` if the user, or the agent's instructions, brought up the value with this fingerprint.
    pub fn is_users(&self, key: u64) -> bool {
        self.user_values.contains(&key)
    }

    /// Returns `true` if every word of a text is one of the user's.
    pub fn user_said_all(&self, text: &str) -> bool {
        let mut words = words::words(text).peekable();
        words.peek().is_some() && words.all(|word| self.trusted().0.contains(&word.hash))
    }
}

/// Returns `true` if a content may leave: the agent's words, and those of a message that may be the agent's, although that is uncertain.
fn may_go_out(step: &Step, content: &Content) -> bool {
    let unclear = match step.kind {
        Kind::A2aRequest => content.origin == Origin::RemoteAgent,
        Kind::McpRequest => content.origin == Origin::ToolOutput,
        _ => false,
    };
    speaks(content) || unclear && content.place == Place::Body
}

/// Returns `true` for contents in which the agent passes something on.
fn speaks(content: &Content) -> bool {
    match content.origin {
        Origin::ToolArguments | Origin::Agent | Origin::Memory => content.place == Place::Body,
        Origin::Instructions
        | Origin::User
        | Origin::Reasoning
        | Origin::ToolOutput
        | Origin::Knowledge
        | Origin::RemoteAgent
        | Origin::Trigger
        | Origin::ToolDescription
        | Origin::Unknown => false,
    }
}
