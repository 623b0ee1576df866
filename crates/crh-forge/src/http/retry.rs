//! Whether a request is made again, and when: a pure decision.
//!
//! What reads may be repeated. What writes is repeated only if it surely did nothing: a comment that is posted twice is
//! worse than one that is posted late.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often and how long to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most requests for one answer, the first one included.
    pub attempts: u32,
    /// The longest wait after the first failure; it doubles with each one.
    pub first_wait: Duration,
    /// The longest of all waits. A host that asks for more is not waited for.
    pub longest_wait: Duration,
    /// The first wait after a secondary limit that names no time; it doubles with each one.
    pub limited_wait: Duration,
}

impl Default for RetryPolicy {
    /// Four requests: the waits add up to seven seconds, which outlasts a restart behind a balancer. GitHub asks for a minute
    /// after a secondary limit; the hour of a primary one is not waited for.
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(120),
            limited_wait: Duration::from_secs(60),
        }
    }
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It changes nothing.
    Read,
    /// It changes something, and again if it is made again.
    Write,
}

/// How a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// There was no connection, so that nothing arrived.
    NotSent,
    /// It was sent, and no whole answer came back.
    Unanswered,
    /// The server failed, before or after it did what it was asked; perhaps it says when to come back.
    Failing(Option<Duration>),
    /// Nothing was done, since too much was asked for; perhaps it says for how long.
    Limited(Option<Duration>),
    /// It was refused, and would be again.
    Refused,
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Ask again after this long.
    Wait(Duration),
    /// It is no use, or enough has been tried.
    GiveUp,
    /// Nobody knows whether it was applied, and somebody has to look.
    Ambiguous,
}

/// What to do after the `attempt`th request (the first is 1) failed. `jitter` is a number from 0 to 1: without it, requests that
/// were turned away together would come back together.
pub(crate) fn after(
    trouble: Trouble,
    purpose: Purpose,
    attempt: u32,
    policy: &RetryPolicy,
    jitter: f64,
) -> Decision {
    let (asked_for, first) = match (trouble, purpose) {
        (Trouble::Refused, Purpose::Read | Purpose::Write) => return Decision::GiveUp,
        (Trouble::Unanswered | Trouble::Failing(_), Purpose::Write) => return Decision::Ambiguous,
        (Trouble::NotSent, Purpose::Read | Purpose::Write)
        | (Trouble::Unanswered, Purpose::Read) => (None, policy.first_wait),
        (Trouble::Failing(wait), Purpose::Read) => (wait, policy.first_wait),
        (Trouble::Limited(wait), Purpose::Read | Purpose::Write) => (wait, policy.limited_wait),
    };
    if attempt >= policy.attempts {
        return Decision::GiveUp;
    }
    let jitter = if jitter.is_nan() { 1.0 } else { jitter.clamp(0.0, 1.0) };
    let doubled = first.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
    match (asked_for, trouble) {
        (Some(wait), _) if wait > policy.longest_wait => Decision::GiveUp,
        // Never before the host's time, and not all at once after it.
        (Some(wait), _) => Decision::Wait(wait + policy.first_wait.mul_f64(jitter)),
        // Who is limited has to stay away for the whole of it.
        (None, Trouble::Limited(_)) => {
            Decision::Wait(doubled.min(policy.longest_wait) + policy.first_wait.mul_f64(jitter))
        }
        (None, Trouble::NotSent | Trouble::Unanswered | Trouble::Failing(_) | Trouble::Refused) => {
            Decision::Wait(doubled.min(policy.longest_wait).mul_f64(jitter))
        }
    }
}

/// A number from 0 to 1 that looks random and follows from the seed (SplitMix64).
pub(crate) fn jitter(seed: &AtomicU64) -> f64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = seed.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    // The upper 53 bits are as many as an `f64` holds exactly.
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    const POLICY: RetryPolicy = RetryPolicy {
        attempts: 4,
        first_wait: SECOND,
        longest_wait: Duration::from_secs(90),
        limited_wait: Duration::from_secs(60),
    };

    fn check(trouble: Trouble, purpose: Purpose, expected: [Decision; 4]) {
        for (attempt, expected) in (1..).zip(expected) {
            let decided = after(trouble, purpose, attempt, &POLICY, 1.0);
            assert_eq!(decided, expected, "{trouble:?}, {purpose:?}, attempt {attempt}");
        }
    }

    fn wait(seconds: u32) -> Decision {
        Decision::Wait(SECOND * seconds)
    }

    #[test]
    fn what_reads_is_tried_again_with_doubled_waits() {
        for trouble in [Trouble::NotSent, Trouble::Unanswered, Trouble::Failing(None)] {
            check(trouble, Purpose::Read, [wait(1), wait(2), wait(4), Decision::GiveUp]);
        }
    }

    #[test]
    fn what_writes_is_tried_again_only_if_it_surely_did_nothing() {
        let ambiguous = [Decision::Ambiguous; 4];
        check(Trouble::Unanswered, Purpose::Write, ambiguous);
        check(Trouble::Failing(None), Purpose::Write, ambiguous);
        // A 503 with `Retry-After` may come from something in front of the server that had passed the request on.
        check(Trouble::Failing(Some(SECOND)), Purpose::Write, ambiguous);
        check(Trouble::NotSent, Purpose::Write, [wait(1), wait(2), wait(4), Decision::GiveUp]);
    }

    #[test]
    fn a_limit_is_waited_out_by_both_unless_it_takes_too_long() {
        for purpose in [Purpose::Read, Purpose::Write] {
            let five = Trouble::Limited(Some(SECOND * 5));
            check(five, purpose, [wait(6), wait(6), wait(6), Decision::GiveUp]);
            let unsaid = Trouble::Limited(None);
            check(unsaid, purpose, [wait(61), wait(91), wait(91), Decision::GiveUp]);
            check(Trouble::Limited(Some(SECOND * 91)), purpose, [Decision::GiveUp; 4]);
            check(Trouble::Limited(Some(Duration::MAX)), purpose, [Decision::GiveUp; 4]);
        }
        let failing = Trouble::Failing(Some(SECOND * 5));
        check(failing, Purpose::Read, [wait(6), wait(6), wait(6), Decision::GiveUp]);
    }

    #[test]
    fn what_is_refused_is_not_asked_again() {
        for purpose in [Purpose::Read, Purpose::Write] {
            check(Trouble::Refused, purpose, [Decision::GiveUp; 4]);
        }
    }

    #[test]
    fn a_jitter_outside_its_range_still_gives_a_wait_within_bounds() {
        for (jitter, expected) in [(0.0, 0), (-7.0, 0), (7.0, 1), (f64::NAN, 1)] {
            let decided = after(Trouble::NotSent, Purpose::Read, 1, &POLICY, jitter);
            assert_eq!(decided, wait(expected), "{jitter}");
        }
        let many = RetryPolicy { attempts: u32::MAX, ..POLICY };
        let decided = after(Trouble::NotSent, Purpose::Read, 1_000, &many, 1.0);
        assert_eq!(decided, Decision::Wait(POLICY.longest_wait));
    }
}
