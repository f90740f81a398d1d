//! The names of every metric. Scripts and dashboards rely on them: add, don't rename.

/// Verdicts given, by `decision`, `source` and `method`.
pub const DECISIONS: &str = "guardian_decisions_total";
/// Verdicts that were observed and not enforced, by what they would have been: `decision`, `source` and `method`.
pub const OBSERVED: &str = "guardian_observed_total";
/// Seconds from the decoded step to its verdict, by `source`.
pub const DECISION_SECONDS: &str = "guardian_decision_seconds";
/// Steps that the local judge's scorer was asked about, by `leaning` (`allow`, `deny`, `unsure`) and `standing`: `applied`,
/// `audited` (a judge was asked all the same), `shadow`.
pub const LOCAL_JUDGE: &str = "guardian_local_judge_total";
/// Steps that a scorer would have settled and a judge was asked about all the same, by `leaning` and `outcome`: `agrees`,
/// `disagrees`.
pub const LOCAL_JUDGE_AUDITS: &str = "guardian_local_judge_audits_total";
/// Verdicts of the judge that could be learned from, by `outcome`: `new`, `again` (an equal step is kept), `enough`.
pub const LEARNING_STEPS: &str = "guardian_learning_steps_total";
/// Verdicts and counts for learning that are lost: the queue was full, or the store could not be written.
pub const LEARNING_LOST: &str = "guardian_learning_lost_total";
/// Steps that a learned model settled and a judge was asked about all the same, by `outcome`: `agrees`, `disagrees`.
pub const LEARNING_AUDITS: &str = "guardian_learning_audits_total";
/// Learned models that were promoted, demoted or rejected, by `event`.
pub const LEARNING_MODELS: &str = "guardian_learning_models_total";
/// The time at which a model was last learned, or not taken, in seconds since 1970.
pub const LEARNING_LAST: &str = "guardian_learning_last_seconds";
/// Calls of a judge's endpoint, by `outcome`: `ok`, or the name of the failure.
pub const JUDGE_CALLS: &str = "guardian_judge_calls_total";
/// Tokens that judges took, by `kind` (`prompt`, `completion`) and configured `model`; those of calls that were given up for
/// another's answer, and of endpoints that do not count, are estimates.
pub const JUDGE_TOKENS: &str = "guardian_judge_tokens_total";
/// Calls of each endpoint, by `endpoint` and `outcome`: `ok`, `given_up` (another call beside it was answered first), or the
/// name of the failure.
pub const ENDPOINT_CALLS: &str = "guardian_endpoint_calls_total";
/// Seconds that each endpoint took for a call, further tries included, by `endpoint`.
pub const ENDPOINT_SECONDS: &str = "guardian_endpoint_seconds";
/// The cost of each endpoint's calls, in millionths of the unit of the configured prices, by `endpoint`.
pub const ENDPOINT_COST: &str = "guardian_endpoint_cost_micros_total";
/// The breaker of each endpoint, by `endpoint`: 0 closed, 1 half-open, 2 open.
pub const ENDPOINT_STATE: &str = "guardian_endpoint_state";
/// Answers of the judge about known steps, by `outcome`: `right`, `wrong`, `unanswered`.
pub const JUDGE_CANARY: &str = "guardian_judge_canary_total";
/// 1 while the judge answers rightly about known steps, 0 while it does not.
pub const JUDGE_TRUSTED: &str = "guardian_judge_trusted";
/// Answers of judges with two models, by `stage` (`first`, `second`) and `outcome`: `decided`, why the first may not decide
/// (`at_odds`, `unsure`, `risk`, `decision`), or the name of the failure.
pub const JUDGE_STAGES: &str = "guardian_judge_stages_total";
/// The cost of judging, in millionths of the unit of the configured prices, by `organisation` (the first 200, then `other`).
pub const JUDGE_COST: &str = "guardian_judge_cost_micros_total";
/// Steps that a limit kept from being judged or from being taken, by `limit`: `requests`, `caller_calls`, `calls`, `tokens`,
/// `spend`, `accounts`.
pub const LIMITS: &str = "guardian_limits_total";
/// Cache events, by `event`: `hit`, `miss`, `coalesced`, `evicted`, `expired`.
pub const CACHE: &str = "guardian_cache_total";
/// Findings, by `rule` family and `treatment`.
pub const FINDINGS: &str = "guardian_findings_total";
/// Requests that never became a step, by `reason`: the name of the refusal, or the JSON-RPC error code.
pub const REFUSALS: &str = "guardian_refusals_total";
/// Fetches of the keys of issuers of tokens, by `issuer` and `outcome`: `fetched`, `failed`.
pub const ISSUER_KEYS: &str = "guardian_issuer_keys_total";
/// Times that the configuration was read again, by `outcome`: `changed`, `unchanged`, `broken`.
pub const RELOADS: &str = "guardian_reloads_total";
/// 1 while what is configured cannot be used and an earlier version stays in force, else 0.
pub const RELOAD_BROKEN: &str = "guardian_reload_broken";
/// Audit records that reached their destination, by `outcome`.
pub const AUDIT_RECORDS: &str = "guardian_audit_records_total";
/// Audit records that could not be written and are lost.
pub const AUDIT_LOST: &str = "guardian_audit_lost_total";
/// Events, by `outcome`: `sent`, `failed` (a batch that is tried again), `refused` (the destination does not take it), `lost` (there was
/// no room).
pub const EVENTS: &str = "guardian_events_total";
/// Bytes of audit records that wait in the spool for their database.
pub const AUDIT_SPOOL: &str = "guardian_audit_spool_bytes";
/// Connections that are held.
pub const CONNECTIONS: &str = "guardian_connections";
/// Connections that were not closed by their client, by `reason`: `idle`, `displaced` (made room for a new one), `full` and
/// `peer_full` (refused).
pub const CONNECTIONS_CLOSED: &str = "guardian_connections_closed_total";
/// Log lines that could not be written and are lost.
pub const LOG_LOST: &str = "guardian_log_lines_lost_total";
/// Steps being decided right now.
pub const IN_FLIGHT: &str = "guardian_steps_in_flight";

