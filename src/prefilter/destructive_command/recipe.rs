//! Files that something runs by itself — a build, a pipeline, an installer, a timer — and the commands that stand in them.
//!
//! Writing such a file is ordinary work, and so is nearly all that stands in one: caches are cleared, packages are
//! installed, old releases are deleted. So of what a command there would do only that counts which no recipe does for good
//! ([`is_grave`]); everything else stays talk of commands.

mod yaml;

use std::ops::Range;

use super::secrets::found_key;
use super::{Danger, Seen, code, look_at_nested, look_at_shell, network};
use crate::prefilter::locations::{Location, Steering};
use crate::shell::wrappers::jobs;
use crate::shell::{self, Call};

/// A command of a recipe, and where it stands.
type Job = (String, Range<usize>);

/// The most commands that are read of one file; one more says that there are more.
const MOST_JOBS: usize = 256;
/// The longest file that is read.
const LONGEST: usize = 64 * 1024;

/// How a file that is run by itself spells its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recipe {
    /// Rules of `make` and its kin: lines behind a tab.
    Make,
    /// Instructions that build an image.
    Image,
    /// A unit of a service manager.
    Unit,
    /// A table of jobs with their times.
    Table,
    /// A manifest in JSON whose scripts a package manager runs.
    Manifest,
    /// A pipeline, a set of services or of hooks in YAML.
    Yaml,
    /// A pipeline in Groovy.
    Groovy,
    /// A program that a build or a test run loads by its name.
    Program,
}

impl Recipe {
    /// The kind of a file, by its path.
    pub(super) fn of(path: &str) -> Option<Self> {
        let location = Location::of(path);
        let path = location.as_str();
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_yaml = name.ends_with(".yml") || name.ends_with(".yaml");
        match name {
            "makefile" | "gnumakefile" | "justfile" | ".justfile" => Some(Recipe::Make),
            "dockerfile" | "containerfile" => Some(Recipe::Image),
            "package.json" | "composer.json" => Some(Recipe::Manifest),
            "setup.py" | "conftest.py" | "noxfile.py" | "gulpfile.js" | "gruntfile.js" => Some(Recipe::Program),
            "crontab" => Some(Recipe::Table),
            _ if name.ends_with(".mk") => Some(Recipe::Make),
            _ if name.starts_with("dockerfile.") || name.ends_with(".dockerfile") => Some(Recipe::Image),
            _ if [".service", ".desktop"].iter().any(|end| name.ends_with(end)) => Some(Recipe::Unit),
            _ if name.starts_with("crontab.") || name.ends_with(".crontab") || path.contains("/cron.d/") => {
                Some(Recipe::Table)
            }
            _ if name.starts_with("jenkinsfile") => Some(Recipe::Groovy),
            _ if is_yaml && is_known_yaml(name, &location) => Some(Recipe::Yaml),
            _ => None,
        }
    }

    /// The commands of a file, each with its place.
    fn jobs(self, text: &str) -> Vec<Job> {
        match self {
            Recipe::Make => of_make(text),
            Recipe::Image => of_image(text),
            Recipe::Unit => of_unit(text),
            Recipe::Table => jobs(text).map(|(job, span)| (job.to_owned(), span)).collect(),
            Recipe::Manifest => of_manifest(text),
            Recipe::Yaml => yaml::jobs(text),
            Recipe::Groovy => of_groovy(text),
            Recipe::Program => Vec::new(),
        }
    }
}

/// Whether YAML of this name is run: by a build server, by hooks, or to start services and tasks.
fn is_known_yaml(name: &str, location: &Location) -> bool {
    let bare = name.trim_end_matches(".yaml").trim_end_matches(".yml");
    let runs = matches!(location.steering(), Some(Steering::Pipeline | Steering::Hook));
    let starts = [
        "docker-compose",
        "compose",
        "taskfile",
        "cloud-init",
        "cloud-config",
        "user-data",
    ];
    runs || starts
        .iter()
        .any(|known| bare == *known || bare.strip_prefix(known).is_some_and(|rest| rest.starts_with('.')))
}

