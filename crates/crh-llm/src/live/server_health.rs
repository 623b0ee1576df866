//! What crh knows about a server of this machine or of a private network: whether it answered a
//! request, or refused connections. No I/O.

use std::time::{Duration, Instant};

use crate::{FailureCost, ModelError};

/// How long crh does not ask a stopped server again. Then one request asks it: the user may start
/// the server while a long command such as `crh eval` still runs.
const STOPPED_PAUSE: Duration = Duration::from_secs(3);
/// Minimum time between two failures before the server counts as stopped. Requests that fail at
/// the same time say no more than one of them. Shorter than the delay of a retry.
const STOPPED_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) enum ServerHealth {
    #[default]
    Unknown,
    /// No server ran.
    Stopped { first_failure: Instant, last_request: Instant, error: ModelError },
    /// The server answered a request.
    Answered,
}

impl ServerHealth {
    /// Updates the state after a request. A server that answered before probably restarts, so its
    /// failure becomes one that is retried.
    pub(super) fn update<T>(
        &mut self,
        reply: Result<T, ModelError>,
        now: Instant,
    ) -> Result<T, ModelError> {
        match &reply {
            Err(ModelError::NoServer { message }) if matches!(self, Self::Answered) => {
                let (message, spent) = (message.clone(), FailureCost::Nothing);
                return Err(ModelError::Transport { message, spent });
            }
            Err(error @ ModelError::NoServer { .. }) => {
                let first_failure = match self {
                    Self::Stopped { first_failure, .. } => *first_failure,
                    Self::Unknown | Self::Answered => now,
                };
                *self = Self::Stopped { first_failure, last_request: now, error: error.clone() };
            }
            Ok(_) => *self = Self::Answered,
            Err(_) if matches!(self, Self::Answered) => {}
            Err(_) => *self = Self::Unknown,
        }
        reply
    }

    /// The error that a request would probably get now. After a pause, one caller gets `None` and
    /// asks the server, while the others still get the error.
    pub(super) fn expected_error(&mut self, now: Instant) -> Option<ModelError> {
        let Self::Stopped { first_failure, last_request, error } = self else { return None };
        if *last_request - *first_failure < STOPPED_AFTER {
            return None;
        }
        if now - *last_request >= STOPPED_PAUSE {
            *last_request = now;
            return None;
        }
        Some(error.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn refused() -> Result<(), ModelError> {
        Err(ModelError::NoServer { message: "refused".to_owned() })
    }

    #[test]
    fn one_caller_asks_a_stopped_server_after_a_pause() {
        let (mut state, start) = (ServerHealth::default(), Instant::now());
        for _ in 0..2 {
            assert_eq!(state.update(refused(), start), refused());
            assert_eq!(state.expected_error(start), None, "failures at the same time");
        }
        let retry = start + 2 * SECOND;
        assert_eq!(state.update(refused(), retry), refused());
        assert_eq!(state.expected_error(retry + SECOND), refused().err());
        let later = retry + STOPPED_PAUSE;
        assert_eq!(state.expected_error(later), None);
        assert_eq!(state.expected_error(later), refused().err(), "only one caller asks");
        assert_eq!(state.update(Ok(()), later), Ok(()));
        assert_eq!(state.expected_error(later), None);
    }

    #[test]
    fn refusal_of_a_server_that_answered_is_retried() {
        let (mut state, start) = (ServerHealth::default(), Instant::now());
        assert_eq!(state.update(Ok(()), start), Ok(()));
        for seconds in 1..4_u32 {
            let now = start + seconds * SECOND;
            let reply = state.update(refused(), now);
            assert!(matches!(reply, Err(ModelError::Transport { .. })), "{reply:?}");
            assert_eq!(state.expected_error(now), None);
        }
    }
}
