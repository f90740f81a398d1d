//! The document that a step came from, into which edits are written back.
//!
//! Nothing is re-serialised but the tokens of the edited contents, all of which become strings. The result is decoded again, under the limits that
//! the original was decoded under, before it is used.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::model::{ContentId, Edit, EditError, Kind, Method, Original, RequestId, Step, nearest_double};

use super::file::{self, Spelling};
use super::json::{quote, unquote};
use super::{Limits, decode_step};

/// The string token of a content, in bytes of the request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) form: TokenForm,
}

/// The form in which an edit of a token is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum TokenForm {
    /// None: the content is not to be edited.
    Fixed,
    /// A string.
    Text,
    /// A string in place of a number.
    Number,
    /// The same, if the content is the integer that the number is, and not as it is written.
    Double,
    /// A file in base64.
    File(Spelling),
}

/// A request as it was received.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) json: String,
    pub(super) tokens: Vec<Token>,
    pub(super) limits: Limits,
    pub(super) id: RequestId,
    pub(super) method: Method,
    pub(super) kind: Kind,
}

impl Original for Document {
    fn json(&self) -> &str {
        &self.json
    }

    fn edited(&self, edits: &[Edit]) -> Result<Arc<Step>, EditError> {
        let json = self.apply(edits)?;
        let (id, step) =
            decode_step(json.as_bytes(), &self.limits).map_err(|error| EditError::Undecodable(error.to_string()))?;
        let same = id == self.id
            && step.method == self.method
            && step.kind == self.kind
            && step.contents.len() == self.tokens.len();
        if !same {
            return Err(EditError::Undecodable(
                "the edited request is another kind of request".into(),
            ));
        }
        Ok(step)
    }
}

impl Document {
    fn apply(&self, edits: &[Edit]) -> Result<Cow<'_, str>, EditError> {
        if edits.is_empty() {
            return Ok(Cow::Borrowed(&self.json));
        }
        let mut ordered: Vec<&Edit> = edits.iter().collect();
        ordered.sort_by_key(|edit| (edit.content, edit.span.start, edit.span.end));
        let mut json = String::with_capacity(self.json.len() + 64);
        let mut written = 0;
        // INVARIANT: contents, and with them their tokens, are in document order; a key has no token of its own but
        // is not editable either.
        for group in ordered.chunk_by(|one, other| one.content == other.content) {
            let Some(first) = group.first() else { continue };
            let content = first.content;
            let (token, text) = self.editable(content)?;
            let edited = replace(&text, group)?;
            json.push_str(self.slice(written..token.start));
            json.push_str(&match token.form {
                TokenForm::File(spelling) => quote(&spelling.encode(&edited)),
                TokenForm::Text | TokenForm::Number | TokenForm::Double | TokenForm::Fixed => quote(&edited),
            });
            written = token.end;
        }
        json.push_str(self.slice(written..self.json.len()));
        Ok(Cow::Owned(json))
    }

    /// Returns the token and the text of a content that can be edited.
    fn editable(&self, content: ContentId) -> Result<(Token, Cow<'_, str>), EditError> {
        let token = self
            .tokens
            .get(content.index())
            .filter(|_| ContentId::from_index(content.index()) == content)
            .ok_or(EditError::UnknownContent(content))?;
        let written = self.slice(token.start..token.end);
        let string = unquote(written);
        match token.form {
            TokenForm::Fixed => Err(EditError::NotEditable(content)),
            TokenForm::Number => Ok((*token, Cow::Borrowed(written))),
            TokenForm::Double => {
                let text = nearest_double(written).ok_or(EditError::NotEditable(content))?;
                Ok((*token, Cow::Owned(text)))
            }
            TokenForm::Text => Ok((*token, string)),
            TokenForm::File(_) => {
                let (text, _) = file::decode(&string).ok_or(EditError::NotEditable(content))?;
                Ok((*token, Cow::Owned(text)))
            }
        }
    }

    fn slice(&self, span: Range<usize>) -> &str {
        self.json.get(span).unwrap_or_default()
    }
}

/// Applies edits of one content, ordered by where they begin.
fn replace(text: &str, edits: &[&Edit]) -> Result<String, EditError> {
    let mut edited = String::with_capacity(text.len());
    let mut kept_to = 0;
    let mut last_start = None;
    for edit in edits {
        // Two insertions at one place have no defined order.
        if edit.span.start < kept_to || (last_start == Some(edit.span.start) && edit.span.is_empty()) {
            return Err(EditError::Overlap(edit.content));
        }
        let outside = EditError::OutOfBounds(edit.content);
        let kept = text.get(kept_to..edit.span.start).ok_or(outside.clone())?;
        text.get(edit.span.clone()).ok_or(outside)?;
        edited.push_str(kept);
        edited.push_str(&edit.replacement);
        kept_to = edit.span.end;
        last_start = Some(edit.span.start);
    }
    edited.push_str(text.get(kept_to..).unwrap_or_default());
    Ok(edited)
}
