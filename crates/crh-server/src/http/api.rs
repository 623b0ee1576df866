//! The queue and reviews as JSON, for programs. The same people see the same things as on the page.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::pages::{
    JobChoice, require_viewer, store_failure, visible_counts, visible_jobs, visible_reviews,
};

pub(super) async fn queue(State(state): State<Shared>, headers: HeaderMap) -> Response {
    let viewer = match require_viewer(&state, &headers).await {
        Ok(signed_in) => signed_in.viewer,
        Err(response) => return response,
    };
    match visible_counts(&state, &viewer).await {
        Ok(counts) => json_response(&counts),
        Err(error) => store_failure(&error),
    }
}

pub(super) async fn jobs(State(state): State<Shared>, headers: HeaderMap) -> Response {
    let viewer = match require_viewer(&state, &headers).await {
        Ok(signed_in) => signed_in.viewer,
        Err(response) => return response,
    };
    match visible_jobs(&state, &viewer, JobChoice::All).await {
        Ok(jobs) => json_response(&jobs),
        Err(error) => store_failure(&error),
    }
}

pub(super) async fn reviews(State(state): State<Shared>, headers: HeaderMap) -> Response {
    let viewer = match require_viewer(&state, &headers).await {
        Ok(signed_in) => signed_in.viewer,
        Err(response) => return response,
    };
    match visible_reviews(&state, &viewer, None).await {
        Ok(reviews) => json_response(&reviews),
        Err(error) => store_failure(&error),
    }
}

fn json_response(value: &impl serde::Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
