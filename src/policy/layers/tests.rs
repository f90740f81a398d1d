use super::*;
use crate::model::testing::{finding, step};
use crate::model::{AgentId, Method, OrganisationId, Posture, Treatment};
use crate::policy::explain;

const ACME: &str = r#"
extends = "default"
guidance = "Acme sells screws."

[tools]
deny = ["shell.*"]
undeclared = "deny"

[posture]
default = "deny"

[teams.payments]
callers = ["key-aaaa"]
guidance = "Payments above 500 EUR need two people."

[teams.payments.tools]
deny = ["mail.*"]

[teams.payments.posture]
"steps/message" = "allow"

[agents.refund-bot]
team = "payments"

[[agents.refund-bot.treatments]]
rules = ["untrusted_destination.*"]
treatment = "deny"

[agents."worker-*"]
callers = ["key-bbbb", "key-aaaa"]
tools.undeclared = "ignore"
"#;

fn compiled(text: &str) -> Result<Arc<Policy>, PolicyError> {
    PolicyFile::parse(text, "acme.toml")?.compile("acme.toml").map(Arc::new)
}

fn caller(name: &str) -> Caller {
    Caller {
        organisation: OrganisationId::new("acme"),
        name: name.to_owned(),
    }
}

fn of_agent(id: Option<&str>) -> Step {
    let mut step = step();
    step.agent = Some(crate::model::Agent {
        id: id.map(AgentId::new),
        ..Default::default()
    });
    step
}

#[test]
fn each_layer_says_what_differs_and_the_wider_one_the_rest() {
    let acme = compiled(ACME).unwrap();
    let for_step = |key: &str, agent: Option<&str>| Arc::clone(acme.of(&of_agent(agent), &caller(key)));

    let other = for_step("key-cccc", Some("refund-bot"));
    assert_eq!(other.version, acme.version, "a name alone opens no layer");
    assert!(other.tools.deny.matches("shell.run") && !other.tools.deny.matches("mail.send"));

    let team = for_step("key-aaaa", None);
    assert_ne!(team.version, acme.version);
    assert!(team.tools.deny.matches("shell.run") && team.tools.deny.matches("mail.send"));
    assert_eq!(
        team.guidance,
        "Acme sells screws.\n\nPayments above 500 EUR need two people."
    );
    assert_eq!(team.posture.of(Method::Message, Posture::Error), Posture::Allow);
    assert_eq!(team.posture.of(Method::ToolCallRequest, Posture::Error), Posture::Deny);
    assert_eq!(team.tools.undeclared, crate::policy::Undeclared::Deny);

    let refunds = for_step("key-aaaa", Some("refund-bot"));
    assert_eq!(
        refunds.treatment(&finding("untrusted_destination.paste_site"), &of_agent(None)),
        Treatment::Deny
    );
    assert!(refunds.tools.deny.matches("mail.send"));

    // A pattern that belongs to no team holds in each of them, over it.
    let worker = for_step("key-aaaa", Some("worker-7"));
    assert_eq!(worker.tools.undeclared, crate::policy::Undeclared::Ignore);
    assert!(worker.tools.deny.matches("mail.send"));
    assert!(!for_step("key-bbbb", Some("worker-7")).tools.deny.matches("mail.send"));
    assert_eq!(for_step("key-cccc", Some("worker-7")).version, acme.version);
}

#[test]
fn agents_that_nobody_named_leave_nothing_behind() {
    let acme = compiled(ACME).unwrap();
    let before = acme.layers.iter().count();
    assert_eq!(before, 4, "the team, its agent, and the workers within and without it");
    for n in 0..1_000 {
        let id = format!("invented-{n}");
        assert!(Arc::ptr_eq(acme.of(&of_agent(Some(&id)), &caller("key-cccc")), &acme));
    }
    assert_eq!(acme.layers.iter().count(), before);
}

