//! Classifies error responses of vendors. No I/O.
//!
//! HTTP statuses are ambiguous: a full context is a 400 or a 413, and Google answers 400 for a
//! wrong key. Therefore the body comes first: its codes (`type`, `code`, `status`) and its message
//! text, kind by kind in the order of `ERROR_KINDS`. The HTTP status decides if no kind matches, or
//! if a 4xx response claims a server error. Redirects are recognised by their status alone.

use std::time::Duration;

use serde_json::Value;

use crate::{FailureCost, ModelError, Redactor};

/// Maximum length of a message: enough for a sentence, too short for an echo of the request.
const MAX_MESSAGE_CHARS: usize = 300;

/// Codes and parts of messages of one kind of error, and its constructor.
type ErrorKind = (&'static [&'static str], &'static [&'static str], ErrorConstructor);

type ErrorConstructor = fn(String, Option<Duration>) -> ModelError;

/// Kinds of errors. The first kind that matches wins. The message texts for a full context come
/// from Anthropic, OpenAI, vLLM, llama.cpp, Ollama, Google, xAI and Bedrock.
#[rustfmt::skip]
const ERROR_KINDS: [ErrorKind; 8] = [
    (
        &["context_length_exceeded", "exceed_context_size_error", "request_too_large"],
        &[
            "prompt is too long", "exceed context limit", "maximum context length", "context window", "context size",
            "context length", "input token count", "maximum model length", "maximum prompt length", "input is too long",
            "request too large for", "reduce the length of the",
        ],
        |message, _| ModelError::ContextFull { message },
    ),
    (
        &["insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"],
        &["credit balance is too low", "credits are depleted", "insufficient balance", "insufficient credits"],
        |message, _| ModelError::NoCredit { message },
    ),
    (
        &["content_filter", "content_policy_violation", "responsibleaipolicyviolation", "invalid_prompt", "flagged_input"],
        &["content filtering policy"],
        |message, _| ModelError::Refused { message },
    ),
    (
        &[
            "authentication_error", "permission_error", "invalid_api_key", "api_key_invalid", "unauthenticated",
            "permission_denied",
        ],
        &[],
        |message, _| ModelError::BadKey { message },
    ),
    (
        &["rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "too_many_requests"],
        &[],
        |message, retry_after| ModelError::RateLimited { retry_after, message },
    ),
    (
        &["overloaded_error", "server_is_overloaded", "slow_down", "unavailable"],
        &[],
        |message, retry_after| ModelError::Overloaded { retry_after, message },
    ),
    // Ollama and llama.cpp report these as server errors, but a retry does not help.
    (
        &[],
        &["requires more system memory", "requires --jinja flag"],
        |message, _| ModelError::BadRequest { message },
    ),
    (
        &["api_error", "server_error", "internal_server_error", "timeout_error", "internal", "deadline_exceeded"],
        &[],
        |message, _| ModelError::Broken { message },
    ),
];

/// Error for an HTTP status. `header` returns a header value by its lower-case name.
pub(super) fn from_status(
    status: u16,
    header: &dyn Fn(&str) -> Option<String>,
    body: &str,
) -> ModelError {
    if (300..400).contains(&status) {
        let target = header("location").unwrap_or_default();
        return ModelError::BadRequest {
            message: format!(
                "the server redirects to `{target}` ({status}); crh follows no redirects, to protect the API key"
            ),
        };
    }
    let error_body = ErrorBody::from_text(body);
    let retry_after = delay_in_headers(header).or_else(|| error_body.delay());
    let message = match error_body.message.trim() {
        "" => format!("HTTP status {status} without a message"),
        text => text.to_owned(),
    };
    // llama.cpp answers like this while it loads a model. `VendorClient` sets how long crh has
    // waited.
    if status == 503 && message.to_lowercase().starts_with("loading model") {
        return ModelError::Loading { message, waited: Duration::ZERO };
    }
    // Ollama calls every error an `api_error`. The status tells that the request is at fault.
    let is_client_error = (400..500).contains(&status) && status != 408;
    let error = error_body.error(&message, retry_after);
    let error =
        error.filter(|error| !(is_client_error && matches!(error, ModelError::Broken { .. })));
    error.unwrap_or_else(|| {
        error_for_status(status, &message, retry_after)
            .unwrap_or(ModelError::BadRequest { message })
    })
}

/// Error for an event within a stream. An error of an unknown kind is `CutStream`. So are rate
/// limits, overloads and server errors after the reply has started, because then the request may
/// have cost money.
pub(super) fn from_event(body: &Value, started: ReplyStarted) -> ModelError {
    let error_body = ErrorBody::from_json(body);
    let message = match error_body.message.trim() {
        "" => "error without a message".to_owned(),
        text => text.to_owned(),
    };
    let delay = error_body.delay();
    let error = error_body
        .error(&message, delay)
        .or_else(|| error_body.status.and_then(|status| error_for_status(status, &message, delay)));
    match (error, started) {
        (
            None
            | Some(
                ModelError::RateLimited { .. }
                | ModelError::Overloaded { .. }
                | ModelError::Broken { .. },
            ),
            ReplyStarted::Yes,
        )
        | (None, ReplyStarted::No) => ModelError::CutStream { message },
        (Some(error), _) => error,
    }
}

/// Whether a part of the reply arrived before the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyStarted {
    Yes,
    No,
}

