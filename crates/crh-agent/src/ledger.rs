//! The budget shared by parallel runs. The highest cost that a call can have is reserved before the
//! call is made. If little money is left, the call may write less, so that it costs less.
//!
//! [`BudgetAccount`] makes all decisions. It neither waits nor reads a clock; this file adds both.

mod account;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::Instant;

use self::account::{BudgetAccount, CallTicket, ReserveDecision};
use crate::{BudgetRefusal, CallPurpose, LimitKind};
use crh_llm::{Money, Price, SharedPrefix, TokenUsage};

/// Limits for all runs together. There are no defaults: the caller sets every limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Model calls that were billed, or may have been.
    pub llm_calls: u32,
    /// Tool calls.
    pub tool_calls: u32,
    /// Input tokens.
    pub input_tokens: u64,
    /// Wall time, from opening the ledger to the end of the last call.
    pub wall: Duration,
    /// Cost of all calls.
    pub money: Money,
}

impl Budget {
    /// The share of the money that is held back for the last turns of runs and for validating
    /// findings.
    pub fn held_back(&self) -> Money {
        self.money.percent(account::HELD_BACK_PERCENT)
    }
}

/// Estimate of a model call that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallEstimate {
    /// Model name. The ledger learns per model how far estimates are exceeded.
    pub model: String,
    /// Estimated input tokens, an upper bound in almost all cases.
    pub input: u64,
    /// Maximum output tokens. The ledger may grant fewer.
    pub output: u64,
    /// Output tokens that the call usually needs. The ledger grants at least these.
    pub usual_output: u64,
    /// Prefix that the call shares with other calls. Once a call with this prefix was counted, the
    /// ledger estimates only the rest.
    pub prefix: Option<SharedPrefix>,
    /// Token prices of the model.
    pub price: Price,
    /// The budget share that pays for the call.
    pub purpose: CallPurpose,
}

/// Usage of a finished call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallUsage {
    /// Reported by the vendor.
    Known(TokenUsage),
    /// The vendor did no work. The call does not count.
    NotBilled,
    /// Not reported. The call counts at its worst case.
    Unknown,
}

/// Usage so far, for reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageTotals {
    /// Model calls that were billed, or may have been.
    pub llm_calls: u32,
    /// Of these, calls with unknown usage, counted at their worst case.
    pub guessed_calls: u32,
    /// Attempts without a reply: errors, timeouts and cancelled requests. Retries count.
    #[serde(default)]
    pub failed_calls: u32,
    /// Tool calls.
    pub tool_calls: u32,
    /// Tokens used.
    pub usage: TokenUsage,
    /// Money spent.
    pub money: Money,
}

/// Cost of a finished call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCost {
    /// Tokens, reported or worst case.
    pub usage: TokenUsage,
    /// Price of the tokens.
    pub money: Money,
    /// Whether the cost is reported or assumed.
    pub basis: CostBasis,
}

/// Source of a cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostBasis {
    /// Reported by the vendor.
    Counted,
    /// Not reported: the worst case.
    Worst,
}

/// The budget ledger. Clones share one budget.
#[derive(Clone)]
pub struct Ledger {
    state: Arc<Mutex<LedgerState>>,
    deadline: Option<Instant>,
    start: Instant,
}

struct LedgerState {
    account: BudgetAccount,
    waiting_callers: BTreeMap<CallTicket, oneshot::Sender<ReserveDecision>>,
}

/// Budget reserved for one call. If dropped without [`settle`](Self::settle), the call counts at
/// its worst case.
#[derive(Debug)]
pub struct Reservation {
    ledger: Ledger,
    ticket: CallTicket,
    /// Granted output tokens.
    output: u64,
    state: ReservationState,
}

/// State of a reservation. It decides how a dropped reservation is booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReservationState {
    /// Queued, or granted and not yet received. No call was made.
    Pending,
    /// Received by the caller, who may have made the call.
    Granted,
    Closed,
}

impl Ledger {
    /// Opens a ledger. The wall time starts now.
    pub fn open(budget: Budget) -> Self {
        Self::resume(budget, UsageTotals::default())
    }

    /// Opens a ledger for resumed work. Earlier spending counts against the budget; the wall time
    /// starts anew.
    pub fn resume(budget: Budget, spent: UsageTotals) -> Self {
        let start = Instant::now();
        let state = LedgerState {
            account: BudgetAccount::new(budget, spent),
            waiting_callers: BTreeMap::new(),
        };
        // A deadline that overflows the clock means no deadline.
        let deadline = start.checked_add(budget.wall);
        Self { state: Arc::new(Mutex::new(state)), deadline, start }
    }

    /// Delays the start of the wall time, so that idle time does not count. This affects only this
    /// clone and clones made from it.
    pub fn delay_start(&mut self, delay: Duration) {
        self.start = self.start.checked_add(delay).unwrap_or(self.start);
        self.deadline = self.deadline.and_then(|deadline| deadline.checked_add(delay));
    }

