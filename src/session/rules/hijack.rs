//! Calls, messages and memories that do what an instruction in a text without authority says.

use std::sync::Arc;

use super::act::{Act, Doing, deletes};
use super::rule_context::{Role, RuleContext};
use super::{FindingSite, RuleId, finding};
use crate::model::{Confidence, Content, Finding, Kind, Method, ToolClass, Treatment, Voice, head};
use crate::session::facts::Instruction;
use crate::session::taint::{TaintHit, TaintKind, UserRelation, ValueKind, plain, short};

/// Words of an argument that is compared as a whole.
const MAX_WORDS: usize = 12;
/// Bytes of such an argument.
const MAX_PHRASE: usize = 200;
/// Arguments that are compared as a whole.
const MAX_PHRASES: usize = 64;
/// Bytes of an argument whose words are looked for in an instruction, and words of one call.
const MAX_CARRIER: usize = 2_000;
const MAX_CARRIED: usize = 300;

/// The result of the test whether a call follows an instruction of a text without authority.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    Yes,
    No,
}

pub(super) fn screen(context: &RuleContext<'_>, found: &mut Vec<Finding>) -> Follows {
    match context.step.kind {
        kind if kind.calls() => call(context, found),
        Kind::MemoryStore => {
            memory(context, found);
            Follows::No
        }
        _ => Follows::No,
    }
}

/// The agreement of a call with an instruction.
struct Match<'a> {
    instruction: &'a Instruction,
    /// A value of the call that stands in no other text.
    value: Option<&'a TaintHit>,
    /// An argument that stands in the instruction as it is, and not in the user's words.
    phrase: Option<&'a Phrase<'a>>,
    /// The amount of words in the call that come from an instruction to software and that the user never used, 0 to 2.
    carried: i32,
    /// The tool's name stands in it, as programs write it.
    names_tool: bool,
    /// The part of the act that the instruction names.
    act: Act,
    /// True if the user asked for the act, with any objects.
    asked: bool,
}

/// An argument that is neither long nor one of the user's phrases.
struct Phrase<'a> {
    content: &'a Content,
    plain: String,
    words: usize,
}

/// Agreement from which on a call follows an instruction.
const FOLLOWS: i32 = 4;
/// Agreement that is reported to a judge.
const RESEMBLES: i32 = 3;

fn call(context: &RuleContext<'_>, found: &mut Vec<Finding>) -> Follows {
    let acts = context.acts();
    let facts = context.facts();
    // An instruction that speaks to software is followed with any verb.
    let addressed = facts.instructions().any(|instruction| instruction.addressed);
    if !acts && !addressed && !context.has(ToolClass::ReadsSensitive) {
        return Follows::No;
    }
    let (doing, phrases) = (Doing::of(context), phrases(context));
    let concerns =
        |instruction: &&Arc<Instruction>| acts || instruction.addressed || context.has(ToolClass::ReadsSensitive);
    let best = facts
        .instructions()
        .chain(facts.requests())
        .filter(concerns)
        .map(|instruction| matched(context, &doing, &phrases, instruction))
        .map(|matched| (agreement(context, &matched), matched))
        .max_by_key(|(score, matched)| (*score, matched.instruction.confidence));
    let Some((score, matched)) = best else {
        return Follows::No;
    };
    let rule = match score {
        FOLLOWS.. if says_what(context, &matched) => RuleId::FollowsInstruction,
        RESEMBLES.. => RuleId::ResemblesInstruction,
        _ => return Follows::No,
    };
    let finding = tell(rule, context, &matched).map(|mut finding| {
        let certain = matched.instruction.confidence == Confidence::High && !facts.delegates();
        if !(certain && is_grave(context)) {
            finding.suggested = finding.suggested.min(Treatment::Evidence);
        }
        // An order to software that the call only looks like following, without doing what cannot be undone.
        if matched.instruction.confidence < Confidence::High && !is_grave(context) {
            finding.confidence = finding.confidence.min(Confidence::Medium);
        }
        finding
    });
    found.extend(finding);
    match rule == RuleId::FollowsInstruction {
        true => Follows::Yes,
        false => Follows::No,
    }
}

/// Returns `true` if a call and an instruction agree in more than the act: in a value or an argument that the call acts upon, or in a tool that the
/// instruction names. A message that reports an instruction repeats its words in what is said.
fn says_what(context: &RuleContext<'_>, matched: &Match<'_>) -> bool {
    let runs = context.has(ToolClass::Executes);
    let value = matched.value.is_some_and(|hit| runs || !is_said(context, hit));
    let phrase = matched
        .phrase
        .is_some_and(|phrase| runs || context.role(&phrase.content.pointer, Some(phrase.content.id)) == Role::Other);
    let tool = matched.names_tool || matched.act == Act::Exact;
    let reads_on = !is_grave(context) && context.classified.reads;
    tool || ((value || phrase) && !reads_on)
}

