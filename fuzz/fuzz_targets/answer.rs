//! Replies of a judge: an answer counts only with the canary in it.
#![no_main]

use aos_guardian::judge::answer;
use aos_guardian::model::Decision;
use libfuzzer_sys::fuzz_target;

const CANARY: &str = "c4n4ry-7f3a";

fuzz_target!(|reply: &str| {
    if let Ok(answer) = answer::read(reply, CANARY) {
        assert!(reply.contains(CANARY) || answer.decision == Decision::Deny, "{answer:?}");
    }
});
