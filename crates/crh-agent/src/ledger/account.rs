//! The books of the ledger: who may call a model now, who waits, who is refused. No waiting, no clock.
//!
//! Settled and outstanding calls together never pass the budget as long as no call costs more than its worst case;
//! and when nothing is outstanding, nobody waits.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{Basis, Budget, Call, Cost, Settled, Totals};
use crate::{Limit, Purpose};
use crh_llm::{Money, Usage};

/// Percent of money, calls and tokens that the work itself leaves alone. The contract's number: enough for one
/// grace turn a run and for checking what was found.
pub(super) const HELD_BACK: u64 = 20;

/// Added to the largest ratio of true to estimated tokens, in percent: texts differ, and the next one may be denser
/// than all before.
const MARGIN: u64 = 20;

/// Ratios are kept in thousandths.
const WHOLE: u64 = 1_000;

/// One call in the books, from entering to settling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// What is decided about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Granted,
    Refused(Limit),
}

#[derive(Debug)]
pub(super) struct Books {
    budget: Budget,
    elapsed: Duration,
    tickets: u64,
    /// In the order in which they came. Grace turns and validation stand in a line of their own, before the other: the
    /// work may be waiting for its share while theirs is untouched.
    protected: VecDeque<(Ticket, Call)>,
    work: VecDeque<(Ticket, Call)>,
    /// Granted and not yet settled.
    outstanding: BTreeMap<Ticket, Held>,
    settled: Used,
    tools: Tools,
    spent: Totals,
    /// For each model that has taken more tokens than estimated the largest ratio of the two.
    ratios: BTreeMap<String, u64>,
}

#[derive(Debug)]
struct Held {
    call: Call,
    worst: Sum,
}

#[derive(Debug, Default)]
struct Tools {
    work: u32,
    all: u32,
}

/// What is used: by the work, and by all.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    work: Sum,
    all: Sum,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    calls: u64,
    input: u64,
    money: Money,
}

/// Whether a call at the head of its line can be made.
enum Fit {
    Now,
    /// Calls in flight may free the room.
    Perhaps,
    Never(Limit),
}

impl Books {
    /// The books of a budget of which so much was spent before. For what is not said, and the held back share is for
    /// what is to come: it counts as work.
    pub(super) fn new(budget: Budget, spent: Totals) -> Self {
        let before =
            Sum { calls: u64::from(spent.llm_calls), input: spent.usage.input, money: spent.money };
        Self {
            budget,
            elapsed: Duration::ZERO,
            tickets: 0,
            protected: VecDeque::new(),
            work: VecDeque::new(),
            outstanding: BTreeMap::new(),
            settled: Used { work: before, all: before },
            tools: Tools { work: spent.tool_calls, all: spent.tool_calls },
            spent,
            ratios: BTreeMap::new(),
        }
    }

    /// Puts a call in line; `next_decision` says when its turn has come.
    pub(super) fn enter(&mut self, call: Call, elapsed: Duration) -> Ticket {
        self.elapsed = self.elapsed.max(elapsed);
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        match call.purpose {
            Purpose::Work => self.work.push_back((ticket, call)),
            Purpose::Grace | Purpose::Validation => self.protected.push_back((ticket, call)),
        }
        ticket
    }

    /// The next call that can be decided about; to be asked until it says none.
    pub(super) fn next_decision(&mut self) -> Option<(Ticket, Decision)> {
        // A call that waits lets none behind it pass, or a large one would wait for ever.
        let line = if self.protected.is_empty() { &self.work } else { &self.protected };
        let (_, call) = line.front()?;
        let fit = self.fit(call);
        let line = if self.protected.is_empty() { &mut self.work } else { &mut self.protected };
        match fit {
            Fit::Perhaps => None,
            Fit::Never(limit) => {
                let (ticket, _) = line.pop_front()?;
                Some((ticket, Decision::Refused(limit)))
            }
            Fit::Now => {
                let (ticket, call) = line.pop_front()?;
                let worst = self.worst(&call);
                self.outstanding.insert(ticket, Held { call, worst });
                Some((ticket, Decision::Granted))
            }
        }
    }

    /// Books what became of a call. One that is still in line leaves it and costs nothing.
    pub(super) fn settle(&mut self, ticket: Ticket, settled: Settled) -> Option<Cost> {
        self.protected.retain(|(waiting, _)| *waiting != ticket);
        self.work.retain(|(waiting, _)| *waiting != ticket);
        let held = self.outstanding.remove(&ticket)?;
        let (unknown, call) = (held.at_worst(), held.call);
        let cost = match settled {
            Settled::Nothing => return None,
            Settled::Unknown => unknown,
            // A call reads something: who counts nothing has not counted.
            Settled::Known(usage) if usage.input == 0 => unknown,
            Settled::Known(usage) => {
                self.learn(&call, usage.input);
                Cost { usage, money: call.price.of(&usage), basis: Basis::Counted }
            }
        };
        let sum = Sum { calls: 1, input: cost.usage.input, money: cost.money };
        self.settled.add(call.purpose, sum);
        self.spent.add(cost);
        Some(cost)
    }

