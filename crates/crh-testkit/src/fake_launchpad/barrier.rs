//! Requests that wait for each other: whoever asks for one thing after another never has several under way.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long requests wait for others that do not come: several times what a slow machine takes to send them.
const PATIENCE: Duration = Duration::from_secs(20);

/// Requests that are answered when so many of them wait at the same time.
#[derive(Debug, Clone)]
pub struct Gathering(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    wanted: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// So many wait.
    Waiting(usize),
    /// As many as were wanted did.
    Complete,
    /// Nobody waits any more: too few came.
    GivenUp,
}

impl Gathering {
    pub(super) fn new(wanted: usize) -> Self {
        let state = Mutex::new(State::Waiting(0));
        Self(Arc::new(Shared { wanted, state, changed: Condvar::new() }))
    }

    /// Whether as many came at the same time.
    pub fn is_complete(&self) -> bool {
        matches!(*self.state(), State::Complete)
    }

    /// Waits for the others.
    pub(super) fn join(&self) {
        let mut state = self.state();
        match *state {
            State::Complete | State::GivenUp => return,
            State::Waiting(others) if others + 1 >= self.0.wanted => *state = State::Complete,
            State::Waiting(others) => *state = State::Waiting(others + 1),
        }
        self.0.changed.notify_all();
        let is_waiting = |state: &mut State| matches!(state, State::Waiting(_));
        let waited = self.0.changed.wait_timeout_while(state, PATIENCE, is_waiting);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_waiting(&mut state) {
            *state = State::GivenUp;
            self.0.changed.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
