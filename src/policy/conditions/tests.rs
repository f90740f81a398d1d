use cedar_policy::{Entities, Request};

use super::*;
use crate::model::testing::{by_hand, finding, step};
use crate::model::{
    Agent, AgentId, Argument, Caller, ClassSet, Kind, Method, OrganisationId, Origin, Step, ToolCall, ToolClass, UserId,
};
use crate::policy::{Policy, PolicyFile};

fn compiled(text: &str) -> Policy {
    PolicyFile::parse(text, "p.toml").unwrap().compile("p.toml").unwrap()
}

fn error(text: &str) -> String {
    let read = PolicyFile::parse(text, "p.toml").and_then(|file| file.compile("p.toml"));
    read.unwrap_err().to_string()
}

/// The policy with this condition.
fn with(cedar: &str) -> String {
    format!("[conditions]\ntext = '''\n{cedar}'''\n")
}

fn when(body: &str) -> String {
    with(&format!(
        "@id(\"c\")\nforbid(principal, action, resource) when {{ {body} }};"
    ))
}

fn call(arguments: &[(&str, &str)]) -> Step {
    let mut call = by_hand(
        Method::ToolCallRequest,
        Kind::ToolCall,
        [(Origin::ToolArguments, "x")],
        |_| "/x".to_owned(),
    );
    call.agent = Some(Agent {
        id: Some(AgentId::new("desk-1")),
        name: Some("Desk".to_owned()),
        tools: Vec::new(),
    });
    call.user = Some(UserId::new("u-1"));
    call.tool_call = Some(ToolCall {
        tool: "mail.send".to_owned(),
        content: None,
        arguments: arguments
            .iter()
            .map(|(name, json)| Argument {
                name: (*name).to_owned(),
                pointer: Pointer::default(),
                json: (*json).to_owned(),
            })
            .collect(),
    });
    call
}

fn caller() -> Caller {
    Caller {
        organisation: OrganisationId::new("acme"),
        name: "key-1".to_owned(),
    }
}

fn facts<'a>(step: &'a Step, caller: &'a Caller, found: &'a [Finding]) -> Facts<'a> {
    Facts {
        caller,
        step,
        classes: [ToolClass::SendsOut].into_iter().collect(),
        findings: found.iter().collect(),
        local_score: Some(0.8126),
        session: SessionSeen {
            steps: 7,
            denied: 2,
            read_untrusted: true,
            read_sensitive: false,
            tools: ["web.read"].into(),
            complete: true,
        },
        time: Time {
            date: 20_261_128,
            clock: 1730,
            weekday: 6,
        },
    }
}

/// What the policy makes of a call.
fn found(policy: &str, step: &Step) -> Vec<(String, Treatment, String)> {
    let (caller, seen) = (caller(), [finding("secret.aws_key")]);
    let findings = compiled(policy).conditions.findings(&facts(step, &caller, &seen));
    findings
        .into_iter()
        .map(|f| (f.rule, f.suggested, f.explanation))
        .collect()
}

