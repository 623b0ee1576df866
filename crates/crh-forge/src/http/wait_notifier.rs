//! Tells that there is a wait and why, once for all requests that wait together.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::asking::retry::Trouble;

/// A shorter wait is not told: nobody wonders about it.
const UNTOLD: Duration = Duration::from_secs(2);

/// Who is told about waits, and until when those last that were told.
#[derive(Default)]
pub(crate) struct Waiting {
    tell: OnceLock<fn(&str)>,
    until: Mutex<Option<Instant>>,
}

impl Waiting {
    /// Tells it to somebody. The first one stays.
    pub(crate) fn tell_by(&self, tell: fn(&str)) {
        self.tell.get_or_init(|| tell);
    }

    /// Tells of a wait that begins `now`, after the `attempt`th request to `host` failed.
    pub(crate) fn begins(
        &self,
        host: &str,
        trouble: Trouble,
        message: &str,
        attempt: u32,
        wait: Duration,
        now: Instant,
    ) {
        let (Some(tell), true) = (self.tell.get(), is_worth_telling(trouble, attempt, wait)) else {
            return;
        };
        let end = now.checked_add(wait).unwrap_or(now);
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        // Requests go side by side, and are turned away together.
        if until.is_none_or(|told| end.saturating_duration_since(told) > UNTOLD) {
            tell(&sentence(host, trouble, message, wait));
        }
        *until = Some(until.map_or(end, |told| told.max(end)));
    }
}

/// A short wait is told if time has passed already: in silence, or over a second failure.
fn is_worth_telling(trouble: Trouble, attempt: u32, wait: Duration) -> bool {
    let has_taken_time = match trouble {
        Trouble::Unanswered => true,
        Trouble::NotSent | Trouble::Failing(_) => attempt > 1,
        Trouble::Limited(_) | Trouble::Refused => false,
    };
    has_taken_time || wait > UNTOLD
}

fn sentence(host: &str, trouble: Trouble, message: &str, wait: Duration) -> String {
    let seconds = wait.as_secs_f64().ceil();
    match trouble {
        Trouble::Limited(_) | Trouble::Failing(Some(_)) => {
            format!("`{host}` asks to wait {seconds} s")
        }
        Trouble::Failing(None) => format!("`{host}` fails; it is asked again in {seconds} s"),
        Trouble::NotSent | Trouble::Unanswered | Trouble::Refused => {
            format!("`{host}` could not be asked: {message}; it is asked again in {seconds} s")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_wait_is_told_once_however_many_requests_wait() {
        let waiting = Waiting::default();
        waiting.tell_by(|line| TOLD.lock().unwrap().push(line.to_owned()));
        let start = Instant::now();
        let at = |tenths: u32, trouble, attempt, wait| {
            let (now, message) = (start + SECOND * tenths / 10, "nothing came for 25 s");
            waiting.begins("github.com", trouble, message, attempt, wait, now);
        };
        let limited = Trouble::Limited(Some(SECOND * 8));
        for tenths in 0..8 {
            at(tenths, limited, 1, SECOND * 8);
        }
        at(80, limited, 2, SECOND * 8);
        at(200, Trouble::Failing(None), 2, SECOND);
        at(300, Trouble::Unanswered, 1, SECOND / 2);
        let expected = [
            "`github.com` asks to wait 8 s",
            "`github.com` asks to wait 8 s",
            "`github.com` fails; it is asked again in 1 s",
            "`github.com` could not be asked: nothing came for 25 s; it is asked again in 1 s",
        ];
        assert_eq!(*TOLD.lock().unwrap(), expected);
    }

    #[test]
    fn what_is_over_at_once_is_not_told() {
        let failing = Trouble::Failing(None);
        for (trouble, attempt, wait, told) in [
            (Trouble::Limited(None), 1, SECOND, false),
            (Trouble::Limited(None), 1, SECOND * 3, true),
            (failing, 1, SECOND, false),
            (failing, 1, SECOND * 3, true),
            (failing, 2, SECOND, true),
            (Trouble::NotSent, 1, SECOND, false),
            (Trouble::NotSent, 2, SECOND, true),
            (Trouble::Unanswered, 1, SECOND, true),
        ] {
            let found = is_worth_telling(trouble, attempt, wait);
            assert_eq!(found, told, "{trouble:?} {attempt} {wait:?}");
        }
    }
}
