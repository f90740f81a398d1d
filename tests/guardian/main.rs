//! The guardian through its front door: real requests over HTTP, with nothing configured or with a scripted judge.

// `cfg(test)` says to clippy that these modules, helpers included, may unwrap.

#![allow(clippy::string_slice, reason = "in a test, a wrong slice is a failed test")]

#[cfg(test)]
mod acs;
#[cfg(test)]
mod api;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod audit_database;
#[cfg(test)]
#[path = "../support/tls.rs"]
#[allow(unreachable_pub)]
mod authority;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod cache;
#[cfg(test)]
#[path = "../support/collector.rs"]
mod collector;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod conditions;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod deploy;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod doors;
#[cfg(test)]
mod edits;
#[cfg(test)]
mod endpoints;
#[cfg(test)]
mod eval_decides;
#[cfg(test)]
mod eval_import;
#[cfg(test)]
mod eval_tools;
#[cfg(test)]
mod evaluation;
#[cfg(test)]
mod events;
#[cfg(test)]
mod fingerprint;
#[cfg(test)]
mod honest;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod https;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod learning;
#[cfg(test)]
mod leaving;
#[cfg(test)]
#[path = "../support/live.rs"]
#[allow(dead_code, unreachable_pub)]
mod live;
#[cfg(test)]
mod local_disguises;
#[cfg(test)]
mod local_judge;
#[cfg(test)]
mod mcp_stdio;
#[cfg(test)]
mod message_logs;
#[cfg(test)]
mod observing;
#[cfg(test)]
mod organisations;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod posture;
#[cfg(test)]
mod pressure;
#[cfg(test)]
mod program;
#[cfg(test)]
mod prompts;
#[cfg(test)]
mod references;
#[cfg(test)]
mod restart;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod selftest;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod shared;
#[cfg(test)]
#[path = "../support/guardian.rs"]
mod support;
#[cfg(test)]
mod suspicion;
#[cfg(test)]
mod telemetry;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod training;
#[cfg(test)]
mod transport;
#[cfg(test)]
mod unconfigured;
#[cfg(test)]
mod unread;
