//! Error responses of vendors. The sentences are written for this fake; codes, types and the words
//! that clients match on are the vendors'.

use serde_json::{Value, json};

use super::{ReplyContext, gemini};
use crate::fake_model::request::Wire;
use crate::fake_model::script::Failure;

/// A failure as HTTP status and body.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::fake_model) struct FailureResponse {
    pub(in crate::fake_model) status: u16,
    pub(in crate::fake_model) headers: Vec<(&'static str, String)>,
    pub(in crate::fake_model) body: Value,
}

/// The failure in a wire format.
pub(in crate::fake_model) fn failure_response(
    failure: &Failure,
    context: &ReplyContext<'_>,
) -> FailureResponse {
    if let Failure::Other { status, body } = failure {
        return FailureResponse { status: *status, headers: Vec::new(), body: body.clone() };
    }
    let (status, body) = match context.wire {
        Wire::Chat | Wire::Responses => openai(failure, context),
        Wire::Messages => anthropic(failure, context),
        Wire::Gemini => google(failure, context),
    };
    let headers = match (failure, context.wire) {
        (Failure::RateLimited { seconds }, Wire::Chat | Wire::Responses | Wire::Messages) => {
            vec![("retry-after", seconds.to_string())]
        }
        _ => Vec::new(),
    };
    FailureResponse { status, headers, body }
}

fn openai(failure: &Failure, context: &ReplyContext<'_>) -> (u16, Value) {
    let (status, kind, code, message) = match failure {
        Failure::RateLimited { seconds } => (
            429,
            "tokens",
            Some("rate_limit_exceeded"),
            format!("Rate limit reached for {}. Please try again in {seconds}s.", context.model),
        ),
        Failure::Overloaded => {
            (503, "server_error", Some("server_is_overloaded"), "The engine is overloaded.".into())
        }
        Failure::ContextFull => (
            400,
            "invalid_request_error",
            Some("context_length_exceeded"),
            "This model's maximum context length is 1000 tokens; your messages are longer.".into(),
        ),
        Failure::Refused => (
            400,
            "invalid_request_error",
            Some("invalid_prompt"),
            "Invalid prompt: it was flagged by the usage policy.".into(),
        ),
        Failure::BadKey => (
            401,
            "invalid_request_error",
            Some("invalid_api_key"),
            format!("Incorrect API key provided: {}.", context.key),
        ),
        Failure::NoCredit => (
            429,
            "insufficient_quota",
            Some("insufficient_quota"),
            "You exceeded your current quota, please check your plan and billing details.".into(),
        ),
        Failure::BadRequest(message) => (400, "invalid_request_error", None, message.clone()),
        Failure::ServerError => (500, "server_error", None, "The server had an error.".into()),
        Failure::Other { status, body } => return (*status, body.clone()),
    };
    let error = json!({ "message": message, "type": kind, "param": null, "code": code });
    (status, json!({ "error": error }))
}

fn anthropic(failure: &Failure, context: &ReplyContext<'_>) -> (u16, Value) {
    let (status, kind, message) = match failure {
        Failure::RateLimited { .. } => {
            (429, "rate_limit_error", "This request would exceed your rate limit.".into())
        }
        Failure::Overloaded => (529, "overloaded_error", "Overloaded".into()),
        Failure::ContextFull => {
            (400, "invalid_request_error", "prompt is too long: 1001 tokens > 1000 maximum".into())
        }
        Failure::Refused => {
            (400, "invalid_request_error", "Output blocked by content filtering policy".into())
        }
        Failure::BadKey => {
            (401, "authentication_error", format!("invalid x-api-key: {}", context.key))
        }
        Failure::NoCredit => (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the API.".into(),
        ),
        Failure::BadRequest(message) => (400, "invalid_request_error", message.clone()),
        Failure::ServerError => (500, "api_error", "Internal server error".into()),
        Failure::Other { status, body } => return (*status, body.clone()),
    };
    let error = json!({ "type": kind, "message": message });
    let id = format!("req_{}", context.number);
    (status, json!({ "type": "error", "error": error, "request_id": id }))
}

fn google(failure: &Failure, context: &ReplyContext<'_>) -> (u16, Value) {
    let mut details = json!([]);
    let (status, kind, message) = match failure {
        Failure::RateLimited { seconds } => {
            details = json!([{
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{seconds}s"),
            }]);
            (429, "RESOURCE_EXHAUSTED", format!("Quota exceeded. Please retry in {seconds}s."))
        }
        Failure::Overloaded => (503, "UNAVAILABLE", "The model is overloaded.".into()),
        Failure::ContextFull => (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1001) exceeds the maximum number of tokens allowed (1000)."
                .into(),
        ),
        Failure::Refused => return (200, gemini::blocked()),
        Failure::BadKey => {
            details = json!([{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
            }]);
            (400, "INVALID_ARGUMENT", format!("API key not valid: {}", context.key))
        }
        Failure::NoCredit => (
            429,
            "RESOURCE_EXHAUSTED",
            "Your prepayment credits are depleted. Please manage your project and billing.".into(),
        ),
        Failure::BadRequest(message) => (400, "INVALID_ARGUMENT", message.clone()),
        Failure::ServerError => (500, "INTERNAL", "An internal error has occurred.".into()),
        Failure::Other { status, body } => return (*status, body.clone()),
    };
    let error = json!({ "code": status, "message": message, "status": kind, "details": details });
    (status, json!({ "error": error }))
}
