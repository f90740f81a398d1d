//! Reload: a changed configuration takes effect while the server runs, whole or not at all.
//!
//! ```text
//! SIGHUP ───────┐
//! file watch ───┤
//! another node ─┴▶ read everything ─▶ files still the same? ─▶ prepare ─▶ put in force ─▶ record who changed what
//!                       └─ an error: nothing changes; log, metric and /readyz say where it is
//! ```
//!
//! INVARIANT: nothing is put in force before everything is known to be in order, and everything was read while no file changed. Keys that are
//! taken away are the exception: they end also where the rest is broken.

mod describe;
mod ledger;
mod nodes;
mod snapshot;
mod watch;
mod watched;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use nodes::join;
pub use watch::watch;

use ledger::Ledger;
use snapshot::Snapshot;
use watched::{Fingerprint, Watched};

use crate::app::{self, AppError};
use crate::audit::InForce;
use crate::config::{self, Config, ConfigError, PolicyChoice};
use crate::gateway::{self, GatewayError};
use crate::model::named_enum;
use crate::pipeline::{Guardian, Organisations};
use crate::server::{Control, Prepared, ServerError};
use crate::telemetry::names;

/// The parts of a server that are reloaded.
pub struct Parts {
    /// The file of the configuration; `None`: there is none.
    pub file: Option<PathBuf>,
    /// The address of the command line, over the configured one.
    pub listen: Option<SocketAddr>,
    /// The configuration that the server was started with.
    pub started_with: Config,
    /// The guardian.
    pub guardian: Arc<Guardian>,
    /// The server.
    pub control: Control,
    /// Its gateways.
    pub gateways: gateway::Reload,
}

/// Reads the configuration again, and puts it in force.
pub struct Reloader {
    parts: Parts,
    state: Mutex<State>,
    /// Apart from the state, which is held while files are read.
    status: Mutex<NodeStatus>,
}

/// What other nodes are told.
#[derive(Clone, Default, PartialEq, Eq)]
struct NodeStatus {
    /// Times that files were read.
    reads: u64,
    /// The version in force.
    version: String,
}

/// The state that is in force.
struct State {
    snapshot: Snapshot,
    ledger: Ledger,
    /// The files, and what stood in them when they were read last, whether it could be used or not.
    watched: Watched,
    files: Fingerprint,
    /// The contents of the files when the state in force was read.
    files_in_force: Fingerprint,
}

named_enum! {
    /// The outcome of a reload.
    Outcome {
        /// Something else is in force now.
        Changed = "changed",
        /// All is as it was.
        Unchanged = "unchanged",
        /// The configuration cannot be used: the version of before stays.
        Broken = "broken",
    }
}

/// The reason why a configuration cannot be put in force.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The configuration itself.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A policy, a template, an issuer.
    #[error(transparent)]
    App(#[from] AppError),
    /// A gateway.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// Keys or certificates.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A policy file without a word: a save that was cut, on a full disk.
    #[error("{0}: the policy file is empty; `extends = \"default\"` says that nothing differs")]
    Empty(PathBuf),
    /// Files change faster than they can be read.
    #[error("the files of the configuration changed while they were read")]
    FilesChanging,
}

/// Everything that a reload puts in force.
struct Fresh {
    config: Config,
    organisations: Organisations,
    prepared: Prepared,
    gateways: gateway::Renewed,
    snapshot: Snapshot,
}

/// Times that files are read again because they changed meanwhile.
const MAX_READS: usize = 5;
const BETWEEN_READS: Duration = Duration::from_millis(20);

impl Reloader {
    /// Makes the reload of a server that has just been started.
    ///
    /// # Errors
    ///
    /// When an issuer of tokens cannot be used.
    pub fn new(parts: Parts) -> Result<Self, AppError> {
        let config = &parts.started_with;
        // What is in force, not what the files say by now: the first reload records the difference.
        let organisations = parts.guardian.organisations();
        let snapshot = Snapshot::of(config, &organisations, &app::keyring(config)?);
        let watched = Watched::of(parts.file.as_deref(), config);
        let files = watched.fingerprint();
        metrics::gauge!(names::RELOAD_BROKEN).set(0.0);
        // Nothing is written yet: that may wait for a database.
        let mut ledger = Ledger::of(config.audit.as_ref());
        ledger.take(config, &organisations);
        for (organisation, version) in snapshot.policies() {
            ledger.note(&organisation, version, "start");
        }
        let state = State {
            snapshot,
            ledger,
            watched,
            files_in_force: files.clone(),
            files,
        };
        let version = state.snapshot.version();
        Ok(Self {
            status: Mutex::new(NodeStatus { reads: 0, version }),
            state: Mutex::new(state),
            parts,
        })
    }

