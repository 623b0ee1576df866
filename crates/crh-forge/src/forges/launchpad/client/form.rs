//! Posts forms to Launchpad's pages without credentials, for the login.

use reqwest::header;
use url::form_urlencoded;

use super::{failed_attempt, redirect_location};
use crate::ForgeError;
use crate::forges::launchpad::{LaunchpadCredentials, LaunchpadService};
use crate::http::message;
use crate::http::message::NO_SECRET;
use crate::http::reply::{USER_AGENT, fetch_reply};
use crate::http::retry::RequestFailure;
use crate::http::sender::{FailedAttempt, FailedReply};
use crh_http::NetworkSettings;

pub(in crate::forges::launchpad) struct FormError {
    /// Kind of failure, which decides whether to retry.
    pub(in crate::forges::launchpad) failure: RequestFailure,
    /// Message for the announcement of a retry.
    pub(in crate::forges::launchpad) message: String,
    pub(in crate::forges::launchpad) error: ForgeError,
}

/// Posts a form once. Returns status and text if the status is a success, 401 or 403. During a
/// login, 401 and 403 say what the user decided.
pub(in crate::forges::launchpad) async fn post_form(
    network: &NetworkSettings,
    service: &LaunchpadService,
    page: &str,
    form: &[(&str, &str)],
) -> Result<(u16, String), FormError> {
    let (host, request_name) = (service.name(), format!("POST {page}"));
    let form_error = |failed: FailedAttempt| {
        let (failure, message) = (failed.failure, failed.message.clone());
        FormError { failure, message, error: failed.into_error(host, &request_name) }
    };
    let refused = |message: String, reply| {
        form_error(FailedAttempt { failure: RequestFailure::Refused, message, reply })
    };
    let http = crh_http::build_client(network).map_err(|error| refused(error.to_string(), None))?;
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
                let address = location.split(['?', '#']).next().unwrap_or_default();
                let message =
                    format!("it redirects to `{}`", message::single_line(address, NO_SECRET));
                let (needs, server_error) = (None, message.clone());
                Err(refused(message, Some(FailedReply { status, needs, server_error })))
            }
            (_, None) => {
                Err(form_error(failed_attempt(&reply, &LaunchpadCredentials::anonymous())))
            }
        },
        Err(error) => Err(match error.into_failed(&request_name) {
            Ok(failed) => form_error(failed),
            Err(error) => {
                FormError { failure: RequestFailure::Refused, message: error.to_string(), error }
            }
        }),
    }
}
