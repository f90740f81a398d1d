//! The references of guardian.toml and of policies, and the JSON Schemas: both say what the program reads, and nothing else.

use std::path::Path;

use aos_guardian::config::{self, ConfigFile, Keys};
use aos_guardian::policy::{self, Policy, PolicyFile};
use regex::Regex;
use serde_json::Value;

use crate::documents::read;

/// One kind of file: its reference, its schema, and what the program says of a file.
struct Papers {
    reference: &'static str,
    schema: Value,
    refusal: fn(&str) -> Option<String>,
    /// Lines of the reference that only another key or a file beside it would make right.
    left_out: &'static [&'static str],
}

fn papers() -> [Papers; 2] {
    let schema = |name: &str| serde_json::from_str(&read(&format!("docs/schemas/{name}.schema.json"))).unwrap();
    [
        Papers {
            reference: config::REFERENCE,
            schema: schema("guardian"),
            refusal: |text| {
                let file = ConfigFile::parse(text, "f");
                let read = file.and_then(|file| file.resolve_with("f", Path::new("."), Keys::Unneeded));
                read.err().map(|error| error.to_string())
            },
            left_out: &[
                "api_version = \"2024-10-21\"",
                "model = \"my.model\"",
                "redis = \"redis://127.0.0.1:6379\"",
                "nats = \"nats://127.0.0.1:4222\"",
                "file = \"events.jsonl\"",
                "on_deny = \"replace\"",
                "organisation = \"globex\"",
                "sign_key_env = \"GUARDIAN_AUDIT_KEY\"",
            ],
        },
        Papers {
            reference: policy::REFERENCE,
            schema: schema("policy"),
            refusal: |text| {
                let read = PolicyFile::parse(text, "f").and_then(|file| file.compile("f"));
                read.err().map(|error| error.to_string())
            },
            left_out: &["file = \"conditions.cedar\""],
        },
    ]
}

impl Papers {
    /// The reference with every example taken up.
    fn in_use(&self) -> String {
        let shown = |line: &'static str| {
            let example = line.strip_prefix('#').filter(|rest| !rest.starts_with(' '));
            example.unwrap_or(line)
        };
        let lines = self.reference.lines().map(shown);
        lines.fold(String::new(), |text, line| text + line + "\n")
    }

    /// The same without what needs another key or another file: the program reads it.
    fn whole(&self) -> toml::Value {
        let mut text = self.in_use();
        for line in self.left_out {
            assert_eq!(text.matches(line).count(), 1, "{line}");
            text = text.replace(line, "");
        }
        // A budget in money needs the prices of every endpoint.
        let endpoints = "[[judge.endpoints]]";
        let text = text.replace(endpoints, &format!("{endpoints}\nprice_in = 0.0\nprice_out = 0.0"));
        assert_eq!((self.refusal)(&text), None);
        toml::from_str(&text).unwrap()
    }

    /// What the program says of this value in place of the one that is there.
    fn refusal_of(&self, whole: &toml::Value, path: &[String], value: toml::Value) -> Option<String> {
        let mut changed = whole.clone();
        *at(&mut changed, path) = value;
        (self.refusal)(&toml::to_string(&changed).unwrap())
    }

    /// What the schema says of a place; `None` where any name may stand.
    fn said_of(&self, path: &[String]) -> Option<&Value> {
        path.iter()
            .try_fold(&self.schema, |schema, key| match schema.get("items") {
                Some(items) => Some(items),
                None => schema["properties"].get(key),
            })
    }

    fn accepts(&self, file: &toml::Value) -> Result<(), String> {
        // A layer of a policy is a policy (`$ref`).
        let mut schema = self.schema.clone();
        for layers in ["teams", "agents"] {
            if let Some(layer) = schema.pointer_mut(&format!("/properties/{layers}/additionalProperties")) {
                assert_eq!(*layer, serde_json::json!({"$ref": "#"}));
                *layer = self.schema.clone();
            }
        }
        fits(&serde_json::to_value(file).unwrap(), &schema, "")
    }
}

