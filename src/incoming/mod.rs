//! HTTP from others: bodies within bounds of size, time and memory, and pages of other sites kept out. The server and the gateways take
//! requests through it; what a refusal looks like is theirs.

mod body;
mod same_machine;

pub use body::{BodyFault, Encoding, announced, read};
pub use same_machine::{Foreign, is_meant};
