//! Ledger: the texts of policies and prompts, and the time at which each came into force, written beside the audit records. Entries that cannot
//! be written, because a database is away, wait for the next time.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use crate::audit::{self, Archive, Sort};
use crate::config::{Config, PolicyChoice};
use crate::pipeline::Organisations;
use crate::policy::{Policy, PolicyFile};

/// Texts, and notes, that may wait; more are lost.
const MAX_WAITING: usize = 1_000;

pub(super) struct Ledger {
    archive: Option<Archive>,
    texts: BTreeMap<(Sort, String), String>,
    /// Organisation, version, and the person or event that put it in force.
    notes: VecDeque<[String; 3]>,
}

impl Ledger {
    /// Makes the ledger that belongs to the records.
    pub(super) fn of(settings: Option<&audit::Settings>) -> Self {
        let archive = settings.map_or(Ok(None), Archive::of);
        let unusable = |error: &std::io::Error| tracing::warn!(%error, "policies and prompts cannot be written down");
        Self {
            archive: archive.inspect_err(unusable).ok().flatten(),
            texts: BTreeMap::new(),
            notes: VecDeque::new(),
        }
    }

    /// Takes the policies and prompts that are in force. They are written with [`Ledger::write`].
    pub(super) fn take(&mut self, config: &Config, organisations: &Organisations) {
        if self.archive.is_none() || self.texts.len() > MAX_WAITING {
            return;
        }
        for in_force in organisations.ids().filter_map(|id| organisations.get(id)) {
            for (_, policy) in in_force.policies() {
                self.texts
                    .insert((Sort::Policies, policy.version.clone()), policy.source.clone());
            }
            let prompts = (in_force.prompts.version(), in_force.prompts.source());
            self.texts
                .insert((Sort::Prompts, prompts.0.to_owned()), prompts.1.to_owned());
        }
        for settings in &config.organisations {
            let PolicyChoice::File(file) = &settings.policy else {
                continue;
            };
            let in_force = organisations.get(&settings.id);
            let written = in_force.and_then(|in_force| as_written(file, &in_force.policy.version));
            let Some((policy, text)) = written else { continue };
            // A layer is put back out of the file that held it.
            let layers = policy.layers.versions().map(|(_, version)| version.to_owned());
            for version in layers.chain([policy.version.clone()]) {
                self.texts.insert((Sort::PolicyFiles, version), text.clone());
            }
        }
    }

    /// Notes that a version came into force, to be written with [`Ledger::write`].
    pub(super) fn note(&mut self, organisation: &str, version: &str, by: &str) {
        if self.archive.is_some() && self.notes.len() < MAX_WAITING {
            let note = [organisation, version, by].map(str::to_owned);
            self.notes.push_back(note);
        }
    }

    /// Notes it and writes it, unless others wait already: a database that is away is not waited for again.
    pub(super) fn write_note(&mut self, organisation: &str, version: &str, by: &str) -> Option<String> {
        let others_wait = !self.texts.is_empty() || !self.notes.is_empty();
        self.note(organisation, version, by);
        match others_wait {
            true => None,
            false => self.write(),
        }
    }

    /// Writes the entries that wait. Returns the author that the history already has for the version of the last note.
    pub(super) fn write(&mut self) -> Option<String> {
        let untold = |error: &std::io::Error| {
            tracing::warn!(%error, "the policies and prompts in force could not be written down: that is tried again");
        };
        self.written().inspect_err(untold).ok().flatten()
    }

    fn written(&mut self) -> std::io::Result<Option<String>> {
        let Some(archive) = &mut self.archive else {
            return Ok(None);
        };
        for sort in [Sort::Policies, Sort::PolicyFiles, Sort::Prompts] {
            let of_sort = self.texts.iter().filter(|((of, _), _)| *of == sort);
            let texts: Vec<(&str, &str)> = of_sort
                .map(|((_, version), text)| (version.as_str(), text.as_str()))
                .collect();
            if !texts.is_empty() {
                archive.keep(sort, &texts)?;
            }
        }
        self.texts.clear();
        let mut told = None;
        while let Some([organisation, version, by]) = self.notes.front() {
            told = archive.note(organisation, version, by)?;
            self.notes.pop_front();
        }
        Ok(told)
    }
}

/// Reads a policy file and its text, where it is still the one that makes this version.
fn as_written(file: &Path, version: &str) -> Option<(Policy, String)> {
    let text = std::fs::read_to_string(file).ok()?;
    let name = file.display().to_string();
    let policy = PolicyFile::parse(&text, &name).ok()?.compile(&name).ok()?;
    (policy.version == version).then_some((policy, text))
}
