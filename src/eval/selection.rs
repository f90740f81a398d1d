//! The selection of the cases that are run.

use std::path::PathBuf;

use super::{Case, CaseReader, EvalError};

/// The selection of cases; what is left out selects all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only cases of one of these sources.
    pub sources: Vec<String>,
    /// Only cases with one of these tags.
    pub tags: Vec<String>,
    /// Only cases of one of these methods.
    pub methods: Vec<String>,
    /// The largest number of cases, drawn at random.
    pub sample: Option<usize>,
    /// The seed of the draw: the same cases and seed make the same sample.
    pub seed: u64,
}

/// A digest of 128 bits.
type Hash = [u8; 16];

/// The cases of a run. They are known by their digests, and read again when it is their turn: suites may be larger than memory.
#[derive(Debug, Default)]
pub struct Chosen {
    paths: Vec<PathBuf>,
    selection: Selection,
    /// The last place of the draw, where there is one.
    last: Option<Hash>,
    /// The digest of each case, in their order.
    digests: Vec<Hash>,
    /// Cases in the suites, chosen or not.
    pub all: usize,
    /// Lines that could not be read, in their order.
    pub unreadable: Vec<EvalError>,
}

#[derive(serde::Deserialize)]
struct Method<'a> {
    method: std::borrow::Cow<'a, str>,
}

impl Selection {
    /// Reads suites once, shows each case that fits to `see`, and draws the sample.
    ///
    /// # Errors
    ///
    /// The first file that cannot be read, that there is nothing, or what `see` answers.
    pub fn of<E: From<EvalError>>(
        self,
        paths: &[PathBuf],
        mut see: impl FnMut(&Case) -> Result<(), E>,
    ) -> Result<Chosen, E> {
        let mut chosen = Chosen {
            paths: paths.to_owned(),
            selection: self,
            ..Chosen::default()
        };
        let mut reader = CaseReader::of(paths)?;
        let mut places = Vec::new();
        for read in reader.by_ref() {
            match read {
                Err(error) => chosen.unreadable.push(error),
                Ok(case) => {
                    chosen.all += 1;
                    if chosen.selection.fits(&case) {
                        see(&case)?;
                        places.push(chosen.selection.place(&case));
                        chosen.digests.push(digest(&case));
                    }
                }
            }
        }
        if chosen.all == 0 && chosen.unreadable.is_empty() {
            return Err(reader.nothing(paths).into());
        }
        if let Some(most) = chosen.selection.sample.filter(|most| *most < places.len()) {
            let mut sorted = places.clone();
            sorted.sort_unstable();
            let last = most.checked_sub(1).and_then(|last| sorted.get(last)).copied();
            let mut drawn = places.iter().map(|place| last.is_some_and(|last| *place <= last));
            chosen.digests.retain(|_| drawn.next().unwrap_or_default());
            chosen.last = last;
        }
        Ok(chosen)
    }

    /// Each case has a place in the draw of its own: a case more or less in a suite changes little of the sample.
    fn place(&self, case: &Case) -> Hash {
        short(&blake3::hash(format!("{}\n{}", self.seed, case.id).as_bytes()))
    }

    fn fits(&self, case: &Case) -> bool {
        let method = || {
            let method = serde_json::from_str::<Method<'_>>(case.request.get());
            method.map(|request| request.method.into_owned()).unwrap_or_default()
        };
        (self.sources.is_empty() || self.sources.contains(&case.source))
            && (self.tags.is_empty() || case.tags.iter().any(|tag| self.tags.contains(tag)))
            && (self.methods.is_empty() || self.methods.contains(&method()))
    }
}

impl Chosen {
    /// How many cases there are.
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// Whether there is no case.
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// A digest of the cases: their ids, requests, histories and expectations, in their order.
    pub fn digest(&self) -> String {
        let digest = blake3::hash(self.digests.as_flattened());
        digest.to_hex().chars().take(32).collect()
    }

    /// Reads the cases again, in their order. One that is not what it was is an error: its verdict would stand under the wrong digest.
    ///
    /// # Errors
    ///
    /// The first file that cannot be read.
    pub fn cases(&self) -> Result<impl Iterator<Item = Result<Case, EvalError>> + '_, EvalError> {
        let cases = CaseReader::of(&self.paths)?.filter_map(Result::ok).filter(|case| {
            let drawn = || self.last.is_none_or(|last| self.selection.place(case) <= last);
            self.selection.fits(case) && drawn()
        });
        let mut cases = cases.fuse();
        Ok(self.digests.iter().map(move |expected| {
            let case = cases.next().filter(|case| digest(case) == *expected);
            case.ok_or_else(|| EvalError("the suites were changed while they were run".to_owned()))
        }))
    }

    /// The selection in words; empty where it is everything.
    pub fn describe(&self) -> String {
        let selection = &self.selection;
        let mut parts = Vec::new();
        for (name, values) in [
            ("source", &selection.sources),
            ("tag", &selection.tags),
            ("method", &selection.methods),
        ] {
            if !values.is_empty() {
                parts.push(format!("{name} {}", values.join(" or ")));
            }
        }
        if let Some(most) = selection.sample {
            parts.push(format!("a sample of {most}, seed {}", selection.seed));
        }
        match parts.is_empty() {
            true => String::new(),
            false => format!("{} of {} cases: {}", self.len(), self.all, parts.join("; ")),
        }
    }
}

fn digest(case: &Case) -> Hash {
    let mut hasher = blake3::Hasher::new();
    let expected = format!("{:?} {:?}", case.expected, case.weight);
    let parts = [case.id.as_str(), case.request.get(), &expected];
    for part in parts.into_iter().chain(case.history.iter().map(|earlier| &**earlier)) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    short(&hasher.finalize())
}

fn short(hash: &blake3::Hash) -> Hash {
    hash.as_bytes().first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read_again_when_they_are_run_and_changed_ones_are_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("suite.jsonl");
        let line = |id: usize, text: &str| {
            format!(
                r#"{{"id":"s{id}","agent":{{"id":"a"}},"steps":[{{"kind":"user","text":"{text}","label":"allow"}}]}}"#
            )
        };
        let lines: Vec<String> = (0..30).map(|id| line(id, "good morning")).collect();
        std::fs::write(&file, lines.join("\n")).unwrap();
        let selection = Selection {
            sample: Some(10),
            seed: 3,
            ..Selection::default()
        };
        let chosen = selection
            .of(std::slice::from_ref(&file), |_| Ok::<_, EvalError>(()))
            .unwrap();
        assert_eq!((chosen.len(), chosen.all), (10, 30));
        let cases: Vec<Case> = chosen.cases().unwrap().map(Result::unwrap).collect();
        assert_eq!(cases.len(), 10);
        let other = lines.join("\n").replace("good morning", "good evening");
        std::fs::write(&file, other).unwrap();
        assert!(chosen.cases().unwrap().all(|case| case.is_err()));
    }
}
