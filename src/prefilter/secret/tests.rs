//! The family as a whole: every rule's examples, spans, dedupe, split secrets, speed.

use std::sync::LazyLock;

use base64::Engine;
use proptest::prelude::*;

use super::*;
use crate::model::{Pointer, Severity};
use crate::prefilter::testing;

static SECRET: LazyLock<Secret> = LazyLock::new(|| Secret::new().unwrap());

fn found_in(text: &str) -> Vec<Finding> {
    testing::seen(&*SECRET, Origin::ToolOutput, text)
}

/// What masking would take away: the findings that are more than hints.
fn masked_in(text: &str) -> Vec<(String, String)> {
    found_in(text)
        .into_iter()
        .filter(|finding| finding.confidence >= Confidence::Medium)
        .map(|finding| {
            (
                finding.rule.replace("secret.", ""),
                text.get(finding.span).unwrap().to_owned(),
            )
        })
        .collect()
}

/// The first example of a rule.
fn example(rule: &str) -> String {
    let id = format!("secret.{rule}");
    let rule = SECRET.rules().iter().find(|rule| rule.id == id).unwrap();
    rule.fires_on[0].clone()
}

/// The secret in the first example of a rule.
fn secret_of(rule: &str) -> String {
    masked_in(&example(rule))
        .into_iter()
        .find(|(found, _)| found == rule)
        .unwrap()
        .1
}

#[test]
fn the_embedded_data_is_sound() {
    let table = &SECRET.table;
    assert_eq!(table.broken_patterns(), Vec::<&str>::new());
    let mut ids: Vec<&str> = table.rules().iter().map(|rule| rule.id.as_str()).collect();
    assert!(ids.len() > 300, "{}", ids.len());
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), table.rules().len());
}

