//! Adds the address of a request to errors that a wrong address may explain, and recognises a
//! missing key and a server that is not running. No I/O.

use std::io::ErrorKind;

use super::client_error::CallFailure;
use super::{network, vendor_error};
use crate::{Endpoint, FailureCost, ModelError, Redactor, Wire};

/// Address of an endpoint's requests, safe to show.
#[derive(Debug, Clone)]
pub(super) struct RequestAddress {
    /// URL of the request without its query, redacted.
    address: String,
    /// API version path, if it may be missing from the base URL.
    missing_path: Option<&'static str>,
    key: KeySent,
    /// Whether the server is on this machine.
    is_local: bool,
    /// Whether the server has an address of a private network.
    is_private: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeySent {
    Yes,
    No,
}

impl RequestAddress {
    pub(super) fn from_endpoint(endpoint: &Endpoint, redactor: &Redactor) -> Self {
        let Endpoint { wire, url, key, model } = endpoint;
        let address = network::call_url(*wire, url, model);
        let path = address.split('?').next().unwrap_or(&address);
        let address = redactor.redact(path).into_owned();
        let version_path = match wire {
            Wire::OpenAiChat | Wire::OpenAiResponses | Wire::Anthropic => "/v1",
            Wire::Gemini => "/v1beta",
        };
        Self {
            address: vendor_error::one_line(&address),
            missing_path: url.is_origin().then_some(version_path),
            key: if key.is_some() { KeySent::Yes } else { KeySent::No },
            is_local: url.is_loopback(),
            is_private: url.is_private(),
        }
    }

    /// The same address, for requests whose key is in a header that the user configured.
    pub(super) fn with_key(self) -> Self {
        Self { key: KeySent::Yes, ..self }
    }

