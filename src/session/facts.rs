//! The facts about the steps of a session so far that the rules over a session need.
//!
//! Pure data, bounded, the same for the same steps: where values were read first ([`TaintIndex`]), which stretches of what
//! was read were instructions, which tools were called and what they do, which files were written. It takes no decision.

mod update;

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StepRecord;
use super::source_text::KeptText;
use super::taint::{Provenance, TaintIndex};
use crate::model::Confidence;
use crate::tools::ClassSet;

/// The first instructions that stay.
const FIRST_INSTRUCTIONS: usize = 8;
/// The first requests that stay.
const FIRST_REQUESTS: usize = 16;

/// The parts of the facts' room that the taint index has.
const TAINTS: usize = 5;
/// The number of parts of that room.
const PARTS: usize = 7;

/// An instruction that stood in a text without authority.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Instruction {
    /// The place where it was read.
    pub place: Arc<Provenance>,
    /// Its words, small, with single spaces between and around them.
    pub words: String,
    /// Fingerprints of the stems of its words, sorted.
    stems: Vec<u64>,
    /// The likelihood that it is one. `Low`: it only asks for something, as any letter may.
    pub confidence: Confidence,
    /// True if it speaks to software.
    pub addressed: bool,
}

impl Instruction {
    /// Returns the number of its distinct words, whatever their forms.
    pub(super) fn distinct_words(&self) -> usize {
        self.stems.len()
    }

    /// Returns `true` if it uses any form of the word of this stem.
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
    /// The classes of the tool.
    pub classes: ClassSet,
}

/// A file that was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Written {
    /// The number of the step.
    pub number: u32,
    /// Its name, without folders, small.
    pub name: String,
    /// The text that was written.
    pub text: Arc<str>,
    /// The place where the text was read before, if it was.
    pub from: Option<Arc<Provenance>>,
}

/// The end of an output or an argument.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct End {
    /// The place of the text.
    pub place: Arc<Provenance>,
    /// The last bytes.
    pub text: Arc<str>,
}

/// The facts that the rules over a session need. Cheap to clone when small; meant to be shared.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SessionFacts {
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

impl SessionFacts {
    /// Returns the index of where values and passages were read first.
    pub fn taint(&self) -> &TaintIndex {
        &self.taint
    }

    /// Returns the instructions that stood in texts without authority.
    pub fn instructions(&self) -> impl Iterator<Item = &Arc<Instruction>> {
        self.instructions.iter()
    }

    /// Returns the sentences in texts without authority that ask for something, as honest letters do too.
    pub fn requests(&self) -> impl Iterator<Item = &Arc<Instruction>> {
        self.requests.iter()
    }

    /// Returns the calls that were made, oldest first.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &Called> {
        self.calls.iter().map(AsRef::as_ref)
    }

    /// Returns the last text written into a file of this name.
    pub fn file(&self, name: &str) -> Option<&Written> {
        let name = name.to_lowercase();
        self.files
            .iter()
            .rev()
            .find(|file| file.name == name)
            .map(AsRef::as_ref)
    }

    /// Returns the files that were written, oldest first.
    pub fn files(&self) -> impl DoubleEndedIterator<Item = &Written> {
        self.files.iter().map(AsRef::as_ref)
    }

    /// Returns the ends of the latest outputs and arguments, oldest first.
    pub fn ends(&self) -> impl DoubleEndedIterator<Item = &End> {
        self.ends.iter()
    }

    /// Returns the texts that were read, oldest first.
    pub fn sources(&self) -> impl Iterator<Item = &KeptText> {
        self.sources.iter().map(AsRef::as_ref)
    }

    /// Returns the place of the first text that anyone may have written.
    pub fn untrusted(&self) -> Option<&Arc<Provenance>> {
        self.untrusted.as_ref()
    }

    /// Returns the latest private text, read after that.
    pub fn sensitive(&self) -> Option<&Arc<Provenance>> {
        self.sensitive.as_ref()
    }

    /// Returns the number of the step in which the user last spoke; 0 if no user has spoken.
    pub fn heard(&self) -> u32 {
        self.heard
    }

    /// Returns `true` if the user told the agent to do what a text says.
    pub fn delegates(&self) -> bool {
        self.delegates
    }

    /// Returns the bytes that it takes in memory, roughly.
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

    /// Takes in what happened in the step of this number; the facts may take so many bytes.
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
}
