//! Explain: which layer says what a setting is, with the file and the line.
//!
//! It reads the same text as [`PolicyFile`], and follows the same order: agent, team, organisation, the profile and what that extends.
//! A test holds that what it tells is what the compiled policy has.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::conditions::{CONDITION_FAMILY, Condition, ConditionsSection};
use super::file::{LayerFile, PolicyFile};
use super::{PolicyError, Selected, profiles};

/// Keys whose values add up over the layers. Of all others the most specific layer counts.
const ADDED: &[&str] = &["guidance", "tools.deny", "destinations.deny"];
/// The keys that belong to a layer, and to no policy.
const OF_LAYERS: &[&str] = &["extends", "teams", "agents", "callers", "team", "name"];

/// One statement about a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The setting, with dots; of a list of tables, its name.
    pub setting: String,
    /// The value as it is written.
    pub value: String,
    /// The layer that says it, the file and the line.
    pub place: String,
}

/// One layer as it is written.
struct Written<'t> {
    name: String,
    text: &'t str,
    leaves: Vec<Leaf>,
}

struct Leaf {
    setting: String,
    value: String,
    at: usize,
    is_entry: bool,
    /// The place where it stands, if its place in the text does not tell.
    place: Option<String>,
}

/// Explains what the layers say of a setting, or of all settings below it; of everything, where none is named. `file` is the
/// organisation's policy with its text; without one, `profile` is all there is. Lists and tables that add up are explained layer by
/// layer, in the order in which they are looked at.
///
/// # Errors
///
/// When the text is no policy, or when there is no such setting.
pub fn explain(
    file: Option<(&str, &str)>,
    profile: &str,
    selected: Selected<'_>,
    setting: Option<&str>,
) -> Result<Vec<Statement>, PolicyError> {
    let wanted = setting.map(known).transpose()?;
    let mut layers = Vec::new();
    let mut extends = profile.to_owned();
    if let Some((name, text)) = file {
        let own = PolicyFile::parse(text, name)?;
        extends = own.extends.clone().unwrap_or_else(|| "default".to_owned());
        let document = DeTable::parse(text).map_err(|error| malformed(name, &error))?;
        let document = document.get_ref();
        for (section, layer) in [("agents", selected.agent), ("teams", selected.team)] {
            let found = layer.and_then(|layer| document.get(section)?.get_ref().as_table()?.get(layer));
            if let (Some(table), Some(layer)) = (found.and_then(|table| table.get_ref().as_table()), layer) {
                let who = section.trim_end_matches('s');
                let conditions = match section {
                    "agents" => own.agents.get(layer),
                    _ => own.teams.get(layer),
                };
                let mut written = Written::of(format!("{who} `{layer}`, {name}"), text, table);
                written.tell(
                    conditions.map(|LayerFile(layer)| &layer.conditions),
                    &format!("{who} `{layer}`"),
                );
                layers.push(written);
            }
        }
        let mut written = Written::of(format!("organisation, {name}"), text, document);
        written.tell(Some(&own.conditions), "organisation");
        layers.push(written);
    }
    while let Some(text) = profiles::source(&extends) {
        let name = format!("built-in profile `{extends}`");
        let document = DeTable::parse(text).map_err(|error| malformed(&name, &error))?;
        layers.push(Written::of(name, text, document.get_ref()));
        let next = PolicyFile::profile(&extends)?.extends;
        extends = next.unwrap_or_else(|| "default".to_owned());
    }
    Ok(said(&layers, wanted.as_deref()))
}

