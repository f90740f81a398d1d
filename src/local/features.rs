//! Features: what of a scene the scorer sees, as hashed names and as a few figures.

use super::scene::{Part, Passage, Scene, Spoken, Voice, is_telling};
use super::windows::{self, WINDOW};
use super::words::{self, Shape, join};
use crate::model::{Confidence, Finding, Kind, Origin, Outcome, ReasonCode, Severity, Step, Voice as Heard};
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
    /// Of the telling words of what decides, the share that the user said.
    Asked = "words that the user said",
    /// That the agent's instructions hold.
    Instructed = "words of the agent's instructions",
    /// That were read before, and the user did not say.
    Read = "words that were only read before",
    /// That the agent used before.
    Done = "words that the agent used before",
    /// That nobody said.
    New = "words that nobody said before",
    /// Values (ids, addresses, numbers) that the user named.
    ValuesAsked = "values that the user named",
    /// Values that were only read.
    ValuesRead = "values that were only read before",
    /// Values that nobody named.
    ValuesNew = "values that nobody named",
    /// How much of a call stands in an instruction of nobody's.
    Obeys = "words of an instruction without authority",
    /// How much of a call stands in a plain request of a text.
    Serves = "words of a request in a text that was read",
    /// What the findings add up to.
    Findings = "what the findings add up to",
    /// Steps since the user spoke.
    Since = "steps since the user spoke",
    /// Denied steps before.
    Denied = "steps that were denied before",
    /// What was seen before in texts from outside.
    SeenBefore = "what was seen in earlier texts",
    /// Sentences that begin with a word for doing something, where they are densest.
    Orders = "sentences that order something",
    /// How often the reader is addressed, where it is most often.
    Addressed = "how often the reader is addressed",
    /// Words that are codes or numbers.
    Codes = "numbers and ids",
    /// The share of the tool's words in what the user said.
    ToolAsked = "words of the tool's name that the user said",
    /// Earlier calls of this tool.
    ToolUsed = "earlier calls of the tool",
}

/// What the scorer sees of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Features {
    /// What part the step plays: an index into [`Part::ALL`].
    pub(super) part: usize,
    /// The figures, in order.
    pub(super) figures: Vec<f32>,
    /// Of the step as a whole.
    pub(super) step: Vec<Named>,
    /// Of its words as a whole; they can only speak for harm.
    pub(super) signs: Vec<Named>,
}

/// A feature of the step as a whole, with what it is called when a verdict is explained.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) id: Id,
    pub(super) name: Name,
}

/// What a feature of a step is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// A finding, by its place in the list.
    Finding(usize),
    /// A figure, by its place in the list.
    Figure(usize),
    /// What the step is: its kind, its tool, its place in the session.
    Shape,
}

