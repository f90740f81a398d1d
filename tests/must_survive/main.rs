//! What a guardian must survive: classes of attack, several concrete cases of each, with the honest work that looks
//! alike beside them. Everything goes through the front door: bytes are decoded, admitted, decided, encoded.

// `cfg(test)` says to clippy that these modules, helpers included, may unwrap.

#![allow(clippy::string_slice, reason = "in a test, a wrong slice is a failed test")]

#[cfg(test)]
mod across_steps;
#[cfg(test)]
mod across_steps_flow;
#[cfg(test)]
mod beyond;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod harness;
#[cfg(test)]
mod infrastructure;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod strangers;
#[cfg(test)]
mod structure;
#[cfg(test)]
#[path = "../support/guardian.rs"]
#[allow(dead_code)]
mod support;
#[cfg(test)]
mod text;