/// Returns `true` if the call does what should never follow a stranger's word: it sends, pays, grants, deletes or executes.
fn is_grave(context: &RuleContext<'_>) -> bool {
    context.step.kind == Kind::A2aRequest || context.classified.set.is_grave()
}

/// Returns the degree of agreement of a call with an instruction, less what speaks for the user.
fn agreement(context: &RuleContext<'_>, matched: &Match<'_>) -> i32 {
    let confidence = matched.instruction.confidence;
    let value = matched.value.map_or(0, |hit| match hit.kind {
        // The author of an instruction can choose an address that sounds like a person the user knows.
        TaintKind::Value(kind)
            if kind.is_destination() && (hit.relation == UserRelation::Stranger || confidence > Confidence::Low) =>
        {
            3
        }
        // A path is to a deletion what an address is to a letter.
        TaintKind::Value(ValueKind::Path)
            if matched.instruction.addressed && hit.relation == UserRelation::Stranger && deletes(context, hit) =>
        {
            3
        }
        TaintKind::Value(ValueKind::Name) | TaintKind::Passage => 0,
        TaintKind::Value(_) if confidence == Confidence::High => 2,
        TaintKind::Value(_) => 1,
    });
    let phrase = matched.phrase.map_or(0, |phrase| if phrase.words >= 3 { 2 } else { 1 });
    let phrase = phrase.max(matched.carried);
    let tool = match (matched.names_tool, matched.act) {
        (true, _) => 3,
        (false, Act::Exact) => 4,
        (false, Act::Whole) => 2,
        (false, Act::Part) => 1,
        (false, Act::Nothing) => 0,
    };
    if value == 0 && phrase == 0 && tool < 2 {
        return 0;
    }
    let sure = match confidence {
        Confidence::High => 2,
        Confidence::Medium if matched.instruction.addressed && !context.facts().delegates() => 2,
        Confidence::Medium => 1,
        Confidence::Low => 0,
    };
    // A value that only an instruction spells out comes from there alone, whatever verb the user used.
    let user = match (matched.asked, value) {
        (true, 3) if confidence > Confidence::Low => 0,
        (true, _) => 2,
        (false, _) => 0,
    };
    let unheard = match context.past.authority().voice() {
        // An agent that sends no messages of the user may have a user that asked for everything.
        Voice::Unheard if confidence == Confidence::Low => 2,
        Voice::Unheard if value < 3 => 1,
        Voice::Unheard | Voice::Heard | Voice::Refused => 0,
    };
    // A user that lets a text decide allows what it asks for; but not overthrowing everything else.
    let handed_over = if context.facts().delegates() && confidence < Confidence::High {
        2
    } else {
        0
    };
    let elsewhere = match (matched.value, matched.phrase) {
        (Some(hit), Some(phrase)) => hit.content != Some(phrase.content.id),
        _ => false,
    };
    value.max(phrase) + i32::from(value > 0 && elsewhere) + tool + sure - user - unheard - handed_over
}

fn matched<'a>(
    context: &'a RuleContext<'_>,
    doing: &Doing,
    phrases: &'a [Phrase<'a>],
    instruction: &'a Instruction,
) -> Match<'a> {
    let (act, asked) = doing.named_in(instruction);
    let values = context.hits.iter().filter(|hit| is_of(context, hit, instruction));
    Match {
        instruction,
        value: values.max_by_key(|hit| match hit.kind {
            TaintKind::Value(kind) => (kind.is_destination(), hit.relation == UserRelation::Stranger),
            TaintKind::Passage => (false, false),
        }),
        phrase: phrases
            .iter()
            .filter(|phrase| instruction.words.contains(&phrase.plain))
            .max_by_key(|phrase| phrase.words),
        carried: carried(context, instruction),
        names_tool: doing.is_named_in(instruction),
        act,
        asked,
    }
}

/// Returns the short arguments of a call that are not the user's words.
fn phrases<'a>(context: &'a RuleContext<'_>) -> Vec<Phrase<'a>> {
    let taint = context.facts().taint();
    let short = context
        .arguments()
        .filter(|content| content.text.len() <= MAX_PHRASE)
        .take(MAX_PHRASES);
    let phrases = short.filter_map(|content| {
        let plain = plain(&content.text);
        let words = plain.split_whitespace().count();
        let telling = (words >= 2 && plain.len() >= 8) || (words == 1 && plain.len() >= 7);
        (words <= MAX_WORDS && telling && !taint.user_said_all(&content.text)).then_some(Phrase {
            content,
            plain,
            words,
        })
    });
    phrases.collect()
}

