//! The wire, published: `GET /openapi.json`. The document is a table beside this file; tests hold it to the decoder and to real answers.

use std::sync::LazyLock;

use axum::response::Response;
use serde_json::{Value, json};

use super::steps;

/// The table.
const TABLE: &str = include_str!("openapi.json");

/// The document as it is served.
static SERVED: LazyLock<Vec<u8>> = LazyLock::new(|| document().to_string().into_bytes());

/// Describes every path, method, member and error, as OpenAPI 3.1 with an example of each request.
pub fn document() -> Value {
    // A test reads the table: it is JSON.
    let mut document: Value = serde_json::from_str(TABLE).unwrap_or_default();
    // By name, so that a difference between two versions shows what differs.
    document.sort_all_objects();
    if let Some(info) = document.get_mut("info").and_then(Value::as_object_mut) {
        info.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    }
    document
}

/// `GET /openapi.json`.
pub(super) async fn answer() -> Response {
    steps::json(SERVED.clone())
}
