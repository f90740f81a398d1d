//! Asking the guardian of this process about an AOS request, as one asks a server: text in, text out.

use std::sync::Arc;

use tracing::Instrument;

use crate::model::Caller;
use crate::pipeline::{Admitted, Guardian, Recorded, Refused};
use crate::wire::{self, Facts, Limits, RpcError};

/// Answers the request of a caller; `under` changes the conditions under which its step is judged.
pub async fn answer(
    guardian: &Arc<Guardian>,
    caller: &Caller,
    request: String,
    limits: &Limits,
    under: fn(Admitted) -> Admitted,
) -> Vec<u8> {
    let (id, step) = match wire::decode_step(request, limits) {
        Ok(decoded) => decoded,
        Err(error) => return wire::encode_error(None, &error),
    };
    let refused = |error: &RpcError| wire::encode_error(Some(&id), error);
    let admitted = match guardian.admit(caller).await {
        Ok(admitted) => under(admitted),
        Err(why) => return refused(&error_of(why)),
    };
    let shown = admitted.policy_of(&step).disclosure;
    let guardian = Arc::clone(guardian);
    // A task of its own: the step is recorded, and remembered, also where the caller gives up.
    let deciding = async move { guardian.decide(&admitted, step).await };
    match tokio::spawn(deciding.in_current_span()).await {
        Err(_) => refused(&RpcError::internal()),
        Ok(decided) if decided.recorded == Recorded::No => refused(&RpcError::unrecorded(5_000)),
        Ok(decided) => {
            let facts = Facts {
                duration_ms: decided.duration.as_secs_f64() * 1e3,
                decision_id: decided.decision_id,
            };
            wire::encode_verdict(&id, &decided.verdict, &facts, &shown)
        }
    }
}

fn error_of(why: Refused) -> RpcError {
    match why {
        Refused::UnknownOrganisation => RpcError::authorization(why.to_string()),
        Refused::Unrecorded => RpcError::unrecorded(5_000),
        Refused::LimitReached { retry_after } => {
            RpcError::rate_limited(u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX))
        }
    }
}
