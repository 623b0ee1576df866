//! Sends spans of requests, jobs and their steps to an OpenTelemetry collector, over HTTP. The
//! standard variables `OTEL_…` decide where to and how.

use std::pin::Pin;
use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use thiserror::Error;
use tokio::runtime::Handle;
use tracing_subscriber::Layer;

use crate::logs::LogLayer;
use crh_http::NetworkSettings;

/// Longest wait for a collector.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Why spans cannot be sent.
#[derive(Debug, Error)]
#[error("cannot send traces: {0}")]
pub struct TraceExportError(String);

/// An exporter of spans, which sends them in batches.
#[derive(Debug)]
pub struct TraceExport {
    provider: SdkTracerProvider,
}

impl TraceExport {
    /// Creates an exporter that sends on this runtime. Without a service name, `OTEL_SERVICE_NAME`
    /// counts; without an endpoint, `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub fn new(
        network: &NetworkSettings,
        runtime: Handle,
        service: Option<&str>,
        endpoint: Option<&str>,
    ) -> Result<Self, TraceExportError> {
        let http =
            crh_http::build_client(network).map_err(|error| TraceExportError(error.to_string()))?;
        let client = TraceClient { http, runtime };
        let mut exporter = SpanExporter::builder().with_http().with_http_client(client);
        if let Some(endpoint) = endpoint {
            exporter = exporter.with_endpoint(endpoint);
        }
        let exporter = exporter.build().map_err(|error| TraceExportError(error.to_string()))?;
        let mut resource = Resource::builder();
        if let Some(service) = service {
            resource = resource.with_service_name(service.to_owned());
        }
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_batch_exporter(exporter)
            .build();
        Ok(Self { provider })
    }

    pub(crate) fn layer(&self) -> LogLayer {
        let tracer = self.provider.tracer("crh");
        tracing_opentelemetry::layer().with_tracer(tracer).with_threads(false).boxed()
    }

    /// Sends what is left. Must not be called on the runtime's own threads.
    pub fn finish(&self) {
        if let Err(error) = self.provider.shutdown() {
            tracing::warn!(%error, "cannot send the last traces");
        }
    }
}

/// Sends requests on the runtime of the server, because the exporter's own thread has no runtime.
#[derive(Debug)]
struct TraceClient {
    http: reqwest::Client,
    runtime: Handle,
}

type Sending<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl HttpClient for TraceClient {
    fn send_bytes<'a, 'b>(&'a self, request: Request<Bytes>) -> Sending<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        let (parts, body) = request.into_parts();
        let request = self.http.request(parts.method, parts.uri.to_string());
        let request = request.headers(parts.headers).body(body).timeout(ANSWER_TIME_MAX);
        let sending = self.runtime.spawn(async move {
            let answer = request.send().await?;
            let status = answer.status();
            // The body of the collector's answer does not matter.
            Ok::<_, reqwest::Error>(status)
        });
        Box::pin(async move {
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = sending.await??;
            Ok(response)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// Accepts one request and returns its head and body.
    fn receive(collector: &TcpListener) -> (String, Vec<u8>) {
        let (mut stream, _) = collector.accept().unwrap();
        let (mut request, mut buffer) = (Vec::new(), [0; 4_096]);
        loop {
            let read = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..read]);
            let Some(end) = request.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
                continue;
            };
            let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if request.len() == end + 4 + length {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
                return (head, request.split_off(end + 4));
            }
        }
    }

    /// Fields of a message of protocol buffers that are bytes, texts or messages.
    fn fields(mut message: &[u8]) -> Vec<(u64, &[u8])> {
        fn number(message: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = message[0];
                *message = &message[1..];
                value |= u64::from(byte & 127) << shift;
                shift += 7;
                if byte < 128 {
                    return value;
                }
            }
        }
        let mut found = Vec::new();
        while !message.is_empty() {
            let key = number(&mut message);
            let length = match key & 7 {
                0 => {
                    number(&mut message);
                    continue;
                }
                1 => 8,
                5 => 4,
                _ => usize::try_from(number(&mut message)).unwrap(),
            };
            let (value, rest) = message.split_at(length);
            found.push((key >> 3, value));
            message = rest;
        }
        found
    }

    fn children(message: &[u8], field: u64) -> Vec<&[u8]> {
        fields(message)
            .into_iter()
            .filter(|(key, _)| *key == field)
            .map(|(_, value)| value)
            .collect()
    }

    #[test]
    fn spans_reach_a_collector() {
        let collector = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}/v1/traces", collector.local_addr().unwrap());
        let received = std::thread::spawn(move || receive(&collector));
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let export = TraceExport::new(
            &NetworkSettings::default(),
            runtime.handle().clone(),
            Some("crh"),
            Some(&endpoint),
        );
        let export = export.unwrap();
        let subscriber = tracing_subscriber::registry().with(export.layer());
        tracing::subscriber::with_default(subscriber, || {
            let job = tracing::info_span!("job", job = 3, kind = "review");
            job.in_scope(|| tracing::info_span!("step", name = "prepare").in_scope(|| ()));
        });
        export.finish();
        let (head, body) = received.join().unwrap();
        assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
        assert!(head.contains("content-type: application/x-protobuf"), "{head}");
        // Resource spans, scope spans, spans: fields 1, 2 and 2. A span has its id in field 2, its
        // parent in field 4 and its name in field 5.
        let resource = children(&body, 1)[0];
        assert!(resource.windows(3).any(|bytes| bytes == b"crh"));
        let spans: Vec<&[u8]> =
            children(resource, 2).iter().flat_map(|scope| children(scope, 2)).collect();
        let name = |span: &[u8]| String::from_utf8_lossy(children(span, 5)[0]).into_owned();
        let find = |wanted: &str| *spans.iter().find(|span| name(span) == wanted).unwrap();
        assert_eq!(spans.len(), 2);
        assert_eq!(children(find("step"), 4), children(find("job"), 2));
    }
}