/// Looks at the commands of a file that is run by itself.
pub(super) fn look(recipe: Recipe, text: &str, seen: &mut Seen) {
    if text.len() > LONGEST {
        seen.add_at(
            Danger::NotExamined,
            0..1,
            "is too long to be read as what runs by itself",
        );
        return;
    }
    if recipe == Recipe::Program {
        let mut here = Seen::default();
        let mut nested = Vec::new();
        code::look(text, &mut here, &mut nested);
        look_at_nested(nested, &mut here);
        // How its language fetches is not followed here; that it does so in the open shows in the address.
        if !text.contains("http://") {
            here.dangers.retain(|(danger, _, _)| *danger != Danger::PipeToShell);
        }
        seen.work += here.work;
        for (danger, span, what) in here.dangers {
            if danger == Danger::PipeToShell || is_grave(danger, text) {
                seen.add_at(danger, span, what);
            }
        }
    }
    let jobs = recipe.jobs(text);
    if let Some((_, first)) = jobs.get(MOST_JOBS) {
        seen.add_at(
            Danger::NotExamined,
            first.clone(),
            "stands behind more commands than are read of one file",
        );
    }
    for (job, span) in jobs.into_iter().take(MOST_JOBS) {
        let mut here = Seen {
            outer: Some(span.clone()),
            ..Seen::default()
        };
        let mut nested = Vec::new();
        look_at_shell(&job, &mut here, &mut nested);
        let nested = nested.into_iter().map(|(text, _)| (text, span.clone())).collect();
        look_at_nested(nested, &mut here);
        keep_grave(here, &job, seen);
    }
}

/// Keeps of what was seen in one command what no honest recipe does.
fn keep_grave(here: Seen, job: &str, seen: &mut Seen) {
    seen.work += here.work;
    for (danger, span, what) in here.dangers {
        if is_grave(danger, job) {
            seen.add_at(danger, span, what);
        }
    }
}

/// Whether no honest recipe does this.
fn is_grave(danger: Danger, job: &str) -> bool {
    let is_plain = matches!(
        danger,
        Danger::DeleteRoot
            | Danger::DiskOverwrite
            | Danger::ForkBomb
            | Danger::ReverseShell
            | Danger::Exfiltrate
            | Danger::Ransom
    );
    // Installers are piped into shells in recipes every day, over a connection that is protected.
    let fetches = |call: &Call| network::is_fetch(call) && network::is_unprotected(call);
    is_plain || danger == Danger::PipeToShell && shell::read(job, found_key).calls.iter().any(fetches)
}

/// The lines of a text with their places.
fn lines(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let begin = start;
        start += line.len();
        (line.trim_end_matches(['\n', '\r']), begin..start)
    })
}

/// Lines that end with a back-slash with those that follow them.
fn whole_lines(text: &str) -> Vec<(String, Range<usize>)> {
    let mut all: Vec<(String, Range<usize>)> = Vec::new();
    let mut goes_on = false;
    for (line, span) in lines(text) {
        let bare = line.strip_suffix('\\');
        let piece = bare.unwrap_or(line);
        match all.last_mut().filter(|_| goes_on) {
            Some((whole, place)) => {
                whole.push(' ');
                whole.push_str(piece);
                place.end = span.end;
            }
            None => all.push((piece.to_owned(), span)),
        }
        goes_on = bare.is_some();
    }
    all
}

fn of_make(text: &str) -> Vec<Job> {
    let is_recipe = |line: &str| line.starts_with('\t') || line.starts_with("  ");
    let found = whole_lines(text).into_iter().filter(|(line, _)| is_recipe(line));
    let written = |line: &str| {
        let line = line.trim_start().trim_start_matches(['@', '-', '+']);
        // Two signs of money are one for the shell, and brackets hold a variable.
        let line = line.replace("$$", "\u{1}").replace("$(", "${");
        let line = closed(&line);
        line.replace('\u{1}', "$")
    };
    found.map(|(line, span)| (written(&line), span)).collect()
}

/// A line in which what opens with `${` closes with `}`.
fn closed(line: &str) -> String {
    let mut written = String::with_capacity(line.len());
    let mut open = false;
    let mut before = ' ';
    for c in line.chars() {
        match c {
            '{' if before == '$' => open = true,
            '}' => open = false,
            _ => {}
        }
        let closes = open && c == ')';
        open &= !closes;
        written.push(if closes { '}' } else { c });
        before = c;
    }
    written
}

