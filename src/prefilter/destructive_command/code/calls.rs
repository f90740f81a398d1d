//! The effects of the calls of one text, one by one, and the conclusions from all of them.

use crate::prefilter::words::destructive_command_code_calls::{DECODES, FETCHES, SIGNS};
use std::collections::HashMap;
use std::ops::Range;

use super::super::files::{Depth, Written, deleted, written};
use super::super::{Danger, Dangers, secrets};
use super::callees::Effect;
use super::values::{script, value};
use super::{Nested, signs};
use crate::prefilter::locations::{Breadth, Location};
use crate::shell::Call;
use crate::text::expression::expressions;

expressions! {
    static PROCESS_OBJECT = r"(?i)getattr\(\s*(?:os|subprocess|builtins|__builtins__|__import__\([^)]*\))\s*,|__import__\(\s*['\x22](?:os|subprocess|socket|pty)['\x22]\s*\)\s*\.|globals\(\)\[['\x22]__builtins__|require\(\s*['\x22]child_process['\x22]\s*\)\s*\.\s*exec|process\.mainModule|\[\s*['\x22]constructor['\x22]\s*\]";
    static ENVIRONMENT_SENT = r"(?:dict|str|json\.dumps)\(\s*os\.environ|(?:json|data)\s*=\s*(?:dict\()?os\.environ|os\.environ\.(?:items|copy)\(|JSON\.stringify\(\s*process\.env|body:\s*process\.env";
}

/// One call: what is called with what, and where.
pub(super) struct Place<'c> {
    pub(super) callee: &'c str,
    pub(super) arguments: &'c [String],
    pub(super) constants: &'c HashMap<String, String>,
    pub(super) span: Range<usize>,
}

/// The effects of the calls of one text, for conclusions over all of them.
#[derive(Default)]
pub(super) struct Calls {
    sends: Option<Range<usize>>,
    reads_secret: Option<Range<usize>>,
    reads_system: Option<Range<usize>>,
}

impl Calls {
    /// Takes one call.
    pub(super) fn take(&mut self, effect: Effect, place: &Place<'_>, seen: &mut Dangers, nested: &mut Nested) {
        let Place {
            callee,
            arguments,
            constants,
            span,
        } = place;
        let callee = *callee;
        let first = arguments.first().map_or("", String::as_str);
        let call = Call {
            span: span.clone(),
            ..Call::default()
        };
        match effect {
            Effect::Run => match script(first, arguments.get(1).map(String::as_str), constants) {
                Some(script) => nested.push((script, span.clone())),
                None if is_built(first) => seen.add(Danger::BuiltAtRunTime, &call),
                None => {}
            },
            Effect::Evaluate => evaluate(callee, first, constants, span, seen, nested),
            Effect::Delete | Effect::DeleteTree => {
                if let Some(path) = value(first, constants) {
                    let depth = if effect == Effect::DeleteTree {
                        Depth::Recursive
                    } else {
                        Depth::Flat
                    };
                    deleted(&path, depth, &call, seen);
                }
            }
            Effect::Open => self.open(place, &call, seen),
            Effect::Read => {
                // Reading a web address that is made of something carries it there.
                if first.contains("://") && first.contains('(') {
                    self.sends = Some(span.clone());
                }
                if let Some(path) = value(first, constants) {
                    self.read(&path, &call, seen);
                }
            }
            Effect::Write => {
                if let Some(path) = value(first, constants) {
                    written(&path, Written::Replaced, &call, seen);
                }
            }
            Effect::Copy => {
                if let Some(path) = value(first, constants) {
                    self.read(&path, &call, seen);
                }
                if let Some(path) = arguments.get(1).and_then(|argument| value(argument, constants)) {
                    written(&path, Written::Replaced, &call, seen);
                }
            }
            Effect::Send => {
                if carries(callee, arguments) {
                    self.sends = Some(span.clone());
                }
            }
            Effect::Query => queried(arguments, constants, &call, seen),
            Effect::Permissions => {
                let mode = arguments.get(1).map_or("", String::as_str);
                if let Some(path) = value(first, constants)
                    && mode.ends_with("777")
                    && (Location::of(&path).is_system()
                        || matches!(
                            Location::of(&path).breadth(),
                            Breadth::Everything | Breadth::SystemDirectory
                        ))
                {
                    seen.add(Danger::OpenPermissions, &call);
                }
            }
        }
    }

