//! Texts that are derived from the arguments of a call: the strings of a JSON text inside a string, and a command whose words
//! stand in a list.
//!
//! They are screened like arguments of their own name, and what is found is carried back to the contents that are there.

use std::collections::HashMap;
use std::ops::Range;

use super::split_arrays::array_place;
use crate::model::{Content, ContentId, Finding, Form, Origin, Place, ReasonCode, Rule, Step, View};
use crate::text::views::{Leaf, MAX_LEAVES, leaves};

/// JSON in a string in JSON in a string is opened this many times.
const MAX_DEPTH: usize = 4;
/// The most texts that are derived from a step.
const MAX: usize = 512;
/// The most words of a command.
const MAX_WORDS: usize = 256;
/// More words than one command has as a rule.
const MANY_WORDS: usize = 64;
/// The longest command that is put together.
const MAX_LINE: usize = 16 * 1024;
/// Names of arguments that hold a program, whose own arguments stand in a list beside it.
const PROGRAM_LABELS: &[&str] = &["command", "cmd", "program", "executable", "binary", "bin"];

/// A text that is derived from arguments.
pub(in crate::prefilter) struct DerivedText<'s> {
    /// A content that no document holds, with the id and the place of the one it comes from.
    pub(in crate::prefilter) whole: Content,
    way: Way<'s>,
}

/// How a text is derived.
enum Way<'s> {
    /// It stands in a content that is JSON; the leaves that lead there, outermost first.
    Leaf(Vec<std::sync::Arc<Leaf>>),
    /// Contents are its words.
    Line(Vec<(Range<usize>, &'s Content)>),
}

/// What is derived from a step.
pub(in crate::prefilter) struct All<'s> {
    /// Every derived text, up to a number.
    pub(in crate::prefilter) texts: Vec<DerivedText<'s>>,
    /// Contents that hold more texts than were opened, or deeper ones.
    pub(in crate::prefilter) unopened: Vec<&'s Content>,
}

/// Every text that is derived from the arguments of a step.
pub(in crate::prefilter) fn derived_from(step: &Step) -> All<'_> {
    let arguments: Vec<&Content> = step.contents.iter().filter(|content| is_argument(content)).collect();
    let mut unopened = Vec::new();
    let mut texts = lines(&arguments, &mut unopened);
    let most = texts.len() + MAX;
    for content in arguments {
        if open(content, most, &mut texts) == Opened::Partly {
            unopened.push(content);
        }
    }
    All { texts, unopened }
}

/// That not all of a content was opened, by the rule about what is left unexamined.
pub(in crate::prefilter) fn not_opened(rule: &Rule, content: &Content) -> Finding {
    let what = "The JSON in this string holds more strings, or deeper ones, than are examined one by one.";
    Finding {
        view: View::Json,
        ..rule.on_content(content, what)
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
fn open<'s>(content: &'s Content, most: usize, derived: &mut Vec<DerivedText<'s>>) -> Opened {
    let mut opened = Opened::Wholly;
    let mut waiting = vec![(content.clone(), Vec::new())];
    while let Some((content, way)) = waiting.pop() {
        let Some(leaves) = leaves(&content.text) else {
            continue;
        };
        if leaves.len() >= MAX_LEAVES || (way.len() >= MAX_DEPTH && !leaves.is_empty()) {
            opened = Opened::Partly;
        }
        if way.len() >= MAX_DEPTH {
            continue;
        }
        for leaf in leaves {
            if derived.len() >= most {
                return Opened::Partly;
            }
            let mut whole = content.clone();
            whole.text.clone_from(&leaf.text);
            whole.label = leaf.key.clone().or(whole.label);
            let mut way = way.clone();
            way.push(std::sync::Arc::new(leaf));
            waiting.push((whole.clone(), way.clone()));
            derived.push(DerivedText {
                whole,
                way: Way::Leaf(way),
            });
        }
    }
    opened
}

/// Every list of strings as a command line, behind the program that stands beside it where there is one.
fn lines<'s>(arguments: &[&'s Content], passed_over: &mut Vec<&'s Content>) -> Vec<DerivedText<'s>> {
    let program = arguments.iter().copied().find(|content| {
        let label = content.label.as_deref().unwrap_or_default().to_ascii_lowercase();
        let alone = array_place(content.pointer.as_str()).is_none_or(|(_, _, behind)| !behind.is_empty());
        alone && PROGRAM_LABELS.contains(&label.as_str()) && !content.text.contains(char::is_whitespace)
    });
    let list_of = |content: &'s Content| match array_place(content.pointer.as_str()) {
        Some((list, _, "")) => Some(list),
        _ => None,
    };
    let most = MAX + arguments.len() / 8;
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

fn line<'s>(program: Option<&'s Content>, words: &[&'s Content]) -> Option<DerivedText<'s>> {
    let mut left = MAX_LINE;
    let fits = |word: &&Content| {
        let fits = word.text.len() <= left;
        left = left.saturating_sub(word.text.len());
        fits
    };
    // Of a longer list the beginning says what is called; that there is more, whoever reads commands notices by the number.
    let all = program.into_iter().chain(words.iter().copied());
    let all: Vec<&Content> = all.take(MAX_WORDS).take_while(fits).collect();
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
    Some(DerivedText {
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
pub(in crate::prefilter) struct Places(HashMap<Option<ContentId>, Vec<(String, Range<usize>)>>);

impl Places {
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

impl DerivedText<'_> {
    /// Whether a family has anything to see here that it does not see elsewhere: the words of a command are contents of
    /// their own, only who reads commands needs them together.
    pub(in crate::prefilter) fn concerns(&self, family: &str) -> bool {
        match self.way {
            Way::Leaf(_) => true,
            Way::Line(_) => family == "destructive_command",
        }
    }

    /// Findings on the derived text as findings on what is there, without those that are known; they are known from now on.
    pub(in crate::prefilter) fn on_contents(&self, findings: Vec<Finding>, known: &mut Places) -> Vec<Finding> {
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
            Way::Line(words) => {
                let touches = |place: &Range<usize>| finding.span.start < place.end && place.start < finding.span.end;
                let touched: Vec<&Content> = words
                    .iter()
                    .filter(|(place, _)| touches(place))
                    .map(|(_, word)| *word)
                    .collect();
                // That a line was not examined to its end is told once, whichever of its words the finding names.
                let of_all = finding.reason == ReasonCode::Obfuscation;
                let first = touched.first().filter(|_| touched.len() > 1 || of_all)?;
                finding.content = Some(first.id);
                finding.pointer = first.pointer.clone();
                finding.span = 0..first.text.len();
            }
        }
        Some(finding)
    }
}

#[cfg(test)]
mod tests;
