//! Sends a form to a page of Launchpad's, as nobody in particular: the token flow is older than any token.

use crh_http::Network;
use reqwest::header;
use url::form_urlencoded;

use crate::ForgeError;
use crate::asking::said;
use crate::asking::said::NO_SECRET;
use crate::asking::whole::NoReply;
use crate::asking::whole::REPLY_MAX;
use crate::asking::whole::USER_AGENT;
use crate::asking::whole::whole;
use crate::launchpad::Service;

/// Sends a form to a page once; the status and the text of the answer.
pub(in crate::launchpad) async fn posted(
    network: &Network,
    service: &Service,
    page: &str,
    form: &[(&str, &str)],
) -> Result<(u16, String), ForgeError> {
    let host = service.name().to_owned();
    let http = crh_http::client(network).map_err(|error| ForgeError::Unreachable {
        host: host.clone(),
        message: error.to_string(),
    })?;
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let request = http
        .post(format!("{}/{page}", service.web()))
        .header(header::USER_AGENT, USER_AGENT)
        // Launchpad takes forms from its own pages alone, and tells them by this.
        .header(header::REFERER, format!("{}/", service.web()))
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(body);
    match whole(request, network.timeouts, NO_SECRET).await {
        Ok(reply) => Ok((reply.status, String::from_utf8_lossy(&reply.body).into_owned())),
        Err(NoReply::Trouble(_, message)) => {
            Err(ForgeError::Unreachable { host, message: said::shown(&message, NO_SECRET) })
        }
        Err(NoReply::TooLarge) => {
            let what = format!("POST {page}");
            Err(ForgeError::TooLarge { what, megabytes: REPLY_MAX >> 20 })
        }
    }
}
