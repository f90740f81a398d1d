//! The state that calls of the shell itself change: variables, the arguments of a text, the directory.

use super::Call;
use super::run::{FIELD_BREAK, Frame, MAX_VALUE, Shell};

impl Shell {
    /// Applies what a call of the shell itself changes: variables, parameters, the directory.
    pub(super) fn change_state(&mut self, call: &Call, stdin: Option<&str>, frame: &Frame) {
        match call.program.as_str() {
            "export" | "declare" | "local" | "readonly" | "typeset" | "set" | "alias" => {
                for word in &call.args {
                    if let Some((name, value)) = word.text.split_once('=') {
                        self.assign(name, value);
                    }
                }
            }
            "cd" | "pushd" => {
                let target = call.operands().next().map_or("~", |word| &word.text);
                let absolute = target.starts_with(['/', '~', '$']);
                self.directory = match &self.directory {
                    Some(directory) if !absolute => Some(format!("{directory}/{target}")),
                    _ => Some(target.to_owned()),
                };
            }
            "unset" => {
                for word in &call.args {
                    self.variables.remove(&word.text);
                }
            }
            "read" | "mapfile" | "readarray" => self.take_input(call, stdin),
            _ => {}
        }
        if matches!(call.program.as_str(), "set" | "shift") {
            self.renumber(call, frame);
        }
    }

    /// `bash <(…)` reads a command's output as if it were fed in; so does a variable that names a file to read first.
    pub(super) fn substituted_file(&self, call: &Call) -> Option<String> {
        let startup = call.environment.iter().find(|(name, _)| name == "BASH_ENV");
        let rules = call
            .args
            .first()
            .filter(|word| word.text == "-f")
            .and_then(|_| call.args.get(1));
        let from_file = startup.map(|(_, word)| word).or(rules).or_else(|| call.args.first());
        from_file
            .filter(|word| word.text.starts_with("<(…)"))
            .and_then(|word| word.inside.first())
            .and_then(|range| self.known_output(range))
    }

    /// `read` and its kin: variables get what is fed in, where that is known.
    fn take_input(&mut self, call: &Call, stdin: Option<&str>) {
        let names: Vec<&str> = call.operands().map(|word| word.text.as_str()).collect();
        let Some((last, first)) = names.split_last() else {
            return;
        };
        let is_name =
            |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let Some(lines) = stdin.filter(|_| names.iter().all(is_name)) else {
            for name in names {
                self.variables.remove(name);
            }
            return;
        };
        // A loop reads one line after the other: what any of them says may be meant.
        let lines = lines
            .trim_end()
            .lines()
            .collect::<Vec<_>>()
            .join(&FIELD_BREAK.to_string());
        let mut rest = lines.as_str();
        for name in first {
            let (field, behind) = rest.split_once(' ').unwrap_or((rest, ""));
            self.assign(name, field);
            rest = behind;
        }
        self.assign(last, rest);
    }

    /// `set` and `shift`: other arguments of the text that is run.
    fn renumber(&mut self, call: &Call, frame: &Frame) {
        let words: Vec<&str> = call.args.iter().map(|word| word.text.as_str()).collect();
        let Ok(mut positional) = frame.positional.try_borrow_mut() else {
            return;
        };
        if call.program == "shift" {
            let by: usize = words.first().map_or(Some(1), |by| by.parse().ok()).unwrap_or_default();
            let last = positional.len().min(by.saturating_add(1));
            positional.drain(last.min(1)..last);
            return;
        }
        let given = match words.iter().position(|word| *word == "--") {
            Some(at) => words.get(at + 1..),
            None => {
                Some(words.as_slice()).filter(|words| words.first().is_some_and(|first| !first.starts_with(['-', '+'])))
            }
        };
        if let Some(given) = given {
            self.bytes += given.iter().map(|word| word.len()).sum::<usize>();
            let name = positional.first().cloned().unwrap_or_else(|| "$0".to_owned());
            *positional = std::iter::once(name)
                .chain(given.iter().map(|word| (*word).to_owned()))
                .collect();
        }
    }

    /// Sets a variable, or adds to it.
    pub(super) fn assign(&mut self, name: &str, value: &str) {
        let bare = name.strip_suffix('+');
        let mut longer = bare
            .and_then(|bare| self.variables.get(bare).cloned())
            .unwrap_or_default();
        longer.push_str(value);
        longer.truncate(longer.floor_char_boundary(MAX_VALUE));
        self.bytes += longer.len();
        self.variables.insert(bare.unwrap_or(name).to_owned(), longer);
    }
}
