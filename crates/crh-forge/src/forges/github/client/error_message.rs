//! Formats GitHub's error replies as one line.

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;

use crate::http::message::single_line;

#[derive(Deserialize)]
struct GitHubErrorBody {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Value,
}

/// The message of an error reply, with its list of errors.
pub(super) fn message(body: &[u8], token: Option<&SecretString>) -> String {
    let Ok(GitHubErrorBody { message, errors }) = serde_json::from_slice(body) else {
        return single_line("no reason given", token);
    };
    let details: Vec<String> = match errors {
        Value::Array(errors) => errors.iter().filter_map(detail).collect(),
        Value::String(error) => vec![error],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let message = if message.is_empty() { "no reason given" } else { &message };
    match details.is_empty() {
        true => single_line(message, token),
        false => single_line(&format!("{message} ({})", details.join("; ")), token),
    }
}

/// One entry of the list: a sentence, or the invalid field and an error code.
fn detail(error: &Value) -> Option<String> {
    if let Some(sentence) = error.as_str() {
        return Some(sentence.to_owned());
    }
    let field = |name: &str| error.get(name).and_then(Value::as_str);
    if let Some(sentence) = field("message") {
        return Some(sentence.to_owned());
    }
    let words: Vec<&str> =
        ["resource", "field", "code"].iter().filter_map(|name| field(name)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::message::MESSAGE_MAX;

    #[test]
    fn error_message_is_one_line_without_token() {
        let token = SecretString::from("ghp_secret");
        for (body, expected) in [
            (r#"{"message":"Not Found.","documentation_url":"x"}"#, "Not Found"),
            (
                r#"{"message":"Validation Failed","errors":[{"resource":"A","field":"line","code":"invalid"},"b",{"message":"c"},7]}"#,
                "Validation Failed (A line invalid; b; c)",
            ),
            (
                r#"{"message":"Unprocessable Entity","errors":"Line could not be resolved"}"#,
                "Unprocessable Entity (Line could not be resolved)",
            ),
            ("{\"message\":\"a\\r\\nb\\u001b[0m ghp_secret\"}", "a b [0m [redacted]"),
            ("<html>", "no reason given"),
            ("{}", "no reason given"),
            ("", "no reason given"),
        ] {
            assert_eq!(message(body.as_bytes(), Some(&token)), expected, "{body}");
        }
        assert_eq!(single_line(&"é".repeat(600), None).chars().count(), MESSAGE_MAX + 1);
    }
}
