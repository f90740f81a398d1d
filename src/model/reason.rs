//! Reason codes: the closed list that verdicts are explained with.

use std::fmt;

struct Entry {
    code: ReasonCode,
    name: &'static str,
    owasp: &'static [&'static str],
    meaning: &'static str,
}

/// Declares the codes: name, ids in the OWASP lists, meaning.
macro_rules! reason_codes {
    ($($code:ident = $name:literal [$($owasp:literal),*] $meaning:literal),+ $(,)?) => {
        /// The reason why a step was denied, modified or remarked on.
        ///
        /// The list is closed; organisations add their own under `org.`.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ReasonCode {
            $(#[doc = $meaning] $code,)+
            /// An organisation's own code; the text begins with `org.`.
            Organisation(String),
        }

        const LIST: &[Entry] = &[$(Entry {
            code: ReasonCode::$code,
            name: $name,
            owasp: &[$($owasp),*],
            meaning: $meaning,
        }),+];
    };
}

// Ids: OWASP Top 10 for LLM Applications 2025 (`LLM01`…) and OWASP Top 10 for Agentic Applications 2026 (`ASI01`…).
reason_codes! {
    PromptInjection = "prompt_injection" ["LLM01", "ASI01"] "Content without authority gives instructions.",
    Jailbreak = "jailbreak" ["LLM01"] "The user tries to talk the agent out of its rules.",
    GoalHijack = "goal_hijack" ["ASI01", "LLM06"] "The agent follows somebody who is not its user.",
    HarmfulRequest = "harmful_request" ["ASI09"] "The user asks for something harmful.",
    HarmfulContent = "harmful_content" ["LLM05", "ASI09"] "Something harmful is about to be said.",
    PolicyViolation = "policy_violation" ["ASI10"] "It is against the organisation's policy.",
    OutOfScope = "out_of_scope" ["LLM06"] "It is outside what the agent is for.",
    DataExfiltration = "data_exfiltration" ["LLM02", "ASI02"] "Data would leave to where it should not.",
    SecretExposure = "secret_exposure" ["LLM02", "ASI03"] "A credential is in the open.",
    PersonalData = "personal_data" ["LLM02"] "Personal data is in the open.",
    DestructiveAction = "destructive_action" ["LLM06", "ASI02"] "Something would be destroyed.",
    MaliciousCode = "malicious_code" ["LLM05", "ASI05"] "The code would do harm.",
    PrivilegeEscalation = "privilege_escalation" ["LLM06", "ASI03"] "It takes more rights than were granted.",
    ToolNotAllowed = "tool_not_allowed" ["LLM06", "ASI02"] "The tool is not to be used.",
    InvalidArguments = "invalid_arguments" ["LLM05", "ASI02"] "The arguments are not those that the tool declares.",
    ToolPoisoning = "tool_poisoning" ["LLM03", "ASI04"] "A tool's description manipulates the agent.",
    MemoryPoisoning = "memory_poisoning" ["LLM04", "ASI06"] "A memory manipulates the agent.",
    UntrustedDestination = "untrusted_destination" ["LLM02", "ASI02"] "It goes to a place that is not trusted.",
    Obfuscation = "obfuscation" ["LLM01"] "Something is hidden or disguised.",
    MalformedPayload = "malformed_payload" ["ASI07"] "The request contradicts itself or its protocol.",
    Oversized = "oversized" ["LLM10"] "It is too large to be examined whole.",
    ModificationRefused = "modification_refused" ["LLM05"] "A modification was needed but could not be made.",
    JudgeUnavailable = "judge_unavailable" ["ASI08"] "No judge could decide.",
    ApprovalRequired = "approval_required" ["ASI09"] "A person has to approve.",
}

impl ReasonCode {
    /// Every published code, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = ReasonCode> {
        LIST.iter().map(|entry| entry.code.clone())
    }

    /// Returns `true` if it names a piece of data, which can be masked, rather than something that is done or said.
    pub const fn is_data(&self) -> bool {
        matches!(self, ReasonCode::SecretExposure | ReasonCode::PersonalData)
    }

    /// The code as it is sent.
    pub fn as_str(&self) -> &str {
        match self {
            ReasonCode::Organisation(name) => name,
            published => Self::entry(published).map_or("", |entry| entry.name),
        }
    }

    /// The code of this name: a published one, or an organisation's own (`org.` and at most 60 of `a-z 0-9 _ . -`).
    pub fn parse(name: &str) -> Option<Self> {
        if let Some(entry) = LIST.iter().find(|entry| entry.name == name) {
            return Some(entry.code.clone());
        }
        let own = name.strip_prefix("org.")?;
        let fits = !own.is_empty()
            && own.len() <= 60
            && own
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'-'));
        fits.then(|| ReasonCode::Organisation(name.to_owned()))
    }

    /// Returns the code of this name.
    ///
    /// # Errors
    ///
    /// Says what was expected and what was found.
    pub fn named(name: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "expected a published reason code or `org.…`, found `{}`",
                name.escape_debug()
            )
        };
        Self::parse(name).ok_or_else(unknown)
    }

    /// Ids in the OWASP Top 10 for LLM applications (`LLM01`) and for agentic applications (`ASI01`).
    pub fn owasp(&self) -> &'static [&'static str] {
        Self::entry(self).map_or(&[], |entry| entry.owasp)
    }

    /// Returns the meaning of the code, in one sentence.
    pub fn meaning(&self) -> &'static str {
        Self::entry(self).map_or("A code of the organisation's own.", |entry| entry.meaning)
    }

    fn entry(code: &ReasonCode) -> Option<&'static Entry> {
        LIST.iter().find(|entry| entry.code == *code)
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back_and_names_an_owasp_id() {
        for code in ReasonCode::all() {
            assert_eq!(ReasonCode::parse(code.as_str()), Some(code.clone()));
            assert!(!code.owasp().is_empty(), "{code}");
        }
        assert_eq!(ReasonCode::all().count(), 24);
    }

    #[test]
    fn organisations_add_codes_under_their_prefix_only() {
        assert_eq!(
            ReasonCode::parse("org.four_eyes"),
            Some(ReasonCode::Organisation("org.four_eyes".into()))
        );
        for bad in ["four_eyes", "org.", "org.Four", "org.a b", "Prompt_Injection", ""] {
            assert_eq!(ReasonCode::parse(bad), None, "{bad}");
        }
    }
}
