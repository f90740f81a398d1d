//! Classes of tools: what a tool does, by the organisation's word, else guessed from its name, description and arguments.
//!
//! A guess is a guess: it decides which rules look at a call, and never denies by itself. The words are data
//! (`words.toml`). What a particular call does with its arguments is not known here.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use serde::Deserialize;

pub use crate::model::{ClassSet, ToolClass};
use crate::model::{Step, Tool, ToolCall};
use crate::policy::Policy;

/// Words of a name that are read.
const MOST_WORDS: usize = 24;
/// Bytes of a name, or of a description, that are read.
const MOST_BYTES: usize = 256;

static WORDS: LazyLock<Words> = LazyLock::new(|| toml::from_str(include_str!("words.toml")).unwrap_or_default());

static VERBS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let acting = WORDS.classes.iter().flat_map(|entry| &entry.verbs);
    WORDS.reading.iter().chain(acting).map(String::as_str).collect()
});

/// The classes of a tool, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classified {
    /// The classes.
    pub set: ClassSet,
    /// What each was seen by, in one phrase.
    pub why: Vec<(ToolClass, String)>,
    /// Whether the organisation's policy says so.
    pub by_policy: bool,
    /// Whether its name says that it only brings something in.
    pub reads: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    reading: Vec<String>,
    weak: Vec<String>,
    ambiguous: Vec<String>,
    classes: Vec<Entry>,
    /// Beginnings of words of other languages, by class; `reading` for those that bring something in.
    foreign: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    class: String,
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
        };
    }
    let mut found = Classified::default();
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Name,
    Description,
}

/// What the verb of a name says, with the other words as its objects.
fn by_words(words: &[String], by: By, found: &mut Classified) {
    let table = &*WORDS;
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

/// What words of other languages say; a word for reading settles it.
fn by_foreign_words(words: &[String], found: &mut Classified) {
    let begins = |class: &str| {
        let stems = WORDS.foreign.get(class).into_iter().flatten();
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
    let table = &*WORDS;
    let reading = table.reading.iter().any(|known| known == verb);
    for entry in &table.classes {
        let Some(class) = ToolClass::from_name(&entry.class) else {
            continue;
        };
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
}

/// What the arguments say: code to run, an amount and a receiver, a receiver and a text.
fn by_arguments(arguments: &[&str], found: &mut Classified) {
    if found.reads {
        return;
    }
    let lower: Vec<String> = arguments
        .iter()
        .take(MOST_WORDS)
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

/// Whether a word in small letters is one for what tools do.
pub(super) fn is_verb(word: &str) -> bool {
    VERBS.contains(word)
}

/// Whether a word is one for bringing something in.
pub(super) fn is_reading(word: &str) -> bool {
    WORDS.reading.iter().any(|verb| verb == word)
}

/// Words for bringing something in.
pub(super) fn reading_verbs() -> impl Iterator<Item = &'static str> {
    WORDS.reading.iter().map(String::as_str).filter(|verb| is_plain(verb))
}

/// Whether a word means one thing.
fn is_plain(verb: &str) -> bool {
    !WORDS.ambiguous.iter().any(|word| word == verb)
}

/// Words for what tools of a class do that mean nothing else.
pub(super) fn verbs_of(class: ToolClass) -> impl Iterator<Item = &'static str> {
    WORDS
        .classes
        .iter()
        .filter(move |entry| entry.class == class.as_str())
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

/// The words of a name, lower case: `mail.sendAll_now` is `send`, `all`, `now`, `mail`. The last part of a dotted name comes
/// first, because that is where the verb stands.
pub(super) fn words_of(name: &str) -> Vec<String> {
    let name = name.get(..name.floor_char_boundary(MOST_BYTES)).unwrap_or_default();
    let mut parts: Vec<&str> = name.split(['.', '/', ':']).flat_map(|part| part.split("__")).collect();
    parts.reverse();
    let mut words = Vec::new();
    for part in parts {
        split_part(part, &mut words);
    }
    words.truncate(MOST_WORDS);
    words
}

fn split_part(part: &str, words: &mut Vec<String>) {
    let mut word = String::new();
    let mut previous_lower = false;
    let letters: Vec<char> = part.chars().collect();
    for (index, c) in letters.iter().enumerate() {
        let next_lower = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        // `sendHTTPRequest`: a capital begins a word after a small letter, and before one.
        let begins = c.is_uppercase() && (previous_lower || (next_lower && !word.is_empty()));
        if (begins || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
}

/// The words of a description's first sentence; its verb often ends in an s.
fn sentence(description: &str) -> Vec<String> {
    let head = description
        .get(..description.floor_char_boundary(MOST_BYTES))
        .unwrap_or_default();
    let sentence = head.split(['.', '\n']).next().unwrap_or_default();
    let mut words = Vec::new();
    split_part(&sentence.to_lowercase(), &mut words);
    words.truncate(MOST_WORDS);
    if let Some(first) = words.first_mut()
        && let Some(stem) = first.strip_suffix('s')
    {
        *first = stem.to_owned();
    }
    words
}

fn is_form_of(word: &str, object: &str) -> bool {
    word.strip_prefix(object)
        .is_some_and(|rest| matches!(rest, "" | "s" | "es"))
        || word
            .strip_suffix("ies")
            .is_some_and(|stem| object.strip_suffix('y') == Some(stem))
}

#[cfg(test)]
mod tests;
