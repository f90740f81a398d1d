//! The rules over a session with their properties: the table of `session.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::model::{Confidence, Finding, ReasonCode, Rule, RuleObject, RuleTable, Severity, Treatment, rule_keys};
use crate::text::{DataError, data_file};

/// The family's name: the first part of its rule ids.
pub const FAMILY: &str = "session";

rule_keys! {
    /// A rule over a session.
    pub(super) enum RuleId {
        FollowsInstruction = "follows_instruction",
        ResemblesInstruction = "resembles_instruction",
        TaintedDestination = "tainted_destination",
        TaintedPayee = "tainted_payee",
        TaintedGrant = "tainted_grant",
        TaintedCommand = "tainted_command",
        Exfiltration = "exfiltration",
        PrivateSentOut = "private_sent_out",
        OutwardAfterPrivate = "outward_after_private",
        RunsHarmfulFile = "runs_harmful_file",
        RunsTaintedFile = "runs_tainted_file",
        OrderToSoftware = "order_to_software",
        OrderInSecret = "order_in_secret",
        QuietRequest = "quiet_request",
        ForgedTurns = "forged_turns",
        PrivateAfterOrder = "private_after_order",
        ProgramCall = "program_call",
        DeletesAll = "deletes_all",
        WritesWhereOnlyReading = "writes_where_only_reading",
        RunsWhenRead = "runs_when_read",
        StoresUntrusted = "stores_untrusted",
        ToolChanged = "tool_changed",
        ToolOfferedTwice = "tool_offered_twice",
        ResemblesDenied = "resembles_denied",
        InsistsOnDenied = "insists_on_denied",
        ApprovedOtherwise = "approved_otherwise",
        SplitInstruction = "split_instruction",
        MemoryFromOutside = "memory_from_outside",
        SplitSecret = "split_secret",
        FormWantsSecret = "form_wants_secret",
        ServerWantsTalk = "server_wants_talk",
        LinksPrivateFile = "links_private_file",
        DefinitionWantsMore = "definition_wants_more",
        CarriedOut = "carried_out",
        RunsLater = "runs_later",
        ConsentClaimed = "consent_claimed",
        FeedsDefinition = "feeds_definition",
    }
}

/// One rule over a session. Its examples are little sessions; it fires, or stays silent, on the last step of each.
#[derive(Clone, Debug)]
pub(super) struct SessionRule {
    pub(super) rule: Rule,
    /// The explanation of a finding, with names in braces for what was seen.
    pub(super) explains: String,
    /// True if its findings speak to software.
    pub(super) addresses_software: bool,
}

impl AsRef<Rule> for SessionRule {
    fn as_ref(&self) -> &Rule {
        &self.rule
    }
}

/// INVARIANT: the program has called [`check`] at its start.
static RULES: LazyLock<Result<RuleTable<RuleId, SessionRule>, DataError>> = LazyLock::new(|| {
    let file = data_file!("session/rules/session.toml");
    load(file.text).map_err(|why| file.error(why))
});

/// Reads the rules.
pub(super) fn check() -> Result<(), DataError> {
    RULES.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// Returns every rule over a session.
pub(super) fn all() -> &'static [SessionRule] {
    RULES.as_ref().map_or(&[], RuleTable::rules)
}

/// Returns the rule of this key.
pub(super) fn rule(id: RuleId) -> Option<&'static SessionRule> {
    RULES.as_ref().ok().map(|rules| rules.rule(id))
}

/// Returns the rule over a session that made a finding, if one did.
pub(super) fn rule_of(finding: &Finding) -> Option<&'static SessionRule> {
    all().iter().find(|known| known.rule.id == finding.rule)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rules: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    title: String,
    reason: String,
    severity: String,
    confidence: String,
    suggests: String,
    explains: String,
    object: Option<String>,
    #[serde(default)]
    administration: bool,
    #[serde(default)]
    addresses_software: bool,
    fires_on: Vec<String>,
    silent_on: Vec<String>,
}

fn load(text: &str) -> Result<RuleTable<RuleId, SessionRule>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let rules = file.rules.into_iter().map(|line| {
        let unknown = |what: &str| format!("{}: `{what}` is none of the possible values", line.id);
        let object = line.object.as_deref().unwrap_or("nothing");
        let rule = Rule {
            reason: ReasonCode::parse(&line.reason).ok_or_else(|| unknown(&line.reason))?,
            severity: Severity::from_name(&line.severity).ok_or_else(|| unknown(&line.severity))?,
            confidence: Confidence::from_name(&line.confidence).ok_or_else(|| unknown(&line.confidence))?,
            suggests: Treatment::from_name(&line.suggests).ok_or_else(|| unknown(&line.suggests))?,
            object: RuleObject::from_name(object).ok_or_else(|| unknown(object))?,
            administration: line.administration,
            fires_on: line.fires_on,
            silent_on: line.silent_on,
            title: line.title,
            id: line.id,
        };
        Ok(SessionRule {
            rule,
            explains: line.explains,
            addresses_software: line.addresses_software,
        })
    });
    let rules = rules.collect::<Result<Vec<_>, String>>()?;
    RuleTable::of(FAMILY, rules).map_err(|misfit| format!("{}: {}", misfit.rule, misfit.why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_sound() {
        for SessionRule { rule, explains, .. } in all() {
            assert!(!explains.ends_with('.') && rule.title.ends_with('.'), "{}", rule.id);
            assert!(!rule.fires_on.is_empty() && !rule.silent_on.is_empty(), "{}", rule.id);
        }
        assert_eq!(rule(RuleId::SplitSecret).unwrap().rule.id, "session.split_secret");
        assert!(load("[[rules]]\nid = 1").is_err());
        let error = load("rules = []").unwrap_err();
        assert!(
            error.contains("session.follows_instruction: the code refers to it"),
            "{error}"
        );
    }
}
