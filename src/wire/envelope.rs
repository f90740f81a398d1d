//! The envelopes of ACS: the fields that have to be there before their payloads are read.

use std::sync::Arc;

use crate::model::{RequestId, Step};

use super::acs::{Hello, Named, canonical, named};
use super::draft::Checked;
use super::json::{Kind, NodeId, Table};
use super::jsonrpc::{self, RpcError};
use super::{Dialect, Leniency, Limits, decode};

/// Characters of an id, a nonce, a timestamp.
const MAX_ID: usize = 128;
/// Methods that a client can declare.
const MAX_METHODS: usize = 256;

/// The requests of a body.
pub(crate) struct Requests<'j> {
    table: Table<'j>,
    roots: Vec<NodeId>,
    limits: Limits,
    received: Vec<Leniency>,
    /// True if the body is a batch, which is answered as one.
    pub(crate) batch: bool,
}

/// A request as its envelope has it; its payload is still unread.
pub(crate) struct Request<'t, 'j> {
    requests: &'t Requests<'j>,
    envelope: jsonrpc::Envelope<'j>,
    params: NodeId,
    payload: Option<NodeId>,
    signature: Option<NodeId>,
    /// The meaning of the method; `None` if there is no such method.
    pub(crate) named: Option<Named>,
    /// The id under which it is known in its session.
    pub(crate) request_id: String,
    /// The time at which it was sent, as it is written.
    pub(crate) timestamp: String,
    /// A value that no other request has.
    pub(crate) nonce: Option<String>,
    /// The session.
    pub(crate) session: String,
    /// The version that the envelope is in.
    pub(crate) version: String,
}

/// The signature of an envelope.
pub(crate) enum Signature {
    /// There is none.
    Missing,
    /// There is something in its place.
    Malformed,
    /// One that can be checked.
    Given {
        /// The algorithm.
        algorithm: String,
        /// The label of the secret.
        key_id: String,
        /// The value in base64.
        value: String,
    },
}

impl<'j> Requests<'j> {
    /// Reads a body.
    ///
    /// # Errors
    ///
    /// As [`crate::wire::decode()`].
    pub(crate) fn read(body: &'j [u8], limits: &Limits, received: &[Leniency]) -> Result<Self, RpcError> {
        let limits = Limits {
            dialect: Dialect::Acs,
            ..*limits
        };
        let (table, roots, received) = decode::requests(body, &limits, received)?;
        let batch = table.kind(Table::ROOT) == Kind::Array;
        Ok(Self {
            table,
            roots,
            limits,
            received,
            batch,
        })
    }

    /// Returns each request, or the reason why it is none, with its id if it has a usable one.
    pub(crate) fn each(&self) -> impl Iterator<Item = Result<Request<'_, 'j>, (Option<RequestId>, RpcError)>> {
        self.roots.iter().map(|root| {
            let envelope = jsonrpc::read(&self.table, *root)?;
            let id = envelope.id.clone();
            self.request(envelope).map_err(|error| (Some(id), error))
        })
    }

    fn request(&self, envelope: jsonrpc::Envelope<'j>) -> Result<Request<'_, 'j>, RpcError> {
        let checked = Checked {
            table: &self.table,
            root: envelope.root,
        };
        // A request without an envelope cannot be signed either: it is no request at all.
        let shaped = |error: RpcError| RpcError::invalid_request(error.message.replacen("params", "request", 1));
        let params = checked.required_object(envelope.root, "params", "an object");
        let params = params.map_err(shaped)?;
        let metadata = checked.required_object(params, "metadata", "an object with `agent_id` and `session_id`");
        let metadata = metadata.map_err(shaped)?;
        let text = |object, name| short_text(checked, object, name).map_err(shaped);
        text(metadata, "agent_id")?;
        let nonce = match self.table.given(params, "nonce") {
            Some(_) => Some(text(params, "nonce")?),
            None => None,
        };
        let payload = checked.object(params, "payload", "an object");
        Ok(Request {
            requests: self,
            params,
            payload: payload.map_err(shaped)?,
            signature: self.table.given(params, "signature"),
            named: named(&envelope.method),
            request_id: text(params, "request_id")?,
            timestamp: text(params, "timestamp")?,
            nonce,
            session: text(metadata, "session_id")?,
            version: text(params, "acs_version")?,
            envelope,
        })
    }
}

