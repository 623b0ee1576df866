//! Budget of a whole evaluation. The worst case of a review is reserved before it starts.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crh_llm::Money;

/// Budget shared by all reviews, in millionths of a dollar.
pub struct EvalBudget {
    total: u64,
    held: Mutex<BudgetState>,
    freed: Condvar,
}

/// Reserved budget of one review. If it is dropped without [`Reservation::settle`], all of it counts
/// as spent.
pub(crate) struct Reservation<'p> {
    eval_budget: &'p EvalBudget,
    worst: u64,
    cost: u64,
}

impl Reservation<'_> {
    /// Books the true cost, in millionths of a dollar.
    pub(crate) fn settle(mut self, cost: u64) {
        self.cost = cost;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut held = self.eval_budget.held();
        held.reserved = held.reserved.saturating_sub(self.worst);
        held.spent = held.spent.saturating_add(self.cost);
        drop(held);
        self.eval_budget.freed.notify_all();
    }
}

#[derive(Default)]
struct BudgetState {
    spent: u64,
    reserved: u64,
}

impl EvalBudget {
    /// A budget of which nothing is spent.
    pub fn new(total: Money) -> Self {
        Self { total: millionths(total), held: Mutex::default(), freed: Condvar::new() }
    }

    /// Reserves the worst case of a review. Waits while running reviews may free budget. Returns
    /// `None` if it can never fit.
    pub(crate) fn reserve(&self, worst: Money) -> Option<Reservation<'_>> {
        let worst = millionths(worst);
        let mut held = self.held();
        loop {
            if held.spent.saturating_add(held.reserved).saturating_add(worst) <= self.total {
                held.reserved += worst;
                return Some(Reservation { eval_budget: self, worst, cost: worst });
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

    fn held(&self) -> MutexGuard<'_, BudgetState> {
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
        let eval_budget = EvalBudget::new(Money::cents(100));
        let worst = Money::cents(40);
        let first = eval_budget.reserve(worst).unwrap();
        let second = eval_budget.reserve(worst).unwrap();
        first.settle(100_000);
        let third = eval_budget.reserve(worst).unwrap();
        second.settle(400_000);
        // A review that failed without settling counts as fully spent.
        drop(third);
        assert!(eval_budget.reserve(worst).is_none());
        assert!(eval_budget.reserve(Money::cents(10)).is_some());
    }

    #[test]
    fn review_waits_for_unused_budget_of_others() {
        let eval_budget = EvalBudget::new(Money::cents(50));
        let worst = Money::cents(40);
        let first = eval_budget.reserve(worst).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| eval_budget.reserve(worst).is_some());
            first.settle(10_000);
            assert!(waiting.join().unwrap());
        });
    }
}