#[test]
fn what_means_nothing_in_a_layer_is_refused_with_its_place() {
    for (text, place, said) in [
        (
            "[teams.a]\ntools.deny = ['x']",
            "`teams.\"a\".callers`",
            "expected the callers",
        ),
        (
            "[agents.a]\ntools.deny = ['x']",
            "`agents.\"a\".callers`",
            "whose claim is believed",
        ),
        ("[agents.a]\nteam = 'b'", "`agents.\"a\".team`", "found `b`"),
        ("callers = ['x']", "`callers`", "only"),
        (
            "[teams.a]\ncallers = ['k']\nextends = 'redact'",
            "`teams.\"a\".extends`",
            "builds on",
        ),
        (
            "[teams.a]\ncallers = ['k']\n[teams.a.agents.b]\ncallers = ['k']",
            "`teams.\"a\".agents`",
            "at the top",
        ),
        (
            "[teams.a]\ncallers = ['k']\ntools.undeclared = 'maybe'",
            "acme.toml, team `a`: `tools.undeclared`",
            "`maybe`",
        ),
        (
            "[teams.a]\ncallers = ['k']\n[teams.a.tools]\ndenny = ['x']",
            "line 4",
            "did you mean `deny`?",
        ),
        (
            "[agents.a]\ncallers = ['k']\nguidanse = ''",
            "line 3",
            "did you mean `guidance`?",
        ),
        (
            "[teams.a]\ncallers = ['k']\n[[teams.a.rules]]\nid = 'x'\nwrds = ['y']",
            "line 5",
            "did you mean `words`?",
        ),
    ] {
        let error = compiled(text).unwrap_err().to_string();
        assert!(
            error.contains("acme.toml") && error.contains(place) && error.contains(said),
            "{text}\n{error}"
        );
    }
    let many: String = (0..30)
        .map(|n| format!("[teams.t{n}]\ncallers = ['k{n}']\n[agents.a{n}]\ncallers = ['*']\n"))
        .collect();
    assert!(compiled(&many).unwrap_err().to_string().contains("at most 500"));
}

#[test]
fn a_setting_is_explained_by_the_layer_that_says_it() {
    let selected = Selected {
        team: Some("payments"),
        agent: Some("refund-bot"),
    };
    let places = |setting: &str| -> Vec<(String, String)> {
        let said = explain(Some(("acme.toml", ACME)), "default", selected, Some(setting)).unwrap();
        said.into_iter().map(|said| (said.value, said.place)).collect()
    };
    let pair = |value: &str, place: &str| (value.to_owned(), place.to_owned());
    assert_eq!(
        places("tools.undeclared"),
        [pair("\"deny\"", "organisation, acme.toml:7")]
    );
    assert_eq!(
        places("tools.deny")[..2],
        [
            pair("[\"mail.*\"]", "team `payments`, acme.toml:17"),
            pair("[\"shell.*\"]", "organisation, acme.toml:6"),
        ]
    );
    assert_eq!(
        places("posture.\"steps/message\""),
        [pair("\"allow\"", "team `payments`, acme.toml:20")]
    );
    let treatments = places("treatments");
    assert_eq!(
        treatments[0],
        pair(
            "{ rules = [\"untrusted_destination.*\"], treatment = \"deny\" }",
            "agent `refund-bot`, acme.toml:26"
        )
    );
    assert!(
        treatments[1].1.starts_with("built-in profile `default`:"),
        "{treatments:?}"
    );
    assert!(places("audit").is_empty());
    let error = explain(None, "default", Selected::default(), Some("judge.tabel"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("did you mean `table`?"), "{error}");
}

#[test]
fn what_is_explained_is_what_the_effective_policy_says() {
    let acme = compiled(ACME).unwrap();
    let (selected, effective) = acme.layers.named(Some("payments"), Some("refund-bot")).unwrap();
    let effective: toml::Table = toml::from_str(&effective.unwrap().source).unwrap();
    let said = explain(Some(("acme.toml", ACME)), "default", selected, None).unwrap();
    let mut compared = 0;
    for name in ["tools.undeclared", "posture.default", "posture.\"steps/message\""] {
        let told = said.iter().find(|said| said.setting == name).unwrap();
        let path: toml::Table = toml::from_str(&format!("{name} = {}", told.value)).unwrap();
        let (section, inner) = path.iter().next().unwrap();
        let (key, value) = inner.as_table().unwrap().iter().next().unwrap();
        assert_eq!(effective[section][key], *value, "{name}");
        compared += 1;
    }
    assert_eq!(compared, 3);
    for list in ["treatments", "harmless"] {
        let told = said.iter().filter(|said| said.setting == list).count();
        assert_eq!(effective[list].as_array().unwrap().len(), told, "{list}");
    }
}
