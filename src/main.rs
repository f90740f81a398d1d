//! The `guardian` binary.

fn main() {}
