//! The trail of a session: what the rules over a session have to know of the steps so far.
//!
//! Pure data, bounded, the same for the same steps: where values were read first ([`TaintIndex`]), which stretches of what
//! was read were instructions, which tools were called and what they do, which files were written. It takes no decision.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::asks::{delegates, requests};
use super::effects::{InstructionSpan, head};
use super::source_text::{KeptText, SourceText};
use super::taint::{Provenance, TaintIndex, plain, stem};
use super::{LearnedText, StepRecord, approval, saved};
use crate::model::{Confidence, Kind, Origin};
use crate::tools::{ClassSet, ToolClass};

/// Instructions that are remembered. The first ones stay, of the later ones the latest do.
const MAX_INSTRUCTIONS: usize = 32;
/// The first instructions that stay.
const FIRST_INSTRUCTIONS: usize = 8;
/// Requests that are remembered, by the same rule; of one text at most so many.
const MAX_REQUESTS: usize = 64;
/// The first requests that stay.
const FIRST_REQUESTS: usize = 16;
/// Requests that are remembered of one text.
const REQUESTS_OF_ONE: usize = 16;
/// Bytes of an instruction.
const MAX_INSTRUCTION: usize = 1_600;
/// Calls that are remembered.
const MAX_CALLS: usize = 64;
/// Written files that are remembered.
const MAX_FILES: usize = 16;
/// Bytes of a file that was written in pieces: its end.
const MAX_FILE: usize = 8 * 1024;
/// Bytes of what the agent said last, to which a bare approval can be an answer.
const MAX_SAID: usize = 4 * 1024;
/// Ends of outputs and arguments that are remembered.
const MAX_ENDS: usize = 12;
/// Bytes of an end.
const MAX_END: usize = 256;
/// Bytes of texts that are kept.
const MAX_SOURCES: usize = 160 * 1024;
/// Texts that are kept.
const MOST_SOURCES: usize = 400;

/// What of a trail's room the taint index has.
const TAINTS: usize = 5;
/// Of so many parts.
const PARTS: usize = 7;

/// An instruction that stood in a text without authority.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Instruction {
    /// Where.
    pub place: Arc<Provenance>,
    /// Its words, small, with single spaces between and around them.
    pub words: String,
    /// What its words have in common with their other forms, sorted.
    stems: Vec<u64>,
    /// How likely it is one. `Low`: it only asks for something, as any letter may.
    #[serde(with = "saved::by_name")]
    pub confidence: Confidence,
    /// Whether it speaks to software.
    pub addressed: bool,
}

impl Instruction {
    /// How many words it has, whatever their forms.
    pub(super) fn distinct_words(&self) -> usize {
        self.stems.len()
    }

    /// Whether it uses any form of the word of this stem.
    pub(super) fn uses(&self, stem: u64) -> bool {
        self.stems.binary_search(&stem).is_ok()
    }
}

/// A call that was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Called {
    /// The number of the step.
    pub number: u32,
    /// The id that it shares with its answer.
    pub id: Option<String>,
    /// The tool.
    pub tool: String,
    /// What the tool does.
    #[serde(with = "saved::by_name")]
    pub classes: ClassSet,
}

/// A file that was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Written {
    /// The number of the step.
    pub number: u32,
    /// Its name, without folders, small.
    pub name: String,
    /// What was written.
    pub text: Arc<str>,
    /// Where the text was read before, if it was.
    pub from: Option<Arc<Provenance>>,
}

/// Whether a call adds to a file rather than writing it anew.
fn appends(tool: &str, text: &str) -> bool {
    tool.to_ascii_lowercase().contains("append") || text.contains(">>") || text.contains("tee -a")
}

/// How an output, or an argument, ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct End {
    /// Where.
    pub place: Arc<Provenance>,
    /// The last bytes.
    pub text: Arc<str>,
}

