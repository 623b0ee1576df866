//! Sends a form to a page of Launchpad's, as nobody in particular: the token flow is older than any token.

use reqwest::header;
use url::form_urlencoded;

use super::{error, location, told, trouble};
use crate::ForgeError;
use crate::asking::retry::Trouble;
use crate::asking::said;
use crate::asking::said::NO_SECRET;
use crate::asking::whole::{NoReply, REPLY_MAX, USER_AGENT, whole};
use crate::launchpad::{Credentials, Service};
use crh_http::Network;

/// A page that is not read.
pub(in crate::launchpad) struct Unread {
    /// How it failed: whether it is asked again.
    pub(in crate::launchpad) trouble: Trouble,
    /// Why, for whoever waits.
    pub(in crate::launchpad) message: String,
    pub(in crate::launchpad) error: ForgeError,
}

/// Sends a form to a page once; the status and the text of an answer to it: a success, or one that the token flow knows, which are
/// 401 and 403.
pub(in crate::launchpad) async fn posted(
    network: &Network,
    service: &Service,
    page: &str,
    form: &[(&str, &str)],
) -> Result<(u16, String), Unread> {
    let (host, what) = (service.name(), format!("POST {page}"));
    let unread = |trouble, message: String, status| {
        let error = error(host, what.clone(), trouble, message.clone(), status);
        Unread { trouble, message, error }
    };
    let http = crh_http::client(network)
        .map_err(|error| unread(Trouble::Refused, error.to_string(), None))?;
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = http
        .post(format!("{}/{page}", service.web()))
        .header(header::USER_AGENT, USER_AGENT)
        // Launchpad takes forms from its own pages alone, and tells them by this.
        .header(header::REFERER, format!("{}/", service.web()))
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(body);
    match whole(request, network.timeouts, NO_SECRET).await {
        Ok(reply) => match (reply.status, location(&reply)) {
            (200..=299 | 401 | 403, _) => {
                Ok((reply.status, String::from_utf8_lossy(&reply.body).into_owned()))
            }
            (status, Some(location)) => {
                let place = location.split(['?', '#']).next().unwrap_or_default();
                let message = format!("it sends us to `{}`", said::shown(place, NO_SECRET));
                Err(unread(Trouble::Refused, message, Some(status)))
            }
            (status, None) => {
                let message = told(&reply, &Credentials::anonymous());
                Err(unread(trouble(&reply), message, Some(status)))
            }
        },
        Err(NoReply::Trouble(trouble, message)) => Err(unread(trouble, message, None)),
        Err(NoReply::TooLarge) => {
            let error = ForgeError::TooLarge { what, megabytes: REPLY_MAX >> 20 };
            Err(Unread { trouble: Trouble::Refused, message: error.to_string(), error })
        }
    }
}
