//! Ctrl-C: the first one stops what is under way, so that what was found so far is reported; the next one ends the program, and what it
//! has asked remotes for.
//!
//! It is waited for on a thread of its own that stays until the program ends. So the second one works whatever the review
//! is busy with, and also while the report is printed to somebody who does not read it.

use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use anyhow::Context;
use tokio::signal::unix::Signal;
use tokio::signal::unix::SignalKind;
use tokio::signal::unix::signal;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
use crate::ui;

/// What a program does at Ctrl-C: there is one for all of it.
struct AtInterrupt {
    /// Whether it is waited for.
    is_watched: bool,
    /// Whether the signals are waited for that end a program.
    is_end_watched: bool,
    /// Stops what is under way; none if there is nothing to stop but the program.
    stop: Option<Box<dyn FnOnce() + Send>>,
}

static AT_INTERRUPT: Mutex<AtInterrupt> =
    Mutex::new(AtInterrupt { is_watched: false, is_end_watched: false, stop: None });

fn at_interrupt() -> MutexGuard<'static, AtInterrupt> {
    AT_INTERRUPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to wait for Ctrl-C, so that whoever presses it during a fetch leaves no git behind.
pub(crate) fn watch_fetches() -> Result<(), Failure> {
    let mut at_interrupt = at_interrupt();
    if at_interrupt.is_watched {
        return Ok(());
    }
    wait_for(SignalKind::interrupt())?;
    at_interrupt.is_watched = true;
    Ok(())
}

/// Begins to wait for the signals by which a terminal that is closed and a system that is shut down end a program, so that they
/// do what Ctrl-C does: a question must not leave the terminal, or the tree, in the middle.
pub(crate) fn watch_end() -> Result<(), Failure> {
    watch_fetches()?;
    let mut at_interrupt = at_interrupt();
    if at_interrupt.is_end_watched {
        return Ok(());
    }
    for kind in [SignalKind::terminate(), SignalKind::hangup()] {
        wait_for(kind)?;
    }
    at_interrupt.is_end_watched = true;
    Ok(())
}

/// Waits for a signal on a thread of its own.
fn wait_for(kind: SignalKind) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(Kind::Outside)?;
    // Not on the thread, so that none is missed until that has begun.
    let signals = {
        let _inside = runtime.enter();
        signal(kind).context("waiting for signals").or_fail(Kind::Outside)?
    };
    let wait = move || runtime.block_on(heed(signals));
    let thread = std::thread::Builder::new().name("interrupts".to_owned()).spawn(wait);
    thread.map(drop).or_fail(Kind::Outside)
}

/// Something that the first Ctrl-C stops, for as long as this is there. After it there is nothing left to stop but the program.
pub(crate) struct Interrupts(());

impl Interrupts {
    /// From here on, Ctrl-C does not end the program by itself. The first one calls `stop`.
    pub(crate) fn watch(stop: impl FnOnce() + Send + 'static) -> Result<Self, Failure> {
        watch_fetches()?;
        at_interrupt().stop = Some(Box::new(stop));
        Ok(Self(()))
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        at_interrupt().stop = None;
    }
}

async fn heed(mut interrupts: Signal) {
    while interrupts.recv().await.is_some() {
        let stop = at_interrupt().stop.take();
        match stop {
            Some(stop) => stop(),
            None => {
                crh_git::end_fetches();
                ui::leave_at_once()
            }
        }
    }
}
