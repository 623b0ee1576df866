//! Logs, and with the feature `otel` traces for a collector of OpenTelemetry.

use tokio::runtime::Handle;

use crate::config::environment::Environment;
use crate::failure::Failure;
#[cfg(not(feature = "otel"))]
use crate::ui;
use crh_server::logs::{self, LogFormat};

/// Variables that name a collector.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// Traces that are being sent.
pub(super) struct Traces {
    #[cfg(feature = "otel")]
    export: Option<logs::TraceExport>,
}

impl Traces {
    /// Sends the traces that were not sent yet.
    pub(super) fn finish(self) {
        #[cfg(feature = "otel")]
        if let Some(export) = self.export {
            export.finish();
        }
    }
}

/// Starts logging, and traces if a variable names a collector.
#[cfg(feature = "otel")]
pub(super) fn start_logging(
    format: LogFormat,
    runtime: &Handle,
    environment: &Environment,
) -> Result<Traces, Failure> {
    use crate::failure::{FailureKind, OrFail};
    if environment.secrets(ENDPOINTS).is_empty() {
        logs::start_logging(format);
        return Ok(Traces { export: None });
    }
    let has_name = !environment.secrets(["OTEL_SERVICE_NAME"]).is_empty();
    let service = (!has_name).then_some("crh");
    let network = environment.network_settings();
    let export = logs::TraceExport::new(&network, runtime.clone(), service, None);
    let export = export.or_fail(FailureKind::Usage)?;
    logs::start_logging_and_traces(format, &export);
    Ok(Traces { export: Some(export) })
}

/// Starts logging.
#[cfg(not(feature = "otel"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature `otel` it can fail")]
pub(super) fn start_logging(
    format: LogFormat,
    _: &Handle,
    environment: &Environment,
) -> Result<Traces, Failure> {
    logs::start_logging(format);
    if !environment.secrets(ENDPOINTS).is_empty() {
        ui::note("this crh sends no traces: it was built without the feature `otel`");
    }
    Ok(Traces {})
}
