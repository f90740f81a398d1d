//! Admit: finds the organisation of a caller, and checks its limits.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::{Guardian, Organisation, Purpose};
use crate::model::{Caller, Enforcement, Step};
use crate::policy::Policy;

/// The enforcement for a caller if no entry of the policy says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The configured one.
    Configured(Enforcement),
    /// Verdicts are only asked for, not enforced, or measured: they are told as if they were enforced.
    Plain,
}

impl Level {
    /// Returns the enforcement that counts, given the policy's entry, or none.
    pub(super) fn or(self, policy: Option<Enforcement>) -> Enforcement {
        match self {
            Level::Configured(enforcement) => policy.unwrap_or(enforcement),
            Level::Plain => Enforcement::Enforce,
        }
    }
}

/// Proof that a caller was admitted, with its organisation as it was then. Only [`Guardian::admit`] makes one.
#[derive(Clone, Debug)]
pub struct Admitted {
    pub(super) caller: Caller,
    pub(super) organisation: Arc<Organisation>,
    pub(super) level: Level,
    pub(super) claim: Claim,
}

/// The organisation that a step claims to be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The organisation of its credential, or none.
    Own,
    /// Another one: it is denied.
    Another,
}

impl Admitted {
    /// Returns the organisation that the step is decided for.
    pub fn organisation(&self) -> &Organisation {
        &self.organisation
    }

    /// Returns the policy that holds for a step: the organisation's, with the layers of its team and its agent.
    pub fn policy_of(&self, step: &Step) -> &Policy {
        self.organisation.policy.of(step, &self.caller)
    }

    /// Returns the same with the organisation as it is for this step: under the policy of its team and its agent.
    pub(super) fn under(&self, step: &Step) -> Cow<'_, Self> {
        let policy = self.organisation.policy.of(step, &self.caller);
        if Arc::ptr_eq(policy, &self.organisation.policy) {
            return Cow::Borrowed(self);
        }
        let organisation = Organisation {
            policy: Arc::clone(policy),
            ..Organisation::clone(&self.organisation)
        };
        Cow::Owned(Self {
            organisation: Arc::new(organisation),
            ..self.clone()
        })
    }

    /// Returns the same by a gateway with a mode of its own.
    #[must_use]
    pub fn by_gateway(mut self, mode: Option<Enforcement>) -> Self {
        if let (Level::Configured(_), Some(mode)) = (self.level, mode) {
            self.level = Level::Configured(mode);
        }
        self
    }

    /// Returns the same for a step with this claim.
    #[must_use]
    pub fn claiming(self, claim: Claim) -> Self {
        Self { claim, ..self }
    }

    /// Returns the same for a verdict that is not enforced: it is told as if it were.
    #[must_use]
    pub fn only_asked(self) -> Self {
        Self {
            level: Level::Plain,
            ..self
        }
    }
}

/// The reason why a step was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The credential belongs to an organisation that is not served (any more).
    #[error("the organisation of this credential is not served here")]
    UnknownOrganisation,
    /// Records cannot be written, and the configuration takes no step without one.
    #[error("audit records cannot be written at the moment, and no step is taken without one")]
    Unrecorded,
    /// The caller has used up its steps.
    #[error("the rate limit of this credential is reached")]
    LimitReached {
        /// The time after which it is worth trying again.
        retry_after: Duration,
    },
}

impl Guardian {
    /// Admits one step of a caller, and counts it.
    ///
    /// # Errors
    ///
    /// When the caller's organisation is not served, its limit is reached, or no record could be written of the step.
    pub async fn admit(&self, caller: &Caller) -> Result<Admitted, Refused> {
        let organisation = self
            .organisations
            .load()
            .get(&caller.organisation)
            .ok_or(Refused::UnknownOrganisation)?;
        if self.audit.refuses() {
            return Err(Refused::Unrecorded);
        }
        self.limits
            .request(caller)
            .await
            .map_err(|limit| Refused::LimitReached {
                retry_after: limit.retry_after,
            })?;
        Ok(Admitted {
            caller: caller.clone(),
            level: match self.settings.purpose {
                Purpose::Guarding => Level::Configured(organisation.enforcement),
                Purpose::Measuring => Level::Plain,
            },
            organisation,
            claim: Claim::Own,
        })
    }
}
