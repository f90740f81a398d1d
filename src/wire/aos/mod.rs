//! AOS itself: the `steps/*` methods (sections 4.1 to 4.6), and the context that any method can carry.

mod call;
mod context;
mod parties;
mod shape;
mod steps;
mod tools;

pub(super) use call::{Elsewhere, arguments_of};
pub(super) use context::{Context, read as read_context};
pub use parties::Side;
pub(super) use parties::{End, Likely, Parties};
pub(super) use shape::AosShape;
pub(super) use steps::read as read_step;
pub(super) use tools::schema_arguments;
