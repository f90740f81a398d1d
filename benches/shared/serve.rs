//! Servers as processes of their own, so that what they take can be told from what it takes to ask them.

#![allow(dead_code, reason = "each benchmark takes what it needs")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running server.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: SocketAddr,
}

/// The guardian that is measured: `GUARDIAN_BIN`, or the one that was built with the benchmark.
fn guardian() -> Command {
    let built = env!("CARGO_BIN_EXE_guardian");
    Command::new(std::env::var("GUARDIAN_BIN").unwrap_or_else(|_| built.to_owned()))
}

impl Served {
    /// `guardian serve` with this configuration.
    pub(crate) fn guardian(toml: &str) -> Self {
        let file = std::env::temp_dir().join(format!("guardian-bench-{}.toml", std::process::id()));
        std::fs::write(&file, toml).expect("a configuration");
        let mut command = guardian();
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&file);
        Self::start(command)
    }

    /// This benchmark again, told to be a server itself.
    pub(crate) fn myself(argument: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("a program"));
        command.arg(argument);
        Self::start(command)
    }

    /// Waits for the line that tells the address.
    fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("a server");
        let mut lines = BufReader::new(child.stderr.take().expect("its standard error"));
        let address = loop {
            let mut line = String::new();
            assert!(
                lines.read_line(&mut line).expect("a line") > 0,
                "it ended before it listened"
            );
            if let Some(address) = line.trim().strip_prefix("listening on http://") {
                break address.parse().expect("an address");
            }
        };
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut lines, &mut std::io::sink());
        });
        Self { child, address }
    }

    pub(crate) fn connect(&self) -> Client {
        self.connect_with(String::new())
    }

    /// Opens a connection of the caller with this key.
    pub(crate) fn connect_as(&self, key: &str) -> Client {
        self.connect_with(format!("x-api-key: {key}\r\n"))
    }

    fn connect_with(&self, credential: String) -> Client {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_nodelay(true).expect("a connection");
        Client {
            stream,
            address: self.address,
            credential,
        }
    }

    /// Processor time that the server has taken, in steps of a hundredth of a second.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("a running server");
        let (_, fields) = stat.rsplit_once(") ").expect("fields");
        let ticks: u64 = fields
            .split(' ')
            .skip(11)
            .take(2)
            .filter_map(|ticks| ticks.parse::<u64>().ok())
            .sum();
        Duration::from_millis(ticks * 10)
    }

    /// Forgets the most memory that the server has taken so far.
    pub(crate) fn forget_peak(&self) {
        let _ = std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }

    /// The most memory that it has taken since, and what it takes now, in MiB.
    pub(crate) fn memory(&self) -> (u64, u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("a running server");
        let of = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            kib.unwrap_or(0) / 1024
        };
        (of("VmHWM"), of("VmRSS"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that stays open.
pub(crate) struct Client {
    stream: TcpStream,
    address: SocketAddr,
    /// A line of the head, or nothing.
    credential: String,
}

impl Client {
    /// The status and the body of an answer.
    pub(crate) fn post(&mut self, body: &[u8]) -> (u16, Vec<u8>) {
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {}\r\n{}content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.address,
            self.credential,
            body.len()
        );
        self.send(&[head.as_bytes(), body].concat())
    }

    pub(crate) fn get(&mut self, path: &str) -> (u16, Vec<u8>) {
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        self.send(head.as_bytes())
    }

    fn send(&mut self, request: &[u8]) -> (u16, Vec<u8>) {
        self.stream.write_all(request).expect("a request");
        let mut answer = Vec::new();
        let mut chunk = [0; 64 * 1024];
        loop {
            let read = self.stream.read(&mut chunk).expect("an answer");
            assert!(read > 0, "the server hung up");
            answer.extend_from_slice(chunk.get(..read).unwrap_or_default());
            let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            let head = String::from_utf8_lossy(answer.get(..end).unwrap_or_default()).to_ascii_lowercase();
            let length = head
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.lines().next()?.parse().ok());
            if answer.len() >= end + 4 + length.unwrap_or(0_usize) {
                let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
                return (status.unwrap_or(0), answer.split_off(end + 4));
            }
        }
    }
}
