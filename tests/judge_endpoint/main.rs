//! The judge against endpoints of every kind: obliging, fussy, broken, hostile.
// `cfg(test)` says to clippy that these modules, helpers included, may unwrap.

#[cfg(test)]
mod assess;
#[cfg(test)]
mod chain;
#[cfg(test)]
mod chat;
#[cfg(test)]
mod peculiar;
#[cfg(test)]
mod step;
#[cfg(test)]
#[path = "../support/mod.rs"]
mod support;