/// Returns the amount of words of a call that stand in an instruction to software, and in nothing that the user said: 2 for many.
fn carried(context: &RuleContext<'_>, instruction: &Instruction) -> i32 {
    if !instruction.addressed {
        return 0;
    }
    let taint = context.facts().taint();
    let (mut seen, mut left) = (Vec::new(), MAX_CARRIED);
    for content in context.arguments() {
        let text = head(&content.text, MAX_CARRIER);
        for word in plain(text).split_whitespace() {
            if left == 0 {
                break;
            }
            left -= 1;
            let telling = word.len() >= 5 || word.chars().any(|c| c.is_ascii_digit() || !c.is_ascii());
            if telling
                && !seen.iter().any(|known| known == word)
                && instruction.words.contains(&format!(" {word} "))
                && !taint.user_said(word)
            {
                seen.push(word.to_owned());
            }
        }
    }
    match seen.len() {
        0 | 1 => 0,
        2 => 1,
        _ => 2,
    }
}

/// Returns `true` if a value of the call comes from this instruction, and from nowhere else.
fn is_of(context: &RuleContext<'_>, hit: &TaintHit, instruction: &Instruction) -> bool {
    let written = hit
        .content
        .and_then(|id| context.step.content(id))
        .and_then(|content| content.text.get(hit.span.clone()));
    let there = written.is_some_and(|written| instruction.words.contains(plain(written).trim()));
    let only_there = match instruction.confidence {
        Confidence::Low => there,
        Confidence::Medium | Confidence::High => {
            hit.instructed && !hit.plain && (there || hit.first == instruction.place)
        }
    };
    // A value that the agent stored, in a step that was let happen, is its own.
    let own = hit.first.method == Method::MemoryStore;
    only_there && !own && hit.relation != UserRelation::User && (hit.instructed || !hit.author)
}

fn tell(rule: RuleId, context: &RuleContext<'_>, matched: &Match<'_>) -> Option<Finding> {
    let place = matched.instruction.place.describe();
    let what = match (matched.value, matched.phrase) {
        (Some(hit), _) => context.name_of(hit),
        (None, Some(phrase)) => format!("`{}`", short(phrase.content.label.as_deref().unwrap_or("an argument"))),
        (None, None) => "the tool".to_owned(),
    };
    let stands = || matched.phrase.map(|phrase| phrase.content).or(context.tool_content());
    let site = match matched.value {
        Some(hit) => FindingSite::of_hit(hit, &what, &place),
        None => FindingSite::of_any(stands(), &what, &place),
    };
    finding(rule, context, site)
}

/// Finds an instruction that is to be remembered.
fn memory(context: &RuleContext<'_>, found: &mut Vec<Finding>) {
    let taint = context.facts().taint();
    let hit = context.hits.iter().find(|hit| {
        let strange = hit.relation == UserRelation::Stranger;
        match hit.kind {
            TaintKind::Value(kind) => strange && hit.instructed && !hit.plain && kind.is_destination(),
            TaintKind::Passage => {
                let written = hit
                    .content
                    .and_then(|id| context.step.content(id))
                    .and_then(|content| content.text.get(hit.span.clone()));
                let words = written.map(plain).unwrap_or_default();
                strange
                    && context
                        .facts()
                        .instructions()
                        .any(|instruction| instruction.words.contains(&words))
                    && !taint.user_said_all(&words)
            }
        }
    });
    if let Some(mut finding) = hit.and_then(|hit| of_hit(RuleId::StoresUntrusted, context, hit)) {
        let sure = context
            .facts()
            .instructions()
            .any(|instruction| instruction.confidence == Confidence::High);
        if !sure {
            (finding.confidence, finding.suggested) = (Confidence::Medium, Treatment::Evidence);
        }
        found.push(finding);
    }
}

/// Makes a finding about something that was read before.
pub(super) fn of_hit(rule: RuleId, context: &RuleContext<'_>, hit: &TaintHit) -> Option<Finding> {
    let (what, place) = (context.name_of(hit), hit.first.describe());
    finding(rule, context, FindingSite::of_hit(hit, &what, &place))
}

/// Returns `true` if a hit stands where the call gives the content, not the recipient.
pub(super) fn is_said(context: &RuleContext<'_>, hit: &TaintHit) -> bool {
    context.role(&hit.pointer, hit.content) == Role::Body
}
