//! The table of known formats: one keyword gate over everything, then only the patterns whose keywords stand in the text, and
//! only around them.
//!
//! Patterns are byte patterns without Unicode classes; each is compiled when its keyword is first met. Expressions run in
//! linear time and windows around keywords are merged, but a text made for the purpose can still name every format at every
//! other byte: an [`CostMeter`] bounds the bytes read, and a text that exhausts it is itself one finding, whole.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use foldhash::fast::RandomState;

use super::data;
use super::format::{CostMeter, Form, Format, Hit};
use super::labelled;
use super::names::{self, Label};
use crate::model::{Confidence, Rule};
use crate::prefilter::tables::Tables;
use crate::prefilter::{KeywordHit, Keywords, Word};
use crate::text::keywords::Before;
use crate::text::spans::first_of_overlapping;
use crate::text::{DataError, data_file};

/// Every rule of the family.
pub(super) struct Table {
    rules: Vec<Rule>,
    formats: Vec<Format>,
    words: Vec<Word>,
    /// The words of formats that need none beside them, at their places; compiled when first used.
    self_evident: OnceLock<Keywords>,
    targets: Vec<Vec<Target>>,
    labelled_password: usize,
    labelled_token: usize,
    flood: usize,
}

/// Secrets of one text that are reported one by one.
const MAX_HITS: usize = 1000;

/// The cost of looking at the value of one name.
const LABEL_COST: usize = 512;

/// The patterns that are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// All.
    Everything,
    /// Only those that need no word beside them: what can be told even from pieces joined.
    SelfEvident,
}

#[derive(Clone, Debug)]
enum Target {
    /// A keyword of a format.
    Format(usize),
    /// A name that makes the value beside it a secret.
    Label(Label),
}

impl Table {
    /// Reads the rule data.
    pub(super) fn load() -> Result<Self, DataError> {
        let entries = data::read()?;
        let position = |id: &str| {
            let id = format!("{}.{id}", super::FAMILY);
            let place = entries.iter().position(|entry| entry.rule.id == id);
            place.ok_or_else(|| {
                data_file!("prefilter/rules/secret/labelled.toml")
                    .error(format!("rule `{id}`: the code refers to it, no file holds it"))
            })
        };
        let labelled_password = position("labelled_password")?;
        let labelled_token = position("labelled_token")?;
        let flood = position("flood")?;

        let mut rules = Vec::with_capacity(entries.len());
        let mut formats: Vec<Format> = Vec::with_capacity(entries.len());
        let mut keywords: Vec<(Word, Target)> = Vec::new();
        for (rule, entry) in entries.into_iter().enumerate() {
            if let Some(format) = Format::of(rule, &entry) {
                let index = formats.len();
                let words = entry.keywords.iter().map(|keyword| gate_word(keyword, format.form));
                keywords.extend(words.map(|word| (word, Target::Format(index))));
                formats.push(format);
            }
            rules.push(entry.rule);
        }
        keywords.extend(names::keywords().map(|(keyword, label)| (Word::any_case(keyword), Target::Label(label))));
        let order = |word: &Word| (word.text.clone(), word.before == Before::NoWord);
        keywords.sort_by_cached_key(|(word, _)| order(word));

        let mut words: Vec<Word> = Vec::new();
        let mut targets: Vec<Vec<Target>> = Vec::new();
        for (keyword, target) in keywords {
            match targets.last_mut() {
                Some(last) if words.last() == Some(&keyword) => last.push(target),
                Some(_) | None => {
                    words.push(keyword);
                    targets.push(vec![target]);
                }
            }
        }
        Ok(Self {
            rules,
            formats,
            words,
            self_evident: OnceLock::new(),
            targets,
            labelled_password,
            labelled_token,
            flood,
        })
    }

    /// The rules as documented.
    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The keywords of every format and the names of values.
    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    /// Returns the words of formats that need none beside them. One that needs another keeps its place as an empty one, which is never found.
    fn self_evident_words(&self) -> Vec<Word> {
        let tells_itself = |target: &Target| match target {
            Target::Format(index) => self.formats.get(*index).is_some_and(Format::is_self_evident),
            Target::Label(_) => false,
        };
        let words = self.words.iter().zip(&self.targets);
        let kept = words.map(|(word, targets)| match targets.iter().any(tells_itself) {
            true => word.clone(),
            false => Word::exact(""),
        });
        kept.collect()
    }

