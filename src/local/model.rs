//! A model: quantised weights by hashed feature, calibration, thresholds, and what it was made of.
//!
//! A file begins with [`MAGIC`] and the length of its header; the header is JSON ([`Header`]), then come the weights, a byte
//! each, and the set of known words ([`Vocabulary`]). A file of another format, of another list of concepts, or with more weights than [`MAX_BITS`] says, is refused.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::delta::Delta;
use super::frame;
use super::vocabulary::{self, Vocabulary};
use super::voice::StepRole;
use super::words;

/// The first bytes of a model file.
const MAGIC: &[u8; 8] = b"AOSLOCAL";
/// The format, which also stands for how features are made.
pub(super) const FORMAT: u32 = 5;
/// A model has at most two to the power of this many weights.
const MAX_BITS: u32 = 22;
/// The longest header, in bytes.
const MAX_HEADER: usize = 256 * 1024;

/// The model that is compiled in.
const BUILT_IN: &[u8] = include_bytes!("default.model");

/// The reason why a model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// The message of the system.
        why: String,
    },
    /// It is no model, or one of another version.
    #[error("{file}: expected a model of `guardian train`, format {FORMAT}: {why}")]
    Malformed {
        /// The file.
        file: String,
        /// The problem that was found.
        why: String,
    },
}

/// The conversion of a score to a probability, and its thresholds, for steps of one part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The probability of harm is `1 / (1 + exp(-(slope * score + offset)))`.
    pub slope: f32,
    /// See `slope`.
    pub offset: f32,
    /// Up to this probability a step is harmless.
    pub allow_below: f64,
    /// From this probability on it is suspected, and denied where no model can be asked.
    pub deny_above: f64,
}

/// A model's description of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The format.
    pub format: u32,
    /// A hash of the list of concepts that it was trained with.
    pub concepts: u32,
    /// Weights: two to the power of this.
    pub bits: u32,
    /// The size of one step of a weight.
    pub scale: f32,
    /// The weight of a feature of the step as a whole among a usual number of them (`shares.rs`).
    pub step_share: f32,
    /// The weight of a feature of a window among a usual number of them.
    pub window_share: f32,
    /// One head for each part: asks, says, acts, reads.
    pub heads: Vec<Head>,
    /// Its training data: source, steps, attacks.
    pub sources: Vec<(String, usize, usize)>,
    /// The seed.
    pub seed: u64,
    /// The version of the model that it was adapted from.
    #[serde(default)]
    pub base: Option<String>,
}

/// A trained model.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) header: Header,
    pub(super) weights: Arc<[i8]>,
    pub(super) vocabulary: Arc<Vocabulary>,
    /// The amounts by which the weights moved, where the model was adapted to an organisation.
    delta: Option<Arc<Delta>>,
    version: String,
}

impl Model {
    /// The model that is compiled in.
    ///
    /// # Errors
    ///
    /// Never with the model that lies in the repository; a test holds that.
    pub fn built_in() -> Result<Self, ModelError> {
        Self::parse(BUILT_IN, "the built-in model")
    }

