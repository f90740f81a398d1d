//! Classes of tools: what a tool does, by the organisation's word, else guessed from its name, description and arguments.
//!
//! This is the one classification of tools: the screen, the rules over sessions and `guardian tools` use it. The policy
//! (`[tools.classes]`) goes first; without a word of it, the whole words of the tool's name, its description and the names
//! of its arguments are read. A guess decides which rules look at a call, and never denies by itself. The words are data
//! (`words.toml`). What a particular call does with its arguments is not known here.

mod names;

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use serde::Deserialize;

pub use crate::model::{ClassSet, ToolClass};
use crate::model::{Step, Tool, ToolCall};
use crate::policy::Policy;
use crate::text::{CompiledIn, DataError, data_file};

pub(crate) use names::words_of;
use names::{MAX_WORDS, is_form_of, sentence};

static WORDS: CompiledIn<Words> = CompiledIn::new(|| data_file!("tools/words.toml").read());

static VERBS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let acting = WORDS.get().classes.iter().flat_map(|entry| &entry.verbs);
    WORDS.get().reading.iter().chain(acting).map(String::as_str).collect()
});

/// Reads the words.
///
/// # Errors
///
/// When they cannot be used.
pub fn check() -> Result<(), DataError> {
    WORDS.check()
}

/// The classes of a tool, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classified {
    /// The classes.
    pub set: ClassSet,
    /// The sign by which each was recognised, in one phrase.
    pub why: Vec<(ToolClass, String)>,
    /// True if the organisation's policy says so.
    pub by_policy: bool,
    /// True if its name says that it only brings something in.
    pub reads: bool,
    /// True if it deletes what it is given the name of.
    pub deletes: bool,
    /// The domain in which it works.
    pub field: Field,
}

/// The domain in which a tool works, by the whole words of its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field {
    /// It asks a database.
    Database,
    /// It looks words up: what it is given is never run.
    Search,
    /// Anything else.
    #[default]
    Other,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    reading: Vec<String>,
    weak: Vec<String>,
    ambiguous: Vec<String>,
    deleting: Vec<String>,
    databases: Vec<String>,
    searches: Vec<String>,
    classes: Vec<Entry>,
    /// Beginnings of words of other languages, by class; `reading` for those that bring something in.
    foreign: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    class: ToolClass,
    verbs: Vec<String>,
    #[serde(default)]
    objects: Vec<String>,
}

/// The classes of the tool that a step calls, in the light of its definition where the agent gives one.
pub fn classes_of_call(step: &Step, call: &ToolCall, policy: &Policy) -> Classified {
    let definition = step.tools().find(|tool| tool.id == call.tool || tool.name == call.tool);
    let arguments: Vec<&str> = call.arguments.iter().map(|argument| argument.name.as_str()).collect();
    match definition {
        Some(tool) => classify(&[&tool.id, &tool.name], tool.description.as_deref(), &arguments, policy),
        None => classify(&[&call.tool], None, &arguments, policy),
    }
}

/// The classes of a defined tool.
pub fn classes_of(tool: &Tool, policy: &Policy) -> Classified {
    let arguments: Vec<&str> = tool
        .arguments
        .iter()
        .flatten()
        .map(|argument| argument.name.as_str())
        .collect();
    classify(&[&tool.id, &tool.name], tool.description.as_deref(), &arguments, policy)
}

fn classify(names: &[&str], description: Option<&str>, arguments: &[&str], policy: &Policy) -> Classified {
    if let Some(set) = policy.tools.classes.of(names.iter().copied()) {
        let why = set
            .iter()
            .map(|class| (class, "the policy says so".to_owned()))
            .collect();
        return Classified {
            set,
            why,
            by_policy: true,
            reads: !set.acts(),
            deletes: set.has(ToolClass::Destroys),
            field: field_of(names),
        };
    }
    let mut found = Classified {
        field: field_of(names),
        ..Classified::default()
    };
    for name in names {
        by_words(&words_of(name), By::Name, &mut found);
    }
    if found.why.is_empty() && !found.reads {
        for name in names {
            by_foreign_words(&words_of(name), &mut found);
        }
    }
    if found.why.is_empty()
        && let Some(description) = description
    {
        by_words(&sentence(description), By::Description, &mut found);
    }
    by_arguments(arguments, &mut found);
    found
}

