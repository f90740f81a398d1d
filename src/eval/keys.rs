//! The keys of a labelled step: a misspelt one is an error, one that is not known is reported.
//!
//! A misspelt key (`"polciy"`) would leave its default in force without a word, and a gate would pass what it was to stop. Keys
//! that are like no other are notes of the suite's author: they are read over, and named once.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

/// An object of a labelled step.
pub(super) struct Level {
    /// The path before its keys in messages: nothing, or `expected.`.
    pub(super) at: &'static str,
    /// The keys that mean something here, or in the data sets that the format comes from.
    known: &'static [&'static str],
    /// True if any other key is a note and not reported.
    notes: bool,
}

/// The labelled step itself.
pub(super) const CASE: Level = Level {
    at: "",
    known: &[
        "id",
        "source",
        "request",
        "history",
        "expected",
        "meta",
        "license",
        "split_group",
        "group",
        "weight",
        "note",
    ],
    notes: false,
};

/// `expected`.
pub(super) const EXPECTED: Level = Level {
    at: "expected.",
    known: &[
        "decision",
        "acceptable",
        "reason_codes",
        "policy",
        "organisation",
        "spans",
        "note",
        "severity",
        "label_scope",
        "confidence",
    ],
    notes: false,
};

/// `expected.spans[…]`.
pub(super) const SPAN: Level = Level {
    at: "expected.spans[].",
    known: &["pointer", "text", "required", "start", "end", "kind", "entity"],
    notes: false,
};

/// `meta`: a place for notes of any kind; only `needs` is read.
pub(super) const META: Level = Level {
    at: "meta.",
    known: &["needs", "tag", "tags", "note", "notes", "lang", "seed", "twin"],
    notes: true,
};

/// The keys of each object that a labelled step consists of, by its path; also those that are only notes.
pub const KEYS: &[(&str, &[&str])] = &[
    ("", CASE.known),
    ("expected", EXPECTED.known),
    ("expected.spans", SPAN.known),
    ("meta", META.known),
];

/// Words that people write for a key.
const SYNONYMS: &[(&str, &str)] = &[
    ("profile", "policy"),
    ("org", "organisation"),
    ("organizationid", "organisation"),
    ("organisationid", "organisation"),
    ("verdict", "decision"),
    ("reasons", "reason_codes"),
    ("accept", "acceptable"),
    ("allowed", "acceptable"),
    ("step", "request"),
    ("expect", "expected"),
    ("expectation", "expected"),
    ("steps", "history"),
];

impl Level {
    /// Returns the keys of an object that are not known, each with its level before it.
    ///
    /// # Errors
    ///
    /// The first key that looks like a misspelt one, and the one that it looks like.
    pub(super) fn unknown(&self, json: &str) -> Result<Vec<String>, String> {
        // A text that is no object is reported by its reader.
        let Ok(object) = serde_json::from_str::<BTreeMap<String, IgnoredAny>>(json) else {
            return Ok(Vec::new());
        };
        let mut unknown = Vec::new();
        for key in object.keys().filter(|key| !self.known.contains(&key.as_str())) {
            let expected = EXPECTED.meant_by(key).filter(|_| self.at.is_empty());
            if let Some(meant @ ("policy" | "organisation" | "decision" | "acceptable" | "reason_codes" | "spans")) =
                expected
            {
                return Err(format!("`{key}`: there is no such key; was `expected.{meant}` meant?"));
            }
            if let Some(meant) = self.meant_by(key) {
                return Err(format!(
                    "`{0}{key}`: there is no such key; was `{0}{meant}` meant? Notes of your own belong into `meta`",
                    self.at
                ));
            }
            if !self.notes {
                unknown.push(format!("{}{key}", self.at));
            }
        }
        Ok(unknown)
    }

    /// Returns the key that a text looks like.
    fn meant_by(&self, key: &str) -> Option<&'static str> {
        let plain = plain(key);
        let synonym = SYNONYMS
            .iter()
            .find(|(word, _)| *word == plain && !self.notes)
            .map(|(_, meant)| *meant);
        synonym
            .into_iter()
            .chain(self.known.iter().copied())
            .filter(|known| self.known.contains(known))
            .find(|known| {
                let synonym = SYNONYMS.contains(&(plain.as_str(), known));
                let room = if known.len() > 5 { 2 } else { 1 };
                synonym || strsim::osa_distance(&plain, &self::plain(known)) <= room
            })
    }
}

/// Returns a key in small letters, without what stands between its words.
fn plain(key: &str) -> String {
    key.chars()
        .take(64)
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_told_with_the_one_that_was_meant() {
        for key in ["policy", "polciy", "organisation", "spans"] {
            let error = CASE.unknown(&format!(r#"{{"{key}": 1}}"#)).unwrap_err();
            assert!(error.contains("was `expected."), "{error}");
        }
        for (level, json, key, meant) in [
            (&EXPECTED, r#"{"polciy":1}"#, "expected.polciy", "expected.policy"),
            (&EXPECTED, r#"{"Policy":1}"#, "expected.Policy", "expected.policy"),
            (
                &EXPECTED,
                r#"{"reasonCodes":[]}"#,
                "expected.reasonCodes",
                "expected.reason_codes",
            ),
            (
                &EXPECTED,
                r#"{"acceptble":[]}"#,
                "expected.acceptble",
                "expected.acceptable",
            ),
            (&EXPECTED, r#"{"profile":1}"#, "expected.profile", "expected.policy"),
            (
                &EXPECTED,
                r#"{"organization":1}"#,
                "expected.organization",
                "expected.organisation",
            ),
            (&CASE, r#"{"histroy":[]}"#, "histroy", "history"),
            (
                &SPAN,
                r#"{"requird":true}"#,
                "expected.spans[].requird",
                "expected.spans[].required",
            ),
            (&META, r#"{"neds":"judge"}"#, "meta.neds", "meta.needs"),
        ] {
            let error = level.unknown(json).unwrap_err();
            assert!(error.starts_with(&format!("`{key}`: ")), "{error}");
            assert!(error.contains(&format!("was `{meant}` meant")), "{error}");
        }
    }

    #[test]
    fn notes_are_named_where_they_do_not_belong_and_known_keys_are_not_alike() {
        assert_eq!(
            EXPECTED.unknown(r#"{"decision":1,"reviewed_by":2}"#).unwrap(),
            ["expected.reviewed_by"]
        );
        assert!(
            META.unknown(r#"{"derived":1,"lang":2,"panel":3,"twin_of":4}"#)
                .unwrap()
                .is_empty()
        );
        for level in [&CASE, &EXPECTED, &SPAN, &META] {
            for key in level.known {
                assert!(level.unknown(&format!("{{\"{key}\":1}}")).unwrap().is_empty(), "{key}");
            }
        }
    }
}
