//! What a shell text would do as a whole: the programs, files and words of all its calls, for callers that ask about a call
//! of a tool and not about each command.
//!
//! The parts that cannot be read — code of other languages, texts that are cut — count by their words: the question whether
//! something is deleted or sent is answered with yes rather than no.

use std::collections::BTreeSet;

use super::programs::{self, Role};
use super::wrappers::is_interpreter;
use super::{Call, Direction, Reading, Stdin, read};
use crate::text::words::plain;

/// Words from which on an argument says something.
const PHRASE: usize = 3;
/// Files and phrases of one text, each.
const MAX: usize = 256;

/// The effects of a shell text.
#[derive(Debug, Default)]
pub(crate) struct CommandSummary {
    /// The bare names of the programs that are called, those behind wrappers among them.
    pub programs: BTreeSet<String>,
    /// The options that they are given, without dashes, small.
    pub options: BTreeSet<String>,
    /// Files that are written: by redirections, and by `tee`.
    pub writes: Vec<String>,
    /// Files that may be run: programs by their paths, and what programs are given that run files.
    pub runs: Vec<String>,
    /// Texts of several words that programs are given.
    pub phrases: Vec<String>,
    /// True if something may be deleted.
    pub deletes: bool,
    /// True if something may be handed to another machine.
    pub sends: bool,
}

impl CommandSummary {
    /// Returns the summary of a text.
    pub(crate) fn of(text: &str) -> Self {
        let reading = read(text, |_, _| None);
        let mut summary = Self::default();
        for call in &reading.calls {
            summary.take(call);
        }
        let code = reading.embedded.iter().map(|embedded| embedded.code.as_str());
        for text in code.chain(std::iter::once(text)) {
            summary.take_words(text, &reading);
        }
        for list in [&mut summary.writes, &mut summary.runs, &mut summary.phrases] {
            list.truncate(MAX);
        }
        summary
    }

    fn take(&mut self, call: &Call) {
        let program = call.program.as_str();
        self.programs.insert(program.to_owned());
        self.deletes |= programs::is(Role::Deletes, program);
        self.sends |= [Role::Sends, Role::Carries, Role::LooksNamesUp]
            .into_iter()
            .any(|role| programs::is(role, program));
        let dashed = call.args.iter().filter(|word| word.text.starts_with('-'));
        self.options
            .extend(dashed.map(|word| word.text.trim_start_matches('-').to_lowercase()));
        self.take_written(call);
        self.take_run(call);
        let given = call.args.iter().chain(call.environment.iter().map(|(_, word)| word));
        let given = given.map(|word| word.text.as_str());
        let read = match &call.stdin {
            Stdin::Text(text) => Some(text.as_str()),
            Stdin::Unknown | Stdin::Calls(_) | Stdin::File(_) => None,
        };
        let phrases = given.chain(read).filter(|text| is_phrase(text));
        self.phrases.extend(phrases.map(str::to_owned));
    }

    fn take_written(&mut self, call: &Call) {
        let redirected = call.redirects.iter().filter(|redirect| match redirect.direction {
            Direction::Out | Direction::Append | Direction::Both => true,
            Direction::Duplicate => !redirect
                .target
                .text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-'),
            Direction::In | Direction::Text => false,
        });
        let redirected = redirected.map(|redirect| &redirect.target);
        let teed = call.operands().filter(|_| call.program == "tee");
        let files = redirected.chain(teed).map(|word| word.text.as_str());
        let files = files.filter(|file| !file.is_empty() && !file.starts_with("/dev/"));
        self.writes.extend(files.map(str::to_owned));
    }

    fn take_run(&mut self, call: &Call) {
        let program = call.program.as_str();
        let runs_files =
            programs::is(Role::Shell, program) || programs::is(Role::RunsFiles, program) || is_interpreter(program);
        // They neither run a file nor hand its text on; what stands behind a program that gives rights is a call of its own.
        const NAMES_ONLY: &[&str] = &["ln", "chmod", "chown", "chgrp", "ls", "stat", "touch", "mkdir"];
        let names_only = NAMES_ONLY.contains(&program) || programs::is(Role::GivesRights, program);
        self.runs.push(call.path.clone());
        let mut behind_option = false;
        for word in &call.args {
            let is_run = |piece: &&str| !names_only && (runs_files || behind_option || piece.starts_with(['/', '.']));
            let pieces = pieces(&word.text).filter(is_run);
            self.runs.extend(pieces.map(str::to_owned));
            behind_option = word.text.starts_with('-');
        }
        if let Stdin::File(file) = &call.stdin
            && runs_files
        {
            self.runs.push(file.clone());
        }
    }

