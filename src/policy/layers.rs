//! Layers: what differs for a team or an agent of an organisation.
//!
//! `[teams.NAME]` and `[agents.ID]` of a policy file hold any key of a policy. The effective policy of a step is: built-in profile,
//! organisation, the team of the caller, the agent — each over the one before. All of them are compiled when the file is read, so
//! a step only chooses one; an agent id that the file does not name chooses none, and leaves nothing behind.
//!
//! A team is known by its credentials. An agent's id is what the request says of itself: therefore its layer says whose claim is
//! believed (`callers`), or belongs to a team, whose credentials are.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::file::{LayerFile, PolicyFile, version_of};
use super::{NamePatterns, PROFILE_NAMES, Policy, PolicyError};
use crate::model::{Caller, Step};

/// Effective policies of one organisation.
const MAX_EFFECTIVE: usize = 500;
/// Characters in the name of a team or an agent.
const MAX_NAME: usize = 200;

/// The layers of a file, checked, not yet compiled. Teams by name; agents by id, patterns after whole ids.
struct WrittenLayers {
    teams: Vec<(Team, PolicyFile)>,
    agents: Vec<(Agent, PolicyFile)>,
}

/// The compiled layers of a policy.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    teams: Vec<Team>,
    agents: Vec<Agent>,
    effective: BTreeMap<(Option<usize>, Option<usize>), Arc<Policy>>,
}

#[derive(Clone, Debug)]
struct Team {
    name: String,
    version: String,
    callers: NamePatterns,
}

#[derive(Clone, Debug)]
struct Agent {
    name: String,
    version: String,
    ids: NamePatterns,
    callers: Option<NamePatterns>,
    team: Option<usize>,
}

/// The layers that hold for a step, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selected<'a> {
    /// The team.
    pub team: Option<&'a str>,
    /// The agent's layer: an id, or the pattern that fits it.
    pub agent: Option<&'a str>,
}

impl fmt::Display for Selected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let team = self.team.map(|name| format!(", team `{name}`"));
        let agent = self.agent.map(|name| format!(", agent `{name}`"));
        write!(f, "{}{}", team.unwrap_or_default(), agent.unwrap_or_default())
    }
}

impl PolicyFile {
    /// Resolves what it extends, checks every value, compiles, the layers too; `file` is for messages.
    ///
    /// # Errors
    ///
    /// When a value is none of the possible ones, or the profile it extends is not there.
    pub fn compile(mut self, file: &str) -> Result<Policy, PolicyError> {
        let layers = WrittenLayers::take(&mut self, file)?;
        let resolved = self.resolve(0).map_err(|error| match error {
            PolicyError::UnknownProfile(name) => PolicyError::Invalid {
                file: file.to_owned(),
                key: "extends".to_owned(),
                why: format!(
                    "expected one of {}, found `{}`",
                    PROFILE_NAMES.join(", "),
                    name.escape_debug()
                ),
            },
            other => other,
        })?;
        let layers = layers.compile(&resolved, file)?;
        Ok(Policy {
            layers,
            ..resolved.build(file)?
        })
    }
}

