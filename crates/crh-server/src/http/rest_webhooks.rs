//! Receives deliveries of forges with a plain REST API, at `/webhooks/NAME`.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::webhooks::{
    Received, Refusal, accept, answer, is_delivery_id, read_body, readable_secrets, require_json,
};
use super::{ServerState, Shared};
use crate::forges::plan_event;
use crate::store::Delivery;
use crate::webhook::plan::PayloadError;
use crate::webhook::signature::verify_webhook;

pub(super) async fn receive_rest(
    State(state): State<Shared>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let received = receive(&state, &name, &headers, body).await;
    answer(&state, received)
}

async fn receive(
    state: &ServerState,
    name: &str,
    headers: &HeaderMap,
    body: Body,
) -> Result<Received, Refusal> {
    let access = state.access.rest().iter().find(|rest| rest.forge().name().name() == name);
    let access = access.ok_or_else(|| {
        (StatusCode::NOT_FOUND, "this server has no token for this forge".to_owned())
    })?;
    let forge = access.forge();
    let profile = forge.rest_profile();
    let body = read_body(state, headers, body).await?;
    let secrets = readable_secrets(access.webhook_secrets())?;
    verify_webhook(profile.proof, &secrets, headers, &body, state.store.now())
        .map_err(|error| (StatusCode::UNAUTHORIZED, error.to_string()))?;
    require_json(headers)?;
    let bad_request = |message: String| (StatusCode::BAD_REQUEST, message);
    let event = header(headers, profile.event_headers, |_| true).map_err(bad_request)?;
    let id = header(headers, profile.id_headers, is_delivery_id).map_err(bad_request)?;
    let invalid = |error: serde_json::Error| PayloadError::Invalid {
        event: event.clone(),
        message: error.to_string(),
    };
    let plan = forge.read_event(&event, &body).map_err(invalid);
    let plan = plan.and_then(|event| plan_event(event, &state.settings.rules));
    let plan = plan.map_err(|error| bad_request(error.to_string()))?;
    drop(body);
    let delivery = Delivery { forge: access.host().name().to_owned(), id, event };
    accept(state, &delivery, plan).await
}

/// The value of the first of these headers that the delivery has, if it is valid.
fn header(
    headers: &HeaderMap,
    names: &[&str],
    is_valid: impl Fn(&str) -> bool,
) -> Result<String, String> {
    let value = names.iter().find_map(|name| headers.get(*name));
    let text = value.and_then(|value| value.to_str().ok()).filter(|text| is_valid(text));
    text.map(str::to_owned).ok_or_else(|| {
        format!("the delivery has no valid `{}`", names.last().copied().unwrap_or_default())
    })
}
