//! What a whole evaluation may cost: the worst case of a review is put aside before it begins.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crh_llm::Money;

/// Money that reviews share. Amounts are in millionths of a dollar.
pub(crate) struct Purse {
    total: u64,
    held: Mutex<Held>,
    freed: Condvar,
}

/// Money that was put aside for one review. Whoever never says what it cost has spent all of it.
pub(crate) struct Reserved<'p> {
    purse: &'p Purse,
    worst: u64,
    cost: u64,
}

impl Reserved<'_> {
    /// Books what the review has cost, in millionths of a dollar.
    pub(crate) fn settle(mut self, cost: u64) {
        self.cost = cost;
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let mut held = self.purse.held();
        held.reserved = held.reserved.saturating_sub(self.worst);
        held.spent = held.spent.saturating_add(self.cost);
        drop(held);
        self.purse.freed.notify_all();
    }
}

#[derive(Default)]
struct Held {
    spent: u64,
    reserved: u64,
}

impl Purse {
    /// A purse with so much in it.
    pub(crate) fn new(total: Money) -> Self {
        Self { total: millionths(total), held: Mutex::default(), freed: Condvar::new() }
    }

    /// Puts aside what a review can cost at worst. Waits while others may leave something over; none if it never fits.
    pub(crate) fn reserve(&self, worst: Money) -> Option<Reserved<'_>> {
        let worst = millionths(worst);
        let mut held = self.held();
        loop {
            if held.spent.saturating_add(held.reserved).saturating_add(worst) <= self.total {
                held.reserved += worst;
                return Some(Reserved { purse: self, worst, cost: worst });
            }
            if held.reserved == 0 {
                return None;
            }
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What is neither spent nor put aside.
    pub(crate) fn left(&self) -> Money {
        let held = self.held();
        let left = self.total.saturating_sub(held.spent.saturating_add(held.reserved));
        Money::dollars(left as f64 / 1e6).unwrap_or_default()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Nothing in it is half done between two statements.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn millionths(money: Money) -> u64 {
    // Upwards, so that what is put aside is never too little.
    (money.as_dollars() * 1e6).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_begins_only_if_its_worst_case_fits() {
        let purse = Purse::new(Money::cents(100));
        let worst = Money::cents(40);
        let first = purse.reserve(worst).unwrap();
        let second = purse.reserve(worst).unwrap();
        first.settle(100_000);
        let third = purse.reserve(worst).unwrap();
        second.settle(400_000);
        // Nobody says what it cost: a review that broke down has spent all that it could.
        drop(third);
        assert!(purse.reserve(worst).is_none());
        assert!(purse.reserve(Money::cents(10)).is_some());
    }

    #[test]
    fn one_that_does_not_fit_waits_for_what_others_leave_over() {
        let purse = Purse::new(Money::cents(50));
        let worst = Money::cents(40);
        let first = purse.reserve(worst).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| purse.reserve(worst).is_some());
            first.settle(10_000);
            assert!(waiting.join().unwrap());
        });
    }
}
