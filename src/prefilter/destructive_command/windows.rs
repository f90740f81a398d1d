//! Windows: what `cmd` and PowerShell texts do.
//!
//! Their grammar is not that of a Unix shell (a backslash is a separator), so the text is searched by
//! [pattern](patterns), each behind a word of its own; carets, back-ticks and joined quotes are taken out first.

mod patterns;

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::secrets::reads;
use super::{Danger, Seen};
use crate::prefilter::locations::{Breadth, Location, Secret};
use crate::text::expression::expression;
use patterns::PATTERNS;

/// Words behind which deletions, readers and senders are looked for, in the order of [`Search`].
const DELETING: &[&str] = &["remove-item", "del ", "del/", "erase ", "rd ", "rmdir", "ri ", "rm -r"];
const TAKING: &[&str] = &[":\\", "$env:", "%userprofile%", "~\\", "env:"];

/// What a word in a text asks for.
#[derive(Clone, Copy)]
enum Search {
    Pattern(usize),
    Deletions,
    Secrets,
}

struct Keywords {
    finder: AhoCorasick,
    searches: Vec<Search>,
}

/// Built once; every pattern is ours and compiles, which a test holds.
static GATE: LazyLock<Option<Keywords>> = LazyLock::new(|| {
    let mut words: Vec<&str> = Vec::new();
    let mut searches = Vec::new();
    for (index, pattern) in PATTERNS.iter().enumerate() {
        words.extend(pattern.needles);
        searches.extend(pattern.needles.iter().map(|_| Search::Pattern(index)));
    }
    for (more, search) in [(DELETING, Search::Deletions), (TAKING, Search::Secrets)] {
        words.extend(more);
        searches.extend(more.iter().map(|_| search));
    }
    let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()?;
    Some(Keywords { finder, searches })
});

static COMPILED: LazyLock<Vec<Option<Regex>>> =
    LazyLock::new(|| PATTERNS.iter().map(|pattern| expression(pattern.expression)).collect());

/// A deletion with its switches and targets; the switches tell whether it is recursive.
static DELETION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"(?im)(?:^|[\n;&|({'\x22]|/c\s|-command\s|\bdo\s)\s*(remove-item|ri|rd|rmdir|del|erase|rm)(?:\.exe)?\s+([^\n;&|)}]+)",
    )
});

/// A word that shows or copies a file, and the file; or a file that is sent.
static TAKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"(?im)(?:^|[\n;&|({'\x22]|/c\s|-command\s)\s*(?:type|more|copy|xcopy|cp|cat|gc|get-content|copy-item|certutil\s+-encode|esentutl\s+/y)(?:\.exe)?\s+(?:-path\s+|-raw\s+|-literalpath\s+)*['\x22]?([^\s'\x22;|&)]+)",
    )
});
static SENDING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"(?i)(?:\b(?:invoke-webrequest|iwr|invoke-restmethod|irm|curl(?:\.exe)?)\b[^\n]*(?:-method\s+['\x22]?(?:post|put)|-infile\b|-body\b|-t\s|-f\s)|\.upload(?:file|string|data)\()",
    )
});
static PLACE: LazyLock<Option<Regex>> =
    LazyLock::new(|| expression(r"(?i)(?:[a-z]:\\|\$env:\w+\\|%\w+%\\|~\\)[^\s'\x22;|&)]+"));
/// Variables of the machine, or what is on the clipboard.
static EVERYTHING: LazyLock<Option<Regex>> =
    LazyLock::new(|| expression(r"(?i)\b(?:(?:get-childitem|gci|dir|ls)\s+env:|get-clipboard\b)"));
/// A file or directory that a method of .NET deletes.
static METHOD: LazyLock<Option<Regex>> =
    LazyLock::new(|| expression(r"(?i)\bio\.(directory|file)\]::delete\(\s*['\x22]([^'\x22]+)"));

/// Looks at a text, and at what it says without its disguises.
pub(super) fn look(text: &str, seen: &mut Seen) {
    search(text, seen);
    if let Cow::Owned(plain) = undisguised(text) {
        let whole = seen.outer.clone().unwrap_or(0..text.len());
        let outer = seen.outer.replace(whole);
        search(&plain, seen);
        seen.outer = outer;
    }
}

/// The text without carets and back-ticks inside words, and with pieces of quoted words joined.
fn undisguised(text: &str) -> Cow<'_, str> {
    let joined = ["'+'", "\"+\"", "' + '", "\" + \""];
    let has_joints = joined.iter().any(|joint| text.contains(joint));
    let inside_word = |sign: char| {
        text.match_indices(sign).any(|(at, _)| {
            let before = text.get(..at).and_then(|head| head.chars().next_back());
            let after = text.get(at + 1..).and_then(|rest| rest.chars().next());
            after.is_some_and(|c| c.is_ascii_alphabetic()) && before.is_none_or(|c| c.is_ascii_alphabetic() || c == ' ')
        })
    };
    if !has_joints && !inside_word('^') && !inside_word('`') && !inside_word('"') {
        return Cow::Borrowed(text);
    }
    let mut plain = text.to_owned();
    for joint in joined {
        plain = plain.replace(joint, "");
    }
    plain.retain(|c| !matches!(c, '^' | '`'));
    // `"d"e"l`: quotes with letters on both sides.
    let letters: Vec<char> = plain.chars().collect();
    let kept = letters.iter().enumerate().filter(|(at, c)| {
        let near = |at: Option<usize>| {
            at.and_then(|at| letters.get(at))
                .is_some_and(char::is_ascii_alphanumeric)
        };
        **c != '"' || !(near(at.checked_add(1)) && near(at.checked_sub(1)))
    });
    Cow::Owned(kept.map(|(_, c)| *c).collect())
}

