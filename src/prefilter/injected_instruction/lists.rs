//! The lists of signals, and the rules that each of them makes.
//!
//! The signals are data (`rules/*.toml`). What they weigh where they stand is not known here.

use std::sync::LazyLock;

use super::FAMILY;
use crate::model::{ReasonCode, Rule, RuleObject, Treatment};
use crate::prefilter::engine::{RuleFile, RuleTable, rule_keys};
use crate::prefilter::signals::{HALVES, Signals};
use crate::text::{DataError, DataFile, data_file};

rule_keys! {
    /// The rules about several signals that stand together.
    pub(super) enum Together {
        Likely = "likely",
        Strong = "strong",
        JailbreakLikely = "jailbreak_likely",
        Jailbreak = "jailbreak",
    }
}

const fn file(data: DataFile, reason: ReasonCode) -> RuleFile {
    RuleFile {
        data,
        family: FAMILY,
        reason,
        suggests: Treatment::Evidence,
        object: RuleObject::Words,
    }
}

const EXTERNAL: RuleFile = file(
    data_file!("prefilter/rules/injected_instruction.toml"),
    ReasonCode::PromptInjection,
);
const DISGUISED: RuleFile = file(
    data_file!("prefilter/rules/disguised.toml"),
    ReasonCode::PromptInjection,
);
const JAILBREAK: RuleFile = file(data_file!("prefilter/rules/jailbreak.toml"), ReasonCode::Jailbreak);
const TOGETHER: RuleFile = file(
    data_file!("prefilter/rules/signals_together.toml"),
    ReasonCode::PromptInjection,
);

/// From this sum of weights on, instructions are all but certain.
const STRONG: u32 = 10 * HALVES;

/// The same for what a user says: those who argue with an agent's rules leave fewer doubts.
const STRONG_OF_USER: u32 = 8 * HALVES;

/// Signals, and the rules about several of them.
pub(super) struct List {
    pub(super) signals: Signals,
    pub(super) likely: Together,
    pub(super) strong: Together,
    /// The weight that the signals must have together to be strong.
    pub(super) enough: u32,
}

/// The lists, and the family's rules: those of their signals, and those of signals that stand together.
pub(super) struct Lists {
    pub(super) rules: Vec<Rule>,
    pub(super) together: RuleTable<Together>,
    /// Signals of instructions in data.
    pub(super) external: List,
    /// Signals of instructions only where they are disguised: each is told by its own rule.
    pub(super) disguised: Signals,
    /// Signals of attempts to talk an agent out of its rules.
    pub(super) user: List,
}

static LISTS: LazyLock<Result<Lists, DataError>> = LazyLock::new(Lists::load);

/// The lists, read once.
pub(super) fn lists() -> Result<&'static Lists, DataError> {
    LISTS.as_ref().map_err(Clone::clone)
}

impl Lists {
    fn load() -> Result<Self, DataError> {
        let together = RuleTable::load(&TOGETHER)?;
        let external = List {
            signals: Signals::load(&EXTERNAL)?,
            likely: Together::Likely,
            strong: Together::Strong,
            enough: STRONG,
        };
        let disguised = Signals::load(&DISGUISED)?;
        let user = List {
            signals: Signals::load(&JAILBREAK)?,
            likely: Together::JailbreakLikely,
            strong: Together::Jailbreak,
            enough: STRONG_OF_USER,
        };
        let signals = [&external.signals, &disguised, &user.signals];
        let rules = signals.into_iter().flat_map(Signals::kinds).chain(together.rules());
        Ok(Self {
            rules: rules.cloned().collect(),
            together,
            external,
            disguised,
            user,
        })
    }
}
