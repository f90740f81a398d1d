//! Verdicts: the answer to a step, and its source.

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
    /// The harm that the step would do, as a judge sees it.
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
    /// The user's authorisation of the step, as a judge sees it; from the strongest grant to none.
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
    /// The source of a verdict.
    Source {
        /// Findings alone: prefilters with policy, or the local judge.
        Rules = "rules",
        /// An earlier verdict of the judge on an equal step.
        Cache = "cache",
        /// A model.
        Judge = "judge",
        /// The local judge's trained scorer.
        Local = "local",
        /// The posture, because no decision could be made.
        Fallback = "fallback",
    }
}

named_enum! {
    /// The model of a judge that decided.
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
    /// The enforcement of verdicts.
    Enforcement {
        /// A step happens as its verdict says.
        Enforce = "enforce",
        /// Every step happens as it was sent; its verdict is told and recorded.
        Observe = "observe",
    }
}

/// The origin of a model's answer, and its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judging {
    /// The model that decided.
    pub stage: Stage,
    /// Tokens that this decision took: none when the answer was stored, or another caller asked for it.
    pub tokens: u64,
    /// Their price, in millionths of the unit of the configured prices.
    pub cost_micros: u64,
    /// The age of a stored answer.
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
    /// Its source.
    pub source: Source,
    /// One sentence for the agent and its user; it neither leaks a rule nor echoes an attack.
    pub message: String,
    /// The full explanation, for the audit record and for agents whose organisation shows it.
    pub reasoning: String,
    /// The reasons; empty for a plain allow.
    pub reason_codes: Vec<ReasonCode>,
    /// The confidence, 0 to 1.
    pub confidence: f64,
    /// The judge's view of the risk, where a judge was asked.
    pub risk: Option<Risk>,
    /// The judge's view of the user's authorisation, where a judge was asked.
    pub authorization: Option<Authorization>,
    /// The findings of the prefilters.
    pub findings: Vec<Finding>,
    /// The record of what was examined.
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
    /// The origin of the model's answer, where one judged.
    pub judging: Option<Judging>,
    /// The opinion of the local judge's trained scorer, where it was asked.
    pub local: Option<Opinion>,
    /// True if no decision could be made and the posture is to answer with an error (-32012).
    pub undecided: bool,
    /// The answer that would have been given, where it is observed and not enforced.
    pub observed: Option<Box<Observed>>,
    /// The things that went wrong inside.
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
    /// The reasons; empty for a plain allow.
    pub reason_codes: Vec<ReasonCode>,
    /// The edits that would have made the modified step.
    pub edits: Vec<Edit>,
    /// The step as it would have been modified. `None` where a single rule is observed: its edits are not worked out.
    pub modified: Option<Arc<Step>>,
    /// True if the answer would have been an error, because no decision could be made.
    pub undecided: bool,
}

impl Observed {
    /// Returns the decision in a word: `allow`, `modify`, `deny`, or `error` where none could be made.
    pub fn outcome(&self) -> &'static str {
        outcome(self.decision, self.undecided)
    }
}

impl Verdict {
    /// Returns the decision in a word: `allow`, `modify`, `deny`, or `error` where none could be made.
    pub fn outcome(&self) -> &'static str {
        outcome(self.decision, self.undecided)
    }
}

fn outcome(decision: Decision, undecided: bool) -> &'static str {
    if undecided { "error" } else { decision.as_str() }
}

/// The opinion of the local judge's trained scorer on a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinion {
    /// The probability of harm, 0 to 1.
    pub probability: f64,
    /// The conclusion from it: `allow`, `deny` or `unsure`.
    pub leaning: &'static str,
    /// The use of the conclusion: applied, only recorded, or checked by asking a judge all the same.
    pub standing: OpinionUse,
    /// The version of the scorer's model.
    pub model: String,
    /// The reason why the step may not be allowed for so low a probability; looked for only where it is low enough.
    pub unread: Option<&'static str>,
    /// The things that moved it most, the gravest first.
    pub evidence: Vec<Attribution>,
}

named_enum! {
    /// The use of a leaning.
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
    /// Its name: `passage`, the id of a rule, or a relation of the step to its session, in words.
    pub what: String,
    /// The content, for a passage or a finding.
    pub content: Option<super::ContentId>,
    /// Its place in the request.
    pub pointer: super::Pointer,
    /// Bytes of the content's text.
    pub span: std::ops::Range<usize>,
    /// The words of a passage that moved it most.
    pub words: Vec<std::ops::Range<usize>>,
    /// The amount: over zero towards harm, below zero towards harmless.
    pub weight: f64,
}

impl Verdict {
    /// Makes a verdict of the rules that says nothing else.
    pub fn plain(decision: Decision) -> Self {
        Self {
            decision,
            source: Source::Rules,
            message: String::new(),
            reasoning: String::new(),
            reason_codes: Vec::new(),
            confidence: 1.0,
            risk: None,
            authorization: None,
            findings: Vec::new(),
            coverage: Coverage::default(),
            edits: Vec::new(),
            modified: None,
            policy_version: String::new(),
            prompt_version: String::new(),
            model: None,
            judging: None,
            local: None,
            undecided: false,
            observed: None,
            diagnostics: Vec::new(),
        }
    }
}

/// The parts of a verdict that the organisation shows to its agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disclosure {
    /// `result.reasoning`.
    pub reasoning: bool,
    /// `result.data.findings`.
    pub findings: bool,
    /// `result.data.coverage`.
    pub coverage: bool,
    /// `result.data.cost`.
    pub cost: bool,
    /// `result.data.local`.
    pub local: bool,
}

impl Disclosure {
    /// Everything.
    pub const ALL: Self = Self {
        reasoning: true,
        findings: true,
        coverage: true,
        cost: true,
        local: true,
    };
    /// None of them.
    pub const NONE: Self = Self {
        reasoning: false,
        findings: false,
        coverage: false,
        cost: false,
        local: false,
    };
}