impl WrittenLayers {
    /// Takes the layers out of a file, and refuses keys that stand where they mean nothing.
    fn take(file: &mut PolicyFile, name: &str) -> Result<Self, PolicyError> {
        let at = |key: String, why: &str| PolicyError::Invalid {
            file: name.to_owned(),
            key,
            why: why.to_owned(),
        };
        for (key, is_there) in [("callers", file.callers.is_some()), ("team", file.team.is_some())] {
            if is_there {
                return Err(at(key.to_owned(), "expected it in `[teams.…]` or `[agents.…]` only"));
            }
        }
        let mut layers = Self {
            teams: Vec::new(),
            agents: Vec::new(),
        };
        for (team, LayerFile(mut layer)) in std::mem::take(&mut file.teams) {
            let key = |key: &str| format!("teams.\"{team}\".{key}");
            plain(&team, &layer).map_err(|(wrong, why)| at(key(wrong), why))?;
            let version = version_of_layer(&layer).map_err(|why| at(key(""), &why))?;
            if layer.team.is_some() {
                return Err(at(key("team"), "a team belongs to no other team"));
            }
            let why =
                "expected the callers that are the team (`caller` in audit records), such as `[\"key-1f2e3d4c\"]`";
            let callers = layer.callers.take().filter(|callers| !callers.is_empty());
            let callers = callers.ok_or_else(|| at(key("callers"), why))?;
            let callers = NamePatterns::new(&callers).map_err(|why| at(key("callers"), &why))?;
            let team = Team {
                name: team,
                version,
                callers,
            };
            layers.teams.push((team, *layer));
        }
        let mut agents: Vec<_> = std::mem::take(&mut file.agents).into_iter().collect();
        agents.sort_by_key(|(id, _)| id.contains(['*', '?']));
        for (id, LayerFile(mut layer)) in agents {
            let key = |key: &str| format!("agents.\"{id}\".{key}");
            plain(&id, &layer).map_err(|(wrong, why)| at(key(wrong), why))?;
            let version = version_of_layer(&layer).map_err(|why| at(key(""), &why))?;
            let team = match layer.team.take() {
                None => None,
                Some(team) => {
                    let known = layers.teams.iter().position(|(known, _)| known.name == team);
                    let why = format!(
                        "expected the name of one of `[teams.…]`, found `{}`",
                        team.escape_debug()
                    );
                    Some(known.ok_or_else(|| at(key("team"), &why))?)
                }
            };
            let callers = layer.callers.take().filter(|callers| !callers.is_empty());
            if team.is_none() && callers.is_none() {
                let why = "expected `callers` or `team`: an agent's id is its own claim, so say whose claim is believed (`caller` in \
                           audit records; `[\"*\"]` believes every caller)";
                return Err(at(key("callers"), why));
            }
            let patterns = |list: &[String]| NamePatterns::new(list).map_err(|why| at(key("callers"), &why));
            let agent = Agent {
                ids: patterns(std::slice::from_ref(&id))?,
                callers: callers.as_deref().map(patterns).transpose()?,
                name: id,
                version,
                team,
            };
            layers.agents.push((agent, *layer));
        }
        Ok(layers)
    }

    /// Compiles every effective policy over the organisation's own.
    fn compile(self, organisation: &PolicyFile, file: &str) -> Result<Layers, PolicyError> {
        let mut effective = BTreeMap::new();
        let teams = std::iter::once(None).chain(self.teams.iter().enumerate().map(Some));
        for team in teams {
            let base = match team {
                None => organisation.clone(),
                Some((_, (_, layer))) => layer.clone().over(organisation.clone()),
            };
            let index = team.map(|(index, _)| index);
            let mut add = |agent: Option<(usize, &Agent)>, resolved: PolicyFile| {
                let selected = Selected {
                    team: team.map(|(_, (team, _))| team.name.as_str()),
                    agent: agent.map(|(_, agent)| agent.name.as_str()),
                };
                if effective.len() >= MAX_EFFECTIVE {
                    return Err(PolicyError::Invalid {
                        file: file.to_owned(),
                        key: "agents".to_owned(),
                        why: format!(
                            "expected at most {MAX_EFFECTIVE} effective policies: every agent without `team` makes one for each team"
                        ),
                    });
                }
                let policy = resolved.build(&format!("{file}{selected}"))?;
                effective.insert((index, agent.map(|(index, _)| index)), Arc::new(policy));
                Ok(())
            };
            if team.is_some() {
                add(None, base.clone())?;
            }
            for (at, (agent, layer)) in self.agents.iter().enumerate() {
                if agent.team.is_none() || agent.team == index {
                    add(Some((at, agent)), layer.clone().over(base.clone()))?;
                }
            }
        }
        Ok(Layers {
            teams: self.teams.into_iter().map(|(team, _)| team).collect(),
            agents: self.agents.into_iter().map(|(agent, _)| agent).collect(),
            effective,
        })
    }
}

