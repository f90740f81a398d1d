//! The state in force, by its facts that may be told, and its differences from another state.

use std::collections::{BTreeMap, BTreeSet};

use crate::access::Keyring;
use crate::audit::{self, Change, Versions};
use crate::config::Config;
use crate::pipeline::Organisations;

/// Versions and names; no keys, no texts.
pub(super) struct Snapshot {
    organisations: BTreeMap<String, InForce>,
    gateways: String,
    issuers: String,
    certificates: String,
}

#[derive(Debug, Default)]
struct InForce {
    policy: Option<String>,
    prompts: Option<String>,
    /// Teams and agents of the policy.
    layers: BTreeMap<String, String>,
    keys: BTreeSet<String>,
    settings: String,
}

impl Snapshot {
    pub(super) fn of(config: &Config, organisations: &Organisations, keyring: &Keyring) -> Self {
        let mut known: BTreeMap<String, InForce> = BTreeMap::new();
        for organisation in organisations.ids().filter_map(|id| organisations.get(id)) {
            let in_force = known.entry(organisation.id.as_str().to_owned()).or_default();
            in_force.policy = Some(organisation.policy.version.clone());
            in_force.prompts = Some(organisation.prompts.version().to_owned());
            let layers = organisation.policy.layers.versions();
            in_force.layers = layers.map(|(name, version)| (name, version.to_owned())).collect();
        }
        for settings in &config.organisations {
            let in_force = known.entry(settings.id.as_str().to_owned()).or_default();
            let keys = settings.api_keys.iter();
            let keys: Vec<String> = keys
                .map(|key| format!("{} {:?} {:?}", key.name, key.scopes, key.expires))
                .collect();
            in_force.settings = format!(
                "{:?} {:?} {} {:?} {:?} {:?} {keys:?}",
                settings.mode,
                settings.allowance,
                settings.weight,
                settings.local_judge,
                settings.certificates,
                settings.learns
            );
        }
        for (organisation, key) in keyring.key_names() {
            let in_force = known.entry(organisation.as_str().to_owned()).or_default();
            in_force.keys.insert(key.to_owned());
        }
        let tls = config.server.tls.as_ref();
        let certificate = tls.and_then(|tls| std::fs::read(&tls.certificate).ok());
        Self {
            organisations: known,
            gateways: format!("{:?}", config.gateways),
            issuers: format!("{:?}", config.oidc),
            certificates: format!("{:?} {:?}", tls, certificate.as_deref().map(blake3::hash)),
        }
    }

    /// Returns the version of what all nodes are to have alike: organisations with their policies, prompts, keys and settings, and issuers.
    /// Certificates, and addresses of gateways, may be a node's own.
    pub(super) fn version(&self) -> String {
        let alike = format!("{:?} {}", self.organisations, self.issuers);
        blake3::hash(alike.as_bytes()).to_hex().to_string()
    }

    /// Returns the policy of each organisation, and its layers, by the names in the history.
    pub(super) fn policies(&self) -> impl Iterator<Item = (String, &str)> {
        self.organisations.iter().flat_map(|(id, in_force)| {
            let policy = in_force.policy.iter().map(|version| (id.clone(), version.as_str()));
            let layers = in_force.layers.iter();
            policy.chain(layers.map(|(name, version)| (audit::InForce::of_layer(id, name), version.as_str())))
        })
    }

    /// Returns the differences, one change for each organisation and one for the server; time and author are left out.
    pub(super) fn changes_since(&self, before: &Self) -> Vec<Change> {
        let nothing = InForce::default();
        let ids: BTreeSet<&String> = self.organisations.keys().chain(before.organisations.keys()).collect();
        let mut changes = Vec::new();
        for id in ids {
            let old = before.organisations.get(id).unwrap_or(&nothing);
            let new = self.organisations.get(id).unwrap_or(&nothing);
            let versions = |from: &Option<String>, to: &Option<String>| {
                (from != to).then(|| Versions {
                    from: from.clone(),
                    to: to.clone(),
                })
            };
            let change = Change {
                kind: "change",
                organisation: id.clone(),
                policy: versions(&old.policy, &new.policy),
                layers: new
                    .layers
                    .keys()
                    .chain(old.layers.keys())
                    .filter_map(|name| {
                        let of = |layers: &BTreeMap<String, String>| layers.get(name).cloned();
                        Some((name.clone(), versions(&of(&old.layers), &of(&new.layers))?))
                    })
                    .collect(),
                prompts: versions(&old.prompts, &new.prompts),
                keys_added: new.keys.difference(&old.keys).cloned().collect(),
                keys_removed: old.keys.difference(&new.keys).cloned().collect(),
                settings: (old.settings != new.settings)
                    .then_some("organisations")
                    .into_iter()
                    .collect(),
                ..Change::default()
            };
            changes.push(change);
        }
        let settings = [
            ("gateways", self.gateways != before.gateways),
            ("oidc", self.issuers != before.issuers),
            ("tls", self.certificates != before.certificates),
        ];
        changes.push(Change {
            kind: "change",
            settings: settings
                .iter()
                .filter(|(_, differs)| *differs)
                .map(|(name, _)| *name)
                .collect(),
            ..Change::default()
        });
        changes.retain(|change| {
            change.policy.is_some()
                || !change.layers.is_empty()
                || change.prompts.is_some()
                || !change.keys_added.is_empty()
                || !change.keys_removed.is_empty()
                || !change.settings.is_empty()
        });
        changes
    }
}
