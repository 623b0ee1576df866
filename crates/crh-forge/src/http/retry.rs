//! Decides whether and when to retry a request.
//!
//! Reads may be repeated. Writes are repeated only if the server certainly did nothing: a late
//! comment is better than two.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Number and delay of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgeRetryPolicy {
    /// Most requests, including the first.
    pub attempts: u32,
    /// Longest delay after the first failure. Doubles with each failure.
    pub first_wait: Duration,
    /// Longest delay of all. crh gives up if the host asks for more.
    pub longest_wait: Duration,
    /// First delay after a secondary rate limit without `Retry-After`. Doubles with each failure.
    pub limited_wait: Duration,
}

impl Default for ForgeRetryPolicy {
    /// Four requests with up to seven seconds of delays outlast a restart behind a load balancer.
    /// GitHub asks for a minute after a secondary limit. crh does not wait out the hour of a
    /// primary one.
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(120),
            limited_wait: Duration::from_secs(60),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestPurpose {
    /// Changes nothing.
    Read,
    /// Changes something each time it is sent.
    Write,
}

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestFailure {
    /// No connection: nothing arrived.
    NotSent,
    /// Sent, but no complete reply.
    Unanswered,
    /// Server error, before or after the request took effect, with an optional `Retry-After`.
    ServerError(Option<Duration>),
    /// Rate limited: nothing was done, with an optional `Retry-After`.
    RateLimited(Option<Duration>),
    /// Refused. A retry would be refused, too.
    Refused,
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    /// Retry after this delay.
    Wait(Duration),
    /// Retrying is useless or the attempts are used up.
    GiveUp,
    /// Unknown whether the write was applied: read the state first.
    Ambiguous,
}

/// Decides what to do after request number `attempt` (starting at 1) failed. `jitter` is between 0
/// and 1 and spreads out requests that failed together.
pub(crate) fn decide(
    failure: RequestFailure,
    purpose: RequestPurpose,
    attempt: u32,
    policy: &ForgeRetryPolicy,
    jitter: f64,
) -> RetryDecision {
    let (asked_for, first) = match (failure, purpose) {
        (RequestFailure::Refused, RequestPurpose::Read | RequestPurpose::Write) => {
            return RetryDecision::GiveUp;
        }
        (RequestFailure::Unanswered | RequestFailure::ServerError(_), RequestPurpose::Write) => {
            return RetryDecision::Ambiguous;
        }
        (RequestFailure::NotSent, RequestPurpose::Read | RequestPurpose::Write)
        | (RequestFailure::Unanswered, RequestPurpose::Read) => (None, policy.first_wait),
        (RequestFailure::ServerError(wait), RequestPurpose::Read) => (wait, policy.first_wait),
        (RequestFailure::RateLimited(wait), RequestPurpose::Read | RequestPurpose::Write) => {
            (wait, policy.limited_wait)
        }
    };
    if attempt >= policy.attempts {
        return RetryDecision::GiveUp;
    }
    let jitter = if jitter.is_nan() { 1.0 } else { jitter.clamp(0.0, 1.0) };
    let doubled = first.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
    match (asked_for, failure) {
        (Some(wait), _) if wait > policy.longest_wait => RetryDecision::GiveUp,
        // Never before the host's time, and spread out after it.
        (Some(wait), _) => RetryDecision::Wait(wait + policy.first_wait.mul_f64(jitter)),
        // A rate-limited client must wait for the whole delay.
        (None, RequestFailure::RateLimited(_)) => RetryDecision::Wait(
            doubled.min(policy.longest_wait) + policy.first_wait.mul_f64(jitter),
        ),
        (
            None,
            RequestFailure::NotSent
            | RequestFailure::Unanswered
            | RequestFailure::ServerError(_)
            | RequestFailure::Refused,
        ) => RetryDecision::Wait(doubled.min(policy.longest_wait).mul_f64(jitter)),
    }
}

/// A pseudo-random number between 0 and 1 (SplitMix64).
pub(crate) fn jitter(seed: &AtomicU64) -> f64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = seed.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    // An `f64` holds 53 bits exactly.
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    const POLICY: ForgeRetryPolicy = ForgeRetryPolicy {
        attempts: 4,
        first_wait: SECOND,
        longest_wait: Duration::from_secs(90),
        limited_wait: Duration::from_secs(60),
    };

