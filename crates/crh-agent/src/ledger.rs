//! The budget that parallel runs share: what a call can cost at worst is reserved before it is made.
//!
//! All decisions fall in [`Books`], which neither waits nor reads a clock; this file is the desk in front of them.

#[path = "ledger/account.rs"]
mod books;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::Instant;

use self::books::{Books, Decision, Ticket};
use crate::{Limit, Purpose};
use crh_llm::{Money, Price, Usage};

/// What all runs together may use. Nothing has a default: whoever pays says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Calls of models that cost something or may have.
    pub llm_calls: u32,
    /// Calls of tools.
    pub tool_calls: u32,
    /// Tokens that models read.
    pub input_tokens: u64,
    /// From the opening of the ledger to the end of the last call.
    pub wall: Duration,
    /// What all calls cost together.
    pub money: Money,
}

impl Budget {
    /// The money that the work itself leaves alone, so that it is there for last turns and for checking what was found.
    pub fn held_back(&self) -> Money {
        self.money.percent(books::HELD_BACK)
    }
}

/// A call of a model that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The model by its name: by how much it exceeds estimates is learned for each.
    pub model: String,
    /// The tokens that it will read, estimated so that the truth is hardly ever above.
    pub input: u64,
    /// The most tokens that it may write.
    pub output: u64,
    /// What tokens cost.
    pub price: Price,
    /// From which share it is paid.
    pub purpose: Purpose,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The vendor counted.
    Known(Usage),
    /// The vendor did no work: the call leaves no trace.
    Nothing,
    /// Nobody knows: it counts at the worst.
    Unknown,
}

/// What has been used so far, for reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Calls of models that cost something or may have.
    pub llm_calls: u32,
    /// Of these, calls whose usage nobody knows: they stand in the sums at the worst.
    pub guessed_calls: u32,
    /// Calls of tools.
    pub tool_calls: u32,
    /// Tokens.
    pub usage: Usage,
    /// What it cost.
    pub money: Money,
}

/// What a call took from the budget in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Tokens, as counted or at the worst.
    pub usage: Usage,
    /// Money.
    pub money: Money,
    /// How the two above are known.
    pub basis: Basis,
}

/// How a cost is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The vendor counted.
    Counted,
    /// Nobody did: it is the worst case.
    Worst,
}

/// The ledger. Clones share one budget.
#[derive(Clone)]
pub struct Ledger {
    desk: Arc<Mutex<Desk>>,
    deadline: Option<Instant>,
    opened: Instant,
}

struct Desk {
    books: Books,
    waiting: BTreeMap<Ticket, oneshot::Sender<Decision>>,
}

/// Room in the budget for one call. Dropped without a word it counts at the worst.
#[derive(Debug)]
pub struct Reservation {
    ledger: Ledger,
    ticket: Ticket,
    state: State,
}

/// Where a reservation stands, which decides what letting go of it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In line, or granted and not yet picked up: no call can have been made.
    Asked,
    /// In the hands of the caller.
    Granted,
    /// Nothing is left to do.
    Closed,
}

impl Ledger {
    /// Opens the ledger; the wall time runs from here.
    pub fn open(budget: Budget) -> Self {
        Self::resumed(budget, Totals::default())
    }

    /// Opens the ledger of work that goes on: what was spent before counts as if it had been spent here. Only the time
    /// begins anew.
    pub fn resumed(budget: Budget, spent: Totals) -> Self {
        let opened = Instant::now();
        let desk = Desk { books: Books::new(budget, spent), waiting: BTreeMap::new() };
        // A time that no clock reaches is no limit.
        let deadline = opened.checked_add(budget.wall);
        Self { desk: Arc::new(Mutex::new(desk)), deadline, opened }
    }

    /// Lets the wall time of this clone, and of those made from it, begin so much later: nobody worked meanwhile.
    pub fn put_off(&mut self, by: Duration) {
        self.opened = self.opened.checked_add(by).unwrap_or(self.opened);
        self.deadline = self.deadline.and_then(|deadline| deadline.checked_add(by));
    }

