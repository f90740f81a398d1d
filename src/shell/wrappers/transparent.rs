//! Programs that run what stands behind their own options as it is: `sudo`, `nohup`, `timeout 5`.

use super::options::after_options;
use super::{Inner, inner_call};
use crate::shell::{Call, programs};

/// Returns what such a program runs; `None` for a program that is none of them.
pub(super) fn behind_options(call: &Call) -> Option<Vec<Inner>> {
    let program = call.program.as_str();
    let wrapper = programs::wrapper(program)?;
    // `command -v` and `sudo -l` ask, they run nothing.
    if program == "command" && (call.has("-v") || call.has("-V")) {
        return Some(Vec::new());
    }
    let words = after_options(&call.args, &wrapper.valued, wrapper.operands);
    Some(inner_call(words, false))
}
