//! The file and the environment, checked, as the settings of each component.

use std::cell::RefCell;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use super::{ApiKey, ConfigError, ConfigFile, keys};
use crate::model::{Enforcement, Named, OrganisationId, one_of};
use crate::{
    access, audit, cache, events, gateway, judge, learning, limit, local, pipeline, selftest, server, session, shared,
    telemetry, wire, work,
};

/// Everything that is configured, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file that it came from, for messages.
    pub file: String,
    /// The server.
    pub server: server::Settings,
    /// The limits of a request.
    pub wire: wire::Limits,
    /// The judge, where one is configured.
    pub judge: Option<judge::Settings>,
    /// The trained scorer of the local judge.
    pub local_judge: local::Settings,
    /// The settings for learning from its judge, where an organisation is to be learned for.
    pub learning: learning::Settings,
    /// The settings for asking the judge of a server about known steps; `None`: it is not asked.
    pub canaries: Option<selftest::Settings>,
    /// The pipeline.
    pub pipeline: pipeline::Settings,
    /// The limits of what is examined at the same time.
    pub work: work::Settings,
    /// Rate limits.
    pub limits: limit::Settings,
    /// The cache.
    pub cache: cache::Settings,
    /// The settings of sessions; `None`: nothing is remembered of them.
    pub sessions: Option<session::Settings>,
    /// The server on which nodes share state; `None`: each node is alone.
    pub shared: Option<shared::Settings>,
    /// The audit log; `None`: the command chooses.
    pub audit: Option<audit::Settings>,
    /// The handling of steps while its records cannot be written.
    pub audit_on_failure: audit::OnFailure,
    /// The keeping of records in a database.
    pub audit_keeping: audit::Keeping,
    /// Logs.
    pub log: telemetry::Settings,
    /// The destination of telemetry; `None`: nowhere.
    pub otlp: Option<telemetry::otlp::Settings>,
    /// The destination of events; `None`: nowhere.
    pub events: Option<events::Settings>,
    /// True if edits of its files take effect at once.
    pub watch_files: bool,
    /// The issuers of tokens.
    pub oidc: Vec<access::Settings>,
    /// The organisations; at least one.
    pub organisations: Vec<OrganisationSettings>,
    /// The gateways.
    pub gateways: Vec<gateway::Settings>,
    /// True if the file says whose policy applies, rather than leaving the built-in one in force.
    pub says_policy: bool,
    /// The folders of the one user for whom this process decides, and of that user's work, where they are known.
    pub folders: Option<Vec<String>>,
    /// Keys that are named and were not there; only where [`Keys::Unneeded`] says that they may be missing.
    pub missing_keys: Vec<MissingKey>,
}

/// A key that the configuration names and that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingKey {
    /// The party that would need it.
    pub whose: WhoseKey,
    /// The key of the configuration that names it.
    pub at: String,
    /// The environment variable.
    pub variable: String,
}

/// The party that needs a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhoseKey {
    /// An endpoint of the judge: without it the endpoint cannot be asked.
    Endpoint,
    /// An agent or a collector of metrics: without it that one cannot call.
    Caller,
    /// This process: without it a server of its own cannot be used.
    Server,
}

/// An organisation, as configured.
#[derive(Clone, Debug)]
pub struct OrganisationSettings {
    /// Its id.
    pub id: OrganisationId,
    /// Its keys.
    pub api_keys: Vec<access::Key>,
    /// Names in client certificates that speak for it.
    pub certificates: Vec<access::CertificateRule>,
    /// Its prompts; `None`: those that are compiled in.
    pub prompts: Option<PathBuf>,
    /// Its policy.
    pub policy: PolicyChoice,
    /// The allowance of the judge's use.
    pub allowance: limit::Allowance,
    /// Its weight where several wait for the same.
    pub weight: NonZeroU32,
    /// The mode of the trained scorer.
    pub local_judge: local::Mode,
    /// True if the guardian learns from its judge for it.
    pub learns: bool,
    /// The enforcement of its verdicts.
    pub mode: Enforcement,
}

/// The policy that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyChoice {
    /// A built-in profile.
    Profile(String),
    /// A file.
    File(PathBuf),
}

impl Config {
    /// Returns the same, of a process that keeps its state for itself and leaves no records: for commands that are no server.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.audit = Some(audit::Settings::Off);
        self.sessions = self.sessions.map(session::Settings::in_process);
        self.shared = None;
        self.otlp = None;
        self.events = None;
        self
    }

    /// Lifts every limit on how much is judged: for measurements, which hold more attacks in a minute than traffic does.
    pub fn unlimit(&mut self) {
        self.limits = limit::Settings {
            suspected_per_minute: NonZeroU32::MAX,
            ..limit::Settings::default()
        };
        for organisation in &mut self.organisations {
            organisation.allowance = limit::Allowance::default();
        }
    }

    /// Returns `true` if everything is the same that takes effect only at a start: all but organisations and gateways.
    pub fn starts_like(&self, other: &Self) -> bool {
        let fixed = |config: &Self| {
            let Self {
                file: _,
                server,
                wire,
                judge,
                local_judge,
                learning,
                canaries,
                pipeline,
                work,
                limits,
                cache,
                sessions,
                shared,
                audit,
                audit_on_failure,
                audit_keeping,
                log,
                otlp,
                events,
                watch_files: _,
                oidc: _,
                organisations: _,
                gateways: _,
                says_policy: _,
                folders: _,
                missing_keys: _,
            } = config;
            format!(
                "{server:?} {wire:?} {judge:?} {local_judge:?} {learning:?} {canaries:?} {pipeline:?} {work:?} {limits:?} {cache:?} \
                 {sessions:?} {shared:?} {audit:?} {audit_on_failure:?} {audit_keeping:?} {log:?} {otlp:?} {events:?}"
            )
        };
        fixed(self) == fixed(other)
    }
}

