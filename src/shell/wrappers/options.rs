//! The end of a program's own options, and the place of the text that it runs.

use crate::shell::Word;

/// Returns the words after options, `NAME=value` and a number of operands.
pub(super) fn after_options<'a, S: AsRef<str>>(args: &'a [Word], valued: &[S], mut operands: usize) -> &'a [Word] {
    let mut rest = args;
    while let Some((word, tail)) = rest.split_first() {
        let text = word.text.as_str();
        if text == "--" {
            rest = tail;
            continue;
        }
        if valued.iter().any(|option| option.as_ref() == text) {
            rest = tail.get(1..).unwrap_or_default();
        } else if text.starts_with('-') && text.len() > 1 || is_assignment(text) {
            rest = tail;
        } else if operands > 0 {
            operands -= 1;
            rest = tail;
        } else {
            break;
        }
    }
    rest
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

pub(super) fn after_double_dash(args: &[Word]) -> &[Word] {
    match args.iter().position(|word| word.text == "--") {
        Some(at) => args.get(at + 1..).unwrap_or_default(),
        None => after_options(args, &["-t", "--target", "-S", "-G"], 0),
    }
}

/// Returns the text that belongs to `-c` (also bundled, as in `-lc`).
pub(super) fn script_argument(args: &[Word], flag: char) -> Option<&Word> {
    let at = args
        .iter()
        .take_while(|word| word.text.starts_with(['-', '+']))
        .position(|word| {
            word.text
                .strip_prefix('-')
                .is_some_and(|rest| !rest.starts_with('-') && rest.ends_with(flag))
        })?;
    args.get(at + 1)
}
