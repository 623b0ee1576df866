//! Sign-in with an App: the user agrees at once, as if they had agreed before.

use serde_json::json;

use super::server::parse_query;
use super::state::{FakeGitHubState, Permission, Token};
use super::time::now;

/// Lifetime of a user's token.
const TOKEN_SECONDS: u64 = 8 * 3_600;

/// Status, headers and body of an answer.
pub(super) type OAuthAnswer = (u16, Vec<(&'static str, String)>, Vec<u8>);

/// Answers a request below `/login/oauth`.
pub(super) fn answer(
    state: &mut FakeGitHubState,
    path: &str,
    query: &str,
    body: &[u8],
) -> OAuthAnswer {
    match path {
        "/login/oauth/authorize" => authorize(state, query),
        "/login/oauth/access_token" => exchange(state, body),
        _ => (404, Vec::new(), b"Not Found".to_vec()),
    }
}

/// Sends the browser back with a code.
fn authorize(state: &mut FakeGitHubState, query: &str) -> OAuthAnswer {
    let query = parse_query(query);
    let get = |name: &str| query.iter().find(|(known, _)| known == name).map(|pair| pair.1.clone());
    let known_client = get("client_id") == state.oauth.as_ref().map(|client| client.0.clone());
    let (Some(login), true) = (state.oauth_login.clone(), known_client) else {
        return (404, Vec::new(), b"Not Found".to_vec());
    };
    let code = format!("code{}", state.id());
    state.oauth_codes.insert(code.clone(), login);
    let (target, word) =
        (get("redirect_uri").unwrap_or_default(), get("state").unwrap_or_default());
    (303, vec![("location", format!("{target}?code={code}&state={word}"))], Vec::new())
}

/// Exchanges a code for a token, once.
fn exchange(state: &mut FakeGitHubState, body: &[u8]) -> OAuthAnswer {
    let form = parse_query(&String::from_utf8_lossy(body));
    let get = |name: &str| form.iter().find(|(known, _)| known == name).map(|pair| pair.1.clone());
    let client = get("client_id").zip(get("client_secret"));
    let json_type = || vec![("content-type", "application/json; charset=utf-8".to_owned())];
    let refused = |word: &str| {
        let body = json!({ "error": word, "error_description": "refused by the fake" });
        (200, json_type(), body.to_string().into_bytes())
    };
    if client.is_none() || client != state.oauth {
        return refused("incorrect_client_credentials");
    }
    let Some(login) = get("code").and_then(|code| state.oauth_codes.remove(&code)) else {
        return refused("bad_verification_code");
    };
    let token = format!("ghu_fake{}", state.id());
    let permissions = Permission::ALL.into_iter().collect();
    let ends = Some(now() + TOKEN_SECONDS);
    state.tokens.insert(token.clone(), Token { login, permissions, ends, used: 0 });
    let body = json!({
        "access_token": token, "expires_in": TOKEN_SECONDS, "token_type": "bearer", "scope": "",
    });
    (200, json_type(), body.to_string().into_bytes())
}
