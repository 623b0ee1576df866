//! Converts errors of the client library (genai). Their texts contain whole requests, so they are
//! never shown.

use std::error::Error as _;
use std::io::ErrorKind;
use std::{io, iter};

use genai::Error;
use serde_json::Value;

use super::frames::FrameSummary;
use super::vendor_error;
use super::vendor_error::ReplyStarted;
use crate::ModelError;

#[derive(Debug)]
pub(super) struct CallFailure {
    pub(super) error: ModelError,
    /// HTTP status of an error response.
    pub(super) status: Option<u16>,
    /// Why crh could not connect, if the system said so.
    pub(super) connect_error: Option<ErrorKind>,
}

impl From<ModelError> for CallFailure {
    fn from(error: ModelError) -> Self {
        Self { error, status: None, connect_error: None }
    }
}

/// Converts a client error. The last frame in `summary` holds details that the client drops.
pub(super) fn from_client_error(
    error: &Error,
    summary: &FrameSummary,
    started: ReplyStarted,
) -> CallFailure {
    match error {
        // In a stream, the status is in the inner error.
        Error::WebStream { error, .. } => match error.downcast_ref::<Error>() {
            Some(inner) => from_client_error(inner, summary, started),
            None => match error.downcast_ref::<reqwest::Error>() {
                Some(error) => from_transport_error(error, summary),
                // The remaining case is invalid UTF-8.
                None => cut_stream("not valid UTF-8").into(),
            },
        },
        Error::HttpError { status, body, headers, .. } => {
            let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
            let status = status.as_u16();
            CallFailure {
                error: vendor_error::from_status(status, &header, body),
                status: Some(status),
                connect_error: None,
            }
        }
        Error::WebModelCall { webc_error: genai::webc::Error::Reqwest(error), .. } => {
            from_transport_error(error, summary)
        }
        _ => from_error_without_status(error, summary, started).into(),
    }
}

/// Converts an error without an HTTP status, from before or within the stream.
fn from_error_without_status(
    error: &Error,
    summary: &FrameSummary,
    started: ReplyStarted,
) -> ModelError {
    match error {
        Error::ChatResponse { body, .. } => match block_reason(&summary.last_frame) {
            Some(reason) => ModelError::Refused {
                message: format!("blocked by the vendor's filter: `{reason}`"),
            },
            None => vendor_error::from_event(body, started),
        },
        // The client reports OpenAI's failed response as a parse error without its code.
        Error::StreamParse { .. } => match summary.last_frame.pointer("/response/error") {
            Some(error) if error.is_object() => vendor_error::from_event(error, started),
            Some(_) | None => cut_stream("an event is not valid JSON"),
        },
        // No frame arrived, so the client failed before it sent the request.
        _ if summary.count == 0 => ModelError::BadRequest {
            message: "the request cannot be converted to the vendor's API".to_owned(),
        },
        _ => cut_stream("an event cannot be parsed"),
    }
}

/// Whether the error only concerns a type of delta that Anthropic added after this version of the
/// client library.
pub(super) fn is_unknown_delta(error: &Error, summary: &FrameSummary) -> bool {
    const KNOWN_DELTAS: [&str; 4] =
        ["text_delta", "input_json_delta", "thinking_delta", "signature_delta"];
    let kind = summary.last_frame.pointer("/delta/type").and_then(Value::as_str);
    matches!(error, Error::JsonValueExt(_))
        && kind.is_some_and(|kind| !KNOWN_DELTAS.contains(&kind))
}

fn from_transport_error(error: &reqwest::Error, summary: &FrameSummary) -> CallFailure {
    let cause = root_cause(error);
    let model_error = if error.is_builder() {
        ModelError::BadRequest { message: format!("the request cannot be sent: {cause}") }
    } else if error.is_connect() {
        vendor_error::not_connected(cause)
    } else if summary.count > 0 || error.is_body() || error.is_decode() {
        cut_stream(&format!("connection lost: {cause}"))
    } else {
        vendor_error::no_response(format!("connection lost before the reply: {cause}"))
    };
    let connect_error = if error.is_connect() { io_error_kind(error) } else { None };
    CallFailure { error: model_error, status: None, connect_error }
}

