//! The judge's answer: finding the one object that counts in a reply, and reading it strictly.
//!
//! A reply may hold more than the answer: thoughts, prose, code fences, an object that some content dictated. The object that counts is the one with
//! the call's canary, a value that stands in the system message of this call only, so that no author of a content can have written it. None with the
//! canary, or more than one, is no answer.
//!
//! A denial with the canary stays a denial also if the rest of its object is of no use (a reason code that is not on the list, a confidence of 1.5, a
//! key that stands there twice, JSON that is broken or cut off): otherwise a text that confuses the judge's form would undo what the judge decided.
//! Nothing else is read leniently: an answer that lets a step happen is the last that the model says, and stands outside of everything that looks
//! like thoughts.
//!
//! Nothing here decides the worth of an answer, or whether its edits are safe.

mod error;
mod thoughts;

use std::ops::Range;

use jiter::{Jiter, JiterErrorType, JsonErrorType, JsonValue};

use crate::model::{Authorization, Decision, ReasonCode, Risk, Suspicion};

pub use error::AnswerError;
use thoughts::after_thoughts;

/// The longest reply that is looked at.
const MAX_BYTES: usize = 64 * 1024;
/// The most places where an object is looked for.
const MAX_CANDIDATES: usize = 64;
/// The most edits, and the most reason codes.
const MAX_ITEMS: usize = 64;

/// An answer as the judge gave it: complete and well-typed, not yet weighed.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The risk of the step.
    pub risk: Risk,
    /// The degree to which the user asked for it.
    pub authorization: Authorization,
    /// The decision of the judge.
    pub decision: Decision,
    /// The reasons, without repetition.
    pub reason_codes: Vec<ReasonCode>,
    /// The confidence, 0 to 1.
    pub confidence: f64,
    /// The reasoning, for the record.
    pub reasoning: String,
    /// The message for the agent and its user.
    pub message: String,
    /// The edits.
    pub edits: Vec<ProposedEdit>,
    /// The flaw of a denial that counts all the same.
    pub flaw: Option<AnswerError>,
}

impl Answer {
    /// Checks the answer to a question with a suspicion: one that lets the step happen has to name the finding.
    pub(super) fn answering(self, suspicion: Option<&Suspicion>) -> Result<Self, AnswerError> {
        let ignored = suspicion.is_some_and(|suspicion| !suspicion.is_named_in(&self.reasoning));
        match self.decision {
            Decision::Allow | Decision::Modify if ignored => Err(AnswerError::SuspicionIgnored),
            Decision::Allow | Decision::Modify | Decision::Deny => Ok(self),
        }
    }
}

/// An edit as the judge proposed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedEdit {
    /// The content's id as written.
    pub content: String,
    /// Text of the content.
    pub find: String,
    /// The replacement.
    pub replace: String,
}

type Object<'a> = [(std::borrow::Cow<'a, str>, JsonValue<'a>)];

/// Reads the one answer that carries the canary.
///
/// # Errors
///
/// An [`AnswerError`] when there is not exactly one, or when it is not what the schema says. Fields beyond the schema
/// are passed over.
pub fn read(reply: &str, canary: &str) -> Result<Answer, AnswerError> {
    if reply.len() > MAX_BYTES {
        return Err(AnswerError::TooLong);
    }
    find(reply, canary).or_else(|flaw| match denies_in_any_form(reply, canary) {
        true => Ok(Answer::flawed_denial(&[], flaw)),
        false => Err(flaw),
    })
}

fn find(reply: &str, canary: &str) -> Result<Answer, AnswerError> {
    let reply = after_thoughts(reply, canary)?;
    let mut marked = Vec::new();
    let mut search = Search::default();
    for (span, candidate) in search.objects(reply)? {
        let JsonValue::Object(object) = &candidate else {
            continue;
        };
        if carries(object, canary) {
            marked.push((span, candidate));
        }
    }
    // The canary in quotes also in something that did not parse: a second answer.
    let quoted = reply.matches(&format!("\"{canary}\"")).count();
    let read = match marked.as_slice() {
        [(span, JsonValue::Object(object))] if quoted <= 1 => {
            Answer::from_object(object).and_then(|answer| match answer.decision {
                Decision::Deny => Ok(answer),
                Decision::Allow | Decision::Modify => {
                    stands_alone(reply, span)?;
                    let before = reply.get(..span.start).unwrap_or_default();
                    match says_deny(before) || object.iter().any(|(key, value)| denies_elsewhere(key, value)) {
                        true => Err(AnswerError::Inconsistent),
                        false => Ok(answer),
                    }
                }
            })
        }
        [_, ..] => Err(AnswerError::TwoObjects),
        [] => Err(search.why_none()),
    };
    read.or_else(|flaw| {
        let denial = marked.iter().find_map(|(_, candidate)| match candidate {
            JsonValue::Object(object) if denies(object) => Some(Answer::flawed_denial(object, flaw)),
            _ => None,
        });
        denial.ok_or(flaw)
    })
}

