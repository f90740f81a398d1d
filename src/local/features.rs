//! Features of a step as a whole: hashed names, and a few figures.

mod relations;
mod tokens;

pub(super) use tokens::{of_window, of_word};

use super::lexicon::MASKS;
use super::step_context::{StepContext, Token};
use super::voice::Voice;
use super::windows::{self, WINDOW};
use super::words::{self, Shape, join};
use crate::model::{Finding, Origin, ReasonCode, Step, Voice as Heard};
use crate::policy::Policy;
use crate::tools::{ToolClass, classes_of_call};

/// A hashed feature, before it is given a place in a table.
pub(super) type Id = u32;

macro_rules! figures {
    ($($(#[$doc:meta])* $name:ident = $text:literal),+ $(,)?) => {
        /// A figure of a step, mostly a share from 0 to 1.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Figure { $($(#[$doc])* $name),+ }

        /// The names of the figures, in order.
        pub(super) const FIGURES: &[&str] = &[$($text),+];
    };
}

figures! {
    /// Words of the step, as a logarithm.
    Length = "length of the step",
    /// The share of the telling words of the deciding texts that the user said.
    Asked = "words that the user said",
    /// The share that the agent's instructions hold.
    Instructed = "words of the agent's instructions",
    /// The share that was read before, and that the user did not say.
    Read = "words that were only read before",
    /// The share that the agent used before.
    Done = "words that the agent used before",
    /// The share that no one said before.
    New = "words that were not said before",
    /// Values (ids, addresses, numbers) that the user named.
    ValuesAsked = "values that the user named",
    /// Values that were only read.
    ValuesRead = "values that were only read before",
    /// Values that no one named.
    ValuesNew = "values that were not named",
    /// The share of a call that stands in an instruction without authority.
    Obeys = "words of an instruction without authority",
    /// The share of a call that stands in a plain request of a text.
    Serves = "words of a request in a text that was read",
    /// The sum of the findings.
    Findings = "what the findings add up to",
    /// Steps since the user spoke.
    Since = "steps since the user spoke",
    /// Denied steps before.
    Denied = "steps that were denied before",
    /// Findings before in texts from outside.
    SeenBefore = "what was seen in earlier texts",
    /// Sentences that begin with a word for doing something, where they are densest.
    Orders = "sentences that order something",
    /// The frequency with which the reader is addressed, where it is highest.
    Addressed = "how often the reader is addressed",
    /// Words that are codes or numbers.
    Codes = "numbers and ids",
    /// The share of the tool's words in what the user said.
    ToolAsked = "words of the tool's name that the user said",
    /// Earlier calls of this tool.
    ToolUsed = "earlier calls of the tool",
}

/// The features of a step that the scorer sees.
#[derive(Clone, Debug, Default)]
pub(super) struct Features {
    /// The role of the step: an index into `StepRole::ALL`.
    pub(super) part: usize,
    /// The figures, in order.
    pub(super) figures: Vec<f32>,
    /// The features of the step as a whole.
    pub(super) step: Vec<Named>,
    /// The features of its words as a whole; they can only speak for harm.
    pub(super) harm_only: Vec<Named>,
}

/// A feature of the step as a whole, with its name for the explanation of a verdict.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) id: Id,
    pub(super) name: Name,
}

/// The name of a feature of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// A finding, by its place in the list.
    Finding(usize),
    /// A figure, by its place in the list.
    Figure(usize),
    /// The shape of the step: its kind, its tool, its place in the session.
    Shape,
}

impl Features {
    pub(super) fn of(context: &StepContext<'_>, findings: &[Finding], policy: &Policy) -> Self {
        let mut features = Self {
            part: context.part() as usize,
            figures: vec![0.0; FIGURES.len()],
            step: Vec::new(),
            harm_only: Vec::new(),
        };
        features.shape(context);
        features.texts(context);
        features.asked_for(context);
        features.relations(context);
        features.call(context, policy);
        features.arguments(context);
        features.before(context);
        features.findings(context.step, findings);
        features.bucket();
        features
    }

    fn set(&mut self, figure: Figure, value: f32) {
        if let Some(slot) = self.figures.get_mut(figure as usize) {
            *slot = value;
        }
    }

    fn add(&mut self, parts: &[&str], name: Name) {
        let id = parts.iter().fold(join(words::SEED, self.part as u32), |id, part| {
            join(id, words::hash(part))
        });
        self.step.push(Named { id, name });
    }

    /// Adds the kind of the step.
    fn shape(&mut self, context: &StepContext<'_>) {
        self.add(&["part"], Name::Shape);
        self.add(&["kind", context.step.kind.as_str()], Name::Shape);
        let voice = match context.past.authority().voice() {
            Heard::Unheard => "unheard",
            Heard::Heard => "heard",
            Heard::Refused => "refused",
        };
        self.add(&["voice", voice], Name::Shape);
        for voice in Voice::ALL {
            let mut concepts = context
                .of_voice(*voice)
                .flat_map(|passage| &passage.words)
                .fold(0, |all, word| all | word.concepts);
            while concepts != 0 {
                let bit = concepts.trailing_zeros();
                concepts &= concepts - 1;
                let id = join(join(join(0x51ed, self.part as u32), *voice as u32), bit);
                self.harm_only.push(Named { id, name: Name::Shape });
            }
        }
    }

