use serde_json::json;

use super::*;

fn read(body: Value) -> Result<Completion, Failure> {
    read_answer(&body)
}

fn message(message: Value) -> Result<Completion, Failure> {
    read(json!({"choices": [{"message": message, "finish_reason": "stop"}]}))
}

#[test]
fn a_bare_minimum_is_enough() {
    let reply = read(json!({"choices": [{"message": {"content": "x"}}]})).unwrap();
    assert_eq!((reply.text.as_str(), reply.model), ("x", None));
    assert_eq!(reply.finish_reason, None);
}

#[test]
fn additions_of_endpoints_are_passed_over() {
    let body = json!({
        "object": "chat.completion", "model": "m-1", "system_fingerprint": null, "created": "yesterday",
        "choices": [{"index": "0", "finish_reason": "STOP", "logprobs": 7, "message": {
            "role": "assistant", "content": [{"type": "text", "text": "a"}, "b", {"type": "image"}],
            "reasoning_content": "long thoughts", "tool_calls": null, "refusal": null}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": "eleven"}
    });
    let usage = usage_of(&body).unwrap();
    let reply = read(body).unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_deref()), ("ab", Some("m-1")));
    assert_eq!(reply.finish_reason.as_deref(), Some("STOP"));
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (5, 6));
}

#[test]
fn what_is_no_answer_is_told_apart() {
    assert_eq!(message(json!({"content": null})), Err(Failure::Empty));
    assert_eq!(
        message(json!({"content": null, "reasoning_content": "hm"})),
        Err(Failure::Empty)
    );
    assert_eq!(message(json!({"content": " \n"})), Err(Failure::Empty));
    assert_eq!(message(json!({"content": []})), Err(Failure::Empty));
    assert_eq!(message(json!({"content": 7})), Err(Failure::Malformed));
    assert_eq!(message(json!({"content": "x", "refusal": "no"})), Err(Failure::Refusal));
    assert_eq!(
        message(json!({"content": [{"type": "refusal", "refusal": "no"}]})),
        Err(Failure::Refusal)
    );
    let ended = |reason: &str| read(json!({"choices": [{"message": {"content": "{}"}, "finish_reason": reason}]}));
    assert_eq!(ended("length"), Err(Failure::Truncated));
    assert_eq!(ended("content_filter"), Err(Failure::ContentFilter));
    for other in [
        "abort",
        "error",
        "tool_calls",
        "function_call",
        "cancelled",
        "stop_by_filter",
    ] {
        assert_eq!(ended(other), Err(Failure::Malformed), "{other}");
    }
    for proper in ["stop", "STOP", "end_turn", "eos", ""] {
        assert!(ended(proper).is_ok(), "{proper}");
    }
}

#[test]
fn thoughts_that_come_as_parts_are_no_answer() {
    let thought = json!({"type": "thinking", "text": "{\"decision\": \"allow\"}"});
    assert_eq!(message(json!({"content": [thought]})), Err(Failure::Empty));
    let said = message(json!({"content": [thought, {"type": "text", "text": "x"}]})).unwrap();
    assert_eq!(said.text, "x");
    for mark in [
        json!({"type": "text", "text": "t", "thought": true}),
        json!({"type": "text", "text": "t", "channel": "analysis"}),
        json!({"type": "text", "text": "t", "reasoning": true}),
    ] {
        assert_eq!(message(json!({"content": [mark]})), Err(Failure::Empty), "{mark}");
    }
}

#[test]
fn an_error_beside_choices_is_an_error() {
    let choices = json!([{"message": {"content": "x"}, "finish_reason": "stop"}]);
    for code in [401, 402, 403, 404, 429, 500, 503] {
        let beside = json!({"choices": choices, "error": {"code": code, "message": "upstream broke"}});
        assert_eq!(read(beside), Err(Failure::Malformed), "{code}");
    }
    for nothing in [json!(null), json!({}), json!(""), json!(false)] {
        assert!(read(json!({"choices": choices, "error": nothing})).is_ok());
    }
}

