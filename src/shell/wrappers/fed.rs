//! Programs that run another one with arguments that come from elsewhere: what is fed in, what is found.

use super::options::after_options;
use super::{Inner, here, inner_call};
use crate::shell::{Call, FoundFile, Word, programs};

pub(super) fn xargs(call: &Call, stdin: Option<&str>) -> Vec<Inner> {
    let valued = &programs::names().fed_valued;
    let words = after_options(&call.args, valued, 0);
    if call.program == "parallel" {
        let given = call.args.iter().position(|word| word.text == ":::");
        let (command, values) = given
            .and_then(|at| call.args.split_at_checked(at))
            .unwrap_or((&call.args, &[]));
        // Without a command of its own every value is one.
        if after_options(command, valued, 0).is_empty() {
            let typed = stdin.into_iter().flat_map(str::lines).map(str::to_owned);
            let values = values.iter().skip(1).map(|word| word.text.clone());
            return values.chain(typed).take(16).map(here).collect();
        }
    }
    if words.is_empty() {
        return Vec::new();
    }
    let placeholder = call
        .values(&["-I", "--replace"])
        .map(|(_, value)| value.to_owned())
        .next()
        .or_else(|| {
            words
                .iter()
                .any(|word| word.text.contains("{}"))
                .then(|| "{}".to_owned())
        });
    let Some(stdin) = stdin else {
        // Whatever is fed in, its place has one name for all who look at the call.
        let named = |word: &Word| Word {
            text: match &placeholder {
                Some(placeholder) if !placeholder.is_empty() => word.text.replace(placeholder, "{}"),
                _ => word.text.clone(),
            },
            ..word.clone()
        };
        return vec![Inner::Call {
            words: words.iter().map(named).collect(),
            fed_arguments: true,
        }];
    };
    let values = stdin.split_whitespace().take(64);
    let words = match placeholder {
        Some(placeholder) => values
            .take(8)
            .flat_map(|value| words.iter().map(move |word| (word, value)))
            .map(|(word, value)| Word {
                text: word.text.replace(&placeholder, value),
                ..word.clone()
            })
            .collect(),
        None => words.iter().cloned().chain(values.map(Word::known)).collect(),
    };
    vec![Inner::Call {
        words,
        fed_arguments: true,
    }]
}

pub(super) fn find(call: &Call, found_file: FoundFile) -> Vec<Inner> {
    let mut inner = Vec::new();
    let mut rest = call.args.as_slice();
    while let Some(at) = rest.iter().position(|word| {
        matches!(
            word.text.as_str(),
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec"
        )
    }) {
        rest = rest.get(at + 1..).unwrap_or_default();
        let end = rest
            .iter()
            .position(|word| matches!(word.text.as_str(), ";" | "+" | "\\"))
            .unwrap_or(rest.len());
        let (words, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        // Where only files can be found that the caller cares about, their name stands for what is found.
        match found_file(call, words) {
            Some(found) => {
                let words: Vec<Word> = words
                    .iter()
                    .map(|word| Word {
                        text: word.text.replace("{}", &found),
                        ..word.clone()
                    })
                    .collect();
                inner.extend(inner_call(&words, true));
            }
            None => inner.extend(inner_call(words, true)),
        }
        rest = after;
    }
    inner
}