/// What a layer says, whom it believes included.
fn version_of_layer(layer: &PolicyFile) -> Result<String, String> {
    Ok(version_of(&format!(
        "{:?} {:?} {}",
        layer.callers,
        layer.team,
        layer.source()?
    )))
}

/// Refuses what no layer has.
fn plain(name: &str, layer: &PolicyFile) -> Result<(), (&'static str, &'static str)> {
    let fits = !name.is_empty() && name.chars().count() <= MAX_NAME && !name.chars().any(char::is_control);
    match () {
        () if !fits => Err(("", "expected a name of 1 to 200 characters")),
        () if layer.extends.is_some() => Err((
            "extends",
            "a layer builds on the organisation's policy, and on nothing else",
        )),
        () if !layer.teams.is_empty() => Err(("teams", "expected at the top of the file")),
        () if !layer.agents.is_empty() => Err(("agents", "expected at the top of the file")),
        () => Ok(()),
    }
}

impl Layers {
    /// Changes every effective policy.
    pub(super) fn change(&mut self, change: impl Fn(&mut Policy)) {
        for policy in self.effective.values_mut() {
            change(Arc::make_mut(policy));
        }
    }

    /// Returns the effective policy of a step, where a layer holds for it.
    pub fn of(&self, step: &Step, caller: &Caller) -> Option<&Arc<Policy>> {
        if self.effective.is_empty() {
            return None;
        }
        let team = self.teams.iter().position(|team| team.callers.matches(&caller.name));
        let agent = step.agent.as_ref().and_then(|agent| agent.id.as_ref());
        let agent = agent.and_then(|id| {
            self.agent(id.as_str(), team, |agent| {
                agent
                    .callers
                    .as_ref()
                    .is_none_or(|callers| callers.matches(&caller.name))
            })
        });
        self.effective.get(&(team, agent))
    }

    /// Returns the layers of a team and an agent, for a caller whom they believe, and the effective policy. `None` where there is no such team.
    pub fn named<'a>(
        &'a self,
        team: Option<&str>,
        agent: Option<&str>,
    ) -> Option<(Selected<'a>, Option<&'a Arc<Policy>>)> {
        let team = match team {
            None => None,
            Some(name) => Some(self.teams.iter().position(|team| team.name == name)?),
        };
        let agent = agent.and_then(|id| self.agent(id, team, |_| true));
        Some((self.selected(team, agent), self.effective.get(&(team, agent))))
    }

    /// Every layer, as `teams.NAME` or `agents.ID`, with the version of what it says itself.
    pub fn versions(&self) -> impl Iterator<Item = (String, &str)> {
        let teams = self
            .teams
            .iter()
            .map(|team| (format!("teams.{}", team.name), team.version.as_str()));
        let agents = self
            .agents
            .iter()
            .map(|agent| (format!("agents.{}", agent.name), agent.version.as_str()));
        teams.chain(agents)
    }

    /// Returns every effective policy, with the layers that make it.
    pub fn iter(&self) -> impl Iterator<Item = (Selected<'_>, &Arc<Policy>)> {
        self.effective
            .iter()
            .map(|((team, agent), policy)| (self.selected(*team, *agent), policy))
    }

    fn agent(&self, id: &str, team: Option<usize>, believed: impl Fn(&Agent) -> bool) -> Option<usize> {
        self.agents
            .iter()
            .position(|agent| (agent.team.is_none() || agent.team == team) && agent.ids.matches(id) && believed(agent))
    }

    fn selected(&self, team: Option<usize>, agent: Option<usize>) -> Selected<'_> {
        Selected {
            team: team.and_then(|at| self.teams.get(at)).map(|team| team.name.as_str()),
            agent: agent
                .and_then(|at| self.agents.get(at))
                .map(|agent| agent.name.as_str()),
        }
    }
}

impl Policy {
    /// Returns the policy that holds for a step: with the layers of its team and its agent.
    pub fn of<'p>(self: &'p Arc<Self>, step: &Step, caller: &Caller) -> &'p Arc<Self> {
        self.layers.of(step, caller).unwrap_or(self)
    }
}

#[cfg(test)]
mod tests;
