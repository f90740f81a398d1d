//! Words of one text that leave for a place which another text named.
//!
//! A mail, a record, a file is read; a second text without authority names a host or an address; and then words of the first
//! stand in what goes to the second: in a query, a form, an invitation, the name of a host, the address of an image. No
//! word of command is needed to see that, and no tool has to be known for one that sends. Words count as they are, behind
//! percent signs or in base64, with whatever between them.

mod places;

use std::cell::OnceCell;
use std::collections::HashSet;

use super::approvals::claims_consent;
use super::flow::carries_words;
use super::rule_context::{Role, RuleContext};
use super::{FindingSite, RuleId, finding};
use crate::model::{Confidence, Content, Finding, Kind, Origin, Severity, ToolClass, head};
use crate::session::KeptText;
use crate::session::lexicon::words;
use crate::session::taint::{RunWord, opened, run_of, values_of};
use crate::text::views::Normalized;
use places::{Destination, owned, places};

/// Bytes of a text in which places and words are looked for.
const MAX_LEN: usize = 16 * 1024;
/// Places of one step that are looked at.
const MAX_PLACES: usize = 24;
/// Telling words that have to be another text's, in rows of two at least.
const ENOUGH: usize = 3;
/// The same of single words of an address, where numbers count twice.
const ENOUGH_ALONE: usize = 6;

pub(super) fn screen(context: &RuleContext<'_>, found: &mut Vec<Finding>) {
    if !context.step.kind.calls() && context.step.kind != Kind::AgentMessage {
        return;
    }
    let whole = hands_out(context);
    let sources: Vec<Source<'_>> = context.facts().sources().map(Source::of).collect();
    let mut left = MAX_PLACES;
    for content in context.step.contents.iter().filter(|content| speaks(content)) {
        let normal = Normalized::of(head(&content.text, MAX_LEN));
        let text = normal.text();
        for place in places(text) {
            let Some(leaves) = leaves(context, content, text, &place, whole) else {
                continue;
            };
            // Each such place is looked for in everything that was kept.
            if left == 0 {
                return;
            }
            left -= 1;
            let Some((named, from)) = seen(context, &sources, &place, &leaves) else {
                continue;
            };
            let what = format!("words of {}", from.place.describe());
            let read = named.place.describe();
            let site = FindingSite::of(content, &what, &read).at(normal.raw_span(place.span.clone()));
            let claims = claims_consent(context, named.place.number);
            let finding = finding(RuleId::CarriedOut, context, site);
            found.extend(finding.map(|finding| weighed(context, content, &place, claims, finding)));
            return;
        }
    }
}

/// A kept text as it is searched, made on first need for all places of the step.
struct Source<'a> {
    kept: &'a KeptText,
    small: OnceCell<Vec<String>>,
    runs: OnceCell<Vec<Vec<RunWord>>>,
}

impl<'a> Source<'a> {
    fn of(kept: &'a KeptText) -> Self {
        Self {
            kept,
            small: OnceCell::new(),
            runs: OnceCell::new(),
        }
    }

    /// Returns `true` if it names a host of small letters.
    fn names(&self, host: &str) -> bool {
        let small = || {
            let texts = self.texts().map(Normalized::of);
            texts.map(|text| text.text().to_ascii_lowercase()).collect()
        };
        self.small.get_or_init(small).iter().any(|text| text.contains(host))
    }

    /// Returns the words of its parts.
    fn runs(&self) -> &[Vec<RunWord>] {
        self.runs.get_or_init(|| self.texts().map(run_of).collect())
    }

    fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.kept.text.parts.iter().map(|(_, text)| text.as_str())
    }
}

/// Weighs a finding: a user that asked to send something, to anyone, may have meant that place; an address that carries words is no letter.
fn weighed(
    context: &RuleContext<'_>,
    content: &Content,
    place: &Destination<'_>,
    claims: bool,
    mut finding: Finding,
) -> Finding {
    let letter = !place.carries && context.user_asked_to_send() && !claims;
    let delegated = context.facts().delegates() && !claims && content.origin == Origin::ToolArguments;
    if letter || delegated {
        (finding.severity, finding.confidence) = (Severity::Medium, Confidence::Medium);
    }
    finding
}

fn speaks(content: &Content) -> bool {
    matches!(content.origin, Origin::ToolArguments | Origin::Agent)
        && content.is_body_value()
        && content.text.len() >= 8
}

/// Returns `true` if everything that the call is given gets to others: it sends, searches, fetches, fills in, or invites someone.
fn hands_out(context: &RuleContext<'_>) -> bool {
    if context.sends_out() || (context.calls() && carries_words(context.tool())) {
        return true;
    }
    let invites = |content: &Content| {
        let label = content.label.as_deref().unwrap_or_default().to_lowercase();
        words().guests.iter().any(|word| label.contains(word.as_str())) && content.text.contains('@')
    };
    let commands = |content: &Content| context.has(ToolClass::Executes) && context.command(content).sends;
    context.arguments().any(|content| invites(content) || commands(content))
}

