//! Reviews, trends, workers, installations, audit, retention and migrations.

use crh_server::{
    clock::UnixMillis,
    job::{ChangeId, Heartbeat, InstallationId, JobId},
    store::{
        AuditEntry, Installation, InstalledRepository, IssueOutcome, LeaseEnd, MicroUsd,
        NewDismissal, NewReview, OutcomeSum, RemovedRows, ReviewFilter, Store, StoreError,
        TrendDay,
    },
};

use crate::support::{LEASE_MS, RETRY, START, TestStore, change, on_each_store, review};

async fn finish_review(test: &TestStore, number: u32, issues: u32) -> JobId {
    let id = test.add(&review("o/r", number, "aaa", 1)).await;
    let lease = test.claim().await.unwrap().lease;
    let started_at = test.store.now();
    test.clock.advance_ms(1_000 * i64::from(number));
    let result = NewReview {
        verdict: "not-ready".to_owned(),
        issues_shown: issues,
        issues_fixed: 1,
        cost: MicroUsd(250_000),
        tokens: 1_234,
        started_at,
        folder: format!("installations/7/jobs/{id}"),
        worker: "worker-1".to_owned(),
        posted: true,
        report: Some(format!("{{\"number\":{number}}}")),
    };
    test.store.end(&lease, &LeaseEnd::Done(Some(result)), &RETRY).await.unwrap();
    id
}

#[test]
fn later_outcomes_replace_earlier_ones_and_dismissals_count() {
    on_each_store(|test| async move {
        let outcome = |key: &str, outcome: &str, reception: &str| IssueOutcome {
            issue_key: key.to_owned(),
            severity: "P1".to_owned(),
            category: "bug".to_owned(),
            month: "2026-11".to_owned(),
            outcome: outcome.to_owned(),
            reception: reception.to_owned(),
        };
        let pull = change("o/r", 1);
        let open = ["k1", "k2", "k3"].map(|key| outcome(key, "open", "undecided"));
        test.store.save_outcomes(&pull, &open).await.unwrap();
        let later =
            [outcome("k1", "fixed_in_place", "acted_on"), outcome("k2", "ignored", "left_alone")];
        test.store.save_outcomes(&pull, &later).await.unwrap();
        for issue_key in ["k1", "k2"] {
            let dismissal =
                NewDismissal { change: &pull, issue_key, reason: "", who: "ann", review: 0 };
            test.store.dismiss(&dismissal).await.unwrap();
        }
        let sums = async || -> Vec<String> {
            let sums = test.store.outcome_sums("github.com", "o/r").await.unwrap();
            let line = |it: &OutcomeSum| format!("{} {} {}", it.outcome, it.reception, it.issues);
            sums.iter().map(line).collect()
        };
        let expected = ["dismissed rejected 1", "fixed_in_place acted_on 1", "open undecided 1"];
        assert_eq!(sums().await, expected);
        assert!(test.store.outcome_sums("github.com", "o/other").await.unwrap().is_empty());
        test.store.remove_before(START.plus_ms(1)).await.unwrap();
        assert!(sums().await.is_empty());
    });
}

