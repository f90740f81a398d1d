//! Names that say of themselves that little is lost with them: `shop_test`, `tmp_import`, `preview-441`.
//!
//! It reads names alone and knows neither what bears them nor what happens to it.

use crate::prefilter::words::disposable::{PARTS, PRECIOUS};

/// Parts with which names begin that are thrown away whatever else stands in them.
const FIRST: &[&str] = &["tmp", "temp", "temporary", "scratch", "staging", "stg"];

/// Returns `true` if a name says that what it names is thrown away as a matter of course.
///
/// A part of the name has to say it as a word of its own: `latest` is no test.
pub(super) fn is_disposable(name: &str) -> bool {
    let parts = || {
        name.split(|c: char| !c.is_ascii_alphanumeric())
            .flat_map(|part| {
                part.split(|c: char| c.is_ascii_digit())
                    .filter(|word| !word.is_empty())
                    .chain([part])
            })
            .map(str::to_ascii_lowercase)
    };
    let begins = parts().next().is_some_and(|first| FIRST.contains(&first.as_str()));
    // A copy of the customers that is called one is no more than a copy.
    let is_precious = |part: String| PRECIOUS.contains(&part.as_str()) && !(begins && part.starts_with("customer"));
    name.len() <= 256 && (begins || parts().any(|part| PARTS.contains(&part.as_str()))) && !parts().any(is_precious)
}

#[cfg(test)]
mod tests;
