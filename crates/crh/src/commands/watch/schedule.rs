//! Decides when to check and when to review. The caller reads the clock and runs the commands.

use std::time::{Duration, Instant};

use crh_git::CheckoutState;

/// Time without a change before a check starts. Editors write a file in several steps.
const SETTLE: Duration = Duration::from_millis(300);

/// Id of a diff. Equal diffs have equal ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiffId(pub(super) String);

/// Day as in the stored spending: `20261117`, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Day(pub(super) String);

/// What to start now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WatchStep {
    Check,
    Review(DiffId),
}

/// Whether reviews by models are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelUse {
    Reviews,
    ChecksOnly,
}

/// State of the checkout and of the commands. At most one check and one review run at a time.
#[derive(Debug)]
pub(super) struct Schedule {
    models: ModelUse,
    quiet: Duration,
    /// Newest state of the checkout, and when it was first seen.
    tree: Option<(CheckoutState, Instant)>,
    /// State of the newest check, running or finished.
    checked: Option<CheckoutState>,
    is_checking: bool,
    is_reviewing: bool,
    /// Diff of the newest check; none if there is nothing to review.
    diff: Option<DiffId>,
    /// Diff of the newest review, also of a failed one: repeating it would cost money again.
    reviewed: Option<DiffId>,
    /// Day whose budget is used up.
    spent_day: Option<Day>,
}

impl Schedule {
    pub(super) fn new(models: ModelUse, quiet: Duration) -> Self {
        Self {
            models,
            quiet,
            tree: None,
            checked: None,
            is_checking: false,
            is_reviewing: false,
            diff: None,
            reviewed: None,
            spent_day: None,
        }
    }

    /// Records the state of the checkout.
    pub(super) fn observe(&mut self, state: CheckoutState, now: Instant) {
        if self.tree.is_none_or(|(last, _)| last != state) {
            self.tree = Some((state, now));
        }
    }

    /// Returns what to start now, and records that it runs.
    pub(super) fn next_step(&mut self, now: Instant, day: &Day) -> Option<WatchStep> {
        let (state, since) = self.tree?;
        let age = now.saturating_duration_since(since);
        if self.checked != Some(state) {
            // The first check starts at once.
            let is_settled = self.checked.is_none() || age >= SETTLE;
            if self.is_checking || !is_settled {
                return None;
            }
            (self.is_checking, self.checked) = (true, Some(state));
            return Some(WatchStep::Check);
        }
        let is_busy = self.is_checking || self.is_reviewing || age < self.quiet;
        let is_allowed = self.models == ModelUse::Reviews && self.spent_day.as_ref() != Some(day);
        let diff = self.diff.as_ref().filter(|diff| self.reviewed.as_ref() != Some(diff))?;
        if is_busy || !is_allowed {
            return None;
        }
        self.is_reviewing = true;
        Some(WatchStep::Review(diff.clone()))
    }

    /// Records the end of a check, with the diff that it saw.
    pub(super) fn end_check(&mut self, diff: Option<DiffId>) {
        (self.is_checking, self.diff) = (false, diff);
    }

    /// Records the end of a review of this diff.
    pub(super) fn end_review(&mut self, diff: DiffId) {
        (self.is_reviewing, self.reviewed) = (false, Some(diff));
    }

    /// Records that an earlier command has reviewed this diff.
    pub(super) fn skip_review(&mut self, diff: DiffId) {
        self.reviewed = Some(diff);
    }

    /// Records that a review did not start, because the budget of the day is used up.
    pub(super) fn refuse_review(&mut self, day: Day) {
        (self.is_reviewing, self.spent_day) = (false, Some(day));
    }

    /// Whether a check or a review runs.
    pub(super) fn is_running(&self) -> bool {
        self.is_checking || self.is_reviewing
    }
}

#[cfg(test)]
mod tests {
    use crh_testkit::Repo;

    use super::*;
    use crh_git::Repository;

    /// Distinct states of a checkout.
    fn states() -> [CheckoutState; 2] {
        let repo = Repo::from_fixture("//- a\n1\n");
        let repository = Repository::discover(repo.path()).unwrap();
        let before = repository.checkout_state().unwrap();
        repo.write("a", "22\n");
        [before, repository.checkout_state().unwrap()]
    }

    fn diff(name: &str) -> DiffId {
        DiffId(name.to_owned())
    }

    fn day(name: &str) -> Day {
        Day(name.to_owned())
    }

    #[test]
    fn quiet_tree_with_new_diff_is_reviewed_once() {
        let [first, second] = states();
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let today = day("1");
        let mut schedule = Schedule::new(ModelUse::Reviews, Duration::from_secs(10));
        assert_eq!(schedule.next_step(at(0), &today), None);
        schedule.observe(first, at(0));
        assert_eq!(schedule.next_step(at(0), &today), Some(WatchStep::Check));
        assert_eq!(schedule.next_step(at(60), &today), None, "the check still runs");
        schedule.end_check(Some(diff("a")));
        assert_eq!(schedule.next_step(at(9), &today), None, "not quiet for long enough");
        assert_eq!(schedule.next_step(at(10), &today), Some(WatchStep::Review(diff("a"))));

        schedule.observe(second, at(11));
        assert_eq!(schedule.next_step(at(11), &today), None, "the file is still being written");
        assert_eq!(schedule.next_step(at(12), &today), Some(WatchStep::Check));
        schedule.end_check(Some(diff("b")));
        assert_eq!(schedule.next_step(at(99), &today), None, "a review runs");
        schedule.end_review(diff("a"));
        assert_eq!(schedule.next_step(at(99), &today), Some(WatchStep::Review(diff("b"))));
        schedule.end_review(diff("b"));
        schedule.observe(first, at(100));
        assert_eq!(schedule.next_step(at(101), &today), Some(WatchStep::Check));
        schedule.end_check(Some(diff("b")));
        assert_eq!(schedule.next_step(at(999), &today), None, "the diff is the same");
    }

    #[test]
    fn used_budget_blocks_reviews_until_the_next_day() {
        let [state, _] = states();
        let now = Instant::now();
        let mut schedule = Schedule::new(ModelUse::Reviews, Duration::ZERO);
        schedule.observe(state, now);
        assert_eq!(schedule.next_step(now, &day("1")), Some(WatchStep::Check));
        schedule.end_check(Some(diff("a")));
        assert_eq!(schedule.next_step(now, &day("1")), Some(WatchStep::Review(diff("a"))));
        schedule.refuse_review(day("1"));
        assert_eq!(schedule.next_step(now, &day("1")), None);
        assert_eq!(schedule.next_step(now, &day("2")), Some(WatchStep::Review(diff("a"))));
    }

    #[test]
    fn nothing_is_reviewed_without_model_or_diff() {
        let [state, _] = states();
        let now = Instant::now();
        for (models, seen) in [(ModelUse::ChecksOnly, Some(diff("a"))), (ModelUse::Reviews, None)] {
            let mut schedule = Schedule::new(models, Duration::ZERO);
            schedule.observe(state, now);
            assert_eq!(schedule.next_step(now, &day("1")), Some(WatchStep::Check));
            schedule.end_check(seen);
            assert_eq!(schedule.next_step(now, &day("1")), None);
        }
    }
}