/// The need for keys: whether endpoints are going to be asked, and agents to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// They are: a key that is named has to be there.
    Needed,
    /// They are not, or only where it is possible: a key that is not there is left out and told in
    /// [`Config::missing_keys`].
    Unneeded,
}

/// Reads values of one file and says where a wrong one stands.
pub(super) struct Reader<'a> {
    file: &'a str,
    folder: &'a Path,
    pub(super) keys: Keys,
    missing: RefCell<Vec<MissingKey>>,
}

impl ConfigFile {
    /// Checks every value. `file` is for messages; paths are relative to `folder`.
    ///
    /// # Errors
    ///
    /// The first value that cannot be used.
    pub fn resolve(self, file: &str, folder: &Path) -> Result<Config, ConfigError> {
        self.resolve_with(file, folder, Keys::Needed)
    }

    /// Resolves as [`resolve`](Self::resolve) does, but lets keys be missing if no endpoint is asked and no agent calls.
    ///
    /// # Errors
    ///
    /// The first value that cannot be used.
    pub fn resolve_with(mut self, file: &str, folder: &Path, keys: Keys) -> Result<Config, ConfigError> {
        self.take_environment(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        let reader = Reader {
            file,
            folder,
            keys,
            missing: RefCell::default(),
        };
        let judge = self.judge.as_ref().map(|section| reader.judge(section)).transpose()?;
        let pipeline = reader.pipeline(self.judge.as_ref())?;
        let organisations = reader.organisations(&self)?;
        reader.check_budgets(&self)?;
        let canaries = self.judge.as_ref().and_then(|judge| judge.canaries.as_ref());
        let wire = reader.wire(&self.limits, &self.a2a)?;
        let ids: Vec<OrganisationId> = organisations
            .iter()
            .map(|organisation| organisation.id.clone())
            .collect();
        let (audit, audit_on_failure) = reader.audit(&self.audit)?;
        let audit_keeping = reader.audit_keeping(&self.audit, audit.as_ref())?;
        let mut server = reader.server(&self, pipeline.timeout)?;
        server.acs = reader.acs(&self.acs, &ids, pipeline.timeout)?;
        let oidc = reader.oidc(&self, &ids)?;
        let mut gateways = reader.gateways(&self.gateways, &ids, wire.max_depth, pipeline.timeout)?;
        for (index, gateway) in gateways.iter_mut().enumerate() {
            gateway.scheme = server.scheme();
            if oidc.is_empty() && gateway.client_tokens == Some(true) {
                let why = "expected `[oidc]`, which says whose tokens they are";
                return Err(reader.wrong(&format!("gateways[{index}].client_tokens"), why));
            }
        }
        Ok(Config {
            file: file.to_owned(),
            canaries: canaries
                .map(|section| reader.canaries(section, pipeline.timeout))
                .transpose()?,
            wire,
            gateways,
            server,
            judge,
            local_judge: reader.local_judge(&self.local_judge)?,
            learning: reader.learning(&self.learning)?,
            pipeline,
            work: reader.work(&self.limits),
            limits: reader.limits(&self.limits),
            cache: reader.cache(&self.cache),
            sessions: reader.sessions(&self.sessions)?,
            shared: reader.shared(&self.shared, &self.sessions)?,
            audit,
            audit_on_failure,
            audit_keeping,
            log: reader.log(&self.log)?,
            otlp: reader.otlp(&self.otlp)?,
            events: reader.events(&self.events)?,
            watch_files: self.watch_files.unwrap_or(true),
            oidc,
            organisations,
            says_policy: self.policy.is_some() || !self.organisations.is_empty(),
            folders: None,
            missing_keys: reader.missing.into_inner(),
        })
    }

    /// Puts environment variables over what the file says.
    fn take_environment(&mut self, variable: impl Fn(&str) -> Option<String>) {
        if let Some(listen) = variable("GUARDIAN_LISTEN") {
            self.listen = Some(listen);
        }
        let base_url = variable("GUARDIAN_JUDGE_BASE_URL");
        let model = variable("GUARDIAN_JUDGE_MODEL");
        let api_key_env = variable("GUARDIAN_JUDGE_API_KEY_ENV");
        if base_url.is_some() || model.is_some() || api_key_env.is_some() {
            let judge = self.judge.get_or_insert_default();
            judge.base_url = base_url.or(judge.base_url.take());
            judge.model = model.or(judge.model.take());
            judge.api_key_env = api_key_env.or(judge.api_key_env.take());
        }
        if let Some(filter) = variable("GUARDIAN_LOG") {
            self.log.filter = Some(filter);
        }
    }
}

impl Reader<'_> {
    pub(super) fn wrong(&self, key: &str, why: impl Into<String>) -> ConfigError {
        ConfigError::Invalid {
            file: self.file.to_owned(),
            key: key.to_owned(),
            why: why.into(),
        }
    }

