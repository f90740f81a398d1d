//! `[[gateways]]`, checked.

use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use url::Url;

use super::file::GatewaySection;
use super::settings::Reader;
use super::{ConfigError, WhoseKey};
use crate::gateway::{
    Callable, ClientAuth, ClientCredentials, Direction, Listen, OnDeny, PROTOCOLS, Protocol, RemoteGuardian, Settings,
    StreamMode,
};
use crate::model::OrganisationId;
use crate::{pipeline, server};

/// Headers in which models are shown a key.
const CREDENTIALS: &[&str] = &["authorization", "x-api-key", "api-key"];

/// The paths under which the guardian itself answers.
const TAKEN: &[&str] = &[
    "/",
    "/aos",
    "/healthz",
    "/readyz",
    "/metrics",
    "/v1/judge",
    "/v1/whoami",
];

impl Reader<'_> {
    /// Reads every gateway.
    pub(super) fn gateways(
        &self,
        sections: &[GatewaySection],
        organisations: &[OrganisationId],
        max_depth: usize,
        timeout: Duration,
    ) -> Result<Vec<Settings>, ConfigError> {
        let mut gateways: Vec<Settings> = Vec::new();
        for (index, section) in sections.iter().enumerate() {
            let one = One {
                reader: self,
                section,
                index,
            };
            let gateway = one.settings(organisations, max_depth)?;
            // A verdict of this process keeps its own time; this is for when it does not.
            let gateway = Settings {
                decision_timeout: timeout + Duration::from_secs(1),
                ..gateway
            };
            let same_name = gateways.iter().any(|other| other.name == gateway.name);
            if same_name {
                return Err(one.wrong("name", format!("`{}` is the name of another gateway", gateway.name)));
            }
            if gateways.iter().any(|other| other.listen == gateway.listen) {
                return Err(one.wrong("listen", "another gateway listens there"));
            }
            gateways.push(gateway);
        }
        Ok(gateways)
    }
}

struct One<'a> {
    reader: &'a Reader<'a>,
    section: &'a GatewaySection,
    index: usize,
}

