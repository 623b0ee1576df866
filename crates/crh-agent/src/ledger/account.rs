//! Accounting of the ledger: decides which calls may start, wait or are refused, and how much
//! output each call may have. The account never waits and reads no clock.
//!
//! Invariants: the usage of settled and outstanding calls does not exceed the budget, unless a call
//! costs more than its worst case. If no call is outstanding, no call is waiting.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{Budget, CallCost, CallEstimate, CallUsage, CostBasis, UsageTotals};
use crate::{BudgetRefusal, CallPurpose, LimitKind, Shortfall};
use crh_llm::{Money, SharedPrefix, TokenUsage};

/// Percentage of money, calls and tokens held back for last turns and validation.
pub(super) const HELD_BACK_PERCENT: u64 = 20;

/// Percentage added to the largest observed ratio of actual to estimated tokens, because the next
/// text may have more tokens per character.
const RATIO_MARGIN_PERCENT: u64 = 20;

/// Beyond its usual output, a call gets the free money divided by this number. The rest lets other
/// calls run in parallel: after ten grants, a twentieth of the money is still free.
const SPARE_SHARES: u64 = 4;

/// Ratios are stored in thousandths.
const RATIO_SCALE: u64 = 1_000;

/// Identifies a call from `enqueue` to `settle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CallTicket(u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReserveDecision {
    /// The call may have this many output tokens.
    Granted {
        output: u64,
    },
    Refused(BudgetRefusal),
}

#[derive(Debug)]
pub(super) struct BudgetAccount {
    budget: Budget,
    elapsed: Duration,
    last_ticket: u64,
    /// Waiting calls in order of arrival. Calls that may use the held-back share (last turns and
    /// validation) have their own queue, which goes first: work may have used up its share while
    /// the held-back share is untouched.
    held_back_queue: VecDeque<(CallTicket, CallEstimate)>,
    work_queue: VecDeque<(CallTicket, CallEstimate)>,
    /// Calls that are granted and not yet settled.
    outstanding_calls: BTreeMap<CallTicket, OutstandingCall>,
    settled_usage: CommittedUsage,
    spent: UsageTotals,
    /// Largest ratio of actual to estimated tokens, for models that exceeded an estimate.
    ratios: BTreeMap<String, u64>,
    /// Number of counted calls and their output tokens, by model.
    outputs: BTreeMap<String, (u64, u64)>,
    /// Smallest counted input of a call, by model and shared prefix.
    prefixes: BTreeMap<(String, u64), u64>,
}

#[derive(Debug)]
struct OutstandingCall {
    call: CallEstimate,
    /// Granted output tokens.
    output: u64,
    worst_case: UsageSum,
}

#[derive(Debug, Clone, Copy, Default)]
struct CommittedUsage {
    work: UsageSum,
    all: UsageSum,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct UsageSum {
    calls: u64,
    tool_calls: u64,
    input: u64,
    money: Money,
}

/// Whether the first call of a queue can start.
enum BudgetFit {
    Now,
    /// Calls in flight may free enough budget.
    Later,
    Never(LimitKind),
}

impl BudgetAccount {
    /// Creates an account with earlier spending. Earlier spending counts as work, so the held-back
    /// share stays available.
    pub(super) fn new(budget: Budget, spent: UsageTotals) -> Self {
        let earlier_usage = UsageSum {
            calls: u64::from(spent.llm_calls),
            tool_calls: u64::from(spent.tool_calls),
            input: spent.usage.input,
            money: spent.money,
        };
        Self {
            budget,
            elapsed: Duration::ZERO,
            last_ticket: 0,
            held_back_queue: VecDeque::new(),
            work_queue: VecDeque::new(),
            outstanding_calls: BTreeMap::new(),
            settled_usage: CommittedUsage { work: earlier_usage, all: earlier_usage },
            spent,
            ratios: BTreeMap::new(),
            outputs: BTreeMap::new(),
            prefixes: BTreeMap::new(),
        }
    }

