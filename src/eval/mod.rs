//! Evaluation: labelled steps through the same [`decide`](crate::pipeline::Guardian::decide) as every other step,
//! and honest figures about the verdicts.

mod case;
mod compare;
mod report;
mod runner;
mod score;

pub use case::{Case, CaseError, Expected, Span, read};
pub use compare::{Comparison, compare};
pub use report::Report;
pub use runner::{Organisations, Outcome, run};
pub use score::{Confusion, Score, Scores};
