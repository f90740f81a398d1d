//! A learned model: what differs from the built-in one for one organisation, in one file.
//!
//! The file begins with [`MAGIC`] and the length of its header; the header is JSON ([`Header`]), then come the moves of weights
//! ([`Delta`]). Its name is its version: a hash of its bytes.

use serde::{Deserialize, Serialize};

use super::figures::Figures;
use crate::local::{Delta, Head, MayAllow, Model, Slots, StepRole, frame};

const MAGIC: &[u8; 8] = b"AOSLEARN";
const FORMAT: u32 = 2;
/// The longest header, in bytes.
const MAX_HEADER: usize = 2 * 1024 * 1024;
/// Shapes, and words, that one file holds at most.
pub(super) const MAX_SHAPES: usize = 16_384;
/// See [`MAX_SHAPES`].
pub(super) const MAX_WORDS: usize = 100_000;
/// Unknown words in a step that is allowed all the same, as in the reading of the scorer.
pub(super) const UNKNOWN: usize = 3;

/// The header of a learned model's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The format.
    pub format: u32,
    /// The version of the model that it was adapted from.
    pub base: String,
    /// The organisation that it was learned from; it serves no other.
    pub organisation: String,
    /// The time at which it was made, as text.
    pub made: String,
    /// One head for each part of a step, with the thresholds of this organisation.
    pub heads: Vec<Head>,
    /// The shapes that it may settle, in order.
    pub shapes: Vec<u64>,
    /// Hashes of words that the base does not know and that stand in steps that the judge denied, in order: a step with one is asked about.
    pub denied_words: Vec<u32>,
    /// The figures that it was measured by.
    pub figures: Figures,
}

/// A learned model, ready to score.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The header of its file.
    pub header: Header,
    /// The base with the moves of weights.
    pub model: Model,
}

/// The reason why a file is no learned model that can be used.
#[derive(Debug, thiserror::Error)]
#[error("expected a model of `guardian learn`, format {FORMAT}: {0}")]
pub struct NoLearnedModel(String);

impl Learned {
    /// Returns the bytes of a file.
    pub fn to_bytes(header: &Header, delta: &Delta) -> Vec<u8> {
        let mut bytes = frame::written(header, MAGIC);
        bytes.extend(delta.to_bytes());
        bytes
    }

    /// Reads a file for an organisation; `base` is the model that it has to be adapted from.
    ///
    /// # Errors
    ///
    /// When it is none, one of another organisation, or adapted from another model.
    pub fn parse(bytes: &[u8], organisation: &str, base: &Model) -> Result<Self, NoLearnedModel> {
        Self::read(bytes, organisation, base).map_err(NoLearnedModel)
    }

    fn read(bytes: &[u8], organisation: &str, base: &Model) -> Result<Self, String> {
        let (header, rest): (Header, _) = frame::read(bytes, MAGIC, MAX_HEADER)?;
        if header.format != FORMAT {
            return Err(format!("it is of format {}", header.format));
        }
        if header.base != base.version() {
            return Err(format!(
                "it was adapted from model {}, and {} is in use; learn again",
                header.base,
                base.version()
            ));
        }
        if header.organisation != organisation {
            return Err("it was learned from another organisation".to_owned());
        }
        let finite = header
            .heads
            .iter()
            .all(|head| head.slope.is_finite() && head.offset.is_finite());
        let in_order = header.shapes.is_sorted() && header.denied_words.is_sorted();
        if header.heads.len() != StepRole::ALL.len() || !finite || !in_order {
            return Err("its heads are not one for each part, or its shapes or words are not in order".to_owned());
        }
        let delta = Delta::parse(rest, base.size()).ok_or("its moves of weights cannot be read")?;
        let version = version_of(bytes);
        let model = base.adapted(header.heads.clone(), delta, &version);
        Ok(Self { header, model })
    }

    /// Returns its version, which is the name of its file.
    pub fn version(&self) -> &str {
        self.model.version()
    }

    /// Returns `true` if it may settle steps of this shape.
    pub fn knows_shape(&self, shape: u64) -> bool {
        self.header.shapes.binary_search(&shape).is_ok()
    }

    /// Returns `true` if one of these words, which the base does not know, stands in steps that the judge denied.
    pub fn has_denied(&self, unknown: &[u32]) -> bool {
        let denied = &self.header.denied_words;
        unknown.iter().any(|word| denied.binary_search(word).is_ok())
    }

    /// Returns `true` if it would settle a kept step as allowed. It never does where `base` suspects the step.
    pub fn would_allow(&self, base: &Model, slots: &Slots, shape: u64, unknown: &[u32]) -> bool {
        let part = StepRole::ALL.get(slots.part).copied().unwrap_or(StepRole::Reads);
        self.knows_shape(shape)
            && slots.may_allow == MayAllow::Yes
            && unknown.len() < UNKNOWN
            && !self.has_denied(unknown)
            && slots.probability(base) < base.head(part).deny_above
            && slots.probability(&self.model) <= self.model.head(part).allow_below
    }
}

/// Returns the version of a file of these bytes.
pub fn version_of(bytes: &[u8]) -> String {
    let hash = blake3::hash(bytes).to_hex();
    hash.get(..12).unwrap_or_default().to_owned()
}

/// Makes the header of a model that is written now.
pub(super) fn header(base: &Model, organisation: &str, heads: Vec<Head>, figures: Figures) -> Header {
    Header {
        format: FORMAT,
        base: base.version().to_owned(),
        organisation: organisation.to_owned(),
        made: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        heads,
        shapes: Vec::new(),
        denied_words: Vec::new(),
        figures,
    }
}
