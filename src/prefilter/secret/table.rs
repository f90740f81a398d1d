//! The table of known formats: one keyword gate over everything, then only the patterns whose keywords stand in the text, and
//! only around them.
//!
//! Patterns are byte patterns without Unicode classes; each is compiled when its keyword is first met. Expressions run in
//! linear time and windows around keywords are merged, but a text made for the purpose can still name every format at every
//! other byte: an [`Effort`] bounds the bytes read, and a text that exhausts it is itself one finding, whole.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::check::{Check, Opinion};
use super::data::{self, Entry, KeywordPlace, Shape};
use super::labelled::{self, Label};
use super::value;
use crate::model::Confidence;
use crate::prefilter::{Gate, Rule, Seen, Word};

/// A secret in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// The index of the rule.
    pub rule: usize,
    /// The bytes of exactly the secret, on character borders.
    pub span: Range<usize>,
    /// How sure.
    pub confidence: Confidence,
    /// How specific: the form it was found in; `None`: by a name alone.
    form: Option<Form>,
}

/// Every rule of the family, compiled.
pub(super) struct Table {
    rules: Vec<Rule>,
    formats: Vec<Format>,
    words: Vec<Word>,
    /// The words of formats that need none beside them, at their places.
    self_evident: Gate,
    targets: Vec<Vec<Target>>,
    labelled_password: usize,
    labelled_token: usize,
    flood: usize,
}

/// Bytes that may still be read of one text.
struct Effort(usize);

impl Effort {
    fn for_text(text: &str) -> Self {
        Self(text.len().saturating_mul(32).saturating_add(4 << 20))
    }

    fn spend(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes.saturating_add(16));
    }

    fn is_exhausted(&self) -> bool {
        self.0 == 0
    }
}

/// Secrets of one text that are reported one by one.
const MAX_HITS: usize = 1000;

/// What looking at the value of one name costs.
const LABEL_COST: usize = 512;

/// Which patterns are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// All.
    Everything,
    /// Only those that need no word beside them: what can be told even from pieces sewn together.
    SelfEvident,
}

struct Format {
    rule: usize,
    form: Form,
    expression: String,
    compiled: OnceLock<Option<Regex>>,
    before: usize,
    reach: usize,
    entropy: Option<f64>,
    runs: bool,
    check: Check,
    confidence: Confidence,
}

/// How a format is looked for; the more specific first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    /// A value that a name makes a credential.
    Named,
    /// A token somewhere around its keyword.
    TokenNearKeyword,
    /// A token that begins with its keyword: read from there.
    TokenAtKeyword,
    /// A pattern that says itself what stands around the secret.
    Pattern,
}

#[derive(Clone, Debug)]
enum Target {
    /// A keyword of a format.
    Format(usize),
    /// A name that makes the value beside it a secret.
    Label(Label),
}

