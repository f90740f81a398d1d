//! Metrics on their way to OTLP: each one that the `metrics` crate records, under the same name and labels.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Label, Metadata, Recorder};
use metrics::{SharedString, Unit};
use metrics_util::registry::{Registry, Storage};
use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;

use crate::telemetry::SECONDS;

/// Records into a meter.
pub(in crate::telemetry) struct MeterRecorder(Registry<Key, Instruments>);

impl MeterRecorder {
    pub(super) fn new(meter: Meter) -> Self {
        Self(Registry::new(Instruments(meter)))
    }
}

impl Recorder for MeterRecorder {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.0
            .get_or_create_counter(key, |counter| Counter::from_arc(Arc::clone(counter)))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.0
            .get_or_create_gauge(key, |gauge| Gauge::from_arc(Arc::clone(gauge)))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.0
            .get_or_create_histogram(key, |histogram| Histogram::from_arc(Arc::clone(histogram)))
    }
}

/// Makes the instrument of each key.
struct Instruments(Meter);

fn attributes(key: &Key) -> Vec<KeyValue> {
    let pair = |label: &Label| KeyValue::new(label.key().to_owned(), label.value().to_owned());
    key.labels().map(pair).collect()
}

impl Storage<Key> for Instruments {
    type Counter = Arc<MeterCounter>;
    type Gauge = Arc<MeterGauge>;
    type Histogram = Arc<MeterHistogram>;

    fn counter(&self, key: &Key) -> Self::Counter {
        Arc::new(MeterCounter {
            instrument: self.0.u64_counter(key.name().to_owned()).build(),
            attributes: attributes(key),
            absolute: AtomicU64::new(0),
        })
    }

    fn gauge(&self, key: &Key) -> Self::Gauge {
        Arc::new(MeterGauge {
            instrument: self.0.f64_gauge(key.name().to_owned()).build(),
            attributes: attributes(key),
            bits: AtomicU64::new(0),
        })
    }

    fn histogram(&self, key: &Key) -> Self::Histogram {
        let builder = self.0.f64_histogram(key.name().to_owned());
        let builder = match key.name().ends_with("_seconds") {
            true => builder.with_unit("s").with_boundaries(SECONDS.to_vec()),
            false => builder,
        };
        Arc::new(MeterHistogram {
            instrument: builder.build(),
            attributes: attributes(key),
        })
    }
}

struct MeterCounter {
    instrument: opentelemetry::metrics::Counter<u64>,
    attributes: Vec<KeyValue>,
    /// The highest absolute value that was told.
    absolute: AtomicU64,
}

impl CounterFn for MeterCounter {
    fn increment(&self, value: u64) {
        self.instrument.add(value, &self.attributes);
    }

    fn absolute(&self, value: u64) {
        let before = self.absolute.fetch_max(value, Ordering::Relaxed);
        self.instrument.add(value.saturating_sub(before), &self.attributes);
    }
}

struct MeterGauge {
    instrument: opentelemetry::metrics::Gauge<f64>,
    attributes: Vec<KeyValue>,
    /// The present value, as the bits of an `f64`.
    bits: AtomicU64,
}

impl MeterGauge {
    fn change(&self, change: impl Fn(f64) -> f64) {
        let changed = |bits| Some(change(f64::from_bits(bits)).to_bits());
        let before = self.bits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, changed);
        let before = before.unwrap_or_else(|bits| bits);
        self.instrument.record(change(f64::from_bits(before)), &self.attributes);
    }
}

impl GaugeFn for MeterGauge {
    fn increment(&self, value: f64) {
        self.change(|now| now + value);
    }

    fn decrement(&self, value: f64) {
        self.change(|now| now - value);
    }

    fn set(&self, value: f64) {
        self.change(|_| value);
    }
}

struct MeterHistogram {
    instrument: opentelemetry::metrics::Histogram<f64>,
    attributes: Vec<KeyValue>,
}

impl HistogramFn for MeterHistogram {
    fn record(&self, value: f64) {
        self.instrument.record(value, &self.attributes);
    }
}