impl One<'_> {
    fn wrong(&self, key: &str, why: impl Into<String>) -> ConfigError {
        self.reader.wrong(&self.key(key), why)
    }

    fn key(&self, key: &str) -> String {
        format!("gateways[{}].{key}", self.index)
    }

    fn needed<'s>(&self, key: &str, value: Option<&'s String>, what: &str) -> Result<&'s str, ConfigError> {
        value
            .map(String::as_str)
            .ok_or_else(|| self.wrong(key, format!("is needed: {what}")))
    }

    fn settings(&self, organisations: &[OrganisationId], max_depth: usize) -> Result<Settings, ConfigError> {
        let section = self.section;
        let protocol = self.needed(
            "protocol",
            section.protocol.as_ref(),
            "`a2a`, `agentvault`, `agent-protocol`, `mcp`, `openai` or `anthropic`",
        )?;
        let listen = self.listen()?;
        let upstream = section
            .upstream
            .as_deref()
            .map(|text| self.url("upstream", text))
            .transpose()?;
        let known: Vec<_> = PROTOCOLS
            .iter()
            .map(|entry| (entry.protocol.name, &entry.protocol))
            .collect();
        let (_, protocol): (_, &Protocol) = self.reader.one_of(&self.key("protocol"), protocol, &known)?;
        let direction = self.direction(protocol, upstream.as_ref())?;
        if protocol.only_calls {
            self.check_of_tools(protocol, upstream.is_some(), direction)?;
        }
        let (headers, oauth2) = (self.headers()?, self.oauth2()?);
        // Who has no credentials of its own for a model uses those of its callers.
        let has_own = oauth2.is_some() || headers.iter().any(|(name, _)| CREDENTIALS.contains(&name.as_str()));
        let usual_bytes = if protocol.is_model { 16 } else { 1 } * 1024 * 1024;
        Ok(Settings {
            name: self.name(&listen)?,
            protocol,
            listen,
            upstream,
            direction,
            mode: self.reader.mode(&self.key("mode"), section.mode.as_deref())?,
            stream_mode: self.stream_mode(protocol)?,
            hold_bytes: section.hold_bytes.unwrap_or(64 * 1024),
            on_deny: self.on_deny(protocol)?,

            scheme: "http",
            public_url: section
                .public_url
                .as_deref()
                .map(|text| self.url("public_url", text))
                .transpose()?,
            organisation: self.organisation(organisations)?,
            client_keys: self.client_keys()?,
            client_auth: self.client_auth(protocol)?,
            client_tokens: section.client_tokens,
            allow_unauthenticated: section.allow_unauthenticated,
            headers,
            oauth2,
            pass_auth: section.pass_auth.unwrap_or(protocol.is_model && !has_own),
            pass_headers: self.pass_headers()?,
            guardian: self.guardian()?,
            decision_timeout: pipeline::Settings::default().timeout,
            upstream_timeout: Duration::from_millis(section.upstream_timeout_ms.unwrap_or(300_000)),
            max_message_bytes: section.max_message_bytes.unwrap_or(usual_bytes),
            max_depth,
            max_in_flight: section.max_in_flight.unwrap_or(2_048),
            tools_file: section.tools_file.as_deref().map(|path| self.reader.path(path)),
            callable: Callable {
                hosts: section.push_hosts.clone(),
            },
        })
    }

    /// Gateways between an agent and its tools leave some settings no choice.
    fn check_of_tools(&self, protocol: &Protocol, has_upstream: bool, direction: Direction) -> Result<(), ConfigError> {
        let name = protocol.name;
        if !has_upstream {
            let why = format!("is needed: `{name}` has no agent of the guardian's own");
            return Err(self.wrong("upstream", why));
        }
        if direction == Direction::Ingress {
            let why = format!("`{name}` guards the agent that calls: expected `egress`");
            return Err(self.wrong("direction", why));
        }
        if self.section.stream_mode.is_some() {
            let why = format!("each message of `{name}` is judged before it goes on: leave `stream_mode` out");
            return Err(self.wrong("stream_mode", why));
        }
        Ok(())
    }

    fn direction(&self, protocol: &Protocol, upstream: Option<&Url>) -> Result<Direction, ConfigError> {
        if protocol.is_model && upstream.is_none() {
            return Err(self.wrong("upstream", "is needed: the model, such as `https://api.openai.com`"));
        }
        match (&self.section.direction, upstream) {
            (Some(_), _) if protocol.is_model => {
                Err(self.wrong("direction", "is not for models: it is always the agent that is guarded"))
            }
            (None, _) if protocol.is_model => Ok(Direction::Egress),
            (Some(direction), _) => self.reader.one_of(&self.key("direction"), direction, Direction::ALL),
            (None, Some(_)) if protocol.only_calls => Ok(Direction::Egress),
            (None, None) => Ok(Direction::Ingress),
            (None, Some(_)) => {
                let what = "`egress` guards the agent that calls, `ingress` the one that is called";
                Err(self.wrong("direction", format!("is needed: {what}")))
            }
        }
    }

    fn stream_mode(&self, protocol: &Protocol) -> Result<StreamMode, ConfigError> {
        let usual = if protocol.is_model { "flow" } else { "hold" };
        let named = self.section.stream_mode.as_deref().unwrap_or(usual);
        let mode = self.reader.one_of(&self.key("stream_mode"), named, StreamMode::ALL)?;
        match mode {
            StreamMode::Flow if !protocol.is_model => {
                Err(self.wrong("stream_mode", "`flow` is for `openai` and `anthropic`"))
            }
            StreamMode::Hold | StreamMode::Flow => Ok(mode),
        }
    }

    fn listen(&self) -> Result<Listen, ConfigError> {
        let what = "a path such as `/gw/weather`, or an address such as `127.0.0.1:9001`";
        let text = self.needed("listen", self.section.listen.as_ref(), what)?;
        if !text.starts_with('/') {
            let address: SocketAddr = server::parse_listen(text).map_err(|why| self.wrong("listen", why))?;
            return Ok(Listen::Address(address));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.');
        let path = text.trim_end_matches('/');
        if path.is_empty() || TAKEN.contains(&path) || path.contains("//") || !path.chars().all(plain) {
            return Err(self.wrong(
                "listen",
                format!("expected a path of its own such as `/gw/weather`, found `{text}`"),
            ));
        }
        Ok(Listen::Path(path.to_owned()))
    }

    fn name(&self, listen: &Listen) -> Result<String, ConfigError> {
        let name = match (&self.section.name, listen) {
            (Some(name), _) => name.clone(),
            (None, Listen::Path(path)) => path.rsplit('/').next().unwrap_or_default().to_owned(),
            (None, Listen::Address(address)) => address.to_string(),
        };
        self.reader.name(&self.key("name"), &name, "-_.:[]")
    }

    fn url(&self, key: &str, text: &str) -> Result<Url, ConfigError> {
        let expected = || {
            self.wrong(
                key,
                format!("expected an address such as `http://127.0.0.1:9999`, found `{text}`"),
            )
        };
        let url = Url::parse(text).map_err(|_| expected())?;
        let plain =
            url.query().is_none() && url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
        if matches!(url.scheme(), "http" | "https") && url.host().is_some() && plain {
            Ok(url)
        } else {
            Err(expected())
        }
    }

    fn organisation(&self, organisations: &[OrganisationId]) -> Result<OrganisationId, ConfigError> {
        match (&self.section.organisation, organisations) {
            (None, [first, ..]) => Ok(first.clone()),
            (None, []) => Ok(pipeline::Organisation::default_id()),
            (Some(id), _) => self
                .reader
                .known_organisation(&self.key("organisation"), id, organisations),
        }
    }

    fn client_keys(&self) -> Result<Vec<[u8; 32]>, ConfigError> {
        let keys = self.section.client_keys.as_ref();
        keys.map_or(Ok(Vec::new()), |keys| {
            self.reader.digests(&self.key("client_keys"), keys)
        })
    }

    fn on_deny(&self, protocol: &Protocol) -> Result<OnDeny, ConfigError> {
        match &self.section.on_deny {
            Some(_) if !protocol.is_model => Err(self.wrong("on_deny", "is for `openai` and `anthropic`")),
            Some(text) => self.reader.one_of(&self.key("on_deny"), text, OnDeny::ALL),
            None => Ok(OnDeny::Replace),
        }
    }

    fn client_auth(&self, protocol: &Protocol) -> Result<ClientAuth, ConfigError> {
        let auth = self
            .reader
            .named(
                &self.key("client_auth"),
                self.section.client_auth.as_deref(),
                ClientAuth::ALL,
            )?
            .unwrap_or(ClientAuth::Key);
        let why = match auth {
            ClientAuth::Key => return Ok(auth),
            ClientAuth::OAuth2 if !protocol.gives_tokens => "`oauth2` is for `agentvault`",
            ClientAuth::OAuth2 if self.section.client_keys.is_none() => {
                "tokens are given out for keys: give `client_keys` too"
            }
            ClientAuth::OAuth2 if self.section.pass_auth == Some(true) => {
                "the gateway's own tokens would go on to the agent: leave `pass_auth` out"
            }
            ClientAuth::OAuth2 => return Ok(auth),
        };
        Err(self.wrong("client_auth", why))
    }

    /// Reads the credentials with which the gateway gets tokens for the agent behind it.
    fn oauth2(&self) -> Result<Option<ClientCredentials>, ConfigError> {
        let Some(section) = &self.section.oauth2 else {
            return Ok(None);
        };
        if self.section.pass_auth == Some(true) {
            return Err(self.wrong(
                "oauth2",
                "credentials of callers go on to the agent: leave `pass_auth` out",
            ));
        }
        let token_url = self.needed(
            "oauth2.token_url",
            section.token_url.as_ref(),
            "where tokens are given out",
        )?;
        let client_id = self.needed(
            "oauth2.client_id",
            section.client_id.as_ref(),
            "who the gateway is there",
        )?;
        let secret = self.needed(
            "oauth2.client_secret",
            section.client_secret.as_ref(),
            "such as `env:NAME`",
        )?;
        Ok(Some(ClientCredentials {
            token_url: self.url("oauth2.token_url", token_url)?,
            client_id: client_id.to_owned(),
            client_secret: self.secret("oauth2.client_secret", secret)?.into(),
            scope: section.scope.clone(),
        }))
    }

    /// Reads a value that may stand in a variable: `env:NAME`.
    fn secret(&self, key: &str, text: &str) -> Result<String, ConfigError> {
        let found = self.reader.secret(Some(text), WhoseKey::Server, &self.key(key))?;
        Ok(found.unwrap_or_default())
    }

    /// Headers for the agent behind the gateway; `env:NAME` for those that hold a secret.
    fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, ConfigError> {
        let read = |(name, text): (&String, &String)| {
            let key = format!("headers.{name}");
            let value = self.secret(&key, text)?;
            let name = HeaderName::try_from(name.as_str()).map_err(|_| self.wrong(&key, "is no name of a header"))?;
            let mut value =
                HeaderValue::try_from(value.trim()).map_err(|_| self.wrong(&key, "cannot be sent in a header"))?;
            value.set_sensitive(true);
            Ok((name, value))
        };
        self.section.headers.iter().map(read).collect()
    }

    fn pass_headers(&self) -> Result<Vec<HeaderName>, ConfigError> {
        const NEVER: &[&str] = &[
            "host",
            "content-length",
            "content-type",
            "transfer-encoding",
            "connection",
            "keep-alive",
            "te",
            "trailer",
            "upgrade",
            "proxy-authorization",
            "proxy-authenticate",
            "accept-encoding",
            "content-encoding",
            "x-guardian-key",
        ];
        let read = |text: &String| {
            let name = HeaderName::try_from(text.as_str())
                .ok()
                .filter(|name| !NEVER.contains(&name.as_str()));
            name.ok_or_else(|| self.wrong("pass_headers", format!("`{text}` is no header that can be passed on")))
        };
        self.section.pass_headers.iter().map(read).collect()
    }

    fn guardian(&self) -> Result<Option<RemoteGuardian>, ConfigError> {
        let Some(text) = &self.section.guardian_url else {
            return Ok(None);
        };
        let name = self.section.guardian_key_env.as_deref();
        let key = self
            .reader
            .key_named(name, WhoseKey::Server, &self.key("guardian_key_env"))?;
        Ok(Some(RemoteGuardian {
            url: self.url("guardian_url", text)?,
            key: key.map(Into::into),
        }))
    }
}