    /// Queues a call. `next_decision` decides it later.
    pub(super) fn enqueue(&mut self, call: CallEstimate, elapsed: Duration) -> CallTicket {
        self.elapsed = self.elapsed.max(elapsed);
        self.last_ticket += 1;
        let ticket = CallTicket(self.last_ticket);
        match call.purpose {
            CallPurpose::Work => self.work_queue.push_back((ticket, call)),
            CallPurpose::LastTurn | CallPurpose::Validation => {
                self.held_back_queue.push_back((ticket, call));
            }
        }
        ticket
    }

    /// Decides the next call. Callers repeat this until it returns `None`.
    pub(super) fn next_decision(&mut self) -> Option<(CallTicket, ReserveDecision)> {
        // No call overtakes the first one of its queue, because otherwise a large call could wait
        // forever.
        let is_work = self.held_back_queue.is_empty();
        let (_, call) = self.held_back_queue.front().or(self.work_queue.front())?;
        let fit = self.fit(call);
        let queue = if is_work { &mut self.work_queue } else { &mut self.held_back_queue };
        match fit {
            BudgetFit::Later => None,
            BudgetFit::Never(limit) => {
                let (ticket, call) = queue.pop_front()?;
                Some((ticket, ReserveDecision::Refused(self.refusal(&call, limit))))
            }
            BudgetFit::Now => {
                let (ticket, call) = queue.pop_front()?;
                let output = self.affordable_output(&call);
                let worst_case = self.worst_case(&call, output);
                self.outstanding_calls.insert(ticket, OutstandingCall { call, output, worst_case });
                Some((ticket, ReserveDecision::Granted { output }))
            }
        }
    }

    /// Books the usage of a call. A queued call is removed at no cost.
    pub(super) fn settle(&mut self, ticket: CallTicket, usage: CallUsage) -> Option<CallCost> {
        self.held_back_queue.retain(|(queued_ticket, _)| *queued_ticket != ticket);
        self.work_queue.retain(|(queued_ticket, _)| *queued_ticket != ticket);
        let outstanding_call = self.outstanding_calls.remove(&ticket)?;
        let (worst_cost, call) = (outstanding_call.worst_cost(), outstanding_call.call);
        let cost = match usage {
            CallUsage::NotBilled => return None,
            CallUsage::Unknown => worst_cost,
            // Every call reads tokens, so zero input means that the vendor did not count.
            CallUsage::Known(usage) if usage.input == 0 => worst_cost,
            CallUsage::Known(usage) => {
                self.update_ratio(&call, usage.input);
                let (calls, output) = self.outputs.entry(call.model.clone()).or_default();
                (*calls, *output) = (*calls + 1, output.saturating_add(usage.output));
                self.count_prefix(&call, usage.input);
                CallCost { usage, money: call.price.cost(&usage), basis: CostBasis::Counted }
            }
        };
        let sum = UsageSum { calls: 1, tool_calls: 0, input: cost.usage.input, money: cost.money };
        self.settled_usage.add(call.purpose, sum);
        self.spent.add(cost);
        Some(cost)
    }

    pub(super) fn count_failed_call(&mut self) {
        self.spent.failed_calls = self.spent.failed_calls.saturating_add(1);
    }

    pub(super) fn grant_tool_calls(&mut self, requested: u32, purpose: CallPurpose) -> u32 {
        let free_calls = |budget: UsageSum, used: UsageSum| {
            let free = budget.tool_calls.saturating_sub(used.tool_calls);
            u32::try_from(free).unwrap_or(u32::MAX)
        };
        let free_in_total = free_calls(self.total_budget(), self.settled_usage.all);
        let free = match purpose {
            CallPurpose::Work => {
                free_in_total.min(free_calls(self.work_budget(), self.settled_usage.work))
            }
            CallPurpose::LastTurn | CallPurpose::Validation => free_in_total,
        };
        let granted = requested.min(free);
        let sum = UsageSum { tool_calls: granted.into(), ..UsageSum::default() };
        self.settled_usage.add(purpose, sum);
        self.spent.tool_calls = self.spent.tool_calls.saturating_add(granted);
        granted
    }

    /// Cost of an outstanding call if the vendor reports no usage.
    pub(super) fn reserved_cost(&self, ticket: CallTicket) -> Option<CallCost> {
        self.outstanding_calls.get(&ticket).map(OutstandingCall::worst_cost)
    }

