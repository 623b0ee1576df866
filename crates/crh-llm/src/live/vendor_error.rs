//! What a vendor says when it does not answer, sorted by what one can do about it. Pure.
//!
//! Statuses alone do not say enough (a full context is a 400 here and a 413 there, a wrong key is a 400 at Google's),
//! so the words that vendors put into `type`, `code` and `status` count first and their sentences last.

use std::time::Duration;

use serde_json::Value;

use crate::{ModelError, Redactor, Spent};

/// The longest message that is kept: room for a vendor's sentence, not for an echo of the request.
const MAX_MESSAGE_CHARS: usize = 300;

/// Words that mean a full context, as codes.
const CONTEXT_CODES: [&str; 3] =
    ["context_length_exceeded", "exceed_context_size_error", "request_too_large"];

/// Sentences that mean a full context, where there is no code: Anthropic, OpenAI and vLLM, llama.cpp, Ollama, Google,
/// vLLM of old, xAI, Bedrock.
const CONTEXT_SENTENCES: [&str; 12] = [
    "prompt is too long",
    "exceed context limit",
    "maximum context length",
    "context window",
    "context size",
    "context length",
    "input token count",
    "maximum model length",
    "maximum prompt length",
    "input is too long",
    "request too large for",
    "reduce the length of the",
];

const CREDIT_CODES: [&str; 5] = [
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
];
const CREDIT_SENTENCES: [&str; 4] = [
    "credit balance is too low",
    "credits are depleted",
    "insufficient balance",
    "insufficient credits",
];

const REFUSED_CODES: [&str; 5] = [
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "invalid_prompt",
    "flagged_input",
];

const REFUSED_SENTENCES: [&str; 1] = ["content filtering policy"];

const KEY_CODES: [&str; 6] = [
    "authentication_error",
    "permission_error",
    "invalid_api_key",
    "api_key_invalid",
    "unauthenticated",
    "permission_denied",
];

const RATE_CODES: [&str; 4] =
    ["rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "too_many_requests"];

const FULL_CODES: [&str; 4] =
    ["overloaded_error", "server_is_overloaded", "slow_down", "unavailable"];

const TROUBLE_CODES: [&str; 6] = [
    "api_error",
    "server_error",
    "internal_server_error",
    "timeout_error",
    "internal",
    "deadline_exceeded",
];

/// The error of an answer with this status. `header` gives a header's value by its name in lower case.
pub(super) fn from_status(
    status: u16,
    header: &dyn Fn(&str) -> Option<String>,
    body: &str,
) -> ModelError {
    if (300..400).contains(&status) {
        let place = header("location").unwrap_or_default();
        return ModelError::BadRequest {
            message: format!(
                "the server answers {status} and points to `{place}`; redirects are not followed, since the key would go along"
            ),
        };
    }
    let said = Said::in_text(body);
    let retry_after = delay_in_headers(header).or_else(|| said.delay());
    let message = match said.message.trim() {
        "" => format!("the server answers {status} without an explanation"),
        said => said.to_owned(),
    };
    match said.kind().or_else(|| kind_of_status(status)) {
        Some(kind) => kind.error(message, retry_after),
        None => ModelError::BadRequest { message },
    }
}

/// The error of an event inside a stream that had begun well. `begun` says whether a part of an answer had come:
/// then even what usually costs nothing may have cost something.
pub(super) fn from_event(body: &Value, begun: Begun) -> ModelError {
    let said = Said::in_value(body);
    let message = match said.message.trim() {
        "" => "the vendor reports an error without an explanation".to_owned(),
        said => said.to_owned(),
    };
    let kind = said.kind().or_else(|| said.status.and_then(kind_of_status));
    match (kind, begun) {
        (None, _) | (Some(Kind::Rate | Kind::Full | Kind::Trouble), Begun::Yes) => {
            ModelError::CutStream { message }
        }
        (Some(kind), _) => kind.error(message, said.delay()),
    }
}

/// Whether a part of an answer had come before the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    Yes,
    No,
}

