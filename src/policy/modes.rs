//! `[[modes]]`: whose verdicts are enforced, and whose are only observed.

use serde::{Deserialize, Serialize};

use super::NamePatterns;
use super::values::each;
use crate::model::{Caller, Enforcement, Method, Step, all_of, one_of};

/// One entry as it is written.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModeLine {
    mode: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    callers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    methods: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<String>,
}

/// The entries, in their order: the first that fits decides.
#[derive(Clone, Debug, Default)]
pub struct Modes(Vec<ModeEntry>);

/// One entry: conditions, all of which must hold.
#[derive(Clone, Debug)]
struct ModeEntry {
    enforcement: Enforcement,
    agents: NamePatterns,
    callers: NamePatterns,
    methods: Vec<Method>,
    rules: NamePatterns,
}

impl ModeLine {
    fn build(&self) -> Result<ModeEntry, (&'static str, String)> {
        let enforcement = one_of(&self.mode, Enforcement::ALL).map_err(|why| ("mode", why))?;
        let entry = ModeEntry {
            enforcement,
            agents: NamePatterns::new(&self.agents).map_err(|why| ("agents", why))?,
            callers: NamePatterns::new(&self.callers).map_err(|why| ("callers", why))?,
            methods: all_of(&self.methods, Method::ALL).map_err(|why| ("methods", why))?,
            rules: NamePatterns::new(&self.rules).map_err(|why| ("rules", why))?,
        };
        let patterns = [&entry.agents, &entry.callers, &entry.rules];
        if entry.methods.is_empty() && patterns.iter().all(|list| list.is_empty()) {
            let why = "expected at least one of `agents`, `callers`, `methods` and `rules`; for everything, set `mode` of the organisation";
            return Err(("mode", why.to_owned()));
        }
        // An agent's id is what its request says: alone, any agent could take a name that is not stopped.
        if enforcement == Enforcement::Observe && !entry.agents.is_empty() && entry.callers.is_empty() {
            let why = "expected `callers` beside `agents`: an agent's id is its own claim, so say whose claim is believed \
                       (`caller` in audit records; `[\"*\"]` believes every caller)";
            return Err(("callers", why.to_owned()));
        }
        Ok(entry)
    }
}

impl ModeEntry {
    fn fits(&self, step: &Step, caller: &Caller) -> bool {
        let agent = step.agent.as_ref().and_then(|agent| agent.id.as_ref());
        (self.methods.is_empty() || self.methods.contains(&step.method))
            && (self.agents.is_empty() || agent.is_some_and(|id| self.agents.matches(id.as_str())))
            && (self.callers.is_empty() || self.callers.matches(&caller.name))
    }
}

impl Modes {
    /// Checks the entries of a file.
    pub(super) fn new(lines: &[ModeLine]) -> Result<Self, (String, String)> {
        each("modes", lines, ModeLine::build).map(Self)
    }

    /// Returns the enforcement for a step as a whole.
    pub fn of_step(&self, step: &Step, caller: &Caller) -> Option<Enforcement> {
        let mut entries = self.0.iter().filter(|entry| entry.rules.is_empty());
        entries
            .find(|entry| entry.fits(step, caller))
            .map(|entry| entry.enforcement)
    }

    /// Returns the enforcement for the findings of a rule.
    pub fn of_rule(&self, rule: &str, step: &Step, caller: &Caller) -> Option<Enforcement> {
        let mut entries = self.0.iter().filter(|entry| entry.rules.matches(rule));
        entries
            .find(|entry| entry.fits(step, caller))
            .map(|entry| entry.enforcement)
    }

    /// Returns `true` if an entry names single rules.
    pub fn name_rules(&self) -> bool {
        self.0.iter().any(|entry| !entry.rules.is_empty())
    }

    /// Returns the number of entries that observe.
    pub fn observing(&self) -> usize {
        let observes = |entry: &&ModeEntry| entry.enforcement == Enforcement::Observe;
        self.0.iter().filter(observes).count()
    }

    /// Returns the patterns of rules of each entry.
    pub(super) fn rules(&self) -> impl Iterator<Item = &NamePatterns> {
        self.0.iter().map(|entry| &entry.rules)
    }
}
