//! Ctrl-C: the first one stops what is under way, so that what was found so far is reported; the next one ends the program, and what it
//! has asked remotes for.
//!
//! It is waited for on a thread of its own that stays until the program ends. So the second one works whatever the review
//! is busy with, and also while the report is printed to somebody who does not read it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Failure, Kind, OrFail};
use crate::ui;

/// What a program does at Ctrl-C: there is one for all of it.
struct AtInterrupt {
    /// Whether it is waited for.
    is_watched: bool,
    /// Whether the signals are waited for that end a program.
    is_end_watched: bool,
    /// Stop what is under way, which may be part of something longer; if there is none, there is nothing to stop but the program.
    stops: Vec<(u64, Stop)>,
    /// How much is under way, whether or not it was stopped.
    under_way: usize,
    /// The number of the next one.
    next: u64,
    /// Whether it was pressed since the first of those that are there began.
    is_pressed: bool,
}

type Stop = Box<dyn FnOnce() + Send>;

static AT_INTERRUPT: Mutex<AtInterrupt> = Mutex::new(AtInterrupt {
    is_watched: false,
    is_end_watched: false,
    stops: Vec::new(),
    under_way: 0,
    next: 0,
    is_pressed: false,
});

fn at_interrupt() -> MutexGuard<'static, AtInterrupt> {
    AT_INTERRUPT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AtInterrupt {
    /// Something more is under way; its number.
    fn begin(&mut self) -> u64 {
        self.under_way += 1;
        self.next += 1;
        self.next
    }
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
    let second = match kind == SignalKind::interrupt() {
        true => Second::Ends,
        false => Second::Waits,
    };
    let wait = move || runtime.block_on(heed(signals, second));
    let thread = std::thread::Builder::new().name("interrupts".to_owned()).spawn(wait);
    thread.map(drop).or_fail(Kind::Outside)
}

/// Something that the first Ctrl-C stops, for as long as this is there. After it there is nothing left to stop but the program.
pub(crate) struct Interrupts(u64);

impl Interrupts {
    /// From here on, Ctrl-C does not end the program by itself. The first one calls `stop`, and that of everything this is a part of.
    pub(crate) fn watch(stop: impl FnOnce() + Send + 'static) -> Result<Self, Failure> {
        watch_fetches()?;
        let mut at_interrupt = at_interrupt();
        if at_interrupt.under_way == 0 {
            at_interrupt.is_pressed = false;
        }
        let number = at_interrupt.begin();
        if !at_interrupt.is_pressed {
            at_interrupt.stops.push((number, Box::new(stop)));
            return Ok(Self(number));
        }
        drop(at_interrupt);
        // What it is a part of was stopped just before.
        stop();
        Ok(Self(number))
    }

    /// From here on, the next Ctrl-C does nothing: what is under way ends soon, and must not be left in the middle by somebody who
    /// pressed twice.
    pub(crate) fn outlast() -> Self {
        let mut at_interrupt = at_interrupt();
        let number = at_interrupt.begin();
        at_interrupt.stops.push((number, Box::new(|| {})));
        Self(number)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        let mut at_interrupt = at_interrupt();
        at_interrupt.under_way -= 1;
        at_interrupt.stops.retain(|(number, _)| *number != self.0);
    }
}

/// Whether Ctrl-C was pressed since the outermost of what is under way began: nothing more is to be begun.
pub(crate) fn is_pressed() -> bool {
    at_interrupt().is_pressed
}

/// What a signal does while somebody who was stopped comes to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Second {
    /// It ends the program: a person is impatient.
    Ends,
    /// Nothing: a terminal that is closed sends more than one.
    Waits,
}

async fn heed(mut interrupts: Signal, second: Second) {
    while interrupts.recv().await.is_some() {
        let (stops, is_ending) = {
            let mut at_interrupt = at_interrupt();
            at_interrupt.is_pressed = true;
            (std::mem::take(&mut at_interrupt.stops), at_interrupt.under_way > 0)
        };
        if stops.is_empty() && is_ending && second == Second::Waits {
            continue;
        }
        if stops.is_empty() {
            crh_git::end_fetches();
            ui::leave_at_once()
        }
        for (_, stop) in stops {
            stop();
        }
    }
}
