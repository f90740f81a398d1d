//! What integration tests share: a scripted endpoint that speaks the OpenAI chat protocol, and one that breaks it.
// Every test binary uses another part, and includes it as a module of its own.
#![allow(dead_code, unreachable_pub)]

pub mod endpoint;
pub mod live;
pub mod socket;
