//! JSON-RPC 2.0 as the guardian speaks it: requests with an id, answers, errors, batches.
//!
//! A guardian must be able to answer, so there are no notifications: a request without a usable id is an error.

mod error;
mod request;

pub use error::{RpcError, code};
pub(super) use request::{Envelope, read};
