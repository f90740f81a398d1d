//! Verdicts: the answer to a step, and where it came from.

use std::sync::Arc;

use super::named_enum;
use super::{Coverage, Edit, Finding, ReasonCode, Step};

named_enum! {
    /// The answer, from the laxest to the strictest (AOS 5.1.1).
    Decision {
        /// The step may happen.
        Allow = "allow",
        /// The step may happen as modified.
        Modify = "modify",
        /// The step must not happen.
        Deny = "deny",
    }
}

named_enum! {
    /// How bad it would be if the step happened, as a judge sees it.
    Risk {
        /// Nothing.
        None = "none",
        /// A nuisance.
        Low = "low",
        /// Some harm.
        Medium = "medium",
        /// Serious harm.
        High = "high",
        /// Harm that cannot be undone.
        Critical = "critical",
    }
}

named_enum! {
    /// Whether the user asked for the step, as a judge sees it; from the strongest grant to none.
    Authorization {
        /// The user asked for exactly this.
        Explicit = "explicit",
        /// It follows from what the user asked for.
        Implied = "implied",
        /// Nothing is known of what the user asked for.
        Unknown = "unknown",
        /// The user asked for something else, or against it.
        Contradicted = "contradicted",
    }
}

named_enum! {
    /// Where a verdict came from.
    Source {
        /// Findings alone: prefilters with policy, or the local judge.
        Rules = "rules",
        /// An earlier verdict of the judge on an equal step.
        Cache = "cache",
        /// A model.
        Judge = "judge",
        /// The local judge's trained scorer.
        Local = "local",
        /// Nobody could decide: the posture.
        Fallback = "fallback",
    }
}

named_enum! {
    /// Which of a judge's models decided.
    Stage {
        /// The only one there is.
        Single = "single",
        /// The small one that is asked first.
        First = "first",
        /// The one that is asked when the first may not decide.
        Second = "second",
    }
}

named_enum! {
    /// Whether verdicts are enforced.
    Enforcement {
        /// A step happens as its verdict says.
        Enforce = "enforce",
        /// Every step happens as it was sent; its verdict is told and recorded.
        Observe = "observe",
    }
}

/// How a model's answer was come by, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judging {
    /// Which model decided.
    pub stage: Stage,
    /// Tokens that this decision took: none when the answer was stored, or somebody else asked for it.
    pub tokens: u64,
    /// Their price, in millionths of the unit of the configured prices.
    pub cost_micros: u64,
    /// How old a stored answer is.
    pub age_seconds: Option<u64>,
    /// The id of the decision for which the answer was given, where that was another one.
    pub decision: Option<Arc<str>>,
}

/// Something that went wrong, or was noteworthy, on the way to a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// A stable name (`judge_timeout`, `edit_refused`, …).
    pub code: &'static str,
    /// One sentence for an operator. It holds no content of the step.
    pub detail: String,
}

/// The answer to a step.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The answer.
    pub decision: Decision,
    /// Where it came from.
    pub source: Source,
    /// One sentence for the agent and its user; it neither leaks a rule nor echoes an attack.
    pub message: String,
    /// The full explanation, for the audit record and for agents whose organisation shows it.
    pub reasoning: String,
    /// Why; empty for a plain allow.
    pub reason_codes: Vec<ReasonCode>,
    /// How sure, 0 to 1.
    pub confidence: f64,
    /// The judge's view of the risk, where a judge was asked.
    pub risk: Option<Risk>,
    /// The judge's view of the user's authorisation, where a judge was asked.
    pub authorization: Option<Authorization>,
    /// What prefilters saw.
    pub findings: Vec<Finding>,
    /// What was looked at.
    pub coverage: Coverage,
    /// The edits that made the modified step; empty unless the decision is `modify`.
    pub edits: Vec<Edit>,
    /// The step as modified.
    ///
    /// INVARIANT: present exactly when the decision is `modify`; it decoded and screened clean.
    pub modified: Option<Arc<Step>>,
    /// The version of the policy that applied.
    pub policy_version: String,
    /// The version of the prompts that applied.
    pub prompt_version: String,
    /// The model that judged, where one did.
    pub model: Option<String>,
    /// How the model's answer was come by, where one judged.
    pub judging: Option<Judging>,
    /// What the local judge's trained scorer made of the step, where it was asked.
    pub local: Option<Opinion>,
    /// True when nobody could decide and the posture is to answer with an error (-32012).
    pub undecided: bool,
    /// What would have been answered, where that is observed and not enforced.
    pub observed: Option<Box<Observed>>,
    /// What went wrong inside.
    pub diagnostics: Vec<Diagnostic>,
}

/// The answer that a step would have had if its verdict were enforced.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The answer.
    pub decision: Decision,
    /// One sentence for the agent and its user.
    pub message: String,
    /// The full explanation.
    pub reasoning: String,
    /// Why; empty for a plain allow.
    pub reason_codes: Vec<ReasonCode>,
    /// The edits that would have made the modified step.
    pub edits: Vec<Edit>,
    /// The step as it would have been modified. `None` where a single rule is observed: its edits are not worked out.
    pub modified: Option<Arc<Step>>,
    /// True where the answer would have been an error, because nobody could decide.
    pub undecided: bool,
}

impl Observed {
    /// The decision in a word: `allow`, `modify`, `deny`, or `error` where nobody could decide.
    pub fn outcome(&self) -> &'static str {
        outcome(self.decision, self.undecided)
    }
}

impl Verdict {
    /// The decision in a word: `allow`, `modify`, `deny`, or `error` where nobody could decide.
    pub fn outcome(&self) -> &'static str {
        outcome(self.decision, self.undecided)
    }
}

fn outcome(decision: Decision, undecided: bool) -> &'static str {
    if undecided { "error" } else { decision.as_str() }
}

/// What the local judge's trained scorer made of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion {
    /// The probability of harm, 0 to 1.
    pub probability: f64,
    /// What follows from it: `allow`, `deny` or `unsure`.
    pub leaning: &'static str,
    /// Whether that was applied, only recorded, or checked by asking a judge all the same.
    pub standing: OpinionUse,
    /// The version of the scorer's model.
    pub model: String,
    /// Why the step may not be allowed for so low a probability; looked for only where it is low enough.
    pub unread: Option<&'static str>,
    /// What moved it most, the gravest first.
    pub evidence: Vec<Attribution>,
}

named_enum! {
    /// What was made of a leaning.
    OpinionUse {
        /// It was applied where it settles anything.
        Applied = "applied",
        /// A judge was asked all the same, to compare.
        Audited = "audited",
        /// It was only recorded.
        Shadow = "shadow",
    }
}

/// Something that moved a scorer. It never holds a text of the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    /// What it is: `passage`, the id of a rule, or a relation of the step to its session, in words.
    pub what: String,
    /// The content, for a passage or a finding.
    pub content: Option<super::ContentId>,
    /// Where it stands.
    pub pointer: super::Pointer,
    /// Bytes of the content's text.
    pub span: std::ops::Range<usize>,
    /// Of a passage, the words that moved it most.
    pub words: Vec<std::ops::Range<usize>>,
    /// By how much: over zero towards harm, below zero towards harmless.
    pub weight: f64,
}