impl Table {
    /// Reads and compiles the rule data.
    ///
    /// # Errors
    ///
    /// A sentence that says which file and which rule; a test holds that there is none.
    pub(super) fn load() -> Result<Self, String> {
        let entries = data::read()?;
        let position = |id: &str| {
            entries
                .iter()
                .position(|entry| entry.rule.id == format!("{}.{id}", super::FAMILY))
                .ok_or_else(|| format!("no rule `{id}`"))
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
                keywords.extend(entry.keywords.iter().map(|keyword| {
                    // A keyword with capital letters counts only as written.
                    let exact = keyword.bytes().any(|b| b.is_ascii_uppercase());
                    let word = if exact {
                        Word::exact(keyword)
                    } else {
                        Word::any_case(keyword)
                    };
                    (word, Target::Format(index))
                }));
                formats.push(format);
            }
            rules.push(entry.rule);
        }
        keywords.extend(labelled::keywords().map(|(keyword, label)| (Word::any_case(keyword), Target::Label(label))));
        keywords.sort_by(|(a, _), (b, _)| a.text.cmp(&b.text));

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
        let tells_itself = |target: &Target| match target {
            Target::Format(index) => formats.get(*index).is_some_and(Format::is_self_evident),
            Target::Label(_) => false,
        };
        let self_evident = words
            .iter()
            .zip(&targets)
            .map(|(word, targets)| match targets.iter().any(tells_itself) {
                true => word.clone(),
                // Keeps its place, and is never found.
                false => Word::exact(""),
            });
        let self_evident = Gate::of([self_evident.collect()]);
        Ok(Self {
            rules,
            formats,
            words,
            self_evident,
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

    /// Every secret in pieces that are sewn together, as far as it can be told from them alone.
    pub(super) fn self_evident_hits(&self, text: &str) -> Vec<Hit> {
        self.hits(text, self.self_evident.sightings(text).of(0), Reading::SelfEvident)
    }

    /// Every secret in a text in which these words stand, the most specific where several overlap, in the order of the text.
    pub(super) fn hits(&self, text: &str, words: impl Iterator<Item = Seen>, reading: Reading) -> Vec<Hit> {
        let mut words = words.peekable();
        if words.peek().is_none() {
            return Vec::new();
        }
        let bytes = text.as_bytes();
        let mut effort = Effort::for_text(text);
        // Of some hundred formats a text names a few.
        let mut windows: HashMap<usize, Vec<Range<usize>>> = HashMap::new();
        let mut touched: Vec<usize> = Vec::new();
        let mut hits = Vec::new();
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
                            Form::TokenAtKeyword => format.read_token(text, found.span.start, &mut effort, &mut hits),
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
                            hits.extend(labelled::beside(text, &name).map(|found| self.labelled_hit(&found)));
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
                    format.read_window(text, window.clone(), &mut effort, &mut hits);
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

    /// Compiles every pattern; for the test that holds that all do.
    #[cfg(test)]
    pub(super) fn broken_patterns(&self) -> Vec<String> {
        self.formats
            .iter()
            .filter(|format| format.regex().is_none())
            .map(|format| format.expression.clone())
            .collect()
    }
}

/// Keeps, of overlapping hits, the surest; among equally sure ones the most specific, then that of the earlier rule.
fn most_specific(mut hits: Vec<Hit>) -> Vec<Hit> {
    if hits.len() > 1 {
        hits.sort_by(|a, b| {
            b.confidence
                .cmp(&a.confidence)
                .then(a.form.is_none().cmp(&b.form.is_none()))
                .then(a.form.cmp(&b.form))
                .then(a.rule.cmp(&b.rule))
                .then(a.span.start.cmp(&b.span.start))
        });
        let mut kept = std::collections::BTreeMap::new();
        for hit in hits {
            let free = kept
                .range(..hit.span.end)
                .next_back()
                .is_none_or(|(_, before): (&usize, &Hit)| before.span.end <= hit.span.start);
            if free {
                kept.insert(hit.span.start, hit);
            }
        }
        return kept.into_values().collect();
    }
    hits
}

impl Format {
    fn of(rule: usize, entry: &Entry) -> Option<Self> {
        let expression = match &entry.shape {
            Shape::Token(token) => match entry.keywords_at {
                KeywordPlace::Start => format!(r"\A({token})(?:[^A-Za-z0-9_]|$)"),
                KeywordPlace::Anywhere => format!("({token})(?:[^A-Za-z0-9_]|$)"),
            },
            Shape::Named { names, value } => format!(
                r#"(?:^|[^A-Za-z])(?i:{names})[A-Za-z0-9 _.\-]{{0,25}}(?:\\?["'`\])>]){{0,2}}\s{{0,3}}(?:=|:|,|>|\||\(|\bis\b|\s){{1,4}}\s{{0,4}}(?:\\?["'`<]){{0,3}}(?i:bearer |basic |token |ssws |apikey |token=)?({value})(?:[^A-Za-z0-9_]|$)"#
            ),
            Shape::Pattern(pattern) => pattern.clone(),
            Shape::Labelled => return None,
        };
        Some(Self {
            rule,
            form: match (&entry.shape, entry.keywords_at) {
                (Shape::Token(_), KeywordPlace::Start) => Form::TokenAtKeyword,
                (Shape::Token(_), KeywordPlace::Anywhere) => Form::TokenNearKeyword,
                (Shape::Named { .. }, _) => Form::Named,
                (Shape::Pattern(_) | Shape::Labelled, _) => Form::Pattern,
            },
            expression,
            compiled: OnceLock::new(),
            before: entry.before,
            reach: entry.reach,
            entropy: entry.entropy,
            runs: entry.runs,
            check: entry.check,
            confidence: entry.rule.confidence,
        })
    }

    fn is_self_evident(&self) -> bool {
        let token = matches!(self.form, Form::TokenAtKeyword | Form::TokenNearKeyword);
        (token || self.check == Check::Pem) && self.confidence == Confidence::High
    }

    fn regex(&self) -> Option<&Regex> {
        self.compiled
            .get_or_init(|| RegexBuilder::new(&self.expression).unicode(false).build().ok())
            .as_ref()
    }

    /// Adds the surroundings of a keyword to the windows, which are in the order of the text.
    fn widen(&self, windows: &mut Vec<Range<usize>>, keyword: Range<usize>, len: usize) {
        let start = keyword.start.saturating_sub(self.before);
        let end = len.min(keyword.end.saturating_add(self.reach));
        match windows.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            Some(_) | None => windows.push(start..end),
        }
    }

    /// Reads a token that begins here.
    fn read_token(&self, text: &str, start: usize, effort: &mut Effort, hits: &mut Vec<Hit>) {
        let bytes = text.as_bytes();
        if !stands_free(bytes, start) {
            return;
        }
        let Some(regex) = self.regex() else { return };
        let mut end = bytes.len().min(start.saturating_add(self.reach));
        while let Some(seen) = bytes.get(start..end) {
            effort.spend(seen.len());
            let Some(captures) = regex.captures(seen) else { return };
            let whole = captures.get(0).map_or(0, |whole| whole.end());
            if start + whole == end && end < bytes.len() && !effort.is_exhausted() {
                // The border of what was read may have cut the token short: look again with more of the text.
                end = bytes.len().min(end.saturating_add(seen.len()));
                continue;
            }
            if let Some(secret) = captures.get(1) {
                hits.extend(self.judged(text, start + secret.start()..start + secret.end()));
            }
            return;
        }
    }

    /// Reads a window.
    fn read_window(&self, text: &str, window: Range<usize>, effort: &mut Effort, hits: &mut Vec<Hit>) {
        let Some(regex) = self.regex() else { return };
        let bytes = text.as_bytes();
        let (mut from, mut end) = (window.start, window.end);
        while from < end && !effort.is_exhausted() {
            let Some(captures) = bytes.get(..end).and_then(|seen| regex.captures_at(seen, from)) else {
                effort.spend(end - from);
                return;
            };
            let Some(whole) = captures.get(0) else { return };
            effort.spend(whole.end().saturating_sub(from));
            if whole.end() == end && end < bytes.len() {
                end = bytes.len().min(end.saturating_add((end - from).max(self.reach)));
                continue;
            }
            let secret = captures.iter().skip(1).flatten().next().unwrap_or(whole);
            if self.form == Form::TokenNearKeyword && !stands_free(bytes, secret.start()) {
                from = secret.start() + 1;
                continue;
            }
            hits.extend(self.judged(text, secret.range()));
            from = secret.end().max(from + 1);
        }
    }

    fn judged(&self, text: &str, span: Range<usize>) -> Option<Hit> {
        let bytes = text.as_bytes();
        let secret = bytes.get(span.clone())?;
        let floor = self.entropy.unwrap_or(if secret.len() >= 20 { 3.0 } else { 2.0 });
        if (!self.runs && value::is_placeholder(secret)) || value::entropy(secret) < floor {
            return None;
        }
        let confidence = match self.check.opinion(bytes, span.clone()) {
            Opinion::Refuted => return None,
            Opinion::Weak => Confidence::Low,
            Opinion::Doubtful => self.confidence.min(Confidence::Medium),
            Opinion::Plausible => self.confidence,
        };
        Some(Hit {
            rule: self.rule,
            span: text.floor_char_boundary(span.start)..text.ceil_char_boundary(span.end),
            confidence,
            form: Some(self.form),
        })
    }
}

/// Whether what begins here is not the middle of a word: after an escape (`\n`, `%3D`) it is not either.
fn stands_free(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|i| bytes.get(i)).copied();
    let Some(last) = before(1) else { return true };
    if !(last.is_ascii_alphanumeric() || last == b'_') {
        return true;
    }
    let escaped = matches!(last, b'n' | b'r' | b't') && before(2) == Some(b'\\');
    let percent =
        last.is_ascii_hexdigit() && before(2).is_some_and(|b| b.is_ascii_hexdigit()) && before(3) == Some(b'%');
    escaped || percent
}
