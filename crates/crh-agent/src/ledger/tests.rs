use std::collections::BTreeMap;
use std::fmt::Write;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::account::{BudgetAccount, CallTicket, ReserveDecision};
use super::*;
use crh_llm::{Money, Price, Rates, TokenUsage};

/// One cent per token, so that money and tokens have the same numbers.
fn cent_a_token() -> Price {
    let cent = Money::cents(1);
    let rates = Rates { input: cent, cache_read: cent, cache_write: cent, output: cent };
    Price { rates, long: None }
}

fn budget(llm_calls: u32, input_tokens: u64, cents: u64) -> Budget {
    let wall = Duration::from_secs(60);
    Budget { llm_calls, tool_calls: 10, input_tokens, wall, money: Money::cents(cents) }
}

fn usage(input: u64, output: u64) -> TokenUsage {
    TokenUsage { input, output, ..TokenUsage::default() }
}

/// Plays the first column of a snapshot. The other columns are the decisions and the committed
/// money. `budget 9 100 50` starts anew with 9 calls, 100 input tokens and 50 cents. Events: `ask a last 100+10` (input and output tokens of model `m`, or `m2` with a fifth
/// word), `ask a last 100+10..50` (usual and maximum output), `used a 80+5`, `unknown a`, `free
/// a`, `at 30` (seconds).
#[track_caller]
fn check(expected: Expect) {
    let tokens = |text: &str| -> (u64, u64) {
        let (input, output) = text.split_once('+').unwrap();
        (input.parse().unwrap(), output.parse().unwrap())
    };
    let mut account = BudgetAccount::new(budget(0, 0, 0), UsageTotals::default());
    let mut names: BTreeMap<CallTicket, &str> = BTreeMap::new();
    let mut elapsed = Duration::ZERO;
    let mut report = String::new();
    let script = expected.data.lines().filter_map(|line| line.split('|').next());
    for line in script.map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ticket = |name: &str| *names.iter().find(|(_, other)| **other == name).unwrap().0;
        match words.as_slice() {
            ["budget", calls, tokens, cents] => {
                let [tokens, cents] = [tokens, cents].map(|number| number.parse().unwrap());
                let budget = budget(calls.parse().unwrap(), tokens, cents);
                account = BudgetAccount::new(budget, UsageTotals::default());
                (names, elapsed) = (BTreeMap::new(), Duration::ZERO);
                writeln!(report, "{line}").unwrap();
                continue;
            }
            ["at", seconds] => elapsed = Duration::from_secs(seconds.parse().unwrap()),
            ["ask", name, purpose, size, model @ ..] => {
                let (size, max_output) = size.split_once("..").unwrap_or((size, ""));
                let (input, usual_output) = tokens(size);
                let output = max_output.parse().unwrap_or(usual_output);
                let purpose = match *purpose {
                    "work" => CallPurpose::Work,
                    "last" => CallPurpose::LastTurn,
                    "validation" => CallPurpose::Validation,
                    other => panic!("{other}"),
                };
                let model = model.first().unwrap_or(&"m").to_string();
                let (prefix, price) = (None, cent_a_token());
                let call =
                    CallEstimate { model, input, output, usual_output, prefix, price, purpose };
                names.insert(account.enqueue(call, elapsed), name);
            }
            ["used", name, size] => {
                let (input, output) = tokens(size);
                account.settle(ticket(name), CallUsage::Known(usage(input, output)));
            }
            ["unknown", name] => {
                account.settle(ticket(name), CallUsage::Unknown);
            }
            ["free", name] => {
                account.settle(ticket(name), CallUsage::NotBilled);
            }
            other => panic!("{other:?}"),
        }
        let mut decided = String::new();
        while let Some((ticket, decision)) = account.next_decision() {
            let name = names[&ticket];
            match decision {
                ReserveDecision::Granted { output } => write!(decided, " {name}+{output}").unwrap(),
                ReserveDecision::Refused(BudgetRefusal { limit, shortfall: None }) => {
                    write!(decided, " {name}: {limit:?}").unwrap();
                }
                ReserveDecision::Refused(BudgetRefusal { limit, shortfall: Some(missing) }) => {
                    let (cost, left) = (missing.cost.as_dollars(), missing.left.as_dollars());
                    write!(decided, " {name}: {limit:?}, {cost} of {left}").unwrap();
                }
            }
        }
        let (_, _, money) = account.committed_by_all();
        writeln!(report, "{line:22} |{decided} | {}", money.as_dollars()).unwrap();
    }
    expected.assert_eq(&report);
}

