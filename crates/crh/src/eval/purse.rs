//! Budget of a whole evaluation. The worst case of a review is reserved before it starts.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crh_llm::Money;

/// Budget shared by all reviews, in millionths of a dollar.
pub(crate) struct Purse {
    total: u64,
    held: Mutex<Held>,
    freed: Condvar,
}

/// Reserved budget of one review. If it is dropped without [`Reserved::settle`], all of it counts
/// as spent.
pub(crate) struct Reserved<'p> {
    purse: &'p Purse,
    worst: u64,
    cost: u64,
}

impl Reserved<'_> {
    /// Books the true cost, in millionths of a dollar.
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
    pub(crate) fn new(total: Money) -> Self {
        Self { total: millionths(total), held: Mutex::default(), freed: Condvar::new() }
    }

    /// Reserves the worst case of a review. Waits while running reviews may free budget. Returns
    /// `None` if it can never fit.
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

    /// Budget that is neither spent nor reserved.
    pub(crate) fn left(&self) -> Money {
        let held = self.held();
        let left = self.total.saturating_sub(held.spent.saturating_add(held.reserved));
        Money::dollars(left as f64 / 1e6).unwrap_or_default()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // The state is consistent after every statement, so a poisoned lock is usable.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn millionths(money: Money) -> u64 {
    // Rounded up, so that a reservation is never too small.
    (money.as_dollars() * 1e6).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn review_starts_only_if_its_maximum_cost_fits() {
        let purse = Purse::new(Money::cents(100));
        let worst = Money::cents(40);
        let first = purse.reserve(worst).unwrap();
        let second = purse.reserve(worst).unwrap();
        first.settle(100_000);
        let third = purse.reserve(worst).unwrap();
        second.settle(400_000);
        // A review that failed without settling counts as fully spent.
        drop(third);
        assert!(purse.reserve(worst).is_none());
        assert!(purse.reserve(Money::cents(10)).is_some());
    }

    #[test]
    fn review_waits_for_unused_budget_of_others() {
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
