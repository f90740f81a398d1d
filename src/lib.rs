//! A guardian for AI agents.

pub mod audit;
pub mod cache;
pub mod cli;
pub mod config;
pub mod eval;
pub mod judge;
pub mod limit;
pub mod llm;
pub mod model;
pub mod pipeline;
pub mod policy;
pub mod prefilter;
pub mod prompt;
pub mod server;
pub mod telemetry;
pub mod wire;
