//! The effects of calls on platforms: clouds, clusters, repositories, databases.

use super::{Danger, Dangers};
use crate::prefilter::disposable::is_disposable;
use crate::prefilter::hosts::{host_of, is_this_machine};
use crate::shell::{Call, Reading};

/// Looks at one call.
pub(super) fn look(reading: &Reading, call: &Call, seen: &mut Dangers) {
    platforms(call, seen);
    databases(reading, call, seen);
    over_http(call, seen);
}

fn platforms(call: &Call, seen: &mut Dangers) {
    let removes = call.has_any(&["rm", "rmi", "kill", "stop"]);
    if matches!(call.program.as_str(), "docker" | "podman")
        && removes
        && call.args.iter().any(|word| !word.inside.is_empty())
    {
        seen.add(Danger::DestroyResources, call);
    }
    if call.program == "git" && call.has("branch") && call.has("-D") {
        seen.add(Danger::HistoryRewrite, call);
    }
}

/// Returns `true` if all that a call destroys has a name that says that it is thrown away as a matter of course.
pub(super) fn names_only_disposable(call: &Call) -> bool {
    let all = |names: &mut dyn Iterator<Item = &str>| {
        let mut names = names.peekable();
        names.peek().is_some() && names.all(is_disposable)
    };
    match call.program.as_str() {
        "dropdb" => all(&mut call.operands().map(|word| word.text.as_str())),
        "terraform" | "tofu" => all(&mut call.values(&["-target", "--target"]).map(|(_, target)| target)),
        "helm" => all(&mut call.values(&["-n", "--namespace"]).map(|(_, space)| space)),
        "redis-cli" => all(&mut call.values(&["-h"]).map(|(_, host)| host)),
        "kubectl" | "oc" => {
            let kinds = ["delete", "ns", "namespace", "namespaces"];
            call.has_any(&["ns", "namespace", "namespaces"])
                && !call.has_any(&["--all", "-A", "--all-namespaces"])
                && all(&mut call
                    .operands()
                    .map(|word| word.text.as_str())
                    .filter(|word| !kinds.contains(word)))
        }
        _ => false,
    }
}

fn databases(reading: &Reading, call: &Call, seen: &mut Dangers) {
    let statements: Vec<String> = match call.program.as_str() {
        "psql" | "cockroach" => call
            .values(&["-c", "--command", "-e", "--execute"])
            .map(|(_, text)| text.to_owned())
            .collect(),
        "mysql" | "mariadb" | "clickhouse-client" | "snowsql" => call
            .values(&["-e", "--execute", "-q", "--query"])
            .map(|(_, text)| text.to_owned())
            .collect(),
        "sqlcmd" | "osql" | "invoke-sqlcmd" => call
            .values(&["-Q", "-q", "-Query"])
            .map(|(_, text)| text.to_owned())
            .collect(),
        "cqlsh" | "influx" | "presto" | "trino" | "hive" | "beeline" | "spark-sql" | "impala-shell" | "vsql" => call
            .values(&["-e", "--execute", "-execute", "-q", "-c"])
            .map(|(_, text)| text.to_owned())
            .collect(),
        "sqlplus" | "isql" | "usql" => Vec::new(),
        "nc" | "ncat" | "netcat" | "telnet" => {
            let wipes = |text: &str| {
                text.lines().any(|line| {
                    matches!(
                        line.trim().to_ascii_lowercase().as_str(),
                        "flushall" | "flushdb" | "flush_all"
                    )
                })
            };
            if reading.known_input(call).is_some_and(|text| wipes(&text)) {
                seen.add(Danger::DatabaseLoss, call);
            }
            return;
        }
        "sqlite3" | "duckdb" | "bq" => call.operands().skip(1).map(|word| word.text.clone()).collect(),
        "mongo" | "mongosh" => {
            if call.values(&["--eval"]).any(|(_, code)| {
                code.contains("dropDatabase(") || code.contains(".drop(") || code.contains("deleteMany({})")
            }) {
                seen.add(Danger::DatabaseLoss, call);
            }
            Vec::new()
        }
        _ => return,
    };
    let piped = reading.known_input(call);
    for text in statements.into_iter().chain(piped) {
        seen.add_statement(&text, call);
    }
}

/// Requests that delete everything that a service holds.
fn over_http(call: &Call, seen: &mut Dangers) {
    if !matches!(call.program.as_str(), "curl" | "http" | "https" | "xh" | "wget") {
        return;
    }
    let deletes = call
        .values(&["-X", "--request", "--method"])
        .any(|(_, method)| method.eq_ignore_ascii_case("delete"))
        || call.args.iter().any(|word| word.text == "DELETE");
    let paths = call.args.iter().filter_map(|word| {
        let rest = match word.text.split_once("://") {
            Some((_, rest)) => rest,
            None => word.text.contains(":9200").then_some(word.text.as_str())?,
        };
        Some(
            rest.split_once('/')
                .map_or((rest, ""), |(host, path)| (host, path.trim_end_matches('/'))),
        )
    });
    for (host, path) in paths {
        let everything = matches!(path, "_all" | "*") || (path.is_empty() && host.ends_with(":9200"));
        let repository = host == "api.github.com" && path.starts_with("repos/") && path.matches('/').count() == 2;
        if deletes && repository {
            seen.add(Danger::DestroyResources, call);
        }
        let matches_all =
            path.ends_with("_delete_by_query") && call.args.iter().any(|word| word.text.contains("match_all"));
        if (deletes && everything) || matches_all {
            seen.add(Danger::DatabaseLoss, call);
        }
    }
}

/// Returns `true` if a client asks a database of this machine, by an option or an address, that nothing calls productive.
pub(super) fn asks_local_trial(call: &Call) -> bool {
    let words = call.args.iter().chain(call.environment.iter().map(|(_, word)| word));
    let addressed = words.filter_map(|word| {
        let text = word.text.as_str();
        text.contains("://").then(|| host_of(text))
    });
    let named = call.values(&["-h", "--host"]).map(|(_, host)| host_of(host));
    let mut hosts = named.chain(addressed).peekable();
    hosts.peek().is_some() && hosts.all(is_this_machine) && !call.line().to_ascii_lowercase().contains("prod")
}
