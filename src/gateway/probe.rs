//! The check that the agent behind a gateway is there, without telling it anything.

use std::time::Duration;

use super::settings::Settings;
use crate::outgoing::client;

const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Asks the agent behind a gateway for its description of itself.
///
/// # Errors
///
/// The reason why it is not there, in words for an operator.
pub async fn probe(settings: &Settings) -> Result<String, String> {
    let Some(base) = &settings.upstream else {
        return Ok("the guardian itself answers".to_owned());
    };
    let http = client()
        .timeout(PROBE_TIMEOUT)
        .build()
        .map_err(|error| error.to_string())?;
    let under = base.as_str().trim_end_matches('/');
    let places = settings.protocol.probes;
    let mut answered = None;
    for place in places {
        let mut request = http.get(format!("{under}{place}"));
        for (name, value) in &settings.headers {
            request = request.header(name, value);
        }
        match request.send().await {
            Ok(response) if response.status().is_success() => {
                return Ok(format!("{base} answers `GET {place}`"));
            }
            Ok(response) => answered = Some(response.status()),
            Err(error) => return Err(format!("{base} cannot be reached: {}", error.without_url())),
        }
    }
    match (places.contains(&""), answered) {
        // It need not show a card at all, and may show it elsewhere.
        (true, Some(status)) => Ok(format!("{base} answers (HTTP {}, no card there)", status.as_u16())),
        // A model shows its list only with a key.
        (_, Some(status)) if settings.protocol.is_model && status == http::StatusCode::UNAUTHORIZED => {
            Ok(format!("{base} answers, and wants a key"))
        }
        (_, Some(status)) => Err(format!(
            "{base} answers HTTP {} to {}",
            status.as_u16(),
            places.join(" and ")
        )),
        (_, None) => Err(format!("{base} was not asked")),
    }
}
