//! Tokens that a gateway gets for the agent behind it.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::agent::{Agent, Answers, Caller, gateway};

#[tokio::test]
async fn a_gateway_gets_tokens_for_the_agent_and_another_when_one_is_refused() {
    static GIVEN: AtomicUsize = AtomicUsize::new(0);
    let agent = Agent::answering(|asked| {
        if asked.path == "/token" {
            assert!(asked.text.contains("client_secret=mine"), "{}", asked.text);
            let number = GIVEN.fetch_add(1, Ordering::SeqCst) + 1;
            return Answers::Json(
                json!({"access_token": format!("t{number}"), "token_type": "bearer", "expires_in": 3600}),
            );
        }
        // The first token is not good any more.
        if asked
            .headers
            .get("authorization")
            .is_none_or(|token| token != "Bearer t2")
        {
            return Answers::Status(401, &[], String::new());
        }
        Answers::Json(json!({"jsonrpc": "2.0", "id": asked.json()["id"], "result": {"id": "t-1"}}))
    })
    .await;
    let more = format!(
        "oauth2 = {{ token_url = \"{}/token\", client_id = \"guardian\", client_secret = \"mine\" }}",
        agent.url
    );
    let guardian = gateway(&agent, "agentvault", &more).await;
    let caller = Caller::of(&guardian);
    let message =
        json!({"message": {"role": "user", "parts": [{"type": "text", "content": "What is the weather in Oslo?"}]}});
    for _ in 0..3 {
        let answer = caller.call("tasks/send", message.clone()).await;
        assert_eq!(answer["result"]["id"], "t-1", "{answer}");
    }
    assert_eq!(GIVEN.load(Ordering::SeqCst), 2, "a token is kept");

    let down = Agent::answering(|_| Answers::Status(500, &[], String::new())).await;
    let more = more.replace(&agent.url, &down.url);
    let guardian = gateway(&agent, "agentvault", &more).await;
    let answer = Caller::of(&guardian).call("tasks/send", message).await;
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
}
