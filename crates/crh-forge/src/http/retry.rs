//! Decides whether and when to retry a request.
//!
//! crh repeats reads freely, but writes only if the server certainly did nothing: a comment that is
//! posted late is better than one that is posted twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Number and delay of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgeRetryPolicy {
    /// Maximum number of requests, including the first.
    pub attempts: u32,
    /// Maximum delay after the first failure. The maximum doubles with each further failure.
    pub first_wait: Duration,
    /// Longest delay after any failure. crh gives up if the host asks for a longer one.
    pub longest_wait: Duration,
    /// First delay after a rate limit for which the host names no delay. Doubles with each failure.
    pub rate_limit_wait: Duration,
}

impl Default for ForgeRetryPolicy {
    /// Four requests with up to seven seconds of delays outlast a restart behind a load balancer.
    /// GitHub asks clients to wait a minute after a secondary rate limit. A primary rate limit
    /// lasts up to an hour. crh waits for its end only if that is at most two minutes away.
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(120),
            rate_limit_wait: Duration::from_secs(60),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestPurpose {
    /// Changes nothing that matters, even if it is sent twice.
    Read,
    /// Changes something each time it is sent.
    Write,
}

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestFailure {
    /// No connection. The request did not arrive.
    NotSent,
    /// The request was sent, but no complete reply arrived.
    Unanswered,
    /// Server error, with the delay of `Retry-After`, if any. The request may have taken effect.
    ServerError(Option<Duration>),
    /// Rate limited, with the delay that the host asks for, if any. The request had no effect.
    RateLimited(Option<Duration>),
    /// The host refused the request and would refuse a retry, too.
    Refused,
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    /// Retry after this delay.
    Wait(Duration),
    /// Retrying is useless, the attempts are used up, or the host asks for too long a delay.
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
    let (retry_after, first_delay) = match (failure, purpose) {
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
            (wait, policy.rate_limit_wait)
        }
    };
    if attempt >= policy.attempts {
        return RetryDecision::GiveUp;
    }
    let jitter = if jitter.is_nan() { 1.0 } else { jitter.clamp(0.0, 1.0) };
    let backoff = first_delay.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
    match (retry_after, failure) {
        (Some(wait), _) if wait > policy.longest_wait => RetryDecision::GiveUp,
        // At least as long as the host asks for, plus jitter.
        (Some(wait), _) => RetryDecision::Wait(wait + policy.first_wait.mul_f64(jitter)),
        // No jitter in the delay itself: a rate-limited client must wait for all of it.
        (None, RequestFailure::RateLimited(_)) => RetryDecision::Wait(
            backoff.min(policy.longest_wait) + policy.first_wait.mul_f64(jitter),
        ),
        (
            None,
            RequestFailure::NotSent
            | RequestFailure::Unanswered
            | RequestFailure::ServerError(_)
            | RequestFailure::Refused,
        ) => RetryDecision::Wait(backoff.min(policy.longest_wait).mul_f64(jitter)),
    }
}

/// A pseudo-random number between 0 and 1 (SplitMix64).
pub(crate) fn jitter(seed: &AtomicU64) -> f64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut bits = seed.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    // An `f64` holds 53 bits exactly.
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    const POLICY: ForgeRetryPolicy = ForgeRetryPolicy {
        attempts: 4,
        first_wait: SECOND,
        longest_wait: Duration::from_secs(90),
        rate_limit_wait: Duration::from_secs(60),
    };

    fn check(failure: RequestFailure, purpose: RequestPurpose, expected: [RetryDecision; 4]) {
        for (attempt, expected) in (1..).zip(expected) {
            let decision = decide(failure, purpose, attempt, &POLICY, 1.0);
            assert_eq!(decision, expected, "{failure:?}, {purpose:?}, attempt {attempt}");
        }
    }

    fn wait(seconds: u32) -> RetryDecision {
        RetryDecision::Wait(SECOND * seconds)
    }

    #[test]
    fn reads_are_retried_with_doubled_delays() {
        for failure in
            [RequestFailure::NotSent, RequestFailure::Unanswered, RequestFailure::ServerError(None)]
        {
            check(
                failure,
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
            let without_delay = RequestFailure::RateLimited(None);
            check(without_delay, purpose, [wait(61), wait(91), wait(91), RetryDecision::GiveUp]);
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
            let decision =
                decide(RequestFailure::NotSent, RequestPurpose::Read, 1, &POLICY, jitter);
            assert_eq!(decision, wait(expected), "{jitter}");
        }
        let many = ForgeRetryPolicy { attempts: u32::MAX, ..POLICY };
        let decision = decide(RequestFailure::NotSent, RequestPurpose::Read, 1_000, &many, 1.0);
        assert_eq!(decision, RetryDecision::Wait(POLICY.longest_wait));
    }
}