#[test]
fn finished_reviews_are_listed_and_summed_per_day() {
    on_each_store(|test| async move {
        let first = finish_review(&test, 1, 2).await;
        finish_review(&test, 2, 3).await;
        let filter = ReviewFilter { limit: 10, ..ReviewFilter::default() };
        let reviews = test.store.reviews(&filter).await.unwrap();
        assert_eq!(reviews.len(), 2);
        let stored = test.store.review(reviews[1].id).await.unwrap();
        assert_eq!((stored.job, &stored.change), (first, &change("o/r", 1)));
        for reason in ["", "the caller checks it", ""] {
            let (change, who) = (&stored.change, "ann");
            let dismissal =
                NewDismissal { change, issue_key: "k1", reason, who, review: stored.id };
            test.store.dismiss(&dismissal).await.unwrap();
        }
        let reasons = test.store.dismissals("github.com", "o/r").await.unwrap();
        let reason = "dismissed by ann: the caller checks it".to_owned();
        assert_eq!(reasons, [("k1".to_owned(), reason)].into());
        assert!(test.store.dismissals("github.com", "o/other").await.unwrap().is_empty());
        let report = test.store.report(stored.id).await.unwrap();
        assert_eq!(report.as_deref(), Some("{\"number\":1}"));
        let one = ReviewFilter { number: Some("2".to_owned()), ..filter.clone() };
        assert_eq!(test.store.reviews(&one).await.unwrap().len(), 1);
        let installation = Some(InstallationId(stored.installation.0 + 1));
        let former = ReviewFilter { installation, ..filter };
        assert!(test.store.reviews(&former).await.unwrap().is_empty());
        assert_eq!(
            test.store.trends("github.com", stored.installation, "o/r", 30).await.unwrap(),
            [TrendDay {
                day: START.day(),
                reviews: 2,
                issues_shown: 5,
                issues_dismissed: 1,
                issues_fixed: 2,
                cost: MicroUsd(500_000),
                mean_ms: 1_500,
                longest_ms: 2_000,
            }]
        );
        let other = InstallationId(stored.installation.0 + 1);
        assert!(test.store.trends("github.com", other, "o/r", 30).await.unwrap().is_empty());
        let missing = test.store.review(99).await.unwrap_err();
        assert!(matches!(missing, StoreError::Missing(_)), "{missing}");
    });
}

#[test]
fn conversation_has_a_limited_number_of_answers() {
    on_each_store(|test| async move {
        let pull = change("o/r", 1);
        let count = async |pull: &ChangeId, conversation, comment| {
            test.store.count_answer(pull, conversation, comment, 2).await.unwrap()
        };
        assert_eq!(count(&pull, 7, 1).await, Some(1));
        assert_eq!(count(&pull, 7, 2).await, Some(2));
        assert_eq!(count(&pull, 7, 3).await, None);
        assert_eq!(count(&pull, 7, 1).await, Some(2), "a second attempt of the same job");
        assert_eq!(count(&pull, 8, 3).await, Some(1), "another conversation");
        assert_eq!(count(&change("o/r", 2), 7, 3).await, Some(1), "another pull request");
        test.store.remove_before(START.plus_ms(1)).await.unwrap();
        assert_eq!(count(&pull, 7, 3).await, Some(1));
    });
}

#[test]
fn issues_of_the_last_review_that_are_gone_are_counted() {
    on_each_store(|test| async move {
        let keys = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let change = change("o/r", 1);
        let mut gone = Vec::new();
        for names in [&["a", "b", "c"][..], &["c", "d"], &["c", "d"], &[]] {
            gone.push(test.store.replace_issues(&change, &keys(names)).await.unwrap());
        }
        assert_eq!(gone, [0, 2, 0, 2]);
    });
}

#[test]
fn old_rows_are_deleted_but_a_reviewed_head_is_remembered() {
    on_each_store(|test| async move {
        let id = finish_review(&test, 1, 0).await;
        test.clock.advance_ms(1_000);
        let removed = test.store.remove_before(test.store.now()).await.unwrap();
        assert_eq!(removed, RemovedRows { reviews: 1, ..RemovedRows::default() });
        assert_eq!(test.store.report(1).await.unwrap(), None);
        assert_eq!(
            test.store.enqueue(&review("o/r", 1, "aaa", 1)).await.unwrap(),
            crh_server::job::Enqueued::Exists(id)
        );
        assert_eq!(test.store.job(id).await.unwrap().payload, serde_json::Value::Null);
    });
}

