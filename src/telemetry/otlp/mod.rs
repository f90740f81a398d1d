//! OTLP: traces, metrics and logs for a collector, over HTTP with protobuf or over gRPC.
//!
//! Batches wait in bounded queues and are sent by threads of their own; what finds no room is dropped, and no step waits. The standard
//! variables (`OTEL_EXPORTER_OTLP_…`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_…`,
//! `OTEL_METRIC_EXPORT_INTERVAL`, `OTEL_SDK_DISABLED`, `OTEL_TRACES_EXPORTER=none` and the like) win over the configuration.

mod client;
mod meter;

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider;
use opentelemetry_otlp::{
    ExporterBuildError, LogExporter, MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};

use crate::outgoing;
use client::Client;
pub(super) use meter::MeterRecorder;

/// The protocol with which telemetry is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP with protobuf, at `ENDPOINT/v1/traces` and so on.
    Http,
    /// gRPC.
    Grpc,
}

/// The destination of telemetry, and how much of it is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The collector's address; `None`: what the standard variables say.
    pub endpoint: Option<String>,
    /// The protocol of the endpoint.
    pub protocol: Protocol,
    /// The share of traces that begin here and are kept, 0 to 1. A caller that sends a `traceparent` has decided about its trace.
    pub sample: f64,
    /// True if spans hold what judges are shown and say.
    pub content: bool,
}

/// The reason why nothing can be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// An exporter cannot be set up.
    #[error("`[otlp]`: telemetry cannot be exported: {0}; expected an `endpoint` such as `http://127.0.0.1:4318`")]
    Exporter(#[from] ExporterBuildError),
    /// The HTTP client cannot be set up.
    #[error("`[otlp]`: the HTTP client cannot be set up: {0}")]
    Client(#[from] reqwest::Error),
}

/// The time that the end of the process waits for each kind of telemetry to be sent.
const MAX_FLUSH: Duration = Duration::from_secs(3);

/// The exporters; those are `None` that a variable `OTEL_…_EXPORTER=none` switches off.
#[derive(Clone, Debug)]
pub struct Exports {
    pub(super) traces: Option<SdkTracerProvider>,
    pub(super) logs: Option<SdkLoggerProvider>,
    metrics: Option<SdkMeterProvider>,
}

impl Exports {
    /// Sets everything up, on the current runtime. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// When the endpoint, or what a variable says, cannot be used.
    pub(super) fn start(settings: &Settings) -> Result<Self, ExportError> {
        let resource = resource();
        let with = Exporters {
            settings,
            client: Client::new()?,
        };
        let traces = wanted("OTEL_TRACES_EXPORTER").then(|| with.spans()).transpose()?;
        let logs = wanted("OTEL_LOGS_EXPORTER").then(|| with.logs()).transpose()?;
        let metrics = wanted("OTEL_METRICS_EXPORTER").then(|| with.metrics()).transpose()?;
        Ok(Self {
            traces: traces.map(|exporter| {
                SdkTracerProvider::builder()
                    .with_batch_exporter(exporter)
                    .with_resource(resource.clone())
                    // A span is made only where its request was drawn.
                    .with_sampler(Sampler::AlwaysOn)
                    .build()
            }),
            logs: logs.map(|exporter| {
                SdkLoggerProvider::builder()
                    .with_batch_exporter(exporter)
                    .with_resource(resource.clone())
                    .build()
            }),
            metrics: metrics.map(|exporter| {
                SdkMeterProvider::builder()
                    .with_periodic_exporter(exporter)
                    .with_resource(resource)
                    .build()
            }),
        })
    }

    /// Makes a recorder of the `metrics` crate that exports.
    pub(super) fn recorder(&self) -> Option<MeterRecorder> {
        Some(MeterRecorder::new(self.metrics.as_ref()?.meter("aos-guardian")))
    }

    /// Sends what waits, but not for ever, and stops. It blocks. Answers what could not be sent.
    pub fn finish(&self) -> Vec<&'static str> {
        let mut unsent = Vec::new();
        if let Some(traces) = &self.traces
            && traces.shutdown_with_timeout(MAX_FLUSH).is_err()
        {
            unsent.push("traces");
        }
        if let Some(metrics) = &self.metrics
            && metrics.shutdown_with_timeout(MAX_FLUSH).is_err()
        {
            unsent.push("metrics");
        }
        if let Some(logs) = &self.logs
            && logs.shutdown_with_timeout(MAX_FLUSH).is_err()
        {
            unsent.push("logs");
        }
        unsent
    }
}

