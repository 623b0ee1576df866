//! Whether a failed call is tried again, and when: a pure decision. Whoever waits has to hold the money for the next
//! try before it asks.

use std::time::Duration;

use crate::ModelError;

/// How often and how long to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most calls for one answer, the first one included.
    pub attempts: u32,
    /// The longest wait after the first failure; it doubles with each one.
    pub first_wait: Duration,
    /// The longest of all waits. A vendor who asks for more is not waited for.
    pub longest_wait: Duration,
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Ask again after this long.
    Wait(Duration),
    /// It is no use, or enough has been tried.
    GiveUp,
}

impl Default for RetryPolicy {
    /// Five calls: the waits add up to half a minute at most, which outlasts the usual overload of a vendor, and a
    /// limit per minute is waited out.
    fn default() -> Self {
        Self {
            attempts: 5,
            first_wait: Duration::from_secs(2),
            longest_wait: Duration::from_secs(60),
        }
    }
}

/// What to do after the `attempt`th call (the first is 1) failed. `jitter` is a random number from 0 to 1: without
/// it, runs that were turned away together would come back together.
pub fn after(error: &ModelError, attempt: u32, policy: &RetryPolicy, jitter: f64) -> Decision {
    let asked_for = match error {
        ModelError::RateLimited { retry_after, .. }
        | ModelError::Overloaded { retry_after, .. } => *retry_after,
        ModelError::Broken { .. } | ModelError::CutStream { .. } | ModelError::Transport { .. } => {
            None
        }
        ModelError::ContextFull { .. }
        | ModelError::Refused { .. }
        | ModelError::BadKey { .. }
        | ModelError::NoCredit { .. }
        | ModelError::BadRequest { .. }
        | ModelError::NotRecorded { .. } => return Decision::GiveUp,
    };
    if attempt >= policy.attempts {
        return Decision::GiveUp;
    }
    let jitter = if jitter.is_nan() { 1.0 } else { jitter.clamp(0.0, 1.0) };
    match asked_for {
        Some(wait) if wait > policy.longest_wait => Decision::GiveUp,
        // Never before the vendor's time, and not all at once after it.
        Some(wait) => Decision::Wait(wait + policy.first_wait.mul_f64(jitter)),
        None => {
            let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
            let most = policy.first_wait.saturating_mul(doubled).min(policy.longest_wait);
            Decision::Wait(most.mul_f64(jitter))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spent;

    const SECOND: Duration = Duration::from_secs(1);

    fn check(error: &ModelError, attempt: u32, jitter: f64, expected: Decision) {
        let policy =
            RetryPolicy { attempts: 4, first_wait: SECOND, longest_wait: Duration::from_secs(3) };
        assert_eq!(after(error, attempt, &policy, jitter), expected, "{error}, attempt {attempt}");
    }

    fn passing(retry_after: Option<Duration>) -> [ModelError; 2] {
        let message = String::new();
        [
            ModelError::RateLimited { retry_after, message: message.clone() },
            ModelError::Overloaded { retry_after, message },
        ]
    }

    #[test]
    fn what_may_pass_is_tried_again_with_doubled_waits_up_to_the_longest() {
        let message = String::new();
        let mut errors = passing(None).to_vec();
        errors.push(ModelError::CutStream { message: message.clone() });
        errors.push(ModelError::Broken { message: message.clone() });
        for spent in [Spent::Nothing, Spent::Unknown] {
            errors.push(ModelError::Transport { message: message.clone(), spent });
        }
        for error in &errors {
            check(error, 1, 1.0, Decision::Wait(SECOND));
            check(error, 2, 1.0, Decision::Wait(2 * SECOND));
            check(error, 3, 1.0, Decision::Wait(3 * SECOND));
            check(error, 4, 1.0, Decision::GiveUp);
            check(error, u32::MAX, 1.0, Decision::GiveUp);
        }
    }

    #[test]
    fn what_another_try_cannot_change_is_given_up_at_once() {
        let message = String::new();
        for error in [
            ModelError::ContextFull { message: message.clone() },
            ModelError::Refused { message: message.clone() },
            ModelError::BadKey { message: message.clone() },
            ModelError::NoCredit { message: message.clone() },
            ModelError::BadRequest { message: message.clone() },
            ModelError::NotRecorded { message },
        ] {
            check(&error, 1, 0.0, Decision::GiveUp);
        }
    }

    #[test]
    fn the_vendors_delay_is_kept_and_a_longer_one_than_ours_is_not_waited_for() {
        for error in passing(Some(3 * SECOND)) {
            check(&error, 1, 0.0, Decision::Wait(3 * SECOND));
            check(&error, 3, 0.5, Decision::Wait(Duration::from_millis(3_500)));
            check(&error, 4, 0.5, Decision::GiveUp);
        }
        for error in passing(Some(Duration::MAX)) {
            check(&error, 1, 1.0, Decision::GiveUp);
        }
    }

    #[test]
    fn a_jitter_outside_its_range_still_gives_a_wait_within_bounds() {
        let error = ModelError::CutStream { message: String::new() };
        check(&error, 1, 0.0, Decision::Wait(Duration::ZERO));
        check(&error, 1, -7.0, Decision::Wait(Duration::ZERO));
        check(&error, 1, 7.0, Decision::Wait(SECOND));
        check(&error, 1, f64::NAN, Decision::Wait(SECOND));
    }

    #[test]
    fn a_policy_of_many_attempts_does_not_overflow() {
        let policy = RetryPolicy { attempts: u32::MAX, ..RetryPolicy::default() };
        let error = ModelError::CutStream { message: String::new() };
        assert_eq!(after(&error, 1_000, &policy, 1.0), Decision::Wait(policy.longest_wait));
    }
}
