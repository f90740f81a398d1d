//! Gateways between real sockets: a caller, the guardian, and an agent that answers as a test says.

// `cfg(test)` says to clippy that these modules, helpers included, may unwrap.

#![allow(clippy::string_slice, reason = "in a test, a wrong slice is a failed test")]

#[cfg(test)]
mod a2a;
#[cfg(test)]
mod agent;
#[cfg(test)]
mod agent_protocol;
#[cfg(test)]
mod agentvault;
#[cfg(test)]
#[path = "../support/guardian.rs"]
#[allow(dead_code)]
mod guardian;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod judged_places;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod models;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod notifications;
#[cfg(test)]
mod own;
#[cfg(test)]
mod own_bindings;
#[cfg(test)]
mod own_runs;
#[cfg(test)]
mod reload;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod unread;
#[cfg(test)]
mod whose_words;
