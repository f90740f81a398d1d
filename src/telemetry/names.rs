//! The names of every metric. Scripts and dashboards rely on them: add, don't rename.

/// Declares metrics: what is written above each describes it, here and in the `# HELP` lines of `/metrics`.
macro_rules! declare {
    ($($(#[doc = $meaning:literal])+ $kind:ident $constant:ident = $name:literal;)+) => {
        $($(#[doc = $meaning])+ pub const $constant: &str = $name;)+

        /// Tells the recorder what each metric means.
        pub fn describe() {
            $($kind($name, concat!($($meaning),+).trim_start());)+
        }
    };
}

fn counter(name: &'static str, meaning: &'static str) {
    metrics::describe_counter!(name, meaning);
}

fn gauge(name: &'static str, meaning: &'static str) {
    metrics::describe_gauge!(name, meaning);
}

fn seconds(name: &'static str, meaning: &'static str) {
    metrics::describe_histogram!(name, metrics::Unit::Seconds, meaning);
}

declare! {
    /// Verdicts given, by `decision`, `source` and `method`.
    counter DECISIONS = "guardian_decisions_total";
    /// Verdicts that were observed and not enforced, by what they would have been: `decision`, `source` and `method`.
    counter OBSERVED = "guardian_observed_total";
    /// Seconds from the decoded step to its verdict, by `source`.
    seconds DECISION_SECONDS = "guardian_decision_seconds";
    /// Steps that the local judge's scorer was asked about, by `leaning` (`allow`, `deny`, `unsure`) and `standing`: `applied`,
    /// `audited` (a judge was asked all the same), `shadow`.
    counter LOCAL_JUDGE = "guardian_local_judge_total";
    /// Steps that a scorer would have settled and a judge was asked about all the same, by `leaning` and `outcome`: `agrees`,
    /// `disagrees`.
    counter LOCAL_JUDGE_AUDITS = "guardian_local_judge_audits_total";
    /// Verdicts of the judge that could be learned from, by `outcome`: `new`, `again` (an equal step is kept), `enough`.
    counter LEARNING_STEPS = "guardian_learning_steps_total";
    /// Verdicts and counts for learning that are lost: the queue was full, or the store could not be written.
    counter LEARNING_LOST = "guardian_learning_lost_total";
    /// Steps that a learned model settled and a judge was asked about all the same, by `outcome`: `agrees`, `disagrees`.
    counter LEARNING_AUDITS = "guardian_learning_audits_total";
    /// Learned models that were promoted, demoted or rejected, by `event`.
    counter LEARNING_MODELS = "guardian_learning_models_total";
    /// The time at which a model was last learned, or not taken, in seconds since 1970.
    gauge LEARNING_LAST = "guardian_learning_last_seconds";
    /// Calls of a judge's endpoint, by `outcome`: `ok`, or the name of the failure.
    counter JUDGE_CALLS = "guardian_judge_calls_total";
    /// Tokens that judges took, by `kind` (`prompt`, `completion`) and configured `model`; those of calls that were given up for
    /// another's answer, and of endpoints that do not count, are estimates.
    counter JUDGE_TOKENS = "guardian_judge_tokens_total";
    /// Calls of each endpoint, by `endpoint` and `outcome`: `ok`, `given_up` (another call beside it was answered first), or the
    /// name of the failure.
    counter ENDPOINT_CALLS = "guardian_endpoint_calls_total";
    /// Seconds that each endpoint took for a call, further tries included, by `endpoint`.
    seconds ENDPOINT_SECONDS = "guardian_endpoint_seconds";
    /// The cost of each endpoint's calls, in millionths of the unit of the configured prices, by `endpoint`.
    counter ENDPOINT_COST = "guardian_endpoint_cost_micros_total";
    /// The breaker of each endpoint, by `endpoint`: 0 closed, 1 half-open, 2 open.
    gauge ENDPOINT_STATE = "guardian_endpoint_state";
    /// Answers of the judge about known steps, by `outcome`: `right`, `wrong`, `unanswered`.
    counter JUDGE_CANARY = "guardian_judge_canary_total";
    /// 1 while the judge answers rightly about known steps, 0 while it does not.
    gauge JUDGE_TRUSTED = "guardian_judge_trusted";
    /// Answers of judges with two models, by `stage` (`first`, `second`) and `outcome`: `decided`, why the first may not decide
    /// (`at_odds`, `unsure`, `risk`, `decision`), or the name of the failure.
    counter JUDGE_STAGES = "guardian_judge_stages_total";
    /// The cost of judging, in millionths of the unit of the configured prices, by `organisation` (the first 200, then `other`).
    counter JUDGE_COST = "guardian_judge_cost_micros_total";
    /// Steps that a limit kept from being judged or from being taken, by `limit`: `requests`, `caller_calls`, `calls`, `tokens`,
    /// `spend`, `accounts`.
    counter LIMITS = "guardian_limits_total";
    /// Cache events, by `event`: `hit`, `miss`, `coalesced`, `evicted`, `expired`.
    counter CACHE = "guardian_cache_total";
    /// Findings, by `rule` family and `treatment`.
    counter FINDINGS = "guardian_findings_total";
    /// Requests that never became a step, by `reason`: the name of the refusal, or the JSON-RPC error code.
    counter REFUSALS = "guardian_refusals_total";
    /// Fetches of the keys of issuers of tokens, by `issuer` and `outcome`: `fetched`, `failed`.
    counter ISSUER_KEYS = "guardian_issuer_keys_total";
    /// Times that the configuration was read again, by `outcome`: `changed`, `unchanged`, `broken`.
    counter RELOADS = "guardian_reloads_total";
    /// 1 while what is configured cannot be used and an earlier version stays in force, else 0.
    gauge RELOAD_BROKEN = "guardian_reload_broken";
    /// Audit records that reached their destination, by `outcome`.
    counter AUDIT_RECORDS = "guardian_audit_records_total";
    /// Audit records that could not be written and are lost.
    counter AUDIT_LOST = "guardian_audit_lost_total";
    /// Events, by `outcome`: `sent`, `failed` (a batch that is tried again), `refused` (the destination does not take it), `lost`
    /// (there was no room).
    counter EVENTS = "guardian_events_total";
    /// Bytes of audit records that wait in the spool for their database.
    gauge AUDIT_SPOOL = "guardian_audit_spool_bytes";
    /// Connections that are held.
    gauge CONNECTIONS = "guardian_connections";
    /// Connections that were not closed by their client, by `reason`: `idle`, `displaced` (made room for a new one), `full` and
    /// `peer_full` (refused).
    counter CONNECTIONS_CLOSED = "guardian_connections_closed_total";
    /// Log lines that could not be written and are lost.
    counter LOG_LOST = "guardian_log_lines_lost_total";
    /// Steps being decided right now.
    gauge IN_FLIGHT = "guardian_steps_in_flight";
    /// Exchanges of gateways, by `gateway`, `protocol`, `direction` and `outcome`: `relayed`, `denied_request`, `denied_response`,
    /// `refused` (never understood), `fault` (the agent behind it gave no answer that could be used), `token` (a token was given out).
    counter GATEWAY_EXCHANGES = "guardian_gateway_exchanges_total";
    /// Exchanges of gateways that are under way, streams included, by `gateway`.
    gauge GATEWAY_UNDER_WAY = "guardian_gateway_under_way";
    /// Sessions that are remembered.
    gauge SESSIONS = "guardian_sessions";
    /// Sessions that had to make room for others.
    counter SESSION_EVICTIONS = "guardian_session_evictions_total";
    /// Times that sessions could not be written down; a restart forgets what was to be written.
    counter SESSIONS_UNKEPT = "guardian_sessions_unkept_total";
    /// 1 while the server of shared state answers, 0 while this node goes on by itself.
    gauge SHARED_UP = "guardian_shared_up";
    /// The number of times that the server of shared state stopped answering.
    counter SHARED_LOST = "guardian_shared_lost_total";
    /// Other nodes in which another version of organisations, policies, prompts, keys or issuers is in force.
    gauge SHARED_DIFFERING = "guardian_shared_differing_nodes";
    /// Step records of sessions that could not be merged into shared state any more.
    counter SHARED_UNMERGED = "guardian_shared_unmerged_total";
}
