//! What a guardian must survive: classes of attack, several concrete cases of each, with the honest work that looks
//! alike beside them. Everything goes through the front door: bytes are decoded, admitted, decided, encoded.
//!
//! Names of tests and cases use the numbers of the classes:
//!
//! | | class |
//! |---|---|
//! | T1–T4 | invisible characters, hidden tag text, look-alike letters, direction overrides: the verdict of the undisguised text |
//! | T5 | filler, leet, spaced-out letters: evidence, no verdict |
//! | T6 | base64, hexadecimal, percent, entities, escapes, rot13, nested: the verdict of what is inside |
//! | T7 | links and images that carry data out, comments, invisible styling, terminal codes |
//! | T8 | other languages, paraphrases: the judge is asked |
//! | T9 | honest texts that quote attacks, or need joiners and direction marks: not denied |
//! | S1, S2 | duplicate keys; too deep, too many, broken text: refused with a clear error, in bounded memory |
//! | S3 | JSON inside a string inside JSON, objects where strings are expected: contents are found all the same |
//! | S4, S5 | paths in every spelling; URLs and addresses in every spelling |
//! | S6, S7 | shell commands; SQL |
//! | S8 | secrets in pieces, encoded, over several lines |
//! | J1, J2 | content that imitates the fence, or a verdict |
//! | J3–J5 | fake policies, turns and approvals; reasoning that argues; tools that claim the user's authority |
//! | J6 | a payload behind, or within, much harmless text |
//! | J7 | refusals, filters, prose, broken answers: never an accidental allow |
//! | J8–J10 | template syntax in content; edits that reach too far; reasoning that carries something out |
//! | C1, C2 | fingerprints that forget something; failures that are cached |
//! | C3 | budgets and breakers worn down on purpose |
//! | C4, C5 | time and memory; line breaks and terminal codes in logs |
//! | C6 | reloads under way, broken templates and policies |
//! | X1–X3 | reading, then sending; payloads over several steps; leaving through an allowed destination |
//! | X4–X6 | tools that change; denied steps in other words; approvals used for something else |

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
