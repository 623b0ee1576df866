//! Ctrl-C: the first one stops a review, so that what was found so far is reported; the next one ends the program.
//!
//! It is waited for on a thread of its own that stays until the program ends. So the second one works whatever the review
//! is busy with, and also while the report is printed to somebody who does not read it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use anyhow::Context;
use crh_pipeline::events::Event;
use crh_pipeline::journal::Journal;
use tokio::signal::unix::Signal;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
use crate::ui;

/// Told to the user at the first one.
const STOPPING: &str = "stopping: what was found so far is reported; Ctrl-C again ends at once";

/// Waits for Ctrl-C until the program ends.
pub(super) struct Interrupts {
    is_over: Arc<AtomicBool>,
}

impl Interrupts {
    /// Begins to wait: from here on, Ctrl-C does not end the program by itself.
    pub(super) fn watch(journal: &Journal) -> Result<Self, Failure> {
        let is_over = Arc::new(AtomicBool::new(false));
        let (journal, over) = (journal.clone(), is_over.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.or_fail(Kind::Outside)?;
        // Not on the thread, so that none is missed until that has begun.
        let interrupts = {
            let _inside = runtime.enter();
            signal(SignalKind::interrupt()).context("waiting for Ctrl-C").or_fail(Kind::Outside)?
        };
        let wait = move || runtime.block_on(heed(interrupts, &journal, &over));
        let thread = std::thread::Builder::new().name("interrupts".to_owned()).spawn(wait);
        thread.or_fail(Kind::Outside)?;
        Ok(Self { is_over })
    }

    /// The review is done: there is nothing left to stop but the program.
    pub(super) fn review_is_over(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

async fn heed(mut interrupts: Signal, journal: &Journal, is_over: &AtomicBool) {
    while interrupts.recv().await.is_some() {
        if journal.cancel().is_cancelled() || is_over.load(Ordering::Relaxed) {
            ui::leave_at_once();
        }
        journal.cancel().cancel();
        journal.tell(Event::Warning { text: STOPPING.to_owned() });
    }
}
