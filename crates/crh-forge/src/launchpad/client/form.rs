//! Posts forms to Launchpad's pages without credentials, for the login.

use reqwest::header;
use url::form_urlencoded;

use super::{classify_failure, failure_message, redirect_location, to_forge_error};
use crate::ForgeError;
use crate::http::message;
use crate::http::message::NO_SECRET;
use crate::http::reply::{REPLY_MAX, ReplyError, USER_AGENT, fetch_reply};
use crate::http::retry::RequestFailure;
use crate::launchpad::{LaunchpadCredentials, LaunchpadService};
use crh_http::NetworkSettings;

pub(in crate::launchpad) struct FormError {
    /// How it failed; decides about a retry.
    pub(in crate::launchpad) failure: RequestFailure,
    /// For the wait message.
    pub(in crate::launchpad) message: String,
    pub(in crate::launchpad) error: ForgeError,
}

/// Posts a form once. Returns status and text of a success, or of 401 and 403, which have a meaning
/// in the token flow.
pub(in crate::launchpad) async fn post_form(
    network: &NetworkSettings,
    service: &LaunchpadService,
    page: &str,
    form: &[(&str, &str)],
) -> Result<(u16, String), FormError> {
    let (host, what) = (service.name(), format!("POST {page}"));
    let unread = |trouble, message: String, status| {
        let error = to_forge_error(host, what.clone(), trouble, message.clone(), status);
        FormError { failure: trouble, message, error }
    };
    let http = crh_http::build_client(network)
        .map_err(|error| unread(RequestFailure::Refused, error.to_string(), None))?;
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = http
        .post(format!("{}/{page}", service.web()))
        .header(header::USER_AGENT, USER_AGENT)
        // Launchpad accepts forms only from its own pages, recognised by this header.
        .header(header::REFERER, format!("{}/", service.web()))
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(body);
    match fetch_reply(request, network.timeouts, NO_SECRET).await {
        Ok(reply) => match (reply.status, redirect_location(&reply)) {
            (200..=299 | 401 | 403, _) => {
                Ok((reply.status, String::from_utf8_lossy(&reply.body).into_owned()))
            }
            (status, Some(location)) => {
                let place = location.split(['?', '#']).next().unwrap_or_default();
                let message =
                    format!("it redirects to `{}`", message::single_line(place, NO_SECRET));
                Err(unread(RequestFailure::Refused, message, Some(status)))
            }
            (status, None) => {
                let message = failure_message(&reply, &LaunchpadCredentials::anonymous());
                Err(unread(classify_failure(&reply), message, Some(status)))
            }
        },
        Err(ReplyError::Failed(trouble, message)) => Err(unread(trouble, message, None)),
        Err(ReplyError::TooLarge) => {
            let error = ForgeError::TooLarge { request: what, megabytes: REPLY_MAX >> 20 };
            Err(FormError { failure: RequestFailure::Refused, message: error.to_string(), error })
        }
    }
}
