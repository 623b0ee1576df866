//! Ctrl-C: the first one stops what is under way, so that what was found so far is reported; the next one ends the program.
//!
//! It is waited for on a thread of its own that stays until the program ends. So the second one works whatever the review
//! is busy with, and also while the report is printed to somebody who does not read it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use anyhow::Context;
use tokio::signal::unix::Signal;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
use crate::ui;

/// Waits for Ctrl-C until the program ends.
pub(crate) struct Interrupts {
    is_over: Arc<AtomicBool>,
}

impl Interrupts {
    /// Begins to wait: from here on, Ctrl-C does not end the program by itself. The first one calls `stop`.
    pub(crate) fn watch(stop: impl FnOnce() + Send + 'static) -> Result<Self, Failure> {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.or_fail(Kind::Outside)?;
        // Not on the thread, so that none is missed until that has begun.
        let interrupts = {
            let _inside = runtime.enter();
            signal(SignalKind::interrupt()).context("waiting for Ctrl-C").or_fail(Kind::Outside)?
        };
        let wait = move || runtime.block_on(heed(interrupts, stop, &over));
        let thread = std::thread::Builder::new().name("interrupts".to_owned()).spawn(wait);
        thread.or_fail(Kind::Outside)?;
        Ok(Self { is_over })
    }

    /// What was under way is done: there is nothing left to stop but the program.
    pub(crate) fn work_is_over(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

async fn heed(mut interrupts: Signal, stop: impl FnOnce(), is_over: &AtomicBool) {
    let mut stop = Some(stop);
    while interrupts.recv().await.is_some() {
        match stop.take() {
            Some(stop) if !is_over.load(Ordering::Relaxed) => stop(),
            Some(_) | None => ui::leave_at_once(),
        }
    }
}
