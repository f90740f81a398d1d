//! `[everyday]`: what an agent does all day, which the trained scorer may settle up to a bound of its own.
//!
//! The lists are data; what a call does is read elsewhere and asked of them here.

use serde::{Deserialize, Serialize};

use super::NamePatterns;
use super::values::Wrong;

/// Declares the lists, once for the file and once as they are asked.
macro_rules! lists {
    ($($(#[$doc:meta])* $key:ident: $list:ident),+ $(,)?) => {
        /// `[everyday]` as it is written. Lists add to those of the profile.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct EverydaySection {
            #[serde(skip_serializing_if = "Option::is_none")]
            allow_below: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            technical: Option<bool>,
            $($key: Vec<String>),+
        }

        /// The everyday work of an agent.
        #[derive(Clone, Debug)]
        pub struct Everyday {
            /// Below this probability of harm the trained scorer allows an everyday call. 0: it has no bound of its own.
            pub allow_below: f64,
            /// True if texts with addresses and pieces of commands count as read by the scorer.
            pub technical: bool,
            /// The homes of the agent's user, where they are known: what lies in another one is not the work's.
            homes: Option<Vec<String>>,
            $($(#[$doc])* pub $key: $list),+
        }

        impl EverydaySection {
            /// Puts these lines over those of a profile.
            pub(super) fn over(self, base: Self) -> Self {
                Self {
                    allow_below: self.allow_below.or(base.allow_below),
                    technical: self.technical.or(base.technical),
                    $($key: [self.$key, base.$key].concat()),+
                }
            }

            pub(super) fn build(&self) -> Result<Everyday, Wrong> {
                let allow_below = self.allow_below.unwrap_or(0.0);
                if !(0.0..=1.0).contains(&allow_below) {
                    let why = format!("expected a probability from 0 to 1, found `{allow_below}`");
                    return Err(("everyday.allow_below".to_owned(), why));
                }
                Ok(Everyday {
                    allow_below,
                    technical: self.technical.unwrap_or(false),
                    homes: None,
                    $($key: $list::new(&self.$key)
                        .map_err(|why| (concat!("everyday.", stringify!($key)).to_owned(), why))?),+
                })
            }
        }
    };
}

lists! {
    /// The reasons for not having read a call whole that do not count for an everyday call.
    unread: NamePatterns,
    /// Tools that read files and nothing else.
    reads: NamePatterns,
    /// Tools that write files.
    edits: NamePatterns,
    /// Tools that run a shell text.
    shells: NamePatterns,
    /// Arguments of those that say how, and not what.
    notes: NamePatterns,
    /// Commands that are run every day.
    commands: CommandPatterns,
    /// Words that make a command a special one.
    unless: CommandPatterns,
    /// Programs, each of whose operands is a file that it changes.
    changes: NamePatterns,
    /// Programs that talk to a host: everyday where that is this machine.
    clients: NamePatterns,
    /// Programs that may run with the rights of root.
    as_root: NamePatterns,
    /// Absolute paths of files that are the work's. What is named from the current folder is so by itself.
    workspaces: NamePatterns,
    /// Programs that may be given files from anywhere.
    anywhere: NamePatterns,
    /// Hidden files and folders of a workspace that are edited like others.
    dotfiles: NamePatterns,
    /// Rules whose findings do not make a call a special one.
    despite: NamePatterns,
}

/// Patterns of commands.
#[derive(Clone, Debug)]
pub struct CommandPatterns(Vec<CommandPattern>);

impl CommandPatterns {
    fn new(written: &[String]) -> Result<Self, String> {
        let read = written.iter().map(|text| CommandPattern::new(text));
        read.collect::<Result<_, _>>().map(Self)
    }
}

/// Words of a command: `git log|show`, `npx tsc`, `git remote $` (nothing follows).
#[derive(Clone, Debug)]
struct CommandPattern {
    words: Vec<NamePatterns>,
    ends: bool,
}

impl CommandPattern {
    fn new(written: &str) -> Result<Self, String> {
        let (text, ends) = match written.strip_suffix(" $") {
            Some(text) => (text, true),
            None => (written, false),
        };
        let words = text.split_whitespace().map(|word| {
            let choices: Vec<String> = word.split('|').map(str::to_owned).collect();
            NamePatterns::new(&choices).map_err(|_| format!("expected words of a command, found `{written}`"))
        });
        let words: Vec<NamePatterns> = words.collect::<Result<_, _>>()?;
        match words.is_empty() {
            true => Err("expected words of a command, found an empty text".to_owned()),
            false => Ok(Self { words, ends }),
        }
    }

    /// Returns `true` if a command begins with these words.
    fn begins(&self, program: &str, operands: &[&str]) -> bool {
        let mut given = std::iter::once(program).chain(operands.iter().copied());
        let fits = self
            .words
            .iter()
            .all(|word| given.next().is_some_and(|given| word.matches(given)));
        fits && !(self.ends && given.next().is_some())
    }

    /// Returns `true` if the first word is the program, and each other word is somewhere behind it.
    fn holds(&self, program: &str, words: &[&str]) -> bool {
        let mut own = self.words.iter();
        own.next().is_some_and(|first| first.matches(program))
            && own.all(|wanted| words.iter().any(|word| wanted.matches(word)))
    }
}

impl Everyday {
    /// Returns `true` if a command is one that is run every day.
    pub fn has_command(&self, program: &str, operands: &[&str]) -> bool {
        self.commands.0.iter().any(|pattern| pattern.begins(program, operands))
    }

    /// Returns `true` if a word of a command makes it a special one.
    pub fn excludes(&self, program: &str, words: &[&str]) -> bool {
        self.unless.0.iter().any(|pattern| pattern.holds(program, words))
    }
}

impl EverydaySection {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Everyday {
    /// Makes the homes in which these folders lie the only ones of the agent's user.
    pub(super) fn work_in(&mut self, folders: &[String]) {
        let homes = folders.iter().filter_map(|folder| home_of(&folder.to_lowercase()));
        self.homes = Some(homes.collect());
    }

    /// Returns `true` if a home, as a path names it (`/home/ann`, `~ann`), is another user's.
    pub fn is_foreign(&self, home: &str) -> bool {
        let is_own = |own: &String| own == home || own.rsplit('/').next() == home.strip_prefix('~');
        self.homes.as_ref().is_some_and(|homes| !homes.iter().any(is_own))
    }
}

/// Returns the home of a user in which a path in small letters lies; `None` where it lies in none.
pub fn home_of(path: &str) -> Option<String> {
    ["/home/", "/users/", "c:/users/"].iter().find_map(|parent| {
        let user = path.strip_prefix(parent)?.split('/').next()?;
        let is_user = !matches!(user, "" | "*" | "public" | "shared");
        is_user.then(|| format!("{parent}{user}"))
    })
}

#[cfg(test)]
mod tests {
    use crate::policy::{Everyday, PolicyFile};

    fn everyday(text: &str) -> Result<Everyday, String> {
        let file = PolicyFile::parse(text, "p").map_err(|error| error.to_string())?;
        Ok(file.compile("p").map_err(|error| error.to_string())?.everyday)
    }

    #[test]
    fn a_command_fits_by_its_first_words_and_not_by_one_that_excludes_it() {
        let read = everyday(
            "[everyday]\nallow_below = 0.5\ncommands = [\"git log|show\", \"git remote $\", \"npx tsc\"]\n\
             unless = [\"git --output*\"]",
        )
        .unwrap();
        assert!(read.has_command("git", &["show", "abc"]) && read.has_command("git", &["remote"]));
        assert!(!read.has_command("git", &["remote", "add", "x"]) && !read.has_command("git", &["push"]));
        assert!(!read.has_command("npx", &["evil"]) && !read.has_command("npx", &[]));
        assert!(read.excludes("git", &["log", "--output=/etc/x"]) && !read.excludes("git", &["log"]));
    }

    #[test]
    fn lists_add_to_those_of_the_profile_and_nothing_is_everyday_by_default() {
        let own = everyday("extends = \"coding\"\n[everyday]\ncommands = [\"frob test\"]").unwrap();
        assert!(own.has_command("frob", &["test"]) && own.has_command("cargo", &["test"]));
        let none = everyday("").unwrap();
        assert!(none.allow_below == 0.0 && !none.has_command("ls", &[]));
    }

    #[test]
    fn what_cannot_be_meant_is_named_with_its_key() {
        for (text, key) in [
            ("allow_below = 2", "everyday.allow_below"),
            ("commands = [\" \"]", "everyday.commands"),
            ("unless = [\"git a||b\"]", "everyday.unless"),
            ("reads = [\"\"]", "everyday.reads"),
        ] {
            let error = everyday(&format!("[everyday]\n{text}")).unwrap_err();
            assert!(error.contains(&format!("`{key}`")), "{key}: {error}");
        }
    }
}
