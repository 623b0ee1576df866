//! Ctrl-C handling: the first Ctrl-C stops the current work, so that partial results are reported.
//! The second one kills running git fetches and exits.
//!
//! Signals are handled on their own thread, so the second Ctrl-C works even while the main thread
//! is busy or blocked on output.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;

/// Global Ctrl-C state.
struct InterruptState {
    /// Whether the SIGINT listener runs.
    has_ctrl_c_listener: bool,
    /// Whether the SIGTERM and SIGHUP listeners run.
    has_termination_listeners: bool,
    /// Callbacks that stop the current work, which may be nested. If empty, Ctrl-C exits.
    stop_callbacks: Vec<(u64, StopCallback)>,
    /// Number of active guards, stopped or not.
    active_guards: usize,
    /// Id of the next guard.
    last_id: u64,
    /// Whether Ctrl-C was pressed since the outermost guard was created.
    is_pressed: bool,
}

type StopCallback = Box<dyn FnOnce() + Send>;

static STATE: Mutex<InterruptState> = Mutex::new(InterruptState {
    has_ctrl_c_listener: false,
    has_termination_listeners: false,
    stop_callbacks: Vec::new(),
    active_guards: 0,
    last_id: 0,
    is_pressed: false,
});

fn lock_state() -> MutexGuard<'static, InterruptState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl InterruptState {
    /// Registers a guard and returns its id.
    fn register_guard(&mut self) -> u64 {
        self.active_guards += 1;
        self.last_id += 1;
        self.last_id
    }
}

/// Starts the Ctrl-C listener, so that an interrupted fetch leaves no git process behind.
pub(crate) fn watch_ctrl_c() -> Result<(), Failure> {
    let mut at_interrupt = lock_state();
    if at_interrupt.has_ctrl_c_listener {
        return Ok(());
    }
    spawn_listener(SignalKind::interrupt())?;
    at_interrupt.has_ctrl_c_listener = true;
    Ok(())
}

/// Makes SIGTERM and SIGHUP act like Ctrl-C, so that the terminal and the working tree are
/// restored.
pub(crate) fn watch_termination() -> Result<(), Failure> {
    watch_ctrl_c()?;
    let mut at_interrupt = lock_state();
    if at_interrupt.has_termination_listeners {
        return Ok(());
    }
    for kind in [SignalKind::terminate(), SignalKind::hangup()] {
        spawn_listener(kind)?;
    }
    at_interrupt.has_termination_listeners = true;
    Ok(())
}

/// Listens for a signal on its own thread.
fn spawn_listener(kind: SignalKind) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(FailureKind::External)?;
    // Registered before the thread starts, so that no signal is missed.
    let signals = {
        let _inside = runtime.enter();
        signal(kind).context("cannot listen for signals").or_fail(FailureKind::External)?
    };
    let second = match kind == SignalKind::interrupt() {
        true => RepeatedSignal::Exit,
        false => RepeatedSignal::Ignore,
    };
    let wait = move || runtime.block_on(handle_signals(signals, second));
    let thread = std::thread::Builder::new().name("interrupts".to_owned()).spawn(wait);
    thread.map(drop).or_fail(FailureKind::External)
}

/// While it exists, the first Ctrl-C calls its stop callback instead of exiting.
pub(crate) struct InterruptGuard(u64);

impl InterruptGuard {
    /// Creates a guard. The first Ctrl-C calls `stop` and the callbacks of all outer guards.
    pub(crate) fn watch(stop: impl FnOnce() + Send + 'static) -> Result<Self, Failure> {
        watch_ctrl_c()?;
        let mut at_interrupt = lock_state();
        if at_interrupt.active_guards == 0 {
            at_interrupt.is_pressed = false;
        }
        let number = at_interrupt.register_guard();
        if !at_interrupt.is_pressed {
            at_interrupt.stop_callbacks.push((number, Box::new(stop)));
            return Ok(Self(number));
        }
        drop(at_interrupt);
        // Ctrl-C was pressed before this guard was created.
        stop();
        Ok(Self(number))
    }

    /// Creates a guard that ignores the next Ctrl-C, for short work that must not be interrupted by
    /// a double press.
    pub(crate) fn ignore_next() -> Self {
        let mut at_interrupt = lock_state();
        let number = at_interrupt.register_guard();
        at_interrupt.stop_callbacks.push((number, Box::new(|| {})));
        Self(number)
    }
}

impl Drop for InterruptGuard {
    fn drop(&mut self) {
        let mut at_interrupt = lock_state();
        at_interrupt.active_guards -= 1;
        at_interrupt.stop_callbacks.retain(|(number, _)| *number != self.0);
    }
}

/// Whether Ctrl-C was pressed since the outermost guard was created; no new work should start.
pub(crate) fn is_pressed() -> bool {
    lock_state().is_pressed
}

/// What a repeated signal does while stopped work finishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RepeatedSignal {
    /// Exits: the user is impatient.
    Exit,
    /// Ignored: a closing terminal may send several signals.
    Ignore,
}

async fn handle_signals(mut interrupts: Signal, second: RepeatedSignal) {
    while interrupts.recv().await.is_some() {
        let (stops, is_ending) = {
            let mut at_interrupt = lock_state();
            at_interrupt.is_pressed = true;
            (std::mem::take(&mut at_interrupt.stop_callbacks), at_interrupt.active_guards > 0)
        };
        if stops.is_empty() && is_ending && second == RepeatedSignal::Ignore {
            continue;
        }
        if stops.is_empty() {
            crh_git::stop_fetches();
            ui::exit_now()
        }
        for (_, stop) in stops {
            stop();
        }
    }
}