    fn texts(&mut self, context: &StepContext<'_>) {
        let own = || context.deciding();
        let all = own().map(|passage| passage.words.len()).sum::<usize>();
        let codes = own()
            .flat_map(|passage| &passage.words)
            .filter(|word| word.shape != Shape::Word)
            .count();
        // Of the densest window: what is written around it makes it no thinner.
        let densest = |fits: &dyn Fn(&Token) -> bool| {
            let windows = own()
                .flat_map(|passage| windows::spans(passage.words.len()).filter_map(|span| passage.words.get(span)));
            let most = windows
                .map(|window| window.iter().filter(|word| fits(word)).count())
                .max();
            most.unwrap_or(0) as f32 / WINDOW as f32 * 4.0
        };
        self.set(Figure::Length, (all as f32 + 1.0).ln() / 10.0);
        self.set(
            Figure::Orders,
            densest(&|word| word.first && word.concepts & MASKS.doing != 0),
        );
        self.set(Figure::Addressed, densest(&|word| word.concepts & MASKS.reader != 0));
        self.set(Figure::Codes, codes as f32 / (all as f32 + 8.0));
    }

    /// Adds what the call does, with what.
    fn call(&mut self, context: &StepContext<'_>, policy: &Policy) {
        let Some(call) = &context.step.tool_call else { return };
        let classified = classes_of_call(context.step, call, policy);
        for class in classified.set.iter() {
            self.add(&["class", class.as_str()], Name::Shape);
        }
        if classified.set.is_empty() {
            self.add(&["class", if classified.reads { "reads" } else { "none" }], Name::Shape);
        }
        let declared = context
            .step
            .tools()
            .any(|tool| tool.id == call.tool || tool.name == call.tool);
        self.add(&["declared", if declared { "yes" } else { "no" }], Name::Shape);
        let mut said = Vec::new();
        words::read(&spaced(&call.tool), context.vocabulary, &mut said);
        let mut asked = 0.0;
        for word in said.iter().take(8) {
            asked += f32::from(u8::from(context.asked.contains(&word.hash)));
            let id = join(join(0x7001, self.part as u32), word.hash);
            self.step.push(Named { id, name: Name::Shape });
        }
        self.set(Figure::ToolAsked, asked / (said.len() as f32 + 0.5));
        let used = context
            .past
            .facts()
            .calls()
            .filter(|earlier| earlier.tool == call.tool)
            .count();
        self.set(Figure::ToolUsed, (used as f32).min(4.0) / 4.0);
        for argument in call.arguments.iter().take(16) {
            let mut name = Vec::new();
            words::read(&spaced(&argument.name), context.vocabulary, &mut name);
            for word in name.iter().take(3) {
                let id = join(join(0xa36, self.part as u32), word.hash);
                self.step.push(Named { id, name: Name::Shape });
            }
        }
        if classified.set.has(ToolClass::Executes) {
            self.add(&["executes"], Name::Shape);
        }
    }

    fn findings(&mut self, step: &Step, findings: &[Finding]) {
        let mut left = 1.0f32;
        for (at, finding) in findings.iter().enumerate().take(64) {
            let family = finding.rule.split('.').next().unwrap_or_default();
            let content = finding.content.and_then(|id| step.content(id));
            let place = content.map_or("step", |content| match (content.place, content.origin) {
                (crate::model::Place::Surroundings, _) => "around",
                (_, Origin::User) => "user",
                (_, origin) if origin.is_external() => "outside",
                _ => "own",
            });
            let name = Name::Finding(at);
            let (severity, confidence) = (finding.severity.as_str(), finding.confidence.as_str());
            if place == "around" {
                continue;
            }
            self.add(&["rule", &finding.rule], name);
            self.add(&["family", family, severity, confidence], name);
            self.add(&["reason", finding.reason.as_str(), place, severity], name);
            if !matches!(finding.reason, ReasonCode::PersonalData | ReasonCode::InvalidArguments) {
                let weight = (finding.severity as u8 as f32) * (1.0 + finding.confidence as u8 as f32) / 14.0;
                left *= 1.0 - weight.min(0.9);
            }
        }
        self.step.sort_by_key(|named| named.id);
        self.step.dedup_by_key(|named| named.id);
        self.set(Figure::Findings, 1.0 - left);
    }

    /// The figures as features, each in a bucket of its own.
    fn bucket(&mut self) {
        for (at, value) in self.figures.iter().enumerate() {
            let bucket = match value {
                v if *v <= 0.001 => 0,
                v if *v <= 0.1 => 1,
                v if *v <= 0.25 => 2,
                v if *v <= 0.45 => 3,
                v if *v <= 0.7 => 4,
                _ => 5,
            };
            let id = join(join(join(0xf16, self.part as u32), at as u32), bucket);
            let name = Name::Figure(at);
            // An attacker can make a text as long as needed.
            if at == Figure::Length as usize || at == Figure::Codes as usize {
                self.harm_only.push(Named { id, name });
            } else {
                self.step.push(Named { id, name });
            }
        }
    }
}

/// A name of several words, with gaps between them.
fn spaced(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut lower = false;
    for c in name.chars().take(96) {
        if c.is_uppercase() && lower {
            out.push(' ');
        }
        lower = c.is_lowercase();
        out.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    out
}