    pub(super) fn tool_calls(&mut self, wanted: u32, purpose: Purpose) -> u32 {
        let budget = self.budget.tool_calls;
        let room = match purpose {
            Purpose::Work => {
                let share = u64::from(budget) - held_back(u64::from(budget));
                let share = u32::try_from(share).unwrap_or(budget);
                share.saturating_sub(self.tools.work).min(budget.saturating_sub(self.tools.all))
            }
            Purpose::Grace | Purpose::Validation => budget.saturating_sub(self.tools.all),
        };
        let granted = wanted.min(room);
        self.tools.all += granted;
        self.tools.work += match purpose {
            Purpose::Work => granted,
            Purpose::Grace | Purpose::Validation => 0,
        };
        self.spent.tool_calls = self.tools.all;
        granted
    }

    /// What an outstanding call costs if nobody counts it.
    pub(super) fn reserved_for(&self, ticket: Ticket) -> Option<Cost> {
        self.outstanding.get(&ticket).map(Held::at_worst)
    }

    pub(super) fn budget(&self) -> Budget {
        self.budget
    }

    pub(super) fn spent(&self) -> Totals {
        self.spent
    }

    fn fit(&self, call: &Call) -> Fit {
        if self.elapsed >= self.budget.wall {
            return Fit::Never(Limit::Wall);
        }
        let worst = self.worst(call);
        if self.in_the_way(self.committed(), call.purpose, worst).is_none() {
            return Fit::Now;
        }
        // At best everything in flight turns out to cost nothing.
        match self.in_the_way(self.settled, call.purpose, worst) {
            Some(limit) => Fit::Never(limit),
            None => Fit::Perhaps,
        }
    }

    /// The limit that a call would pass.
    fn in_the_way(&self, used: Used, purpose: Purpose, need: Sum) -> Option<Limit> {
        let all = self.whole();
        let work = Sum {
            calls: all.calls - held_back(all.calls),
            input: all.input - held_back(all.input),
            money: all.money.less(all.money.percent(HELD_BACK)),
        };
        let over_all = used.all.plus(need).over(all);
        match purpose {
            Purpose::Work => used.work.plus(need).over(work).or(over_all),
            Purpose::Grace | Purpose::Validation => over_all,
        }
    }

    fn whole(&self) -> Sum {
        let Budget { llm_calls, input_tokens, money, .. } = self.budget;
        Sum { calls: u64::from(llm_calls), input: input_tokens, money }
    }

    /// What is settled and what is outstanding, at its worst.
    fn committed(&self) -> Used {
        let mut used = self.settled;
        for held in self.outstanding.values() {
            used.add(held.call.purpose, held.worst);
        }
        used
    }

    fn worst(&self, call: &Call) -> Sum {
        let factor = match self.ratios.get(&call.model) {
            None => WHOLE,
            Some(ratio) => ratio.saturating_mul(100 + MARGIN).div_ceil(100),
        };
        let input = call.input.saturating_mul(factor).div_ceil(WHOLE);
        Sum { calls: 1, input, money: call.price.worst(input, call.output) }
    }

    /// Only upwards: that one text took fewer tokens than estimated promises nothing for the next.
    fn learn(&mut self, call: &Call, input: u64) {
        if input <= call.input {
            return;
        }
        let ratio = input.saturating_mul(WHOLE).div_ceil(call.input.max(1));
        let largest = self.ratios.entry(call.model.clone()).or_default();
        *largest = ratio.max(*largest);
    }
}

impl Held {
    fn at_worst(&self) -> Cost {
        Cost {
            usage: Usage { input: self.worst.input, output: self.call.output, ..Usage::default() },
            money: self.worst.money,
            basis: Basis::Worst,
        }
    }
}

impl Used {
    fn add(&mut self, purpose: Purpose, sum: Sum) {
        self.all = self.all.plus(sum);
        match purpose {
            Purpose::Work => self.work = self.work.plus(sum),
            Purpose::Grace | Purpose::Validation => {}
        }
    }
}

impl Sum {
    fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            input: self.input.saturating_add(other.input),
            money: self.money + other.money,
        }
    }

    /// The first limit that is passed.
    fn over(self, limits: Self) -> Option<Limit> {
        if self.calls > limits.calls {
            Some(Limit::Turns)
        } else if self.input > limits.input {
            Some(Limit::Tokens)
        } else if self.money > limits.money {
            Some(Limit::Money)
        } else {
            None
        }
    }
}

/// The share of a count that is held back, rounded down: of two calls none.
fn held_back(count: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(HELD_BACK) / 100).unwrap_or_default()
}

#[cfg(test)]
impl Books {
    /// Settled and outstanding together, for the tests: calls, tokens, money.
    pub(super) fn committed_by_all(&self) -> (u64, u64, Money) {
        let Sum { calls, input, money } = self.committed().all;
        (calls, input, money)
    }

    pub(super) fn committed_by_work(&self) -> (u64, u64, Money) {
        let Sum { calls, input, money } = self.committed().work;
        (calls, input, money)
    }

    /// The tokens that are reserved for a call, to read and to write.
    pub(super) fn reserved(&self, ticket: Ticket) -> (u64, u64) {
        let held = &self.outstanding[&ticket];
        (held.worst.input, held.call.output)
    }

    pub(super) fn waiting(&self) -> usize {
        self.work.len() + self.protected.len()
    }

    pub(super) fn outstanding(&self) -> Vec<Ticket> {
        self.outstanding.keys().copied().collect()
    }
}
