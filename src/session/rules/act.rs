//! The act of a call in words: its verb, its objects, and the words that mean the same. Made once for a step, and then compared with each
//! instruction.

use super::rule_context::RuleContext;
use crate::model::{Finding, ReasonCode, ToolClass};
use crate::session::facts::Instruction;
use crate::session::lexicon;
use crate::session::taint::{TaintHit, plain, stem};
use crate::tools;

/// The part of what a tool does that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Act {
    /// Nothing.
    Nothing,
    /// The verb, or what it is done to.
    Part,
    /// Both, or words that mean the same.
    Whole,
    /// The very verb, and at least two things, none of which the user ever spoke of.
    Exact,
}

/// The act of the called tool, by its name and its classes.
pub(super) struct Doing {
    readings: Vec<Reading>,
    /// The tool's name as one word, if programs alone write it so, and the user did not.
    name: Option<String>,
    synonyms: Vec<u64>,
    reading_synonyms: Vec<u64>,
}

/// One reading of a name, with the word that is its verb.
struct Reading {
    verb: u64,
    objects: Vec<u64>,
    brings_in: bool,
    /// True if the user spoke of none of the objects.
    strange: bool,
    /// True if the user asked for this act, with any objects.
    asked: bool,
}

impl Doing {
    pub(super) fn of(context: &RuleContext<'_>) -> Self {
        let taint = context.facts().taint();
        let tool = context.step.tool_call.as_ref().map_or("", |call| call.tool.as_str());
        let acting = || {
            let classes = context.classified.set.iter().filter(|class| class.acts());
            classes.flat_map(|class| tools::verbs_of(class).chain(lexicon::verbs_of(class)))
        };
        let asked_to_act = acting().any(|verb| taint.user_meant(verb));
        let words = tools::words_of(tool);
        let verbs = words.iter().enumerate().filter(|(_, word)| tools::is_verb(word));
        let readings = verbs.map(|(index, verb)| {
            let objects: Vec<&String> = words
                .iter()
                .skip(index + 1)
                .filter(|word| word.len() >= 3 && !lexicon::words().fillers.contains(word.as_str()))
                .collect();
            let meant = objects.iter().any(|word| taint.user_meant(word));
            let brings_in = tools::is_reading(verb);
            Reading {
                verb: stem(verb),
                objects: objects.into_iter().map(|word| stem(word)).collect(),
                brings_in,
                strange: !meant,
                asked: if brings_in {
                    meant
                } else {
                    asked_to_act || taint.user_meant(verb)
                },
            }
        });
        let name = plain(tool);
        let telling = tool.len() >= 8 && tool.chars().any(char::is_uppercase) && name.split_whitespace().count() == 1;
        Self {
            readings: readings.collect(),
            name: Some(name).filter(|_| telling && !taint.user_said_all(tool)),
            synonyms: acting().map(stem).collect(),
            reading_synonyms: tools::reading_verbs().map(stem).collect(),
        }
    }

    /// Returns `true` if an instruction names the tool itself, as programs write it.
    pub(super) fn is_named_in(&self, instruction: &Instruction) -> bool {
        self.name.as_ref().is_some_and(|name| instruction.words.contains(name))
    }

    /// Returns the part of the act that an instruction names; and whether the user asked for that act.
    pub(super) fn named_in(&self, instruction: &Instruction) -> (Act, bool) {
        let mut best = (Act::Nothing, self.readings.last().is_some_and(|reading| reading.asked));
        for reading in &self.readings {
            let named = reading.objects.iter().filter(|word| instruction.uses(**word)).count();
            let all = named > 0 && named == reading.objects.len();
            let verb = instruction.uses(reading.verb);
            let similar = || {
                let reading_words = self.reading_synonyms.iter().filter(|_| reading.brings_in);
                self.synonyms
                    .iter()
                    .chain(reading_words)
                    .any(|word| instruction.uses(*word))
            };
            let act = if all && verb && named >= 2 && reading.strange && !reading.brings_in {
                Act::Exact
            } else if all && (verb || similar()) {
                Act::Whole
            } else if named > 0 || verb || similar() {
                Act::Part
            } else {
                Act::Nothing
            };
            if act > best.0 {
                best = (act, reading.asked);
            }
        }
        best
    }
}

/// Returns `true` if the call deletes, as a tool that deletes or as a command with a word for it.
pub(super) fn deletes(context: &RuleContext<'_>, hit: &TaintHit) -> bool {
    let command = || hit.content.and_then(|id| context.step.content(id));
    context.has(ToolClass::Destroys)
        || ((context.has(ToolClass::Executes) || context.has(ToolClass::Writes))
            && command().is_some_and(|content| context.command(content).deletes))
}

/// Returns `true` if a finding says that what would be run does harm.
pub(super) fn is_harm(seen: &Finding) -> bool {
    matches!(
        seen.reason,
        ReasonCode::MaliciousCode
            | ReasonCode::DestructiveAction
            | ReasonCode::DataExfiltration
            | ReasonCode::PrivilegeEscalation
    )
}
