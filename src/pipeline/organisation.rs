//! The organisations a guardian serves, each with its policy and its prompts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limit::Allowance;
use crate::local::Mode;
use crate::model::OrganisationId;
use crate::policy::Policy;
use crate::prompt::Prompts;

/// An organisation as it stands at one moment. A reload makes a new one; a step keeps the one it was admitted with.
#[derive(Debug)]
pub struct Organisation {
    /// Its id.
    pub id: OrganisationId,
    /// Its policy.
    pub policy: Arc<Policy>,
    /// Its prompts.
    pub prompts: Arc<Prompts>,
    /// What it may use of the judge.
    pub allowance: Allowance,
    /// What it makes of the local judge's trained scorer.
    pub local_judge: Mode,
}

impl Organisation {
    /// The id of the one organisation that there is when none is configured.
    pub fn default_id() -> OrganisationId {
        OrganisationId::new("default")
    }
}

/// Every organisation, by id.
#[derive(Debug, Default)]
pub struct Organisations {
    by_id: BTreeMap<OrganisationId, Arc<Organisation>>,
}

impl Organisations {
    /// The organisation of this id.
    pub fn get(&self, id: &OrganisationId) -> Option<Arc<Organisation>> {
        self.by_id.get(id).cloned()
    }

    /// Adds an organisation; one of the same id is replaced.
    pub fn insert(&mut self, organisation: Organisation) {
        self.by_id.insert(organisation.id.clone(), Arc::new(organisation));
    }

    /// Every id.
    pub fn ids(&self) -> impl Iterator<Item = &OrganisationId> {
        self.by_id.keys()
    }
}
