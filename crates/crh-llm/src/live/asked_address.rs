//! Where was asked, for errors that a wrong address or a missing key explains. Pure.

use super::{errors, network};
use crate::{Endpoint, ModelError, Redactor, Wire};

/// The address of the calls to an endpoint, fit to be shown.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Without its query, and without what looks like a key in its path.
    address: String,
    /// The version that is missing if the base address has no path.
    missing: Option<&'static str>,
    key: KeySent,
}

/// Whether a key goes along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeySent {
    Yes,
    No,
}

impl Place {
    pub(super) fn of(endpoint: &Endpoint, redactor: &Redactor) -> Self {
        let Endpoint { wire, url, key, model } = endpoint;
        let address = network::address(*wire, url, model);
        let path = address.split('?').next().unwrap_or(&address);
        let address = redactor.redact(path).into_owned();
        let version = match wire {
            Wire::OpenAiChat | Wire::OpenAiResponses | Wire::Anthropic => "/v1",
            Wire::Gemini => "/v1beta",
        };
        Self {
            address: errors::one_line(&address),
            missing: url.is_origin().then_some(version),
            key: if key.is_some() { KeySent::Yes } else { KeySent::No },
        }
    }

    /// The same error, with what the place has to do with it.
    pub(super) fn noted(&self, error: ModelError, status: Option<u16>) -> ModelError {
        let asked = format!("; `{}` was asked", self.address);
        let missing = self.missing.map(|version| format!(": is `{version}` missing?"));
        match (error, status) {
            (ModelError::Transport { message, spent }, _) => {
                ModelError::Transport { message: message + &asked, spent }
            }
            (ModelError::BadKey { message }, _) if self.key == KeySent::No => {
                ModelError::BadKey { message: message + "; no key was sent" }
            }
            (ModelError::BadRequest { message }, Some(404 | 405)) => {
                let message = message + &asked + &missing.unwrap_or_default();
                ModelError::BadRequest { message }
            }
            (ModelError::BadRequest { message }, Some(300..400)) => {
                ModelError::BadRequest { message: message + &asked }
            }
            (error, _) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::Spent;

    fn check(url: &str, key: Option<&str>, expected: Expect) {
        let mut lines = String::new();
        for wire in [Wire::Anthropic, Wire::Gemini] {
            let (url, model) = (url.parse().unwrap(), "some-model".to_owned());
            let endpoint = Endpoint { wire, url, key: key.map(Into::into), model };
            let place = Place::of(&endpoint, &Redactor::new(&endpoint.key));
            let message = || "no".to_owned();
            for (error, status) in [
                (ModelError::Transport { message: message(), spent: Spent::Nothing }, None),
                (ModelError::BadKey { message: message() }, Some(401)),
                (ModelError::BadRequest { message: message() }, Some(405)),
                (ModelError::BadRequest { message: message() }, Some(307)),
                (ModelError::BadRequest { message: message() }, Some(400)),
                (ModelError::CutStream { message: message() }, None),
            ] {
                lines += &format!("{}\n", place.noted(error, status));
            }
        }
        expected.assert_eq(&lines);
    }

    #[test]
    fn the_place_is_named_where_it_may_be_the_reason() {
        check(
            "http://127.0.0.1:18480",
            None,
            expect![[r#"
            the model could not be reached: no; `http://127.0.0.1:18480/messages` was asked
            the key is not accepted: no; no key was sent
            the model does not accept the request: no; `http://127.0.0.1:18480/messages` was asked: is `/v1` missing?
            the model does not accept the request: no; `http://127.0.0.1:18480/messages` was asked
            the model does not accept the request: no
            the answer broke off: no
            the model could not be reached: no; `http://127.0.0.1:18480/models/some-model:streamGenerateContent` was asked
            the key is not accepted: no; no key was sent
            the model does not accept the request: no; `http://127.0.0.1:18480/models/some-model:streamGenerateContent` was asked: is `/v1beta` missing?
            the model does not accept the request: no; `http://127.0.0.1:18480/models/some-model:streamGenerateContent` was asked
            the model does not accept the request: no
            the answer broke off: no
        "#]],
        );
    }

    #[test]
    fn a_key_in_a_path_is_not_shown() {
        let key = "q9Zk2Lw7mPx4vTb8nRc1sYd6";
        check(
            &format!("https://a.example/{key}/v1"),
            Some(key),
            expect![[r#"
            the model could not be reached: no; `https://a.example/[redacted]/v1/messages` was asked
            the key is not accepted: no
            the model does not accept the request: no; `https://a.example/[redacted]/v1/messages` was asked
            the model does not accept the request: no; `https://a.example/[redacted]/v1/messages` was asked
            the model does not accept the request: no
            the answer broke off: no
            the model could not be reached: no; `https://a.example/[redacted]/v1/models/some-model:streamGenerateContent` was asked
            the key is not accepted: no
            the model does not accept the request: no; `https://a.example/[redacted]/v1/models/some-model:streamGenerateContent` was asked
            the model does not accept the request: no; `https://a.example/[redacted]/v1/models/some-model:streamGenerateContent` was asked
            the model does not accept the request: no
            the answer broke off: no
        "#]],
        );
    }
}