fn of_image(text: &str) -> Vec<Job> {
    let mut found = Vec::new();
    let mut all = whole_lines(text).into_iter().peekable();
    while let Some((line, mut span)) = all.next() {
        let line = line.trim();
        let (instruction, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let instruction = instruction.to_ascii_uppercase();
        if !matches!(
            instruction.as_str(),
            "RUN" | "CMD" | "ENTRYPOINT" | "HEALTHCHECK" | "ONBUILD"
        ) {
            continue;
        }
        let rest = rest.trim_start();
        let rest = rest
            .strip_prefix("CMD ")
            .or_else(|| rest.strip_prefix("RUN "))
            .unwrap_or(rest);
        let bare = rest.split_whitespace().skip_while(|word| word.starts_with("--"));
        let rest = bare.collect::<Vec<_>>().join(" ");
        if let Some(end) = rest
            .strip_prefix("<<")
            .map(|end| end.trim_matches(['-', '"', '\'', ' ']).to_owned())
        {
            let mut script = String::new();
            while let Some((line, place)) = all.next_if(|(line, _)| line.trim() != end) {
                script.push_str(&line);
                script.push('\n');
                span.end = place.end;
            }
            found.push((script, span));
        } else if let Some(words) = yaml::flow(&rest) {
            found.push((quoted(words.iter().map(String::as_str)), span));
        } else {
            found.push((rest, span));
        }
    }
    found
}

fn of_unit(text: &str) -> Vec<Job> {
    let job = |(line, span): (String, Range<usize>)| {
        let (key, value) = line.trim().split_once('=')?;
        let value = value.trim_start_matches(['-', '@', ':', '+', '!', '|', ' ']);
        key.trim().starts_with("Exec").then(|| (value.to_owned(), span))
    };
    whole_lines(text).into_iter().filter_map(job).collect()
}

/// The scripts of a manifest; of a piece of one, every text that is the value of a key.
fn of_manifest(text: &str) -> Vec<Job> {
    let known = serde_json::from_str::<serde_json::Value>(text).ok().map(|manifest| {
        let scripts = manifest.get("scripts").and_then(|scripts| scripts.as_object());
        let values = scripts.into_iter().flat_map(|scripts| scripts.values());
        let flat = values.flat_map(|value| match value {
            serde_json::Value::Array(all) => all.iter().collect(),
            one => vec![one],
        });
        flat.filter_map(|value| value.as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    });
    if let Some(scripts) = known {
        return scripts.into_iter().map(|script| (script, 0..text.len())).collect();
    }
    let value = |(line, span): (&str, Range<usize>)| {
        let (_, value) = line.split_once("\":")?;
        let value = value.trim().trim_end_matches(',').trim();
        Some((serde_json::from_str::<String>(value).ok()?, span))
    };
    lines(text).filter_map(value).collect()
}

/// The texts that steps of a pipeline hand to a shell.
fn of_groovy(text: &str) -> Vec<Job> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let steps = ["sh ", "sh(", "bat ", "bat("];
        let Some((place, step)) = steps.iter().filter_map(|step| Some((rest.find(step)?, *step))).min() else {
            break;
        };
        let from = at + place + step.len();
        at = from;
        let argument = text.get(from..).unwrap_or_default();
        let bare = argument.trim_start().trim_start_matches("script:").trim_start();
        let opens = argument.len() - bare.len();
        let quotes = ["'''", "\"\"\"", "'", "\""];
        let Some(quote) = quotes.iter().find(|quote| bare.starts_with(**quote)) else {
            continue;
        };
        let inside = bare.get(quote.len()..).unwrap_or_default();
        let Some(end) = inside.find(quote) else { continue };
        let script = inside.get(..end).unwrap_or_default();
        at = from + opens + quote.len() + end + quote.len();
        found.push((script.to_owned(), from..at));
        if found.len() > MOST_JOBS {
            break;
        }
    }
    found
}

/// Words as a line that a shell splits into the same words.
fn quoted<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let quote = |word: &str| match word.contains(|c: char| !(c.is_alphanumeric() || "-_./=:,+@%".contains(c))) {
        true => format!("'{}'", word.replace('\'', "'\\''")),
        false => word.to_owned(),
    };
    words.map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