    /// Every secret in pieces that are joined, as far as it can be told from them alone.
    pub(super) fn self_evident_hits(&self, text: &str) -> Vec<Hit> {
        let gate = self
            .self_evident
            .get_or_init(|| Keywords::of([self.self_evident_words()]));
        let words = gate.hits(text);
        let mut effort = CostMeter::for_text(text, CostMeter::OF_STEP);
        self.hits(text, words.of(0), Reading::SelfEvident, &mut effort)
    }

    /// Every secret in a text in which these words stand, the most specific where several overlap, in the order of the text.
    pub(super) fn hits(
        &self,
        text: &str,
        words: impl Iterator<Item = KeywordHit>,
        reading: Reading,
        effort: &mut CostMeter,
    ) -> Vec<Hit> {
        let mut words = words.peekable();
        if words.peek().is_none() {
            return Vec::new();
        }
        let bytes = text.as_bytes();
        // Of some hundred formats a text names a few.
        let mut windows: HashMap<usize, Vec<Range<usize>>, RandomState> = HashMap::default();
        let mut touched: Vec<usize> = Vec::new();
        let mut hits = Vec::new();
        let mut tables = Tables::default();
        for found in words {
            for target in self.targets.get(found.word).into_iter().flatten() {
                match target {
                    Target::Format(index) => {
                        let Some(format) = self.formats.get(*index) else {
                            continue;
                        };
                        if reading == Reading::SelfEvident && !format.is_self_evident() {
                            continue;
                        }
                        match format.form {
                            Form::TokenAtKeyword => format.read_token(text, found.span.start, effort, &mut hits),
                            Form::Named | Form::TokenNearKeyword | Form::Pattern => {
                                let windows = windows.entry(*index).or_default();
                                if windows.is_empty() {
                                    touched.push(*index);
                                }
                                format.widen(windows, found.span.clone(), bytes.len());
                            }
                        }
                    }
                    Target::Label(label) => {
                        if reading == Reading::Everything
                            && let Some(name) = labelled::name_at(text, found.span.clone(), *label)
                        {
                            effort.spend(LABEL_COST);
                            let cells = labelled::in_table(&mut tables, text, &name);
                            hits.extend(cells.iter().map(|found| self.labelled_hit(found)));
                            hits.extend(labelled::value_after(text, &name).map(|found| self.labelled_hit(&found)));
                        }
                    }
                }
            }
            if effort.is_exhausted() {
                break;
            }
        }
        for index in touched {
            if let (Some(format), Some(windows)) = (self.formats.get(index), windows.get(&index)) {
                for window in windows {
                    format.read_window(text, window.clone(), effort, &mut hits);
                }
            }
        }
        let hits = most_specific(hits);
        if effort.is_exhausted() || hits.len() > MAX_HITS {
            return vec![Hit {
                rule: self.flood,
                span: 0..text.len(),
                confidence: Confidence::Medium,
                form: None,
            }];
        }
        hits
    }

    /// The secret that a whole text is when its name in the document says so.
    pub(super) fn hit_by_name(&self, name: &str, text: &str) -> Option<Hit> {
        labelled::whole(name, text).map(|found| self.labelled_hit(&found))
    }

    fn labelled_hit(&self, found: &labelled::Found) -> Hit {
        Hit {
            rule: match found.label {
                Label::Password => self.labelled_password,
                Label::Token | Label::Key => self.labelled_token,
            },
            span: found.span.clone(),
            confidence: found.confidence,
            form: None,
        }
    }

    /// The rules whose patterns do not compile; for the test that holds that all do.
    #[cfg(test)]
    pub(super) fn broken_patterns(&self) -> Vec<&str> {
        let broken = self.formats.iter().filter(|format| !format.compiles());
        broken
            .filter_map(|format| Some(self.rules.get(format.rule)?.id.as_str()))
            .collect()
    }
}

/// The word of the gate for a keyword of a format.
fn gate_word(keyword: &str, form: Form) -> Word {
    // A keyword with capital letters counts only as written.
    let exact = keyword.bytes().any(|b| b.is_ascii_uppercase());
    let word = if exact {
        Word::exact(keyword)
    } else {
        Word::any_case(keyword)
    };
    // A token is read where its keyword does not stand inside a word.
    match form {
        Form::TokenAtKeyword => word.free(),
        Form::Named | Form::TokenNearKeyword | Form::Pattern => word,
    }
}

/// Keeps, of overlapping hits, the surest; among equally sure ones the most specific, then that of the earlier rule.
fn most_specific(hits: Vec<Hit>) -> Vec<Hit> {
    let order = |hit: &Hit| {
        let surest = Reverse(hit.confidence);
        (surest, hit.form.is_none(), hit.form, hit.rule, hit.span.start)
    };
    first_of_overlapping(hits, |hit| hit.span.clone(), order)
}
