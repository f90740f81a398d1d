//! `guardian health`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use clap::Args;
use url::Url;

use super::output::say;
use super::{ConfigArgument, Ended};
use crate::config::Config;

/// Ask a running server whether it takes steps; for health checks of containers.
///
/// Prints what `/readyz` says, a reload that failed included. Exit code 0: it says that it takes steps. 1: it does not, or there is no answer.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// The server [default: this machine, at the configured port].
    #[arg(long, value_name = "URL")]
    url: Option<Url>,
    /// How long to wait for the answer, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 2_000)]
    timeout_ms: u64,
}

/// Lines of the answer that are shown.
const MAX_LINES: usize = 64;

pub(super) async fn run(arguments: &Arguments) -> anyhow::Result<Ended> {
    let url = match &arguments.url {
        Some(url) => url.clone(),
        None => own_address(&arguments.config.load_without_keys()?)?,
    };
    let is_own = arguments.url.is_none();
    let client = reqwest::Client::builder()
        .timeout(Duration::from_millis(arguments.timeout_ms))
        .no_proxy()
        // At a loopback address the certificate has another name; nothing secret is sent there.
        .tls_danger_accept_invalid_certs(is_own)
        .build()?;
    let answer = client.get(url.join("readyz")?).send().await?;
    let status = answer.status();
    let said = answer.text().await.unwrap_or_default();
    let mut lines = said.lines().take(MAX_LINES).map(super::printable);
    let first = lines.next().unwrap_or_default();
    anyhow::ensure!(status.is_success(), "not ready ({status}): {first}");
    say!("{first}");
    lines.for_each(|line| say!("{line}"));
    Ok(Ended::Done)
}

/// Returns the address at which a server with this configuration can be asked from the same machine.
fn own_address(config: &Config) -> anyhow::Result<Url> {
    let mut address = config.server.listen;
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    Ok(Url::parse(&format!("{}://{address}/", config.server.scheme()))?)
}
