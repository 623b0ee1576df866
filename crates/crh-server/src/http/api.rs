//! The queue and reviews as JSON, for programs. The access rules are those of the page.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::pages::{PageResult, require_viewer, visible_counts, visible_jobs, visible_reviews};
use super::sign_in::has_page_token;
use super::{ServerState, Shared};
use crate::session::Viewer;
use crate::store::JobFilter;

pub(super) async fn queue(State(state): State<Shared>, headers: HeaderMap) -> PageResult {
    let viewer = api_viewer(&state, &headers).await?;
    Ok(json_response(&visible_counts(&state, &viewer).await?))
}

pub(super) async fn jobs(State(state): State<Shared>, headers: HeaderMap) -> PageResult {
    let viewer = api_viewer(&state, &headers).await?;
    Ok(json_response(&visible_jobs(&state, &viewer, JobFilter::default()).await?))
}

pub(super) async fn reviews(State(state): State<Shared>, headers: HeaderMap) -> PageResult {
    let viewer = api_viewer(&state, &headers).await?;
    Ok(json_response(&visible_reviews(&state, &viewer, None).await?))
}

/// The person of a session, or the operator for a program with the page token.
async fn api_viewer(state: &ServerState, headers: &HeaderMap) -> Result<Viewer, Response> {
    if has_page_token(state, headers).await {
        return Ok(Viewer::Operator);
    }
    match require_viewer(state, headers).await {
        Ok(signed_in) => Ok(signed_in.viewer),
        // A program cannot use the redirect to the sign-in form.
        Err(_) => {
            let error = "sign in, or send the token of the page as bearer token";
            let mut response = json_response(&json!({ "error": error }));
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            Err(response)
        }
    }
}

fn json_response(value: &impl serde::Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
