//! The organisation's own rules, as its policy has them: words that say where to look, an expression that says what is found.
//!
//! The family has no rules of its own; without any in the policy it costs nothing. A rule whose words hold capitals reads
//! every text as it was written; one in any case reads the folded ones too, and so sees through more disguises.

use std::ops::Range;

use super::{Plain, Prefilter, Rule, Subject, ViewText};
use crate::model::{Finding, Form, View};
use crate::policy::{Extent, Letters, OWN_FAMILY, OwnRule, Policy};

/// Places that a rule reports of one text. Of more than that, the content as a whole is one finding.
const MOST_HITS: usize = 64;
/// Bytes that the expressions of a policy read in one step. Beyond, contents with their words are findings as a whole.
const EFFORT: usize = 128 << 20;

/// The family of rules that organisations write.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CustomRules;

/// The organisation's own rules as rules are documented and listed.
pub fn own_rules(policy: &Policy) -> Vec<Rule> {
    policy.own_rules.iter().map(listed).collect()
}

fn listed(rule: &OwnRule) -> Rule {
    Rule {
        id: rule.id.clone(),
        title: rule.title.clone(),
        reason: rule.reason.clone(),
        severity: rule.severity,
        confidence: rule.confidence,
        suggests: rule.suggests,
        fires_on: rule.examples.clone(),
        silent_on: rule.counter_examples.clone(),
    }
}

impl Prefilter for CustomRules {
    fn family(&self) -> &'static str {
        OWN_FAMILY
    }

    fn rules(&self) -> &[Rule] {
        &[]
    }

    fn heeds_plain(&self, plain: Plain<'_>) -> bool {
        !plain.policy.own_rules.is_empty()
    }

    fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
        let own = &subject.policy.own_rules;
        if own.is_empty() || matches!(subject.content.form, Form::OpaqueFile { .. }) {
            return;
        }
        let mut taken: Vec<(&str, Vec<Range<usize>>)> = Vec::new();
        for view in subject.views.iter() {
            for rule in own.concerned(view.in_any_case()) {
                let reads = view.view() != View::Folded || rule.letters() == Letters::AnyCase;
                let wanted = rule.origins.is_empty() || rule.origins.contains(&subject.content.origin);
                if !reads || !wanted {
                    continue;
                }
                let known = match taken.iter().position(|(id, _)| *id == rule.id) {
                    Some(place) => place,
                    None => {
                        taken.push((&rule.id, Vec::new()));
                        taken.len() - 1
                    }
                };
                if let Some((_, known)) = taken.get_mut(known) {
                    screen_view(subject, view, rule, known, found);
                }
            }
        }
    }
}

/// What a rule finds in one view, without what it found in another.
fn screen_view(
    subject: &Subject<'_>,
    view: &ViewText<'_>,
    rule: &OwnRule,
    known: &mut Vec<Range<usize>>,
    found: &mut Vec<Finding>,
) {
    let text = view.in_any_case();
    let whole = 0..subject.content.text.len();
    let is_affordable = subject.notes.spend(text.len(), EFFORT);
    let hits = is_affordable
        .then(|| rule.hits(text, MOST_HITS))
        .filter(|hits| hits.extent == Extent::Complete);
    let mut report = |span: Range<usize>, raw: Range<usize>, explanation: String| {
        if known
            .iter()
            .any(|other| other.start <= raw.start && raw.end <= other.end)
        {
            return;
        }
        let mut finding = listed(rule).at(subject, view, span, explanation);
        finding.span = raw.clone();
        known.push(raw);
        found.push(finding);
    };
    let Some(hits) = hits else {
        let why = format!(
            "{} So often, or in so much text, that the whole counts as one.",
            rule.title
        );
        report(0..text.len(), whole, why);
        return;
    };
    for span in hits.spans {
        let raw = view.raw_span(span.clone());
        report(
            span,
            raw,
            format!("{}{}", rule.title.trim_end_matches('.'), place(view.view())),
        );
    }
}