/// Returns the texts that would get to the place: the whole step if its tool hands it over, else those that the address itself carries.
fn leaves(
    context: &RuleContext<'_>,
    content: &Content,
    text: &str,
    place: &Destination<'_>,
    whole: bool,
) -> Option<Vec<String>> {
    let owner = owned(place.host);
    let labels = place.host.strip_suffix(owner).unwrap_or_default();
    let own = format!("{labels} {}", place.rest);
    let mut texts = opened(&own);
    // Words that stand behind percent signs stand there with pluses for spaces.
    texts.push(own.replace('%', " "));
    let says_where =
        context.role(&content.pointer, Some(content.id)) == Role::Other || context.has(ToolClass::Executes);
    if whole && (context.calls() || context.step.kind == Kind::A2aRequest) && says_where {
        if context.has(ToolClass::Executes) {
            // The words that a command hands over; its other words are names of its workplace.
            texts.extend(context.command(content).phrases.iter().cloned());
            texts.extend(opened(text));
            return Some(texts);
        }
        for other in context.arguments().filter(|other| other.id != content.id) {
            let text = head(&other.text, MAX_LEN);
            texts.push(text.to_owned());
            texts.extend(opened(text));
        }
    } else if !place.carries {
        return None;
    }
    Some(texts)
}

/// The words of what leaves.
struct Leaving {
    /// The pairs of neighbouring words.
    pairs: HashSet<(u64, u64)>,
    /// The single words of an address.
    alone: HashSet<u64>,
}

impl Leaving {
    fn of(texts: &[String], address: bool) -> Self {
        let (mut pairs, mut alone) = (HashSet::new(), HashSet::new());
        for text in texts {
            let run = run_of(text);
            for window in run.windows(2) {
                if let [first, second] = window {
                    pairs.insert((first.hash, second.hash));
                }
            }
            if address {
                alone.extend(run.iter().filter(|word| word.telling).map(|word| word.hash));
            }
        }
        Self { pairs, alone }
    }
}

/// Returns the text that named the place and the text whose words go there, if those are two texts and the user spoke of neither.
fn seen<'a>(
    context: &RuleContext<'_>,
    sources: &[Source<'a>],
    place: &Destination<'_>,
    leaves: &[String],
) -> Option<(&'a KeptText, &'a KeptText)> {
    let facts = context.facts();
    let owner = owned(place.host).to_ascii_lowercase();
    let name = owner.split('.').next().unwrap_or_default();
    let spoken = run_of(name);
    // `news.shop.example`, when the user spoke of the shop; not `shop-visit.example`. What the agent's instructions speak of is the
    // organisation's own.
    let known = |hash: u64| facts.taint().user_said_word(hash) || facts.taint().instructed_word(hash);
    let mut telling = spoken.iter().filter(|word| word.telling);
    let named = match place.carries {
        true => spoken.len() == 1 && telling.any(|word| known(word.hash)),
        false => telling.any(|word| known(word.hash)),
    };
    let said = values_of(&owner).iter().any(|(_, key)| facts.taint().is_users(*key));
    if named || said {
        return None;
    }
    let mut naming = sources.iter().filter(|source| source.names(&owner)).peekable();
    let named = naming.peek()?.kept;
    let strange = matches!(
        named.place.origin,
        Origin::ToolOutput
            | Origin::Knowledge
            | Origin::Trigger
            | Origin::RemoteAgent
            | Origin::ToolDescription
            | Origin::Memory
    );
    if !strange {
        return None;
    }
    let theirs: HashSet<u64> = naming.flat_map(Source::runs).flatten().map(|word| word.hash).collect();
    let leaving = Leaving::of(leaves, place.carries);
    if leaving.pairs.is_empty() && leaving.alone.is_empty() {
        return None;
    }
    let from = sources.iter().find(|source| {
        let kept = source.kept;
        let here = kept.place.number == named.place.number && kept.place.pointer == named.place.pointer;
        // What anyone can look up is no secret.
        let open = kept.place.tool.as_deref().is_some_and(carries_words);
        !here && !open && kept.place.origin != Origin::ToolDescription && shares(context, source, &leaving, &theirs)
    })?;
    Some((named, from.kept))
}

/// Returns `true` if enough telling words of a text stand in what leaves, which neither the user nor the place's own texts said: words in a row, or
/// in an address single ones that are names and numbers together.
fn shares(context: &RuleContext<'_>, source: &Source<'_>, leaves: &Leaving, theirs: &HashSet<u64>) -> bool {
    let taint = context.facts().taint();
    let mut in_a_row: HashSet<u64> = HashSet::new();
    let mut single: HashSet<u64> = HashSet::new();
    let mut numbers: HashSet<u64> = HashSet::new();
    for run in source.runs() {
        for window in run.windows(2) {
            let [first, second] = window else { continue };
            if leaves.pairs.contains(&(first.hash, second.hash)) {
                in_a_row.extend(
                    [first, second]
                        .into_iter()
                        .filter(|word| word.telling)
                        .map(|word| word.hash),
                );
            }
        }
        for word in run.iter().filter(|word| leaves.alone.contains(&word.hash)) {
            single.insert(word.hash);
            if word.number {
                numbers.insert(word.hash);
            }
        }
    }
    let foreign = |words: &HashSet<u64>| {
        let foreign = words
            .iter()
            .filter(|word| !theirs.contains(word) && !taint.user_said_word(**word));
        foreign.count()
    };
    let numbers = foreign(&numbers);
    foreign(&in_a_row) >= ENOUGH || (numbers > 0 && foreign(&single) + numbers >= ENOUGH_ALONE)
}
