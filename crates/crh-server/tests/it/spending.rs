//! Limits on money and on reviews per day.

use crh_server::{
    job::{InstallationId, JobId},
    store::{
        BudgetDecision, BudgetLimits, BudgetPurpose, BudgetRequest, BudgetReservation, BudgetScope,
        MicroUsd, ScopeLimits, Spending,
    },
};

use crate::support::{START, TestStore, on_each_store};

const USD: i64 = 1_000_000;
const DAY_MS: i64 = 86_400_000;

fn scope(repository: &str) -> BudgetScope {
    BudgetScope {
        forge: "github.com".to_owned(),
        installation: InstallationId(7),
        repository: repository.to_owned(),
    }
}

async fn reserve(
    test: &TestStore,
    job: i64,
    repository: &str,
    limits: &BudgetLimits,
) -> Result<BudgetReservation, String> {
    let request = BudgetRequest {
        job: JobId(job),
        scope: &scope(repository),
        amount: MicroUsd(2 * USD),
        limits,
        purpose: BudgetPurpose::Review,
    };
    match test.store.reserve(&request).await.unwrap() {
        BudgetDecision::Granted(reservation) => Ok(reservation),
        BudgetDecision::Refused { reason, until } => {
            Err(format!("{reason} (until +{} h)", (until.0 - START.0) / 3_600_000))
        }
    }
}

#[test]
fn reservation_counts_until_it_is_settled_once() {
    on_each_store(|test| async move {
        let limits = BudgetLimits {
            repository: ScopeLimits {
                usd_per_day: Some(MicroUsd(3 * USD)),
                ..ScopeLimits::default()
            },
            ..BudgetLimits::default()
        };
        let first = reserve(&test, 1, "o/r", &limits).await.unwrap();
        assert_eq!(
            reserve(&test, 2, "o/r", &limits).await.unwrap_err(),
            "the limit of repository o/r is 3.00 USD per day: 2.00 USD are spent or reserved, \
             and a review may cost 2.00 USD (until +12 h)"
        );
        reserve(&test, 3, "o/other", &limits).await.unwrap();
        for _ in 0..2 {
            test.store.settle(first, MicroUsd(USD / 2)).await.unwrap();
        }
        let spending = test.store.spending(&scope("o/r")).await.unwrap();
        let today = MicroUsd(USD / 2);
        assert_eq!(spending, Spending { today, month: today, reviews_today: 1 });
        reserve(&test, 2, "o/r", &limits).await.unwrap();
        let all = test.store.installation_spending("github.com", InstallationId(7)).await.unwrap();
        assert_eq!((all.today, all.reviews_today), (MicroUsd(4 * USD + USD / 2), 3));
    });
}

#[test]
fn month_limit_of_an_installation_ends_with_the_month() {
    on_each_store(|test| async move {
        let limits = BudgetLimits {
            installation: ScopeLimits {
                usd_per_month: Some(MicroUsd(4 * USD)),
                ..ScopeLimits::default()
            },
            ..BudgetLimits::default()
        };
        reserve(&test, 1, "o/a", &limits).await.unwrap();
        test.clock.advance_ms(DAY_MS);
        reserve(&test, 2, "o/b", &limits).await.unwrap();
        let refused = reserve(&test, 3, "o/c", &limits).await.unwrap_err();
        // 1 December starts 13 days and 12 hours after the start of the test.
        assert!(refused.ends_with("(until +324 h)"), "{refused}");
        assert!(refused.starts_with("the limit of this installation is 4.00 USD per month"));
        test.clock.advance_ms(13 * DAY_MS);
        reserve(&test, 3, "o/c", &limits).await.unwrap();
    });
}

#[test]
fn attempts_of_one_job_count_as_one_review_of_the_day() {
    on_each_store(|test| async move {
        let limits = BudgetLimits {
            repository: ScopeLimits { reviews_per_day: Some(1), ..ScopeLimits::default() },
            ..BudgetLimits::default()
        };
        reserve(&test, 1, "o/r", &limits).await.unwrap();
        reserve(&test, 1, "o/r", &limits).await.unwrap();
        assert_eq!(
            reserve(&test, 2, "o/r", &limits).await.unwrap_err(),
            "the limit of repository o/r is 1 reviews per day (until +12 h)"
        );
        test.clock.advance_ms(DAY_MS);
        reserve(&test, 2, "o/r", &limits).await.unwrap();
    });
}

#[test]
fn reservation_of_a_lost_attempt_is_settled_by_the_resumed_run_or_after_its_day() {
    on_each_store(|test| async move {
        let limits = BudgetLimits::default();
        let today = async || test.store.spending(&scope("o/r")).await.unwrap().today;
        // The worker of the first attempt was lost. The second one resumes its run.
        reserve(&test, 1, "o/r", &limits).await.unwrap();
        let second = reserve(&test, 1, "o/r", &limits).await.unwrap();
        assert_eq!(today().await, MicroUsd(4 * USD));
        test.store.settle_resumed(JobId(1), second, MicroUsd(USD)).await.unwrap();
        assert_eq!(today().await, MicroUsd(USD));
        // Nothing resumes this one.
        reserve(&test, 2, "o/r", &limits).await.unwrap();
        assert_eq!(test.store.release_lost().await.unwrap(), 0, "its day is not over");
        assert_eq!(today().await, MicroUsd(3 * USD));
        test.clock.advance_ms(DAY_MS);
        assert_eq!(test.store.release_lost().await.unwrap(), 1);
        assert_eq!(test.store.release_lost().await.unwrap(), 0);
        let spending = test.store.spending(&scope("o/r")).await.unwrap();
        assert_eq!((spending.today, spending.month), (MicroUsd(0), MicroUsd(USD)));
    });
}

#[test]
fn answers_cost_money_but_are_no_reviews() {
    on_each_store(|test| async move {
        let limits = BudgetLimits {
            repository: ScopeLimits {
                reviews_per_day: Some(1),
                usd_per_day: Some(MicroUsd(3 * USD)),
                ..ScopeLimits::default()
            },
            ..BudgetLimits::default()
        };
        reserve(&test, 1, "o/r", &limits).await.unwrap();
        let answer = async |job: i64| {
            let request = BudgetRequest {
                job: JobId(job),
                scope: &scope("o/r"),
                amount: MicroUsd(USD),
                limits: &limits,
                purpose: BudgetPurpose::Reply,
            };
            test.store.reserve(&request).await.unwrap()
        };
        assert!(matches!(answer(2).await, BudgetDecision::Granted(_)));
        let BudgetDecision::Refused { reason, .. } = answer(3).await else { panic!() };
        assert!(reason.ends_with(", and an answer may cost 1.00 USD"), "{reason}");
        assert_eq!(test.store.spending(&scope("o/r")).await.unwrap().reviews_today, 1);
    });
}

#[test]
fn parallel_reservations_never_exceed_the_limit() {
    on_each_store(|test| async move {
        let limits = BudgetLimits {
            installation: ScopeLimits {
                usd_per_day: Some(MicroUsd(9 * USD)),
                ..ScopeLimits::default()
            },
            ..BudgetLimits::default()
        };
        let test = std::sync::Arc::new(test);
        let mut tasks = tokio::task::JoinSet::new();
        for job in 0..32 {
            let test = test.clone();
            tasks.spawn(async move { reserve(&test, job, &format!("o/{job}"), &limits).await });
        }
        let granted = tasks.join_all().await.into_iter().filter(Result::is_ok).count();
        assert_eq!(granted, 4, "4 times 2 USD fit into 9 USD");
    });
}