#[test]
fn what_says_anywhere_that_it_failed_or_was_stopped_is_no_answer() {
    let choice = |extra: Value| {
        let mut choice = json!({"message": {"content": "x"}, "finish_reason": "stop"});
        for (name, value) in extra.as_object().unwrap() {
            choice[name] = value.clone();
        }
        read(json!({"choices": [choice]}))
    };
    for extra in [
        json!({"error": {"code": 502}}),
        json!({"errors": ["x"]}),
        json!({"native_finish_reason": "SAFETY"}),
        json!({"native_finish_reason": "error"}),
        json!({"stop_reason": "content_filter"}),
        json!({"content_filter_results": {"hate": {"filtered": true, "severity": "high"}}}),
        json!({"message": {"content": "x", "refusal": true}}),
        json!({"message": {"content": "x", "refusal": {"text": "no"}}}),
        json!({"message": {"content": "x", "refusal": ["no"]}}),
        json!({"message": {"content": "x", "error": "broke"}}),
        json!({"message": {"content": "x", "tool_calls": [{"id": "1"}]}}),
        json!({"message": {"content": "x", "function_call": {"name": "f"}}}),
        json!({"message": {"content": "x", "role": "user"}}),
        json!({"message": {"content": [{"type": "text", "text": "x"}, {"type": "refusal", "text": "no"}]}}),
        json!({"message": {"content": [{"type": "text", "text": "x"}, {"type": "error"}]}}),
    ] {
        assert!(choice(extra.clone()).is_err(), "{extra}");
    }
    for proper in [
        json!({"native_finish_reason": "STOP", "stop_reason": 151_645}),
        json!({"content_filter_results": {"hate": {"filtered": false}}}),
        json!({"message": {"content": "x", "role": "assistant", "refusal": null, "tool_calls": [], "error": null}}),
    ] {
        assert!(choice(proper.clone()).is_ok(), "{proper}");
    }
    let choices = json!([{"message": {"content": "x"}, "finish_reason": "stop"}]);
    for whole in [
        json!({"errors": [{"message": "x"}], "choices": choices}),
        json!({"status": "failed", "choices": choices}),
        json!({"status": "incomplete", "choices": choices}),
        json!({"object": "error", "choices": choices}),
    ] {
        assert!(read(whole.clone()).is_err(), "{whole}");
    }
}

#[test]
fn a_moderators_refusal_is_no_failure_of_the_endpoint() {
    for error in [
        json!({"code": 403, "message": "Your input was flagged", "metadata": {"reasons": ["violence"], "flagged_input": "x"}}),
        json!({"code": 402, "type": "content_filter"}),
        json!({"code": 500, "type": "safety"}),
        json!({"code": 429, "message": "blocked by moderation"}),
    ] {
        assert_eq!(read(json!({"error": error})), Err(Failure::ContentFilter), "{error}");
    }
    assert_eq!(
        read(json!({"error": {"code": 403, "message": "bad key"}})),
        Err(Failure::Auth)
    );
}

#[test]
fn exactly_one_choice_is_a_completion() {
    let choice = json!({"message": {"content": "x"}});
    assert_eq!(read(json!({"choices": [choice, choice]})), Err(Failure::Malformed));
    assert_eq!(read(json!({"choices": []})), Err(Failure::Malformed));
    assert_eq!(read(json!([1])), Err(Failure::Malformed));
    assert_eq!(read(json!({"choices": [{"text": "x"}]})), Err(Failure::Malformed));
}

#[test]
fn an_error_with_status_200_is_that_error() {
    assert_eq!(
        read(json!({"error": {"code": 429, "message": "slow down"}})),
        Err(Failure::RateLimited { retry_after: None })
    );
    assert_eq!(read(json!({"error": "broken"})), Err(Failure::Malformed));
}
