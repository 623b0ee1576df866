//! Live updates: the server sends a number that changes when the queue changes, and the browser
//! then loads the page again. So an update never shows more than the page.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::watch;

use super::Shared;
use super::pages::SignedIn;
use crate::store::Store;

/// Interval between two polls of the queue.
const INTERVAL: Duration = Duration::from_secs(2);

/// Maximum number of open event streams. Each holds a connection, and webhook deliveries need
/// connections, too.
pub(super) const STREAMS_MAX: usize = if cfg!(test) { 2 } else { 300 };

/// A number that grows when the queue changes. A task polls the queue until all receivers are gone.
pub(super) fn watch_queue(store: Store) -> watch::Receiver<u64> {
    let (sender, receiver) = watch::channel(0);
    tokio::spawn(async move {
        let mut last_fingerprint = None;
        while !sender.is_closed() {
            // If the database is not available, the number stays.
            if let Ok(fingerprint) = store.queue_fingerprint().await
                && last_fingerprint != Some(fingerprint)
            {
                last_fingerprint = Some(fingerprint);
                sender.send_modify(|version| *version += 1);
            }
            tokio::time::sleep(INTERVAL).await;
        }
    });
    receiver
}

pub(super) async fn events(State(state): State<Shared>, _: SignedIn) -> Response {
    let Ok(slot) = state.streams.clone().try_acquire_owned() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let mut receiver = state.queue_version.clone();
    receiver.mark_unchanged();
    let changes = stream::unfold((receiver, slot), |(mut receiver, slot)| async move {
        receiver.changed().await.ok()?;
        let version = *receiver.borrow_and_update();
        let event = Ok::<_, Infallible>(Event::default().data(version.to_string()));
        Some((event, (receiver, slot)))
    });
    Sse::new(changes).keep_alive(KeepAlive::default()).into_response()
}