#[test]
fn call_waits_while_others_may_free_budget() {
    check(expect![[r#"
        budget 9 10000 150
        ask a work 50+10       | a+10 | 0.6
        ask b work 50+11       | | 0.6
        used a 50+1            | b+11 | 1.12
        ask c work 50+1        | | 1.12
        used b 50+11           | c: Money, 0.51 of 0.08 | 1.12
        ask d work 5+1         | d+1 | 1.18
    "#]]);
}

#[test]
fn small_calls_do_not_overtake_a_large_one() {
    check(expect![[r#"
        budget 9 10000 125
        ask a work 50+0        | a+0 | 0.5
        ask big work 90+0      | | 0.5
        ask small work 1+0     | | 0.5
        free a                 | big+0 small+0 | 0.91
        used big 90+0          | | 0.91
    "#]]);
}

#[test]
fn cancelled_call_unblocks_the_queue() {
    check(expect![[r#"
        budget 9 10000 125
        ask a work 50+0        | a+0 | 0.5
        ask big work 90+0      | | 0.5
        ask small work 1+0     | | 0.5
        unknown big            | small+0 | 0.51
    "#]]);
}

#[test]
fn last_turns_and_validation_use_the_reserved_fifth() {
    check(expect![[r#"
        budget 9 10000 100
        ask a work 70+0        | a+0 | 0.7
        ask b work 11+0        | | 0.7
        ask c last 20+0        | c+0 | 0.9
        ask d validation 11+0  | | 0.9
        used c 20+0            | | 0.9
        used a 70+0            | d: Money, 0.11 of 0.1 b: Money, 0.11 of 0.1 | 0.9
    "#]]);
}

#[test]
fn reserved_counts_are_rounded_down() {
    check(expect![[r#"
        budget 9 10000 10000
        ask a work 1+0         | a+0 | 0.01
        ask b work 1+0         | b+0 | 0.02
        ask c work 1+0         | c+0 | 0.03
        ask d work 1+0         | d+0 | 0.04
        ask e work 1+0         | e+0 | 0.05
        ask f work 1+0         | f+0 | 0.06
        ask g work 1+0         | g+0 | 0.07
        ask h work 1+0         | h+0 | 0.08
        ask i work 1+0         | | 0.08
        ask j last 1+0         | j+0 | 0.09
        ask k last 1+0         | | 0.09
        free a                 | k+0 | 0.09
        budget 2 10000 10000
        ask a work 1+0         | a+0 | 0.01
        used a 1+0             | | 0.01
        ask b work 1+0         | b+0 | 0.02
        used b 1+0             | | 0.02
        ask c last 1+0         | c: Turns | 0.02
    "#]]);
}

#[test]
fn refusal_names_the_exceeded_limit() {
    check(expect![[r#"
        budget 1 100 10000
        ask a last 101+0       | a: Tokens | 0
        budget 1 100 50
        ask a last 40+11       | a: Money, 0.51 of 0.5 | 0
        budget 0 100 50
        ask a last 1+1         | a: Turns | 0
        budget 1 100 50
        at 60                  | | 0
        ask a last 1+1         | a: Wall | 0
    "#]]);
}

#[test]
fn unknown_usage_counts_as_worst_case() {
    check(expect![[r#"
        budget 9 10000 10000
        ask a work 50+10       | a+10 | 0.6
        unknown a              | | 0.6
        ask b work 50+10       | b+10 | 1.2
        free b                 | | 0.6
        ask c work 50+10       | c+10 | 1.2
        used c 0+0             | | 1.2
    "#]]);
}

#[test]
fn estimates_grow_by_the_largest_ratio_plus_a_fifth() {
    check(expect![[r#"
        budget 99 100000 100000
        ask a work 1000+0      | a+0 | 10
        used a 100+0           | | 1
        ask b work 1000+0      | b+0 | 11
        used b 1200+0          | | 13
        ask c work 1000+0      | c+0 | 27.4
        used c 1100+0          | | 24
        ask d work 1000+0      | d+0 | 38.4
        free d                 | | 24
        ask e work 1000+0 m2   | e+0 | 34
    "#]]);
}

#[test]
fn output_is_cut_to_what_the_money_pays_for() {
    check(expect![[r#"
        budget 9 10000 200
        ask a work 20+10..100  | a+42 | 0.62
        ask b work 20+10..100  | b+27 | 1.09
        ask c work 20+10..15   | c+15 | 1.44
        ask d work 20+90..100  | | 1.44
        used a 20+5            | | 1.07
        used b 20+5            | | 0.85
        used c 20+5            | d: Money, 1.1 of 0.85 | 0.75
    "#]]);
}

#[test]
fn usual_output_follows_the_average_of_the_model() {
    check(expect![[r#"
        budget 9 10000 400
        ask a last 10+5..100   | a+100 | 1.1
        used a 10+40           | | 0.5
        ask b last 10+5..20    | b+20 | 0.8
        used b 10+20           | | 0.8
        ask c last 10+5..300   | c+100 | 1.9
        used c 10+200          | | 2.9
        ask d last 10+5..300   | d+89 | 3.89
        ask e last 10+5..300 m2 | | 3.89
    "#]]);
}

#[test]
fn counted_prefix_lowers_later_reservations() {
    let mut account = BudgetAccount::new(budget(9, 10_000, 10_000), UsageTotals::default());
    let mut reserve = |prefix, counted| {
        let prefix = Some(SharedPrefix { id: prefix, rest: 20 });
        let ticket = account.enqueue(CallEstimate { prefix, ..call(1_000) }, Duration::ZERO);
        assert!(matches!(account.next_decision(), Some((_, ReserveDecision::Granted { .. }))));
        let (input, _) = account.reserved(ticket);
        account.settle(ticket, CallUsage::Known(usage(counted, 0)));
        input
    };
    assert_eq!(
        [reserve(1, 400), reserve(1, 390), reserve(2, 400), reserve(1, 400)],
        [1_000, 420, 1_000, 410]
    );
}

#[test]
fn a_fifth_of_the_tool_calls_is_reserved() {
    let mut account = BudgetAccount::new(budget(1, 1, 1), UsageTotals::default());
    let grants = [
        (6, CallPurpose::Work),
        (6, CallPurpose::Work),
        (1, CallPurpose::Work),
        (1, CallPurpose::Validation),
        (9, CallPurpose::LastTurn),
        (1, CallPurpose::LastTurn),
    ];
    let granted = grants.map(|(requested, purpose)| account.grant_tool_calls(requested, purpose));
    assert_eq!(granted, [6, 2, 0, 1, 1, 0]);
    assert_eq!(account.spent(), UsageTotals { tool_calls: 10, ..UsageTotals::default() });
}

/// A random operation on the account.
#[derive(Debug, Clone)]
enum LedgerMove {
    Ask(CallEstimate),
    /// Settles an outstanding call with this percentage of its estimate and output.
    End(prop::sample::Index, u64, CallEnding),
    /// Cancels any call, in any state.
    GiveUp(prop::sample::Index),
}

#[derive(Debug, Clone, Copy)]
enum CallEnding {
    Known,
    Nothing,
    Unknown,
}

fn any_move() -> impl Strategy<Value = LedgerMove> {
    let purpose = prop_oneof![
        3 => Just(CallPurpose::Work),
        1 => Just(CallPurpose::LastTurn),
        1 => Just(CallPurpose::Validation),
    ];
    let ask = (1..400u64, 0..100u64, 0..=100u64, purpose, "[ab]").prop_map(
        |(input, output, usual, purpose, model)| {
            let (usual_output, prefix, price) = (output * usual / 100, None, cent_a_token());
            LedgerMove::Ask(CallEstimate {
                model,
                input,
                output,
                usual_output,
                prefix,
                price,
                purpose,
            })
        },
    );
    let ending = prop_oneof![4 => Just(CallEnding::Known), 1 => Just(CallEnding::Nothing), 1 => Just(CallEnding::Unknown)];
    prop_oneof![
        4 => ask,
        4 => (any::<prop::sample::Index>(), 1..=100u64, ending)
            .prop_map(|(which, percent, ending)| LedgerMove::End(which, percent, ending)),
        1 => any::<prop::sample::Index>().prop_map(LedgerMove::GiveUp),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn committed_usage_never_exceeds_the_budget(
        moves in prop::collection::vec(any_move(), 1..80),
    ) {
        let mut account = BudgetAccount::new(budget(20, 3_000, 3_000), UsageTotals::default());
        let mut tickets = Vec::new();
        let mut worst: BTreeMap<CallTicket, (u64, u64)> = BTreeMap::new();
        for played in moves {
            match played {
                LedgerMove::Ask(call) => tickets.push(account.enqueue(call, Duration::ZERO)),
                LedgerMove::End(which, percent, ending) => {
                    let outstanding = account.outstanding();
                    if outstanding.is_empty() {
                        continue;
                    }
                    let ticket = *which.get(&outstanding);
                    // Actual usage stays within the reserved worst case.
                    let (input, output) = worst[&ticket];
                    let truth = usage((input * percent / 100).max(1), output * percent / 100);
                    let settled = match ending {
                        CallEnding::Known => CallUsage::Known(truth),
                        CallEnding::Nothing => CallUsage::NotBilled,
                        CallEnding::Unknown => CallUsage::Unknown,
                    };
                    account.settle(ticket, settled);
                }
                LedgerMove::GiveUp(which) if !tickets.is_empty() => {
                    account.settle(*which.get(&tickets), CallUsage::Unknown);
                }
                LedgerMove::GiveUp(_) => {}
            }
            while let Some((ticket, decision)) = account.next_decision() {
                if let ReserveDecision::Granted { output } = decision {
                    let reserved = account.reserved(ticket);
                    prop_assert_eq!(output, reserved.1);
                    worst.insert(ticket, reserved);
                }
            }
            let (calls, input, money) = account.committed_by_all();
            prop_assert!(calls <= 20 && input <= 3_000 && money <= Money::cents(3_000));
            let (calls, input, money) = account.committed_by_work();
            prop_assert!(calls <= 16 && input <= 2_400 && money <= Money::cents(2_400));
            prop_assert!(account.waiting() == 0 || !account.outstanding().is_empty());
        }
    }
}

fn call(input: u64) -> CallEstimate {
    let (model, price, purpose) = ("m".to_owned(), cent_a_token(), CallPurpose::LastTurn);
    CallEstimate { model, input, output: 0, usual_output: 0, prefix: None, price, purpose }
}

/// Polls a future once.
async fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_call_is_woken_when_budget_is_freed() {
    let ledger = Ledger::open(budget(9, 10_000, 100));
    let first = ledger.reserve(call(100)).await.unwrap();
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let ledger = ledger.clone();
            tokio::spawn(async move {
                let reservation = ledger.reserve(call(30)).await?;
                tokio::task::yield_now().await;
                Ok::<_, BudgetRefusal>(
                    reservation.settle(CallUsage::Known(usage(30, 0))).map(|cost| cost.money),
                )
            })
        })
        .collect();
    tokio::task::yield_now().await;
    first.settle(CallUsage::NotBilled);
    let mut ends = Vec::new();
    for task in waiting {
        ends.push(task.await.unwrap());
    }
    assert_eq!(ends, vec![Ok(Some(Money::cents(30))); 3]);
    assert_eq!(ledger.reserve(call(30)).await.unwrap_err().limit, LimitKind::Money);
    let spent = UsageTotals {
        llm_calls: 3,
        usage: usage(90, 0),
        money: Money::cents(90),
        ..UsageTotals::default()
    };
    assert_eq!(ledger.spent(), spent);
    let remaining = budget(6, 9_910, 10);
    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(
        ledger.remaining(),
        Budget { wall: remaining.wall - Duration::from_secs(3), ..remaining }
    );
}

#[tokio::test(start_paused = true)]
async fn dropped_reservation_counts_as_worst_case() {
    let ledger = Ledger::open(budget(9, 10_000, 100));
    let held = ledger.reserve(call(60)).await.unwrap();
    {
        let mut gone = pin!(ledger.reserve(call(90)));
        let mut stays = pin!(ledger.reserve(call(40)));
        assert!(now(gone.as_mut()).await.is_none());
        assert!(now(stays.as_mut()).await.is_none(), "the line is kept");
    }
    assert!(now(ledger.reserve(call(40))).await.unwrap().is_ok(), "the queue is empty");
    assert_eq!(ledger.spent().money, Money::cents(40), "and that one was dropped");
    drop(held);
    let worst = UsageTotals {
        llm_calls: 2,
        guessed_calls: 2,
        usage: usage(100, 0),
        money: Money::cents(100),
        ..UsageTotals::default()
    };
    assert_eq!(ledger.spent(), worst);
}

#[tokio::test(start_paused = true)]
async fn grant_to_a_dropped_caller_is_freed() {
    let ledger = Ledger::open(budget(9, 10_000, 100));
    let held = ledger.reserve(call(100)).await.unwrap();
    let mut gone = Box::pin(ledger.reserve(call(100)));
    assert!(now(gone.as_mut()).await.is_none());
    held.settle(CallUsage::NotBilled);
    // The grant was sent, but the receiver is dropped.
    drop(gone);
    assert_eq!(ledger.spent(), UsageTotals::default());
    assert!(now(ledger.reserve(call(100))).await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn reserve_fails_at_the_wall_time_limit() {
    let ledger = Ledger::open(budget(9, 10_000, 100));
    let _held = ledger.reserve(call(100)).await.unwrap();
    assert_eq!(ledger.reserve(call(1)).await.unwrap_err().limit, LimitKind::Wall);
    assert_eq!(ledger.reserve(call(1)).await.unwrap_err().limit, LimitKind::Wall);
}

#[tokio::test(start_paused = true)]
async fn earlier_spending_counts_as_work() {
    let before = UsageTotals {
        llm_calls: 4,
        guessed_calls: 1,
        failed_calls: 3,
        tool_calls: 7,
        usage: usage(100, 10),
        money: Money::cents(50),
    };
    let ledger = Ledger::resume(budget(10, 10_000, 100), before);
    assert_eq!(ledger.spent(), before);
    // A fifth of the ten tool calls is reserved, as of the money.
    assert_eq!(ledger.grant_tool_calls(9, CallPurpose::Work), 1);
    assert_eq!(ledger.grant_tool_calls(9, CallPurpose::Validation), 2);
    let work = |input| CallEstimate { purpose: CallPurpose::Work, ..call(input) };
    assert_eq!(ledger.reserve(work(31)).await.unwrap_err().limit, LimitKind::Money);
    ledger.reserve(work(30)).await.unwrap().settle(CallUsage::Known(usage(30, 0)));
    assert_eq!(ledger.remaining().llm_calls, 5);
    assert_eq!(ledger.remaining().money, Money::cents(20));
}

#[tokio::test(start_paused = true)]
async fn idle_time_does_not_count() {
    let mut ledger = Ledger::open(budget(1, 100, 100));
    let before = ledger.deadline().unwrap();
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(ledger.remaining().wall, Duration::from_secs(10));
    ledger.delay_start(Duration::from_secs(50));
    assert_eq!(ledger.remaining().wall, Duration::from_secs(60));
    assert_eq!(ledger.deadline().unwrap() - before, Duration::from_secs(50));
}
