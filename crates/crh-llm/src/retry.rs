//! Retry policy: decides whether and when to retry a failed request. The caller must reserve money
//! before each retry.

use std::time::Duration;

use crate::ModelError;

/// Delay between two requests to a server that loads the model. Models load within seconds to
/// minutes.
const LOADING_DELAY: Duration = Duration::from_secs(5);
/// How long crh waits for a server that loads the model: a slow disk reads 20 GB in that time.
const LOADING_MAX: Duration = Duration::from_secs(300);
/// Maximum number of requests to a server on this machine that stops in the middle of a reply. Each
/// request takes minutes, and such a server rarely recovers.
const STALLED_ATTEMPTS: u32 = 2;
/// Maximum number of requests to a server that never answered and does not run. It may be starting.
const NO_SERVER_ATTEMPTS: u32 = 2;
const NO_SERVER_DELAY: Duration = Duration::from_secs(2);

/// Number and delay of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum requests for one reply, including the first.
    pub max_attempts: u32,
    /// Maximum delay after the first failure. The maximum doubles with each further failure.
    pub first_wait: Duration,
    /// Upper limit of the delays that crh chooses. If the vendor asks for a longer delay, crh gives
    /// up.
    pub longest_wait: Duration,
}

/// Number of failed requests for one reply. Requests that find the server loading the model do not
/// count, because they have a time limit of their own.
#[derive(Debug, Clone, Copy, Default)]
pub struct FailedRequests(u32);

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelRetryDecision {
    /// Retry after this delay.
    Wait(Duration),
    /// Do not retry.
    GiveUp,
}

impl Default for RetryPolicy {
    /// Five requests: the delays between them add up to at most half a minute, which outlasts a
    /// typical overload. If the vendor asks for a delay of up to a minute, crh waits that long,
    /// which outlasts a per-minute rate limit.
    fn default() -> Self {
        Self {
            max_attempts: 5,
            first_wait: Duration::from_secs(2),
            longest_wait: Duration::from_secs(60),
        }
    }
}

impl FailedRequests {
    /// Counts a failure and decides what to do. `jitter` is a random number from 0 to 1 that
    /// spreads retries of parallel runs.
    pub fn decide(
        &mut self,
        error: &ModelError,
        policy: &RetryPolicy,
        jitter: f64,
    ) -> ModelRetryDecision {
        self.0 = self.0.saturating_add(u32::from(!matches!(error, ModelError::Loading { .. })));
        decide(error, self.0, policy, jitter)
    }
}