    pub(super) fn budget(&self) -> Budget {
        self.budget
    }

    pub(super) fn spent(&self) -> UsageTotals {
        self.spent
    }

    fn fit(&self, call: &CallEstimate) -> BudgetFit {
        if self.elapsed >= self.budget.wall {
            return BudgetFit::Never(LimitKind::Wall);
        }
        let worst_case = self.worst_case(call, self.usual_output(call));
        if self.exceeded_limit(self.committed(), call.purpose, worst_case).is_none() {
            return BudgetFit::Now;
        }
        // At best, all calls in flight cost nothing.
        match self.exceeded_limit(self.settled_usage, call.purpose, worst_case) {
            Some(limit) => BudgetFit::Never(limit),
            None => BudgetFit::Later,
        }
    }

    /// The limit that a call would exceed.
    fn exceeded_limit(
        &self,
        committed_usage: CommittedUsage,
        purpose: CallPurpose,
        call_usage: UsageSum,
    ) -> Option<LimitKind> {
        let (total, work) = (self.total_budget(), self.work_budget());
        let exceeded_total = committed_usage.all.plus(call_usage).first_exceeded_limit(total);
        match purpose {
            CallPurpose::Work => {
                committed_usage.work.plus(call_usage).first_exceeded_limit(work).or(exceeded_total)
            }
            CallPurpose::LastTurn | CallPurpose::Validation => exceeded_total,
        }
    }

    fn total_budget(&self) -> UsageSum {
        let Budget { llm_calls, tool_calls, input_tokens: input, money, .. } = self.budget;
        UsageSum { calls: llm_calls.into(), tool_calls: tool_calls.into(), input, money }
    }

    fn work_budget(&self) -> UsageSum {
        let total = self.total_budget();
        UsageSum {
            calls: total.calls - held_back_share(total.calls),
            tool_calls: total.tool_calls - held_back_share(total.tool_calls),
            input: total.input - held_back_share(total.input),
            money: total.money.minus(total.money.percent(HELD_BACK_PERCENT)),
        }
    }

    /// Money that is neither spent nor reserved, for calls of this purpose.
    fn free_money(&self, committed_usage: CommittedUsage, purpose: CallPurpose) -> Money {
        let of_all = self.budget.money.minus(committed_usage.all.money);
        match purpose {
            CallPurpose::Work => {
                of_all.min(self.work_budget().money.minus(committed_usage.work.money))
            }
            CallPurpose::LastTurn | CallPurpose::Validation => of_all,
        }
    }

    /// Output tokens that a call usually needs: its own estimate, or the average of its model if
    /// that is more.
    fn usual_output(&self, call: &CallEstimate) -> u64 {
        let average = match self.outputs.get(&call.model) {
            Some((calls, output)) => output / calls.max(&1),
            None => 0,
        };
        call.usual_output.max(average).min(call.output)
    }

    /// Output tokens to grant: the usual ones, and more if money is free.
    fn affordable_output(&self, call: &CallEstimate) -> u64 {
        let usual = self.usual_output(call);
        let worst_case = self.worst_case(call, usual);
        let spare = self.free_money(self.committed(), call.purpose).minus(worst_case.money);
        let more = call.price.affordable_output(worst_case.input, spare.share(SPARE_SHARES));
        usual.saturating_add(more).min(call.output)
    }

    fn refusal(&self, call: &CallEstimate, limit: LimitKind) -> BudgetRefusal {
        let shortfall = (limit == LimitKind::Money).then(|| Shortfall {
            cost: self.worst_case(call, self.usual_output(call)).money,
            left: self.free_money(self.settled_usage, call.purpose),
        });
        BudgetRefusal { limit, shortfall }
    }

    /// Usage of settled calls plus the worst case of outstanding calls.
    fn committed(&self) -> CommittedUsage {
        let mut committed_usage = self.settled_usage;
        for outstanding_call in self.outstanding_calls.values() {
            committed_usage.add(outstanding_call.call.purpose, outstanding_call.worst_case);
        }
        committed_usage
    }