    /// Adds what the words of a text say, whatever language it is in.
    fn take_words(&mut self, text: &str, reading: &Reading) {
        let words = plain(text);
        let has = |role| words.split_whitespace().any(|word| programs::is(role, word));
        self.deletes |= has(Role::Deletes);
        self.sends |= has(Role::Sends) || has(Role::Carries);
        let quoted = text.split(['\'', '"']).skip(1).step_by(2);
        self.phrases
            .extend(quoted.filter(|text| is_phrase(text)).map(str::to_owned));
        if reading.is_cut() {
            self.runs.extend(pieces(text).map(str::to_owned));
        }
    }
}

fn is_phrase(text: &str) -> bool {
    text.split_whitespace().nth(PHRASE - 1).is_some()
}

/// The parts of a word that may be names of files.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let is_break =
        |c: char| c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')' | '"' | '\'' | '`' | '$' | '=');
    word.split(is_break).filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_files_are_those_of_redirections_wherever_they_stand() {
        let writes = |text: &str| CommandSummary::of(text).writes;
        assert_eq!(writes("printf '%s' x >> AGENTS.md"), ["AGENTS.md"]);
        assert_eq!(writes("echo x | tee -a /etc/cron.d/rot"), ["/etc/cron.d/rot"]);
        assert_eq!(writes("ssh web 'echo y >/etc/cron.d/z' 2>&1"), ["/etc/cron.d/z"]);
        assert_eq!(
            writes("echo x > /tmp/Run.sh && cat a>>b.txt 2>/dev/null"),
            ["/tmp/Run.sh", "b.txt"]
        );
        assert_eq!(writes("echo x>a.sh;ls -a b.sh"), ["a.sh"]);
        assert!(writes("ls -la 2>&1").is_empty());
        assert_eq!(writes("f=x.sh; echo y > \"$f\""), ["x.sh"]);
    }

    #[test]
    fn run_files_are_programs_and_what_runs_files_is_given() {
        for text in [
            "cd /srv && deploy.sh",
            "sudo bash deploy.sh",
            "sudo /srv/deploy.sh",
            "python3 -u deploy.sh",
            ". deploy.sh",
            "psql -f deploy.sh",
            "sh < deploy.sh",
            "python -c \"exec(open('./deploy.sh').read())\"",
            "x=deploy.sh; sh $x",
        ] {
            let runs = CommandSummary::of(text).runs;
            assert!(runs.iter().any(|file| file.ends_with("deploy.sh")), "{text}: {runs:?}");
        }
        for text in [
            "cat deploy.sh",
            "sudo ln -s /srv/deploy.sh /srv/run",
            "chmod +x ./deploy.sh",
        ] {
            let runs = CommandSummary::of(text).runs;
            assert!(!runs.iter().any(|file| file.ends_with("deploy.sh")), "{text}: {runs:?}");
        }
    }

    #[test]
    fn what_is_deleted_and_sent_shows_behind_wrappers_quotes_and_other_languages() {
        for text in ["r''m -r x", "sudo shred x", "shutil.rmtree('/srv/x')", "ssh a 'rm x'"] {
            assert!(CommandSummary::of(text).deletes, "{text}");
        }
        for text in [
            "c\\url -d @x https://a.example",
            "xargs -n1 nc a 9",
            "python -c 'import smtplib; mail()'",
        ] {
            assert!(CommandSummary::of(text).sends, "{text}");
        }
        let plain = CommandSummary::of("ls -la /srv");
        assert!(!plain.deletes && !plain.sends);
        assert_eq!(plain.programs.iter().collect::<Vec<_>>(), ["ls"]);
        assert_eq!(plain.options.iter().collect::<Vec<_>>(), ["la"]);
        let said = CommandSummary::of("curl -d \"note=the board decided\" a.example <<E\nthree more words\nE");
        assert!(said.phrases.iter().any(|phrase| phrase.contains("the board decided")));
    }
}
