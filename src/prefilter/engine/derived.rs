//! Texts that a call implies without spelling them as one argument: what stands in a string that is JSON, a command
//! whose words stand in a list, and what is cut into pieces of several names ([`pieces`]).
//!
//! They are screened like arguments of their own name, and what is found is carried back to the contents that are there.

mod pieces;

use std::collections::HashMap;
use std::ops::Range;

use super::Rule;
use super::split_arrays::array_place;
use crate::model::{Content, ContentId, Finding, Form, Origin, Place, ReasonCode, Step, View};
use crate::text::views::{Leaf, MOST_LEAVES, leaves};

/// JSON in a string in JSON in a string is opened this many times.
const DEEPEST: usize = 4;
/// The most texts that a step implies.
const MOST: usize = 512;
/// The most words of a command.
const MOST_WORDS: usize = 256;
/// More words than one command has as a rule.
const MANY_WORDS: usize = 64;
/// The longest command that is put together.
const LONGEST_LINE: usize = 16 * 1024;
/// Names of arguments that hold a program, whose own arguments stand in a list beside it.
const PROGRAM_LABELS: &[&str] = &["command", "cmd", "program", "executable", "binary", "bin"];

/// A text that a call implies.
pub(in crate::prefilter) struct Implied<'s> {
    /// A content that no document holds, with the id and the place of the one it comes from.
    pub(in crate::prefilter) whole: Content,
    way: Way<'s>,
}

/// How a text is implied.
enum Way<'s> {
    /// It stands in a content that is JSON; the leaves that lead there, outermost first.
    Leaf(Vec<std::sync::Arc<Leaf>>),
    /// Contents are its words.
    Line(Vec<(Range<usize>, &'s Content)>),
    /// Contents are pieces of one text.
    Pieces(Vec<(Range<usize>, &'s Content)>),
    /// One content is a directory, another a name in it.
    Path(Vec<(Range<usize>, &'s Content)>),
}

/// What a step implies.
pub(in crate::prefilter) struct All<'s> {
    /// Every text that it implies, up to a number.
    pub(in crate::prefilter) texts: Vec<Implied<'s>>,
    /// Contents that hold more texts than were opened, or deeper ones.
    pub(in crate::prefilter) unopened: Vec<&'s Content>,
}

/// Every text that a step implies.
pub(in crate::prefilter) fn implied(step: &Step) -> All<'_> {
    let arguments: Vec<&Content> = step.contents.iter().filter(|content| is_argument(content)).collect();
    let mut unopened = Vec::new();
    let mut texts = lines(&arguments, &mut unopened);
    texts.extend(pieces::pieces(&arguments));
    let most = texts.len() + MOST;
    for content in arguments {
        if open(content, most, &mut texts) == Opened::Partly {
            unopened.push(content);
        }
    }
    All { texts, unopened }
}

/// That not all of a content was opened, by the rule about what is left unexamined.
pub(in crate::prefilter) fn not_opened(rule: &Rule, content: &Content) -> Finding {
    Finding {
        rule: rule.id.clone(),
        reason: rule.reason.clone(),
        severity: rule.severity,
        confidence: rule.confidence,
        content: Some(content.id),
        pointer: content.pointer.clone(),
        span: 0..content.text.len(),
        view: View::Json,
        suggested: rule.suggests,
        explanation: "The JSON in this string holds more strings, or deeper ones, than are examined one by one."
            .to_owned(),
    }
}

/// How far a content was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opened {
    Wholly,
    Partly,
}

fn is_argument(content: &Content) -> bool {
    content.origin == Origin::ToolArguments && content.place == Place::Body && content.form == Form::Text
}

/// Adds every string inside a content that is JSON.
fn open<'s>(content: &'s Content, most: usize, implied: &mut Vec<Implied<'s>>) -> Opened {
    let mut opened = Opened::Wholly;
    let mut waiting = vec![(content.clone(), Vec::new())];
    while let Some((content, way)) = waiting.pop() {
        let Some(leaves) = leaves(&content.text) else {
            continue;
        };
        if leaves.len() >= MOST_LEAVES || (way.len() >= DEEPEST && !leaves.is_empty()) {
            opened = Opened::Partly;
        }
        if way.len() >= DEEPEST {
            continue;
        }
        for leaf in leaves {
            if implied.len() >= most {
                return Opened::Partly;
            }
            let mut whole = content.clone();
            whole.text.clone_from(&leaf.text);
            whole.label = leaf.key.clone().or(whole.label);
            let mut way = way.clone();
            way.push(std::sync::Arc::new(leaf));
            waiting.push((whole.clone(), way.clone()));
            implied.push(Implied {
                whole,
                way: Way::Leaf(way),
            });
        }
    }
    opened
}

/// Every list of strings as a command line, behind the program that stands beside it where there is one.
fn lines<'s>(arguments: &[&'s Content], passed_over: &mut Vec<&'s Content>) -> Vec<Implied<'s>> {
    let program = arguments.iter().copied().find(|content| {
        let label = content.label.as_deref().unwrap_or_default().to_ascii_lowercase();
        let alone = array_place(content.pointer.as_str()).is_none_or(|(_, _, behind)| !behind.is_empty());
        alone && PROGRAM_LABELS.contains(&label.as_str()) && !content.text.contains(char::is_whitespace)
    });
    let list_of = |content: &'s Content| match array_place(content.pointer.as_str()) {
        Some((list, _, "")) => Some(list),
        _ => None,
    };
    let most = MOST + arguments.len() / 8;
    let mut lines = Vec::new();
    let lists = arguments
        .chunk_by(|a, b| list_of(a).is_some() && list_of(a) == list_of(b))
        .filter(|words| words.first().is_some_and(|first| list_of(first).is_some()));
    for words in lists {
        if lines.len() >= most {
            passed_over.extend(words.first());
            break;
        }
        lines.extend(line(program, words));
    }
    lines
}

