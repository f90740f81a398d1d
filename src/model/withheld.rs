//! Texts that must not be repeated: those of a step that a finding calls secret, and the proof that they were taken out.
//!
//! Findings carry no text. But a secret can be a key of structured data, and so part of a pointer; or the id of a session,
//! and so part of a record; or a judge repeats it. All of them were removed from a [`Clean`] value, and only [`Withheld`]
//! makes one: what goes to a verdict or an audit record asks for it by its type.
//!
//! The texts come from outside, so what is built of them is bounded: they are looked for by their first bytes, and of a
//! step with too many of them nothing is repeated at all.

use std::borrow::Cow;
use std::ops::Deref;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::{Confidence, Finding, Pointer, ReasonCode, Step, Treatment, Verdict, head};

/// The mark that replaces a withheld text.
pub const WITHHELD: &str = "[masked]";
/// Shorter texts stand in other words by chance.
const MIN_LEN: usize = 6;
/// Bytes of its beginning by which a text is looked for.
const NEEDLE: usize = 24;
/// Texts that are looked for. The automaton of so many takes about ten milliseconds.
const MAX: usize = 8 * 1024;

/// Texts that must not be repeated.
#[derive(Clone, Debug, Default)]
pub struct Withheld(Texts);

/// Nothing is withheld.
pub static NOTHING_WITHHELD: Withheld = Withheld(Texts::None);

#[derive(Clone, Debug, Default)]
enum Texts {
    /// There are none.
    #[default]
    None,
    /// These, sorted, and an automaton of their beginnings.
    Some {
        sorted: Vec<String>,
        beginnings: AhoCorasick,
    },
    /// Unknown, or too many: nothing from outside is repeated.
    All,
}

/// A value in which nothing stands that must not be repeated. Only [`Withheld`] makes one.
#[derive(Clone, Debug)]
pub struct Clean<T>(T);

impl<T> Deref for Clean<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clean<T> {
    /// The value. It is clean still, but nothing says so any more.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl Withheld {
    /// Everything from outside: for a step that was not examined.
    pub fn all() -> Self {
        Self(Texts::All)
    }

    /// The texts that findings call secret, personal data that the policy masks or denies, and `more` of them: those that stand
    /// in no content.
    pub fn of<'a>(
        step: &'a Step,
        treated: impl Iterator<Item = (&'a Finding, Treatment)>,
        more: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let texts = treated.filter(|(finding, treatment)| is_sensitive(finding, *treatment));
        let texts = texts.filter_map(|(finding, _)| {
            let content = step.content(finding.content?)?;
            content.text.get(finding.span.clone())
        });
        Self::these(texts.chain(more))
    }

    /// These texts, and what they read like in a pointer.
    pub fn these<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut sorted = Vec::new();
        for text in texts.filter(|text| text.len() >= MIN_LEN) {
            if text.contains(['~', '/']) {
                sorted.push(text.replace('~', "~0").replace('/', "~1"));
            }
            sorted.push(text.to_owned());
        }
        if sorted.is_empty() {
            return Self::default();
        }
        sorted.sort_unstable();
        sorted.dedup();
        let mut needles: Vec<&str> = sorted.iter().map(|text| beginning(text)).collect();
        needles.dedup();
        if needles.len() > MAX {
            return Self::all();
        }
        let beginnings = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            // Used for one step: quick to build matters more than quick to run.
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .build(&needles);
        match beginnings {
            Ok(beginnings) => Self(Texts::Some { sorted, beginnings }),
            Err(_) => Self::all(),
        }
    }

    /// A text without them.
    pub fn without<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.0 {
            Texts::None => Cow::Borrowed(text),
            Texts::All if text.is_empty() => Cow::Borrowed(text),
            Texts::All => Cow::Borrowed(WITHHELD),
            Texts::Some { sorted, beginnings } => replaced(text, sorted, beginnings),
        }
    }

    /// A place without them: a secret can be the name of a member.
    pub fn pointer(&self, pointer: &Pointer) -> Pointer {
        match self.without(pointer.as_str()) {
            Cow::Borrowed(same) if same.len() == pointer.as_str().len() => pointer.clone(),
            cleaned => Pointer::new(cleaned),
        }
    }

    /// A text from outside without them.
    pub fn clean_text(&self, text: &str) -> Clean<String> {
        Clean(self.without(text).into_owned())
    }

    /// Returns the beginning of a text from outside without them, in at most so many bytes, and how many bytes are left out.
    pub fn clean_head(&self, text: &str, most: usize) -> (Clean<String>, usize) {
        let whole = self.without(text);
        let end = whole.floor_char_boundary(whole.len().min(most));
        let head = whole.get(..end).unwrap_or_default().to_owned();
        let cut = whole.len() - head.len();
        (Clean(head), cut)
    }

    /// A verdict without them, wherever it speaks.
    pub fn clean(&self, mut verdict: Verdict) -> Clean<Verdict> {
        if matches!(self.0, Texts::None) {
            return Clean(verdict);
        }
        let details = verdict.diagnostics.iter_mut().map(|diagnostic| &mut diagnostic.detail);
        let explanations = verdict.findings.iter_mut().map(|finding| &mut finding.explanation);
        let own = [&mut verdict.message, &mut verdict.reasoning];
        // Of a step of which nothing is known, only what we say ourselves is told.
        if !matches!(self.0, Texts::All) {
            for text in own.into_iter().chain(details).chain(explanations) {
                self.clear(text);
            }
            if let Some(observed) = verdict.observed.as_deref_mut() {
                self.clear(&mut observed.message);
                self.clear(&mut observed.reasoning);
            }
        }
        let findings = verdict.findings.iter_mut().map(|finding| &mut finding.pointer);
        let examined = verdict.coverage.examined.iter_mut().map(|content| &mut content.pointer);
        let moved = verdict.local.iter_mut().flat_map(|opinion| &mut opinion.evidence);
        let moved = moved.map(|moved| &mut moved.pointer);
        for pointer in findings.chain(examined).chain(moved).chain(&mut verdict.coverage.cut) {
            *pointer = self.pointer(pointer);
        }
        Clean(verdict)
    }

    fn clear(&self, text: &mut String) {
        if let Cow::Owned(cleaned) = self.without(text) {
            *text = cleaned;
        }
    }
}