/// Checks that nothing before an answer looks like thoughts that are still open, and that nothing but a code fence comes after it.
fn stands_alone(reply: &str, span: &Range<usize>) -> Result<(), AnswerError> {
    const MARKS: [char; 4] = ['<', '◁', '〈', '⟨'];
    let before = reply.get(..span.start).unwrap_or_default();
    let after = reply.get(span.end..).unwrap_or_default();
    if before.contains(MARKS) || before.to_ascii_lowercase().contains("[think") {
        return Err(AnswerError::OnlyThoughts);
    }
    // The end of a list that holds the answer may follow.
    let ends = after.chars().all(|c| c.is_whitespace() || matches!(c, '`' | ']'));
    if ends { Ok(()) } else { Err(AnswerError::GoesOn) }
}

/// Returns `true` if a reply with the canary denies in any form: cut off, broken, quoted, in capitals.
fn denies_in_any_form(reply: &str, canary: &str) -> bool {
    reply.contains(canary) && says_deny(reply)
}

/// Returns `true` if a text holds `decision` and then `deny`, with any signs between the name and its value.
fn says_deny(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    small.match_indices("decision").any(|(at, name)| {
        let value = small.get(at + name.len()..).unwrap_or_default();
        let between = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | ':' | '=' | '*' | '`');
        let word = value.trim_start_matches(between);
        word.len() < value.len() && word.starts_with("den")
    })
}

/// Returns `true` if a member of an answer other than its `decision` denies: `final_decision`, `Decision`, an object within the object.
fn denies_elsewhere(key: &str, value: &JsonValue<'_>) -> bool {
    match value {
        JsonValue::Str(said) => {
            let decides = key.to_ascii_lowercase().ends_with("decision");
            decides && said.trim_start().to_ascii_lowercase().starts_with("den")
        }
        JsonValue::Object(object) => object.iter().any(|(key, value)| denies_elsewhere(key, value)),
        JsonValue::Array(items) => items.iter().any(|item| denies_elsewhere(key, item)),
        _ => false,
    }
}

/// Returns `true` if any `canary` of the object is ours.
fn carries(object: &Object<'_>, canary: &str) -> bool {
    object
        .iter()
        .any(|(key, value)| key == "canary" && matches!(value, JsonValue::Str(found) if found == canary))
}

/// The state of the search.
#[derive(Default)]
struct Search {
    whole: usize,
    broken: usize,
}

impl Search {
    /// Finds every JSON object of a text that is not inside another one.
    fn objects<'a>(&mut self, text: &'a str) -> Result<Vec<(Range<usize>, JsonValue<'a>)>, AnswerError> {
        let mut objects = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            let (_, from) = rest.split_at_checked(start).unwrap_or_default();
            if self.whole + self.broken >= MAX_CANDIDATES {
                return Err(AnswerError::BrokenJson);
            }
            let mut parser = Jiter::new(from.as_bytes());
            let end = match parser.next_value() {
                Ok(value) => {
                    self.whole += 1;
                    let begin = text.len() - from.len();
                    objects.push((begin..begin + parser.current_index(), value));
                    parser.current_index()
                }
                Err(error) if is_end(&error.error_type) => return Err(AnswerError::TruncatedJson),
                Err(_) => {
                    self.broken += 1;
                    1
                }
            };
            rest = from.get(end..).unwrap_or_default();
        }
        Ok(objects)
    }

    fn why_none(&self) -> AnswerError {
        match (self.whole, self.broken) {
            (0, 0) => AnswerError::NoObject,
            (0, _) => AnswerError::BrokenJson,
            _ => AnswerError::Canary,
        }
    }
}

fn is_end(error: &JiterErrorType) -> bool {
    matches!(
        error,
        JiterErrorType::JsonError(
            JsonErrorType::EofWhileParsingList
                | JsonErrorType::EofWhileParsingObject
                | JsonErrorType::EofWhileParsingString
                | JsonErrorType::EofWhileParsingValue
        )
    )
}

/// Returns `true` if an object says that it denies.
fn denies(object: &Object<'_>) -> bool {
    object
        .iter()
        .any(|(key, value)| key == "decision" && matches!(value, JsonValue::Str(said) if said == "deny"))
}

impl Answer {
    fn from_object(object: &Object<'_>) -> Result<Self, AnswerError> {
        if has_duplicate_keys(object) {
            return Err(AnswerError::DuplicateKey);
        }
        let answer = Self {
            risk: named(object, "risk", Risk::from_name)?,
            authorization: named(object, "authorization", Authorization::from_name)?,
            decision: named(object, "decision", Decision::from_name)?,
            reason_codes: reason_codes(object)?,
            confidence: confidence(object)?,
            reasoning: text(object, "reasoning")?.to_owned(),
            message: text(object, "message")?.to_owned(),
            edits: edits(object)?,
            flaw: None,
        };
        match answer.decision {
            Decision::Allow if !answer.edits.is_empty() || !answer.reason_codes.is_empty() => {
                Err(AnswerError::Inconsistent)
            }
            Decision::Allow | Decision::Modify | Decision::Deny => Ok(answer),
        }
    }