    /// End of the wall time. Calls in flight are stopped at this time.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Reserves the highest cost of a call. Waits while other calls may still free budget, and
    /// returns the exceeded limit if they cannot.
    pub async fn reserve(&self, call: CallEstimate) -> Result<Reservation, BudgetRefusal> {
        let (sender, decision_receiver) = oneshot::channel();
        let ticket = {
            let mut state = self.lock_state();
            let ticket = state.account.enqueue(call, self.start.elapsed());
            state.waiting_callers.insert(ticket, sender);
            state.notify_waiting();
            ticket
        };
        let mut reservation = Reservation {
            ledger: self.clone(),
            ticket,
            output: 0,
            state: ReservationState::Pending,
        };
        let decision = match self.deadline {
            Some(deadline) => match tokio::time::timeout_at(deadline, decision_receiver).await {
                Ok(decision) => decision,
                Err(_) => return Err(LimitKind::Wall.into()),
            },
            None => decision_receiver.await,
        };
        match decision {
            Ok(ReserveDecision::Granted { output }) => {
                reservation.state = ReservationState::Granted;
                reservation.output = output;
                Ok(reservation)
            }
            Ok(ReserveDecision::Refused(refusal)) => Err(refusal),
            // Each ticket gets a decision before its sender is dropped. Without a decision, grant
            // nothing.
            Err(_) => Err(LimitKind::Wall.into()),
        }
    }

    /// Grants tool calls, fewer than requested if the budget runs out. Granted calls are never
    /// returned to the budget.
    pub fn grant_tool_calls(&self, requested: u32, purpose: CallPurpose) -> u32 {
        self.lock_state().account.grant_tool_calls(requested, purpose)
    }

    /// Counts an attempt without a reply.
    pub(crate) fn count_failed_call(&self) {
        self.lock_state().account.count_failed_call();
    }

    /// Usage of settled calls. Calls in flight are not included.
    pub fn spent(&self) -> UsageTotals {
        self.lock_state().account.spent()
    }

    /// Remaining budget. Calls in flight are not subtracted.
    pub fn remaining(&self) -> Budget {
        let (budget, spent) = {
            let state = self.lock_state();
            (state.account.budget(), state.account.spent())
        };
        budget.minus(&spent, self.start.elapsed())
    }

    fn lock_state(&self) -> MutexGuard<'_, LedgerState> {
        // The account is consistent after each method, so a poisoned lock is still usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerState {
    /// Sends all pending decisions to the waiting callers.
    fn notify_waiting(&mut self) {
        while let Some((ticket, decision)) = self.account.next_decision() {
            let send_result =
                self.waiting_callers.remove(&ticket).map(|sender| sender.send(decision));
            if send_result != Some(Ok(())) {
                // The caller is gone and has made no call.
                self.account.settle(ticket, CallUsage::NotBilled);
            }
        }
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").field("spent", &self.spent()).finish_non_exhaustive()
    }
}

impl Reservation {
    /// Output tokens that the reserved money pays for. The call must not allow more.
    pub fn output(&self) -> u64 {
        self.output
    }

    /// Cost of the call if the vendor reports no usage.
    pub(crate) fn worst_case(&self) -> Option<CallCost> {
        self.ledger.lock_state().account.reserved_cost(self.ticket)
    }

    /// Books the usage of the call. Returns its cost, or `None` if it was not billed.
    pub fn settle(mut self, usage: CallUsage) -> Option<CallCost> {
        self.close(usage)
    }

    fn close(&mut self, usage: CallUsage) -> Option<CallCost> {
        self.state = ReservationState::Closed;
        let mut state = self.ledger.lock_state();
        state.waiting_callers.remove(&self.ticket);
        let cost = state.account.settle(self.ticket, usage);
        state.notify_waiting();
        cost
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        match self.state {
            ReservationState::Pending => self.close(CallUsage::NotBilled),
            ReservationState::Granted => self.close(CallUsage::Unknown),
            ReservationState::Closed => None,
        };
    }
}

impl Budget {
    /// The budget that remains after this usage and time.
    #[must_use]
    pub fn minus(self, spent: &UsageTotals, elapsed: Duration) -> Self {
        Self {
            llm_calls: self.llm_calls.saturating_sub(spent.llm_calls),
            tool_calls: self.tool_calls.saturating_sub(spent.tool_calls),
            input_tokens: self.input_tokens.saturating_sub(spent.usage.input),
            wall: self.wall.saturating_sub(elapsed),
            money: self.money.minus(spent.money),
        }
    }
}

impl UsageTotals {
    /// Adds a model call.
    pub fn add(&mut self, cost: CallCost) {
        let guessed_calls = match cost.basis {
            CostBasis::Counted => 0,
            CostBasis::Worst => 1,
        };
        let CallCost { usage, money, .. } = cost;
        let call = Self { llm_calls: 1, guessed_calls, usage, money, ..Self::default() };
        *self = self.plus(&call);
    }

    /// Sum of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let usage = TokenUsage {
            input: self.usage.input.saturating_add(other.usage.input),
            cache_read: self.usage.cache_read.saturating_add(other.usage.cache_read),
            cache_written: self.usage.cache_written.saturating_add(other.usage.cache_written),
            output: self.usage.output.saturating_add(other.usage.output),
        };
        Self {
            llm_calls: self.llm_calls.saturating_add(other.llm_calls),
            guessed_calls: self.guessed_calls.saturating_add(other.guessed_calls),
            failed_calls: self.failed_calls.saturating_add(other.failed_calls),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
            usage,
            money: self.money + other.money,
        }
    }
}