/// The same error with its message in one short line, in which everything can be seen and nothing secret stands.
/// Secrets are taken out first, so that no cut leaves a piece of one.
pub(super) fn cleaned(error: ModelError, redactor: &Redactor) -> ModelError {
    let clean = |message: String| one_line(&redactor.redact(&message));
    match error {
        ModelError::RateLimited { retry_after, message } => {
            ModelError::RateLimited { retry_after, message: clean(message) }
        }
        ModelError::Overloaded { retry_after, message } => {
            ModelError::Overloaded { retry_after, message: clean(message) }
        }
        ModelError::Broken { message } => ModelError::Broken { message: clean(message) },
        ModelError::ContextFull { message } => ModelError::ContextFull { message: clean(message) },
        ModelError::Refused { message } => ModelError::Refused { message: clean(message) },
        ModelError::BadKey { message } => ModelError::BadKey { message: clean(message) },
        ModelError::NoCredit { message } => ModelError::NoCredit { message: clean(message) },
        ModelError::BadRequest { message } => ModelError::BadRequest { message: clean(message) },
        ModelError::CutStream { message } => ModelError::CutStream { message: clean(message) },
        ModelError::Transport { message, spent } => {
            ModelError::Transport { message: clean(message), spent }
        }
        ModelError::NotRecorded { message } => ModelError::NotRecorded { message: clean(message) },
    }
}

/// A connection that did not come about: nothing was asked.
pub(super) fn unreached(message: String) -> ModelError {
    ModelError::Transport { message, spent: Spent::Nothing }
}

/// A request that may have arrived.
pub(super) fn silent(message: String) -> ModelError {
    ModelError::Transport { message, spent: Spent::Unknown }
}

/// One line of at most 300 characters; what cannot be seen is written out.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    // A bound on what is looked at: ten times what is shown allows for long runs of spaces.
    for word in text.split_whitespace().take(10 * MAX_MESSAGE_CHARS) {
        if !line.is_empty() {
            line.push(' ');
        }
        for character in word.chars().take(MAX_MESSAGE_CHARS + 1) {
            match character {
                hidden if hidden.is_control() || is_invisible(hidden) => {
                    line.extend(hidden.escape_unicode());
                }
                seen => line.push(seen),
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

/// Characters that turn the direction of a line or take no room in it.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// What one can do about an error, before it has its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Context,
    Credit,
    Refused,
    Key,
    Rate,
    Full,
    Trouble,
    GivenUp,
}

impl Kind {
    fn error(self, message: String, retry_after: Option<Duration>) -> ModelError {
        match self {
            Self::Context => ModelError::ContextFull { message },
            Self::Credit => ModelError::NoCredit { message },
            Self::Refused => ModelError::Refused { message },
            Self::Key => ModelError::BadKey { message },
            Self::Rate => ModelError::RateLimited { retry_after, message },
            Self::Full => ModelError::Overloaded { retry_after, message },
            Self::Trouble => ModelError::Broken { message },
            Self::GivenUp => silent(message),
        }
    }
}

fn kind_of_status(status: u16) -> Option<Kind> {
    match status {
        401 | 403 => Some(Kind::Key),
        402 => Some(Kind::Credit),
        413 => Some(Kind::Context),
        429 => Some(Kind::Rate),
        // Not implemented: asking again does not help.
        501 => None,
        // A gateway (524: Cloudflare's) that gave up waiting for a model which may be at work still.
        504 | 524 => Some(Kind::GivenUp),
        503 | 529 => Some(Kind::Full),
        408 | 500.. => Some(Kind::Trouble),
        _ => None,
    }
}

/// What an error's body says, whichever vendor wrote it.
#[derive(Debug, Default)]
struct Said {
    message: String,
    /// What stands in `type`, `code`, `status` and the reasons of the details, in lower case.
    codes: Vec<String>,
    /// A status inside the body, for errors in a stream.
    status: Option<u16>,
    /// Google's `RetryInfo`.
    retry_delay: Option<String>,
}

impl Said {
    fn in_text(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(value) => Self::in_value(&value),
            // A page of HTML explains nothing in one line.
            Err(_) if body.trim_start().starts_with('<') => Self::default(),
            Err(_) => Self { message: body.to_owned(), ..Self::default() },
        }
    }

    fn in_value(body: &Value) -> Self {
        // Google wraps the error of a stream in a list; the Responses API puts it into the response.
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
        let mut said = Self {
            message: message.unwrap_or_default().to_owned(),
            status: inner
                .get("code")
                .and_then(Value::as_u64)
                .and_then(|code| u16::try_from(code).ok()),
            ..Self::default()
        };
        let named = ["type", "code", "status"].iter().filter_map(|name| inner.get(name));
        let reasons = details.clone().filter_map(|detail| detail.get("reason"));
        let innermost = inner.pointer("/innererror/code");
        said.codes = named
            .chain(reasons)
            .chain(innermost)
            .filter_map(Value::as_str)
            .map(str::to_ascii_lowercase)
            .collect();
        if inner.pointer("/metadata/flagged_input").is_some() {
            said.codes.push("flagged_input".to_owned());
        }
        said.retry_delay = details
            .filter_map(|detail| detail.get("retryDelay")?.as_str())
            .map(str::to_owned)
            .next();
        said
    }

    fn kind(&self) -> Option<Kind> {
        let sentence = self.message.to_lowercase();
        let coded = |codes: &[&str]| codes.iter().any(|code| self.codes.iter().any(|c| c == code));
        let says = |parts: &[&str]| parts.iter().any(|part| sentence.contains(part));
        if coded(&CONTEXT_CODES) || says(&CONTEXT_SENTENCES) {
            Some(Kind::Context)
        } else if coded(&CREDIT_CODES) || says(&CREDIT_SENTENCES) {
            Some(Kind::Credit)
        } else if coded(&REFUSED_CODES) || says(&REFUSED_SENTENCES) {
            Some(Kind::Refused)
        } else if coded(&KEY_CODES) {
            Some(Kind::Key)
        } else if coded(&RATE_CODES) {
            Some(Kind::Rate)
        } else if coded(&FULL_CODES) {
            Some(Kind::Full)
        } else if coded(&TROUBLE_CODES) {
            Some(Kind::Trouble)
        } else {
            None
        }
    }

    /// How long the body asks us to wait.
    fn delay(&self) -> Option<Duration> {
        if let Some(delay) = self.retry_delay.as_deref().and_then(span) {
            return Some(delay);
        }
        let sentence = self.message.to_lowercase();
        let rest = ["try again in ", "retry in "]
            .iter()
            .find_map(|words| Some(sentence.split_once(words)?.1))?;
        let text: String =
            rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '.').collect();
        span(text.trim_end_matches('.'))
    }
}