/// Reduces the message to one short, printable line without secrets. Redacts first, so that
/// shortening leaves no fragment of a secret.
pub(super) fn clean_error(mut error: ModelError, redactor: &Redactor) -> ModelError {
    if let Some(message) = error.message_mut() {
        *message = one_line(&redactor.redact(message));
    }
    error
}

/// Error if there was no connection, so the request was not sent.
pub(super) fn not_connected(message: String) -> ModelError {
    ModelError::Transport { message, spent: FailureCost::Nothing }
}

/// Error if no response came. The request may have arrived and cost money.
pub(super) fn no_response(message: String) -> ModelError {
    ModelError::Transport { message, spent: FailureCost::Unknown }
}

/// One line of at most 300 characters, with control and invisible characters escaped.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    // Limit the work on long texts. Ten times the output is far more than one line needs.
    for word in text.split_whitespace().take(10 * MAX_MESSAGE_CHARS) {
        if !line.is_empty() {
            line.push(' ');
        }
        for character in word.chars().take(MAX_MESSAGE_CHARS + 1) {
            match character {
                character if character.is_control() || is_invisible(character) => {
                    line.extend(character.escape_unicode());
                }
                character => line.push(character),
            }
        }
    }
    match line.char_indices().nth(MAX_MESSAGE_CHARS - 1) {
        Some((end, last)) if end + last.len_utf8() < line.len() => {
            line.truncate(end);
            line.push('…');
            line
        }
        Some(_) | None => line,
    }
}

/// Bidirectional and zero-width characters.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn error_for_status(
    status: u16,
    message: &str,
    retry_after: Option<Duration>,
) -> Option<ModelError> {
    let message = message.to_owned();
    match status {
        401 | 403 => Some(ModelError::BadKey { message }),
        402 => Some(ModelError::NoCredit { message }),
        413 => Some(ModelError::ContextFull { message }),
        429 => Some(ModelError::RateLimited { retry_after, message }),
        // 501: the server does not implement the request, so a retry does not help.
        501 => None,
        // 504, and 524 of Cloudflare: the gateway timed out, but the model may still be working.
        504 | 524 => Some(no_response(message)),
        503 | 529 => Some(ModelError::Overloaded { retry_after, message }),
        408 | 500.. => Some(ModelError::Broken { message }),
        _ => None,
    }
}

/// Content of an error response, in a vendor-neutral form.
#[derive(Debug, Default)]
struct ErrorBody {
    message: String,
    /// Lower-case values of `type`, `code`, `status`, the detail reasons and the inner error's
    /// code.
    codes: Vec<String>,
    /// HTTP status in the field `code`, for errors in a stream.
    status: Option<u16>,
    /// Google's `RetryInfo`.
    retry_delay: Option<String>,
}

