//! Announces waits, once for all requests that wait together.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::http::retry::RequestFailure;

/// Shorter waits are not announced.
const ANNOUNCE_ABOVE: Duration = Duration::from_secs(2);

/// Callback for announcements, and the end of the announced wait.
#[derive(Default)]
pub(crate) struct WaitNotifier {
    callback: OnceLock<fn(&str)>,
    announced_end: Mutex<Option<Instant>>,
}

impl WaitNotifier {
    /// Sets the callback. The first one stays.
    pub(crate) fn set_callback(&self, tell: fn(&str)) {
        self.callback.get_or_init(|| tell);
    }

    /// Announces a wait that starts `now`, after request number `attempt` to `host` failed.
    pub(crate) fn announce(
        &self,
        host: &str,
        failure: RequestFailure,
        message: &str,
        attempt: u32,
        wait: Duration,
        now: Instant,
    ) {
        let (Some(tell), true) = (self.callback.get(), should_announce(failure, attempt, wait))
        else {
            return;
        };
        let end = now.checked_add(wait).unwrap_or(now);
        let mut until = self.announced_end.lock().unwrap_or_else(PoisonError::into_inner);
        // Concurrent requests are rate limited together.
        if until.is_none_or(|told| end.saturating_duration_since(told) > ANNOUNCE_ABOVE) {
            tell(&wait_message(host, failure, message, wait));
        }
        *until = Some(until.map_or(end, |told| told.max(end)));
    }
}

/// A short wait is announced if time has already passed: a timeout, or a second failure.
fn should_announce(failure: RequestFailure, attempt: u32, wait: Duration) -> bool {
    let has_taken_time = match failure {
        RequestFailure::Unanswered => true,
        RequestFailure::NotSent | RequestFailure::ServerError(_) => attempt > 1,
        RequestFailure::RateLimited(_) | RequestFailure::Refused => false,
    };
    has_taken_time || wait > ANNOUNCE_ABOVE
}

fn wait_message(host: &str, failure: RequestFailure, message: &str, wait: Duration) -> String {
    let seconds = wait.as_secs_f64().ceil();
    match failure {
        RequestFailure::RateLimited(_) | RequestFailure::ServerError(Some(_)) => {
            format!("rate limited by `{host}`: retrying in {seconds} s")
        }
        RequestFailure::ServerError(None) => {
            format!("`{host}` failed: retrying in {seconds} s")
        }
        RequestFailure::NotSent | RequestFailure::Unanswered | RequestFailure::Refused => {
            format!("cannot reach `{host}` ({message}): retrying in {seconds} s")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn concurrent_waits_are_announced_once() {
        let waiting = WaitNotifier::default();
        waiting.set_callback(|line| TOLD.lock().unwrap().push(line.to_owned()));
        let start = Instant::now();
        let at = |tenths: u32, trouble, attempt, wait| {
            let (now, message) = (start + SECOND * tenths / 10, "no data for 25 s");
            waiting.announce("github.com", trouble, message, attempt, wait, now);
        };
        let limited = RequestFailure::RateLimited(Some(SECOND * 8));
        for tenths in 0..8 {
            at(tenths, limited, 1, SECOND * 8);
        }
        at(80, limited, 2, SECOND * 8);
        at(200, RequestFailure::ServerError(None), 2, SECOND);
        at(300, RequestFailure::Unanswered, 1, SECOND / 2);
        let expected = [
            "rate limited by `github.com`: retrying in 8 s",
            "rate limited by `github.com`: retrying in 8 s",
            "`github.com` failed: retrying in 1 s",
            "cannot reach `github.com` (no data for 25 s): retrying in 1 s",
        ];
        assert_eq!(*TOLD.lock().unwrap(), expected);
    }

    #[test]
    fn short_waits_are_not_announced() {
        let failing = RequestFailure::ServerError(None);
        for (trouble, attempt, wait, told) in [
            (RequestFailure::RateLimited(None), 1, SECOND, false),
            (RequestFailure::RateLimited(None), 1, SECOND * 3, true),
            (failing, 1, SECOND, false),
            (failing, 1, SECOND * 3, true),
            (failing, 2, SECOND, true),
            (RequestFailure::NotSent, 1, SECOND, false),
            (RequestFailure::NotSent, 2, SECOND, true),
            (RequestFailure::Unanswered, 1, SECOND, true),
        ] {
            let found = should_announce(trouble, attempt, wait);
            assert_eq!(found, told, "{trouble:?} {attempt} {wait:?}");
        }
    }
}