fn search(text: &str, seen: &mut Seen) {
    let Some(gate) = GATE.as_ref() else { return };
    let mut wanted = vec![false; PATTERNS.len()];
    let (mut deletes, mut takes) = (false, false);
    for hit in gate.finder.find_overlapping_iter(text).take(1_024) {
        match gate.searches.get(hit.pattern().as_usize()) {
            Some(Search::Pattern(index)) => {
                if let Some(flag) = wanted.get_mut(*index) {
                    *flag = true;
                }
            }
            Some(Search::Deletions) => deletes = true,
            Some(Search::Secrets) => takes = true,
            None => {}
        }
    }
    for ((pattern, regex), _) in PATTERNS
        .iter()
        .zip(COMPILED.iter())
        .zip(&wanted)
        .filter(|(_, wanted)| **wanted)
    {
        if let Some(hit) = regex.as_ref().and_then(|regex| regex.find(text)) {
            seen.add_at(pattern.danger, hit.range(), pattern.what);
        }
    }
    if takes {
        taken(text, seen);
    }
    if deletes {
        deletions(text, seen);
    }
}

/// Keys that are shown, copied or sent.
fn taken(text: &str, seen: &mut Seen) {
    let key = |path: &str| Location::of(path).secret().filter(|secret| secret.is_key_material());
    if let Some(taken) = TAKEN.as_ref() {
        for hit in taken.captures_iter(text).take(16) {
            if let (Some(whole), Some(path)) = (hit.get(0), hit.get(1))
                && path.as_str().contains('\\')
                && let Some(secret) = key(path.as_str())
            {
                seen.add_at(Danger::CredentialRead, whole.range(), reads(secret));
            }
        }
    }
    let Some(sending) = SENDING.as_ref().and_then(|sending| sending.find(text)) else {
        return;
    };
    let places = PLACE
        .as_ref()
        .into_iter()
        .flat_map(|place| place.find_iter(text).take(32));
    let secret = places
        .map(|place| Location::of(place.as_str()).secret())
        .any(|secret: Option<Secret>| secret.is_some());
    if secret || EVERYTHING.as_ref().is_some_and(|everything| everything.is_match(text)) {
        seen.add_at(
            Danger::Exfiltrate,
            sending.range(),
            "sends keys, passwords or environment variables to another machine",
        );
    }
}

fn deletions(text: &str, seen: &mut Seen) {
    if let Some(method) = METHOD.as_ref() {
        for hit in method.captures_iter(text).take(16) {
            let (Some(whole), Some(path)) = (hit.get(0), hit.get(2)) else {
                continue;
            };
            match Location::of(path.as_str()).breadth() {
                Breadth::Everything | Breadth::Home | Breadth::SystemDirectory => {
                    seen.add_at(Danger::DeleteRoot, whole.range(), "deletes files or directories");
                }
                Breadth::SystemFile => seen.add_at(Danger::DeleteSystem, whole.range(), "deletes files or directories"),
                Breadth::Surroundings | Breadth::Disposable | Breadth::Other => {}
            }
        }
    }
    let Some(deletion) = DELETION.as_ref() else { return };
    let most = 32 + text.len() / 64;
    for (turn, hit) in deletion.captures_iter(text).enumerate() {
        if turn >= most {
            let at = hit.get(0).map_or(0, |whole| whole.start());
            seen.add_at(
                Danger::NotExamined,
                at..text.len(),
                "deletes more than can be followed to its end",
            );
            break;
        }
        let (Some(whole), Some(arguments)) = (hit.get(0), hit.get(2)) else {
            continue;
        };
        let arguments = arguments.as_str();
        let lower = arguments.to_ascii_lowercase();
        let switches = lower.split_whitespace();
        let recursive = switches
            .clone()
            .any(|switch| matches!(switch, "/s" | "-r" | "-rec") || switch.starts_with("-recurs"));
        let is_windows =
            recursive || lower.contains(":\\") || lower.contains("/q") || lower.contains("/f") || lower.contains("-fo");
        if !is_windows || lower.contains(" -rf") || lower.starts_with("-rf") || lower.starts_with("-fr") {
            continue;
        }
        for target in arguments
            .split([' ', ','])
            .filter(|word| !(word.starts_with('-') || word.starts_with('/') && word.len() <= 3))
        {
            if !target.contains('\\')
                && !target.contains(':')
                && !target.contains('%')
                && !target.contains('$')
                && target != "*"
                && target != "."
            {
                continue;
            }
            let breadth = Location::of(target).breadth();
            let danger = match breadth {
                Breadth::Everything | Breadth::Home | Breadth::SystemDirectory if recursive => Danger::DeleteRoot,
                Breadth::Everything | Breadth::Home => Danger::DeleteBroad,
                Breadth::SystemDirectory | Breadth::SystemFile => Danger::DeleteSystem,
                Breadth::Surroundings if recursive => Danger::DeleteBroad,
                Breadth::Other if recursive => Danger::DeleteFiles,
                Breadth::Surroundings | Breadth::Disposable | Breadth::Other => continue,
            };
            seen.add_at(danger, whole.range(), "deletes files or directories");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(COMPILED.iter().all(Option::is_some));
        assert!(GATE.is_some() && DELETION.is_some() && TAKEN.is_some() && SENDING.is_some());
        assert!(PLACE.is_some() && EVERYTHING.is_some() && METHOD.is_some());
    }
}
