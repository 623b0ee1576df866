//! Tells the user about delays before retries, once for all requests that wait together.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::http::retry::RequestFailure;

/// Longest delay without an announcement: users hardly notice it.
const ANNOUNCE_ABOVE: Duration = Duration::from_secs(2);

/// Announces delays with a callback, and remembers when the last announced delay ends.
#[derive(Default)]
pub(crate) struct WaitNotifier {
    callback: OnceLock<fn(&str)>,
    announced_end: Mutex<Option<Instant>>,
}

impl WaitNotifier {
    /// Sets the callback. Later calls have no effect.
    pub(crate) fn set_callback(&self, callback: fn(&str)) {
        self.callback.get_or_init(|| callback);
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
        let (Some(callback), true) = (self.callback.get(), should_announce(failure, attempt, wait))
        else {
            return;
        };
        let end = now.checked_add(wait).unwrap_or(now);
        let mut announced_end = self.announced_end.lock().unwrap_or_else(PoisonError::into_inner);
        // Concurrent requests are rate limited together. One message is enough for all delays that
        // end at about the same time.
        if announced_end
            .is_none_or(|announced| end.saturating_duration_since(announced) > ANNOUNCE_ABOVE)
        {
            callback(&wait_message(host, failure, message, wait));
        }
        *announced_end = Some(announced_end.map_or(end, |announced| announced.max(end)));
    }
}

/// Whether to announce a delay. Short delays are announced only if the user has already waited: for
/// a timeout, or for an earlier attempt.
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
        RequestFailure::RateLimited(_) => {
            format!("rate limited by `{host}`: retrying in {seconds} s")
        }
        RequestFailure::ServerError(_) => {
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

    static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn concurrent_waits_are_announced_once() {
        let notifier = WaitNotifier::default();
        notifier.set_callback(|line| MESSAGES.lock().unwrap().push(line.to_owned()));
        let start = Instant::now();
        let announce_at = |tenths: u32, failure, attempt, wait| {
            let (now, message) = (start + SECOND * tenths / 10, "no data for 25 s");
            notifier.announce("github.com", failure, message, attempt, wait, now);
        };
        let limited = RequestFailure::RateLimited(Some(SECOND * 8));
        for tenths in 0..8 {
            announce_at(tenths, limited, 1, SECOND * 8);
        }
        announce_at(80, limited, 2, SECOND * 8);
        announce_at(200, RequestFailure::ServerError(None), 2, SECOND);
        announce_at(300, RequestFailure::Unanswered, 1, SECOND / 2);
        announce_at(400, RequestFailure::ServerError(Some(SECOND * 9)), 1, SECOND * 9);
        let expected = [
            "rate limited by `github.com`: retrying in 8 s",
            "rate limited by `github.com`: retrying in 8 s",
            "`github.com` failed: retrying in 1 s",
            "cannot reach `github.com` (no data for 25 s): retrying in 1 s",
            "`github.com` failed: retrying in 9 s",
        ];
        assert_eq!(*MESSAGES.lock().unwrap(), expected);
    }

    #[test]
    fn short_waits_are_not_announced() {
        let failing = RequestFailure::ServerError(None);
        for (failure, attempt, wait, expected) in [
            (RequestFailure::RateLimited(None), 1, SECOND, false),
            (RequestFailure::RateLimited(None), 1, SECOND * 3, true),
            (failing, 1, SECOND, false),
            (failing, 1, SECOND * 3, true),
            (failing, 2, SECOND, true),
            (RequestFailure::NotSent, 1, SECOND, false),
            (RequestFailure::NotSent, 2, SECOND, true),
            (RequestFailure::Unanswered, 1, SECOND, true),
        ] {
            let announced = should_announce(failure, attempt, wait);
            assert_eq!(announced, expected, "{failure:?} {attempt} {wait:?}");
        }
    }
}