/// Decides what to do after request number `attempt` (counted from 1) failed.
fn decide(
    error: &ModelError,
    attempt: u32,
    policy: &RetryPolicy,
    jitter: f64,
) -> ModelRetryDecision {
    let retry_after = match error {
        ModelError::Loading { waited, .. } if *waited < LOADING_MAX => {
            return ModelRetryDecision::Wait(LOADING_DELAY);
        }
        ModelError::NoServer { .. } if attempt < NO_SERVER_ATTEMPTS.min(policy.max_attempts) => {
            return ModelRetryDecision::Wait(NO_SERVER_DELAY);
        }
        ModelError::Stalled { .. } if attempt < STALLED_ATTEMPTS => None,
        ModelError::RateLimited { retry_after, .. }
        | ModelError::Overloaded { retry_after, .. } => *retry_after,
        ModelError::Broken { .. } | ModelError::CutStream { .. } | ModelError::Transport { .. } => {
            None
        }
        ModelError::ContextFull { .. }
        | ModelError::Refused { .. }
        | ModelError::BadKey { .. }
        | ModelError::NoKey { .. }
        | ModelError::NoCredit { .. }
        | ModelError::BadRequest { .. }
        | ModelError::PromptCut { .. }
        | ModelError::EndlessReply { .. }
        | ModelError::Loading { .. }
        | ModelError::Stalled { .. }
        | ModelError::NoServer { .. }
        | ModelError::NotRecorded { .. } => return ModelRetryDecision::GiveUp,
    };
    if attempt >= policy.max_attempts {
        return ModelRetryDecision::GiveUp;
    }
    let jitter = if jitter.is_nan() { 1.0 } else { jitter.clamp(0.0, 1.0) };
    match retry_after {
        Some(wait) if wait > policy.longest_wait => ModelRetryDecision::GiveUp,
        // Wait at least as long as the vendor asks. The jitter spreads the retries of parallel
        // runs.
        Some(wait) => ModelRetryDecision::Wait(wait + policy.first_wait.mul_f64(jitter)),
        None => {
            let factor = 2_u32.saturating_pow(attempt.saturating_sub(1));
            let max_wait = policy.first_wait.saturating_mul(factor).min(policy.longest_wait);
            ModelRetryDecision::Wait(max_wait.mul_f64(jitter))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FailureCost, LengthUnit};

    const SECOND: Duration = Duration::from_secs(1);

    fn check(error: &ModelError, attempt: u32, jitter: f64, expected: ModelRetryDecision) {
        let policy = RetryPolicy {
            max_attempts: 4,
            first_wait: SECOND,
            longest_wait: Duration::from_secs(3),
        };
        assert_eq!(decide(error, attempt, &policy, jitter), expected, "{error}, attempt {attempt}");
    }

    fn rate_limits(retry_after: Option<Duration>) -> [ModelError; 2] {
        let message = String::new();
        [
            ModelError::RateLimited { retry_after, message: message.clone() },
            ModelError::Overloaded { retry_after, message },
        ]
    }

    #[test]
    fn transient_errors_double_the_delay() {
        let message = String::new();
        let mut errors = rate_limits(None).to_vec();
        errors.push(ModelError::CutStream { message: message.clone() });
        errors.push(ModelError::Broken { message: message.clone() });
        for spent in [FailureCost::Nothing, FailureCost::Unknown] {
            errors.push(ModelError::Transport { message: message.clone(), spent });
        }
        for error in &errors {
            check(error, 1, 1.0, ModelRetryDecision::Wait(SECOND));
            check(error, 2, 1.0, ModelRetryDecision::Wait(2 * SECOND));
            check(error, 3, 1.0, ModelRetryDecision::Wait(3 * SECOND));
            check(error, 4, 1.0, ModelRetryDecision::GiveUp);
            check(error, u32::MAX, 1.0, ModelRetryDecision::GiveUp);
        }
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        let message = String::new();
        for error in [
            ModelError::ContextFull { message: message.clone() },
            ModelError::Refused { message: message.clone() },
            ModelError::BadKey { message: message.clone() },
            ModelError::NoKey { message: message.clone() },
            ModelError::NoCredit { message: message.clone() },
            ModelError::BadRequest { message: message.clone() },
            ModelError::PromptCut { sent: 2, read: 1 },
            ModelError::EndlessReply { max: 2, unit: LengthUnit::Words, tokens: 1 },
            ModelError::NotRecorded { message },
        ] {
            check(&error, 1, 0.0, ModelRetryDecision::GiveUp);
        }
    }

    #[test]
    fn loading_server_gets_a_bounded_time() {
        let loading = |waited| ModelError::Loading { message: String::new(), waited };
        check(&loading(Duration::ZERO), 1, 0.0, ModelRetryDecision::Wait(LOADING_DELAY));
        let almost = LOADING_MAX - SECOND;
        check(&loading(almost), 60, 0.0, ModelRetryDecision::Wait(LOADING_DELAY));
        check(&loading(LOADING_MAX), 1, 0.0, ModelRetryDecision::GiveUp);
    }

    #[test]
    fn requests_to_a_loading_server_do_not_count() {
        let loading = ModelError::Loading { message: String::new(), waited: SECOND };
        let [_, overloaded] = rate_limits(None);
        let policy = RetryPolicy { max_attempts: 3, ..RetryPolicy::default() };
        let mut failed = FailedRequests::default();
        let mut waits = |error| failed.decide(error, &policy, 1.0) != ModelRetryDecision::GiveUp;
        assert!((0..50).all(|_| waits(&loading)));
        assert_eq!([(); 3].map(|()| waits(&overloaded)), [true, true, false]);
    }

    #[test]
    fn stalled_reply_is_retried_once() {
        let stalled = ModelError::Stalled { message: String::new() };
        check(&stalled, 1, 1.0, ModelRetryDecision::Wait(SECOND));
        check(&stalled, 2, 1.0, ModelRetryDecision::GiveUp);
    }

    #[test]
    fn stopped_server_is_asked_again_once() {
        let stopped = ModelError::NoServer { message: String::new() };
        check(&stopped, 1, 0.0, ModelRetryDecision::Wait(NO_SERVER_DELAY));
        check(&stopped, 2, 0.0, ModelRetryDecision::GiveUp);
    }

    #[test]
    fn vendor_delay_is_kept_up_to_the_maximum() {
        for error in rate_limits(Some(3 * SECOND)) {
            check(&error, 1, 0.0, ModelRetryDecision::Wait(3 * SECOND));
            check(&error, 3, 0.5, ModelRetryDecision::Wait(Duration::from_millis(3_500)));
            check(&error, 4, 0.5, ModelRetryDecision::GiveUp);
        }
        for error in rate_limits(Some(Duration::MAX)) {
            check(&error, 1, 1.0, ModelRetryDecision::GiveUp);
        }
    }

    #[test]
    fn invalid_jitter_is_clamped() {
        let error = ModelError::CutStream { message: String::new() };
        check(&error, 1, 0.0, ModelRetryDecision::Wait(Duration::ZERO));
        check(&error, 1, -7.0, ModelRetryDecision::Wait(Duration::ZERO));
        check(&error, 1, 7.0, ModelRetryDecision::Wait(SECOND));
        check(&error, 1, f64::NAN, ModelRetryDecision::Wait(SECOND));
    }

    #[test]
    fn many_attempts_do_not_overflow() {
        let policy = RetryPolicy { max_attempts: u32::MAX, ..RetryPolicy::default() };
        let error = ModelError::CutStream { message: String::new() };
        assert_eq!(
            decide(&error, 1_000, &policy, 1.0),
            ModelRetryDecision::Wait(policy.longest_wait)
        );
    }
}
