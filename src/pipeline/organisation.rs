//! The organisations a guardian serves, each with its policy and its prompts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limit::Allowance;
use crate::local::Mode;
use crate::model::{Method, OrganisationId, Posture};
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

    /// Where steps happen about which no judge could decide. Of many organisations the first ones are named.
    pub fn open_postures(&self, fallback: Posture) -> Vec<String> {
        const NAMED: usize = 20;
        let mut open = Vec::new();
        let mut more = 0_usize;
        for organisation in self.by_id.values() {
            let posture = |method: &Method| organisation.policy.posture.of(*method, fallback);
            let allowed: Vec<&str> = Method::ALL
                .iter()
                .filter(|method| posture(method) == Posture::Allow)
                .map(|method| method.as_str())
                .collect();
            let methods = match allowed.len() {
                0 => continue,
                n if n == Method::ALL.len() => "every method".to_owned(),
                _ => allowed.join(", "),
            };
            if open.len() < NAMED {
                open.push(format!(
                    "`{}` allows what rules do not deny when no judge could decide: {methods}",
                    organisation.id
                ));
            } else {
                more += 1;
            }
        }
        if more > 0 {
            open.push(format!("and {more} more organisations"));
        }
        open
    }

    /// Every id.
    pub fn ids(&self) -> impl Iterator<Item = &OrganisationId> {
        self.by_id.keys()
    }
}