/// Exchanges of gateways, by `gateway`, `protocol`, `direction` and `outcome`: `relayed`, `denied_request`, `denied_response`,
/// `refused` (never understood), `fault` (the agent behind it gave no answer that could be used), `token` (a token was given out).
pub const GATEWAY_EXCHANGES: &str = "guardian_gateway_exchanges_total";
/// Exchanges of gateways that are under way, streams included, by `gateway`.
pub const GATEWAY_UNDER_WAY: &str = "guardian_gateway_under_way";

/// Sessions that are remembered.
pub const SESSIONS: &str = "guardian_sessions";
/// Sessions that had to make room for others.
pub const SESSION_EVICTIONS: &str = "guardian_session_evictions_total";
/// Sessions that could not be written down.
pub const SESSIONS_UNKEPT: &str = "guardian_sessions_unkept_total";

/// 1 while the server of shared state answers, 0 while this node goes on by itself.
pub const SHARED_UP: &str = "guardian_shared_up";
/// The number of times that the server of shared state stopped answering.
pub const SHARED_LOST: &str = "guardian_shared_lost_total";
/// Other nodes in which another version of the configuration is in force.
pub const SHARED_DIFFERING: &str = "guardian_shared_differing_nodes";
/// Step records of sessions that could not be merged into shared state any more.
pub const SHARED_UNMERGED: &str = "guardian_shared_unmerged_total";

