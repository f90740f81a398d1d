//! What `deploy/` says of the program is true of it: metrics that exist, configurations that it reads, a health check that tells.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use aos_guardian::config::{ConfigFile, Keys};

use crate::program::Program;

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_name(c));
    words
        .filter(|word| word.starts_with("guardian_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn dashboard_and_alerts_name_metrics_that_there_are() {
    let there_are = named(&std::fs::read_to_string(file("src/telemetry/names.rs")).unwrap());
    for path in [
        "deploy/grafana/dashboard.json",
        "deploy/prometheus/alerts.yaml",
        "deploy/helm/guardian/values.yaml",
    ] {
        let named = named(&std::fs::read_to_string(file(path)).unwrap());
        assert!(!named.is_empty(), "{path}");
        for name in named {
            let plain = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            assert!(
                there_are.contains(plain.unwrap_or(&name)),
                "{path}: there is no metric {name}"
            );
        }
    }
}

#[test]
fn configurations_for_containers_are_read() {
    let compose = std::fs::read_to_string(file("deploy/compose/guardian.toml")).unwrap();
    let values = std::fs::read_to_string(file("deploy/helm/guardian/values.yaml")).unwrap();
    let (_, block) = values.split_once("config: |\n").unwrap();
    let lines = block
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("  "));
    let helm: String = lines
        .map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line)))
        .collect();
    for (name, text) in [("compose", compose), ("helm", helm)] {
        let parsed = ConfigFile::parse(&text, name).unwrap_or_else(|error| panic!("{error}"));
        let config = parsed.resolve_with(name, Path::new("."), Keys::Unneeded).unwrap();
        config.server.check().unwrap();
        assert!(config.server.drain_delay > Duration::ZERO, "{name}");
    }
}

/// Whether `guardian health` finds the server well, and what it said.
fn health(program: &Program) -> (bool, String) {
    let url = format!("http://{}/", program.address);
    let output = Command::new(env!("CARGO_BIN_EXE_guardian"))
        .args(["health", "--url", &url])
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn a_reload_that_failed_is_seen_by_a_health_check() {
    let program = Program::start("[audit]\nto = \"off\"");
    std::fs::write(program.folder().join("guardian.toml"), "[audit]\nto = 7\n").unwrap();
    let begun = std::time::Instant::now();
    loop {
        let (well, said) = health(&program);
        assert!(well, "{said}");
        if said.contains("not reloaded at ") && said.contains("guardian.toml") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{said}");
    }
    // As in a container: the file that is broken says the address, too.
    let output = Command::new(env!("CARGO_BIN_EXE_guardian"))
        .args(["health", "--config"])
        .arg(program.folder().join("guardian.toml"))
        .env("GUARDIAN_LISTEN", program.address.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains(&format!("cannot be read, so {} is asked", program.address)) && said.contains("not reloaded at "),
        "{said}"
    );
}

#[cfg(unix)]
#[test]
fn a_server_that_was_told_to_stop_says_so_and_takes_steps_until_its_time_is_over() {
    let mut program = Program::start("[limits]\ndrain_delay_ms = 1500\n[audit]\nto = \"off\"");
    assert_eq!(health(&program), (true, "ready, judge: local rules\n".to_owned()));
    program.signal("-TERM");
    let begun = std::time::Instant::now();
    while health(&program).0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "it never said that it stops");
    }
    if begun.elapsed() < Duration::from_millis(1_200) {
        assert!(health(&program).1.contains("stopping"));
        assert_eq!(program.post(&crate::support::user_message("one more")).0, 200);
    }
    assert!(program.ends_within(Duration::from_secs(20)));
    assert!(!health(&program).0);
}
