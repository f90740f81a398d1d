//! The rules over a session with their properties: the table of `session.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::model::{Finding, ReasonCode, Rule, RuleObject, RuleTable, Treatment, rule_keys};
use crate::prefilter::{NothingElse, RuleFile, read_rules};
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

/// The properties of a rule that only rules over a session have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    explains: String,
    #[serde(default)]
    addresses_software: bool,
}

/// INVARIANT: the program has called [`check`] at its start.
static RULES: LazyLock<Result<RuleTable<RuleId, SessionRule>, DataError>> = LazyLock::new(|| {
    let file = RuleFile {
        data: data_file!("session/rules/session.toml"),
        family: FAMILY,
        reason: ReasonCode::GoalHijack,
        suggests: Treatment::Suspect,
        object: RuleObject::Nothing,
    };
    let (rules, NothingElse {}) = read_rules::<Data, _>(&file)?;
    let rules = rules.into_iter().map(|(rule, data)| SessionRule {
        rule,
        explains: data.explains,
        addresses_software: data.addresses_software,
    });
    RuleTable::of_file(&file, rules.collect())
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
    }
}