    /// Adds the address to an error, or replaces the error by `NoServer` or `NoKey`. Other errors
    /// stay.
    pub(super) fn explain(&self, failure: CallFailure) -> ModelError {
        let CallFailure { error, status, connect_error } = failure;
        let is_refused = connect_error == Some(ErrorKind::ConnectionRefused);
        let suffix = format!(" (`{}`)", self.address);
        let version_hint =
            self.missing_path.map(|version_path| format!("; is `{version_path}` missing?"));
        match (error, status) {
            // A local server that accepts no connection is not running. In a private network, other
            // failures than a refused connection may pass.
            (ModelError::Transport { message, spent: FailureCost::Nothing }, _)
                if self.is_local || (self.is_private && is_refused) =>
            {
                ModelError::NoServer { message: message + &suffix }
            }
            (ModelError::Transport { message, spent }, _) => {
                ModelError::Transport { message: message + &suffix, spent }
            }
            (ModelError::Stalled { message }, _) if self.is_local => {
                ModelError::Stalled { message: message + &suffix }
            }
            (ModelError::Stalled { message }, _) => vendor_error::no_response(message + &suffix),
            (ModelError::BadKey { message }, _) if self.key == KeySent::No => {
                ModelError::NoKey { message }
            }
            // The address is right if the server knows which model is missing.
            (error @ ModelError::BadRequest { .. }, Some(404 | 405))
                if is_missing_model(&error) =>
            {
                error
            }
            (ModelError::BadRequest { message }, Some(404 | 405)) => {
                let message = message + &suffix + &version_hint.unwrap_or_default();
                ModelError::BadRequest { message }
            }
            (ModelError::BadRequest { message }, Some(300..400)) => {
                ModelError::BadRequest { message: message + &suffix }
            }
            (error, _) => error,
        }
    }
}

/// Whether the server names a model that it does not have.
fn is_missing_model(error: &ModelError) -> bool {
    let message = error.to_string().to_lowercase();
    message.contains("model")
        && ["not found", "does not exist", "try pulling"]
            .iter()
            .any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(url: &str, key: Option<&str>, expected: Expect) {
        let mut lines = String::new();
        for wire in [Wire::Anthropic, Wire::Gemini] {
            let (url, model) = (url.parse().unwrap(), "some-model".to_owned());
            let endpoint = Endpoint { wire, url, key: key.map(Into::into), model };
            let address = RequestAddress::from_endpoint(&endpoint, &Redactor::new(&endpoint.key));
            let message = || "no".to_owned();
            for (error, status) in [
                (ModelError::Transport { message: message(), spent: FailureCost::Nothing }, None),
                (ModelError::BadKey { message: message() }, Some(401)),
                (ModelError::BadRequest { message: message() }, Some(405)),
                (ModelError::BadRequest { message: message() }, Some(307)),
                (ModelError::BadRequest { message: message() }, Some(400)),
                (ModelError::CutStream { message: message() }, None),
            ] {
                let failure = CallFailure { error, status, connect_error: None };
                lines += &format!("{}\n", address.explain(failure));
            }
        }
        expected.assert_eq(&lines);
    }

    #[test]
    fn address_is_shown_if_it_may_be_the_cause() {
        check(
            "http://127.0.0.1:18480",
            None,
            expect![[r#"
            cannot connect to the model server: no (`http://127.0.0.1:18480/messages`)
            the server requires an API key, and crh sent none: no
            the model rejected the request: no (`http://127.0.0.1:18480/messages`); is `/v1` missing?
            the model rejected the request: no (`http://127.0.0.1:18480/messages`)
            the model rejected the request: no
            incomplete reply: no
            cannot connect to the model server: no (`http://127.0.0.1:18480/models/some-model:streamGenerateContent`)
            the server requires an API key, and crh sent none: no
            the model rejected the request: no (`http://127.0.0.1:18480/models/some-model:streamGenerateContent`); is `/v1beta` missing?
            the model rejected the request: no (`http://127.0.0.1:18480/models/some-model:streamGenerateContent`)
            the model rejected the request: no
            incomplete reply: no
        "#]],
        );
    }

    #[test]
    fn refused_connection_in_a_private_network_means_no_server() {
        for (url, is_private) in [
            ("http://192.168.1.7:11434/v1", true),
            ("http://[fd00::7]:11434/v1", true),
            ("http://203.0.113.7/v1", false),
            ("https://gateway.example/v1", false),
        ] {
            let (url, model) = (url.parse().unwrap(), "m".to_owned());
            let endpoint = Endpoint { wire: Wire::OpenAiChat, url, key: None, model };
            let address = RequestAddress::from_endpoint(&endpoint, &Redactor::default());
            let is_stopped = |kind: ErrorKind| {
                // Some systems translate the message.
                let error = vendor_error::not_connected("Verbindungsaufbau abgelehnt".to_owned());
                let connect_error = Some(kind);
                let error = address.explain(CallFailure { error, status: None, connect_error });
                matches!(error, ModelError::NoServer { .. })
            };
            assert_eq!(is_stopped(ErrorKind::ConnectionRefused), is_private, "{endpoint:?}");
            assert!(!is_stopped(ErrorKind::TimedOut), "{endpoint:?}");
        }
    }

    #[test]
    fn key_in_path_is_redacted() {
        let key = "q9Zk2Lw7mPx4vTb8nRc1sYd6";
        check(
            &format!("https://a.example/{key}/v1"),
            Some(key),
            expect![[r#"
            cannot reach the model server: no (`https://a.example/[redacted]/v1/messages`)
            the API key was rejected: no
            the model rejected the request: no (`https://a.example/[redacted]/v1/messages`)
            the model rejected the request: no (`https://a.example/[redacted]/v1/messages`)
            the model rejected the request: no
            incomplete reply: no
            cannot reach the model server: no (`https://a.example/[redacted]/v1/models/some-model:streamGenerateContent`)
            the API key was rejected: no
            the model rejected the request: no (`https://a.example/[redacted]/v1/models/some-model:streamGenerateContent`)
            the model rejected the request: no (`https://a.example/[redacted]/v1/models/some-model:streamGenerateContent`)
            the model rejected the request: no
            incomplete reply: no
        "#]],
        );
    }
}
