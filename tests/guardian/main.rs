//! The guardian through its front door: real requests over HTTP, with nothing configured or with a scripted judge.

mod audit;
mod bad_input;
mod cache;
mod commands;
mod coverage;
mod documents;
mod organisations;
mod policies;
mod posture;
mod scenarios;
#[path = "../support/guardian.rs"]
mod support;
mod unconfigured;
