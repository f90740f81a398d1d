//! Sessions: a step in the light of what happened before it.
//!
//! | part | file |
//! |---|---|
//! | where values and passages were read first | `taint` |
//! | what tools do | `classes` |

pub mod classes;
pub mod taint;
