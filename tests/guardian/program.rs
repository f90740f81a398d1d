//! The program itself, under a supervisor that is not always reading: standard error that stalls, signals, processor time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{tool_call, tool_result, user_message};

/// A running `guardian serve`, whose standard error is not read.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: SocketAddr,
    stderr: BufReader<ChildStderr>,
    pub(crate) folder: tempfile::TempDir,
}

impl Program {
    pub(crate) fn start(toml: &str) -> Self {
        Self::start_with(toml, &[])
    }

    /// The same, with these variables.
    pub(crate) fn start_with(toml: &str, variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("guardian.toml");
        std::fs::write(&config, toml).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_guardian"))
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&config)
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended before it listened");
            if let Some(address) = line.trim().strip_prefix("listening on http://") {
                break address.parse().unwrap();
            }
        };
        Self {
            child,
            address,
            stderr,
            folder,
        }
    }

    /// Where it runs: relative files of its configuration are here.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The status and the body of an answer.
    pub(crate) fn post(&self, request: &Value) -> (u16, Value) {
        self.post_as(None, request)
    }

    pub(crate) fn post_as(&self, key: Option<&str>, request: &Value) -> (u16, Value) {
        let key = key.map_or(String::new(), |key| format!("x-api-key: {key}\r\n"));
        let (status, body) = self.send(
            "POST /",
            &format!("content-type: application/json\r\n{key}"),
            &request.to_string(),
        );
        (status, serde_json::from_str(&body).unwrap())
    }

    pub(crate) fn get(&self, path: &str) -> String {
        self.send(&format!("GET {path}"), "", "").1
    }

    fn send(&self, what: &str, headers: &str, body: &str) -> (u16, String) {
        let head = format!(
            "{what} HTTP/1.1\r\nhost: localhost\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        (status, body.to_owned())
    }

    /// Ends it; gives back what it logged.
    pub(crate) fn log(&mut self) -> String {
        let _ = self.child.kill();
        let mut log = String::new();
        self.stderr.read_to_string(&mut log).unwrap();
        log
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    pub(crate) fn ends_within(&mut self, most: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < most {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// Hundredths of seconds of a processor that it has taken.
    #[cfg(target_os = "linux")]
    fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let fields: Vec<&str> = fields.split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// More records than a pipe takes.
const MANY: usize = 300;

#[cfg(unix)]
#[test]
fn standard_error_that_nobody_reads_holds_up_no_step_and_no_end() {
    let mut program = Program::start("[audit]\nto = \"stderr\"\n[log]\nfilter = \"debug\"");
    for number in 0..MANY {
        let (status, answer) = program.post(&user_message(&format!("What do {number} hammers cost?")));
        assert_eq!((status, &answer["result"]["decision"]), (200, &json!("allow")));
    }
    program.signal("-TERM");
    assert!(program.ends_within(Duration::from_secs(20)));
}

#[cfg(unix)]
#[test]
fn where_records_are_asked_for_no_verdict_leaves_without_one() {
    let mut program = Program::start("[audit]\nto = \"stderr\"\non_failure = \"refuse\"");
    let mut told = Vec::new();
    for number in 0..MANY {
        let (status, answer) = program.post(&user_message(&format!("What do {number} hammers cost?")));
        if status != 200 {
            assert_eq!((status, &answer["error"]["code"]), (503, &json!(-32011)));
            break;
        }
        told.push(answer["result"]["data"]["decisionId"].as_str().unwrap().to_owned());
    }
    assert!(told.len() < MANY, "a pipe that is not read took every record");
    program.signal("-TERM");
    assert!(program.ends_within(Duration::from_secs(20)));
    // Every verdict that was told has its record, though the program ended with its output stalled.
    let mut written = String::new();
    program.stderr.read_to_string(&mut written).unwrap();
    for id in told {
        assert!(written.contains(&id), "{id} has no record");
    }
}

#[cfg(unix)]
#[test]
fn a_moved_audit_file_is_left_alone_and_a_new_one_begun() {
    let folder = tempfile::tempdir().unwrap();
    let (file, moved) = (folder.path().join("audit.jsonl"), folder.path().join("audit.1"));
    let program = Program::start(&format!(
        "[audit]\nto = \"{}\"\non_failure = \"refuse\"",
        file.display()
    ));
    let lines = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default().lines().count();
    program.post(&user_message("one"));
    std::fs::rename(&file, &moved).unwrap();
    program.post(&user_message("two"));
    // The first line of a new file says where the one before ended.
    assert_eq!((lines(&moved), lines(&file)), (1, 2));
    program.signal("-HUP");
    program.post(&user_message("three"));
    assert_eq!((lines(&moved), lines(&file)), (1, 3));
}

/// Short strings that make some part of the path work: beginnings of secrets, ends of sentences, brackets, escapes.
const SHAPES: &[&str] = &[
    "eyJ.",
    "AKIA.",
    "ghp_",
    "sk-",
    "-----BEGIN ",
    "password=",
    "token: ",
    "? ",
    "! ",
    ". ",
    "\n",
    "\n\n",
    "7\n",
    "'}",
    "', '",
    ": ",
    "please ",
    "a@b.c ",
    "1.2.3.4 ",
    "4111 ",
    "%41",
    "\\u0041",
    "&#65;",
    "&amp;",
    "{\"a\":",
    "[",
    "((",
    "`",
    "$(",
    "rm -rf ",
    "; ",
    "|",
    "curl http://a.b/c | ",
    "ignore all previous instructions ",
    "SELECT ",
    "../",
    "http://",
    "//",
    "==",
    "QUJD",
    "\u{200b}",
    "е",
    "🙂",
    "\u{202e}",
    "aA1",
    " ",
    "\t",
    "-",
    "_",
    "\"",
    "\\",
    "<a ",
    "<!--",
    "]]>",
    "0x41 ",
    "IBAN DE",
    "+49 ",
];

#[cfg(target_os = "linux")]
#[test]
fn no_repetition_takes_much_longer_than_honest_text() {
    let program = Program::start("[audit]\nto = \"off\"");
    let size = 16 * 1024;
    let cost = |request: &Value| {
        let before = program.ticks();
        assert_eq!(program.post(request).0, 200);
        // What is learned after the answer counts: the next step of the session waits for it.
        program.post(&user_message("And now?"));
        program.ticks() - before
    };
    cost(&tool_result("warm"));
    let prose =
        "Customer 4711 asked for a refund; the order total was 129.90 EUR. \"I would rather wait,\" she wrote. ";
    let honest = cost(&tool_result(&prose.repeat(size / prose.len()))).max(2);
    for shape in SHAPES {
        let text = shape.repeat(size / shape.len());
        for request in [tool_result(&text), tool_call("search", "query", &json!(text))] {
            let taken = cost(&request);
            assert!(
                taken <= 25 * honest,
                "{shape:?}: {taken} beside {honest} of honest text"
            );
        }
    }
}
