//! What the repository says of itself is true: imports, paths in documents and comments, the page of a judge's failures.

// `cfg(test)` says to clippy that these modules, helpers included, may unwrap.

#![allow(clippy::string_slice, reason = "in a test, a wrong slice is a failed test")]

#[cfg(test)]
mod failures;
#[cfg(test)]
mod imports;
#[cfg(test)]
mod paths;
