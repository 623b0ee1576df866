//! The way to a token: one is asked for, a person says yes to it in a browser, and it is exchanged. Opening the browser and
//! keeping what comes of it is somebody else's.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;
use tokio::time::Instant;
use url::form_urlencoded;

use super::client::page;
use super::client::page::Unread;
use super::{Credentials, Service};
use crate::asking::retry::{Decision, Purpose};
use crate::asking::waiting::Waiting;
use crate::asking::{retry, said};
use crate::{ForgeError, RetryPolicy};
use crh_http::Network;

/// What a person is asked to allow: to read and write what is not public as well, for proposals may be private.
const PERMISSION: &str = "WRITE_PRIVATE";

/// Waits are the longest ones: one person logs in, and comes back together with nobody.
const JITTER: f64 = 1.0;

/// A token that was asked for, and to which somebody has to say yes.
#[derive(Debug, Clone)]
pub struct Begun {
    service: Service,
    consumer: String,
    token: String,
    secret: SecretString,
}

/// How long a person is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Between two looks whether somebody has decided.
    pub every: Duration,
    /// In all.
    pub at_most: Duration,
}

impl Default for Patience {
    /// As Launchpad's own client has it: long enough to log in at a page that asks for a second factor.
    fn default() -> Self {
        Self { every: Duration::from_secs(1), at_most: Duration::from_secs(15 * 60) }
    }
}

/// Why there is no token in the end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoginError {
    /// A person has said no.
    #[error("`{host}` gives out no token: {message}")]
    Declined {
        /// The Launchpad.
        host: String,
        /// What it said.
        message: String,
    },
    /// Nobody has said anything.
    #[error("nobody has said yes or no at `{host}` within {} minutes", at_most.as_secs().div_ceil(60))]
    TimedOut {
        /// The Launchpad.
        host: String,
        /// As long was waited.
        at_most: Duration,
    },
    /// Launchpad could not be asked.
    #[error(transparent)]
    Forge(#[from] ForgeError),
}

/// How a Launchpad is asked again that fails or cannot be reached.
#[derive(Debug, Clone, Copy)]
pub struct Again {
    /// How often and how long it is tried.
    pub retry: RetryPolicy,
    /// Who is told that there is a wait.
    pub tell: fn(&str),
}

/// Asks for a token for a program of this name. One that was given out in vain does nothing, and ends by itself.
pub async fn begin(
    network: &Network,
    service: &Service,
    consumer: &str,
    again: Again,
) -> Result<Begun, ForgeError> {
    let form = [
        ("oauth_consumer_key", consumer),
        ("oauth_signature_method", "PLAINTEXT"),
        ("oauth_signature", "&"),
    ];
    let waiting = Waiting::default();
    waiting.tell_by(again.tell);
    let mut attempt = 1;
    let answer = loop {
        let Unread { trouble, message, error } =
            match posted(network, service, "+request-token", &form).await {
                Ok(answer) => break answer,
                Err(unread) => unread,
            };
        match retry::after(trouble, Purpose::Read, attempt, &again.retry, JITTER) {
            Decision::Wait(time) => {
                let now = Instant::now();
                waiting.begins(service.name(), trouble, &message, attempt, time, now);
                tokio::time::sleep(time).await;
            }
            Decision::GiveUp | Decision::Ambiguous => return Err(error),
        }
        attempt += 1;
    };
    let said = match answer {
        Answer::Yes(said) => said,
        Answer::NotYet(message) | Answer::No(message) => {
            return Err(ForgeError::BadToken { host: service.name().to_owned(), message });
        }
    };
    let (token, secret) = pair(&said).ok_or_else(|| unreadable("+request-token"))?;
    let (service, consumer) = (service.clone(), consumer.to_owned());
    Ok(Begun { service, consumer, token, secret })
}

impl Begun {
    /// The page on which a person says yes or no.
    pub fn page(&self) -> String {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("oauth_token", &self.token)
            .append_pair("allow_permission", PERMISSION)
            .finish();
        format!("{}/+authorize-token?{query}", self.service.web())
    }

