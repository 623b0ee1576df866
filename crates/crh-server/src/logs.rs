//! Structured logs on standard error, and traces for an OpenTelemetry collector.

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt};

#[cfg(feature = "otel")]
pub use crate::traces::{TraceExport, TraceExportError};

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One line of text per event.
    Text,
    /// One JSON object per event.
    Json,
}

/// A part of the log that receives events and spans.
pub(crate) type LogLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts logging. A second call changes nothing.
pub fn start_logging(format: LogFormat) {
    start_with(vec![stderr_layer(format)]);
}

/// Starts logging, and sends the spans of requests and jobs to a collector.
#[cfg(feature = "otel")]
pub fn start_logging_and_traces(format: LogFormat, export: &TraceExport) {
    start_with(vec![stderr_layer(format), export.layer()]);
}

fn stderr_layer(format: LogFormat) -> LogLayer {
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    }
}

fn start_with(layers: Vec<LogLayer>) {
    let subscriber = tracing_subscriber::registry().with(layers).with(LevelFilter::INFO);
    // An error means that logging has started already.
    drop(subscriber.try_init());
}
