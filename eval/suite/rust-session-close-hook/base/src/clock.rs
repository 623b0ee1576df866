//! Time as the lobby sees it, so that tests can set it.

use std::time::{Duration, Instant};

pub trait Clock: Send + Sync {
    /// Time since some fixed point. Never goes back.
    fn now(&self) -> Duration;
}

pub struct MonotonicClock(Instant);

impl MonotonicClock {
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}