/// Tries whether the collector can be reached, and sends nothing.
///
/// # Errors
///
/// Why it cannot.
pub async fn probe(settings: &Settings) -> Result<String, String> {
    let by_variable = std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT").ok();
    let endpoint = by_variable
        .filter(|text| !text.is_empty())
        .or_else(|| settings.endpoint.clone());
    let url = endpoint.and_then(|text| text.parse().ok());
    let url = url.ok_or("expected an endpoint such as `http://127.0.0.1:4318`")?;
    let place = outgoing::reach(&url)
        .await
        .map_err(|why| format!("the collector at {why}"))?;
    Ok(format!("the collector at {place} can be reached; nothing was sent"))
}

/// Returns `true` if this kind is exported.
fn wanted(variable: &str) -> bool {
    std::env::var(variable).ok().as_deref() != Some("none")
}

/// Returns the sender of all this. The attributes of the standard variables come on top.
fn resource() -> Resource {
    let mut resource = Resource::builder().with_attributes([
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", uuid::Uuid::new_v4().to_string()),
    ]);
    let named = |name: &str| std::env::var(name).is_ok_and(|value| !value.is_empty());
    let in_attributes = std::env::var("OTEL_RESOURCE_ATTRIBUTES").is_ok_and(|text| text.contains("service.name="));
    if !named("OTEL_SERVICE_NAME") && !in_attributes {
        resource = resource.with_service_name("aos-guardian");
    }
    resource.build()
}

/// Makes the exporters.
struct Exporters<'a> {
    settings: &'a Settings,
    client: Client,
}

impl Exporters<'_> {
    /// Returns the address of one kind, where no variable names another.
    fn endpoint(&self, kind: &str) -> Option<String> {
        let variables = [
            "OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(),
            format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", kind.to_uppercase()),
        ];
        if variables.iter().any(|name| std::env::var_os(name).is_some()) {
            return None;
        }
        let base = self.settings.endpoint.as_deref()?.trim_end_matches('/');
        Some(match self.protocol() {
            Protocol::Http => format!("{base}/v1/{kind}"),
            Protocol::Grpc => base.to_owned(),
        })
    }

    fn protocol(&self) -> Protocol {
        match std::env::var("OTEL_EXPORTER_OTLP_PROTOCOL").as_deref() {
            Ok("grpc") => Protocol::Grpc,
            Ok(_) => Protocol::Http,
            Err(_) => self.settings.protocol,
        }
    }

    fn spans(&self) -> Result<SpanExporter, ExporterBuildError> {
        match self.protocol() {
            Protocol::Http => self.http(SpanExporter::builder().with_http(), "traces").build(),
            Protocol::Grpc => self.at(SpanExporter::builder().with_tonic(), "traces").build(),
        }
    }

    fn logs(&self) -> Result<LogExporter, ExporterBuildError> {
        match self.protocol() {
            Protocol::Http => self.http(LogExporter::builder().with_http(), "logs").build(),
            Protocol::Grpc => self.at(LogExporter::builder().with_tonic(), "logs").build(),
        }
    }

    fn metrics(&self) -> Result<MetricExporter, ExporterBuildError> {
        match self.protocol() {
            Protocol::Http => self.http(MetricExporter::builder().with_http(), "metrics").build(),
            Protocol::Grpc => self.at(MetricExporter::builder().with_tonic(), "metrics").build(),
        }
    }

    fn http<B: WithExportConfig + WithHttpConfig>(&self, builder: B, kind: &str) -> B {
        let builder = builder
            .with_http_client(self.client.clone())
            .with_protocol(opentelemetry_otlp::Protocol::HttpBinary);
        self.at(builder, kind)
    }

    fn at<B: WithExportConfig>(&self, builder: B, kind: &str) -> B {
        match self.endpoint(kind) {
            Some(endpoint) => builder.with_endpoint(endpoint),
            None => builder,
        }
    }
}