    /// A file is opened: to be read, or as its mode says.
    fn open(&mut self, place: &Place<'_>, call: &Call, seen: &mut Dangers) {
        let modes = || place.arguments.iter().skip(1);
        let bare = |mode: &str| {
            mode.trim_start_matches("mode=")
                .trim_matches([' ', '\'', '"'])
                .to_owned()
        };
        let first = place.arguments.first().map_or("", String::as_str);
        let Some(path) = value(first, place.constants) else {
            return;
        };
        let mode = modes().find(|argument| !argument.contains("encoding"));
        let mode = mode.map(|mode| bare(mode)).unwrap_or_default();
        let flags = place.arguments.get(1).map_or("", String::as_str);
        if ["O_WRONLY", "O_RDWR"].iter().any(|flag| flags.contains(flag)) {
            written(&path, Written::Replaced, call, seen);
        } else if mode.len() <= 3 && mode.contains(['w', 'a', 'x', '+']) {
            let how = if mode.contains('a') {
                Written::Extended
            } else {
                Written::Replaced
            };
            written(&path, how, call, seen);
        } else {
            self.read(&path, call, seen);
        }
    }

    fn read(&mut self, path: &str, call: &Call, seen: &mut Dangers) {
        let location = Location::of(path);
        if location.secret().is_some() {
            self.reads_secret = Some(call.span.clone());
        } else if location.is_system() {
            self.reads_system = Some(call.span.clone());
        }
        secrets::read(path, &location, call, seen);
    }

    pub(super) fn conclude(&self, text: &str, seen: &mut Dangers) {
        if let Some(span) = &self.sends {
            if self.reads_secret.is_some() || ENVIRONMENT_SENT.is_match(text) {
                seen.add_at(Danger::Exfiltrate, span.clone());
            } else if self.reads_system.is_some() {
                seen.add_at(Danger::UploadSystem, span.clone());
            }
        }
        if let Some(hit) = PROCESS_OBJECT.find(text) {
            seen.add_at(Danger::DisguisedWord, hit.range());
        }
        signs::look_at_combinations(text, seen);
    }
}

/// Returns `true` if a request carries something.
fn carries(callee: &str, arguments: &[String]) -> bool {
    match callee {
        "urlopen(" => arguments.len() > 1,
        "Request(" | "urllib.request.Request(" => arguments
            .iter()
            .skip(1)
            .any(|argument| !argument.trim_start().starts_with("headers")),
        "fetch(" => arguments
            .iter()
            .any(|argument| argument.to_ascii_lowercase().contains("post") || argument.contains("body")),
        _ => true,
    }
}

/// Returns `true` if an argument puts a text together from pieces or numbers, so that its words do not stand in the code.
fn is_built(argument: &str) -> bool {
    SIGNS.iter().any(|sign| argument.contains(sign)) || fills_in_literals(argument)
}

/// Returns `true` if a text is filled with words that stand in the code as well, so that they could have been written at
/// once: `'{} -rf'.format('rm')`.
fn fills_in_literals(argument: &str) -> bool {
    const QUOTES: &[char] = &['\'', '"'];
    [".format(", " % (", " % "].iter().any(|sign| {
        let parts = argument.split_once(sign);
        parts.is_some_and(|(text, filling)| text.starts_with(QUOTES) && filling.starts_with(QUOTES))
    })
}

fn evaluate(
    callee: &str,
    first: &str,
    constants: &HashMap<String, String>,
    span: &Range<usize>,
    seen: &mut Dangers,
    nested: &mut Nested,
) {
    let has = |any: &[&str]| any.iter().any(|part| first.contains(part));
    if has(&FETCHES) {
        seen.add_at(Danger::PipeToShell, span.clone());
        return;
    }
    if has(&DECODES) {
        seen.add_at(Danger::DecodedRun, span.clone());
        return;
    }
    // A word alone is an expression; with a space or a call in it, it does something.
    if callee == "Function(" {
        return;
    }
    match value(first, constants) {
        Some(text) if text.contains([' ', '(']) => nested.push((text, span.clone())),
        None if is_built(first) => seen.add_at(Danger::BuiltAtRunTime, span.clone()),
        Some(_) | None => {}
    }
}

/// A statement that is handed to a database; it may be the second argument, and may be marked as text.
fn queried(arguments: &[String], constants: &HashMap<String, String>, call: &Call, seen: &mut Dangers) {
    const MARKED: &[&str] = &["text(", "sa.text(", "sqlalchemy.text(", "sql(", "SQL(", "sql.SQL("];
    for argument in arguments.iter().take(2) {
        let bare = MARKED
            .iter()
            .find_map(|mark| argument.strip_prefix(mark)?.strip_suffix(')'))
            .unwrap_or(argument);
        let Some(statement) = value(bare, constants) else {
            continue;
        };
        seen.add_statement(&statement, call);
    }
}
