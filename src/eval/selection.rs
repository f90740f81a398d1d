//! Which cases of the suites are run.

use super::Case;

/// Which cases are run; what is left out selects all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only cases of one of these sources.
    pub sources: Vec<String>,
    /// Only cases with one of these tags.
    pub tags: Vec<String>,
    /// Only cases of one of these methods.
    pub methods: Vec<String>,
    /// At most so many, drawn at random.
    pub sample: Option<usize>,
    /// The seed of the draw: the same cases and seed make the same sample.
    pub seed: u64,
}

#[derive(serde::Deserialize)]
struct Method<'a> {
    method: std::borrow::Cow<'a, str>,
}

impl Selection {
    /// The selected cases, in their order.
    pub fn of<'c>(&self, cases: &'c [Case]) -> Vec<&'c Case> {
        let mut selected: Vec<&Case> = cases.iter().filter(|case| self.fits(case)).collect();
        if let Some(most) = self.sample.filter(|most| *most < selected.len()) {
            // Each case has a place in the draw of its own: a case more or less in a suite changes little of the sample.
            let place = |case: &Case| blake3::hash(format!("{}\n{}", self.seed, case.id).as_bytes());
            let mut places: Vec<[u8; 32]> = selected.iter().map(|case| *place(case).as_bytes()).collect();
            places.sort_unstable();
            let last = places.get(most.saturating_sub(1)).copied().unwrap_or_default();
            selected.retain(|case| most > 0 && *place(case).as_bytes() <= last);
        }
        selected
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

    /// The selection in words; empty where it is everything.
    pub fn describe(&self, selected: usize, all: usize) -> String {
        let mut parts = Vec::new();
        for (name, values) in [
            ("source", &self.sources),
            ("tag", &self.tags),
            ("method", &self.methods),
        ] {
            if !values.is_empty() {
                parts.push(format!("{name} {}", values.join(" or ")));
            }
        }
        if let Some(most) = self.sample {
            parts.push(format!("a sample of {most}, seed {}", self.seed));
        }
        match parts.is_empty() {
            true => String::new(),
            false => format!("{selected} of {all} cases: {}", parts.join("; ")),
        }
    }
}