/// Reads a string that is neither empty nor long.
fn short_text(checked: Checked<'_, '_>, object: NodeId, name: &str) -> Result<String, RpcError> {
    const EXPECTED: &str = "a string of 1 to 128 characters";
    let node = checked.required(object, name, EXPECTED)?;
    let text = checked.table.text(node).unwrap_or_default();
    if text.is_empty() || text.chars().nth(MAX_ID).is_some() {
        return Err(checked.wrong(node, EXPECTED));
    }
    Ok(text.into_owned())
}

impl Request<'_, '_> {
    /// Returns the id of the JSON-RPC request.
    pub(crate) fn id(&self) -> &RequestId {
        &self.envelope.id
    }

    /// Returns the method, as it is written.
    pub(crate) fn method(&self) -> &str {
        &self.envelope.method
    }

    /// Returns the signature.
    pub(crate) fn signature(&self) -> Signature {
        let table = &self.requests.table;
        let Some(node) = self.signature else {
            return Signature::Missing;
        };
        let text = |name| table.text_of(node, name).map(|text| text.into_owned());
        match (text("algorithm"), text("key_id"), text("value")) {
            (Some(algorithm), Some(key_id), Some(value)) => Signature::Given {
                algorithm,
                key_id,
                value,
            },
            _ => Signature::Malformed,
        }
    }

    /// Returns the text that a signature covers: the whole request but for the signature itself.
    pub(crate) fn signed(&self) -> Option<String> {
        canonical(&self.requests.table, self.envelope.root, self.signature)
    }

    /// Returns the canonical text of the parameters, signature included.
    pub(crate) fn canonical_params(&self) -> Option<String> {
        canonical(&self.requests.table, self.params, None)
    }

    /// Returns the head of the session's chain as the client has it.
    pub(crate) fn chain_hash(&self) -> Option<String> {
        let table = &self.requests.table;
        let state = table.given(table.given(self.params, "metadata")?, "session_state")?;
        Some(table.text_of(state, "chain_hash")?.into_owned())
    }

    /// Returns the text that a ping wants to have back.
    pub(crate) fn echo(&self) -> Option<String> {
        let echo = self.requests.table.text_of(self.payload?, "echo")?;
        Some(echo.chars().take(1_024).collect())
    }

    /// Reads the versions, methods, transports and profiles of a `handshake/hello`.
    ///
    /// # Errors
    ///
    /// `-32602` when one that has to be there is not, or is no list of texts.
    pub(crate) fn hello(&self) -> Result<Hello, RpcError> {
        let checked = self.checked();
        let payload = self.payload()?;
        let list = |name| match checked.required(payload, name, "an array of strings") {
            Ok(node) => texts(checked, node),
            Err(error) => Err(error),
        };
        let hello = Hello {
            versions: list("acs_versions_supported")?,
            methods: list("methods_implemented")?,
            transports: list("transports_supported")?,
            profiles: match self.requests.table.given(payload, "profiles_supported") {
                Some(node) => texts(checked, node)?,
                None => Vec::new(),
            },
        };
        checked.required(payload, "provenance_producer", "a string")?;
        Ok(hello)
    }

    /// Decodes the step that it carries.
    ///
    /// # Errors
    ///
    /// As [`crate::wire::decode()`].
    pub(crate) fn step(&self) -> Result<Arc<Step>, RpcError> {
        self.payload()?;
        let requests = self.requests;
        let mut step = decode::decode_acs(&requests.table, &self.envelope, &requests.limits)?;
        step.remarks
            .extend(requests.received.iter().map(|leniency| leniency.remark("")));
        Ok(Arc::new(step))
    }

    fn checked(&self) -> Checked<'_, '_> {
        Checked {
            table: &self.requests.table,
            root: self.envelope.root,
        }
    }

    fn payload(&self) -> Result<NodeId, RpcError> {
        self.payload
            .ok_or_else(|| self.checked().missing(self.params, "payload", "an object"))
    }
}

fn texts(checked: Checked<'_, '_>, node: NodeId) -> Result<Vec<String>, RpcError> {
    const EXPECTED: &str = "an array of at most 256 strings";
    let wrong = || checked.wrong(node, EXPECTED);
    if checked.table.kind(node) != Kind::Array || checked.table.children(node).nth(MAX_METHODS).is_some() {
        return Err(wrong());
    }
    let items = checked.table.children(node).map(|item| {
        let text = checked.table.text(item).filter(|text| text.len() <= MAX_ID)?;
        Some(text.into_owned())
    });
    items.collect::<Option<Vec<_>>>().ok_or_else(wrong)
}