    /// Reads everything again and puts it in force; `by` says who asks for it.
    pub fn reload(&self, by: &str) -> Outcome {
        let mut state = self.state();
        state.ledger.write();
        let outcome = match self.read(&mut state) {
            Ok(fresh) => {
                self.parts.control.report_broken(None);
                metrics::gauge!(names::RELOAD_BROKEN).set(0.0);
                self.put_in_force(&mut state, fresh, by)
            }
            Err(error) => {
                let told = describe::one_line(&error);
                tracing::error!("not reloaded, the old configuration stays: {told}");
                self.parts.control.report_broken(Some(&told));
                metrics::gauge!(names::RELOAD_BROKEN).set(1.0);
                self.end_keys();
                Outcome::Broken
            }
        };
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.reads += 1;
        status.version = state.snapshot.version();
        metrics::counter!(names::RELOADS, "outcome" => outcome.as_str()).increment(1);
        outcome
    }

    /// Refuses keys that the configuration has no more, where it can be read and only a policy or prompts of it are broken: one organisation's
    /// mistake does not keep a key of another one good.
    fn end_keys(&self) {
        let keyring = config::load(self.parts.file.as_deref()).map(|config| app::keyring(&config));
        if let Ok(Ok(keyring)) = keyring {
            for key in self.parts.control.end_keys(&keyring) {
                tracing::warn!("the key is refused from now on, as it was taken away or has ended: {key}");
            }
        }
    }

    /// Reads everything, while nothing changed.
    fn read(&self, state: &mut State) -> Result<Fresh, ReloadError> {
        let file = self.parts.file.as_deref();
        for _ in 0..MAX_READS {
            if let Ok(config) = config::load_with(file, config::Keys::Unneeded) {
                state.watched = Watched::of(file, &config);
            }
            state.files = state.watched.fingerprint();
            let fresh = self.read_once();
            if fresh.is_err() {
                // What is wrong may be half of an edit.
                std::thread::sleep(BETWEEN_READS);
            }
            if state.watched.fingerprint() == state.files {
                return fresh;
            }
        }
        Err(ReloadError::FilesChanging)
    }

    fn read_once(&self) -> Result<Fresh, ReloadError> {
        let mut config = config::load(self.parts.file.as_deref())?;
        if let Some(listen) = self.parts.listen {
            config.server.listen = listen;
        }
        let started = &self.parts.started_with.server.tls;
        let tls = match (started, &config.server.tls) {
            (Some(_), Some(tls)) => Some(tls),
            // It comes or goes with the next start.
            (started, _) => started.as_ref(),
        };
        for organisation in &config.organisations {
            if let PolicyChoice::File(file) = &organisation.policy
                && std::fs::read(file).is_ok_and(|bytes| bytes.trim_ascii().is_empty())
            {
                return Err(ReloadError::Empty(file.clone()));
            }
        }
        let organisations = app::organisations(&config)?;
        let keyring = app::keyring(&config)?;
        let snapshot = Snapshot::of(&config, &organisations, &keyring);
        Ok(Fresh {
            gateways: self.parts.gateways.prepare(&config.gateways)?,
            prepared: self.parts.control.prepare(keyring, tls)?,
            organisations,
            snapshot,
            config,
        })
    }

    fn put_in_force(&self, state: &mut State, fresh: Fresh, by: &str) -> Outcome {
        let files = state.files.changed_since(&state.files_in_force);
        let mut changes = fresh.snapshot.changes_since(&state.snapshot);
        state.ledger.take(&fresh.config, &fresh.organisations);
        state.ledger.write();
        self.parts.guardian.replace_organisations(fresh.organisations);
        fresh.prepared.put_in_force();
        for gateway in fresh.gateways.put_in_force() {
            tracing::warn!(gateway, "a gateway at a new place: it begins with the next start");
        }
        if !fresh.config.starts_like(&self.parts.started_with) {
            tracing::warn!("other settings have changed too: they take effect with the next start");
        }
        state.snapshot = fresh.snapshot;
        state.files_in_force = state.files.clone();
        let outcome = if changes.is_empty() && files.is_empty() {
            Outcome::Unchanged
        } else {
            Outcome::Changed
        };
        let time = jiff::Timestamp::now().to_string();
        for change in &mut changes {
            change.time.clone_from(&time);
            change.files.clone_from(&files);
            let policy = change.policy.iter().filter_map(|policy| policy.to.clone());
            let mut came: Vec<(String, String)> =
                policy.map(|version| (change.organisation.clone(), version)).collect();
            for (name, versions) in &change.layers {
                let version = versions.to.as_deref().unwrap_or(InForce::NONE).to_owned();
                came.push((InForce::of_layer(&change.organisation, name), version));
            }
            let told = came
                .iter()
                .filter_map(|(whose, version)| state.ledger.write_note(whose, version, by));
            change.caller = told.last().unwrap_or_else(|| by.to_owned());
            self.parts.guardian.record_change(change);
        }
        tracing::info!(
            by,
            changes = changes.len(),
            "organisations, policies, prompts, keys, certificates and gateways were read again: {}",
            outcome.as_str()
        );
        outcome
    }

    /// Reads everything again if a file is no longer as it was read last, and writes down what could not be written before.
    fn look(&self, by: &str) {
        let (watched, files) = self.seen();
        if watched.fingerprint() != files {
            self.reload(by);
        }
        self.state().ledger.write();
    }

    /// Returns the files that are watched now, and what stood in them when they were read last.
    fn seen(&self) -> (Watched, Fingerprint) {
        let state = self.state();
        (state.watched.clone(), state.files.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
