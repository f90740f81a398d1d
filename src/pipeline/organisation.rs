//! The organisations a guardian serves, each with its policy and its prompts.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::limit::Allowance;
use crate::local::Mode;
use crate::model::{Enforcement, Method, OrganisationId, Posture};
use crate::policy::Policy;
use crate::prompt::Prompts;

/// An organisation as it is at one moment. A reload makes a new one; a step keeps the one it was admitted with.
#[derive(Clone, Debug)]
pub struct Organisation {
    /// Its id.
    pub id: OrganisationId,
    /// Its policy.
    pub policy: Arc<Policy>,
    /// Its prompts.
    pub prompts: Arc<Prompts>,
    /// Its allowance of the judge.
    pub allowance: Allowance,
    /// Its weight where several wait for the same.
    pub weight: NonZeroU32,
    /// Its mode of the local judge's trained scorer.
    pub local_judge: Mode,
    /// True if the guardian learns from its judge for it.
    pub learns: bool,
    /// The enforcement of its verdicts, if its policy does not say otherwise.
    pub enforcement: Enforcement,
}

impl Organisation {
    /// Returns its policy, and the effective policies of its teams and agents, each with its owner, such as `acme`, team `payments`.
    pub fn policies(&self) -> impl Iterator<Item = (String, &Arc<Policy>)> {
        let of_layers = self.policy.layers.iter();
        std::iter::once((format!("`{}`", self.id), &self.policy))
            .chain(of_layers.map(|(selected, policy)| (format!("`{}`{selected}", self.id), policy)))
    }

    /// Returns the id of the one organisation that there is when none is configured.
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
    /// Returns the organisation of this id.
    pub fn get(&self, id: &OrganisationId) -> Option<Arc<Organisation>> {
        self.by_id.get(id).cloned()
    }

    /// The weight of each.
    pub(super) fn weights(&self) -> impl Iterator<Item = (OrganisationId, NonZeroU32)> {
        self.by_id
            .values()
            .map(|organisation| (organisation.id.clone(), organisation.weight))
    }

    /// Adds an organisation; one of the same id is replaced.
    pub fn insert(&mut self, organisation: Organisation) {
        self.by_id.insert(organisation.id.clone(), Arc::new(organisation));
    }

    /// Describes where the posture is open, so that steps happen about which no judge could decide. Of many organisations the first ones are named.
    pub fn open_postures(&self, fallback: Posture) -> Vec<String> {
        let policies = self.by_id.values().flat_map(|organisation| organisation.policies());
        let open = policies.filter_map(|(whose, policy)| {
            let posture = |method: &Method| policy.posture.of(*method, fallback);
            let allowed: Vec<&str> = Method::ALL
                .iter()
                .filter(|method| posture(method) == Posture::Allow)
                .map(|method| method.as_str())
                .collect();
            let methods = match allowed.len() {
                0 => return None,
                n if n == Method::ALL.len() => "every method".to_owned(),
                _ => allowed.join(", "),
            };
            Some(format!(
                "{whose} allows what rules do not deny when no judge could decide: {methods}"
            ))
        });
        named_first(open)
    }

    /// Describes the organisations whose verdicts are observed, and not enforced. Of many the first ones are named.
    pub fn observing(&self) -> Vec<String> {
        let policies = self.by_id.values().flat_map(|organisation| {
            let enforcement = organisation.enforcement;
            organisation
                .policies()
                .map(move |(whose, policy)| (enforcement, whose, policy))
        });
        let told = policies.filter_map(
            |(enforcement, whose, policy)| match (enforcement, policy.modes.observing()) {
                (Enforcement::Observe, _) => Some(format!(
                    "{whose}: its verdicts stop nothing, but where its policy says `enforce`"
                )),
                (Enforcement::Enforce, 0) => None,
                (Enforcement::Enforce, entries) => Some(format!(
                    "{whose}: its verdicts stop nothing where its policy says so ({entries} of `[[modes]]`)"
                )),
            },
        );
        named_first(told)
    }

    /// Returns every id.
    pub fn ids(&self) -> impl Iterator<Item = &OrganisationId> {
        self.by_id.keys()
    }
}

/// Returns the first lines, and the number of organisations that are left out.
fn named_first(lines: impl Iterator<Item = String>) -> Vec<String> {
    const NAMED: usize = 20;
    let mut lines: Vec<String> = lines.collect();
    let more = lines.len().saturating_sub(NAMED);
    lines.truncate(NAMED);
    if more > 0 {
        lines.push(format!("and {more} more organisations"));
    }
    lines
}
