//! Several endpoints: who is asked, who is asked next, who is left alone, and that the deadline holds.

use std::num::NonZeroU32;
use std::time::Duration;

use aos_guardian::llm::{
    BreakerSettings, BreakerState, Chain, ChainSettings, Cost, Counted, Failure, Price, Proxy, Reply, Request, Schema,
    Settings,
};
use futures_util::future::join_all;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;
use wiremock::ResponseTemplate;

use crate::support::endpoint::{Endpoint, Script, completion};
use crate::support::live::Live;
use crate::support::socket::{Misbehaviour, misbehaving, nobody};

/// Long enough for any endpoint that answers at all.
const PATIENCE: Duration = Duration::from_secs(20);

async fn ask(chain: &Chain, patience: Duration) -> Result<Reply, Failure> {
    let json: &RawValue = serde_json::from_str(r#"{"type":"object"}"#).unwrap();
    let request = Request {
        system: "You are terse.",
        user: "Say hello.",
        schema: Schema { name: "greeting", json },
    };
    chain.chat(request, Instant::now() + patience).await
}

fn endpoint(name: &str, url: String) -> Settings {
    let mut settings = Settings::new(url, format!("model-{name}"));
    settings.name = name.to_owned();
    settings
}

fn chain_with(endpoints: Vec<Settings>, change: impl FnOnce(&mut ChainSettings)) -> Chain {
    let mut settings = ChainSettings {
        endpoints,
        hedge_after: None,
        breaker: BreakerSettings::default(),
    };
    change(&mut settings);
    Chain::new(settings).unwrap()
}

/// Two endpoints, `first` and `second`.
fn chain(first: String, second: String) -> Chain {
    chain_with(vec![endpoint("first", first), endpoint("second", second)], |_| ())
}

fn opening_after(faults: usize, rest: Duration) -> impl FnOnce(&mut ChainSettings) {
    move |settings| {
        settings.breaker = BreakerSettings {
            faults,
            rest,
            longest_rest: rest,
        }
    }
}

/// An endpoint that always answers like this.
async fn always(status: u16, body: Value) -> Endpoint {
    repeating(40, move || ResponseTemplate::new(status).set_body_json(body.clone())).await
}

async fn repeating(times: usize, answer: impl Fn() -> ResponseTemplate + Clone + Send + Sync + 'static) -> Endpoint {
    let mut script = Script::new();
    for _ in 0..times {
        let answer = answer.clone();
        script = script.then(move |_| answer());
    }
    script.start().await
}

async fn hello() -> Endpoint {
    repeating(200, || completion("hello")).await
}

fn state(chain: &Chain, place: usize) -> BreakerState {
    chain.states()[place].breaker
}

#[tokio::test]
async fn the_first_endpoint_is_asked_as_long_as_it_answers() {
    let (first, second) = (hello().await, hello().await);
    let chain = chain(first.url(), second.url());
    for _ in 0..3 {
        let reply = ask(&chain, PATIENCE).await.unwrap();
        assert_eq!((&*reply.endpoint, reply.model.as_str()), ("first", "judge-2026"));
    }
    assert_eq!((first.asked().len(), second.asked().len()), (3, 0));
    assert_eq!(first.asked()[0].body["model"], "model-first");
}

#[tokio::test]
async fn the_next_endpoint_is_asked_after_every_fault_of_the_first() {
    let quota = json!({"error": {"code": "insufficient_quota"}});
    for (status, body) in [
        (401, json!({})),
        (402, json!({})),
        (403, json!({"error": "no access"})),
        (404, json!({})),
        (408, json!({})),
        (429, json!({})),
        (429, quota),
        (500, json!({})),
        (502, json!({})),
        (503, json!({})),
        (307, json!({})),
        (200, json!({"error": {"code": 503, "message": "upstream"}})),
    ] {
        let (first, second) = (always(status, body.clone()).await, hello().await);
        let reply = ask(&chain(first.url(), second.url()), PATIENCE).await.unwrap();
        assert_eq!(&*reply.endpoint, "second", "{status} {body}");
        assert!(
            first.asked().len() <= 2,
            "{status} is not tried again while another endpoint waits"
        );
    }
    let html = || ResponseTemplate::new(200).set_body_raw("<html>Welcome!</html>", "text/html");
    for broken in [
        nobody().await,
        misbehaving(Misbehaviour::HangsUp).await,
        misbehaving(Misbehaviour::HangsUpInBody).await,
        misbehaving(Misbehaviour::SpeaksNoHttp).await,
        repeating(2, html).await.url(),
    ] {
        let second = hello().await;
        let reply = ask(&chain(broken, second.url()), PATIENCE).await.unwrap();
        assert_eq!(&*reply.endpoint, "second");
    }
}

#[tokio::test]
async fn what_content_can_bring_about_never_leads_to_another_endpoint() {
    let said = |message: Value, reason: &str| json!({"choices": [{"message": message, "finish_reason": reason}]});
    let error = |code: &str| json!({"error": {"code": code, "message": "x"}});
    for (status, body, code) in [
        (200, said(json!({"content": null, "refusal": "no"}), "stop"), "refusal"),
        (200, said(json!({"content": "par"}), "content_filter"), "content_filter"),
        (400, error("content_filter"), "content_filter"),
        (403, error("content_filter"), "content_filter"),
        (200, said(json!({"content": ""}), "stop"), "empty"),
        (200, said(json!({"content": "{"}), "length"), "truncated"),
        (200, json!({"choices": []}), "malformed"),
        (
            403,
            json!({"error": {"code": 403, "message": "Your input was flagged", "metadata": {"reasons": ["x"]}}}),
            "content_filter",
        ),
        (
            500,
            json!({"error": {"type": "safety", "message": "x"}}),
            "content_filter",
        ),
        (503, said(json!({"content": "{}"}), "stop"), "malformed"),
        (
            200,
            json!({"choices": [{"message": {"content": "x"}}], "error": {"code": 500}}),
            "malformed",
        ),
        (400, error("context_length_exceeded"), "prompt_too_long"),
        (418, error("odd"), "bad_request"),
    ] {
        let (first, second) = (always(status, body).await, hello().await);
        let chain = chain_with(
            vec![endpoint("first", first.url()), endpoint("second", second.url())],
            opening_after(1, PATIENCE),
        );
        for _ in 0..3 {
            assert_eq!(ask(&chain, PATIENCE).await.unwrap_err().code(), code);
        }
        assert_eq!(
            (state(&chain, 0), second.asked().len()),
            (BreakerState::Closed, 0),
            "{code}"
        );
    }
    let firewall = || ResponseTemplate::new(403).set_body_raw("<html>Request blocked</html>", "text/html");
    let (first, second) = (repeating(3, firewall).await, hello().await);
    let failure = ask(&chain(first.url(), second.url()), PATIENCE).await.unwrap_err();
    assert_eq!((failure.code(), second.asked().len()), ("blocked", 0));
    let (second, endless) = (hello().await, misbehaving(Misbehaviour::NeverStops).await);
    let chain = chain_with(
        vec![endpoint("first", endless), endpoint("second", second.url())],
        opening_after(1, PATIENCE),
    );
    assert_eq!(ask(&chain, PATIENCE).await.unwrap_err().code(), "too_large");
    assert!(second.asked().is_empty());
}

#[tokio::test]
async fn an_endpoint_that_hangs_leaves_time_for_the_next() {
    for how in [Misbehaviour::Hangs, Misbehaviour::HangsInBody, Misbehaviour::Drips] {
        let second = hello().await;
        let chain = chain(misbehaving(how).await, second.url());
        let reply = ask(&chain, Duration::from_millis(600)).await.unwrap();
        assert_eq!(&*reply.endpoint, "second", "{how:?}");
    }
}

#[tokio::test]
async fn the_deadline_holds_however_many_endpoints_hang() {
    let mut endpoints = Vec::new();
    for _ in 0..4 {
        endpoints.push(Settings::new(misbehaving(Misbehaviour::Hangs).await, "m"));
    }
    let chain = chain_with(endpoints, |settings| {
        settings.hedge_after = Some(Duration::from_millis(20))
    });
    let begun = Instant::now();
    assert_eq!(ask(&chain, Duration::from_millis(150)).await, Err(Failure::Timeout));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(ask(&chain, Duration::ZERO).await, Err(Failure::Timeout));
}

#[tokio::test]
async fn an_endpoint_that_keeps_failing_is_left_alone() {
    let (first, second) = (always(401, json!({})).await, hello().await);
    let chain = chain_with(
        vec![endpoint("first", first.url()), endpoint("second", second.url())],
        opening_after(3, PATIENCE),
    );
    for _ in 0..10 {
        assert_eq!(&*ask(&chain, PATIENCE).await.unwrap().endpoint, "second");
    }
    assert_eq!((first.asked().len(), second.asked().len()), (3, 10));
    let states: Vec<_> = chain.states().iter().map(|state| state.breaker).collect();
    assert_eq!(states, [BreakerState::Open, BreakerState::Closed]);
}

#[tokio::test]
async fn when_every_endpoint_is_left_alone_the_call_fails_at_once_and_by_that_name() {
    let (first, second) = (always(404, json!({})).await, always(500, json!({})).await);
    let chain = chain_with(
        vec![endpoint("first", first.url()), endpoint("second", second.url())],
        opening_after(2, PATIENCE),
    );
    assert_eq!(ask(&chain, PATIENCE).await.unwrap_err().code(), "server_error");
    assert_eq!(ask(&chain, PATIENCE).await.unwrap_err().code(), "server_error");
    let asked = (first.asked().len(), second.asked().len());
    for _ in 0..5 {
        assert_eq!(ask(&chain, PATIENCE).await, Err(Failure::BreakerOpen));
    }
    assert_eq!((first.asked().len(), second.asked().len()), asked);
}

#[tokio::test]
async fn one_call_probes_an_endpoint_that_has_rested() {
    let probed = Script::new()
        .status(401, json!({}))
        .then(|_| ResponseTemplate::new(401).set_delay(Duration::from_millis(200)))
        .says("hello")
        .says("hello")
        .start()
        .await;
    let chain = chain_with(
        vec![endpoint("only", probed.url())],
        opening_after(1, Duration::from_millis(1)),
    );
    assert_eq!(ask(&chain, PATIENCE).await, Err(Failure::Auth));
    tokio::time::sleep(Duration::from_millis(5)).await;
    let answers = join_all((0..20).map(|_| ask(&chain, PATIENCE))).await;
    let failed = |failure: Failure| answers.iter().filter(|answer| **answer == Err(failure.clone())).count();
    assert_eq!((failed(Failure::Auth), failed(Failure::BreakerOpen)), (1, 19));
    assert_eq!(probed.asked().len(), 2, "one of twenty probed");
    tokio::time::sleep(Duration::from_millis(5)).await;
    ask(&chain, PATIENCE).await.unwrap();
    assert_eq!(state(&chain, 0), BreakerState::Closed);
}

#[tokio::test]
async fn a_slow_endpoint_is_hedged_by_the_next_and_its_call_is_cancelled() {
    let slow = Live::allowing(PATIENCE).await;
    let second = hello().await;
    let chain = chain_with(
        vec![endpoint("slow", slow.url()), endpoint("second", second.url())],
        |settings| {
            settings.hedge_after = Some(Duration::from_millis(50));
        },
    );
    let begun = Instant::now();
    assert_eq!(&*ask(&chain, PATIENCE).await.unwrap().endpoint, "second");
    assert!(begun.elapsed() < PATIENCE / 4);
    for _ in 0..500 {
        if slow.given_up() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!((slow.asked(), slow.given_up()), (1, 1));
}

#[tokio::test]
async fn what_a_call_took_that_was_given_up_is_estimated() {
    let (slow, refusing) = (Live::allowing(PATIENCE).await, always(200, refusal()).await);
    let quick = hello().await;
    for (second, expected) in [(&quick, 80), (&refusing, 900)] {
        let mut dear = endpoint("slow", slow.url());
        dear.max_output_tokens = 900;
        dear.price = Price {
            per_million_in: 0.0,
            per_million_out: 2.0,
        };
        let chain = chain_with(vec![dear, endpoint("second", second.url())], |settings| {
            settings.hedge_after = Some(Duration::from_millis(50));
        });
        let json: &RawValue = serde_json::from_str(r#"{"type":"object"}"#).unwrap();
        let request = Request {
            system: "You are terse.",
            user: "Say hello.",
            schema: Schema { name: "greeting", json },
        };
        let asked = chain.ask(request, Instant::now() + PATIENCE).await;
        let given_up = asked.given_up.first().unwrap();
        assert_eq!((asked.given_up.len(), &*given_up.endpoint), (1, "slow"));
        assert_eq!(given_up.usage.counted, Counted::Estimated);
        // As long as the reply that came instead; as long as any may be, where none did.
        assert_eq!(given_up.usage.completion_tokens, expected);
        assert_eq!(given_up.cost, Cost::from_micros(2 * expected));
        assert!((10..20).contains(&given_up.usage.prompt_tokens), "{given_up:?}");
        assert_eq!(asked.answer.is_ok(), expected == 80, "{:?}", asked.answer);
        let chain = chain_with(vec![endpoint("second", second.url())], |_| ());
        assert_eq!(chain.ask(request, Instant::now() + PATIENCE).await.given_up, []);
    }
}

/// A completion in which the model refuses.
fn refusal() -> Value {
    json!({"choices": [{"message": {"role": "assistant", "content": null, "refusal": "No."}, "finish_reason": "stop"}]})
}

#[tokio::test]
async fn a_single_slow_endpoint_is_asked_once_more_beside_the_first_call() {
    let endpoint_ = Script::new()
        .then(|_| completion("late").set_delay(PATIENCE))
        .says("soon")
        .start()
        .await;
    let chain = chain_with(vec![endpoint("only", endpoint_.url())], |settings| {
        settings.hedge_after = Some(Duration::from_millis(50));
    });
    assert_eq!(ask(&chain, PATIENCE).await.unwrap().text, "soon");
    assert_eq!(endpoint_.asked().len(), 2);
}

#[tokio::test]
async fn an_endpoint_that_answers_in_time_is_not_hedged() {
    let (first, second) = (hello().await, hello().await);
    let chain = chain_with(
        vec![endpoint("first", first.url()), endpoint("second", second.url())],
        |settings| {
            settings.hedge_after = Some(PATIENCE);
        },
    );
    ask(&chain, PATIENCE).await.unwrap();
    assert_eq!((first.asked().len(), second.asked().len()), (1, 0));
}

#[tokio::test]
async fn a_refusal_ends_a_hedged_call_too() {
    let slow = Live::allowing(PATIENCE).await;
    let refusing = Script::new()
        .message(json!({"content": null, "refusal": "no"}), "stop")
        .start()
        .await;
    let chain = chain_with(
        vec![endpoint("slow", slow.url()), endpoint("second", refusing.url())],
        |settings| {
            settings.hedge_after = Some(Duration::from_millis(20));
        },
    );
    assert_eq!(ask(&chain, PATIENCE).await, Err(Failure::Refusal));
}

#[tokio::test]
async fn an_endpoint_that_has_reached_its_pace_is_passed_over() {
    let (first, second) = (hello().await, hello().await);
    let mut paced = endpoint("first", first.url());
    paced.rates.requests_per_minute = NonZeroU32::new(2);
    let alone = chain_with(vec![paced.clone()], |_| ());
    let chain = chain_with(vec![paced, endpoint("second", second.url())], |_| ());
    for expected in ["first", "first", "second", "second"] {
        assert_eq!(&*ask(&chain, PATIENCE).await.unwrap().endpoint, expected);
    }
    assert_eq!(state(&chain, 0), BreakerState::Closed);
    ask(&alone, PATIENCE).await.unwrap();
    ask(&alone, PATIENCE).await.unwrap();
    let begun = Instant::now();
    assert_eq!(ask(&alone, Duration::from_secs(2)).await, Err(Failure::EndpointLimit));
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "a wait that outlasts the deadline is not begun"
    );
}

#[tokio::test]
async fn a_reply_says_what_it_cost_and_whether_that_was_counted() {
    let silent = json!({"choices": [{"message": {"content": "four"}}]});
    let script = Script::new().says("hello").status(200, silent).start().await;
    let mut priced = endpoint("priced", script.url());
    priced.price = Price {
        per_million_in: 2.0,
        per_million_out: 10.0,
    };
    let chain = chain_with(vec![priced], |_| ());
    let counted = ask(&chain, PATIENCE).await.unwrap();
    assert_eq!(
        (counted.usage.tokens(), counted.usage.counted, counted.cost),
        (1280, Counted::ByEndpoint, Cost::from_micros(3_200))
    );
    assert!(counted.latency > Duration::ZERO);
    let estimated = ask(&chain, PATIENCE).await.unwrap();
    assert_eq!(
        (estimated.usage.completion_tokens, estimated.usage.counted),
        (1, Counted::Estimated)
    );
    assert!(estimated.cost > Cost::default());
}

#[tokio::test]
async fn what_endpoints_do_is_counted() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (first, second) = (always(401, json!({})).await, hello().await);
    let mut priced = endpoint("second", second.url());
    priced.price.per_million_in = 1.0;
    let chain = chain_with(vec![endpoint("first", first.url()), priced], opening_after(1, PATIENCE));
    ask(&chain, PATIENCE).await.unwrap();
    let page = handle.render();
    for line in [
        r#"guardian_endpoint_calls_total{endpoint="first",outcome="auth"} 1"#,
        r#"guardian_endpoint_calls_total{endpoint="second",outcome="ok"} 1"#,
        r#"guardian_endpoint_state{endpoint="first"} 2"#,
        r#"guardian_endpoint_state{endpoint="second"} 0"#,
        r#"guardian_endpoint_cost_micros_total{endpoint="second"} 1200"#,
        r#"guardian_judge_tokens_total{kind="prompt",model="model-second"} 1200"#,
        r#"guardian_judge_tokens_total{kind="completion",model="model-second"} 80"#,
        r#"guardian_endpoint_seconds_count{endpoint="second"} 1"#,
    ] {
        assert!(page.contains(line), "{line} is not in\n{page}");
    }
}

#[tokio::test]
async fn a_configured_proxy_is_used() {
    let proxy = hello().await;
    let mut settings = endpoint("far", "http://judge.invalid/v1".to_owned());
    let through = proxy.url().trim_end_matches("/v1").to_owned();
    settings.proxy = Proxy::Through(through.into());
    let chain = chain_with(vec![settings], |_| ());
    assert_eq!(ask(&chain, PATIENCE).await.unwrap().text, "hello");
    assert_eq!(proxy.asked_once().headers["host"], "judge.invalid");
}

#[tokio::test]
async fn settings_that_cannot_be_used_say_which_endpoint_and_why() {
    let error = |endpoints: Vec<Settings>| {
        let settings = ChainSettings {
            endpoints,
            hedge_after: None,
            breaker: BreakerSettings::default(),
        };
        Chain::new(settings).err().expect("refused").to_string()
    };
    let fine = || Settings::new("http://127.0.0.1:9/v1", "m");
    assert!(error(Vec::new()).contains("at least one endpoint"));
    assert!(error(vec![fine(), Settings::new("nowhere", "m")]).starts_with("endpoint 2: `base_url`"));
    let (mut one, mut two) = (fine(), fine());
    one.name = "a".to_owned();
    two.name = "a".to_owned();
    assert!(error(vec![one, two]).contains("endpoint 2: `name`: `a` is there twice"));
    let mut proxied = fine();
    proxied.proxy = Proxy::Through("socks5://me:made-up@h:1".into());
    let proxy = error(vec![proxied]);
    assert!(proxy.contains("`proxy`") && !proxy.contains("made-up"), "{proxy}");
    let mut certified = fine();
    certified.ca = Some(b"no certificate".to_vec());
    assert!(error(vec![certified]).contains("`ca_file`"));
    let names: Vec<_> = chain_with(vec![fine(), fine()], |_| ())
        .states()
        .iter()
        .map(|state| state.endpoint.to_string())
        .collect();
    assert_eq!(names, ["127.0.0.1:9", "127.0.0.1:9#2"]);
}
