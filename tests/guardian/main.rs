//! The guardian through its front door: real requests over HTTP, with nothing configured or with a scripted judge.

mod audit;
mod bad_input;
mod cache;
mod commands;
mod documents;
mod organisations;
mod posture;
mod scenarios;
mod support;
mod unconfigured;