/// How long the headers ask us to wait.
fn delay_in_headers(header: &dyn Fn(&str) -> Option<String>) -> Option<Duration> {
    let number = |name: &str| header(name)?.trim().parse::<f64>().ok();
    if let Some(milliseconds) = number("retry-after-ms") {
        return seconds(milliseconds / 1000.0);
    }
    if let Some(whole) = number("retry-after") {
        return seconds(whole);
    }
    if let Some(delay) = delay_until_date(header) {
        return Some(delay);
    }
    // OpenAI says for requests and tokens apart what is left and when it is full again: what has run out counts.
    let resets = ["requests", "tokens"].iter().filter_map(|what| {
        let left = header(&format!("x-ratelimit-remaining-{what}"))?;
        let reset = header(&format!("x-ratelimit-reset-{what}"))?;
        (left.trim() == "0").then(|| span(reset.trim())).flatten()
    });
    resets.max()
}

/// How long it is to a date in `Retry-After` from the date of the answer: both are the server's, so no clock is needed.
/// A date that has passed is no wait.
fn delay_until_date(header: &dyn Fn(&str) -> Option<String>) -> Option<Duration> {
    let date = |name: &str| httpdate::parse_http_date(header(name)?.trim()).ok();
    Some(date("retry-after")?.duration_since(date("date")?).unwrap_or_default())
}

/// A span of time as vendors write it: `7.2s`, `20ms`, `6m0s`, `1h2m3.5s`.
fn span(text: &str) -> Option<Duration> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let unit = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let in_seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * in_seconds;
        rest = after;
    }
    (!text.is_empty()).then(|| seconds(total)).flatten()
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
#[path = "vendor_error/tests.rs"]
mod tests;
