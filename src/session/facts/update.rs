//! The update of the facts by a step.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::{Called, End, FIRST_INSTRUCTIONS, FIRST_REQUESTS, Instruction, SessionFacts, Written};
use crate::model::{Confidence, Kind, Origin, head};
use crate::session::effects::InstructionSpan;
use crate::session::requests_in_text::{delegates, requests};
use crate::session::source_text::{KeptText, SourceText};
use crate::session::taint::{Provenance, plain, stem};
use crate::session::{LearnedText, StepRecord, approval};
use crate::text::views::Normalized;
use crate::tools::ToolClass;

/// Instructions that are remembered. The first ones stay, of the later ones the latest do.
const MAX_INSTRUCTIONS: usize = 32;
/// Requests that are remembered, by the same rule; of one text at most so many.
const MAX_REQUESTS: usize = 64;
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
const MAX_SOURCE_BYTES: usize = 160 * 1024;
/// Texts that are kept.
const MAX_SOURCES: usize = 400;

/// The notes about the texts of a step, by pointer: a step may have tens of thousands.
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

impl SessionFacts {
    pub(super) fn follow(&mut self, number: u32, record: &StepRecord) {
        let told = &record.told;
        let called = told.kind.is_tool_answer().then(|| self.call_of(record.call.as_deref()));
        let called = called.flatten();
        let notes = Notes::of(record);
        for learned in &record.texts {
            match learned.origin {
                Origin::Instructions => self.take_own_instructions(&learned.text),
                Origin::User if told.kind == Kind::UserMessage && told.outcome.happened() => {
                    self.take_request(&learned.text);
                    self.heard = number;
                }
                Origin::Agent if told.kind == Kind::AgentMessage => {
                    self.said = head(&record.withheld.without(&learned.text), MAX_SAID).to_owned();
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
                    self.take_end(&Arc::new(place), &record.withheld.without(&learned.text));
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
                    self.take_external(&place, learned, record, &notes);
                }
                _ => {}
            }
        }
        if let Some(tool) = &told.tool
            && told.kind.calls_tool()
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
        while bytes > MAX_SOURCE_BYTES || self.sources.len() > MAX_SOURCES {
            let Some(gone) = self.sources.pop_front() else { break };
            bytes -= gone.bytes();
        }
    }

    fn take_external(
        &mut self,
        place: &Arc<Provenance>,
        learned: &LearnedText,
        record: &StepRecord,
        notes: &Notes<'_>,
    ) {
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
                .map(|stretch| record.withheld.without(stretch));
            if let Some(stretch) = stretch {
                let stretch = head(&stretch, MAX_INSTRUCTION);
                self.take_instruction(place, stretch, instruction.confidence, instruction.addressed);
            }
        }
        if matches!(place.origin, Origin::ToolDescription | Origin::Unknown) {
            return;
        }
        let clean = record.withheld.without(text);
        for request in requests(Normalized::of(&clean).text()).take(REQUESTS_OF_ONE) {
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
        if record.told.kind.is_tool_answer() {
            self.take_end(place, &clean);
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
            // Text that is written in pieces is one text.
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

    /// Returns the call that an answer belongs to: the one with the same id; without an id, the latest.
    fn call_of(&self, id: Option<&str>) -> Option<Arc<Called>> {
        let mut calls = self.calls.iter().rev();
        match id {
            Some(id) => calls.find(|call| call.id.as_deref() == Some(id)).cloned(),
            None => calls.next().cloned(),
        }
    }
}

/// Returns `true` if a call adds to a file rather than writing it anew.
fn appends(tool: &str, text: &str) -> bool {
    tool.to_ascii_lowercase().contains("append") || text.contains(">>") || text.contains("tee -a")
}