/// How a finding in this view ends its sentence.
fn place(view: View) -> &'static str {
    match view {
        View::Raw | View::Structure => ".",
        View::Normalized | View::Folded => ", disguised by look-alike or invisible characters, or in another case.",
        View::Hidden => ", in hidden characters.",
        View::Decoded => ", encoded.",
        View::Json => ", in JSON inside a string.",
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::super::{Prefilters, testing};
    use super::*;
    use crate::model::{Origin, Treatment};
    use crate::policy::PolicyFile;

    const POLICY: &str = r#"
[[rules]]
id = "badge_number"
title = "A badge number of ours."
reason = "personal_data"
treatment = "mask"
words = ["BDG-"]
pattern = 'BDG-(\d{6})'

[[rules]]
id = "code_word"
title = "The name of a project that is not public."
reason = "data_exfiltration"
treatment = "deny"
words = ["bluebird"]
pattern = 'project bluebird'
origins = ["tool_output", "agent"]
"#;

    fn policy() -> Policy {
        PolicyFile::parse(POLICY, "p").unwrap().compile("p").unwrap()
    }

    fn found(origin: Origin, text: &str) -> Vec<(String, String)> {
        let step = testing::step([(origin, text.to_owned())]);
        let screening = Prefilters::standard().screen(&step, &policy());
        let own = screening
            .findings
            .into_iter()
            .filter(|finding| finding.rule.starts_with("own."));
        own.map(|finding| (finding.rule, text[finding.span].to_owned()))
            .collect()
    }

    fn one(rule: &str, text: &str) -> Vec<(String, String)> {
        vec![(rule.to_owned(), text.to_owned())]
    }

    #[test]
    fn a_rule_finds_its_group_or_the_whole_of_what_it_fits() {
        assert_eq!(
            found(Origin::ToolOutput, "badge BDG-123456."),
            one("own.badge_number", "123456")
        );
        assert_eq!(
            found(Origin::ToolOutput, "see Project Bluebird."),
            one("own.code_word", "Project Bluebird")
        );
        for silent in ["BDG-12345", "bdg-123456", "a bluebird", ""] {
            assert_eq!(found(Origin::ToolOutput, silent), [], "{silent}");
        }
    }

    #[test]
    fn a_rule_suggests_what_the_policy_says() {
        let step = testing::step([(Origin::ToolOutput, "BDG-123456 project bluebird".to_owned())]);
        let policy = policy();
        let findings = testing::seen_in_contents(&CustomRules, &step, &policy);
        let treatments: Vec<Treatment> = findings.iter().map(|found| policy.treatment(found, &step)).collect();
        assert_eq!(treatments, [Treatment::Mask, Treatment::Deny]);
        assert_eq!(testing::seen(&CustomRules, Origin::ToolOutput, "BDG-123456"), []);
    }

    #[test]
    fn origins_are_heeded() {
        assert_eq!(found(Origin::User, "project bluebird"), []);
        assert_eq!(found(Origin::Agent, "project bluebird").len(), 1);
    }

    #[test]
    fn disguises_are_seen_through() {
        let look_alike = "pr\u{43e}ject blu\u{435}bird";
        assert_eq!(found(Origin::Agent, look_alike), one("own.code_word", look_alike));
        let stuffed = "BDG-12\u{200b}34\u{200b}56";
        assert_eq!(
            found(Origin::Agent, stuffed),
            one("own.badge_number", "12\u{200b}34\u{200b}56")
        );
        let wide = "ＢＤＧ-１２３４５６";
        assert_eq!(found(Origin::Agent, wide), one("own.badge_number", "１２３４５６"));
        let encoded = STANDARD.encode("the badge is BDG-123456, and nothing else is said here");
        let text = format!("see {encoded} there");
        let seen = found(Origin::Agent, &text);
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert!(encoded.contains(&seen[0].1) && seen[0].1.len() >= 8, "{seen:?}");
        let json = r#"{"inner": "{\"badge\": \"BDG-123456\"}"}"#;
        assert_eq!(found(Origin::Agent, json), one("own.badge_number", "123456"));
    }

    #[test]
    fn of_a_flood_nothing_stays_unmasked() {
        let some = "BDG-123456 ".repeat(MOST_HITS);
        assert_eq!(found(Origin::ToolOutput, &some).len(), MOST_HITS);
        let named = "project bluebird ".repeat(MOST_HITS);
        assert_eq!(found(Origin::ToolOutput, &named).len(), MOST_HITS);
        let many = "BDG-123456 ".repeat(MOST_HITS + 1);
        assert_eq!(found(Origin::ToolOutput, &many), one("own.badge_number", &many));
    }
}
