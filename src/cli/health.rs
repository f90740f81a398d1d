//! `guardian health`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use url::Url;

use super::output::say;
use super::{ConfigArgument, Ended};
use crate::server::{Settings, parse_listen};

/// Ask a running server whether it takes steps; for health checks of containers.
///
/// Prints what `/readyz` says, a reload that failed included. Exit code 0: it says that it takes steps. 1: it does not, or there is no answer.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// The server [default: this machine, at the configured port]. The variable SSL_CERT_FILE names the authority of a certificate that
    /// this machine does not know.
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// How long to wait for the answer, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 2_000)]
    timeout_ms: u64,
}

/// Lines of the answer that are shown.
const MAX_LINES: usize = 64;

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let is_own = arguments.url.is_none();
    let urls = match &arguments.url {
        Some(url) => vec![url.clone()],
        None => own_addresses(&arguments.config)?,
    };
    let client = reqwest::Client::builder()
        .timeout(Duration::from_millis(arguments.timeout_ms))
        .no_proxy()
        // At a loopback address the certificate has another name; nothing secret is sent there.
        .tls_danger_accept_invalid_certs(is_own)
        .build()?;
    let mut asked = client
        .get(urls.first().context("there is no address to ask")?.join("readyz")?)
        .send()
        .await;
    if let (Err(_), Some(with_tls)) = (&asked, urls.get(1)) {
        asked = client.get(with_tls.join("readyz")?).send().await.or(asked);
    }
    let answer = asked.with_context(|| match urls.len() {
        1 => "the server does not answer",
        _ => "no server answers there: name its address with `--url`, or mend the configuration",
    })?;
    let status = answer.status();
    let said = answer.text().await.unwrap_or_default();
    let mut lines = said.lines().take(MAX_LINES).map(super::printable);
    let first = lines.next().unwrap_or_default();
    anyhow::ensure!(status.is_success(), "not ready ({status}): {first}");
    say!("{first}");
    lines.for_each(|line| say!("{line}"));
    Ok(Ended::Done)
}

/// Returns the addresses at which the server can be asked from the same machine. A configuration that cannot be read is no answer: the server
/// goes on with the one before, and is asked at the usual place, without and with TLS.
fn own_addresses(argument: &ConfigArgument) -> anyhow::Result<Vec<Url>> {
    let why = match argument.load_without_keys() {
        Ok(config) => return Ok(vec![own_address(config.server.listen, config.server.scheme())?]),
        Err(why) => why,
    };
    let listen = std::env::var("GUARDIAN_LISTEN").ok();
    let listen = listen.and_then(|listen| parse_listen(&listen).ok());
    let listen = listen.unwrap_or_else(|| Settings::default().listen);
    eprintln!(
        "note: the configuration cannot be read, so {listen} is asked (GUARDIAN_LISTEN, else the default; `--url` names another): {why:#}"
    );
    ["http", "https"]
        .into_iter()
        .map(|scheme| own_address(listen, scheme))
        .collect()
}

fn own_address(mut address: SocketAddr, scheme: &str) -> anyhow::Result<Url> {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    Ok(Url::parse(&format!("{scheme}://{address}/"))?)
}
