//! Receives deliveries of forges with a plain REST API, at `/webhooks/NAME`.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::webhooks::{
    Received, Refusal, accept, answer, is_delivery_id, read_body, readable_secrets, require_json,
};
use super::{ServerState, Shared};
use crate::forges::{EventHead, RestForgeRules, plan_event};
use crate::store::Delivery;
use crate::webhook::plan::PayloadError;

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
    let access = state.access.rest().iter().find(|rest| rest.rules().name() == name);
    let access = access.ok_or_else(|| {
        (StatusCode::NOT_FOUND, "this server has no token for this forge".to_owned())
    })?;
    let rules = access.rules();
    let body = read_body(state, headers, body).await?;
    let secrets = readable_secrets(access.webhook_secrets())?;
    rules
        .verify(headers, &body, &secrets, state.store.now())
        .map_err(|error| (StatusCode::UNAUTHORIZED, error.to_string()))?;
    require_json(headers)?;
    let bad_request = |message: String| (StatusCode::BAD_REQUEST, message);
    let EventHead { event, id } = event_head(rules, headers).map_err(bad_request)?;
    let invalid = |error: serde_json::Error| PayloadError::Invalid {
        event: event.clone(),
        message: error.to_string(),
    };
    let plan = rules.read_event(&event, &body).map_err(invalid);
    let plan = plan.and_then(|event| plan_event(event, &state.settings.rules));
    let plan = plan.map_err(|error| bad_request(error.to_string()))?;
    drop(body);
    let delivery = Delivery { forge: access.host().name().to_owned(), id, event };
    accept(state, &delivery, plan).await
}

fn event_head(rules: &dyn RestForgeRules, headers: &HeaderMap) -> Result<EventHead, String> {
    let text = |names: &[&str]| {
        let value = names.iter().find_map(|name| headers.get(*name));
        value.and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let missing = |names: &[&str]| {
        format!("the delivery has no valid `{}`", names.last().copied().unwrap_or_default())
    };
    let wanted = rules.event_headers();
    let event = text(wanted.event).ok_or_else(|| missing(wanted.event))?;
    let id = text(wanted.id).filter(|id| is_delivery_id(id)).ok_or_else(|| missing(wanted.id))?;
    Ok(EventHead { event, id })
}