    /// Highest usage of a call that may have this many output tokens.
    fn worst_case(&self, call: &CallEstimate, output: u64) -> UsageSum {
        let factor = match self.ratios.get(&call.model) {
            None => RATIO_SCALE,
            Some(ratio) => ratio.saturating_mul(100 + RATIO_MARGIN_PERCENT).div_ceil(100),
        };
        let input = self.input_bound(call).saturating_mul(factor).div_ceil(RATIO_SCALE);
        UsageSum { calls: 1, tool_calls: 0, input, money: call.price.worst_case(input, output) }
    }

    /// Upper bound on the input tokens: the call's own, or a counted prefix plus the estimated
    /// rest.
    fn input_bound(&self, call: &CallEstimate) -> u64 {
        let with_counted_prefix = call.prefix.and_then(|SharedPrefix { id, rest }| {
            let count = self.prefixes.get(&(call.model.clone(), id))?;
            Some(count.saturating_add(rest))
        });
        with_counted_prefix.map_or(call.input, |bound| bound.min(call.input))
    }

    /// Remembers that the prefix of a call has at most this many tokens.
    fn count_prefix(&mut self, call: &CallEstimate, input: u64) {
        if let Some(SharedPrefix { id, .. }) = call.prefix {
            let count = self.prefixes.entry((call.model.clone(), id)).or_insert(input);
            *count = input.min(*count);
        }
    }

    /// Raises the ratio of a model whose estimate was too low. The ratio never falls, because one
    /// text with few tokens says nothing about the next text.
    fn update_ratio(&mut self, call: &CallEstimate, input: u64) {
        if input <= call.input {
            return;
        }
        let ratio = input.saturating_mul(RATIO_SCALE).div_ceil(call.input.max(1));
        let max_ratio = self.ratios.entry(call.model.clone()).or_default();
        *max_ratio = ratio.max(*max_ratio);
    }
}

impl OutstandingCall {
    fn worst_cost(&self) -> CallCost {
        CallCost {
            usage: TokenUsage {
                input: self.worst_case.input,
                output: self.output,
                ..TokenUsage::default()
            },
            money: self.worst_case.money,
            basis: CostBasis::Worst,
        }
    }
}

impl CommittedUsage {
    fn add(&mut self, purpose: CallPurpose, sum: UsageSum) {
        self.all = self.all.plus(sum);
        match purpose {
            CallPurpose::Work => self.work = self.work.plus(sum),
            CallPurpose::LastTurn | CallPurpose::Validation => {}
        }
    }
}

impl UsageSum {
    fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            tool_calls: self.tool_calls.saturating_add(other.tool_calls),
            input: self.input.saturating_add(other.input),
            money: self.money + other.money,
        }
    }

    /// Tool calls are not checked: `grant_tool_calls` limits them.
    fn first_exceeded_limit(self, limits: Self) -> Option<LimitKind> {
        if self.calls > limits.calls {
            Some(LimitKind::Turns)
        } else if self.input > limits.input {
            Some(LimitKind::Tokens)
        } else if self.money > limits.money {
            Some(LimitKind::Money)
        } else {
            None
        }
    }
}

/// Held-back share of a count, rounded down.
fn held_back_share(count: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(HELD_BACK_PERCENT) / 100).unwrap_or_default()
}

#[cfg(test)]
impl BudgetAccount {
    /// Settled and outstanding calls, tokens and money.
    pub(super) fn committed_by_all(&self) -> (u64, u64, Money) {
        let UsageSum { calls, input, money, .. } = self.committed().all;
        (calls, input, money)
    }

    pub(super) fn committed_by_work(&self) -> (u64, u64, Money) {
        let UsageSum { calls, input, money, .. } = self.committed().work;
        (calls, input, money)
    }

    /// Input and output tokens reserved for a call.
    pub(super) fn reserved(&self, ticket: CallTicket) -> (u64, u64) {
        let outstanding_call = &self.outstanding_calls[&ticket];
        (outstanding_call.worst_case.input, outstanding_call.output)
    }

    pub(super) fn waiting(&self) -> usize {
        self.work_queue.len() + self.held_back_queue.len()
    }

    pub(super) fn outstanding(&self) -> Vec<CallTicket> {
        self.outstanding_calls.keys().copied().collect()
    }
}