    /// Waits until somebody has decided, and exchanges the token. A Launchpad that fails or cannot be reached is asked again: the
    /// person at the browser may be in the middle of it.
    pub async fn wait(
        &self,
        network: &Network,
        patience: Patience,
    ) -> Result<Credentials, LoginError> {
        let end = Instant::now() + patience.at_most;
        loop {
            tokio::time::sleep(patience.every).await;
            let trouble = match self.finish(network).await {
                Ok(Some(credentials)) => return Ok(credentials),
                Ok(None) => None,
                Err(LoginError::Forge(error)) if may_pass(&error) => Some(error),
                Err(error) => return Err(error),
            };
            if Instant::now() >= end {
                let (host, at_most) = (self.service.name().to_owned(), patience.at_most);
                return Err(
                    trouble.map_or(LoginError::TimedOut { host, at_most }, LoginError::Forge)
                );
            }
        }
    }

    /// Exchanges the token if somebody has said yes; none if nobody has decided yet. Asked again and again, it changes nothing
    /// before that.
    async fn finish(&self, network: &Network) -> Result<Option<Credentials>, LoginError> {
        let signature = format!("&{}", self.secret.expose_secret());
        let form = [
            ("oauth_consumer_key", self.consumer.as_str()),
            ("oauth_signature_method", "PLAINTEXT"),
            ("oauth_token", self.token.as_str()),
            ("oauth_signature", signature.as_str()),
        ];
        let answer = posted(network, &self.service, "+access-token", &form).await;
        let said = match answer.map_err(|unread| unread.error)? {
            Answer::Yes(said) => said,
            Answer::NotYet(why) if !is_forgotten(&why) => return Ok(None),
            Answer::No(message) | Answer::NotYet(message) => {
                return Err(LoginError::Declined { host: self.service.name().to_owned(), message });
            }
        };
        let (token, secret) = pair(&said).ok_or_else(|| unreadable("+access-token"))?;
        let credentials = Credentials::new(&self.consumer, &token, &secret);
        Ok(Some(credentials.map_err(|_| unreadable("+access-token"))?))
    }
}

/// What the pages of the token flow answer.
enum Answer {
    Yes(SecretString),
    /// 401: nobody has said yes, and why that is.
    NotYet(String),
    /// 403: somebody has said no, or it is too late.
    No(String),
}

async fn posted(
    network: &Network,
    service: &Service,
    page: &str,
    form: &[(&str, &str)],
) -> Result<Answer, Unread> {
    let (status, text) = page::posted(network, service, page, form).await?;
    Ok(match status {
        401 => Answer::NotYet(said::shown(&text, said::NO_SECRET)),
        403 => Answer::No(said::shown(&text, said::NO_SECRET)),
        _ => Answer::Yes(text.into()),
    })
}

/// Whether the token that was asked for is not known any more: one is exchanged once, and lives for some hours.
fn is_forgotten(why: &str) -> bool {
    why.starts_with("No request token")
}

/// Whether it may go better the next time.
fn may_pass(error: &ForgeError) -> bool {
    match error {
        ForgeError::Unreachable { .. }
        | ForgeError::Failing { .. }
        | ForgeError::RateLimited { .. } => true,
        ForgeError::Refused { .. }
        | ForgeError::BadToken { .. }
        | ForgeError::Forbidden { .. }
        | ForgeError::NotFound { .. }
        | ForgeError::Ambiguous { .. }
        | ForgeError::TooLarge { .. }
        | ForgeError::Bazaar { .. }
        | ForgeError::Unreadable { .. } => false,
    }
}

/// The token and the secret in an answer.
fn pair(said: &SecretString) -> Option<(String, SecretString)> {
    let (mut token, mut secret) = (None, None);
    for (name, value) in form_urlencoded::parse(said.expose_secret().trim().as_bytes()) {
        match &*name {
            "oauth_token" => token = Some(value.into_owned()),
            "oauth_token_secret" => secret = Some(SecretString::from(value.into_owned())),
            _ => {}
        }
    }
    Some((token.filter(|token| !token.is_empty())?, secret?))
}

fn unreadable(page: &str) -> ForgeError {
    let message = "there is no token in it".to_owned();
    ForgeError::Unreadable { what: format!("POST {page}"), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_holds_a_token_and_its_secret() {
        let read = |text: &str| {
            pair(&text.into()).map(|(token, secret)| (token, secret.expose_secret().to_owned()))
        };
        let both = Some(("a b".to_owned(), "s&".to_owned()));
        assert_eq!(read("oauth_token=a+b&oauth_token_secret=s%26&lp.context=None\n"), both);
        for odd in [
            "",
            "oauth_token=a",
            "oauth_token_secret=b",
            "oauth_token=&oauth_token_secret=b",
            "<html>",
        ] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }
}
