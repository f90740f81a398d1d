//! A collector that takes OTLP over HTTP and keeps what it was sent.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

/// What was sent, by kind: `traces`, `metrics`, `logs`.
type Sent = Arc<Mutex<Vec<(String, Bytes)>>>;

pub(crate) struct Collector {
    pub(crate) url: String,
    sent: Sent,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let sent = Sent::default();
        let routes = Router::new()
            .route("/v1/{kind}", post(take))
            .with_state(Arc::clone(&sent));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, sent }
    }

    fn of_kind(&self, kind: &str) -> Vec<Bytes> {
        let sent = self.sent.lock().unwrap();
        let of_kind = sent.iter().filter(|(sent, _)| sent == kind);
        of_kind.map(|(_, body)| body.clone()).collect()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let decoded = self.of_kind("traces").into_iter();
        let decoded = decoded.map(|body| ExportTraceServiceRequest::decode(body).unwrap());
        let scopes = decoded
            .flat_map(|request| request.resource_spans)
            .flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    /// The spans, once this one is among them.
    pub(crate) async fn spans_with(&self, wanted: impl Fn(&Span) -> bool) -> (Span, Vec<Span>) {
        for _ in 0..1_000 {
            let spans = self.spans();
            if let Some(found) = spans.iter().find(|span| wanted(span)) {
                return (found.clone(), spans);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("no such span among {:?}", self.spans());
    }

    /// The names of all metrics, and the names of the services that sent them.
    pub(crate) fn metrics(&self) -> (Vec<String>, Vec<String>) {
        let (mut names, mut services) = (Vec::new(), Vec::new());
        for body in self.of_kind("metrics") {
            let request = ExportMetricsServiceRequest::decode(body).unwrap();
            for resource in request.resource_metrics {
                let attributes = resource.resource.unwrap().attributes;
                services.push(attribute(&attributes, "service.name").unwrap_or_default());
                let metrics = resource.scope_metrics.into_iter().flat_map(|scope| scope.metrics);
                names.extend(metrics.map(|metric| metric.name));
            }
        }
        (names, services)
    }

    /// The texts of all log lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let decoded = self.of_kind("logs").into_iter();
        let decoded = decoded.map(|body| ExportLogsServiceRequest::decode(body).unwrap());
        let scopes = decoded
            .flat_map(|request| request.resource_logs)
            .flat_map(|resource| resource.scope_logs);
        let records = scopes.flat_map(|scope| scope.log_records);
        records.filter_map(|record| text(record.body)).collect()
    }

    /// Whether these bytes stand anywhere in what was sent.
    pub(crate) fn was_sent(&self, needle: &str) -> bool {
        let sent = self.sent.lock().unwrap();
        let holds = |body: &Bytes| body.windows(needle.len()).any(|window| window == needle.as_bytes());
        sent.iter().any(|(_, body)| holds(body))
    }
}

async fn take(State(sent): State<Sent>, Path(kind): Path<String>, body: Bytes) {
    sent.lock().unwrap().push((kind, body));
}

/// The attribute of this name, as text.
pub(crate) fn attribute(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    text(found.value.clone())
}

fn text(value: Option<AnyValue>) -> Option<String> {
    Some(match value?.value? {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}
