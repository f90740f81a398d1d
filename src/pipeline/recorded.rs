//! What a record tells of a step's texts, where the organisation's policy asks for them: as they happened, without what is
//! withheld, and bounded.

use super::withhold::Withheld;
use crate::audit::ContentLine;
use crate::model::{Form, Place, Step};

/// Bytes of all texts in one record.
const MOST_BYTES: usize = 16 * 1024;
/// Bytes of one text.
const MOST_OF_ONE: usize = 4 * 1024;
/// Texts in one record.
const MOST_TEXTS: usize = 64;

/// The texts of a step. `step` is the step as it happened: the modified one where it was modified.
pub(super) fn contents(step: &Step, withheld: &Withheld) -> Vec<ContentLine> {
    let mut lines = Vec::new();
    let mut left = MOST_BYTES;
    let told = step.contents.iter().filter(|content| {
        let text = match content.form {
            Form::Text | Form::Number | Form::TextFile { .. } => true,
            Form::Key | Form::OpaqueFile { .. } => false,
        };
        text && content.place == Place::Body && !content.text.is_empty()
    });
    for content in told.take(MOST_TEXTS) {
        // Taken out before anything is cut: half a secret is a secret.
        let clean = withheld.taken_out_of(&content.text);
        let end = clean.floor_char_boundary(clean.len().min(MOST_OF_ONE).min(left));
        let text = clean.get(..end).unwrap_or_default().to_owned();
        left -= text.len();
        lines.push(ContentLine {
            pointer: withheld.taken_out_of(content.pointer.as_str()).into_owned(),
            origin: content.origin.as_str(),
            cut: clean.len() - text.len(),
            text,
        });
        if left == 0 {
            break;
        }
    }
    lines
}