    /// Finds one of the organisations by its id.
    pub(super) fn known_organisation(
        &self,
        key: &str,
        id: &str,
        organisations: &[OrganisationId],
    ) -> Result<OrganisationId, ConfigError> {
        let known = organisations.iter().find(|known| known.as_str() == id).cloned();
        known.ok_or_else(|| {
            let why = format!("expected the id of one of `[[organisations]]`, found `{id}`");
            self.wrong(key, why)
        })
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    pub(super) fn one_of<T: Named>(&self, key: &str, found: &str, known: &[T]) -> Result<T, ConfigError> {
        one_of(found, known).map_err(|why| self.wrong(key, why))
    }

    /// Reads an environment variable that has a key in it; `None` where it is not there and need not be.
    pub(super) fn key_in(&self, name: &str, whose: WhoseKey, at: &str) -> Result<Option<String>, ConfigError> {
        let name = keys::named(name).map_err(|why| self.wrong(at, why))?;
        match (std::env::var(name), self.keys) {
            (Ok(key), _) => Ok(Some(key)),
            (Err(_), Keys::Needed) => Err(self.wrong(at, keys::not_set(name))),
            (Err(_), Keys::Unneeded) => {
                self.missing.borrow_mut().push(MissingKey {
                    whose,
                    at: at.to_owned(),
                    variable: name.to_owned(),
                });
                Ok(None)
            }
        }
    }

    /// Reads the variable that a key of the configuration names.
    pub(super) fn key_named(
        &self,
        name: Option<&str>,
        whose: WhoseKey,
        at: &str,
    ) -> Result<Option<String>, ConfigError> {
        name.map_or(Ok(None), |name| self.key_in(name, whose, at))
    }

    /// Reads a value that may be a secret: as it stands, or `env:` and the name of a variable.
    pub(super) fn secret(&self, text: Option<&str>, whose: WhoseKey, at: &str) -> Result<Option<String>, ConfigError> {
        match text.map(|text| (text, text.strip_prefix("env:"))) {
            None => Ok(None),
            Some((_, Some(name))) => self.key_in(name, whose, at),
            Some((text, None)) => Ok(Some(text.to_owned())),
        }
    }

    /// Reads the hashes of a list of keys. An empty list is refused: its author means to let no one in, and would let everyone in.
    pub(super) fn digests(&self, at: &str, keys: &[String]) -> Result<Vec<[u8; 32]>, ConfigError> {
        if keys.is_empty() {
            return Err(self.wrong(
                at,
                "expected at least one key, found none: leave it out to let every caller in",
            ));
        }
        let read = keys.iter().enumerate().map(|(index, text)| {
            let key = self.api_key(text, &format!("{at}[{index}]"))?;
            Ok(key.map(|key| *key.digest()))
        });
        read.filter_map(Result::transpose).collect()
    }

    /// Reads a file; `None` where it cannot be read by a command that does not need it.
    pub(super) fn bytes_of(&self, file: Option<&str>, key: &str) -> Result<Option<Vec<u8>>, ConfigError> {
        let Some(path) = file.map(|file| self.path(file)) else {
            return Ok(None);
        };
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(_) if self.keys == Keys::Unneeded => Ok(None),
            Err(why) => Err(self.wrong(key, format!("{}: cannot be read: {why}", path.display()))),
        }
    }

    /// Checks a name of up to 64 letters, digits and these signs.
    pub(super) fn name(&self, key: &str, text: &str, signs: &str) -> Result<String, ConfigError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
        if text.is_empty() || text.len() > 64 || !text.chars().all(fits) {
            let why = format!("expected 1 to 64 letters, digits and signs of `{signs}`, found `{text}`");
            return Err(self.wrong(key, why));
        }
        Ok(text.to_owned())
    }

    /// Returns the value that a name stands for, where it is there.
    pub(super) fn named<T: Named>(
        &self,
        key: &str,
        found: Option<&str>,
        known: &[T],
    ) -> Result<Option<T>, ConfigError> {
        found.map(|found| self.one_of(key, found, known)).transpose()
    }

    /// Reads the accepted form of an API key; `None` where its variable is not there and need not be.
    pub(super) fn api_key(&self, text: &str, at: &str) -> Result<Option<ApiKey>, ConfigError> {
        let variable = match text
            .strip_prefix("env:")
            .map(|name| self.key_in(name, WhoseKey::Caller, at))
        {
            None => None,
            Some(found) => match found? {
                None => return Ok(None),
                found => found,
            },
        };
        ApiKey::parse(text, |_| variable.clone())
            .map(Some)
            .map_err(|why| self.wrong(at, why))
    }
}