/// What the rules over a session have to know. Cheap to clone when small; meant to be shared.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Trail {
    taint: TaintIndex,
    instructions: VecDeque<Arc<Instruction>>,
    requests: VecDeque<Arc<Instruction>>,
    calls: VecDeque<Arc<Called>>,
    files: VecDeque<Arc<Written>>,
    ends: VecDeque<End>,
    #[serde(default)]
    sources: VecDeque<Arc<KeptText>>,
    untrusted: Option<Arc<Provenance>>,
    sensitive: Option<Arc<Provenance>>,
    said: String,
    own_instructions: Option<u64>,
    delegates: bool,
    /// The step in which the user last spoke.
    heard: u32,
}

/// What was noted of the texts of a step, by where they stand: a step may have tens of thousands.
struct Notes<'a> {
    sources: HashMap<&'a str, &'a SourceText>,
    instructions: HashMap<&'a str, Vec<&'a InstructionSpan>>,
}

impl<'a> Notes<'a> {
    fn of(record: &'a StepRecord) -> Self {
        let mut notes = Self {
            sources: HashMap::new(),
            instructions: HashMap::new(),
        };
        for source in &record.sources {
            notes.sources.entry(source.pointer.as_str()).or_insert(source);
        }
        for instruction in &record.effects.instructions {
            let here = notes.instructions.entry(instruction.pointer.as_str()).or_default();
            here.push(instruction);
        }
        notes
    }
}

impl Trail {
    /// Where values and passages were read first.
    pub fn taint(&self) -> &TaintIndex {
        &self.taint
    }

    /// Instructions that stood in texts without authority.
    pub fn instructions(&self) -> impl Iterator<Item = &Arc<Instruction>> {
        self.instructions.iter()
    }

    /// Sentences in texts without authority that ask for something, as honest letters do too.
    pub fn requests(&self) -> impl Iterator<Item = &Arc<Instruction>> {
        self.requests.iter()
    }

