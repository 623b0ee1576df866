//! Apps: exchange a JWT for an installation token.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};

use super::super::json::{View, permissions};
use super::super::state::{App, FakeGitHubState, Token};
use super::super::time::{format_time, now};
use super::{Call, Reply, ReplyResult};

/// Longest lifetime of a JWT.
const MAX_CLAIM_SECONDS: u64 = 600;

/// Lifetime of an installation token.
const TOKEN_SECONDS: u64 = 3_600;

/// Tolerated clock difference.
const CLOCK_SKEW_SECONDS: u64 = 60;

/// Public key of a private key in PEM format, for `ring`.
pub(crate) fn public_key(pem: &str) -> Vec<u8> {
    let lines: Vec<&str> = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let der = STANDARD.decode(lines.concat()).unwrap();
    let pair = if pem.contains("BEGIN RSA PRIVATE KEY") {
        RsaKeyPair::from_der(&der)
    } else {
        RsaKeyPair::from_pkcs8(&der)
    };
    pair.unwrap().public_key().as_ref().to_vec()
}

pub(super) fn installation(view: &View<'_>, call: &Call, owner: &str, name: &str) -> ReplyResult {
    let app = verify_jwt(view.state, call)?;
    let repository = view.state.repository(owner, name);
    if repository.is_none_or(|repository| repository.owner != app.installation.1) {
        return Err(Reply::not_found());
    }
    Ok(Reply::with(200, view.installation(app)))
}

/// A new token with the permissions of the installation.
pub(super) fn access_token(state: &mut FakeGitHubState, call: &Call, id: &str) -> ReplyResult {
    let app = verify_jwt(state, call)?;
    if id != app.installation.0.to_string() {
        return Err(Reply::not_found());
    }
    let text = format!("ghs_fake{}", state.tokens.len());
    let ends = now() + TOKEN_SECONDS;
    let value = json!({
        "token": text, "expires_at": format_time(ends), "repository_selection": "all",
        "permissions": permissions(&app.permissions),
    });
    let login = format!("{}[bot]", app.slug);
    let permissions = app.permissions.clone();
    state.ensure(&login);
    state.tokens.insert(text, Token { login, permissions, ends: Some(ends), used: 0 });
    Ok(Reply::with(201, value))
}

/// The App that signed the JWT.
fn verify_jwt<'a>(state: &'a FakeGitHubState, call: &Call) -> Result<&'a App, Reply> {
    let refused = |message: &str| Reply::refused(401, message);
    let undecoded = || refused("A JSON web token could not be decoded");
    let claim = call.token.as_deref().ok_or_else(undecoded)?;
    let (signed, signature) = claim.rsplit_once('.').ok_or_else(undecoded)?;
    let (head, body) = signed.split_once('.').ok_or_else(undecoded)?;
    let decode = |part: &str| -> Option<Value> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
    };
    let (head, body) = decode(head).zip(decode(body)).ok_or_else(undecoded)?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| undecoded())?;
    // The issuer is the App's id, as text or number. The fake does not know client ids.
    let issuer = body["iss"].as_u64().or_else(|| body["iss"].as_str()?.parse().ok());
    let app = state.apps.iter().find(|app| Some(app.id) == issuer);
    let app = app.ok_or_else(|| refused("Integration not found"))?;
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &app.public_key);
    if head["alg"] != "RS256" || key.verify(signed.as_bytes(), &signature).is_err() {
        return Err(undecoded());
    }
    let (Some(issued), Some(ends)) = (body["iat"].as_u64(), body["exp"].as_u64()) else {
        return Err(refused("Missing 'issued at' claim ('iat') in assertion"));
    };
    let now = now();
    if issued > now + CLOCK_SKEW_SECONDS {
        return Err(refused(
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        ));
    }
    if ends <= now {
        return Err(refused(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        ));
    }
    if ends > now + MAX_CLAIM_SECONDS + CLOCK_SKEW_SECONDS {
        return Err(refused("'Expiration time' claim ('exp') is too far in the future"));
    }
    Ok(app)
}
