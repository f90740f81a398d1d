//! The guardian of a user's own process, for commands that other programs call: hooks, and MCP servers over standard input and output.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use secrecy::SecretString;
use url::Url;

use super::{Quiet, start_logging};
use crate::config::{Config, ConfigFile, Keys, PolicyChoice, WhoseKey};
use crate::model::Caller;
use crate::pipeline::Guardian;
use crate::policy::PROFILE_NAMES;
use crate::{app, audit, session, wire};

/// Bytes that the sessions may take which are kept where no configuration names a folder.
const KEPT_BYTES: u64 = 256 * 1024 * 1024;

/// Who is asked for verdicts.
#[derive(Debug, clap::Args)]
pub(super) struct Asked {
    /// The key for the server.
    #[arg(long, value_name = "KEY", env = "GUARDIAN_KEY", hide_env_values = true)]
    pub(super) key: Option<SecretString>,
    /// Decide in this process, whatever GUARDIAN_URL says.
    #[arg(long)]
    pub(super) alone: bool,
    /// The configuration of this process [default: guardian/guardian.toml in the user's folder of configurations, where there is one].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

impl Asked {
    /// Returns the server at this address, unless this process is to decide.
    pub(super) fn server<'a>(&self, url: Option<&'a Url>) -> anyhow::Result<Option<&'a Url>> {
        let Some(url) = url.filter(|_| !self.alone) else {
            return Ok(None);
        };
        anyhow::ensure!(
            matches!(url.scheme(), "http" | "https"),
            "expected an address that begins with http:// or https://, found `{}:`",
            url.scheme()
        );
        Ok(Some(url))
    }
}

/// The guardian of this process.
pub(super) struct LocalGuardian {
    pub(super) guardian: Arc<Guardian>,
    pub(super) caller: Caller,
    pub(super) limits: wire::Limits,
}

/// The policy that applies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Profile<'a> {
    /// This built-in profile, regardless of the configuration.
    Named(&'a str),
    /// This one, where the configuration says nothing of policies.
    Usual(&'a str),
}

impl Profile<'_> {
    /// Makes it the policy of every organisation for which it counts.
    fn choose(self, config: &mut Config) -> anyhow::Result<()> {
        let name = match self {
            Profile::Named(name) => name,
            Profile::Usual(_) if config.says_policy => return Ok(()),
            Profile::Usual(name) => name,
        };
        known_profile(name)?;
        for organisation in &mut config.organisations {
            organisation.policy = PolicyChoice::Profile(name.to_owned());
        }
        Ok(())
    }
}

/// Refuses a name that no built-in profile has.
pub(super) fn known_profile(name: &str) -> anyhow::Result<()> {
    anyhow::ensure!(
        PROFILE_NAMES.contains(&name),
        "there is no built-in profile `{}`; there are {}",
        super::printable(name),
        PROFILE_NAMES.join(", ")
    );
    Ok(())
}

/// The place where sessions are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionMemory {
    /// In files, for the processes after this one; calls take turns, each at most so long.
    Kept(Duration),
    /// In this process.
    Here,
}

impl LocalGuardian {
    /// Puts the guardian together; its records are in the user's folder of states. `folders` are the user's, where what is work depends on that.
    pub(super) fn new(
        config: Option<&Path>,
        remember: SessionMemory,
        profile: Profile<'_>,
        folders: Option<Vec<String>>,
    ) -> anyhow::Result<Self> {
        let mut config = load(config)?;
        config.folders = folders;
        profile.choose(&mut config)?;
        start_logging(&config, Quiet::Yes)?;
        let folder = state_folder()?;
        config.sessions = match (config.sessions, remember) {
            (Some(mut sessions), SessionMemory::Kept(wait)) => {
                let kept = sessions.kept.get_or_insert_with(|| session::Kept {
                    directory: folder.join("sessions"),
                    bytes: KEPT_BYTES,
                    wait: Duration::ZERO,
                });
                kept.wait = wait;
                Some(sessions)
            }
            (sessions, SessionMemory::Kept(_)) => sessions,
            (sessions, SessionMemory::Here) => sessions.map(session::Settings::in_process),
        };
        std::fs::create_dir_all(&folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
        let guardian = app::guardian(&config, &audit::Settings::File(own_audit_file(&folder)))?;
        let mut caller = Guardian::local_caller();
        if let Some(organisation) = config.organisations.first() {
            caller.organisation = organisation.id.clone();
        }
        Ok(Self {
            guardian: Arc::new(guardian),
            caller,
            limits: config.wire,
        })
    }
}

/// Returns the folder in which the user's guardian keeps what it remembers.
pub(super) fn state_folder() -> anyhow::Result<PathBuf> {
    folder("XDG_STATE_HOME", ".local/state")
}

/// Returns the file of records of commands that decide by themselves, where they keep any.
pub(super) fn audit_file() -> anyhow::Result<Option<PathBuf>> {
    Ok(match read_config(None)?.audit {
        Some(audit::Settings::File(file)) => Some(file),
        Some(
            audit::Settings::Off | audit::Settings::Stderr | audit::Settings::Sqlite(_) | audit::Settings::Postgres(_),
        ) => None,
        None => Some(own_audit_file(&state_folder()?)),
    })
}

fn own_audit_file(folder: &Path) -> PathBuf {
    folder.join("audit.jsonl")
}

/// Reads the configuration. A `guardian.toml` in the current folder is not read: that folder is what the agent works on.
fn read_config(named: Option<&Path>) -> anyhow::Result<Config> {
    let own = folder("XDG_CONFIG_HOME", ".config")?.join(crate::config::DEFAULT_FILE);
    let own = Some(own).filter(|own| own.exists());
    Ok(match named.or(own.as_deref()) {
        Some(file) => crate::config::load_with(Some(file), Keys::Unneeded)?,
        None => ConfigFile::default().resolve_with("defaults and environment", Path::new("."), Keys::Unneeded)?,
    })
}

fn load(file: Option<&Path>) -> anyhow::Result<Config> {
    let config = read_config(file)?;
    // A judge that is configured and cannot be asked lets nothing happen.
    if let Some(missing) = config.missing_keys.iter().find(|key| key.whose == WhoseKey::Endpoint) {
        anyhow::bail!(
            "`{}`: the environment variable `{}` is not set, so the judge cannot be asked",
            missing.at,
            missing.variable
        );
    }
    Ok(config)
}

/// Returns the folder `guardian` in a folder of the user that a variable may move.
fn folder(variable: &str, default: &str) -> anyhow::Result<PathBuf> {
    let moved = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let base = match moved {
        Some(base) => base,
        None => home()?.join(default),
    };
    Ok(base.join("guardian"))
}

/// Returns the user's home.
pub(super) fn home() -> anyhow::Result<PathBuf> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    home.context("the home of the user is not known: set HOME")
}