    /// Reads a denial that is no proper answer, as far as it can be read.
    fn flawed_denial(object: &Object<'_>, flaw: AnswerError) -> Self {
        Self {
            risk: named(object, "risk", Risk::from_name).unwrap_or(Risk::High),
            authorization: named(object, "authorization", Authorization::from_name).unwrap_or(Authorization::Unknown),
            decision: Decision::Deny,
            reason_codes: known_codes(object),
            confidence: confidence(object).unwrap_or(FLAWED_CONFIDENCE),
            reasoning: text(object, "reasoning").unwrap_or_default().to_owned(),
            message: text(object, "message").unwrap_or_default().to_owned(),
            edits: Vec::new(),
            flaw: Some(flaw),
        }
    }
}

/// The confidence of a denial that does not state it.
const FLAWED_CONFIDENCE: f64 = 0.5;

/// Returns the reason codes of a flawed denial that are on the list.
fn known_codes(object: &Object<'_>) -> Vec<ReasonCode> {
    let mut codes = Vec::new();
    for item in list(object, "reason_codes").unwrap_or_default() {
        if let JsonValue::Str(name) = item
            && let Some(code) = ReasonCode::parse(name)
            && !codes.contains(&code)
        {
            codes.push(code);
        }
    }
    codes
}

fn field<'a, 'j>(object: &'a Object<'j>, name: &'static str) -> Result<&'a JsonValue<'j>, AnswerError> {
    object
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
        .ok_or(AnswerError::MissingField(name))
}

fn text<'a>(object: &'a Object<'_>, name: &'static str) -> Result<&'a str, AnswerError> {
    match field(object, name)? {
        JsonValue::Str(text) => Ok(text),
        _ => Err(AnswerError::WrongType(name)),
    }
}

fn named<T>(object: &Object<'_>, name: &'static str, from_name: fn(&str) -> Option<T>) -> Result<T, AnswerError> {
    from_name(text(object, name)?).ok_or(AnswerError::UnknownValue(name))
}

fn list<'a, 'j>(object: &'a Object<'j>, name: &'static str) -> Result<&'a [JsonValue<'j>], AnswerError> {
    match field(object, name)? {
        JsonValue::Array(items) if items.len() > MAX_ITEMS => Err(AnswerError::TooManyItems(name)),
        JsonValue::Array(items) => Ok(items),
        _ => Err(AnswerError::WrongType(name)),
    }
}

fn reason_codes(object: &Object<'_>) -> Result<Vec<ReasonCode>, AnswerError> {
    let mut codes = Vec::new();
    for item in list(object, "reason_codes")? {
        let JsonValue::Str(name) = item else {
            return Err(AnswerError::WrongType("reason_codes"));
        };
        let code = ReasonCode::parse(name).ok_or(AnswerError::UnknownReasonCode)?;
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    Ok(codes)
}

fn confidence(object: &Object<'_>) -> Result<f64, AnswerError> {
    match field(object, "confidence")? {
        JsonValue::Int(0) => Ok(0.0),
        JsonValue::Int(1) => Ok(1.0),
        JsonValue::Float(value) if (0.0..=1.0).contains(value) => Ok(*value),
        JsonValue::Int(_) | JsonValue::Float(_) => Err(AnswerError::ConfidenceRange),
        _ => Err(AnswerError::WrongType("confidence")),
    }
}

/// Reads the edits; a model that is not held to the schema may leave out the empty list.
fn edits(object: &Object<'_>) -> Result<Vec<ProposedEdit>, AnswerError> {
    if let Err(AnswerError::MissingField(_)) | Ok(JsonValue::Null) = field(object, "edits") {
        return Ok(Vec::new());
    }
    list(object, "edits")?
        .iter()
        .map(|item| match item {
            JsonValue::Object(edit) => Ok(ProposedEdit {
                content: text(edit, "content")?.to_owned(),
                find: text(edit, "find")?.to_owned(),
                replace: text(edit, "replace")?.to_owned(),
            }),
            _ => Err(AnswerError::WrongType("edits")),
        })
        .collect()
}

/// Returns `true` if any object in here has a key twice. The parser limits the depth; the walk does not recurse all the same.
fn has_duplicate_keys(object: &Object<'_>) -> bool {
    let mut objects = vec![object];
    let mut lists: Vec<&[JsonValue<'_>]> = Vec::new();
    loop {
        if let Some(object) = objects.pop() {
            let mut seen = std::collections::HashSet::new();
            for (key, value) in object {
                if !seen.insert(key.as_ref()) {
                    return true;
                }
                descend(value, &mut objects, &mut lists);
            }
        } else if let Some(list) = lists.pop() {
            for value in list {
                descend(value, &mut objects, &mut lists);
            }
        } else {
            return false;
        }
    }
}

fn descend<'a, 'j>(value: &'a JsonValue<'j>, objects: &mut Vec<&'a Object<'j>>, lists: &mut Vec<&'a [JsonValue<'j>]>) {
    match value {
        JsonValue::Object(object) => objects.push(object),
        JsonValue::Array(list) => lists.push(list),
        JsonValue::Null | JsonValue::Bool(_) | JsonValue::Int(_) | JsonValue::Float(_) | JsonValue::Str(_) => {}
    }
}

#[cfg(test)]
mod tests;
