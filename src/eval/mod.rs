//! Evaluation: labelled steps through the same [`decide`](crate::pipeline::Guardian::decide) as every other step,
//! and honest figures about the verdicts.

mod batch;
mod case;
mod check;
mod compare;
mod curve;
mod gate;
mod history;
mod import;
mod keys;
mod meter;
mod outcome;
mod recording;
mod remote;
mod report;
mod run_log;
mod runner;
mod score;
mod selection;
mod session_line;
mod settling;
mod shown;
mod statistics;
mod suite;
mod wrong;

pub use batch::{BatchAnswers, BatchError, BatchQuestions, Stale, Written};
pub use case::{Case, Expected, History, Needs, Span};
pub use check::Check;
pub use compare::{Change, Comparison, Flip, SIGNIFICANT, compare};
pub use curve::{Bin, Curve};
pub use gate::{Bounds, Gate};
pub use import::{IMPORTERS, ImportError, Imported, Importer};
pub use meter::{Ceiling, Meter, Spent};
pub use outcome::Outcome;
pub use recording::{Recording, RecordingError};
pub use remote::Remote;
pub use report::{Report, RunFacts, Times, checks_as_junit, checks_as_markdown};
pub use run_log::{RunKey, RunLog, RunLogError};
pub use runner::{Bench, EVALUATION, Organisations, Runner};
pub use score::{Confusion, Means, Named, Rates, Score, Scores};
pub use selection::Selection;
pub use settling::{Settling, settling};
pub use shown::{Passage, Segment, Shown};
pub use statistics::{FEW, Rate, bootstrap, holm, mcnemar, too_few};
pub use suite::{CaseError, Suites, read, read_all, read_text};
pub use wrong::Wrong;
