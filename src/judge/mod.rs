//! To come.

pub mod answer;
mod schema;
pub use schema::ANSWER_SCHEMA;
