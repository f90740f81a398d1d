//! What calls do to platforms: clouds, clusters, repositories, databases.

use super::{Danger, Seen};
use crate::prefilter::throwaway::is_throwaway;
use crate::shell::{Call, Reading};

/// Looks at one call.
pub(super) fn look(reading: &Reading, call: &Call, seen: &mut Seen) {
    platforms(call, seen);
    version_control(call, seen);
    databases(reading, call, seen);
    over_http(call, seen);
}

fn any(call: &Call, texts: &[&str]) -> bool {
    call.args.iter().any(|word| texts.contains(&word.text.as_str()))
}

fn platforms(call: &Call, seen: &mut Seen) {
    let destroys = match call.program.as_str() {
        "kubectl" | "oc" => {
            call.has("delete")
                && (any(
                    call,
                    &[
                        "ns",
                        "namespace",
                        "namespaces",
                        "--all",
                        "-A",
                        "--all-namespaces",
                        "node",
                        "nodes",
                        "pv",
                        "crd",
                        "project",
                        "pvc",
                    ],
                ))
        }
        "terraform" | "tofu" | "terragrunt" | "pulumi" | "cdk" | "serverless" | "sst" => {
            any(call, &["destroy", "-destroy", "run-all", "remove"])
                && (call.has("destroy") || call.has("-destroy") || call.program == "serverless")
                && !only_plans(call)
        }
        "aws" => {
            (call.has("s3") && call.has("rm") && call.has("--recursive"))
                || (call.has("s3") && call.has("rb") && call.has("--force"))
                || call.args.iter().any(|word| {
                    let text = word.text.as_str();
                    text.starts_with("delete-")
                        && !text.starts_with("delete-message")
                        && !text.starts_with("delete-tags")
                        || text == "terminate-instances"
                        || text == "schedule-key-deletion"
                })
        }
        "gcloud" => call.has("delete"),
        "gsutil" => call.has("rm") && (call.has_short(&['r', 'R']) || call.has("-m")) || call.has("rb"),
        "az" => call.has("delete") || call.has("purge"),
        "doctl" | "linode-cli" | "hcloud" | "scw" => call.has("delete"),
        "heroku" => call
            .args
            .iter()
            .any(|word| word.text.ends_with(":destroy") || word.text.ends_with(":reset")),
        "helm" => any(call, &["uninstall", "delete"]),
        "docker" | "podman" => {
            (call.has("volume") && any(call, &["rm", "prune"]))
                || prunes(call)
                || (any(call, &["rm", "rmi", "kill", "stop"]) && call.args.iter().any(|word| !word.inside.is_empty()))
        }
        "redis-cli" => call
            .args
            .iter()
            .any(|word| matches!(word.text.to_ascii_lowercase().as_str(), "flushall" | "flushdb")),
        "dropdb" | "dropuser" => call.operands().next().is_some(),
        "mysqladmin" => call.has("drop"),
        "etcdctl" => call.has("del") && call.has("--prefix"),
        "gh" => call.has("repo") && call.has("delete"),
        "npm" => call.has("unpublish"),
        "kafka-topics" | "kafka-topics.sh" => call.has("--delete"),
        "vssadmin" => any(call, &["delete", "Delete"]),
        _ => false,
    };
    if destroys && names_only_throwaways(call) {
        seen.add(
            Danger::DestroyTrial,
            call,
            "destroys what its name calls temporary or a trial",
        );
    } else if destroys && prunes(call) && !call.has("--volumes") {
        seen.add(
            Danger::DestroyTrial,
            call,
            "deletes images and stopped containers, which can be made anew",
        );
    } else if destroys {
        seen.add(Danger::DestroyResources, call, "destroys resources of a platform");
    }
}

/// Whether a tool for infrastructure only shows what it would do.
fn only_plans(call: &Call) -> bool {
    call.operands()
        .map(|word| word.text.as_str())
        .find(|word| matches!(*word, "plan" | "apply" | "destroy" | "remove"))
        == Some("plan")
}

/// Whether everything that no container uses is cleared away.
fn prunes(call: &Call) -> bool {
    call.has("system") && call.has("prune") && (call.has("--volumes") || call.has_short(&['a']))
}

/// Whether all that a call destroys has a name that says that it is thrown away as a matter of course.
pub(super) fn names_only_throwaways(call: &Call) -> bool {
    let all = |names: &mut dyn Iterator<Item = &str>| {
        let mut names = names.peekable();
        names.peek().is_some() && names.all(is_throwaway)
    };
    match call.program.as_str() {
        "dropdb" => all(&mut call.operands().map(|word| word.text.as_str())),
        "terraform" | "tofu" => all(&mut call.values(&["-target", "--target"]).map(|(_, target)| target)),
        "helm" => all(&mut call.values(&["-n", "--namespace"]).map(|(_, space)| space)),
        "redis-cli" => all(&mut call.values(&["-h"]).map(|(_, host)| host)),
        "kubectl" | "oc" => {
            let kinds = ["delete", "ns", "namespace", "namespaces"];
            any(call, &["ns", "namespace", "namespaces"])
                && !any(call, &["--all", "-A", "--all-namespaces"])
                && all(&mut call
                    .operands()
                    .map(|word| word.text.as_str())
                    .filter(|word| !kinds.contains(word)))
        }
        _ => false,
    }
}

fn version_control(call: &Call, seen: &mut Seen) {
    if call.program != "git" {
        return;
    }
    let rewrites = (call.has("push")
        && (any(call, &["--force", "-f", "--mirror", "--delete", "-d"])
            || call
                .args
                .iter()
                .any(|word| word.text.starts_with('+') || word.text.starts_with(':'))))
        || (call.has("reset") && call.has("--hard"))
        || (call.has("clean") && call.has_short(&['f']))
        || (call.has("branch") && call.has("-D"))
        || any(call, &["filter-branch", "filter-repo"])
        || (call.has("reflog") && call.has("expire"))
        || (call.has("update-ref") && call.has("-d"))
        || (call.has("stash") && any(call, &["clear", "drop"]));
    if rewrites {
        seen.add(
            Danger::HistoryRewrite,
            call,
            "throws work or history of a repository away",
        );
    }
}

fn databases(reading: &Reading, call: &Call, seen: &mut Seen) {
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
                seen.add(Danger::DatabaseLoss, call, "deletes data of a database");
            }
            return;
        }
        "sqlite3" | "duckdb" | "bq" => call.operands().skip(1).map(|word| word.text.clone()).collect(),
        "mongo" | "mongosh" => {
            if call.values(&["--eval"]).any(|(_, code)| {
                code.contains("dropDatabase(") || code.contains(".drop(") || code.contains("deleteMany({})")
            }) {
                seen.add(Danger::DatabaseLoss, call, "deletes data of a database");
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
fn over_http(call: &Call, seen: &mut Seen) {
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
            seen.add(Danger::DestroyResources, call, "destroys resources of a platform");
        }
        let matches_all =
            path.ends_with("_delete_by_query") && call.args.iter().any(|word| word.text.contains("match_all"));
        if (deletes && everything) || matches_all {
            seen.add(Danger::DatabaseLoss, call, "deletes data of a database");
        }
    }
}