/// The kind of the innermost I/O error.
fn io_error_kind(error: &reqwest::Error) -> Option<ErrorKind> {
    let causes = iter::successors(error.source(), |&cause| cause.source());
    causes.filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind).last()
}

/// The innermost cause, from the system or TLS library. Outer causes repeat the URL.
fn root_cause(error: &reqwest::Error) -> String {
    let mut inner = error.source();
    while let Some(source) = inner.and_then(std::error::Error::source) {
        inner = Some(source);
    }
    match inner {
        Some(cause) => cause.to_string(),
        None if error.is_timeout() => "timed out".to_owned(),
        None => "unknown cause".to_owned(),
    }
}

/// Google's reason for blocking a prompt.
fn block_reason(frame: &Value) -> Option<&str> {
    frame.pointer("/promptFeedback/blockReason").and_then(Value::as_str)
}

fn cut_stream(message: &str) -> ModelError {
    ModelError::CutStream { message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use crh_http::NetworkSettings;
    use expect_test::expect;
    use genai::ModelIden;
    use genai::adapter::AdapterKind;
    use serde_json::json;

    use super::*;

    /// All client errors whose text contains request or response data.
    fn errors_with_secrets() -> Vec<Error> {
        let model_iden = ModelIden::new(AdapterKind::OpenAI, "secret model");
        let serde_error = serde_json::from_str::<bool>("\"secret text\"").unwrap_err();
        let inside = |error: Box<dyn std::error::Error + Send + Sync>| Error::WebStream {
            model_iden: model_iden.clone(),
            cause: "secret cause".to_owned(),
            error,
        };
        let generation = || Error::ChatResponseGeneration {
            model_iden: model_iden.clone(),
            request_payload: Box::new(json!({ "messages": "secret request" })),
            response_body: Box::new(json!("secret answer")),
            cause: "secret cause".to_owned(),
        };
        let body = json!({ "error": { "message": "no", "echo": "secret request" } });
        vec![
            generation(),
            inside(Box::new(generation())),
            inside("secret".into()),
            Error::ChatResponse { model_iden: model_iden.clone(), body },
            Error::StreamParse { model_iden: model_iden.clone(), serde_error },
            Error::Internal("secret thing".to_owned()),
        ]
    }

    #[tokio::test]
    async fn refused_connection_keeps_its_kind() {
        let client = crh_http::build_client(&NetworkSettings::default()).unwrap();
        // Nothing listens on the discard port.
        let error = client.get("http://127.0.0.1:9/").send().await.unwrap_err();
        let failure = from_transport_error(&error, &FrameSummary::default());
        assert_eq!(failure.connect_error, Some(ErrorKind::ConnectionRefused), "{error:?}");
    }

    /// The integration test `errors_do_not_show_request_or_reply` checks the same with a server.
    #[test]
    fn client_error_texts_are_not_shown() {
        let mut lines = String::new();
        for error in errors_with_secrets() {
            assert!(error.to_string().contains("secret"), "{error} shows nothing");
            for count in [0, 1] {
                let mut summary = FrameSummary::default();
                summary.count = count;
                lines +=
                    &format!("{:?}\n", from_client_error(&error, &summary, ReplyStarted::No).error);
            }
        }
        assert!(!lines.contains("secret"), "{lines}");
        expect![[r#"
            BadRequest { message: "the request cannot be converted to the vendor's API" }
            CutStream { message: "an event cannot be parsed" }
            BadRequest { message: "the request cannot be converted to the vendor's API" }
            CutStream { message: "an event cannot be parsed" }
            CutStream { message: "not valid UTF-8" }
            CutStream { message: "not valid UTF-8" }
            CutStream { message: "no" }
            CutStream { message: "no" }
            CutStream { message: "an event is not valid JSON" }
            CutStream { message: "an event is not valid JSON" }
            BadRequest { message: "the request cannot be converted to the vendor's API" }
            CutStream { message: "an event cannot be parsed" }
        "#]]
        .assert_eq(&lines);
    }
}