/// Whether a value fits a schema, in as much of JSON Schema as ours use; another keyword fails the test.
pub(crate) fn fits(value: &Value, schema: &Value, at: &str) -> Result<(), String> {
    for (keyword, said) in schema.as_object().unwrap() {
        let fine = match keyword.as_str() {
            "$schema" | "title" | "description" | "examples" => true,
            "type" => match said.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                other => panic!("a type `{other}`"),
            },
            "enum" => said.as_array().unwrap().contains(value),
            "minimum" => value.as_f64() >= said.as_f64(),
            "exclusiveMinimum" => value.as_f64() > said.as_f64(),
            "maximum" => value.as_f64() <= said.as_f64(),
            "pattern" => Regex::new(said.as_str().unwrap())
                .unwrap()
                .is_match(value.as_str().unwrap_or_default()),
            "anyOf" => said.as_array().unwrap().iter().any(|one| fits(value, one, at).is_ok()),
            "required" => said
                .as_array()
                .unwrap()
                .iter()
                .all(|key| value.get(key.as_str().unwrap()).is_some()),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    fits(item, said, &format!("{at}[{index}]"))?;
                }
                true
            }
            // What a table may hold is said by three keywords together.
            "properties" | "patternProperties" | "additionalProperties" => members_fit(value, schema, at)?,
            other => panic!("a keyword `{other}`"),
        };
        if !fine {
            return Err(format!("{at}: {keyword} {said}, found {value}"));
        }
    }
    Ok(())
}

fn members_fit(value: &Value, schema: &Value, at: &str) -> Result<bool, String> {
    for (key, member) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{key}");
        let by_pattern = schema["patternProperties"].as_object().into_iter().flatten();
        let mut by_pattern = by_pattern.filter(|(pattern, _)| Regex::new(pattern).unwrap().is_match(key));
        match (
            schema["properties"].get(key),
            by_pattern.next(),
            &schema["additionalProperties"],
        ) {
            (Some(said), ..) | (None, Some((_, said)), _) => fits(member, said, &at)?,
            (None, None, Value::Bool(true) | Value::Null) => {}
            (None, None, Value::Bool(false)) => return Err(format!("{at}: there is no such key")),
            (None, None, said) => fits(member, said, &at)?,
        }
    }
    Ok(true)
}

fn at<'v>(value: &'v mut toml::Value, path: &[String]) -> &'v mut toml::Value {
    path.iter().fold(value, |value, key| match value {
        toml::Value::Array(items) => &mut items[key.parse::<usize>().unwrap()],
        other => &mut other[key.as_str()],
    })
}

/// Every value in a file with the path to it, tables and lists included.
fn values(value: &toml::Value, path: &[String], found: &mut Vec<(Vec<String>, toml::Value)>) {
    let inside = |key: String| [path, &[key]].concat();
    match value {
        toml::Value::Table(table) => table
            .iter()
            .for_each(|(key, value)| values(value, &inside(key.clone()), found)),
        toml::Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| values(item, &inside(index.to_string()), found)),
        _ => {}
    }
    found.push((path.to_vec(), value.clone()));
}

fn values_of(whole: &toml::Value) -> Vec<(Vec<String>, toml::Value)> {
    let mut found = Vec::new();
    values(whole, &[], &mut found);
    found
}

#[test]
fn the_references_change_nothing_as_they_stand() {
    let resolve = |file: ConfigFile| format!("{:?}", file.resolve("-", Path::new(".")).unwrap());
    assert_eq!(
        resolve(ConfigFile::parse(config::REFERENCE, "reference").unwrap()),
        resolve(ConfigFile::default())
    );
    let compiled = |text: &str| {
        PolicyFile::parse(text, "reference")
            .unwrap()
            .compile("reference")
            .unwrap()
    };
    assert_eq!(compiled(policy::REFERENCE).version, Policy::standard().unwrap().version);
    let [_, of_policies] = papers();
    let used = compiled(&toml::to_string(&of_policies.whole()).unwrap());
    assert_eq!(used.name, "acme");
    assert!(used.tools.allow.is_some() && used.guidance.contains("finance"));
    assert_eq!(used.own_rules.iter().count(), 1);
}