/// Returns the domain in which a tool of these names works.
fn field_of(names: &[&str]) -> Field {
    let words: Vec<String> = names.iter().flat_map(|name| words_of(name)).collect();
    let has = |list: &[String]| words.iter().any(|word| list.contains(word));
    match () {
        () if has(&WORDS.get().databases) => Field::Database,
        () if has(&WORDS.get().searches) => Field::Search,
        () => Field::Other,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Name,
    Description,
}

/// Classifies a name by its verb, with the other words as its objects.
fn by_words(words: &[String], by: By, found: &mut Classified) {
    let table = WORDS.get();
    let is_weak = |word: &str| table.weak.iter().any(|weak| weak == word);
    let is_verb = |word: &str| {
        table.reading.iter().any(|verb| verb == word)
            || table
                .classes
                .iter()
                .any(|entry| entry.verbs.iter().any(|verb| verb == word))
    };
    match words.iter().find(|word| is_verb(word) && !is_weak(word)) {
        Some(verb) => by_verb(verb, words, by, found),
        None => {
            for verb in words.iter().filter(|word| is_weak(word)) {
                by_verb(verb, words, by, found);
            }
        }
    }
}

/// Classifies a name by words of other languages; a word for reading settles it.
fn by_foreign_words(words: &[String], found: &mut Classified) {
    let begins = |class: &str| {
        let stems = WORDS.get().foreign.get(class).into_iter().flatten();
        let mut stems = stems.filter(|stem| {
            let short = stem.chars().count() < 4;
            words.iter().any(|word| {
                if short {
                    word == *stem
                } else {
                    word.starts_with(stem.as_str())
                }
            })
        });
        stems.next()
    };
    if begins("reading").is_some() {
        found.reads = true;
        return;
    }
    for class in ToolClass::ALL {
        if let Some(stem) = begins(class.as_str())
            && !found.set.has(*class)
        {
            found.set.insert(*class);
            found.why.push((*class, format!("`{stem}` in its name")));
        }
    }
}

fn by_verb(verb: &String, words: &[String], by: By, found: &mut Classified) {
    let table = WORDS.get();
    let reading = table.reading.iter().any(|known| known == verb);
    for entry in &table.classes {
        let class = entry.class;
        let verb_fits = entry
            .verbs
            .iter()
            .any(|known| known == verb || (reading && known == "reading"));
        let object = words
            .iter()
            .filter(|word| *word != verb)
            .find(|word| entry.objects.iter().any(|object| is_form_of(word, object)));
        if !verb_fits || (object.is_none() && !entry.objects.is_empty()) || found.set.has(class) {
            continue;
        }
        let place = match by {
            By::Name => "its name",
            By::Description => "its description",
        };
        let why = match object {
            Some(object) => format!("`{verb}` and `{object}` in {place}"),
            None => format!("`{verb}` in {place}"),
        };
        found.set.insert(class);
        found.why.push((class, why));
    }
    found.reads |= reading;
    found.deletes |= table.deleting.contains(verb);
}

/// Classifies a tool by its arguments: code to run, an amount and a receiver, a receiver and a text.
fn by_arguments(arguments: &[&str], found: &mut Classified) {
    if found.reads {
        return;
    }
    let lower: Vec<String> = arguments
        .iter()
        .take(MAX_WORDS)
        .map(|name| name.to_ascii_lowercase())
        .collect();
    let first = |list: &[&str]| lower.iter().find(|name| list.contains(&name.as_str()));
    let receiver = first(RECEIVERS);
    let mut add = |class: ToolClass, why: String| {
        if !found.set.has(class) {
            found.set.insert(class);
            found.why.push((class, why));
        }
    };
    if let Some(code) = first(&["command", "cmd", "code", "script", "shell_command", "commands"]) {
        add(ToolClass::Executes, format!("its argument `{code}`"));
    }
    if let (Some(receiver), Some(amount)) = (receiver, first(&["amount", "sum", "amount_cents"])) {
        add(ToolClass::Pays, format!("its arguments `{receiver}` and `{amount}`"));
    } else if let (Some(receiver), Some(text)) = (receiver, first(&["body", "message", "text", "content", "subject"])) {
        add(ToolClass::SendsOut, format!("its arguments `{receiver}` and `{text}`"));
    }
}

/// Returns `true` if a word in small letters is one for what tools do.
pub(crate) fn is_verb(word: &str) -> bool {
    VERBS.contains(word)
}

/// Returns `true` if a word is one for bringing something in.
pub(crate) fn is_reading(word: &str) -> bool {
    WORDS.get().reading.iter().any(|verb| verb == word)
}

/// Words for bringing something in.
pub(crate) fn reading_verbs() -> impl Iterator<Item = &'static str> {
    WORDS
        .get()
        .reading
        .iter()
        .map(String::as_str)
        .filter(|verb| is_plain(verb))
}

/// Returns `true` if a word means one thing only.
fn is_plain(verb: &str) -> bool {
    !WORDS.get().ambiguous.iter().any(|word| word == verb)
}

/// Words for what tools of a class do that mean nothing else.
pub(crate) fn verbs_of(class: ToolClass) -> impl Iterator<Item = &'static str> {
    WORDS
        .get()
        .classes
        .iter()
        .filter(move |entry| entry.class == class)
        .flat_map(|entry| &entry.verbs)
        .map(String::as_str)
        .filter(|verb| is_plain(verb))
}

/// Names of arguments that say who receives something.
const RECEIVERS: &[&str] = &[
    "to",
    "recipient",
    "recipients",
    "receiver",
    "payee",
    "iban",
    "account",
    "beneficiary",
    "webhook",
    "endpoint",
    "phone",
    "phone_number",
    "email",
];

#[cfg(test)]
mod tests;
