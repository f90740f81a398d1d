//! The roles of programs: the table of `programs.toml`.

use std::collections::HashMap;

use serde::Deserialize;

use crate::text::{CompiledIn, DataError, data_file};

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident = $name:literal),+ $(,)?) => {
        /// The role of a program. The lists and their meaning stand in `programs.toml`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Role { $($(#[$doc])* $role),+ }

        const ROLES: &[(Role, &str)] = &[$((Role::$role, $name)),+];
    };
}

roles! {
    /// Reads shell text.
    Shell = "shell",
    /// Runs code of another language.
    Interpreter = "interpreter",
    /// Runs nothing of what it is given.
    OnlyText = "only_text",
    /// Hands texts to a shell in options, or behind a sign.
    HandsToShell = "hands_to_shell",
    /// Runs its operands as shell text.
    OperandsAreCommands = "operands_are_commands",
    /// Gives the rights of root.
    GivesRights = "gives_rights",
    /// Stands before another program without being it.
    Transparent = "transparent",
    /// Begins shells elsewhere.
    Elsewhere = "elsewhere",
    /// Is called under patterns of file names.
    OftenGlobbed = "often_globbed",
    /// Shows or copies files.
    Reads = "reads",
    /// Shows nothing of a file that it is given.
    ShowsNothing = "shows_nothing",
    /// Sends what it is given to another machine.
    Sends = "sends",
    /// Looks a name up.
    LooksNamesUp = "looks_names_up",
    /// Prints a whole database, a screen, a clipboard.
    Dumps = "dumps",
    /// Prints no one's data.
    PrintsHarmless = "prints_harmless",
    /// Fetches text from another machine.
    Fetches = "fetches",
    /// Mines a currency.
    Mines = "mines",
    /// Deletes or wipes what it is given, or is a word for that.
    Deletes = "deletes",
    /// Hands words to another machine, in its operands or options.
    Carries = "carries",
    /// Runs the files that it is given.
    RunsFiles = "runs_files",
    /// Gives tools their names, and its options do harm.
    NamesTools = "names_tools",
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    roles: HashMap<String, Vec<String>>,
    wrappers: HashMap<String, Wrapper>,
    runs_after: HashMap<String, Vec<String>>,
    command_options: HashMap<String, Vec<String>>,
    shell_options: HashMap<String, Vec<String>>,
    names: Names,
}

/// The way to tell a wrapper's own arguments from those of what it runs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wrapper {
    /// Options that take the next word as value.
    pub(super) valued: Vec<String>,
    /// Words that come before the program and are no options.
    #[serde(default)]
    pub(super) operands: usize,
}

/// Names that mean the same in every program.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    pub(super) run_options: Vec<String>,
    pub(super) command_variables: Vec<String>,
    pub(super) code_variables: Vec<String>,
    pub(super) git_command_keys: Vec<String>,
    pub(super) container_options: Vec<String>,
    pub(super) run_valued: Vec<String>,
    pub(super) escapes: Vec<String>,
    pub(super) infixes: Vec<String>,
    pub(super) shell_valued: Vec<String>,
    pub(super) fed_valued: Vec<String>,
}

#[derive(Default)]
pub(super) struct Table {
    file: File,
    /// The roles of each program, a bit for each.
    roles: HashMap<String, u32>,
}

pub(super) static TABLE: CompiledIn<Table> = CompiledIn::new(read);

fn read() -> Result<Table, DataError> {
    let data = data_file!("shell/programs.toml");
    let file: File = data.read()?;
    let mut roles: HashMap<String, u32> = HashMap::new();
    for (role, name) in ROLES {
        let programs = file.roles.get(*name);
        let programs = programs.ok_or_else(|| data.error(format!("expected the role `{name}`, found none")))?;
        for program in programs {
            *roles.entry(program.clone()).or_default() |= 1 << *role as u32;
        }
    }
    let unknown = file
        .roles
        .keys()
        .find(|name| ROLES.iter().all(|(_, known)| known != name));
    match unknown {
        Some(name) => Err(data.error(format!("`{name}` is no role"))),
        None => Ok(Table { file, roles }),
    }
}

/// Returns `true` if a program, by its bare name, has a role.
pub(crate) fn is(role: Role, program: &str) -> bool {
    let roles = TABLE.get().roles.get(program);
    roles.is_some_and(|roles| roles >> role as u32 & 1 == 1)
}

/// The programs of a role.
pub(super) fn of(role: Role) -> impl Iterator<Item = &'static str> {
    let name = ROLES.iter().find(|(known, _)| *known == role).map(|(_, name)| *name);
    let programs = name.and_then(|name| TABLE.get().file.roles.get(name));
    programs.into_iter().flatten().map(String::as_str)
}

/// Returns the description of a wrapper's own arguments.
pub(super) fn wrapper(program: &str) -> Option<&'static Wrapper> {
    TABLE.get().file.wrappers.get(program)
}

/// The words behind which a program runs what follows.
pub(super) fn runs_after(program: &str) -> Option<&'static [String]> {
    TABLE.get().file.runs_after.get(program).map(Vec::as_slice)
}

/// The options of a program whose value is a command.
pub(super) fn command_options(program: &str) -> &'static [String] {
    TABLE.get().file.command_options.get(program).map_or(&[], Vec::as_slice)
}

/// The options of a program whose value is shell text.
pub(super) fn shell_options(program: &str) -> &'static [String] {
    TABLE.get().file.shell_options.get(program).map_or(&[], Vec::as_slice)
}

/// Returns `true` if programs take code from this variable.
pub(crate) fn is_code_variable(name: &str) -> bool {
    names().code_variables.iter().any(|known| known == name)
}

/// Names that mean the same in every program.
pub(super) fn names() -> &'static Names {
    &TABLE.get().file.names
}
