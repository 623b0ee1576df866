//! A barrier that proves concurrency: sequential requests never complete it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long requests wait at the barrier: several times what a slow machine needs.
const BARRIER_TIMEOUT: Duration = Duration::from_secs(20);

/// Answers requests once enough of them wait at the same time.
#[derive(Debug, Clone)]
pub struct RequestBarrier(Arc<BarrierShared>);

#[derive(Debug)]
struct BarrierShared {
    required: usize,
    state: Mutex<BarrierState>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy)]
enum BarrierState {
    /// Number of waiting requests.
    Waiting(usize),
    /// Enough requests waited.
    Complete,
    /// Too few came in time.
    GivenUp,
}

impl RequestBarrier {
    pub(super) fn new(required: usize) -> Self {
        let state = Mutex::new(BarrierState::Waiting(0));
        Self(Arc::new(BarrierShared { required, state, changed: Condvar::new() }))
    }

    /// Whether enough requests waited at the same time.
    pub fn is_complete(&self) -> bool {
        matches!(*self.state(), BarrierState::Complete)
    }

    /// Waits for the others.
    pub(super) fn join(&self) {
        let mut state = self.state();
        match *state {
            BarrierState::Complete | BarrierState::GivenUp => return,
            BarrierState::Waiting(others) if others + 1 >= self.0.required => {
                *state = BarrierState::Complete;
            }
            BarrierState::Waiting(others) => *state = BarrierState::Waiting(others + 1),
        }
        self.0.changed.notify_all();
        let is_waiting = |state: &mut BarrierState| matches!(state, BarrierState::Waiting(_));
        let waited = self.0.changed.wait_timeout_while(state, BARRIER_TIMEOUT, is_waiting);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_waiting(&mut state) {
            *state = BarrierState::GivenUp;
            self.0.changed.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, BarrierState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