#[test]
fn every_rule_fires_on_its_examples_and_is_silent_on_its_twins() {
    let mut wrong = Vec::new();
    for rule in SECRET.rules() {
        for text in &rule.fires_on {
            let found = found_in(text);
            if !found.iter().any(|finding| finding.rule == rule.id) {
                let instead: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
                wrong.push(format!("{} is silent on {text:?}; found {instead:?}", rule.id));
            }
        }
        for text in &rule.silent_on {
            if found_in(text).iter().any(|finding| finding.rule == rule.id) {
                wrong.push(format!("{} fires on {text:?}", rule.id));
            }
        }
        assert!(
            rule.id == "secret.flood" || !rule.fires_on.is_empty(),
            "{} has no example",
            rule.id
        );
        assert!(!rule.silent_on.is_empty() || !rule.fires_on.is_empty(), "{}", rule.id);
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_span_is_exactly_the_secret() {
    for (text, secret) in [
        ("postgres://orders:tG7vbQ2x@db.harbour.io:5432/orders", "tG7vbQ2x"),
        ("postgres://orders:tG7@vb:Q2x@db.harbour.io/orders", "tG7@vb:Q2x"),
        ("redis://:p7Xk2Lm9Qv@cache:6379", "p7Xk2Lm9Qv"),
        ("curl -u nina:t7Hq-22mV https://api.harbour.io", "nina:t7Hq-22mV"),
        (
            "curl --user \"nina:t7Hq-22mV\" https://api.harbour.io",
            "nina:t7Hq-22mV",
        ),
        (
            "Server=db;Database=x;User Id=app;Password=t7Hq-22mV;Encrypt=True",
            "t7Hq-22mV",
        ),
        (
            "Authorization: Basic ZGVwbG95OkhxOXZUMm1YN2sh",
            "ZGVwbG95OkhxOXZUMm1YN2sh",
        ),
        (
            "x-api-key: 3f8a1c52-9b7e-4d60-8a1f-72c4e95b0d13",
            "3f8a1c52-9b7e-4d60-8a1f-72c4e95b0d13",
        ),
    ] {
        let found: Vec<String> = masked_in(text).into_iter().map(|(_, secret)| secret).collect();
        assert_eq!(found, [secret], "{text}");
    }
    let pem = &SECRET
        .rules()
        .iter()
        .find(|rule| rule.id == "secret.private_key")
        .unwrap()
        .fires_on[0];
    assert_eq!(masked_in(&format!("here it is:\n{pem}\nkeep it"))[0].1, *pem);
}

#[test]
fn the_most_specific_rule_wins_and_one_secret_is_one_finding() {
    let token = secret_of("github_pat");
    for text in [
        format!("token = \"{token}\""),
        format!("Authorization: Invoker {token}"),
        format!("https://ci:{token}@github.com/harbour/site"),
        format!("{{\"api_key\": \"{token}\"}}"),
    ] {
        assert_eq!(masked_in(&text), [("github_pat".to_owned(), token.clone())], "{text}");
    }
}

#[test]
fn a_wrong_check_sum_makes_a_token_less_sure() {
    let token = secret_of("github_pat");
    let flipped = token.replace(
        token.chars().last().unwrap(),
        if token.ends_with('a') { "b" } else { "a" },
    );
    assert_eq!(found_in(&token)[0].confidence, Confidence::High);
    assert_eq!(found_in(&flipped)[0].confidence, Confidence::Medium);
}

#[test]
fn disguised_and_encoded_secrets_are_found_and_led_back() {
    let token = secret_of("anthropic_key");
    let base64 = base64::engine::general_purpose::STANDARD.encode(format!("the key is {token} ok"));
    let hidden: String = token.chars().flat_map(|c| [c, '\u{200b}']).collect();
    let nested = serde_json::to_string(&serde_json::json!({ "inner": format!("{{\"k\": \"a\\n{token}\"}}") })).unwrap();
    let percent: String = format!("q={token}").replace('-', "%2D");
    for text in [format!("x {base64} y"), format!("x {hidden} y"), nested, percent] {
        let found = found_in(&text);
        assert!(
            found
                .iter()
                .any(|f| f.rule == "secret.anthropic_key" && f.confidence == Confidence::High),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn a_token_after_an_escape_is_found_in_the_raw_text() {
    let token = secret_of("huggingface_token");
    for text in [
        format!("a\\n{token}"),
        format!("key%3D{token}"),
        format!("a\\t{token}\\n"),
    ] {
        assert!(
            found_in(&text).iter().any(|f| f.rule == "secret.huggingface_token"),
            "{text}"
        );
    }
}

#[test]
fn benign_twins_are_left_alone() {
    for text in [
        "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY are from the manual",
        "id 3f8a1c52-9b7e-4d60-8a1f-72c4e95b0d13",
        "sha256:9f2c7b1e8d4a6035fc19e7b2aa01dd34ee56ff789f2c7b1e8d4a6035fc19e7b2",
        "commit 9f2c7b1e8d4a6035fc19e7b2aa01dd34ee56ff78",
        "<img src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\">",
        "integrity=\"sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC\"",
        "token = os.environ[\"GITHUB_TOKEN\"]; api_key = config.get(\"api_key\")",
        "export API_KEY=<your-api-key>\nexport TOKEN=${TOKEN}\nexport PASSWORD='{{ password }}'",
        "Choose a password with at least 12 characters. The token expires after 3600 seconds.",
        "def check(password: str, token: Optional[str] = None) -> bool:",
        "max_tokens: 4096, prompt_tokens=123456, tokenizer: cl100k_base",
        "كلمة المرور: ******** — הסיסמה שלך נשמרה",
        "mail me at nina@harbour.io or see https://harbour.io:8443/a?b=c@d",
        "secret_key_ref: { name: orders, key: password }",
        "AuthenticationTokenProviderFactory implements TokenProvider<AccessToken>",
        "{\"password\": \"string\", \"token\": \"string\", \"api_key\": null}",
        "GET /oauth/token?grant_type=client_credentials&redirect_uri=https%3A%2F%2Fharbour.io%2Fcb",
    ] {
        assert_eq!(masked_in(text), [], "{text}");
    }
}

#[test]
fn a_member_that_its_name_calls_a_secret_is_one_whole() {
    let mut step = testing::step([
        (Origin::ToolOutput, "t7Hq22mV".to_owned()),
        (Origin::ToolArguments, "t7Hq22mV".to_owned()),
    ]);
    for content in &mut step.contents {
        content.label = Some("dbPassword".to_owned());
    }
    let policy = Policy::standard().unwrap();
    let seen: Vec<(Range<usize>, Confidence)> = testing::seen_in_contents(&*SECRET, &step, &policy)
        .into_iter()
        .map(|finding| (finding.span, finding.confidence))
        .collect();
    assert_eq!(seen, [(0..8, Confidence::Medium), (0..8, Confidence::Low)]);
}

#[test]
fn a_value_whose_name_stands_beside_it_is_a_secret() {
    let mut step = testing::step([
        (Origin::ToolOutput, "ORDERS_DB_PASSWORD".to_owned()),
        (Origin::ToolOutput, "t7Hq22mV".to_owned()),
    ]);
    for (content, member) in step.contents.iter_mut().zip(["name", "value"]) {
        content.pointer = Pointer::new(format!("/env/0/{member}"));
        content.label = Some(member.to_owned());
    }
    let policy = Policy::standard().unwrap();
    let mut found = testing::seen_in_contents(&*SECRET, &step, &policy);
    found.retain(|finding| finding.content == Some(step.contents[1].id));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].rule.as_str(), found[0].span.clone()),
        ("secret.labelled_password", 0..8)
    );
}

fn across(pieces: &[(&str, &str)]) -> Vec<Finding> {
    let mut step = testing::step(pieces.iter().map(|(_, text)| (Origin::ToolOutput, (*text).to_owned())));
    for (content, (pointer, _)) in step.contents.iter_mut().zip(pieces) {
        content.pointer = Pointer::new(*pointer);
    }
    let found = testing::seen_in_shape(&*SECRET, &step, &Policy::standard().unwrap());
    for finding in &found {
        let text = &step.content(finding.content.unwrap()).unwrap().text;
        assert!(text.get(finding.span.clone()).is_some());
    }
    found
}

#[test]
fn a_token_split_over_two_outputs_is_found_at_every_seam() {
    let token = secret_of("github_pat");
    for cut in 1..token.len() {
        let (a, b) = (
            format!("first: {}", token.get(..cut).unwrap()),
            format!("{} is the rest", token.get(cut..).unwrap()),
        );
        let outputs = [
            ("/outputs/0/kind", "text"),
            ("/outputs/0/text", &a),
            ("/outputs/1/kind", "text"),
            ("/outputs/1/text", &b),
        ];
        let found = across(&outputs);
        let places: Vec<(usize, Range<usize>)> = found
            .iter()
            .map(|f| (f.content.unwrap().index(), f.span.clone()))
            .collect();
        assert_eq!(places, [(1, 7..7 + cut), (3, 0..token.len() - cut)], "cut at {cut}");
        assert!(
            found
                .iter()
                .all(|f| f.rule == "secret.github_pat" && f.severity == Severity::Critical)
        );
        // Two members of one object, two items of one array.
        assert_eq!(across(&[("/data/a", &a), ("/data/b", &b)]).len(), 2, "cut at {cut}");
        assert_eq!(across(&[("/memory/0", &a), ("/memory/1", &b)]).len(), 2, "cut at {cut}");
    }
}

#[test]
fn a_key_in_lines_of_an_array_is_found_and_neighbours_of_a_whole_token_are_not_taken() {
    let pem = SECRET
        .rules()
        .iter()
        .find(|rule| rule.id == "secret.private_key")
        .unwrap()
        .fires_on[0]
        .clone();
    let lines: Vec<(String, &str)> = pem
        .lines()
        .enumerate()
        .map(|(i, line)| (format!("/lines/{i}"), line))
        .collect();
    let lines: Vec<(&str, &str)> = lines.iter().map(|(pointer, line)| (pointer.as_str(), *line)).collect();
    assert_eq!(across(&lines).len(), lines.len());

    let token = secret_of("gcp_oauth_access_token");
    assert!(across(&[("/memory/0", &token), ("/memory/1", "hello")]).is_empty());
    assert!(across(&[("/memory/0", "ghp_"), ("/memory/1", "hello world")]).is_empty());
}

#[test]
fn a_text_made_to_exhaust_the_reader_is_one_finding() {
    let text = "-eyJ".repeat(100_000);
    let found = found_in(&text);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].rule.as_str(), found[0].span.clone()),
        ("secret.flood", 0..text.len())
    );
    let keys = format!("{}\n", secret_of("sendgrid_key")).repeat(1200);
    assert_eq!(found_in(&keys)[0].rule, "secret.flood");
}

