//! Leniencies: the departures of real clients from the published texts that are understood all the same.
//!
//! Each leaves a diagnostic under its code, and none changes what is forwarded: a modified request goes back as it was
//! sent, but for its edits.

use crate::model::{Pointer, Remark, RemarkKind};

macro_rules! leniencies {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $what:literal;)+) => {
        /// A way in which a request may depart from the published texts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Leniency { $($(#[$doc])* $variant),+ }

        impl Leniency {
            /// Every leniency.
            pub const ALL: &'static [Leniency] = &[$(Leniency::$variant),+];

            /// Returns the code of its diagnostic.
            pub const fn code(self) -> &'static str {
                match self { $(Leniency::$variant => $code),+ }
            }

            /// Describes the leniency in one sentence.
            pub const fn what(self) -> &'static str {
                match self { $(Leniency::$variant => $what),+ }
            }
        }
    };
}

leniencies! {
    /// The role `assistant`, which is `agent`.
    RoleAssistant = "role_assistant", "the role `assistant` was read as `agent`";
    /// A context that names no agent.
    ContextWithoutAgent = "context_without_agent", "the context names no agent, so the agent is unknown";
    /// A number as an id.
    NumericId = "numeric_id", "an id that is a number was read as its digits";
    /// `null` in the place of parts.
    NullContent = "null_content", "`null` was read as content without parts";
    /// One thing where a list of such things is expected.
    SingleForList = "single_for_list", "one value was read as a list of one";
    /// A tool's result that is its output alone.
    BareResult = "bare_result", "a result that is a text or a list was read as the tool's outputs";
    /// The tool definitions of OpenAI's interface.
    FunctionTool = "function_tool", "a tool definition inside `function` was read like any other";
    /// Arguments of a call in another place than the protocol gives.
    ArgumentsElsewhere = "arguments_elsewhere", "members of the call that the protocol does not define were judged as arguments";
    /// A context without `session`, but with a member spelled nearly so.
    MisspeltSession = "misspelt_session", "the context has a member spelled nearly like `session`, which was not read as it";
    /// The same for `user`.
    MisspeltUser = "misspelt_user", "the context has a member spelled nearly like `user`, which was not read as it";
    /// The same for `agent`.
    MisspeltAgent = "misspelt_agent", "the context has a member spelled nearly like `agent`, which was not read as it";
    /// The same for `stepId`.
    MisspeltStepId = "misspelt_step_id", "the context has a member spelled nearly like `stepId`, which was not read as it";
    /// The same for `turnId`.
    MisspeltTurnId = "misspelt_turn_id", "the context has a member spelled nearly like `turnId`, which was not read as it";
    /// Any other member that is spelled nearly like one that is not there.
    MisspeltMember = "misspelt_member", "a member is spelled nearly like one that the protocol gives, and was not read as it";
    /// A member of a context that stands elsewhere.
    MisplacedMember = "misplaced_member", "a member that belongs into the context stands elsewhere, and was not read";
    /// A wrapped message without a method of its own.
    MethodOfEnvelope = "method_of_envelope", "the message has no method, so that of the request was taken for it";
    /// Words whose sender and receiver cannot be told.
    UnknownDirection = "unknown_direction", "it cannot be told who sends the message to whom, so its words are taken for another's";
    /// A byte order mark before the body.
    ByteOrderMark = "byte_order_mark", "the byte order mark before the body was left out";
    /// A body declared as JSON-RPC rather than JSON.
    ContentType = "content_type", "the content type is another name for JSON";
    /// A compressed body.
    Compressed = "compressed_body", "the body was sent compressed";
    /// The path with a slash behind it.
    TrailingSlash = "trailing_slash", "the path has a slash too many";
}

impl Leniency {
    /// The leniencies of names that were not read: their remarks tell the place and the name that was expected there.
    pub(super) const NAMES: &'static [Leniency] = &[
        Leniency::MisspeltSession,
        Leniency::MisspeltUser,
        Leniency::MisspeltAgent,
        Leniency::MisspeltStepId,
        Leniency::MisspeltTurnId,
        Leniency::MisspeltMember,
        Leniency::MisplacedMember,
    ];

    /// Makes the remark that leaves the diagnostic.
    pub(super) fn remark(self, pointer: impl Into<String>) -> Remark {
        Remark {
            pointer: Pointer::new(pointer.into()),
            what: self.what().to_owned(),
            kind: RemarkKind::Leniency(self.code()),
        }
    }
}