    fn check(failure: RequestFailure, purpose: RequestPurpose, expected: [RetryDecision; 4]) {
        for (attempt, expected) in (1..).zip(expected) {
            let decided = decide(failure, purpose, attempt, &POLICY, 1.0);
            assert_eq!(decided, expected, "{failure:?}, {purpose:?}, attempt {attempt}");
        }
    }

    fn wait(seconds: u32) -> RetryDecision {
        RetryDecision::Wait(SECOND * seconds)
    }

    #[test]
    fn reads_are_retried_with_doubled_delays() {
        for trouble in
            [RequestFailure::NotSent, RequestFailure::Unanswered, RequestFailure::ServerError(None)]
        {
            check(
                trouble,
                RequestPurpose::Read,
                [wait(1), wait(2), wait(4), RetryDecision::GiveUp],
            );
        }
    }

    #[test]
    fn writes_are_retried_only_if_nothing_happened() {
        let ambiguous = [RetryDecision::Ambiguous; 4];
        check(RequestFailure::Unanswered, RequestPurpose::Write, ambiguous);
        check(RequestFailure::ServerError(None), RequestPurpose::Write, ambiguous);
        // A 503 with `Retry-After` may come from a proxy that had already passed the request on.
        check(RequestFailure::ServerError(Some(SECOND)), RequestPurpose::Write, ambiguous);
        check(
            RequestFailure::NotSent,
            RequestPurpose::Write,
            [wait(1), wait(2), wait(4), RetryDecision::GiveUp],
        );
    }

    #[test]
    fn rate_limit_is_waited_out_unless_too_long() {
        for purpose in [RequestPurpose::Read, RequestPurpose::Write] {
            let five = RequestFailure::RateLimited(Some(SECOND * 5));
            check(five, purpose, [wait(6), wait(6), wait(6), RetryDecision::GiveUp]);
            let unsaid = RequestFailure::RateLimited(None);
            check(unsaid, purpose, [wait(61), wait(91), wait(91), RetryDecision::GiveUp]);
            check(
                RequestFailure::RateLimited(Some(SECOND * 91)),
                purpose,
                [RetryDecision::GiveUp; 4],
            );
            check(
                RequestFailure::RateLimited(Some(Duration::MAX)),
                purpose,
                [RetryDecision::GiveUp; 4],
            );
        }
        let failing = RequestFailure::ServerError(Some(SECOND * 5));
        check(failing, RequestPurpose::Read, [wait(6), wait(6), wait(6), RetryDecision::GiveUp]);
    }

    #[test]
    fn refused_request_is_not_retried() {
        for purpose in [RequestPurpose::Read, RequestPurpose::Write] {
            check(RequestFailure::Refused, purpose, [RetryDecision::GiveUp; 4]);
        }
    }

    #[test]
    fn invalid_jitter_is_clamped() {
        for (jitter, expected) in [(0.0, 0), (-7.0, 0), (7.0, 1), (f64::NAN, 1)] {
            let decided = decide(RequestFailure::NotSent, RequestPurpose::Read, 1, &POLICY, jitter);
            assert_eq!(decided, wait(expected), "{jitter}");
        }
        let many = ForgeRetryPolicy { attempts: u32::MAX, ..POLICY };
        let decided = decide(RequestFailure::NotSent, RequestPurpose::Read, 1_000, &many, 1.0);
        assert_eq!(decided, RetryDecision::Wait(POLICY.longest_wait));
    }
}
