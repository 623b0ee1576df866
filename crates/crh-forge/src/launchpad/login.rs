//! The way to a token: one is asked for, a person says yes to it in a browser, and it is exchanged. Opening the browser and
//! keeping what comes of it is somebody else's.

use crh_http::Network;
use secrecy::ExposeSecret;
use secrecy::SecretString;
use url::form_urlencoded;

use crate::ForgeError;
use crate::asking::said;

use super::Credentials;
use super::Service;
use super::client::page;

/// What a person is asked to allow: to read and write what is not public as well, for proposals may be private.
const PERMISSION: &str = "WRITE_PRIVATE";

/// A token that was asked for, and to which somebody has to say yes.
#[derive(Debug, Clone)]
pub struct Begun {
    service: Service,
    consumer: String,
    token: String,
    secret: SecretString,
}

/// Asks for a token for a program of this name.
pub async fn begin(
    network: &Network,
    service: &Service,
    consumer: &str,
) -> Result<Begun, ForgeError> {
    let form = [
        ("oauth_consumer_key", consumer),
        ("oauth_signature_method", "PLAINTEXT"),
        ("oauth_signature", "&"),
    ];
    let said = match posted(network, service, "+request-token", &form).await? {
        Answer::Yes(said) => said,
        Answer::NotYet(why) => return Err(refused(service, why)),
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

    /// Exchanges the token if somebody has said yes; none if nobody has decided yet. Asked again and again, it changes nothing
    /// before that.
    pub async fn finish(&self, network: &Network) -> Result<Option<Credentials>, ForgeError> {
        let signature = format!("&{}", self.secret.expose_secret());
        let form = [
            ("oauth_consumer_key", self.consumer.as_str()),
            ("oauth_signature_method", "PLAINTEXT"),
            ("oauth_token", self.token.as_str()),
            ("oauth_signature", signature.as_str()),
        ];
        let said = match posted(network, &self.service, "+access-token", &form).await? {
            Answer::Yes(said) => said,
            Answer::NotYet(why) if is_declined(&why) => return Err(refused(&self.service, why)),
            Answer::NotYet(_) => return Ok(None),
        };
        let (token, secret) = pair(&said).ok_or_else(|| unreadable("+access-token"))?;
        let credentials = Credentials::new(&self.consumer, &token, &secret);
        credentials.map(Some).map_err(|_| unreadable("+access-token"))
    }
}

/// What the pages of the token flow answer.
enum Answer {
    Yes(SecretString),
    /// 401: nobody has said yes, and why that is.
    NotYet(String),
}

async fn posted(
    network: &Network,
    service: &Service,
    page: &str,
    form: &[(&str, &str)],
) -> Result<Answer, ForgeError> {
    let (status, text) = page::posted(network, service, page, form).await?;
    match status {
        200..=299 => Ok(Answer::Yes(text.into())),
        401 => Ok(Answer::NotYet(said::shown(&text, None))),
        status => {
            let (what, message) = (format!("POST {page}"), said::shown(&text, None));
            Err(ForgeError::Refused { what, status, message })
        }
    }
}

/// Whether a person has said no.
fn is_declined(why: &str) -> bool {
    why.to_ascii_lowercase().contains("declined")
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

fn refused(service: &Service, message: String) -> ForgeError {
    ForgeError::BadToken { host: service.name().to_owned(), message }
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
