//! Shell texts, as the argument of a call: reading and screening them ends, and the places of findings lie in the text.
#![no_main]

use std::sync::LazyLock;

use aos_guardian::policy::Policy;
use aos_guardian::prefilter::Prefilters;
use aos_guardian::wire::{self, Limits};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

static RULES: LazyLock<(Prefilters, Policy)> = LazyLock::new(|| (Prefilters::standard().unwrap(), Policy::standard().unwrap()));

fuzz_target!(|text: &str| {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "steps/toolCallRequest", "params": {
        "context": {"agent": {"id": "fuzz", "name": "Fuzz", "version": "1", "provider": {"name": "Fuzz", "url": "https://fuzz.example"}}},
        "toolCallRequest": {"executionId": "e", "toolId": "bash", "inputs": [{"name": "command", "value": text}]}}});
    let (_, step) = wire::decode_step(request.to_string(), &Limits::default()).expect("a valid request");
    let screened = RULES.0.screen(&step, &RULES.1);
    for finding in &screened.findings {
        if let Some(content) = finding.content.and_then(|id| step.content(id)) {
            assert!(content.text.get(finding.span.clone()).is_some(), "{finding:?}");
        }
    }
});