fn is_sensitive(finding: &Finding, treatment: Treatment) -> bool {
    match finding.reason {
        ReasonCode::SecretExposure => finding.confidence >= Confidence::Medium,
        ReasonCode::PersonalData => matches!(treatment, Treatment::Mask | Treatment::Suspect | Treatment::Deny),
        _ => false,
    }
}

fn beginning(text: &str) -> &str {
    head(text, NEEDLE)
}

/// The text, with every stretch masked that begins as one of the sorted texts does, as far as it goes on like one of them.
fn replaced<'t>(text: &'t str, sorted: &[String], beginnings: &AhoCorasick) -> Cow<'t, str> {
    let mut cleaned = String::new();
    let (mut from, mut at) = (0, 0);
    while let Some(rest) = text.get(at..)
        && let Some(found) = beginnings.find(rest)
    {
        let start = at + found.start();
        let here = text.get(start..).unwrap_or_default();
        let end = start + longest_shared(here, sorted).max(found.len());
        cleaned.push_str(text.get(from..start).unwrap_or_default());
        cleaned.push_str(WITHHELD);
        (from, at) = (end, end);
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    cleaned.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(cleaned)
}

/// Bytes of a text that one of the sorted texts begins with. Of those, one beside the place where the text itself would
/// stand shares the most.
fn longest_shared(text: &str, sorted: &[String]) -> usize {
    let place = sorted.partition_point(|known| known.as_str() < text);
    let beside = [place.checked_sub(1), Some(place)];
    let shared = beside
        .into_iter()
        .flatten()
        .filter_map(|at| sorted.get(at))
        .map(|known| known.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count());
    text.floor_char_boundary(shared.max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn withheld(texts: &[&str]) -> Withheld {
        Withheld::these(texts.iter().copied())
    }

    #[test]
    fn a_text_is_taken_out_whole_also_where_another_begins_like_it() {
        let withheld = withheld(&["secret-one", "secret-one-and-more", "a/b~c/d"]);
        assert_eq!(
            withheld.without("x secret-one-and-more y secret-one z"),
            "x [masked] y [masked] z"
        );
        assert_eq!(withheld.without("/p/a~1b~0c~1d/0"), "/p/[masked]/0");
        assert_eq!(withheld.without("nothing secret here"), "nothing secret here");
        assert_eq!(Withheld::all().without("anything"), "[masked]");
        assert_eq!(Withheld::default().without("anything"), "anything");
    }

    #[test]
    fn a_long_text_of_many_lines_is_taken_out_to_its_end() {
        let key = format!("-----BEGIN PRIVATE KEY-----\n{}", "QUJD\n".repeat(300));
        let found = withheld(&[&key]).without(&format!("before {key}after")).into_owned();
        assert_eq!(found, "before [masked]after");
    }

    #[test]
    fn repetition_of_any_kind_takes_time_in_proportion() {
        let begun = std::time::Instant::now();
        for part in ["eyJ.", "AKIA.", "a", "ab", "\n"] {
            let text = part.repeat(1 << 20);
            let withheld = withheld(&[&text, &part.repeat(99), &part.repeat(7)]);
            assert!(withheld.without(&text).len() < text.len());
        }
        // Tens of milliseconds; what is not linear takes hours.
        assert!(begun.elapsed().as_secs() < 20);
    }

    #[test]
    fn of_a_step_with_too_many_secrets_nothing_is_repeated() {
        let texts: Vec<String> = (0..=MAX).map(|n| format!("{n:06}-secret")).collect();
        let few = Withheld::these(texts.iter().take(MAX).map(String::as_str));
        assert_eq!(few.without("a 000007-secret b"), "a [masked] b");
        let many = Withheld::these(texts.iter().map(String::as_str));
        assert_eq!(many.without("whatever"), "[masked]");
    }

    proptest! {
        #[test]
        fn nothing_withheld_is_left(
            texts in proptest::collection::vec("[abä]{6,30}", 1..6),
            around in proptest::collection::vec("[abä ]{0,8}", 7),
        ) {
            let withheld = Withheld::these(texts.iter().map(String::as_str));
            let told: String = around.iter().zip(texts.iter().chain([&String::new()])).map(|(a, b)| format!("{a}{b}")).collect();
            let clean = withheld.without(&told).into_owned();
            for text in &texts {
                prop_assert!(!clean.contains(text.as_str()), "{clean} holds {text}");
            }
        }
    }
}