impl ErrorBody {
    fn from_text(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::from_json(&value),
            // Ignore HTML pages.
            Err(_) if body.trim_start().starts_with('<') => Self::default(),
            Err(_) => Self { message: body.to_owned(), ..Self::default() },
        }
    }

    fn from_json(body: &Value) -> Self {
        // Google wraps a stream error in a list; the Responses API nests it in the response.
        let body = body.get(0).unwrap_or(body);
        let body = body.get("response").unwrap_or(body);
        let inner = match body.get("error") {
            Some(Value::String(message)) => {
                return Self { message: message.clone(), ..Self::default() };
            }
            Some(error @ Value::Object(_)) => error,
            Some(_) | None => body,
        };
        let message = ["message", "detail"].iter().find_map(|name| inner.get(name)?.as_str());
        let details = inner.get("details").and_then(Value::as_array).into_iter().flatten();
        let mut error_body = Self {
            message: message.unwrap_or_default().to_owned(),
            status: inner
                .get("code")
                .and_then(Value::as_u64)
                .and_then(|code| u16::try_from(code).ok()),
            ..Self::default()
        };
        let code_fields = ["type", "code", "status"].iter().filter_map(|name| inner.get(name));
        let reasons = details.clone().filter_map(|detail| detail.get("reason"));
        let inner_code = inner.pointer("/innererror/code");
        error_body.codes = code_fields
            .chain(reasons)
            .chain(inner_code)
            .filter_map(Value::as_str)
            .map(str::to_ascii_lowercase)
            .collect();
        if inner.pointer("/metadata/flagged_input").is_some() {
            error_body.codes.push("flagged_input".to_owned());
        }
        error_body.retry_delay = details
            .filter_map(|detail| detail.get("retryDelay")?.as_str())
            .map(str::to_owned)
            .next();
        error_body
    }

    /// The error by the codes and the message of the body; `None` if no kind matches.
    fn error(&self, message: &str, retry_after: Option<Duration>) -> Option<ModelError> {
        let text = self.message.to_lowercase();
        let is_kind = |(codes, sentences, _): &&ErrorKind| {
            self.codes.iter().any(|code| codes.contains(&code.as_str()))
                || sentences.iter().any(|sentence| text.contains(sentence))
        };
        let (_, _, new_error) = ERROR_KINDS.iter().find(is_kind)?;
        Some(new_error(message.to_owned(), retry_after))
    }

    /// Delay requested in the body.
    fn delay(&self) -> Option<Duration> {
        if let Some(delay) = self.retry_delay.as_deref().and_then(parse_duration) {
            return Some(delay);
        }
        let message = self.message.to_lowercase();
        let rest = ["try again in ", "retry in "]
            .iter()
            .find_map(|phrase| Some(message.split_once(phrase)?.1))?;
        let text: String =
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '.').collect();
        parse_duration(text.trim_end_matches('.'))
    }
}

/// Delay requested in the headers.
fn delay_in_headers(header: &dyn Fn(&str) -> Option<String>) -> Option<Duration> {
    let number = |name: &str| header(name)?.trim().parse::<f64>().ok();
    if let Some(milliseconds) = number("retry-after-ms") {
        return seconds(milliseconds / 1000.0);
    }
    if let Some(delay) = number("retry-after") {
        return seconds(delay);
    }
    if let Some(delay) = delay_until_date(header) {
        return Some(delay);
    }
    // OpenAI reports remaining requests and tokens separately. Use the longest delay of those that
    // ran out.
    let resets = ["requests", "tokens"].iter().filter_map(|resource| {
        let remaining = header(&format!("x-ratelimit-remaining-{resource}"))?;
        let reset = header(&format!("x-ratelimit-reset-{resource}"))?;
        (remaining.trim() == "0").then(|| parse_duration(reset.trim())).flatten()
    });
    resets.max()
}

/// Delay until a `Retry-After` date, relative to the response's `Date` header, so no local clock is
/// needed. A past date means no delay.
fn delay_until_date(header: &dyn Fn(&str) -> Option<String>) -> Option<Duration> {
    let date = |name: &str| httpdate::parse_http_date(header(name)?.trim()).ok();
    Some(date("retry-after")?.duration_since(date("date")?).unwrap_or_default())
}

/// Parses a duration as vendors write it: `7.2s`, `20ms`, `6m0s`, `1h2m3.5s`.
fn parse_duration(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(number_end);
        let unit = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        let unit_seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * unit_seconds;
        rest = tail;
    }
    (!text.is_empty()).then(|| seconds(total)).flatten()
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests;
