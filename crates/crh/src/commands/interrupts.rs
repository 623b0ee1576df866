//! Ctrl-C handling: the first Ctrl-C stops the current work, so that partial results are reported.
//! The second one kills running git fetches and exits. SIGTERM stops the work in the same way, but
//! crh ignores further SIGTERMs until the work has ended.
//!
//! Signals are handled on their own thread, so the second Ctrl-C works even while the main thread
//! is busy or blocked on output.

#[cfg_attr(windows, path = "interrupts/windows.rs")]
#[cfg_attr(unix, path = "interrupts/unix.rs")]
mod signals;

use std::sync::{Mutex, MutexGuard, PoisonError};

use self::signals::SignalStream;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use anyhow::Context;

/// Signals that stop crh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopSignal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM. Windows: Ctrl-Break.
    Terminate,
    /// SIGHUP: the terminal was closed.
    Hangup,
}

/// Global Ctrl-C state.
struct InterruptState {
    /// Whether the SIGINT and SIGTERM listeners run.
    has_stop_listeners: bool,
    /// Whether the SIGHUP listener runs.
    has_hangup_listener: bool,
    /// Callbacks that stop the current work, which may be nested. If empty, Ctrl-C exits.
    stop_callbacks: Vec<(u64, StopCallback)>,
    /// Number of active guards, stopped or not.
    active_guards: usize,
    /// Id of the newest guard.
    last_id: u64,
    /// Whether a stop signal arrived since the outermost guard was created.
    is_pressed: bool,
}

type StopCallback = Box<dyn FnOnce() + Send>;

static STATE: Mutex<InterruptState> = Mutex::new(InterruptState {
    has_stop_listeners: false,
    has_hangup_listener: false,
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

/// Listens for Ctrl-C and SIGTERM, so that an interrupted fetch leaves no git process behind.
pub(crate) fn watch_ctrl_c() -> Result<(), Failure> {
    let mut state = lock_state();
    if state.has_stop_listeners {
        return Ok(());
    }
    for kind in [StopSignal::Interrupt, StopSignal::Terminate] {
        spawn_listener(kind)?;
    }
    state.has_stop_listeners = true;
    Ok(())
}

/// Makes SIGHUP act like Ctrl-C too, so that the terminal and the working tree are restored. Only
/// questions need this: `nohup crh review` must go on.
pub(crate) fn watch_hangup() -> Result<(), Failure> {
    watch_ctrl_c()?;
    let mut state = lock_state();
    if state.has_hangup_listener {
        return Ok(());
    }
    spawn_listener(StopSignal::Hangup)?;
    state.has_hangup_listener = true;
    Ok(())
}

/// Listens for a signal on its own thread.
fn spawn_listener(kind: StopSignal) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(FailureKind::External)?;
    // Register the handler before the thread starts, so that no signal is missed.
    let signals = {
        let _runtime_guard = runtime.enter();
        SignalStream::listen(kind)
            .context("cannot listen for signals")
            .or_fail(FailureKind::External)?
    };
    let on_repeat = match kind {
        StopSignal::Interrupt => RepeatedSignal::Exit,
        StopSignal::Terminate | StopSignal::Hangup => RepeatedSignal::Ignore,
    };
    let wait = move || runtime.block_on(handle_signals(signals, on_repeat));
    let thread = std::thread::Builder::new().name("interrupts".to_owned()).spawn(wait);
    thread.map(drop).or_fail(FailureKind::External)
}

/// While this guard exists, the first Ctrl-C calls the guard's stop callback instead of exiting.
pub(crate) struct InterruptGuard(u64);

impl InterruptGuard {
    /// Creates a guard. The first Ctrl-C calls `stop` and the callbacks of all outer guards.
    pub(crate) fn watch(stop: impl FnOnce() + Send + 'static) -> Result<Self, Failure> {
        watch_ctrl_c()?;
        let mut state = lock_state();
        if state.active_guards == 0 {
            state.is_pressed = false;
        }
        let id = state.register_guard();
        if !state.is_pressed {
            state.stop_callbacks.push((id, Box::new(stop)));
            return Ok(Self(id));
        }
        drop(state);
        // A stop signal arrived before this guard was created.
        stop();
        Ok(Self(id))
    }

    /// Creates a guard that ignores the next Ctrl-C, for short work that must not be interrupted by
    /// a double press.
    pub(crate) fn ignore_next() -> Self {
        let mut state = lock_state();
        let id = state.register_guard();
        state.stop_callbacks.push((id, Box::new(|| {})));
        Self(id)
    }
}

impl Drop for InterruptGuard {
    fn drop(&mut self) {
        let mut state = lock_state();
        state.active_guards -= 1;
        state.stop_callbacks.retain(|(id, _)| *id != self.0);
    }
}

/// Whether a stop signal arrived since the outermost guard was created. If so, no new work should
/// start.
pub(crate) fn is_pressed() -> bool {
    lock_state().is_pressed
}

/// What a repeated signal does while stopped work finishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RepeatedSignal {
    /// Exits, because the user pressed Ctrl-C twice.
    Exit,
    /// Nothing, because a closing terminal may send several signals.
    Ignore,
}

async fn handle_signals(mut interrupts: SignalStream, on_repeat: RepeatedSignal) {
    while interrupts.recv().await.is_some() {
        let (callbacks, has_guards) = {
            let mut state = lock_state();
            state.is_pressed = true;
            (std::mem::take(&mut state.stop_callbacks), state.active_guards > 0)
        };
        if callbacks.is_empty() && has_guards && on_repeat == RepeatedSignal::Ignore {
            continue;
        }
        if callbacks.is_empty() {
            crh_git::stop_fetches();
            ui::exit_now()
        }
        for (_, stop) in callbacks {
            stop();
        }
    }
}
