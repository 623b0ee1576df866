//! Budget of a whole evaluation. crh reserves the highest cost of a review before it starts it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crh_llm::Money;

/// Budget shared by all reviews, in millionths of a dollar.
pub struct EvalBudget {
    total: u64,
    state: Mutex<BudgetState>,
    freed: Condvar,
}

/// Reserved budget of one review. If it is dropped without [`Reservation::settle`], all of it counts
/// as spent.
pub(crate) struct Reservation<'p> {
    eval_budget: &'p EvalBudget,
    /// Reserved amount, in millionths of a dollar.
    worst: u64,
    /// Amount that counts as spent when the reservation is dropped.
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
        let mut state = self.eval_budget.state();
        state.reserved = state.reserved.saturating_sub(self.worst);
        state.spent = state.spent.saturating_add(self.cost);
        drop(state);
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
        Self { total: millionths(total), state: Mutex::default(), freed: Condvar::new() }
    }

    /// Reserves the highest cost of a review. Waits while running reviews may free budget. Returns
    /// `None` if that cost can no longer fit.
    pub(crate) fn reserve(&self, worst: Money) -> Option<Reservation<'_>> {
        let worst = millionths(worst);
        let mut state = self.state();
        loop {
            if state.spent.saturating_add(state.reserved).saturating_add(worst) <= self.total {
                state.reserved += worst;
                return Some(Reservation { eval_budget: self, worst, cost: worst });
            }
            if state.reserved == 0 {
                return None;
            }
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Budget that is neither spent nor reserved.
    pub(crate) fn left(&self) -> Money {
        let state = self.state();
        let left = self.total.saturating_sub(state.spent.saturating_add(state.reserved));
        Money::dollars(left as f64 / 1e6).unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, BudgetState> {
        // The state is consistent after every statement, so a poisoned lock is usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