#[test]
fn references_profiles_and_documents_fit_the_schemas() {
    let [settings, policies] = papers();
    for papers in [&settings, &policies] {
        for text in [papers.reference.to_owned(), papers.in_use()] {
            papers.accepts(&toml::from_str(&text).unwrap()).unwrap();
        }
    }
    for name in policy::PROFILE_NAMES {
        let profile = read(&format!("src/policy/profiles/{name}.toml"));
        policies.accepts(&toml::from_str(&profile).unwrap()).unwrap();
    }
    let block = Regex::new(r"(?s)```toml\n(.*?)```").unwrap();
    let mut blocks = 0;
    for file in [
        "README.md",
        "docs/operating.md",
        "docs/tuning.md",
        "docs/organisations.md",
        "docs/gateways.md",
        "docs/mcp.md",
        "docs/evaluation.md",
    ] {
        for found in block.captures_iter(&read(file)) {
            let example: toml::Value = toml::from_str(&found[1]).unwrap_or_else(|error| panic!("{file}: {error}"));
            let (one, other) = (settings.accepts(&example), policies.accepts(&example));
            assert!(
                one.is_ok() || other.is_ok(),
                "{file}: {}\n{one:?}\n{other:?}",
                &found[1]
            );
            blocks += 1;
        }
    }
    assert!(blocks >= 5, "{blocks}");
}

#[test]
fn every_line_of_the_suites_fits_the_schema_of_cases_and_misspelt_ones_do_not() {
    let schema: Value = serde_json::from_str(&read("docs/schemas/case.schema.json")).unwrap();
    let mut lines = 0;
    for folder in ["evals", "evals/small_chains", "evals/held_out"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            // The first lines of each file have all of its keys.
            for line in std::fs::read_to_string(&file).unwrap().lines().take(60) {
                let line: Value = serde_json::from_str(line).unwrap();
                fits(&line, &schema, "").unwrap_or_else(|why| panic!("{}: {why}: {line}", file.display()));
                lines += 1;
            }
        }
    }
    assert!(lines > 1_000, "{lines}");
    let step = r#"{"id":"a","request":{},"expected":{"decision":"deny"},"weight":2}"#;
    let session = r#"{"id":"s","agent":{},"steps":[{"kind":"user","text":"x","label":"deny"}]}"#;
    let log = r#"{"messages":[{"role":"user","content":"x","label":"deny"}]}"#;
    for (line, fine) in [
        (step.to_owned(), true),
        (session.to_owned(), true),
        (log.to_owned(), true),
        (step.replace("\"weight\":2", "\"weight\":0"), false),
        (step.replace("weight", "wieght"), false),
        (step.replace("deny", "maybe"), false),
        (session.replace("user", "usr"), false),
        (session.replace("label", "lable"), false),
        (session.replace("agent", "agnet"), false),
    ] {
        let value = serde_json::from_str(&line).unwrap();
        assert_eq!(fits(&value, &schema, "").is_ok(), fine, "{line}");
    }
}

#[test]
fn what_the_program_does_not_know_the_schemas_do_not_know_either() {
    for papers in papers() {
        let whole = papers.whole();
        for (path, value) in values_of(&whole) {
            let toml::Value::Table(mut table) = value else { continue };
            table.insert("frobnicate".to_owned(), toml::Value::Integer(1));
            let refusal = papers.refusal_of(&whole, &path, toml::Value::Table(table.clone()));
            assert!(refusal.is_some(), "the program takes an unknown key in {path:?}");
            let mut changed = whole.clone();
            *at(&mut changed, &path) = toml::Value::Table(table);
            assert!(
                papers.accepts(&changed).is_err(),
                "the schema takes an unknown key in {path:?}"
            );
        }
    }
}

/// The names that an error lists.
fn listed(error: &str) -> Option<Vec<String>> {
    let (_, list) = error.split_once("expected one of ")?;
    let (list, _) = list.split_once(", found")?;
    let mut names: Vec<String> = list.split(", ").map(|name| name.trim_matches('`').to_owned()).collect();
    names.sort();
    // Another sentence that begins so lists no names.
    names.iter().all(|name| !name.contains(' ')).then_some(names)
}