    /// When the wall time is over; calls in flight end then.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Room for the call's worst case. Waits while calls of others may still free some, and says which limit is in
    /// the way when nothing can.
    pub async fn reserve(&self, call: Call) -> Result<Reservation, Limit> {
        let (sender, decided) = oneshot::channel();
        let ticket = {
            let mut desk = self.desk();
            let ticket = desk.books.enter(call, self.opened.elapsed());
            desk.waiting.insert(ticket, sender);
            desk.tell();
            ticket
        };
        let mut reservation = Reservation { ledger: self.clone(), ticket, state: State::Asked };
        let decision = match self.deadline {
            Some(deadline) => match tokio::time::timeout_at(deadline, decided).await {
                Ok(decision) => decision,
                Err(_) => return Err(Limit::Wall),
            },
            None => decided.await,
        };
        match decision {
            Ok(Decision::Granted) => {
                reservation.state = State::Granted;
                Ok(reservation)
            }
            Ok(Decision::Refused(limit)) => Err(limit),
            // Every ticket is decided before its sender goes; a desk that broke grants nothing.
            Err(_) => Err(Limit::Wall),
        }
    }

    /// Takes room for tool calls; fewer than wanted where the budget ends. They are never given back.
    pub fn tool_calls(&self, wanted: u32, purpose: Purpose) -> u32 {
        self.desk().books.tool_calls(wanted, purpose)
    }

    /// What has been settled so far; calls in flight are not in it.
    pub fn spent(&self) -> Totals {
        self.desk().books.spent()
    }

    /// What may still be used, calls in flight not taken off.
    pub fn left(&self) -> Budget {
        let (budget, spent) = {
            let desk = self.desk();
            (desk.books.budget(), desk.books.spent())
        };
        budget.less(&spent, self.opened.elapsed())
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        // The books hold after every method of theirs; a panic elsewhere does not make them wrong.
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    /// Tells everyone whose turn has come.
    fn tell(&mut self) {
        while let Some((ticket, decision)) = self.books.next_decision() {
            let told = self.waiting.remove(&ticket).map(|sender| sender.send(decision));
            if told != Some(Ok(())) {
                // Whoever asked has gone in the meantime, and has made no call.
                self.books.settle(ticket, Settled::Nothing);
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
    /// What the call costs if nobody counts it.
    pub(crate) fn worst(&self) -> Option<Cost> {
        self.ledger.desk().books.reserved_for(self.ticket)
    }

    /// Books what became of the call, and says what it took from the budget; none if it left no trace.
    pub fn settle(mut self, settled: Settled) -> Option<Cost> {
        self.close(settled)
    }

    fn close(&mut self, settled: Settled) -> Option<Cost> {
        self.state = State::Closed;
        let mut desk = self.ledger.desk();
        desk.waiting.remove(&self.ticket);
        let cost = desk.books.settle(self.ticket, settled);
        desk.tell();
        cost
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        match self.state {
            State::Asked => self.close(Settled::Nothing),
            State::Granted => self.close(Settled::Unknown),
            State::Closed => None,
        };
    }
}

impl Budget {
    /// What is left of it after so much was used in so much time.
    #[must_use]
    pub fn less(self, spent: &Totals, time: Duration) -> Self {
        Self {
            llm_calls: self.llm_calls.saturating_sub(spent.llm_calls),
            tool_calls: self.tool_calls.saturating_sub(spent.tool_calls),
            input_tokens: self.input_tokens.saturating_sub(spent.usage.input),
            wall: self.wall.saturating_sub(time),
            money: self.money.less(spent.money),
        }
    }
}

impl Totals {
    /// Adds a call of a model.
    pub fn add(&mut self, cost: Cost) {
        let guessed_calls = match cost.basis {
            Basis::Counted => 0,
            Basis::Worst => 1,
        };
        let Cost { usage, money, .. } = cost;
        *self = self.plus(&Self { llm_calls: 1, guessed_calls, tool_calls: 0, usage, money });
    }

    /// The sums of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let usage = Usage {
            input: self.usage.input.saturating_add(other.usage.input),
            cache_read: self.usage.cache_read.saturating_add(other.usage.cache_read),
            cache_written: self.usage.cache_written.saturating_add(other.usage.cache_written),
            output: self.usage.output.saturating_add(other.usage.output),
        };
        Self {
            llm_calls: self.llm_calls.saturating_add(other.llm_calls),
            guessed_calls: self.guessed_calls.saturating_add(other.guessed_calls),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
            usage,
            money: self.money + other.money,
        }
    }
}
