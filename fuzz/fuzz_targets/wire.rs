//! Bodies of requests: whatever comes, decoding ends with steps or an error, and screening ends.
#![no_main]

use std::sync::LazyLock;

use aos_guardian::policy::Policy;
use aos_guardian::prefilter::Prefilters;
use aos_guardian::wire::{self, Call, Incoming, Limits};
use libfuzzer_sys::fuzz_target;

static RULES: LazyLock<(Prefilters, Policy)> = LazyLock::new(|| (Prefilters::standard().unwrap(), Policy::standard().unwrap()));

fuzz_target!(|body: &[u8]| {
    let items = match wire::decode(body, &Limits::default()) {
        Ok(Incoming::One(item)) => vec![item],
        Ok(Incoming::Batch(items)) => items,
        Err(_) => return,
    };
    for item in items {
        if let Ok(Call::Step(step)) = item.call {
            RULES.0.screen(&step, &RULES.1);
        }
    }
});