fn line<'s>(program: Option<&'s Content>, words: &[&'s Content]) -> Option<Implied<'s>> {
    let mut left = LONGEST_LINE;
    let fits = |word: &&Content| {
        let fits = word.text.len() <= left;
        left = left.saturating_sub(word.text.len());
        fits
    };
    // Of a longer list the beginning says what is called; that there is more, whoever reads commands notices by the number.
    let all = program.into_iter().chain(words.iter().copied());
    let all: Vec<&Content> = all.take(MOST_WORDS).take_while(fits).collect();
    // A long list that begins with several words is one of commands, each of which was read by itself.
    let begins_with_program = all
        .first()
        .is_some_and(|first| !first.text.contains(char::is_whitespace));
    if all.len() < 2 || (all.len() > MANY_WORDS && !begins_with_program) {
        return None;
    }
    let mut whole = (*all.first()?).clone();
    whole.text.clear();
    let mut places = Vec::with_capacity(all.len());
    for word in all {
        if !whole.text.is_empty() {
            whole.text.push(' ');
        }
        let start = whole.text.len();
        quote(&word.text, &mut whole.text);
        places.push((start..whole.text.len(), word));
    }
    Some(Implied {
        whole,
        way: Way::Line(places),
    })
}

/// Writes a word as a shell would have to be told it.
fn quote(word: &str, line: &mut String) {
    let plain = |c: char| {
        !c.is_whitespace()
            && !matches!(
                c,
                ';' | '|' | '&' | '<' | '>' | '(' | ')' | '"' | '\'' | '`' | '$' | '\\' | '#'
            )
    };
    if !word.is_empty() && word.chars().all(plain) {
        line.push_str(word);
        return;
    }
    line.push('\'');
    line.push_str(&word.replace('\'', r"'\''"));
    line.push('\'');
}

/// Where rules found something, content by content.
pub(in crate::prefilter) struct Known(HashMap<Option<ContentId>, Vec<(String, Range<usize>)>>);

impl Known {
    /// The places of these findings.
    pub(in crate::prefilter) fn of(findings: &[Finding]) -> Self {
        let mut known = Self(HashMap::new());
        findings.iter().for_each(|finding| known.add(finding));
        known
    }

    fn add(&mut self, finding: &Finding) {
        let places = self.0.entry(finding.content).or_default();
        places.push((finding.rule.clone(), finding.span.clone()));
    }

    fn has(&self, finding: &Finding) -> bool {
        let places = self.0.get(&finding.content).map_or(&[][..], Vec::as_slice);
        places
            .iter()
            .any(|(rule, span)| *rule == finding.rule && span.start < finding.span.end && finding.span.start < span.end)
    }
}

impl Implied<'_> {
    /// Whether a family has anything to see here that it does not see elsewhere: the words of a command are contents of
    /// their own, only who reads commands needs them together.
    pub(in crate::prefilter) fn concerns(&self, family: &str) -> bool {
        match self.way {
            Way::Leaf(_) => true,
            Way::Line(_) => family == "destructive_command",
            Way::Pieces(_) => matches!(family, "destructive_command" | "sql"),
            Way::Path(_) => family == "path",
        }
    }

    /// Findings on the implied text as findings on what is there, without those that are known; they are known from now on.
    pub(in crate::prefilter) fn on_contents(&self, findings: Vec<Finding>, known: &mut Known) -> Vec<Finding> {
        let carried: Vec<Finding> = findings
            .into_iter()
            .filter_map(|finding| self.carry_back(finding))
            .filter(|finding| !known.has(finding))
            .collect();
        carried.iter().for_each(|finding| known.add(finding));
        carried
    }

    fn carry_back(&self, mut finding: Finding) -> Option<Finding> {
        match &self.way {
            Way::Leaf(way) => {
                let inner = finding.span.clone();
                finding.span = way.iter().rev().fold(inner, |span, leaf| leaf.source_span(span));
            }
            Way::Line(words) | Way::Pieces(words) | Way::Path(words) => {
                let touches = |place: &Range<usize>| finding.span.start < place.end && place.start < finding.span.end;
                let touched: Vec<&Content> = words
                    .iter()
                    .filter(|(place, _)| touches(place))
                    .map(|(_, word)| *word)
                    .collect();
                // What was not read to its end is no matter of the word at which that is told.
                let of_all = finding.reason == ReasonCode::Obfuscation;
                // A piece says less by itself than where it stands: what it says alone is known.
                let is_piece = matches!(self.way, Way::Pieces(_));
                let first = touched.first().filter(|_| touched.len() > 1 || of_all || is_piece)?;
                finding.content = Some(first.id);
                finding.pointer = first.pointer.clone();
                finding.span = 0..first.text.len();
            }
        }
        Some(finding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Pointer;
    use crate::policy::Policy;
    use crate::prefilter::{Prefilters, testing};

    fn found(texts: &[(&str, &str, &str)]) -> Vec<(String, String)> {
        let contents = texts
            .iter()
            .map(|(_, _, text)| (Origin::ToolArguments, (*text).to_owned()));
        let mut step = testing::step(contents);
        for (content, (pointer, label, _)) in step.contents.iter_mut().zip(texts) {
            content.pointer = Pointer::new(*pointer);
            content.label = Some((*label).to_owned());
        }
        let findings = Prefilters::standard()
            .screen(&step, &Policy::standard().unwrap())
            .findings;
        let told = findings.into_iter().map(|finding| {
            let content = step.content(finding.content.unwrap()).unwrap();
            (finding.rule, content.text[finding.span].to_owned())
        });
        told.collect()
    }

    #[test]
    fn a_command_in_json_in_a_string_is_found_where_it_stands() {
        for text in [r#"{"command": "rm -rf /"}"#, r#"["{\"command\": \"rm -rf /\"}"]"#] {
            let found = found(&[("/a", "input", text)]);
            assert!(
                found
                    .iter()
                    .any(|(rule, span)| rule == "destructive_command.delete_root" && span.contains("rm -rf /")),
                "{found:?}"
            );
        }
        assert!(found(&[("/a", "input", r#"{"command": "ls -la"}"#)]).is_empty());
    }

    #[test]
    fn a_command_among_very_many_strings_is_found_or_told_of() {
        let among = |count: usize| {
            let others: String = (0..count).map(|n| format!(r#""a{n}": "x", "#)).collect();
            format!(r#"{{{others}"command": "rm -rf /"}}"#)
        };
        let rules = |text: &str| -> Vec<String> {
            let found = found(&[("/a", "input", text)]);
            found.into_iter().map(|(rule, _)| rule).collect()
        };
        assert!(rules(&among(300)).contains(&"destructive_command.delete_root".to_owned()));
        assert!(rules(&among(3_000)).contains(&"oversize.cut".to_owned()));
        let long = format!(r#"{{"a": "{}", "command": "rm -rf /"}}"#, "x".repeat(70_000));
        assert!(rules(&long).contains(&"destructive_command.delete_root".to_owned()));
        let deep = (0..6).fold(r#"{"command": "rm -rf /"}"#.to_owned(), |text, _| {
            serde_json::json!({ "a": text }).to_string()
        });
        assert!(rules(&deep).contains(&"oversize.cut".to_owned()));
    }

    #[test]
    fn a_command_of_very_many_words_is_told_of() {
        let pointers: Vec<String> = (0..400).map(|n| format!("/a/{n}")).collect();
        let word = |n| match n {
            0 => "rm",
            1 => "-rf",
            399 => "/",
            _ => "-v",
        };
        let texts: Vec<(&str, &str, &str)> = (0..400).map(|n| (pointers[n].as_str(), "args", word(n))).collect();
        let rules: Vec<String> = found(&texts).into_iter().map(|(rule, _)| rule).collect();
        assert!(
            rules.contains(&"destructive_command.not_examined".to_owned()),
            "{rules:?}"
        );
    }

    #[test]
    fn words_in_a_list_are_one_command() {
        let bare = [
            ("/a/0", "command", "rm"),
            ("/a/1", "command", "-rf"),
            ("/a/2", "command", "/"),
        ];
        let split = [("/c", "command", "rm"), ("/a/0", "args", "-rf"), ("/a/1", "args", "/")];
        for texts in [bare, split] {
            let found = found(&texts);
            assert_eq!(found, [("destructive_command.delete_root".to_owned(), "rm".to_owned())]);
        }
        assert!(
            found(&[("/a/0", "command", "echo"), ("/a/1", "command", "rm -rf /")])
                .iter()
                .all(|(_, span)| span == "rm -rf /")
        );
        assert!(found(&[("/a/0", "command", "ls"), ("/a/1", "command", "it's; x")]).is_empty());
    }
}
