//! Evaluation: labelled steps through the same [`decide`](crate::pipeline::Guardian::decide) as every other step,
//! and honest figures about the verdicts.

mod batch;
mod case;
mod compare;
mod history;
mod keys;
mod recording;
mod report;
mod runner;
mod score;
mod session_line;
mod settling;

pub use batch::{BatchAnswers, BatchError, BatchQuestions, Stale, Written};
pub use case::{Case, CaseError, Expected, Needs, Span, read, read_text};
pub use compare::{Comparison, compare};
pub use recording::{Recording, RecordingError};
pub use report::Report;
pub use runner::{Bench, History, Organisations, Outcome, Runner};
pub use score::{Confusion, Means, Score, Scores};
pub use settling::{Settling, settling};
