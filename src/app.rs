//! The composition root: settings in, a guardian and its keys out. The only place that knows every component.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use crate::access::{Keyring, SettingsError};
use crate::audit::{self, Audit, AuditError};
use crate::cache::AnswerCache;
use crate::config::{Config, OrganisationSettings, PolicyChoice};
use crate::judge::{self, Judge};
use crate::learning::Learning;
use crate::limit::{self, LocalRateLimits, RateLimits, SharedRateLimits};
use crate::local;
use crate::model::{Enforcement, OrganisationId};
use crate::pipeline::{Guardian, Organisation, Organisations, Parts, Purpose};
use crate::policy::{PROFILE_NAMES, Policy, PolicyError};
use crate::prefilter::{DataError, Prefilters};
use crate::prompt::{PromptError, Prompts};
use crate::selftest::Canaries;
use crate::session;
use crate::session::{KeptError, KeptSessions, LocalSessions, Memory, SessionStore, SharedSessions};
use crate::shared::{Link, LinkError};

/// The reason why a guardian could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// An organisation's policy cannot be used.
    #[error("organisation `{organisation}`: `policy`: {why}")]
    Policy {
        /// The organisation.
        organisation: OrganisationId,
        /// The file and what is wrong.
        why: PolicyError,
    },
    /// An organisation's prompts cannot be used.
    #[error("organisation `{organisation}`: `prompts`: {why}")]
    Prompts {
        /// The organisation.
        organisation: OrganisationId,
        /// The file and what is wrong.
        why: PromptError,
    },
    /// An issuer of tokens cannot be used.
    #[error("`oidc`, `{issuer}`: {why}")]
    Issuer {
        /// The issuer.
        issuer: String,
        /// The error of the settings.
        why: SettingsError,
    },
    /// The built-in rules cannot be used.
    #[error("the built-in rules: {0}")]
    Rules(#[from] DataError),
    /// The judge's settings cannot be used.
    #[error("judge: {0}")]
    Judge(judge::SettingsError),
    /// The trained scorer's model cannot be used.
    #[error("`local_judge.model`: {0}")]
    LocalJudge(local::ModelError),
    /// The steps of the self-test cannot be used.
    #[error("self-test: {0}")]
    SelfTest(String),
    /// Sessions cannot be kept.
    #[error(transparent)]
    Sessions(#[from] KeptError),
    /// Shared state cannot be used.
    #[error(transparent)]
    Shared(#[from] LinkError),
    /// Records cannot be written.
    #[error(transparent)]
    Audit(#[from] AuditError),
}

/// Makes a guardian, as configured. `audit` is used where the configuration does not say where records go.
///
/// # Errors
///
/// The first policy, template or setting that cannot be used.
pub fn guardian(config: &Config, audit: &audit::Settings) -> Result<Guardian, AppError> {
    with_organisations(config, organisations(config)?, audit)
}

/// Makes a guardian for evaluation, which tells every verdict as if it were enforced: the first configured organisation, and beside it one
/// for each built-in profile, which has that organisation's prompts and the profile as its policy. They are named as
/// [`profile_organisation`] says.
///
/// # Errors
///
/// As [`guardian`].
pub fn guardian_with_profiles(config: &Config, audit: &audit::Settings) -> Result<Guardian, AppError> {
    let mut organisations = organisations(config)?;
    if let Some(first) = config.organisations.first() {
        for name in PROFILE_NAMES {
            let settings = OrganisationSettings {
                id: profile_organisation(name),
                api_keys: Vec::new(),
                certificates: Vec::new(),
                prompts: first.prompts.clone(),
                policy: PolicyChoice::Profile((*name).to_owned()),
                allowance: first.allowance,
                weight: first.weight,
                local_judge: first.local_judge,
                learns: false,
                mode: first.mode,
            };
            organisations.insert(organisation(config, &settings, &mut BTreeMap::new())?);
        }
    }
    with_organisations(&measuring(config), organisations, audit)
}

/// Returns the same configuration for counting verdicts: no agent acts on them, so none is only observed.
pub fn measuring(config: &Config) -> Config {
    let mut config = config.clone();
    config.pipeline.purpose = Purpose::Measuring;
    config
}

/// Returns the id of the organisation that stands for a built-in profile in an evaluation.
pub fn profile_organisation(profile: &str) -> OrganisationId {
    OrganisationId::new(format!("profile:{profile}"))
}

/// Makes canaries for the configured judge, where both are configured.
///
/// # Errors
///
/// As [`guardian`].
pub fn canaries(config: &Config) -> Result<Option<Canaries>, AppError> {
    let (Some(settings), Some(_)) = (&config.canaries, &config.judge) else {
        return Ok(None);
    };
    // Its steps are screened as with nothing configured: canaries watch the judge, not a policy.
    let plain = Config {
        judge: None,
        canaries: None,
        limits: limit::Settings::default(),
        organisations: vec![OrganisationSettings {
            id: Organisation::default_id(),
            api_keys: Vec::new(),
            certificates: Vec::new(),
            prompts: None,
            policy: PolicyChoice::Profile("default".to_owned()),
            allowance: limit::Allowance::default(),
            weight: NonZeroU32::MIN,
            local_judge: local::Mode::Off,
            learns: false,
            mode: Enforcement::Enforce,
        }],
        ..config.clone().alone()
    };
    let screener = guardian(&plain, &audit::Settings::Off)?;
    let canaries = Canaries::new(screener, settings.clone()).map_err(|error| AppError::SelfTest(error.to_string()))?;
    Ok(Some(canaries))
}

/// Makes a guardian that serves, as configured: where an organisation is to be learned for, it learns from its judge.
///
/// # Errors
///
/// As [`guardian`].
pub fn serving(config: &Config, audit: &audit::Settings) -> Result<Guardian, AppError> {
    let guardian = guardian(config, audit)?;
    let learns = config.organisations.iter().any(|organisation| organisation.learns);
    Ok(match (learns, scorer(config)?) {
        (true, Some(scorer)) => guardian.learning(Learning::start(config.learning.clone(), scorer.model)),
        (true, None) | (false, _) => guardian,
    })
}

/// Makes every organisation, as configured.
///
/// # Errors
///
/// The first policy or template that cannot be used.
pub fn organisations(config: &Config) -> Result<Organisations, AppError> {
    let mut prompts = BTreeMap::new();
    let mut organisations = Organisations::default();
    for settings in &config.organisations {
        organisations.insert(organisation(config, settings, &mut prompts)?);
    }
    Ok(organisations)
}

/// Makes the keyring of every credential, as configured.
///
/// # Errors
///
/// The first issuer of tokens that cannot be used.
pub fn keyring(config: &Config) -> Result<Keyring, AppError> {
    let mut keyring = Keyring::default();
    for organisation in &config.organisations {
        for key in &organisation.api_keys {
            keyring.insert(key.clone(), organisation.id.clone());
        }
        for rule in &organisation.certificates {
            keyring.recognise(rule.clone());
        }
    }
    for settings in &config.oidc {
        let issuer = settings.issuer.clone();
        keyring
            .trust(settings.clone())
            .map_err(|why| AppError::Issuer { issuer, why })?;
    }
    Ok(keyring)
}

/// Reads the policy of an organisation.
///
/// # Errors
///
/// When it cannot be used.
pub fn policy(settings: &OrganisationSettings) -> Result<Policy, AppError> {
    chosen_policy(&settings.policy).map_err(|why| AppError::Policy {
        organisation: settings.id.clone(),
        why: match why {
            // It may have been meant as a profile.
            PolicyError::Unreadable { file, why } => PolicyError::Unreadable {
                file,
                why: format!(
                    "{why}; it is no built-in profile either: those are {}",
                    PROFILE_NAMES.join(", ")
                ),
            },
            other => other,
        },
    })
}

/// Reads a chosen policy, and refuses one that names a rule that there is not.
///
/// # Errors
///
/// When it cannot be used.
pub fn chosen_policy(choice: &PolicyChoice) -> Result<Policy, PolicyError> {
    let (policy, file) = match choice {
        PolicyChoice::Profile(name) => (Policy::profile(name)?, format!("profile `{name}`")),
        PolicyChoice::File(path) => (Policy::load(path)?, path.display().to_string()),
    };
    let prefilters = prefilters().map_err(|error| PolicyError::Unreadable {
        file: "the built-in rules".to_owned(),
        why: error.to_string(),
    })?;
    let over_sessions = session::rules::catalogue().map(|rule| &rule.id);
    let ids = prefilters.rules().map(|rule| &rule.id).chain(over_sessions);
    policy.hold_rules(&file, ids.clone().map(String::as_str))?;
    for (selected, layered) in policy.layers.iter() {
        layered.hold_rules(&format!("{file}{selected}"), ids.clone().map(String::as_str))?;
    }
    Ok(policy)
}

/// Returns the built-in rules, read once a process: every guardian in it shares them.
fn prefilters() -> Result<Arc<Prefilters>, DataError> {
    static READ: LazyLock<Result<Arc<Prefilters>, DataError>> = LazyLock::new(|| Prefilters::standard().map(Arc::new));
    READ.clone()
}

/// Reads the prompts of an organisation.
///
/// # Errors
///
/// When a template cannot be used.
pub fn prompts(settings: &OrganisationSettings) -> Result<Prompts, AppError> {
    match &settings.prompts {
        Some(dir) => Prompts::load(dir),
        None => Prompts::builtin(),
    }
    .map_err(|why| AppError::Prompts {
        organisation: settings.id.clone(),
        why,
    })
}

/// Makes one organisation; prompts of the same folder are read once.
fn organisation(
    config: &Config,
    settings: &OrganisationSettings,
    read: &mut BTreeMap<Option<PathBuf>, Arc<Prompts>>,
) -> Result<Organisation, AppError> {
    let prompts = match read.get(&settings.prompts) {
        Some(prompts) => Arc::clone(prompts),
        None => {
            let prompts = Arc::new(prompts(settings)?);
            read.insert(settings.prompts.clone(), Arc::clone(&prompts));
            prompts
        }
    };
    let mut policy = policy(settings)?;
    if let Some(folders) = &config.folders {
        policy.work_in(folders);
    }
    let policy = Arc::new(policy);
    for policy in std::iter::once(&policy).chain(policy.layers.iter().map(|(_, policy)| policy)) {
        if !policy.examples.is_empty() {
            prompts.check_policy(policy).map_err(|why| AppError::Prompts {
                organisation: settings.id.clone(),
                why,
            })?;
        }
    }
    Ok(Organisation {
        id: settings.id.clone(),
        policy,
        prompts,
        allowance: settings.allowance,
        weight: settings.weight,
        local_judge: settings.local_judge,
        learns: settings.learns,
        enforcement: settings.mode,
    })
}

/// Makes the trained scorer. A model that cannot be used is no error as long as no organisation wants one.
fn scorer(config: &Config) -> Result<Option<local::Scorer>, AppError> {
    let mut modes = config.organisations.iter().map(|organisation| organisation.local_judge);
    match config.local_judge.open() {
        Ok(scorer) => Ok(Some(scorer)),
        Err(_) if modes.all(|mode| mode == local::Mode::Off) => Ok(None),
        Err(error) => Err(AppError::LocalJudge(error)),
    }
}

/// Makes the memory of sessions: in this process, in a folder as well, or on a server.
fn memory(settings: &session::Settings, link: Option<&Link>) -> Result<Memory, AppError> {
    let store: Arc<dyn SessionStore> = match (link, &settings.kept) {
        (Some(link), _) => Arc::new(SharedSessions::new(settings.clone(), link.clone())),
        (None, None) => Arc::new(LocalSessions::new(settings.clone())),
        (None, Some(kept)) => Arc::new(KeptSessions::open(settings.clone(), kept)?),
    };
    Ok(Memory::with(store, settings))
}

fn with_organisations(
    config: &Config,
    organisations: Organisations,
    audit: &audit::Settings,
) -> Result<Guardian, AppError> {
    session::check()?;
    let judge = match &config.judge {
        Some(settings) => Some(Judge::new(settings.clone()).map_err(AppError::Judge)?),
        None => None,
    };
    let link = config.shared.clone().map(Link::open).transpose()?;
    let sessions = config.sessions.as_ref();
    let sessions = sessions.map(|settings| memory(settings, link.as_ref())).transpose()?;
    let limits: Arc<dyn RateLimits> = match &link {
        None => Arc::new(LocalRateLimits::new(&config.limits)),
        Some(link) => Arc::new(SharedRateLimits::new(&config.limits, link.clone())),
    };
    Ok(Guardian::new(Parts {
        prefilters: prefilters()?,
        organisations,
        judge,
        scorer: scorer(config)?,
        cache: match &link {
            None => AnswerCache::new(&config.cache),
            Some(link) => AnswerCache::shared(&config.cache, link.clone()),
        },
        sessions,
        limits,
        shared: link,
        audit: Audit::new(
            config.audit.as_ref().unwrap_or(audit),
            &config.audit_keeping,
            config.audit_on_failure,
        )?,
        work: config.work,
        settings: config.pipeline.clone(),
    }))
}
