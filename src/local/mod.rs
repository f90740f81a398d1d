//! The local judge's trained scorer: the likelihood that a step does harm, in microseconds, with what moved it most.
//!
//! ```text
//! step, session, findings ──▶ StepContext ──▶ Features, windows ──▶ Model ──▶ Score ──▶ ScorerDecision
//! ```
//!
//! - **StepContext** (`step_context.rs`, `deobfuscate.rs`, `voice.rs`): the texts of the body by who speaks in them, without their disguises; what the user asked for,
//!   what the instructions say, what was read and done before.
//! - **Features** (`features.rs`, `features/`): words, groups of their letters, pairs of words and concepts (`lexicon.txt`, many languages) of
//!   each window of a text, kept apart by voice; concepts that meet in a window; of the step as a whole its kind, its tool,
//!   findings, and shares of its words that the user, the instructions or only what was read have said.
//! - **Model** (`model.rs`): a weight for each hashed feature, a byte each. The window of each voice that speaks most for harm
//!   counts, so that one sentence in ten pages is enough; words can speak for harm, never against it. What one feature
//!   counts depends on how many there are beside it, within bounds (`shares.rs`).
//! - **ScorerDecision** (`decision.rs`, `may_allow.rs`): allow, deny or unsure, by the thresholds of the policy, or of the model.
//! - **Adapting** (`slots.rs`, `adapt.rs`, `delta.rs`): a model of one organisation is the built-in one and the moves of some weights.
//!
//! It knows no wire, no prompt and no prefilter: findings tell it where texts are disguised ([`Deobfuscator`]).

mod adapt;
mod card;
mod decision;
mod delta;
mod deobfuscate;
mod features;
pub(crate) mod frame;
mod hashes;
mod lexicon;
mod may_allow;
mod measure;
mod model;
mod orders;
mod rank;
mod read_whole;
mod runs;
mod score;
mod shape;
mod shares;
mod slots;
mod step_context;
#[cfg(test)]
mod stuffing_tests;
mod thresholds;
mod train;
mod training_features;
mod vocabulary;
mod vocabulary_builder;
mod voice;
mod windows;
mod words;

use crate::model::named_enum;
use std::path::PathBuf;
use std::sync::Arc;

pub use adapt::{Adaptation, Lesson};
pub use card::Card;
pub use decision::ScorerDecision;
pub use delta::{Delta, MAX_MOVE};
pub use deobfuscate::Deobfuscator;
pub use may_allow::MayAllow;
pub use measure::{FEW, Measures, Settled, auroc, interval, interval_of, probabilities};
pub use model::{Head, Header, Model, ModelError};
pub use read_whole::Unread;
pub use score::{PassageEvidence, Score, ScoreTerm, Scored, TermKind};
pub use shape::shape;
pub use slots::Slots;
pub use thresholds::{Aims, heads};
pub use train::{Example, HeldOut, Made, Random, Trained, held_out};
pub use training_features::{TrainingFeatures, WindowFeatures};
pub use vocabulary::Vocabulary;
pub use vocabulary_builder::VocabularyBuilder;
pub use voice::{StepRole, Voice};

named_enum! {
    /// The use that an organisation makes of the scorer.
    #[derive(Default)]
    Mode {
        /// It settles what it is sure of.
        #[default]
        On = "on",
        /// Its decisions are recorded, and not applied.
        Shadow = "shadow",
        /// It is not asked.
        Off = "off",
    }
}

/// The model that scores, and the share of steps for which a judge is asked all the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// A model file; `None`: the model that is compiled in.
    pub model: Option<PathBuf>,
    /// The share of settled steps that a judge is asked about, 0 to 1.
    pub audit_share: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            audit_share: 0.02,
        }
    }
}

/// A scorer that is ready to be asked.
#[derive(Clone, Debug)]
pub struct Scorer {
    /// Its model.
    pub model: Arc<Model>,
    /// The share of settled steps that a judge is asked about, 0 to 1.
    pub audit_share: f64,
}

impl Settings {
    /// Reads the model.
    ///
    /// # Errors
    ///
    /// When it cannot be used.
    pub fn open(&self) -> Result<Scorer, ModelError> {
        let model = match &self.model {
            Some(path) => Model::load(path)?,
            None => Model::built_in()?,
        };
        Ok(Scorer {
            model: Arc::new(model),
            audit_share: self.audit_share,
        })
    }
}
