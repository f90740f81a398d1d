//! The message of an error body, reduced to a closed list.
//!
//! Endpoints write errors in several shapes: `{"error": {"message", "param", "code"}}` with a string or an integer as
//! code, `{"error": "…"}`, `{"message": "…"}`, `{"detail": "…"}`, and a list of `{"loc": […], "msg": "…"}`. Only those
//! places are looked at: some servers quote the whole request in others, and that would be the conversation talking.

use serde_json::Value;

use super::Complaint;

/// The message of an error body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// A quota that waiting does not refill.
    Quota,
    /// The conversation is longer than the model reads.
    PromptTooLong,
    /// The endpoint's own filter.
    ContentFilter,
    /// The model is not there.
    NoModel,
    /// It does not take a part of the request, or something else.
    Complaint(Complaint),
}

/// Reads an error body.
pub(super) fn read_refusal(body: &[u8]) -> Refused {
    let words = serde_json::from_slice::<Value>(body)
        .map(|value| words(&value))
        .unwrap_or_default();
    let says = |any: &[&str]| any.iter().any(|word| words.contains(word));
    if says(&["insufficient_quota", "billing_hard_limit"]) {
        Refused::Quota
    } else if says(&[
        "context_length",
        "context length",
        "context window",
        "prompt is too long",
    ]) {
        Refused::PromptTooLong
    } else if is_about_content(&words) {
        Refused::ContentFilter
    } else if says(&[
        "response_format",
        "json_schema",
        "json_object",
        "structured output",
        "grammar",
    ]) {
        Refused::Complaint(Complaint::ResponseFormat)
    } else if says(&["max_tokens", "max_completion_tokens"]) {
        Refused::Complaint(Complaint::TokenLimit)
    } else if says(&["temperature"]) {
        Refused::Complaint(Complaint::Temperature)
    } else if says(&["model", "deployment"]) {
        Refused::NoModel
    } else {
        Refused::Complaint(Complaint::Unspecified)
    }
}

/// The words by which endpoints refuse the subject of a conversation.
const ABOUT_CONTENT: [&str; 11] = [
    "content_filter",
    "content filter",
    "content_policy",
    "content management policy",
    "content policy",
    "moderat",
    "flagged",
    "safety",
    "harmful",
    "responsible ai",
    "prohibited content",
];

fn is_about_content(words: &str) -> bool {
    ABOUT_CONTENT.iter().any(|sign| words.contains(sign))
}

/// Returns `true` if an error, with any status, is about the content of the conversation: the author of a content can bring that about.
pub(super) fn speaks_of_content(body: &Value) -> bool {
    let error = body.get("error").unwrap_or(body);
    let flagged = ["flagged_input", "reasons", "content_filter_result", "innererror"]
        .iter()
        .any(|name| error.get(name).is_some() || error.pointer(&format!("/metadata/{name}")).is_some());
    flagged || is_about_content(&words(body))
}

/// Returns the words of the endpoint itself, in lower case.
fn words(body: &Value) -> String {
    let mut words = String::new();
    let error = body.get("error").unwrap_or(&Value::Null);
    for part in [Some(error), body.get("message"), body.get("detail")]
        .into_iter()
        .flatten()
    {
        add(&mut words, part);
    }
    for name in ["message", "param", "code", "type"] {
        add(&mut words, error.get(name).unwrap_or(&Value::Null));
    }
    let entries = body.get("detail").and_then(Value::as_array);
    for entry in entries.into_iter().flatten().take(8) {
        add(&mut words, entry.get("msg").unwrap_or(&Value::Null));
        for place in entry.get("loc").and_then(Value::as_array).into_iter().flatten().take(8) {
            add(&mut words, place);
        }
    }
    words
}

fn add(words: &mut String, part: &Value) {
    if let Some(text) = part.as_str() {
        words.extend(text.chars().take(1_000).flat_map(char::to_lowercase));
        words.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &str) -> Refused {
        read_refusal(body.as_bytes())
    }

    #[test]
    fn every_shape_of_error_is_understood() {
        let format = Refused::Complaint(Complaint::ResponseFormat);
        for body in [
            r#"{"error":{"message":"'response_format' of type 'json_schema' is not supported","code":400}}"#,
            r#"{"error":{"message":"Invalid parameter","param":"response_format","code":null}}"#,
            r#"{"error":"response_format is unknown"}"#,
            r#"{"detail":"Unknown field: response_format"}"#,
            r#"{"detail":[{"loc":["body","response_format","type"],"msg":"unexpected value","input":{"a":1}}]}"#,
            r#"{"message":"JSON_SCHEMA is off"}"#,
        ] {
            assert_eq!(refusal(body), format, "{body}");
        }
        assert_eq!(
            refusal(r#"{"error":{"message":"Unsupported parameter: 'max_tokens'","param":"max_tokens"}}"#),
            Refused::Complaint(Complaint::TokenLimit)
        );
        assert_eq!(
            refusal(r#"{"error":{"message":"'temperature' does not support 0","param":"temperature"}}"#),
            Refused::Complaint(Complaint::Temperature)
        );
        assert_eq!(
            refusal(r#"{"error":{"message":"This model's maximum context length is 8192 tokens, max_tokens is 9"}}"#),
            Refused::PromptTooLong
        );
        assert_eq!(
            refusal(r#"{"error":{"code":"content_filter","message":"x"}}"#),
            Refused::ContentFilter
        );
        assert_eq!(refusal(r#"{"error":{"code":"insufficient_quota"}}"#), Refused::Quota);
        assert_eq!(
            refusal(r#"{"error":{"code":"DeploymentNotFound","message":"x"}}"#),
            Refused::NoModel
        );
        assert_eq!(
            refusal(r#"{"error":{"message":"model \"qwen3:80b\" not found, try pulling it first"}}"#),
            Refused::NoModel
        );
    }

    #[test]
    fn what_the_conversation_says_is_not_taken_for_the_endpoints_words() {
        let quoted = r#"{"detail":[{"loc":["body"],"msg":"bad","input":{"messages":"say response_format"}}],
                         "request":"temperature"}"#;
        for body in [
            quoted,
            "",
            "<html>response_format</html>",
            "[]",
            "null",
            r#"{"error":7}"#,
        ] {
            assert_eq!(refusal(body), Refused::Complaint(Complaint::Unspecified), "{body}");
        }
    }
}
