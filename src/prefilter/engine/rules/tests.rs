use super::*;
use crate::model::rule_keys;

rule_keys! {
    enum Key {
        One = "one",
        Two = "two",
    }
}

fn load(text: &'static str) -> Result<RuleTable<Key>, String> {
    let file = RuleFile {
        data: DataFile { path: "x.toml", text },
        family: "x",
        reason: ReasonCode::Obfuscation,
        suggests: Treatment::Evidence,
        object: RuleObject::Words,
    };
    RuleTable::load(&file).map_err(|error| error.to_string())
}

const ONE: &str = "[[rule]]\nid = \"one\"\ntitle = \"t\"\nseverity = \"low\"\nconfidence = \"high\"\nfires_on = [\"a{+}b\"]\nsilent_on = []\n";
const BOTH: &str = concat!(
    "[[rule]]\nid = \"two\"\ntitle = \"t\"\nreason = \"jailbreak\"\nsuggests = \"deny\"\nseverity = \"high\"\nconfidence = \"low\"\nfires_on = []\nsilent_on = []\n",
    "[[rule]]\nid = \"one\"\ntitle = \"t\"\nseverity = \"low\"\nconfidence = \"high\"\nfires_on = [\"a{+}b\"]\nsilent_on = []\n"
);

#[test]
fn rules_stand_at_their_keys_whatever_the_order() {
    let table = load(BOTH).unwrap();
    assert_eq!(table.rule(Key::One).id, "x.one");
    assert_eq!(table.rule(Key::One).fires_on, ["ab"]);
    assert_eq!(table.rule(Key::Two).reason, ReasonCode::Jailbreak);
    assert_eq!(table.rule(Key::Two).suggests, Treatment::Deny);
    assert_eq!(table.rule(Key::One).suggests, Treatment::Evidence);
}

#[test]
fn what_cannot_be_used_is_told_with_its_place() {
    for (text, why) in [
        ("rule = 1", "x.toml: expected `[[rule]]` tables, found none"),
        (ONE, "rule `x.two`: the code refers to it"),
        ("a = 1\n[[rule]]\nid = \"one\"", "rule `one`: missing field `title`"),
        (
            "[[rule]]\nid = \"one\"\ntitle = \"t\"\nseverity = \"loud\"\nconfidence = \"low\"\nfires_on = []\nsilent_on = []",
            "rule `one`: expected one of `info`, `low`, `medium`, `high`, `critical`, found `loud`",
        ),
    ] {
        let error = load(text).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn unknown_keys_and_rules_that_nobody_knows_are_refused() {
    let mut unknown = BOTH.to_owned();
    unknown.push_str("colour = \"red\"\n");
    let error = load(Box::leak(unknown.into_boxed_str())).unwrap_err();
    assert!(error.contains("colour"), "{error}");
    let beside = format!("shade = 1\n{BOTH}");
    let error = load(Box::leak(beside.into_boxed_str())).unwrap_err();
    assert!(error.contains("beside the rules") && error.contains("shade"), "{error}");
    let twice = format!("{BOTH}{ONE}");
    let error = load(Box::leak(twice.into_boxed_str())).unwrap_err();
    assert!(error.contains("x.one"), "{error}");
}
