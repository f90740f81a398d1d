//! Lists of words that code asks for: data in `rules/words/*.toml`, a section for each file of the code.
//!
//! Each list is a static that is read when first used; [`check`] reads all of them at the start.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::text::{DataError, data_file};

/// The lists of one file, by section and name.
type Lists = HashMap<String, HashMap<String, Vec<String>>>;

/// One list; of a file that cannot be read, none.
fn list(file: &'static Result<Lists, DataError>, section: &str, name: &str) -> Vec<&'static str> {
    // INVARIANT: `check` was called at the start, so that there is one.
    let list = file.as_ref().ok().and_then(|file| file.get(section)?.get(name));
    list.into_iter().flatten().map(String::as_str).collect()
}

macro_rules! word_lists {
    ($($file:literal, $lists:ident: $($module:ident = $section:literal { $($name:ident),+ $(,)? })+;)+) => {
        $(static $lists: LazyLock<Result<Lists, DataError>> =
            LazyLock::new(|| data_file!("prefilter/rules/words/", $file).read());)+

        $($(pub(super) mod $module {
            use super::{LazyLock, list};

            $(pub(in crate::prefilter) static $name: LazyLock<Vec<&'static str>> =
                LazyLock::new(|| list(&super::$lists, $section, stringify!($name)));)+
        })+)+

        /// Reads every list.
        pub(super) fn check() -> Result<(), DataError> {
            $($lists.as_ref().map_err(Clone::clone)?;
            $($(if $module::$name.is_empty() {
                let why = concat!("expected the list `", stringify!($name), "` in `[", $section, "]`, found none");
                return Err(data_file!("prefilter/rules/words/", $file).error(why));
            })+)+)+
            Ok(())
        }
    };
}

word_lists! {
    "hidden_text.toml", HIDDEN_TEXT:
    hidden_text = "main" { MARKUP_WORDS }
    ;
    "path.toml", PATH:
    path = "main" { BEGINNINGS, PATH_WORDS }
    ;
    "sql.toml", SQL:
    sql_dynamic = "dynamic" { RUN }
    sql = "main" { FILE_LABELS, PARTS }
    sql_bare = "bare" { KEYWORDS }
    sql_recognised = "recognised" { SQL_LABELS }
    ;
    "disposable.toml", DISPOSABLE_NAMES:
    disposable = "main" { PARTS, PRECIOUS }
    ;
    "destructive_command.toml", DESTRUCTIVE_COMMAND:
    destructive_command_code = "code" { BEGINNINGS, STRICT }
    destructive_command_files = "files" { NARROWING }
    destructive_command_network = "network" { KNOWN_INSTALLERS }
    destructive_command_role = "role" { OTHER_LABELS, STARTS, OTHERS }
    destructive_command_secrets = "secrets" { PUBLIC }
    destructive_command_system = "system" { MARKS, STRONG }
    destructive_command_hidden_execution = "hidden_execution" { GIT_KEYS }
    destructive_command_code_values = "code_values" { HOMES }
    destructive_command_code_calls = "code_calls" { DECODES, FETCHES, SIGNS }
    destructive_command_recipe = "recipe" { LEADS, NAMES }
    destructive_command_program_arguments = "program_arguments" { CALLED_WITH }
    destructive_command_loading = "loading" { LOADING, PLANTED, CONNECTION_OPTIONS }
    ;
    "injected_instruction.toml", INJECTED_INSTRUCTION:
    injected_instruction_quoted_example = "quoted_example" { ABOUT_ATTACKS, DEMANDS }
    ;
    "obfuscation.toml", OBFUSCATION:
    obfuscation_gaps = "gaps" { COMPACT }
    obfuscation_wordplay = "wordplay" { PHRASES }
    obfuscation_unread = "unread" { NAMES, ENCIPHERED, FORMS }
    ;
    "personal_data.toml", PERSONAL_DATA:
    personal_data_addresses = "addresses" { FILE_ENDS }
    personal_data_checksum = "checksum" { IBAN_LENGTHS }
    personal_data_labelled = "labelled" { FILLERS }
    personal_data_names = "names" { PERSONAL }
    personal_data_phones = "phones" { PHONE_WORDS }
    personal_data_values = "values" { PARTICLES, STREETS }
    ;
    "secret.toml", SECRET:
    secret_check = "check" { HOSTS }
    secret_names = "names" { PASSWORDS, TOKENS, NOT_AFTER, NOT_BEFORE }
    secret_value = "value" { COMMON, STAND_INS, REFERENCES, TAGS, WORDS }
    secret_labelled_literal = "labelled_literal" { BEFORE }
    ;
    "signals.toml", SIGNALS:
    signals_surroundings = "surroundings" { DESCRIBING, TESTING, REPORTING, DEMANDING }
    ;
    "untrusted_destination.toml", UNTRUSTED_DESTINATION:
    untrusted_destination_payload = "payload" { SECRETS }
    untrusted_destination_extract = "extract" { BARE_SCHEMES }
    untrusted_destination_hosts = "hosts" { METADATA_NAMES, METADATA_ADDRESSES, PRIVATE_NETWORKS, INSIDE_ENDS, WILDCARD_DNS, COLLECTORS, WELL_KNOWN, DELIVERY }
    untrusted_destination = "main" { TEXT_LABELS, HOST_LABELS, UNUSUAL }
    ;
    "locations.toml", LOCATIONS:
    locations_names = "names" { SYSTEM_TOPS, SYSTEM_DEEPER, SYSTEM_INSIDE, HARMLESS_DEVICES, DISPOSABLE, DISPOSABLE_ENDS, DISPOSABLE_INSIDE, ROTATED, PERSONAL, OFTEN_GLOBBED, PASSWORD_HASHES, MEMORY, NO_SECRETS, PRIVATE_KEYS, CREDENTIALS, VAULTS, ENVIRONMENTS, HISTORIES, ACCOUNTS, LOGINS, PRIVILEGES, STARTUPS, GUARDS, AGENTS, HOOKS, PIPELINES, BUILDS, NEEDED }
    ;
}
