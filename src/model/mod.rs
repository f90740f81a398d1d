//! The words of the domain: steps, contents, findings, edits, verdicts.
//!
//! Everything here is plain data. This module knows no wire format, no serialisation, no clock, no I/O and
//! no async: every other module can import it, and it imports none of them.

mod content;
mod edit;
mod finding;
mod history;
mod identity;
mod leeway;
mod method;
mod named_enum;
mod number;
mod reason;
mod rule;
mod rule_table;
mod step;
mod suspicion;
#[cfg(test)]
pub(crate) mod testing;
mod tool_class;
mod verdict;
mod withheld;

pub use content::{Content, ContentId, Form, Origin, Place, Pointer, head};
pub use edit::{Edit, EditError};
pub use finding::{Confidence, Coverage, Examined, Finding, Screening, Severity, Treatment, View, ViewSet};
pub use history::{Earlier, EarlierText, Excerpt, FirstRead, Gap, History, Noted, Outcome, Reappears, Request, Voice};
pub use identity::{AgentId, Caller, OrganisationId, RequestId, SessionId, UserId};
pub use leeway::Leeway;
pub use method::{Kind, Method, Posture};
pub(crate) use named_enum::{Named, all_of, named_enum, named_set, names, one_of, quoted};
pub use number::nearest_double;
pub use reason::ReasonCode;
pub use rule::{Rule, RuleObject};
pub(crate) use rule_table::rule_keys;
pub use rule_table::{Misfit, RuleKey, RuleTable};
pub use step::{
    Agent, Argument, ArgumentDefinition, Data, Fact, FactKind, FileUse, Original, Remark, RemarkKind, Step, Ties, Tool,
    ToolCall,
};
pub use suspicion::Suspicion;
pub use tool_class::{ClassSet, ToolClass};
pub use verdict::{
    Attribution, Authorization, Decision, Diagnostic, Disclosure, Enforcement, Judging, Observed, Opinion, OpinionUse,
    Risk, Source, Stage, Verdict,
};
pub use withheld::{Clean, NOTHING_WITHHELD, WITHHELD, Withheld};
