//! Errors of the client library, read by their kind and never printed: their words hold whole requests.

use std::error::Error as _;

use genai::Error;
use serde_json::Value;

use super::errors;
use super::errors::Begun;
use super::frames::Seen;
use crate::ModelError;

/// A call without an answer.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: ModelError,
    /// The status of the answer, if it was one that tells an error.
    pub(super) status: Option<u16>,
}

impl From<ModelError> for Failed {
    fn from(error: ModelError) -> Self {
        Self { error, status: None }
    }
}

/// Our error for the client's. The last frame tells what the client left out.
pub(super) fn of(error: &Error, seen: &Seen, begun: Begun) -> Failed {
    match error {
        // In a stream an answer's status is not in the error but in the error inside it.
        Error::WebStream { error, .. } => match error.downcast_ref::<Error>() {
            Some(inner) => of(inner, seen, begun),
            None => match error.downcast_ref::<reqwest::Error>() {
                Some(error) => of_transport(error, seen).into(),
                // What is left is text that is no UTF-8.
                None => cut("it is no text").into(),
            },
        },
        Error::HttpError { status, body, headers, .. } => {
            let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
            let status = status.as_u16();
            Failed { error: errors::from_status(status, &header, body), status: Some(status) }
        }
        _ => of_stream(error, seen, begun).into(),
    }
}

/// The error of a stream that had no status of its own.
fn of_stream(error: &Error, seen: &Seen, begun: Begun) -> ModelError {
    match error {
        Error::WebModelCall { webc_error: genai::webc::Error::Reqwest(error), .. } => {
            of_transport(error, seen)
        }
        Error::ChatResponse { body, .. } => match blocked(&seen.last) {
            Some(word) => {
                ModelError::Refused { message: format!("the vendor's filter stopped it: `{word}`") }
            }
            None => errors::from_event(body, begun),
        },
        // OpenAI's failed response comes as an error of reading, with its code left out.
        Error::StreamParse { .. } => match seen.last.pointer("/response/error") {
            Some(error) if error.is_object() => errors::from_event(error, begun),
            Some(_) | None => cut("a piece of it is no JSON"),
        },
        _ if seen.count == 0 => ModelError::BadRequest {
            message: "the request cannot be written in the vendor's terms".to_owned(),
        },
        _ => cut("a piece of it cannot be understood"),
    }
}

/// Whether an error is only about a piece of an answer that came into being after the client: an unknown kind of
/// delta in a block of Anthropic's.
pub(super) fn is_unknown_piece(error: &Error, seen: &Seen) -> bool {
    const KNOWN: [&str; 4] =
        ["text_delta", "input_json_delta", "thinking_delta", "signature_delta"];
    let kind = seen.last.pointer("/delta/type").and_then(Value::as_str);
    matches!(error, Error::JsonValueExt(_)) && kind.is_some_and(|kind| !KNOWN.contains(&kind))
}

fn of_transport(error: &reqwest::Error, seen: &Seen) -> ModelError {
    let cause = cause(error);
    if error.is_builder() {
        ModelError::BadRequest { message: format!("the request cannot be sent: {cause}") }
    } else if error.is_connect() {
        errors::unreached(format!("no connection: {cause}"))
    } else if seen.count > 0 || error.is_body() || error.is_decode() {
        cut(&format!("the connection broke: {cause}"))
    } else {
        errors::silent(format!("the connection broke before an answer: {cause}"))
    }
}

/// The innermost cause: what the system or the TLS library says. The outer ones repeat the address.
fn cause(error: &reqwest::Error) -> String {
    let mut inner = error.source();
    while let Some(next) = inner.and_then(std::error::Error::source) {
        inner = Some(next);
    }
    match inner {
        Some(cause) => cause.to_string(),
        None if error.is_timeout() => "it took too long".to_owned(),
        None => "no reason is known".to_owned(),
    }
}

/// Google's word for a prompt that it does not answer.
fn blocked(frame: &Value) -> Option<&str> {
    frame.pointer("/promptFeedback/blockReason").and_then(Value::as_str)
}

fn cut(message: &str) -> ModelError {
    ModelError::CutStream { message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use genai::ModelIden;
    use genai::adapter::AdapterKind;
    use serde_json::json;

    use super::*;

    /// Every error of the client that has something of ours or of the vendor's in its words.
    fn talkative() -> Vec<Error> {
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

    /// The fifth trap of the client, without a socket.
    #[test]
    fn no_word_of_the_client_is_repeated() {
        let mut lines = String::new();
        for error in talkative() {
            assert!(error.to_string().contains("secret"), "{error} shows nothing");
            for count in [0, 1] {
                let mut seen = Seen::default();
                seen.count = count;
                lines += &format!("{:?}\n", of(&error, &seen, Begun::No).error);
            }
        }
        assert!(!lines.contains("secret"), "{lines}");
        expect![[r#"
            BadRequest { message: "the request cannot be written in the vendor's terms" }
            CutStream { message: "a piece of it cannot be understood" }
            BadRequest { message: "the request cannot be written in the vendor's terms" }
            CutStream { message: "a piece of it cannot be understood" }
            CutStream { message: "it is no text" }
            CutStream { message: "it is no text" }
            CutStream { message: "no" }
            CutStream { message: "no" }
            CutStream { message: "a piece of it is no JSON" }
            CutStream { message: "a piece of it is no JSON" }
            BadRequest { message: "the request cannot be written in the vendor's terms" }
            CutStream { message: "a piece of it cannot be understood" }
        "#]]
        .assert_eq(&lines);
    }
}