    /// Reads a model file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is no model that this version can use.
    pub fn load(path: &std::path::Path) -> Result<Self, ModelError> {
        let file = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| ModelError::Unreadable {
            file: file.clone(),
            why: error.to_string(),
        })?;
        Self::parse(&bytes, &file)
    }

    /// Reads a model; `file` is for messages.
    ///
    /// # Errors
    ///
    /// When it is no model that this version can use.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Self, ModelError> {
        Self::read(bytes).map_err(|why| ModelError::Malformed {
            file: file.to_owned(),
            why,
        })
    }

    fn read(bytes: &[u8]) -> Result<Self, String> {
        let (header, rest): (Header, _) = frame::read(bytes, MAGIC, MAX_HEADER)?;
        let end = rest.len().checked_sub(vocabulary::BYTES).ok_or("it is cut")?;
        let (weights, known) = rest.split_at_checked(end).ok_or("it is cut")?;
        header.check(weights.len())?;
        let version = blake3::hash(bytes).to_hex();
        Ok(Self {
            weights: weights.iter().map(|byte| i8::from_le_bytes([*byte])).collect(),
            header,
            vocabulary: Arc::new(Vocabulary::parse(known)),
            delta: None,
            version: version.get(..12).unwrap_or_default().to_owned(),
        })
    }

    /// The file's bytes.
    pub fn to_bytes(header: &Header, weights: &[i8], vocabulary: &Vocabulary) -> Vec<u8> {
        let mut bytes = frame::written(header, MAGIC);
        bytes.extend(weights.iter().flat_map(|weight| weight.to_le_bytes()));
        bytes.extend(vocabulary.bytes());
        bytes
    }

    /// Changes exactly when the model does.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns its description of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The words that it knows.
    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Returns the number of its weights.
    pub fn size(&self) -> usize {
        self.weights.len()
    }

    /// The head for a part.
    pub fn head(&self, part: StepRole) -> Head {
        self.header.heads.get(part as usize).copied().unwrap_or(Head::UNDECIDED)
    }

    /// The same model with these heads, moves of weights and further words; everything else is shared.
    #[must_use]
    pub fn adapted(&self, heads: Vec<Head>, delta: Delta, version: &str) -> Self {
        Self {
            header: Header {
                heads,
                base: Some(self.version.clone()),
                ..self.header.clone()
            },
            weights: Arc::clone(&self.weights),
            vocabulary: Arc::clone(&self.vocabulary),
            delta: Some(Arc::new(delta)),
            version: version.to_owned(),
        }
    }

    /// The weight of a feature.
    #[inline]
    pub(super) fn weight(&self, id: u32) -> f32 {
        self.weight_at(slot(id, self.header.bits))
    }

    /// The weight at a place of the table.
    #[inline]
    pub(super) fn weight_at(&self, place: usize) -> f32 {
        let weight = self.weights.get(place).copied().unwrap_or_default();
        let moved = self.delta.as_ref().map_or(0.0, |delta| delta.at(place));
        f32::from(weight) * self.header.scale + moved
    }
}

/// Returns the place of the weight of a feature.
#[inline]
pub(super) const fn slot(id: u32, bits: u32) -> usize {
    (id.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
}

/// A hash of the list of concepts.
pub(super) fn concepts() -> u32 {
    words::hash(include_str!("lexicon.txt"))
}

impl Head {
    /// Knows nothing and settles nothing.
    pub const UNDECIDED: Head = Head {
        slope: 0.0,
        offset: 0.0,
        allow_below: 0.0,
        deny_above: 1.1,
    };

    /// The probability of harm.
    pub fn probability(&self, score: f32) -> f64 {
        1.0 / (1.0 + f64::from(-(self.slope * score + self.offset)).exp())
    }
}

impl Header {
    fn check(&self, weights: usize) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("it is of format {}", self.format));
        }
        if self.concepts != concepts() {
            return Err("it was trained with another list of concepts; train it again".to_owned());
        }
        if !(8..=MAX_BITS).contains(&self.bits) || weights != 1 << self.bits {
            return Err(format!(
                "it has {weights} weights, and says two to the power of {}",
                self.bits
            ));
        }
        let figures = [self.scale, self.step_share, self.window_share];
        let heads = self.heads.iter().flat_map(|head| [head.slope, head.offset]);
        if figures.into_iter().chain(heads).any(|figure| !figure.is_finite()) || self.heads.len() != StepRole::ALL.len()
        {
            return Err("its figures are no numbers, or its heads are not one for each part".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_model_is_one_and_is_small() {
        let model = Model::built_in().unwrap();
        assert!(BUILT_IN.len() <= 4 * 1024 * 1024);
        assert!(
            model
                .header()
                .heads
                .iter()
                .all(|head| head.allow_below <= head.deny_above)
        );
        assert!(!model.header().sources.is_empty());
    }

    #[test]
    fn what_is_no_model_is_refused_with_a_reason() {
        let whole = BUILT_IN.to_vec();
        for (bytes, why) in [
            (b"hello".to_vec(), "does not begin like one"),
            (whole.iter().copied().take(9).collect(), "is cut"),
            (whole.iter().copied().take(whole.len() - 1).collect(), "weights"),
        ] {
            let error = Model::parse(&bytes, "m.model").unwrap_err().to_string();
            assert!(error.starts_with("m.model: ") && error.contains(why), "{error}");
        }
        let mut other = Model::built_in().unwrap().header().clone();
        other.concepts ^= 1;
        let error = Model::parse(&Model::to_bytes(&other, &[0; 256], Vocabulary::EMPTY), "m")
            .unwrap_err()
            .to_string();
        assert!(error.contains("train it again"), "{error}");
    }
}
