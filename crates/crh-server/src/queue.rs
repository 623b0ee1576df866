//! Rules of the queue: when a failed job runs again, and who may start a review.

use crate::{
    clock::UnixMillis,
    job::{JobId, RetryAdvice},
};

/// How often and when a failed job runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Number of attempts before the job is dead.
    pub max_attempts: u32,
    /// Delay before the second attempt. Each further delay is three times as long.
    pub first_delay_ms: i64,
    /// Longest delay. As to every delay, up to a quarter is added.
    pub max_delay_ms: i64,
}

impl Default for RetryPolicy {
    /// Five attempts over about ten minutes: longer than a restart of a database or a short outage
    /// of a forge.
    fn default() -> Self {
        Self { max_attempts: 5, first_delay_ms: 15_000, max_delay_ms: 30 * 60_000 }
    }
}

impl RetryPolicy {
    /// Delay after a number of failed attempts. Differs by job, so that jobs that failed together
    /// do not return together.
    pub fn delay_ms(&self, attempts: u32, job: JobId) -> i64 {
        let exponent = attempts.saturating_sub(1).min(20);
        let delay =
            self.first_delay_ms.saturating_mul(3_i64.pow(exponent)).min(self.max_delay_ms).max(0);
        // Up to a quarter more. The factor spreads neighbouring job numbers.
        let spread = (job.0.wrapping_mul(2_654_435_761)).rem_euclid(1_000);
        delay + delay / 4 * spread / 1_000
    }
}

/// What happens to a job after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextState {
    /// Waits until this time.
    WaitUntil(UnixMillis),
    /// Is dead.
    Dead,
}

/// Decides what happens to a job after a failed attempt.
pub fn after_failure(
    job: JobId,
    attempts: u32,
    advice: RetryAdvice,
    policy: &RetryPolicy,
    now: UnixMillis,
) -> NextState {
    let backoff = now.plus_ms(policy.delay_ms(attempts, job));
    match advice {
        RetryAdvice::Never => NextState::Dead,
        RetryAdvice::Uncounted(time) => NextState::WaitUntil(time),
        RetryAdvice::Backoff | RetryAdvice::NotBefore(_) if attempts >= policy.max_attempts => {
            NextState::Dead
        }
        RetryAdvice::Backoff => NextState::WaitUntil(backoff),
        RetryAdvice::NotBefore(time) => NextState::WaitUntil(time.max(backoff)),
    }
}

/// Relation of a pull request's author to the repository, as the forge describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authorship {
    /// Owner, member, collaborator or earlier contributor, and the branch is in the same
    /// repository.
    Trusted,
    /// Anyone else, or a branch of a fork.
    Stranger,
}

/// Which pull requests of strangers crh reviews without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StrangerPolicy {
    /// Only with the approval label, or after `/crh review` by a maintainer.
    #[default]
    NeedApproval,
    /// All of them.
    Review,
}

/// Whether crh may review a head that no command asked for. `labelled` says whether a maintainer
/// approved this head with the label.
pub fn may_start_review(authorship: Authorship, labelled: bool, policy: StrangerPolicy) -> bool {
    match (authorship, policy) {
        (Authorship::Trusted, _) | (Authorship::Stranger, StrangerPolicy::Review) => true,
        (Authorship::Stranger, StrangerPolicy::NeedApproval) => labelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_000_000);

    #[test]
    fn failed_job_waits_longer_each_time_and_then_is_dead() {
        let policy = RetryPolicy { max_attempts: 4, first_delay_ms: 1_000, max_delay_ms: 5_000 };
        let job = JobId(1_000);
        let states: Vec<NextState> = (1..=4)
            .map(|attempts| after_failure(job, attempts, RetryAdvice::Backoff, &policy, NOW))
            .collect();
        let wait = |ms| NextState::WaitUntil(NOW.plus_ms(ms));
        assert_eq!(states, [wait(1_000), wait(3_000), wait(5_000), NextState::Dead]);
    }

    #[test]
    fn delays_of_different_jobs_differ_by_at_most_a_quarter() {
        let policy = RetryPolicy::default();
        let delays: Vec<i64> = (0..100).map(|id| policy.delay_ms(1, JobId(id))).collect();
        assert!(delays.iter().all(|delay| (15_000..=18_750).contains(delay)), "{delays:?}");
        assert!(delays.iter().collect::<std::collections::BTreeSet<_>>().len() > 50);
    }

    #[test]
    fn rate_limit_delays_the_job_and_permanent_failure_ends_it() {
        let policy = RetryPolicy::default();
        let later = NOW.plus_ms(3_600_000);
        assert_eq!(
            after_failure(JobId(1), 1, RetryAdvice::NotBefore(later), &policy, NOW),
            NextState::WaitUntil(later)
        );
        assert_eq!(after_failure(JobId(1), 1, RetryAdvice::Never, &policy, NOW), NextState::Dead);
    }

    #[test]
    fn stranger_needs_approval_unless_the_policy_says_otherwise() {
        use Authorship::{Stranger, Trusted};
        use StrangerPolicy::{NeedApproval, Review};
        let allowed: Vec<bool> = [
            (Trusted, false, NeedApproval),
            (Stranger, false, NeedApproval),
            (Stranger, true, NeedApproval),
            (Stranger, false, Review),
        ]
        .map(|(author, labelled, policy)| may_start_review(author, labelled, policy))
        .to_vec();
        assert_eq!(allowed, [true, false, true, true]);
    }
}