#[test]
fn the_schemas_give_the_names_that_the_program_takes() {
    let mut lists = 0;
    for papers in papers() {
        let whole = papers.whole();
        for (path, value) in values_of(&whole) {
            let (true, Some(schema)) = (value.is_str(), papers.said_of(&path)) else {
                continue;
            };
            let refusal = papers.refusal_of(&whole, &path, toml::Value::String("frobnicate".to_owned()));
            let taken = refusal.as_deref().and_then(listed);
            let names = schema["enum"].as_array().map(|names| {
                let names = names.iter().map(|name| name.as_str().unwrap().to_owned());
                // What the built-in profile says, which builds on none.
                let mut names: Vec<String> = names.filter(|name| name != "nothing").collect();
                names.sort();
                names
            });
            assert_eq!(names, taken, "{path:?}: {refusal:?}");
            lists += usize::from(taken.is_some());
        }
    }
    assert!(lists >= 30, "{lists}");
}

/// The least and the greatest value that an error tells.
fn bounds(error: &str) -> Option<(f64, Option<f64>)> {
    let between = Regex::new(r"expected (?:a (?:number|probability) )?(?:from )?([\d.e]+) to ([\d.e]+)").unwrap();
    if let Some(found) = between.captures(error) {
        return Some((found[1].parse().unwrap(), Some(found[2].parse().unwrap())));
    }
    if error.contains("expected a number over 0 and up to 1") {
        return Some((0.0, Some(1.0)));
    }
    error.contains("expected a positive number").then_some((1.0, None))
}

#[test]
fn the_schemas_give_the_bounds_that_the_program_holds_numbers_to() {
    let mut bounded = 0;
    for papers in papers() {
        let whole = papers.whole();
        for (path, value) in values_of(&whole) {
            let (wrong, schema) = match (value, papers.said_of(&path)) {
                (toml::Value::Integer(_), Some(schema)) => {
                    ([0, 4_000_000_000_000_000].map(toml::Value::Integer), schema)
                }
                (toml::Value::Float(_), Some(schema)) => ([-0.5, 1e300].map(toml::Value::Float), schema),
                _ => continue,
            };
            let told = wrong.into_iter().find_map(|wrong| {
                let refusal = papers.refusal_of(&whole, &path, wrong)?;
                bounds(&refusal).filter(|_| refusal.contains(path.last().unwrap().as_str()))
            });
            let least = schema["minimum"].as_f64().or(schema["exclusiveMinimum"].as_f64());
            let said = (least.unwrap_or(f64::NEG_INFINITY), schema["maximum"].as_f64());
            // Where the program says nothing, a number that counts something is not negative.
            assert_eq!(said, told.unwrap_or((0.0, None)), "{path:?}");
            bounded += usize::from(told.is_some());
        }
    }
    assert!(bounded >= 40, "{bounded}");
}

#[test]
fn no_number_that_is_none_is_taken_anywhere() {
    let mut floats = 0;
    for papers in papers() {
        let whole = papers.whole();
        let found = values_of(&whole).into_iter().filter(|(_, value)| value.is_float());
        for (path, _) in found {
            floats += 1;
            for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let refusal = papers.refusal_of(&whole, &path, toml::Value::Float(wrong));
                let refusal = refusal.unwrap_or_else(|| panic!("{path:?} = {wrong}"));
                assert!(
                    refusal.contains(path.last().unwrap().as_str()),
                    "{path:?} = {wrong}: {refusal}"
                );
            }
        }
    }
    assert!(floats >= 15, "{floats}");
}

/// Every key of a schema without words, with its path.
fn wordless(schema: &Value, path: &str, found: &mut Vec<String>) {
    for (key, entry) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        let is_setting = entry["properties"].is_null() && entry["items"]["properties"].is_null();
        if is_setting && entry["description"].is_null() {
            found.push(path.clone());
        }
        wordless(entry, &path, found);
        wordless(&entry["items"], &path, found);
    }
}

#[test]
fn every_key_that_the_program_takes_is_explained_in_its_reference() {
    let mut found = Vec::new();
    for papers in papers() {
        wordless(&papers.schema, "", &mut found);
    }
    // One method, kind, risk or decision is like another.
    found.retain(|path| {
        let like_another = [".posture.", ".judge.table.", ".local_judge.thresholds."];
        !like_another.iter().any(|table| path.starts_with(table))
    });
    assert_eq!(found, Vec::<String>::new());
}