fn said(layers: &[Written<'_>], wanted: Option<&str>) -> Vec<Statement> {
    let fits = |setting: &str| {
        wanted.is_none_or(|wanted| {
            setting
                .strip_prefix(wanted)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let mut said: Vec<Statement> = Vec::new();
    for layer in layers {
        let earlier = said.len();
        for leaf in layer.leaves.iter().filter(|leaf| fits(&leaf.setting)) {
            let adds = leaf.is_entry || ADDED.contains(&leaf.setting.as_str());
            let is_said = |said: &Statement| said.setting == leaf.setting;
            if adds || !said.iter().take(earlier).any(is_said) {
                let line = layer.text.get(..leaf.at).unwrap_or_default().matches('\n').count() + 1;
                let place = leaf.place.clone();
                said.push(Statement {
                    setting: leaf.setting.clone(),
                    value: leaf.value.clone(),
                    place: place.unwrap_or_else(|| format!("{}:{line}", layer.name)),
                });
            }
        }
    }
    // Together by setting; within one, in the order of the layers.
    said.sort_by(|a, b| a.setting.cmp(&b.setting));
    said
}

/// Returns a setting in the form of [`Leaf::setting`].
fn known(setting: &str) -> Result<String, PolicyError> {
    let unknown = |why: String| PolicyError::Invalid {
        file: "the setting".to_owned(),
        key: setting.to_owned(),
        why,
    };
    // One condition, by its id.
    if setting.starts_with("conditions.") {
        return Ok(setting.to_owned());
    }
    // Its names are read as a file's are, quotes included.
    let text = format!("{setting} = 0");
    let document = DeTable::parse(&text).map_err(|_| {
        unknown("expected names with dots, such as `judge.table.high` or `posture.\"steps/message\"`".to_owned())
    })?;
    // A key that no policy has is refused by the reader; a wrong value is none of its concern here.
    match PolicyFile::parse(&text, "") {
        Err(PolicyError::Malformed { why, .. }) if why.contains("unknown field") => {
            let why = why.lines().last().unwrap_or_default().to_owned();
            return Err(unknown(why));
        }
        _ => {}
    }
    let written = Written::of(String::new(), &text, document.get_ref());
    let leaf = written.leaves.into_iter().next();
    leaf.map(|leaf| leaf.setting)
        .ok_or_else(|| unknown("expected a setting of a policy".to_owned()))
}

impl<'t> Written<'t> {
    fn of(name: String, text: &'t str, table: &DeTable<'_>) -> Self {
        let mut leaves = Vec::new();
        for (key, value) in table {
            if !OF_LAYERS.contains(&key.get_ref().as_ref()) {
                collect(name_of(key.get_ref()), key.span().start, value, text, &mut leaves);
            }
        }
        leaves.sort_by_key(|leaf| leaf.at);
        Self { name, text, leaves }
    }

    /// Adds the conditions of the layer, each by itself, in whichever file they are written.
    fn tell(&mut self, conditions: Option<&ConditionsSection>, whose: &str) {
        self.leaves.retain(|leaf| !leaf.setting.starts_with("conditions."));
        for Condition { rule, place, .. } in conditions.into_iter().flat_map(ConditionsSection::iter) {
            self.leaves.push(Leaf {
                setting: rule.id.replacen(CONDITION_FAMILY, "conditions", 1),
                value: format!("forbid ({}): {}", rule.suggests.as_str(), rule.title),
                at: 0,
                is_entry: true,
                place: Some(format!("{whose}, {place}")),
            });
        }
    }
}

fn collect(setting: String, at: usize, value: &Spanned<DeValue<'_>>, text: &str, leaves: &mut Vec<Leaf>) {
    let shown = || text.get(value.span()).unwrap_or_default().trim().to_owned();
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, value) in table {
                let setting = format!("{setting}.{}", name_of(key.get_ref()));
                collect(setting, key.span().start, value, text, leaves);
            }
        }
        DeValue::Array(entries) if entries.iter().any(|entry| entry.get_ref().is_table()) => {
            for entry in entries {
                let mut inside = Vec::new();
                if let Some(table) = entry.get_ref().as_table() {
                    for (key, value) in table {
                        collect(name_of(key.get_ref()), key.span().start, value, text, &mut inside);
                    }
                }
                inside.sort_by_key(|leaf| leaf.at);
                let pairs: Vec<String> = inside
                    .iter()
                    .map(|leaf| format!("{} = {}", leaf.setting, leaf.value))
                    .collect();
                leaves.push(Leaf {
                    setting: setting.clone(),
                    value: format!("{{ {} }}", pairs.join(", ")),
                    at: inside.first().map_or(at, |first| first.at),
                    is_entry: true,
                    place: None,
                });
            }
        }
        _ => leaves.push(Leaf {
            setting,
            value: shown(),
            at,
            is_entry: false,
            place: None,
        }),
    }
}

/// Returns a name as it is written in a file.
fn name_of(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    }
}

fn malformed(file: &str, error: &toml::de::Error) -> PolicyError {
    PolicyError::Malformed {
        file: file.to_owned(),
        why: error.to_string(),
    }
}