/// The counters, with their meaning.
const COUNTERS: &[(&str, &str)] = &[
    (
        EVENTS,
        "Events, by outcome: sent, failed (tried again), lost (no room).",
    ),
    (SHARED_LOST, "How often the server of shared state stopped answering."),
    (
        SHARED_UNMERGED,
        "Step records that could not be merged into shared state.",
    ),
    (
        GATEWAY_EXCHANGES,
        "Exchanges of gateways, by gateway, protocol, direction and outcome.",
    ),
    (
        OBSERVED,
        "Verdicts observed and not enforced, by what they would have been, source and method.",
    ),
    (DECISIONS, "Verdicts given, by decision, source and method."),
    (
        LOCAL_JUDGE,
        "Steps that the local judge's scorer was asked about, by leaning and standing.",
    ),
    (
        LOCAL_JUDGE_AUDITS,
        "Steps a scorer would have settled that a judge was asked about, by leaning and outcome.",
    ),
    (LEARNING_STEPS, "Verdicts that could be learned from, by outcome."),
    (LEARNING_LOST, "Verdicts and counts for learning that are lost."),
    (
        LEARNING_AUDITS,
        "Steps a learned model settled that a judge was asked about, by outcome.",
    ),
    (
        LEARNING_MODELS,
        "Learned models promoted, demoted or rejected, by event.",
    ),
    (LOG_LOST, "Log lines that could not be written and are lost."),
    (
        CONNECTIONS_CLOSED,
        "Connections that their client did not close, by reason.",
    ),
    (JUDGE_CALLS, "Calls of the judge's endpoint, by outcome."),
    (JUDGE_TOKENS, "Tokens that judges took, by kind and configured model."),
    (ENDPOINT_CALLS, "Calls of each endpoint, by endpoint and outcome."),
    (
        ENDPOINT_COST,
        "Cost of each endpoint's calls, in millionths of the unit of the configured prices.",
    ),
    (JUDGE_CANARY, "Answers of the judge about known steps, by outcome."),
    (JUDGE_STAGES, "Answers of judges with two models, by stage and outcome."),
    (
        JUDGE_COST,
        "Cost of judging, in millionths of the unit of the configured prices, by organisation.",
    ),
    (LIMITS, "Steps that a limit kept from going on, by limit."),
    (CACHE, "Cache events: hit, miss, coalesced, evicted, expired."),
    (FINDINGS, "Findings, by family and treatment."),
    (REFUSALS, "Requests that never became a step, by reason."),
    (
        ISSUER_KEYS,
        "Fetches of the keys of issuers of tokens, by issuer and outcome.",
    ),
    (RELOADS, "Times that the configuration was read again, by outcome."),
    (AUDIT_RECORDS, "Audit records written, by outcome."),
    (AUDIT_LOST, "Audit records that could not be written and are lost."),
    (SESSION_EVICTIONS, "Sessions that had to make room for others."),
    (
        SESSIONS_UNKEPT,
        "Times that sessions could not be written down; a restart forgets what was to be written.",
    ),
];

/// The gauges, with their meaning.
const GAUGES: &[(&str, &str)] = &[
    (LEARNING_LAST, "When a model was last learned, in seconds since 1970."),
    (SHARED_UP, "1 while the server of shared state answers."),
    (
        SHARED_DIFFERING,
        "Other nodes in which another version of organisations, policies, prompts, keys or issuers is in force.",
    ),
    (GATEWAY_UNDER_WAY, "Exchanges of gateways under way, by gateway."),
    (CONNECTIONS, "Connections that are held."),
    (
        ENDPOINT_STATE,
        "Breaker of each endpoint: 0 closed, 1 half-open, 2 open.",
    ),
    (JUDGE_TRUSTED, "1 while the judge answers rightly about known steps."),
    (
        RELOAD_BROKEN,
        "1 while what is configured cannot be used and an earlier version stays in force.",
    ),
    (
        AUDIT_SPOOL,
        "Bytes of audit records that wait in the spool for their database.",
    ),
    (IN_FLIGHT, "Steps being decided right now."),
    (SESSIONS, "Sessions that are remembered."),
];

/// Times in seconds, with what they mean.
const TIMES: &[(&str, &str)] = &[
    (DECISION_SECONDS, "Time from step to verdict, by source."),
    (
        ENDPOINT_SECONDS,
        "Time of each endpoint's calls, further tries included.",
    ),
];

/// Tells the recorder what each metric means.
pub fn describe() {
    for (name, meaning) in COUNTERS {
        metrics::describe_counter!(*name, *meaning);
    }
    for (name, meaning) in GAUGES {
        metrics::describe_gauge!(*name, *meaning);
    }
    for (name, meaning) in TIMES {
        metrics::describe_histogram!(*name, metrics::Unit::Seconds, *meaning);
    }
}