impl Features {
    pub(super) fn of(scene: &Scene<'_>, findings: &[Finding], policy: &Policy) -> Self {
        let mut features = Self {
            part: scene.part() as usize,
            figures: vec![0.0; FIGURES.len()],
            step: Vec::new(),
            signs: Vec::new(),
        };
        features.shape(scene);
        features.texts(scene);
        features.asked_for(scene);
        features.relations(scene);
        features.call(scene, policy);
        features.arguments(scene);
        features.before(scene);
        features.findings(scene.step, findings);
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

    /// What kind of step it is.
    fn shape(&mut self, scene: &Scene<'_>) {
        self.add(&["part"], Name::Shape);
        self.add(&["kind", scene.step.kind.as_str()], Name::Shape);
        let voice = match scene.past.authority().voice() {
            Heard::Unheard => "unheard",
            Heard::Heard => "heard",
            Heard::Refused => "refused",
        };
        self.add(&["voice", voice], Name::Shape);
        for voice in Voice::ALL {
            let mut concepts = scene
                .of_voice(*voice)
                .flat_map(|passage| &passage.words)
                .fold(0, |all, word| all | word.concepts);
            while concepts != 0 {
                let bit = concepts.trailing_zeros();
                concepts &= concepts - 1;
                let id = join(join(join(0x51ed, self.part as u32), *voice as u32), bit);
                self.signs.push(Named { id, name: Name::Shape });
            }
        }
    }

    fn texts(&mut self, scene: &Scene<'_>) {
        const DOING: &[&str] = &[
            "send",
            "destroy",
            "execute",
            "permission",
            "weaken",
            "disclose",
            "money",
            "override",
            "tool",
            "danger_do",
        ];
        let names = super::lexicon::LEXICON.names();
        let bit = |name: &str| names.iter().position(|known| *known == name).map_or(0, |at| 1u64 << at);
        let doing = DOING.iter().fold(0, |all, name| all | bit(name));
        let you = bit("you") | bit("agent");
        let own = || {
            scene
                .passages
                .iter()
                .filter(|passage| passage.own && passage.voice != Voice::Thought)
        };
        let all = own().map(|passage| passage.words.len()).sum::<usize>();
        let codes = own()
            .flat_map(|passage| &passage.words)
            .filter(|word| word.shape != Shape::Word)
            .count();
        // Of the densest window: what is written around it makes it no thinner.
        let densest = |fits: &dyn Fn(&Spoken) -> bool| {
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
            densest(&|word| word.first && word.concepts & doing != 0),
        );
        self.set(Figure::Addressed, densest(&|word| word.concepts & you != 0));
        self.set(Figure::Codes, codes as f32 / (all as f32 + 8.0));
    }

    /// Where the words of the step were said before.
    fn relations(&mut self, scene: &Scene<'_>) {
        let [mut telling, mut asked, mut instructed, mut read, mut done, mut new] = [0f32; 6];
        let [mut values, mut values_asked, mut values_read, mut values_new] = [0f32; 4];
        let deciding = |passage: &&Passage| passage.own && passage.voice != Voice::Thought;
        for word in scene
            .passages
            .iter()
            .filter(deciding)
            .flat_map(|passage| &passage.words)
            .take(4_000)
        {
            if !is_telling(word.end.saturating_sub(word.start), word.shape) {
                continue;
            }
            let user = scene.asked.contains(&word.hash);
            let instruction = scene.instructed.contains(&word.hash);
            let seen = scene.read.contains(&word.hash);
            let used = scene.done.contains(&word.hash);
            telling += 1.0;
            asked += f32::from(u8::from(user));
            instructed += f32::from(u8::from(instruction));
            read += f32::from(u8::from(seen && !user && !instruction));
            done += f32::from(u8::from(used));
            new += f32::from(u8::from(!user && !instruction && !seen && !used));
            if word.shape != Shape::Word {
                values += 1.0;
                values_asked += f32::from(u8::from(user));
                values_read += f32::from(u8::from(seen && !user));
                values_new += f32::from(u8::from(!seen && !user && !instruction));
            }
        }
        let share = |some: f32, all: f32| some / (all + 1.0);
        self.set(Figure::Asked, share(asked, telling));
        self.set(Figure::Instructed, share(instructed, telling));
        self.set(Figure::Read, share(read, telling));
        self.set(Figure::Done, share(done, telling));
        self.set(Figure::New, share(new, telling));
        self.set(Figure::ValuesAsked, share(values_asked, values));
        self.set(Figure::ValuesRead, share(values_read, values));
        self.set(Figure::ValuesNew, share(values_new, values));
        let trail = scene.past.trail();
        if scene.part() == Part::Acts || scene.part() == Part::Says {
            let orders = trail.instructions().map(|order| order.words.as_str());
            let requests = trail.requests().map(|request| request.words.as_str());
            let obeys = most_shared(scene, orders);
            let serves = most_shared(scene, requests);
            self.set(Figure::Obeys, obeys);
            self.set(Figure::Serves, serves);
        }
    }

    /// What is spoken of that the user spoke of, and that the user did not; how an answer begins.
    fn asked_for(&mut self, scene: &Scene<'_>) {
        let part = self.part as u32;
        let own = || {
            scene
                .passages
                .iter()
                .filter(|passage| passage.own && passage.voice != Voice::Thought)
        };
        let mut here = own()
            .flat_map(|passage| &passage.words)
            .fold(0, |all, word| all | word.concepts);
        let heard = scene.past.authority().voice() == Heard::Heard;
        while here != 0 && heard {
            let bit = here.trailing_zeros();
            here &= here - 1;
            let name = Name::Figure(Figure::Asked as usize);
            if scene.asked_about & (1 << bit) != 0 {
                let id = join(join(0xa50, part), bit);
                self.step.push(Named { id, name });
            } else {
                let id = join(join(0xa60, part), bit);
                self.signs.push(Named { id, name });
            }
        }
        if scene.part() == Part::Says {
            let opening = own()
                .next()
                .map(|passage| passage.words.iter().take(15).fold(0, |all, word| all | word.concepts));
            pairs(opening.unwrap_or_default(), 1, |bit, _| {
                self.signs.push(Named {
                    id: join(0x0e4, bit),
                    name: Name::Shape,
                });
            });
            pairs(scene.asked_about, 1, |bit, _| {
                self.step.push(Named {
                    id: join(0x0e5, bit),
                    name: Name::Figure(Figure::Asked as usize),
                });
            });
        }
    }

    /// Where the value of each argument was said before.
    fn arguments(&mut self, scene: &Scene<'_>) {
        for passage in scene.of_voice(Voice::Argument).filter(|passage| passage.own).take(24) {
            let mut counts = [0u32; 4];
            for word in passage.words.iter().take(200) {
                if !is_telling(word.end.saturating_sub(word.start), word.shape) {
                    continue;
                }
                let place = if scene.asked.contains(&word.hash) {
                    0
                } else if scene.instructed.contains(&word.hash) {
                    1
                } else if scene.read.contains(&word.hash) {
                    2
                } else {
                    3
                };
                if let Some(count) = counts.get_mut(place) {
                    *count += 1;
                }
            }
            let most = counts
                .iter()
                .enumerate()
                .max_by_key(|(_, count)| **count)
                .map_or(4, |(at, count)| if *count == 0 { 4 } else { at });
            let some = u32::from(counts.get(2).is_some_and(|read| *read > 0));
            let label = scene
                .step
                .content(passage.content)
                .and_then(|content| content.label.as_deref())
                .unwrap_or_default();
            let mut words = Vec::new();
            words::read(&spaced(label), &mut words);
            let last = words.last().map_or(0, |word| word.hash);
            for id in [
                join(join(0xa46, last), most as u32),
                join(0xa47, most as u32),
                join(join(0xa48, last), some),
            ] {
                self.step.push(Named {
                    id,
                    name: Name::Figure(Figure::Read as usize),
                });
            }
        }
    }

    /// What the call does, with what.
    fn call(&mut self, scene: &Scene<'_>, policy: &Policy) {
        let Some(call) = &scene.step.tool_call else { return };
        let classified = classes_of_call(scene.step, call, policy);
        for class in classified.set.iter() {
            self.add(&["class", class.as_str()], Name::Shape);
        }
        if classified.set.is_empty() {
            self.add(&["class", if classified.reads { "reads" } else { "none" }], Name::Shape);
        }
        let declared = scene
            .step
            .tools()
            .any(|tool| tool.id == call.tool || tool.name == call.tool);
        self.add(&["declared", if declared { "yes" } else { "no" }], Name::Shape);
        let mut said = Vec::new();
        words::read(&spaced(&call.tool), &mut said);
        let mut asked = 0.0;
        for word in said.iter().take(8) {
            asked += f32::from(u8::from(scene.asked.contains(&word.hash)));
            let id = join(join(0x7001, self.part as u32), word.hash);
            self.step.push(Named { id, name: Name::Shape });
        }
        self.set(Figure::ToolAsked, asked / (said.len() as f32 + 0.5));
        let used = scene
            .past
            .trail()
            .calls()
            .filter(|earlier| earlier.tool == call.tool)
            .count();
        self.set(Figure::ToolUsed, (used as f32).min(4.0) / 4.0);
        for argument in call.arguments.iter().take(16) {
            let mut name = Vec::new();
            words::read(&spaced(&argument.name), &mut name);
            for word in name.iter().take(3) {
                let id = join(join(0xa36, self.part as u32), word.hash);
                self.step.push(Named { id, name: Name::Shape });
            }
        }
        if classified.set.has(ToolClass::Executes) {
            self.add(&["executes"], Name::Shape);
        }
    }

    /// What happened before.
    fn before(&mut self, scene: &Scene<'_>) {
        let events = || scene.past.events();
        let denied = events().filter(|event| event.step.outcome == Outcome::Denied).count();
        self.set(Figure::Denied, (denied as f32).min(4.0) / 4.0);
        let weigh = |severity: Severity, confidence: Confidence| {
            (severity as u8 as f32) * (1.0 + confidence as u8 as f32) / 12.0
        };
        let seen = events()
            .flat_map(|event| &event.step.noted)
            .filter(|noted| {
                matches!(
                    noted.reason,
                    ReasonCode::PromptInjection | ReasonCode::ToolPoisoning | ReasonCode::MemoryPoisoning
                )
            })
            .map(|noted| weigh(noted.severity, noted.confidence))
            .fold(0.0, f32::max);
        self.set(Figure::SeenBefore, seen);
        let since = events()
            .rev()
            .take_while(|event| event.step.kind != Kind::UserMessage)
            .count();
        self.set(Figure::Since, (since as f32).min(8.0) / 8.0);
        let last = events()
            .next_back()
            .map_or("nothing", |event| Part::of(event.step.kind).as_str());
        self.add(&["last", last], Name::Shape);
        let trail = scene.past.trail();
        let taint = match (trail.untrusted().is_some(), trail.sensitive().is_some()) {
            (false, _) => "clean",
            (true, false) => "untrusted",
            (true, true) => "both",
        };
        self.add(&["taint", taint], Name::Shape);
        if trail.delegates() {
            self.add(&["delegates"], Name::Shape);
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
            // Whoever writes a text makes it as long as he likes.
            if at == Figure::Length as usize || at == Figure::Codes as usize {
                self.signs.push(Named { id, name });
            } else {
                self.step.push(Named { id, name });
            }
        }
    }
}

/// The features of one word in its place, told one by one.
#[inline]
pub(super) fn of_word(voice: Voice, before: Option<&Spoken>, word: &Spoken, mut each: impl FnMut(Id)) {
    let seed = 0x9e37 + voice as u32;
    let own = plain(word);
    each(join(seed, own));
    if word.stem != word.hash && word.shape == Shape::Word {
        each(join(seed ^ 0x5700, word.stem));
    }
    if let Some(before) = before {
        each(join(join(seed ^ 0xb100, plain(before)), own));
    }
    let mut concepts = word.concepts;
    while concepts != 0 {
        let bit = concepts.trailing_zeros();
        concepts &= concepts - 1;
        each(join(seed ^ 0xc000, bit));
        if word.first {
            each(join(seed ^ 0xcf00, bit));
        }
    }
}

/// The features of a window as a whole: concepts that meet in it or follow each other, how it begins its sentences, and how
/// much it belongs to the rest ([`Scene::belonging`]).
#[inline]
pub(super) fn of_window(belonging: u32, voice: Voice, words: &[Spoken], mut each: impl FnMut(Id)) {
    let seed = 0x3a7 + voice as u32;
    let (mut concepts, mut orders, mut before) = (0u64, 0u32, 0u64);
    for word in words {
        concepts |= word.concepts;
        orders += u32::from(word.first && word.concepts & VERB != 0);
        if word.concepts != 0 {
            if before != 0 {
                pairs(before, word.concepts, |a, b| each(join(seed ^ 0x0de0, a * 64 + b)));
            }
            before = word.concepts;
        }
    }
    each(join(seed ^ 0xbe00, belonging));
    each(join(seed ^ 0xbe10, belonging * 4 + orders.min(3)));
    let mut first = concepts;
    while first != 0 {
        let a = first.trailing_zeros();
        first &= first - 1;
        let mut second = first;
        while second != 0 {
            let b = second.trailing_zeros();
            second &= second - 1;
            each(join(seed, a * 64 + b));
        }
    }
}

/// The concept of words that begin an order: the last but one of the list.
const VERB: u64 = 1 << VERB_BIT;
const VERB_BIT: u32 = 50;

/// Every pair of a concept of one set and one of another.
#[inline]
fn pairs(mut first: u64, second: u64, mut each: impl FnMut(u32, u32)) {
    while first != 0 {
        let a = first.trailing_zeros();
        first &= first - 1;
        let mut rest = second;
        while rest != 0 {
            each(a, rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
}

fn plain(word: &Spoken) -> u32 {
    match word.shape {
        Shape::Word => word.hash,
        Shape::Number => 1,
        Shape::Code => 2,
    }
}

/// The largest share of the step's telling words that one of these texts holds.
fn most_shared<'t>(scene: &Scene<'_>, texts: impl Iterator<Item = &'t str>) -> f32 {
    let deciding = scene
        .passages
        .iter()
        .filter(|passage| passage.own && passage.voice != Voice::Thought);
    let mut own: Vec<u32> = deciding
        .flat_map(|passage| &passage.words)
        .filter(|word| is_telling(word.end.saturating_sub(word.start), word.shape) && !scene.asked.contains(&word.hash))
        .map(|word| word.hash)
        .take(400)
        .collect();
    own.sort_unstable();
    own.dedup();
    if own.is_empty() {
        return 0.0;
    }
    let mut buffer = Vec::new();
    let mut most = 0;
    for text in texts {
        buffer.clear();
        words::read(text, &mut buffer);
        let mut shared: Vec<u32> = buffer
            .iter()
            .map(|word| word.hash)
            .filter(|hash| own.binary_search(hash).is_ok())
            .collect();
        shared.sort_unstable();
        shared.dedup();
        most = most.max(shared.len());
    }
    most as f32 / (own.len() as f32 + 1.0)
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