/// Pieces that make the scanners work.
fn pieces() -> impl Strategy<Value = String> {
    let keywords = "(password|api_key|token|secret|AKIA|ghp_|eyJ|sk-|Authorization: Invoker |-----BEGIN RSA PRIVATE KEY-----|://|@|--user )";
    prop_oneof![
        keywords,
        "[ =:\"'\\\\{}<>\n]{1,4}",
        "[A-Za-z0-9+/_.-]{1,60}",
        "[äöüßéא中🙂\u{200b}\u{e0041} ]{1,6}",
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn any_text_is_survived_and_spans_are_on_borders(parts in proptest::collection::vec(pieces(), 0..14)) {
        // `seen` asserts that every span can be cut out of the text.
        found_in(&parts.concat());
    }

    #[test]
    fn what_was_masked_is_not_found_again(before in pieces(), after in pieces(), index in 0_usize..1000) {
        let rules = SECRET.rules();
        let Some(example) = rules[index % rules.len()].fires_on.first() else { return Ok(()) };
        let text = format!("{before}\n{example}\n{after}");
        for finding in found_in(&text) {
            if finding.confidence < Confidence::Medium {
                continue;
            }
            let mut masked = text.clone();
            masked.replace_range(finding.span.clone(), "************");
            let place = finding.span.start..finding.span.start + 12;
            let again = found_in(&masked);
            let left = again.iter().find(|f| f.confidence >= Confidence::Medium && f.span.start < place.end && place.start < f.span.end);
            prop_assert!(left.is_none(), "{:?} after {:?} in {:?}", left, finding.rule, masked);
        }
    }
}
