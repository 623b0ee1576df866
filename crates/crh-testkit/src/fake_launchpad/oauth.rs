//! OAuth with PLAINTEXT signatures, and the token flow.

use super::rest::LaunchpadReply;
use super::state::{Decision, FakeLaunchpadState, RequestToken, Token};
use crate::fake_github::server::percent_decode;
use crate::http::HttpRequest;

/// Account of a request; `None` if anonymous.
pub(super) fn requester(
    state: &mut FakeLaunchpadState,
    request: &HttpRequest,
) -> Result<Option<String>, LaunchpadReply> {
    let Some(header) = request.header("authorization") else {
        // Anonymous requests need a user agent.
        return match request.header("user-agent") {
            Some(agent) if !agent.is_empty() => Ok(None),
            Some(_) | None => {
                Err(LaunchpadReply::text(401, "Anonymous requests must provide a consumer key."))
            }
        };
    };
    let Some(fields) = header.strip_prefix("OAuth ") else {
        state.surprises.push(format!("an authorization that is not OAuth: {}", scheme(header)));
        return Err(LaunchpadReply::text(401, "No OAuth authorization."));
    };
    let fields = fields_of(fields);
    let field = |name: &str| {
        let field = fields.iter().find(|(known, _)| known == name);
        field.map_or("", |(_, value)| value.as_str())
    };
    if field("oauth_consumer_key").is_empty() {
        return Err(LaunchpadReply::text(401, "Unknown consumer ()."));
    }
    let token = field("oauth_token");
    if token.is_empty() {
        return Ok(None);
    }
    for name in ["oauth_timestamp", "oauth_nonce"] {
        if field(name).is_empty() {
            state.surprises.push(format!("a signed request without `{name}`"));
        }
    }
    let Some(access_token) = state.tokens.get(token) else {
        return Err(LaunchpadReply::text(401, &format!("Unknown access token ({token}).")));
    };
    if access_token.consumer != field("oauth_consumer_key") {
        return Err(LaunchpadReply::text(401, &format!("Unknown access token ({token}).")));
    }
    if field("oauth_signature_method") != "PLAINTEXT" {
        return Err(LaunchpadReply::text(400, "Only PLAINTEXT signatures are supported."));
    }
    if field("oauth_signature") != format!("&{}", access_token.secret) {
        return Err(LaunchpadReply::text(401, "Invalid signature."));
    }
    Ok(Some(access_token.person.clone()))
}

fn scheme(header: &str) -> &str {
    header.split(' ').next().unwrap_or_default()
}

/// Fields of an OAuth header, such as `name="value", name="value"`.
fn fields_of(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|part| part.trim().split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), percent_decode(value.trim_matches('"')))).collect()
}

/// Token flow: request, authorization in a browser, exchange.
pub(super) fn token_flow(
    state: &mut FakeLaunchpadState,
    page: &str,
    form: &[(String, String)],
) -> LaunchpadReply {
    let field = |name: &str| {
        let field = form.iter().find(|(known, _)| known == name);
        field.map_or("", |(_, value)| value.as_str())
    };
    if field("oauth_signature_method") != "PLAINTEXT" {
        return LaunchpadReply::text(400, "Only PLAINTEXT signatures are supported.");
    }
    let consumer = field("oauth_consumer_key").to_owned();
    if consumer.is_empty() {
        return LaunchpadReply::text(401, "Unknown consumer ().");
    }
    match page {
        "+request-token" if field("oauth_signature") == "&" => {
            let number = state.id();
            let (token, secret) = (format!("request{number}"), format!("requestSecret{number}"));
            let body = pair(&token, &secret);
            state
                .request_tokens
                .insert(token, RequestToken { consumer, secret, decision: Decision::Open });
            LaunchpadReply::text(200, &body)
        }
        "+access-token" => {
            exchange_token(state, &consumer, field("oauth_token"), field("oauth_signature"))
        }
        _ => LaunchpadReply::text(401, "Invalid signature."),
    }
}

fn exchange_token(
    state: &mut FakeLaunchpadState,
    consumer: &str,
    token: &str,
    signature: &str,
) -> LaunchpadReply {
    let Some(request_token) = state.request_tokens.get(token).cloned() else {
        return LaunchpadReply::text(401, "No request token specified.");
    };
    if request_token.consumer != consumer || signature != format!("&{}", request_token.secret) {
        return LaunchpadReply::text(401, "Invalid signature.");
    }
    let person = match request_token.decision {
        Decision::Yes(person) => person,
        Decision::Open => {
            return LaunchpadReply::text(
                401,
                "Request token has not yet been reviewed. Try again later.",
            );
        }
        Decision::No => {
            return LaunchpadReply::text(403, "End-user refused to authorize request token.");
        }
    };
    state.request_tokens.remove(token);
    let number = state.id();
    let (token, secret) = (format!("access{number}"), format!("accessSecret{number}"));
    let body = format!("{}&lp.context=None", pair(&token, &secret));
    state.tokens.insert(token, Token { consumer: request_token.consumer, secret, person });
    LaunchpadReply::text(200, &body)
}

fn pair(token: &str, secret: &str) -> String {
    format!("oauth_token={token}&oauth_token_secret={secret}")
}