fn holds(body: &str, step: &Step) -> bool {
    match found(&when(body), step).as_slice() {
        [] => false,
        [(rule, Treatment::Deny, _)] if rule == "condition.c" => true,
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn a_condition_may_ask_for_everything_that_the_schema_names() {
    let step = call(&[
        ("to", r#""eve@evil.example""#),
        ("amount", "900.01"),
        ("cc", r#"["a@acme.example", {"mail": "b@acme.example"}]"#),
        ("note", r#"{"draft": true, "none": null}"#),
    ]);
    for (body, opposite) in [
        ("principal == Caller::\"key-1\"", "principal == Caller::\"key-2\""),
        ("principal.name like \"key-*\"", "principal.name like \"token:*\""),
        ("action == Action::\"tool_call\"", "action == Action::\"tool_result\""),
        ("resource == Tool::\"mail.send\"", "resource == Tool::\"mail.read\""),
        ("resource.id like \"mail.*\"", "resource.id == \"\""),
        (
            "resource.classes.contains(\"sends_out\")",
            "resource.classes.contains(\"pays\")",
        ),
        (
            "context.method == \"steps/toolCallRequest\"",
            "context.method == \"steps/message\"",
        ),
        ("context.acts", "!context.acts"),
        ("context.agent.id == \"desk-1\"", "context.agent.name == \"desk-1\""),
        ("context.user == \"u-1\"", "context.user == \"\""),
        (
            "context.arguments.hasTag(\"to\") && context.arguments.getTag(\"to\") like \"*@evil.example\"",
            "context.arguments.hasTag(\"To\")",
        ),
        (
            "context.arguments.hasTag(\"cc\") && context.arguments.getTag(\"cc\") like \"[*]\"",
            "context.arguments.hasTag(\"cc.mail\")",
        ),
        (
            "context.numbers.hasTag(\"amount\") && context.numbers.getTag(\"amount\") > 900",
            "context.numbers.hasTag(\"to\")",
        ),
        (
            "context.values.hasTag(\"cc\") && context.values.getTag(\"cc\").contains(\"a@acme.example\")",
            "context.values.hasTag(\"note\")",
        ),
        (
            "context.values.hasTag(\"cc.mail\") && context.values.getTag(\"cc.mail\").contains(\"b@acme.example\")",
            "context.values.hasTag(\"note.none\")",
        ),
        (
            "context.arguments.hasTag(\"note.draft\") && context.arguments.getTag(\"note.draft\") == \"true\"",
            "context.arguments.hasTag(\"note.sent\")",
        ),
        (
            "context.origins.contains(\"tool_arguments\")",
            "context.origins.contains(\"user\")",
        ),
        (
            "context.findings.contains(\"secret.aws_key\")",
            "context.findings.contains(\"secret.other\")",
        ),
        ("context.findings.contains(\"secret\")", "context.findings.isEmpty()"),
        (
            "context.reasons.contains(\"personal_data\")",
            "context.reasons.contains(\"jailbreak\")",
        ),
        (
            "context has local_score && context.local_score == 813",
            "context has local_score && context.local_score > 813",
        ),
        ("context.session.steps == 7", "context.session.steps > 7"),
        ("context.session.denied == 2", "context.session.denied > 2"),
        ("context.session.read_untrusted", "context.session.read_sensitive"),
        (
            "context.session.tools.contains(\"web.read\")",
            "context.session.tools.contains(\"mail.send\")",
        ),
        ("context.session.complete", "!context.session.complete"),
        ("context.time.date >= 20261128", "context.time.date < 20261128"),
        ("context.time.clock >= 1730", "context.time.clock < 900"),
        ("context.time.weekday > 5", "context.time.weekday < 6"),
    ] {
        assert!(holds(body, &step), "{body}");
        assert!(!holds(opposite, &step), "{opposite}");
    }
}

#[test]
fn what_is_told_of_a_step_is_what_the_schema_says() {
    let (caller, schema_names) = (caller(), SCHEMA_NAMES.as_ref().unwrap());
    let schema = Some(&schema_names.schema);
    for kind in Kind::ALL {
        let with_call = Step {
            kind: *kind,
            ..call(&[("a", "1"), ("b", "[\"x\"]")])
        };
        for step in [with_call, Step { kind: *kind, ..step() }] {
            for local_score in [None, Some(0.5)] {
                let told = Facts {
                    local_score,
                    classes: ClassSet::default(),
                    ..facts(&step, &caller, &[])
                };
                let (request, entities, unseen) = told.request(schema_names).unwrap();
                assert!(unseen.paths.is_empty() && !unseen.rest);
                let context = request.context().cloned().unwrap();
                let (p, a, r) = (request.principal(), request.action(), request.resource());
                let (p, a, r) = (p.unwrap().clone(), a.unwrap().clone(), r.unwrap().clone());
                Request::new(p, a, r, context, schema).unwrap();
                Entities::from_entities(entities.iter().cloned(), schema).unwrap();
            }
        }
    }
}

#[test]
fn annotations_say_what_follows() {
    let policy = with(
        "@id(\"outside\") @title(\"Mail goes outside\") @reason(\"untrusted_destination\") @treatment(\"suspect\")\n\
         forbid(principal, action, resource);\n@id(\"told\") @treatment(\"evidence\") forbid(principal, action, resource);",
    );
    let policy = compiled(&policy);
    let (caller, step) = (caller(), step());
    let findings = policy.conditions.findings(&facts(&step, &caller, &[]));
    let told: Vec<_> = findings
        .iter()
        .map(|f| (f.rule.as_str(), f.reason.as_str(), f.suggested))
        .collect();
    assert_eq!(
        told,
        [
            ("condition.outside", "untrusted_destination", Treatment::Suspect),
            ("condition.told", "policy_violation", Treatment::Evidence),
        ]
    );
    assert_eq!(findings[0].explanation, "Mail goes outside.");
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table")]
fn errors_name_the_file_the_line_and_what_was_expected() {
    let forbid = "forbid(principal, action, resource)";
    for (cedar, is) in [
        (
            "\n\nforbid(principal, action resource);",
            "p.toml:5: unexpected token `resource`; expected `!=`, `)`, `,`",
        ),
        (
            "@id(\"a\")\nforbid(principal, action, resource)\nwhen { context.sesion.steps > 1 };",
            "p.toml:5: for policy `condition.a`, attribute `sesion` in context for Action::\"",
        ),
        (
            "@id(\"a\")\nforbid(principal, action == Action::\"tool_cal\", resource);",
            "p.toml:4: for policy `condition.a`, unrecognized action `Action::\"tool_cal\"`; did you mean `Action::\"tool_call\"`?",
        ),
        (
            "@id(\"a\") forbid(principal, action, resource)\nwhen { context.arguments.getTag(\"to\") == \"x\" };",
            "unable to guarantee safety of access to tag `\"to\"`",
        ),
        (
            "@id(\"a\") forbid(principal, action, resource)\nwhen { context.local_score > 1 };",
            "unable to guarantee safety of access to optional attribute `local_score`",
        ),
        (
            "@id(\"a\") forbid(principal, action, resource)\nwhen { context.time.clock == \"1730\" };",
            "p.toml:4: the types Long and String are not compatible",
        ),
        (
            "@id(\"a\")\nforbid(principal, action, resource) when { false };",
            "p.toml:3: it can never hold",
        ),
        (
            "@id(\"a\") permit(principal, action, resource);",
            "p.toml:3: expected `forbid`, found `permit`",
        ),
        (forbid, "p.toml:3: unexpected end of input"),
        (
            "forbid(principal, action, resource);",
            "p.toml:3: expected `@id(\"…\")` with 1 to 64 of `a-z 0-9 _`, found ``",
        ),
        (
            "@id(\"A b\") forbid(principal, action, resource);",
            "p.toml:3: expected `@id(\"…\")` with 1 to 64 of `a-z 0-9 _`, found `A b`",
        ),
        (
            "@id(\"a\") @decision(\"deny\") forbid(principal, action, resource);",
            "expected `@id`, `@title`, `@reason` or `@treatment`, found `@decision`",
        ),
        (
            "@id(\"a\") @treatment(\"allow\") forbid(principal, action, resource);",
            "`@treatment`: expected one of `evidence`, `suspect`, `deny`, found `allow`",
        ),
        (
            "@id(\"a\") @reason(\"nonsense\") forbid(principal, action, resource);",
            "p.toml:3: expected a published reason code or `org.…` in `@reason`, found `nonsense`",
        ),
        (
            "@id(\"a\") @reason(\"org.own\") forbid(principal, action, resource);",
            "p.toml: `conditions.condition.a`: p.toml:3: expected a published reason code or an `org.…` of `[reason_codes]`",
        ),
        (
            "@id(\"a\") forbid(principal, action, resource);\n@id(\"a\") forbid(principal, action, resource);",
            "p.toml:4: expected an `@id` that no other condition has, found `condition.a` twice",
        ),
        (
            "@id(\"a\")\nforbid(principal, action, resource)\nwhen { resource.classes.containsAny([\"pays\",\n\"send_out\"]) };",
            "p.toml:6: `classes`: expected one of ",
        ),
        (
            "@id(\"a\") forbid(principal, action, resource)\nwhen { context.origins.contains(\"tool_outputs\") };",
            "found `tool_outputs`; did you mean `tool_output`?",
        ),
        (
            "@id(\"a\") forbid(principal, action, resource)\nunless { context.reasons.contains(\"jail_break\") };",
            "p.toml:4: `reasons`: ",
        ),
        (
            "@id(\"a\") forbid(principal == ?principal, action, resource);",
            "p.toml:3: ",
        ),
    ] {
        let error = error(&with(cedar));
        assert!(error.contains(is), "{cedar}\n{error}\n{is}");
        assert!(error.starts_with("p.toml"), "{error}");
    }
    let asked = "@id(\"a\") forbid(principal, action, resource)\nwhen { context.findings.contains(\"own.badge\") &&\n\
                 context.findings.containsAll([\"secret\", \"secret.aws_bedrock_kye\"]) };";
    let policy = compiled(&with(asked));
    let built_in = crate::prefilter::Prefilters::standard().unwrap();
    let over_sessions = crate::session::rules::catalogue().map(|rule| rule.id.as_str());
    let mut rules: Vec<&str> = built_in
        .rules()
        .map(|rule| rule.id.as_str())
        .chain(over_sessions)
        .collect();
    rules.push("own.badge");
    let refused = policy
        .hold_rules("p.toml", rules.iter().copied())
        .unwrap_err()
        .to_string();
    assert!(
        refused
            .starts_with("p.toml:5: `findings`: expected a rule or a family of rules, found `secret.aws_bedrock_kye`"),
        "{refused}"
    );
    assert!(refused.ends_with("did you mean `secret.aws_bedrock_key`?"), "{refused}");
    rules.push("secret.aws_bedrock_kye");
    policy.hold_rules("p.toml", rules.into_iter()).unwrap();
    let in_a_layer =
        format!("name = 'x'\n[teams.t]\ncallers = ['*']\n[teams.t.conditions]\ntext = \"\"\"\n\n{forbid} wen;\"\"\"");
    assert!(error(&in_a_layer).starts_with("p.toml:7: "), "{}", error(&in_a_layer));
    assert!(error("[conditions]\ntext = 'forbid();'").starts_with("p.toml:2: "));
    assert!(
        error("[conditions]\nfile = '../a.cedar'").contains("`conditions.file`: expected the name of a `.cedar` file")
    );
    assert!(error("[conditions]\nfile = 'a.cedar'\ntext = ''").contains("expected `file` or `text`, found both"));
    assert!(error("[conditions]\nfile = 'not-there.cedar'").starts_with("not-there.cedar: cannot be read"));
}

#[test]
fn a_file_beside_the_policy_says_the_same_as_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let cedar = "@id(\"c\")\nforbid(principal, action, resource);\n";
    let policy = folder.path().join("p.toml");
    std::fs::write(&policy, "[conditions]\nfile = \"c.cedar\"").unwrap();
    std::fs::write(folder.path().join("c.cedar"), cedar).unwrap();
    let read = Policy::load(&policy).unwrap();
    assert_eq!(read.version, compiled(&with(cedar)).version);
    // What a version is the hash of can be used by itself.
    let source = PolicyFile::parse(&read.source, "source")
        .unwrap()
        .compile("source")
        .unwrap();
    assert_eq!(source.conditions.iter().count(), 1);
    std::fs::write(folder.path().join("c.cedar"), format!("{cedar}\n\nforbid;")).unwrap();
    let error = Policy::load(&policy).unwrap_err().to_string();
    assert!(error.contains("c.cedar:5: "), "{error}");
}

#[test]
fn layers_add_conditions_and_take_none_away() {
    let one = |id: &str| format!("text = '@id(\"{id}\") forbid(principal, action, resource);'\n");
    let layered = |agent: &str| {
        format!(
            "[conditions]\n{}[teams.t]\ncallers = ['*']\nconditions.{}[agents.a]\nteam = 't'\nconditions.{}",
            one("wide"),
            one("team"),
            one(agent)
        )
    };
    let policy = std::sync::Arc::new(compiled(&layered("agent")));
    let ids = |policy: &Policy| {
        let ids = policy.conditions.iter().map(|condition| condition.rule.id.clone());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ids(&policy), ["condition.wide"]);
    let (_, effective) = policy.layers.named(Some("t"), Some("a")).unwrap();
    let effective = effective.unwrap();
    assert_eq!(ids(effective), ["condition.agent", "condition.team", "condition.wide"]);
    assert_eq!(effective.conditions.findings(&facts(&step(), &caller(), &[])).len(), 3);
    assert_ne!(effective.version, policy.version);
    assert!(error(&layered("wide")).contains("expected an `@id` that no other condition of the policy has"));
}

#[test]
fn a_text_that_would_exhaust_the_stack_is_refused_with_its_line() {
    let deep = |open: &str, close: &str, n: usize| when(&format!("\n{}1{} == 1", open.repeat(n), close.repeat(n)));
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{a:", "}"),
        ("!(", ")"),
        ("if (", ") then 1 else 1"),
    ] {
        let error = error(&deep(open, close, 60_000 / (open.len() + close.len())));
        assert!(error.starts_with("p.toml:5: expected at most "), "{open}: {error}");
    }
    for row in [" + 1", " * 1", " && true", " || true", ".a", "[\"a\"]", " - - 1"] {
        let error = error(&when(&format!("\ncontext{}", row.repeat(60_000 / row.len()))));
        assert!(
            error.starts_with("p.toml:5: expected at most 200 operators"),
            "{row}: {error}"
        );
    }
    for row in ["!", "-"] {
        assert!(error(&when(&row.repeat(60_000))).starts_with("p.toml:4: expected at most 200 operators"));
    }
    let long = when(&format!("context.user == \"{}\"", "x".repeat(scan::MAX_BYTES)));
    assert!(error(&long).starts_with("p.toml:3: expected at most 65536 bytes"));
    let many = |n: usize| (0..n).map(|n| format!("@id(\"c{n}\") forbid(principal, action, resource);\n"));
    assert_eq!(
        compiled(&with(&many(200).collect::<String>()))
            .conditions
            .iter()
            .count(),
        200
    );
    assert!(error(&with(&many(201).collect::<String>())).contains("expected at most 200 conditions over all layers"));
}

/// On a thread with as little stack as those that examine steps have.
#[test]
fn the_deepest_text_that_is_accepted_can_be_evaluated() {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        let step = call(&[]);
        assert!(holds(&format!("{}true{}", "(".repeat(30), ")".repeat(30)), &step));
        assert!(holds(&format!("0{} == 198", " + 1".repeat(198)), &step));
        assert!(holds(&format!("true{}", " && true".repeat(199)), &step));
        assert!(holds(&format!("{}true", "if true then true else ".repeat(199)), &step));
        let sets = format!(
            "{}1{} == {}1{}",
            "[".repeat(30),
            "]".repeat(30),
            "[".repeat(30),
            "]".repeat(30)
        );
        assert!(holds(&sets, &step));
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn a_condition_that_cannot_be_evaluated_is_a_suspicion() {
    let step = call(&[("amount", "9223372036854775807")]);
    let body = "context.numbers.hasTag(\"amount\") && context.numbers.getTag(\"amount\") * 100 > 5";
    for treatment in ["deny", "suspect", "evidence"] {
        let policy = with(&format!(
            "@id(\"c\") @treatment(\"{treatment}\") forbid(principal, action, resource) when {{ {body} }};"
        ));
        let found = found(&policy, &step);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1, Treatment::Suspect, "{treatment}");
        assert!(
            found[0].2.contains("a number is too large to calculate with"),
            "{}",
            found[0].2
        );
    }
}

#[test]
fn an_argument_that_a_condition_does_not_see_is_a_suspicion_and_no_other_is() {
    let body = "context.arguments.hasTag(\"to\") && context.arguments.getTag(\"to\") == \"eve\"";
    let long = format!("\"{}\"", "x".repeat(70_000));
    let deep = format!("{}1{}", "{\"a\":".repeat(60), "}".repeat(60));
    let many = format!("[{}1]", "1,".repeat(2_000));
    let doubtful = |body: &str, arguments: &[(&str, &str)]| match found(&when(body), &call(arguments)).as_slice() {
        [] => false,
        [(_, Treatment::Suspect, why)] => why.contains("too large, too deep or named twice"),
        other => panic!("{other:?}"),
    };
    assert!(doubtful(body, &[("to", &long)]));
    assert!(doubtful(body, &[("to", "{not json")]));
    assert!(doubtful(body, &[("many", &many), ("to", "\"eve\"")]));
    assert!(
        !doubtful(body, &[("content", &long), ("to", "\"bob\"")]),
        "it reads `to` alone"
    );
    assert!(!doubtful(body, &[("content", &deep)]));
    assert!(!doubtful("context.user == \"\"", &[("to", &long), ("many", &many)]));
    let path = "context.arguments.hasTag(\"a.b\") && context.arguments.getTag(\"a.b\") == \"eve\"";
    assert!(doubtful(path, &[("a", "{\"b\": \"eve\"}"), ("a.b", "\"bob\"")]));
    let below = format!("context.arguments.hasTag(\"to{}\")", ".a".repeat(40));
    assert!(doubtful(&below, &[("to", &deep)]));
    assert!(doubtful("context.arguments.hasTag(context.user)", &[("to", &long)]));
}

#[test]
fn arguments_of_another_type_do_not_pass_an_amount_or_a_list_by() {
    let over = "context.arguments.hasTag(\"amount\") && !(context.numbers.hasTag(\"amount\") && context.numbers.getTag(\"amount\") <= 500)";
    for json in [
        "900",
        "\"900\"",
        "\" 9e2 \"",
        "[900]",
        "{\"value\": 900}",
        "true",
        "null",
        "\"900 EUR\"",
        "500.01",
    ] {
        assert!(holds(over, &call(&[("amount", json)])), "{json}");
    }
    for json in ["500", "\"500\"", "-3", "499.5"] {
        assert!(!holds(over, &call(&[("amount", json)])), "{json}");
    }
    let to = "context.values.hasTag(\"to\") && context.values.getTag(\"to\").contains(\"eve\")";
    for json in ["\"eve\"", "[\"bob\", \"eve\"]", "[[\"eve\"]]"] {
        assert!(holds(to, &call(&[("to", json)])), "{json}");
    }
}
