//! # A guardian for AI agents
//!
//! Agents send every step they are about to take, or have just received, as JSON-RPC under the Agent Observability
//! Standard (AOS). The guardian answers `allow`, `deny` or `modify`, with reasons, before the step happens.
//!
//! ## The path of a step
//!
//! ```text
//! wire ─▶ decode ─▶ admit ─▶ recall ─▶ screen ─▶ (settled?) ─▶ mask ─▶ local ─▶ cache ─▶ judge ─▶ settle ─▶ encode ─▶ wire
//!         strict    key,     session   prefilters   yes: skip    what    trained  single-  prompt,   edits applied,
//!         JSON,     limits             on every     the rest     policy  scorer,  flight   LLM,      screened again,
//!         one Step                     content                   hides   settles           schema    audited
//!                                                                        what is plain
//! ```
//!
//! 1. [`wire::decode`] turns bytes into a [`model::Step`]: every string of the request becomes a content with its origin.
//! 2. [`pipeline::Guardian::admit`] knows whose step it is and whether it is within its limits.
//! 3. [`pipeline::Guardian::decide`] is the rest of the path, on one screen. It cannot fail.
//! 4. [`wire::encode_verdict`] turns the verdict into bytes; a modified request is the original with edits applied.
//!
//! ## The map
//!
//! `ls src` reads as the path of a step. Imports point one way; `tests/repository/imports.rs` holds the table.
//!
//! | module | holds |
//! |---|---|
//! | [`model`] | the words: step, content, origin, finding, treatment, edit, verdict; no serde, no async, no I/O |
//! | [`access`] | the caller: keys, access tokens, client certificates, and what each may do |
//! | [`files`] | files of the user alone, and files that are replaced as a whole |
//! | [`incoming`] | HTTP from others: bodies within bounds, pages of other sites kept out |
//! | [`outgoing`] | HTTP to others: one client, bodies within bounds |
//! | [`telemetry`] | logs, metrics and traces: set-up, export over OTLP, the name of every metric and span |
//! | [`wire`] | decode and encode; the only home of wire field names; pure |
//! | [`policy`] | an organisation's policy, with layers for teams and agents: treatments, tools, posture; versioned |
//! | [`tools`] | what a tool does: the one classification, from policy, name, description and arguments |
//! | [`text`] | views of a text with the way back to its bytes, decoders, words, keyword search; knows no rule |
//! | [`shell`] | what a shell text would run: grammar, expansion, programs that run others, a summary of it all; judges nothing |
//! | [`prefilter`] | the engine (trait, scanner, budgets), the one list, one file or folder for each rule family |
//! | [`session`] | what earlier steps of a session said; what the user asked for, kept apart; taint; tool classes |
//! | [`local`] | the local judge's trained scorer: features, model file, thresholds, training |
//! | [`learning`] | what the judge decided, kept; an organisation's own model, its tests, its promotion and demotion |
//! | [`prompt`] | templates, typed contexts, token budget, fences |
//! | [`llm`] | chat with a model: request, deadline, retry; knows nothing of guarding |
//! | [`judge`] | prompt + model + answer schema = assessment; and the local judge |
//! | [`cache`] | fingerprint, store, single-flight |
//! | [`shared`] | the link to a Redis that several nodes share, and what its loss means |
//! | [`organisation_share`] | the share of each organisation in a store |
//! | [`limit`] | rate limits |
//! | [`work`] | slots for work that takes a processor; a bounded queue before them |
//! | [`audit`] | one record for each decision; tickets that cannot be forgotten |
//! | [`events`] | decisions as OCSF in CloudEvents, for NATS, a webhook or a file |
//! | [`pipeline`] | the stages in order |
//! | [`asking`] | an AOS request to the guardian of this process: text in, text out |
//! | [`gateway`] | enforcing proxies before agents that speak other protocols: observe, decide, relay |
//! | [`hook`] | hooks of coding agents: their events as steps, their answers, their settings |
//! | [`server`] | routes, credentials, health, metrics |
//! | [`eval`] | labelled steps and what happened before them, batches and recordings, figures, comparison |
//! | [`selftest`] | steps of which it is known what has to become of them; canaries for the judge |
//! | [`config`] | the file and the environment, read once, into each component's own settings |
//! | [`app`] | the composition root |
//! | [`reload`] | what is configured takes effect while the server runs, whole or not at all |
//! | [`cli`] | commands; the only place that prints or exits |
//!
//! ## Invariants
//!
//! - Every text that a step carries reaches every applicable prefilter, or a finding says that it did not.
//! - No content is ever parsed as a template, and no content can close the fence that marks it as untrusted in a prompt.
//! - A verdict is never more permissive than the strictest `deny` treatment of its findings.
//! - A modified request differs from the original only at the places of its edits, has the same id and method, and
//!   decodes again.
//! - The trained scorer allows nothing that was not read whole, that a policy denies or calls dangerous, or that a rule over
//!   a session marks.
//! - Exactly one audit record for each step, also when the client hangs up, the judge times out or a task panics.
//! - What counts as the user's word is what the user said in a message that was let through; no other text changes it.
//! - A session belongs to one organisation, credential and agent; a caller that borrows its id has another.
//! - A step sees one version of policy and prompts from start to end; a broken file keeps the old version.
//! - Nothing secret is logged: no keys, no masked values, no prompts.

#![cfg_attr(
    test,
    allow(clippy::string_slice, reason = "in a test, a wrong slice is a failed test")
)]

pub mod access;
pub mod app;
pub mod asking;
pub mod audit;
pub mod cache;
pub mod cli;
pub mod config;
pub mod eval;
pub mod events;
pub mod files;
pub mod gateway;
pub mod hook;
pub mod incoming;
pub mod judge;
pub mod learning;
pub mod limit;
pub mod llm;
pub mod local;
pub mod model;
pub mod organisation_share;
pub mod outgoing;
pub mod pipeline;
pub mod policy;
pub mod prefilter;
pub mod prompt;
pub mod reload;
pub mod selftest;
pub mod server;
pub mod session;
pub mod shared;
pub mod shell;
pub mod telemetry;
pub mod text;
pub mod tools;
pub mod wire;
pub mod work;