#[test]
fn removed_installation_loses_its_rows_and_its_running_job_stops() {
    on_each_store(|test| async move {
        let seven = InstallationId(7);
        let installation = Installation {
            forge: "github.com".to_owned(),
            id: seven,
            account: "o".to_owned(),
            suspended: false,
            created_at: UnixMillis::default(),
        };
        test.store.save_installation(&installation).await.unwrap();
        let repository = |name: &str| InstalledRepository {
            name: name.to_owned(),
            private: true,
            settings: String::new(),
        };
        let both = [repository("o/a"), repository("o/r")];
        test.store.change_repositories("github.com", seven, &both, &[]).await.unwrap();
        let gone = ["o/a".to_owned()];
        test.store.change_repositories("github.com", seven, &[], &gone).await.unwrap();
        test.store.save_settings("github.com", "o/r", "[review]").await.unwrap();
        let stored = test.store.repositories_of("github.com", seven).await.unwrap();
        assert_eq!(
            stored,
            [InstalledRepository { settings: "[review]".into(), ..repository("o/r") }]
        );
        assert_eq!(test.store.installation_of("github.com", "o/r").await.unwrap(), seven);

        finish_review(&test, 1, 0).await;
        let dismissed = NewDismissal {
            change: &change("o/r", 1),
            issue_key: "k",
            reason: "",
            who: "ann",
            review: 1,
        };
        test.store.dismiss(&dismissed).await.unwrap();
        let running = test.add(&review("o/r", 2, "aaa", 1)).await;
        let lease = test.claim().await.unwrap().lease;
        let waiting = test.add(&review("o/r", 3, "aaa", 1)).await;
        test.store.remove_installation("github.com", seven, "o").await.unwrap();
        assert_eq!(test.store.installations().await.unwrap(), []);
        assert!(test.store.job(waiting).await.is_err());
        let beat = test.store.heartbeat(&lease, LEASE_MS).await.unwrap();
        assert_eq!(beat, Heartbeat::StopRequested);
        assert!(test.store.has_jobs(seven).await.unwrap());
        test.store.end(&lease, &LeaseEnd::Stopped, &RETRY).await.unwrap();
        assert!(test.store.job(running).await.is_err(), "nothing of the installation is left");
        assert!(!test.store.has_jobs(seven).await.unwrap());
        assert!(test.store.dismissals("github.com", "o/r").await.unwrap().is_empty());
        assert_eq!(test.store.report(1).await.unwrap(), None);
        let left = ReviewFilter { limit: 10, ..ReviewFilter::default() };
        assert_eq!(test.store.reviews(&left).await.unwrap(), []);
    });
}

#[test]
fn workers_and_audit_lines_are_listed() {
    on_each_store(|test| async move {
        test.store.register_worker("worker-1", "0.1.0", 2).await.unwrap();
        test.add(&review("o/r", 1, "aaa", 1)).await;
        test.claim().await.unwrap();
        let workers = test.store.workers().await.unwrap();
        assert_eq!((workers.len(), workers[0].running, workers[0].slots), (1, 1, 2));
        test.clock.advance_ms(11 * 60_000);
        assert_eq!(test.store.workers().await.unwrap(), []);
        let entry = AuditEntry {
            at: test.store.now(),
            who: "worker-1".to_owned(),
            action: "post".to_owned(),
            target: "o/r#1".to_owned(),
            detail: String::new(),
        };
        test.store.record(&entry).await.unwrap();
        assert_eq!(test.store.audit(10).await.unwrap(), [entry]);
    });
}

#[test]
fn several_processes_can_open_a_new_database_at_once() {
    on_each_store(|test| async move {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let url = test.url.clone();
            tasks.spawn(
                async move { assert_eq!(Store::open(&url).await.unwrap().probe().await, None) },
            );
        }
        tasks.join_all().await;
    });
}

#[test]
fn database_file_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("crh.db");
        for _ in 0..2 {
            let store = Store::open(&crh_server::store::DatabaseUrl::Sqlite(file.clone())).await;
            for entry in std::fs::read_dir(folder.path()).unwrap() {
                let metadata = entry.unwrap().metadata().unwrap();
                assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
            }
            store.unwrap().close().await;
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        }
    });
}

#[test]
fn wrong_database_is_an_error_and_not_a_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes.txt");
        std::fs::write(
            &file,
            "not a database at all, but long enough to be read as one".repeat(99),
        )
        .unwrap();
        for path in [file, folder.path().join("missing/crh.db")] {
            let url = crh_server::store::DatabaseUrl::Sqlite(path);
            let error = Store::open(&url).await.unwrap_err();
            assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        }
    });
}
