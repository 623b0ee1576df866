//! Health for load balancers, and metrics in the text format of Prometheus.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::guard::is_own_host;
use super::sign_in::has_page_token;
use crate::store::{QueueTotals, StoreResult};

/// Counters of this process.
#[derive(Debug, Default)]
pub(super) struct HttpCounters {
    accepted: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
}

impl HttpCounters {
    pub(super) fn count_delivery(&self, status: StatusCode) {
        let counter = match status.as_u16() {
            200..300 => &self.accepted,
            500.. => &self.failed,
            _ => &self.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Answers whenever the process runs.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Says whether the process can accept deliveries, which means that the database takes writes.
pub(super) async fn readyz(State(state): State<Shared>) -> Response {
    match state.store.probe().await {
        None => "ok\n".into_response(),
        Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, format!("{problem}\n")).into_response(),
    }
}

/// Metrics, for programs with the page token. If no page token is set, for programs on the same
/// machine.
pub(super) async fn metrics(
    State(state): State<Shared>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Response {
    let allowed = match &state.settings.sign_in.token {
        Some(_) => has_page_token(&state, &headers).await,
        None => {
            // Behind a proxy every peer is local. The host name is checked against DNS rebinding.
            let is_proxied =
                headers.contains_key("x-forwarded-for") || headers.contains_key("forwarded");
            let is_local = peer.ip().to_canonical().is_loopback();
            is_local && !is_proxied && is_own_host(&headers, false)
        }
    };
    if !allowed {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        return (StatusCode::UNAUTHORIZED, challenge, "metrics need the token of the page\n")
            .into_response();
    }
    match render(&state).await {
        Ok(text) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
            .into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

async fn render(state: &Shared) -> StoreResult<String> {
    let store = &state.store;
    let (counts, totals, workers) =
        (store.queue_counts().await?, store.queue_totals().await?, store.workers().await?);
    let mut text = MetricsText::default();
    let is_failing = f64::from(u8::from(state.store.problem().is_some()));
    let about = "Whether the last write of this process failed.";
    text.single("crh_database_write_failed", "gauge", about, is_failing);
    text.family("crh_queue_jobs", "gauge", "Jobs by state.");
    for (name, value) in
        [("waiting", counts.waiting), ("running", counts.running), ("dead", counts.dead)]
    {
        text.value("crh_queue_jobs", &format!("{{state=\"{name}\"}}"), value as f64);
    }
    let age = counts.oldest_due.map_or(0, |due| (store.now().0 - due.0).max(0));
    text.single("crh_queue_oldest_seconds", "gauge", "Age of the oldest due job.", seconds(age));
    text.single(
        "crh_workers",
        "gauge",
        "Workers with a recent sign of life.",
        workers.len() as f64,
    );
    text.family("crh_jobs_ended", "gauge", "Stored jobs that ended, by kind and outcome.");
    for (kind, outcome, count) in &totals.ended {
        let labels = format!("{{kind=\"{kind}\",outcome=\"{outcome}\"}}");
        text.value("crh_jobs_ended", &labels, *count as f64);
    }
    stored_reviews(&mut text, &totals);
    text.single("crh_spent_usd", "gauge", "Money spent or set aside.", totals.spent.as_usd());
    text.family("crh_deliveries_total", "counter", "Deliveries that this process answered.");
    let counters = &state.counters;
    for (name, counter) in [
        ("accepted", &counters.accepted),
        ("refused", &counters.refused),
        ("failed", &counters.failed),
    ] {
        let labels = format!("{{result=\"{name}\"}}");
        text.value("crh_deliveries_total", &labels, counter.load(Ordering::Relaxed) as f64);
    }
    text.family("crh_forge_requests_remaining", "gauge", "Requests left of the lowest rate limit.");
    for limit in state.access.github().into_iter().flat_map(|github| github.rate_limits()) {
        let labels = format!("{{resource=\"{}\"}}", label_text(&limit.resource));
        text.value("crh_forge_requests_remaining", &labels, limit.remaining as f64);
    }
    Ok(text.0)
}

/// Sums over the stored reviews. They are gauges: the server deletes old reviews, and a counter or a
/// histogram must not go backwards.
fn stored_reviews(text: &mut MetricsText, totals: &QueueTotals) {
    let (reviews, tokens) = (totals.reviews as f64, totals.tokens as f64);
    text.single("crh_stored_reviews", "gauge", "Stored reviews.", reviews);
    let name = "crh_stored_reviews_within";
    text.family(name, "gauge", "Stored reviews that were posted within a time after their start.");
    for (limit, count) in &totals.durations {
        text.value(name, &format!("{{seconds=\"{limit}\"}}"), *count as f64);
    }
    let help = "Time from the start of an attempt to the posted review, of stored reviews.";
    text.single("crh_stored_review_seconds", "gauge", help, seconds(totals.duration_ms));
    text.single("crh_stored_tokens", "gauge", "Model tokens of stored reviews.", tokens);
}

fn seconds(ms: i64) -> f64 {
    ms as f64 / 1_000.0
}

/// Text in a label. Only letters, digits and underscores stay, because quotes and line breaks would
/// end the label.
fn label_text(text: &str) -> String {
    text.chars().filter(|sign| sign.is_ascii_alphanumeric() || *sign == '_').collect()
}

#[derive(Default)]
struct MetricsText(String);

impl MetricsText {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.0 += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn value(&mut self, name: &str, labels: &str, value: f64) {
        self.0 += &format!("{name}{labels} {value}\n");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.family(name, kind, help);
        self.value(name, "", value);
    }
}