    /// Calls that were made, oldest first.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &Called> {
        self.calls.iter().map(AsRef::as_ref)
    }

    /// The last text written into a file of this name.
    pub fn file(&self, name: &str) -> Option<&Written> {
        let name = name.to_lowercase();
        self.files
            .iter()
            .rev()
            .find(|file| file.name == name)
            .map(AsRef::as_ref)
    }

    /// Files that were written, oldest first.
    pub fn files(&self) -> impl DoubleEndedIterator<Item = &Written> {
        self.files.iter().map(AsRef::as_ref)
    }

    /// How the latest outputs and arguments ended, oldest first.
    pub fn ends(&self) -> impl DoubleEndedIterator<Item = &End> {
        self.ends.iter()
    }

    /// Texts that were read, oldest first.
    pub fn sources(&self) -> impl Iterator<Item = &KeptText> {
        self.sources.iter().map(AsRef::as_ref)
    }

    /// The first text that anybody may have written.
    pub fn untrusted(&self) -> Option<&Arc<Provenance>> {
        self.untrusted.as_ref()
    }

    /// The latest private text, read after that.
    pub fn sensitive(&self) -> Option<&Arc<Provenance>> {
        self.sensitive.as_ref()
    }

    /// The number of the step in which the user last spoke; 0 where nobody did.
    pub fn heard(&self) -> u32 {
        self.heard
    }

    /// Whether the user told the agent to do what a text says.
    pub fn delegates(&self) -> bool {
        self.delegates
    }

    /// Bytes that it takes in memory, roughly.
    pub fn bytes(&self) -> usize {
        let instructions = self.instructions.iter().chain(&self.requests);
        let instructions: usize = instructions
            .map(|i| i.words.len() + i.stems.len() * 8 + i.place.bytes())
            .sum();
        let files: usize = self
            .files
            .iter()
            .map(|file| file.text.len() + file.name.len() + 96)
            .sum();
        let calls = self.calls.iter();
        let calls: usize = calls
            .map(|call| call.tool.len() + call.id.as_ref().map_or(0, String::len) + 96)
            .sum();
        let ends: usize = self.ends.iter().map(|end| end.text.len() + end.place.bytes()).sum();
        let sources: usize = self.sources.iter().map(|kept| kept.bytes()).sum();
        self.taint.bytes() + instructions + files + calls + self.said.len() + ends + sources
    }

    /// Takes in what happened in the step of this number; the trail may take so many bytes.
    pub fn take(&mut self, number: u32, record: &StepRecord, bytes: usize) {
        self.taint.begin_step(bytes / PARTS * TAINTS);
        self.follow(number, record);
        while self.bytes() > bytes && self.drops_least() {}
    }

    /// Makes room by what is worth least, if anything is left that is no taint.
    fn drops_least(&mut self) -> bool {
        if self.sources.len() > 1 {
            // They only show what is known already: everything else is worth more.
            self.sources.pop_front().is_some()
        } else if self.requests.len() > FIRST_REQUESTS {
            self.requests.remove(FIRST_REQUESTS).is_some()
        } else if self.files.len() > 1 {
            self.files.pop_front().is_some()
        } else if self.instructions.len() > FIRST_INSTRUCTIONS {
            self.instructions.remove(FIRST_INSTRUCTIONS).is_some()
        } else {
            self.requests.pop_back().is_some()
                || self.calls.pop_front().is_some()
                || self.ends.pop_front().is_some()
                || self.files.pop_front().is_some()
                || self.instructions.pop_back().is_some()
        }
    }

    fn follow(&mut self, number: u32, record: &StepRecord) {
        let told = &record.told;
        let called = match told.kind {
            Kind::ToolResult | Kind::McpResponse => self.call_of(record.call.as_deref()),
            _ => None,
        };
        let notes = Notes::of(record);
        for learned in &record.texts {
            match learned.origin {
                Origin::Instructions => self.take_own_instructions(&learned.text),
                Origin::User if told.kind == Kind::UserMessage && told.outcome.happened() => {
                    self.take_request(&learned.text);
                    self.heard = number;
                }
                Origin::Agent if told.kind == Kind::AgentMessage => {
                    self.said = head(&learned.text, MAX_SAID).to_owned();
                }
                Origin::ToolArguments if told.outcome.happened() => {
                    let place = Provenance {
                        number,
                        method: told.method,
                        tool: told.tool.clone(),
                        classes: record.effects.classes,
                        origin: learned.origin,
                        pointer: learned.pointer.clone(),
                    };
                    self.take_end(&Arc::new(place), &learned.text);
                }
                origin if origin.is_external() => {
                    let place = Arc::new(Provenance {
                        number,
                        method: told.method,
                        tool: called.as_ref().map(|call| call.tool.clone()),
                        classes: called.as_ref().map(|call| call.classes).unwrap_or_default(),
                        origin,
                        pointer: learned.pointer.clone(),
                    });
                    self.take_external(&place, learned, told.kind, &notes);
                }
                _ => {}
            }
        }
        if let Some(tool) = &told.tool
            && matches!(told.kind, Kind::ToolCall | Kind::McpRequest)
            && told.outcome.happened()
        {
            self.take_call(number, tool, record);
        }
    }

    fn take_own_instructions(&mut self, text: &str) {
        let mark = text.bytes().fold(text.len() as u64, |mark, byte| {
            mark.rotate_left(5).wrapping_mul(31) ^ u64::from(byte)
        });
        if self.own_instructions != Some(mark) {
            self.own_instructions = Some(mark);
            self.taint.learn_instructions(text);
        }
    }

    fn take_request(&mut self, text: &str) {
        self.taint.learn_user(text);
        // "Yes, do it" makes the user's own what the agent had proposed.
        if approval::is_bare(text) {
            let said = std::mem::take(&mut self.said);
            self.taint.learn_user(&said);
        }
        self.delegates |= delegates(text);
    }

    fn take_source(&mut self, kept: KeptText) {
        self.sources.push_back(Arc::new(kept));
        let mut bytes: usize = self.sources.iter().map(|kept| kept.bytes()).sum();
        while bytes > MAX_SOURCES || self.sources.len() > MOST_SOURCES {
            let Some(gone) = self.sources.pop_front() else { break };
            bytes -= gone.bytes();
        }
    }

    fn take_external(&mut self, place: &Arc<Provenance>, learned: &LearnedText, kind: Kind, notes: &Notes<'_>) {
        let text = learned.text.as_str();
        if let Some(source) = notes.sources.get(place.pointer.as_str()) {
            self.take_source(KeptText {
                place: Arc::clone(place),
                text: (*source).clone(),
            });
        }
        let here = notes
            .instructions
            .get(place.pointer.as_str())
            .map(Vec::as_slice)
            .unwrap_or_default();
        let spans: Vec<Range<usize>> = here.iter().map(|i| i.span.clone()).collect();
        self.taint.learn(place, text, &spans);
        for instruction in here {
            let stretch = text
                .get(instruction.span.clone())
                .map(|stretch| head(stretch, MAX_INSTRUCTION));
            if let Some(stretch) = stretch {
                self.take_instruction(place, stretch, instruction.confidence, instruction.addressed);
            }
        }
        if matches!(place.origin, Origin::ToolDescription | Origin::Unknown) {
            return;
        }
        for request in requests(text).take(REQUESTS_OF_ONE) {
            self.take_instruction(place, request, Confidence::Low, false);
        }
        let private = place.classes.has(ToolClass::ReadsSensitive);
        if private && self.untrusted.is_some() {
            self.sensitive = Some(Arc::clone(place));
        }
        let open = place.classes.has(ToolClass::ReadsUntrusted) || !private;
        if open && self.untrusted.is_none() {
            self.untrusted = Some(Arc::clone(place));
        }
        if matches!(kind, Kind::ToolResult | Kind::McpResponse) {
            self.take_end(place, text);
        }
    }

    fn take_end(&mut self, place: &Arc<Provenance>, text: &str) {
        let text = text.trim_end();
        let from = text.ceil_char_boundary(text.len().saturating_sub(MAX_END));
        if self.ends.len() >= MAX_ENDS {
            self.ends.pop_front();
        }
        self.ends.push_back(End {
            place: Arc::clone(place),
            text: text.get(from..).unwrap_or_default().into(),
        });
    }

    fn take_instruction(&mut self, place: &Arc<Provenance>, stretch: &str, confidence: Confidence, addressed: bool) {
        let (kept, first, most) = match confidence {
            Confidence::Low => (&mut self.requests, FIRST_REQUESTS, MAX_REQUESTS),
            Confidence::Medium | Confidence::High => (&mut self.instructions, FIRST_INSTRUCTIONS, MAX_INSTRUCTIONS),
        };
        let words = plain(stretch);
        let known = kept
            .iter()
            .any(|known| known.words == words && known.confidence >= confidence);
        if words.len() < 8 || known {
            return;
        }
        if kept.len() >= most {
            kept.remove(first);
        }
        let mut stems: Vec<u64> = words.split_whitespace().map(stem).collect();
        stems.sort_unstable();
        stems.dedup();
        kept.push_back(Arc::new(Instruction {
            place: Arc::clone(place),
            words,
            stems,
            confidence,
            addressed,
        }));
    }

    fn take_call(&mut self, number: u32, tool: &str, record: &StepRecord) {
        if self.calls.len() >= MAX_CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(Arc::new(Called {
            number,
            id: record.call.clone(),
            tool: tool.to_owned(),
            classes: record.effects.classes,
        }));
        for (name, text) in &record.effects.files {
            if self.files.len() >= MAX_FILES {
                self.files.pop_front();
            }
            // What is written in pieces is one text.
            let before = self.file(name).filter(|_| appends(tool, text));
            let (before, from) = before.map_or(("", None), |file| (file.text.as_ref(), file.from.clone()));
            let joined = format!("{before}{}{text}", if before.is_empty() { "" } else { "\n" });
            let start = joined.ceil_char_boundary(joined.len().saturating_sub(MAX_FILE));
            self.files.push_back(Arc::new(Written {
                number,
                name: name.clone(),
                text: joined.get(start..).unwrap_or_default().into(),
                from: self.taint.passage_of(text).or(from),
            }));
        }
    }

    /// The call that an answer belongs to: the one with the same id; without an id, the latest.
    fn call_of(&self, id: Option<&str>) -> Option<Arc<Called>> {
        let mut calls = self.calls.iter().rev();
        match id {
            Some(id) => calls.find(|call| call.id.as_deref() == Some(id)).cloned(),
            None => calls.next().cloned(),
        }
    }
}
