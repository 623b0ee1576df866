use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::Duration;

use expect_test::expect;
use secrecy::SecretString;
use tempfile::TempDir;

use super::*;
use crate::assignment::Assignment;
use crate::events::Stage;
use crh_agent::{CallCost, CostBasis};
use crh_llm::{Money, TokenUsage};
use crh_review::finding::Severity;
use crh_review::report::{Decimal, DroppedFinding, Fate, ReviewedChange, Status};
use crh_review::verdict::Verdict;

const ID: &str = "0123456789abcdef";
const MIDNIGHT: u64 = 1_794_700_800;
/// A known key that does not look like one.
const KNOWN: &str = "the_key_of_the_house";
/// Code that looks like a key but is not a known one.
const SHAPED: &str = "ghp_9fQ2xLm7Tz4Kc8Vb1Nw6Rd3Hj5Yg0SeAbCd";

fn stamp(hours: u64) -> Timestamp {
    Timestamp::from_unix(MIDNIGHT + hours * 3600)
}

fn assignment(name: &str) -> Assignment {
    Assignment {
        name: name.to_owned(),
        reviewer: "general".to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts: Vec::new(),
    }
}

fn report(title: &str) -> Report {
    let change = ReviewedChange {
        title: title.to_owned(),
        head_ref: "refs/heads/other".to_owned(),
        head_sha: "cd34".to_owned(),
        ..ReviewedChange::default()
    };
    Report { schema_version: SCHEMA_VERSION, change, ..Report::default() }
}

fn checkout_state() -> CheckoutState {
    CheckoutState { branch: "topic".to_owned(), head_sha: "ab12".to_owned() }
}

/// A completed run.
fn finished(runs: &Path, stamp: Timestamp) -> RunFolder {
    let folder = RunFolder::create(runs, stamp, ID).unwrap();
    let report = report("Retry the mail");
    folder.write_start(&checkout_state()).unwrap();
    assert!(folder.finish(&report, &[], &[]).is_empty());
    folder.complete(stamp).unwrap();
    folder
}

/// A run that has only begun.
fn begun(runs: &Path, stamp: Timestamp) -> RunFolder {
    let folder = RunFolder::create(runs, stamp, ID).unwrap();
    folder.write_start(&checkout_state()).unwrap();
    folder
}

/// Files of a folder with their contents.
fn contents(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        match path.is_dir() {
            true => left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path())),
            false => {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                files.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn runs_in_one_second_get_private_ignored_folders() {
    let place = TempDir::new().unwrap();
    let runs = place.path().join(".crh/runs");
    let folders: Vec<RunFolder> =
        (0..3).map(|_| RunFolder::create(&runs, stamp(0), ID).unwrap()).collect();
    let names: Vec<String> = folders.iter().map(RunFolder::run_id).collect();
    let first = "20261115T000000Z_0123456789abcdef";
    assert_eq!(names, [first.to_owned(), format!("{first}-2"), format!("{first}-3")]);
    for folder in folders {
        assert_eq!(fs::metadata(folder.path()).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::read_to_string(folder.path().join(".gitignore")).unwrap(), "*\n");
    }
    for wrong in ["", "../../etc", "0123456789ABCDEF", "0123"] {
        assert!(RunFolder::create(&runs, stamp(0), wrong).is_err(), "{wrong}");
    }
}

fn finding_without_severity() -> DroppedFinding {
    DroppedFinding {
        fate: Fate::Malformed,
        reason: "`severity` is missing".to_owned(),
        cause: None,
        into: None,
        open: None,
        validation: None,
        reviewer: "general".to_owned(),
        member: None,
        raw: Some(json!({ "title": "no severity" })),
    }
}

#[test]
fn finished_run_has_all_files_and_reads_back() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    expect![[r#"
        {
          "branch": "topic",
          "completed_at": null,
          "head_sha": "ab12",
          "run_id": "20261115T000000Z_0123456789abcdef",
          "verdict": null
        }
    "#]]
    .assert_eq(&contents(folder.path())["metadata.json"]);
    let mut record = RunRecord::new(assignment("sub-agent-1"));
    record.dropped.push(finding_without_severity());
    record.summary = "looked at all".to_owned();
    folder.store_run(&record).unwrap();
    let report = report("Retry the mail");
    let stages = [StageTime { stage: Stage::Plan, took_ms: 12 }];
    let lost = folder.finish(&report, &[record], &stages);
    assert!(lost.is_empty(), "{lost:?}");
    assert_eq!(folder.metadata().unwrap().completed_at, None);
    folder.complete(stamp(1)).unwrap();
    // A later attempt that has nothing to do keeps the time.
    folder.complete(stamp(2)).unwrap();

    let files = contents(folder.path());
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            ".gitignore",
            "metadata.json",
            "review.json",
            "review.md",
            "reviewers/sub-agent-1.json",
            "stages/runs/sub-agent-1.json",
            "telemetry.json"
        ]
    );
    expect![[r#"
        {
          "branch": "topic",
          "completed_at": "2026-11-15T01:00:00Z",
          "head_sha": "ab12",
          "run_id": "20261115T000000Z_0123456789abcdef",
          "verdict": "Incomplete"
        }
    "#]]
    .assert_eq(&files["metadata.json"]);
    expect![[r#"
        {
          "findings": [
            {
              "title": "no severity"
            }
          ],
          "residual_risks": [],
          "reviewer": "general",
          "summary": "looked at all",
          "testing_gaps": []
        }
    "#]]
    .assert_eq(&files["reviewers/sub-agent-1.json"]);
    assert_eq!(files["review.md"], render::markdown(&report));
    assert_eq!(RunFolder::open(folder.path()).unwrap().report().unwrap(), report);
}

#[test]
fn fix_round_has_the_checkout_of_the_review() {
    let place = TempDir::new().unwrap();
    let folder = finished(place.path(), stamp(0));
    let ready = Report { verdict: Verdict::ReadyToMerge, ..report("Fixed") };
    folder.rewrite_report(&ready).unwrap();
    let metadata = folder.metadata().unwrap();
    assert_eq!(metadata.checkout, checkout_state());
    assert_eq!(metadata.verdict.as_deref(), Some("Ready to merge"));
    assert!(metadata.completed_at.is_some());
    let round = folder.fix_round(1).unwrap();
    round.finish(&ready, &[], &[]);
    assert_eq!(round.metadata().unwrap().checkout, checkout_state());
}

#[test]
fn metadata_has_the_verdict_of_the_report() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    let check = |verdict: Verdict, status: Status, expected: &str| {
        let report = Report { verdict, status, ..report("Half") };
        folder.rewrite_report(&report).unwrap();
        assert_eq!(folder.metadata().unwrap().verdict.as_deref(), Some(expected));
    };
    check(Verdict::ReadyWithFixes, Status::Ok, "Ready with fixes");
    check(Verdict::ReadyWithFixes, Status::Truncated, "Ready with fixes (incomplete)");
    check(Verdict::Incomplete, Status::Truncated, "Incomplete");
}

#[test]
fn without_a_repository_checkout_comes_from_the_change() {
    let of = |head_ref: &str| {
        let change = ReviewedChange { head_ref: head_ref.to_owned(), ..report("A change").change };
        CheckoutState::from_change(&change)
    };
    let at =
        |branch: &str| CheckoutState { branch: branch.to_owned(), head_sha: "cd34".to_owned() };
    assert_eq!(of("refs/heads/fix/mail"), at("fix/mail"));
    assert_eq!(of("cd34"), at(""));
}

#[test]
fn stopped_review_has_a_report_but_is_incomplete() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    folder.finish(&report("Half"), &[], &[]);
    let metadata = folder.metadata().unwrap();
    assert_eq!((metadata.verdict.as_deref(), metadata.completed_at), (Some("Incomplete"), None));
    assert!(folder.report().is_ok());
}

#[test]
fn known_secrets_are_masked_and_look_alikes_kept() {
    let place = TempDir::new().unwrap();
    let redactor = Redactor::new([&SecretString::from(KNOWN)]);
    let folder = RunFolder::create(place.path(), stamp(0), ID).unwrap().with_redactor(redactor);
    let text = format!("{KNOWN} {SHAPED}");
    let mut record = RunRecord::new(assignment("single"));
    record.summary = text.clone();
    folder.store_run(&record).unwrap();
    let mut report = report("Keys");
    report.warnings.push(text);
    folder.finish(&report, &[record], &[]);
    let files = contents(folder.path());
    let with = |word: &str| -> Vec<&str> {
        let matches = files.iter().filter(|(_, text)| text.contains(word));
        matches.map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(with(KNOWN), [""; 0]);
    assert_eq!(
        with(SHAPED),
        ["review.json", "reviewers/single.json", "stages/runs/single.json"],
        "quotes are held against the code again"
    );
    // In Markdown, underscores and brackets are escaped.
    assert!(files["review.md"].contains("redacted"), "{}", files["review.md"]);
}

#[test]
fn names_cannot_leave_the_folder() {
    let place = TempDir::new().unwrap();
    let folder = RunFolder::create(place.path(), stamp(0), ID).unwrap();
    for wrong in ["", "../x.json", "a/../../x", "/etc/x", "a//b", ".hidden", "a\\b", "é", "a b"] {
        assert!(folder.store(wrong, &1).is_err(), "{wrong}");
    }
    assert_eq!(contents(place.path()).len(), 1, "the .gitignore alone");
}

#[test]
fn only_completed_runs_are_reused() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    assert_eq!(folder.completed_runs(), []);
    let done = RunRecord::new(assignment("sub-agent-2"));
    let mut cancelled = RunRecord::new(assignment("sub-agent-3"));
    cancelled.ended = RunEnd::Cancelled;
    for record in [&done, &cancelled, &RunRecord::failed(assignment("sub-agent-4"), "crashed")] {
        folder.store_run(record).unwrap();
    }
    fs::write(folder.path().join("stages/runs/sub-agent-1.json"), "{\"assign").unwrap();
    fs::write(folder.path().join("stages/runs/.crh-half.json"), "{}").unwrap();
    assert_eq!(folder.completed_runs(), [done]);
}

#[test]
fn running_run_cannot_be_resumed() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    let path = folder.path().to_owned();
    let refused = RunFolder::open(&path).and_then(RunFolder::resume).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the run `20261115T000000Z_0123456789abcdef` is in use by another process"
    );
    assert!(RunFolder::open(&path).is_ok(), "looking is free");
    drop(folder);
    let resumed = RunFolder::open(&path).and_then(RunFolder::resume).unwrap();
    assert!(matches!(
        RunFolder::open(&path).and_then(RunFolder::resume),
        Err(FolderError::InUse(_))
    ));
    drop(resumed);
    assert!(RunFolder::open(&path).and_then(RunFolder::resume).is_ok());
}

#[test]
fn resume_removes_temporary_files() {
    let runs = TempDir::new().unwrap();
    let folder = finished(runs.path(), stamp(1));
    let path = folder.path().to_owned();
    drop(folder);
    let before = contents(&path);
    fs::create_dir_all(path.join(STAGES)).unwrap();
    for name in [".crh-a1B2c3", "stages/.crh-a1B2c3", ".crh-mine", "stages/.crh-a1B2c3d"] {
        fs::write(path.join(name), "half").unwrap();
    }
    RunFolder::open(&path).and_then(RunFolder::resume).unwrap();
    let after = contents(&path);
    let left: Vec<&String> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    assert_eq!(left, [".crh-mine", "stages/.crh-a1B2c3d"]);
}

#[test]
fn run_is_found_by_name_prefix_or_latest() {
    let place = TempDir::new().unwrap();
    let runs = place.path();
    let find_in =
        |runs: &Path, wanted: Option<&str>| find_run(runs, wanted, RunTrust::Named, stamp(9));
    assert!(matches!(find_in(runs, None), Err(FolderError::NoRuns(_))));
    assert!(matches!(find_in(&runs.join("none"), Some("latest")), Err(FolderError::NoRuns(_))));
    for hours in [9, 0, 0] {
        begun(runs, stamp(hours));
    }
    // Not runs: a symlink, a file, an invalid name.
    symlink("/", runs.join(format!("99990101T000000Z_{ID}"))).unwrap();
    fs::write(runs.join(format!("99980101T000000Z_{ID}")), "").unwrap();
    fs::create_dir(runs.join("99970101T000000Z_notanid")).unwrap();

    let find = |wanted: Option<&str>| match find_in(runs, wanted) {
        Ok(found) => found.folder.run_id(),
        Err(error) => error.to_string().replace(runs.to_str().unwrap(), "RUNS"),
    };
    let first = "20261115T000000Z_0123456789abcdef";
    let newest = "20261115T090000Z_0123456789abcdef";
    for (wanted, expected) in [
        (None, newest),
        (Some("latest"), newest),
        (Some(""), "the name of the run is empty"),
        (Some("20261115T09"), newest),
        (Some(newest), newest),
        (Some(first), first),
        (Some(&format!("{first}-2")), &format!("{first}-2")),
        (Some("2025"), "no run `2025` in `RUNS`"),
        (
            Some("99990101T000000Z_0123456789abcdef"),
            "no run `99990101T000000Z_0123456789abcdef` in `RUNS`",
        ),
        (Some(".."), "no run `..` in `RUNS`"),
        (
            Some("20261115"),
            "`20261115` is ambiguous: `20261115T090000Z_0123456789abcdef` or `20261115T000000Z_0123456789abcdef-2` or `20261115T000000Z_0123456789abcdef`",
        ),
    ] {
        assert_eq!(find(wanted), expected, "{wanted:?}");
    }
}

#[test]
fn newest_run_is_the_last_that_began() {
    let place = TempDir::new().unwrap();
    let runs = place.path();
    let found = |now| find_run(runs, None, RunTrust::Named, now);
    let newest = |now| found(now).map(|found| found.folder.run_id());
    let future = begun(runs, stamp(20)).run_id();
    assert_eq!(newest(stamp(9)).unwrap(), future, "there is no other run");
    let past = begun(runs, stamp(1)).run_id();
    // A process that was killed before it wrote the metadata.
    RunFolder::create(runs, stamp(2), ID).unwrap();
    assert_eq!(newest(stamp(9)).unwrap(), past);
    assert!(matches!(found(stamp(9)).unwrap().skipped[..], [FolderError::Foreign { .. }]));
    assert_eq!(newest(stamp(20)).unwrap(), future);
    let paths = prunable(runs, RunsToKeep::Newest(2), AgeLimit::Any, stamp(40)).unwrap();
    assert_eq!(paths, [runs.join(past)]);
}

#[test]
fn only_stamped_folders_are_trusted() {
    let place = TempDir::new().unwrap();
    let (runs, state) = (place.path().join("runs"), place.path().join("state"));
    assert!(StampKey::load(&state).unwrap().is_none());
    let key = StampKey::load_or_create(&state).unwrap();
    let other = StampKey::load_or_create(&place.path().join("other")).unwrap();
    let stamped = begun(&runs, stamp(0)).stamped(&key).unwrap();
    let copied = begun(&runs, stamp(1));
    fs::copy(stamped.path().join("stamp"), copied.path().join("stamp")).unwrap();
    let elsewhere = begun(&runs, stamp(2)).stamped(&other).unwrap();
    let linked = runs.join(format!("{}_{ID}", stamp(3)));
    symlink(stamped.path(), &linked).unwrap();
    let again = StampKey::load_or_create(&state).unwrap();
    assert!(again.has_stamped(stamped.path()));
    for path in [copied.path(), elsewhere.path(), &linked] {
        assert!(!again.has_stamped(path), "{}", path.display());
    }
    let found = find_run(&runs, None, RunTrust::Stamped(&again), stamp(9)).unwrap();
    assert_eq!(found.folder.run_id(), stamped.run_id());
    assert!(matches!(found.skipped[..], [FolderError::Unstamped(_), FolderError::Unstamped(_)]));
    let summaries = list_runs(&runs, RunTrust::Stamped(&again), &mut |_| {}).unwrap();
    let foreign: Vec<bool> = summaries.iter().map(|summary| summary.is_foreign).collect();
    assert_eq!(foreign, [true, true, false]);
}

#[test]
fn key_that_others_can_read_is_rejected() {
    let state = TempDir::new().unwrap();
    StampKey::load_or_create(state.path()).unwrap();
    let key = state.path().join("stamp-key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(StampKey::load_or_create(state.path()).is_err());
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&key, "short").unwrap();
    assert!(StampKey::load(state.path()).is_err());
}

#[test]
fn foreign_folder_is_rejected_with_a_reason() {
    let place = TempDir::new().unwrap();
    let error_text = |path: &Path| {
        let error = RunFolder::open(path).unwrap_err().to_string();
        error.replace(place.path().to_str().unwrap(), "HERE")
    };
    expect!["`HERE` is not a run folder: it contains no `metadata.json`"]
        .assert_eq(&error_text(place.path()));
    expect!["`HERE/none` is not a run folder: it is not a folder"]
        .assert_eq(&error_text(&place.path().join("none")));
    fs::write(place.path().join("metadata.json"), "{}").unwrap();
    let error = error_text(place.path());
    assert!(error.ends_with("missing field `run_id` at line 1 column 2"), "{error}");
}

#[test]
fn missing_or_invalid_report_has_a_clear_error() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    let report_error = |folder: &RunFolder| folder.report().unwrap_err().to_string();
    expect!["the run `20261115T000000Z_0123456789abcdef` is incomplete: it has no `review.json`"]
        .assert_eq(&report_error(&folder));
    let newer = Report { schema_version: 99, ..report("x") };
    folder.store("review.json", &newer).unwrap();
    expect!["cannot read `review.json` of the run `20261115T000000Z_0123456789abcdef`: it has schema_version 99, but this crh reads 1"]
        .assert_eq(&report_error(&folder));
    fs::write(folder.path().join("review.json"), "{").unwrap();
    expect!["cannot read `review.json` of the run `20261115T000000Z_0123456789abcdef`: EOF while parsing an object at line 1 column 1"]
        .assert_eq(&report_error(&folder));
}

#[test]
fn list_shows_newest_run_first() {
    let place = TempDir::new().unwrap();
    let runs = place.path();
    assert_eq!(list_runs(&runs.join("none"), RunTrust::Named, &mut |_| {}).unwrap(), []);
    finished(runs, stamp(0));
    begun(runs, stamp(1));
    fs::write(finished(runs, stamp(2)).path().join("review.json"), "{").unwrap();
    let rows = list_runs(runs, RunTrust::Named, &mut |_| {}).unwrap();
    let row = |hours: u64| RunSummary {
        run_id: format!("{}_{ID}", stamp(hours)),
        started_at: stamp(hours).iso(),
        completed_at: Some(stamp(hours).iso()),
        verdict: None,
        is_incomplete: false,
        issues: BTreeMap::new(),
        hidden_issues: 0,
        cost_usd: None,
        title: String::new(),
        is_foreign: false,
        problem: None,
    };
    let problem = rows[0].problem.clone();
    assert!(problem.as_ref().is_some_and(|why| why.contains("review.json")), "{problem:?}");
    assert_eq!(
        rows,
        [
            RunSummary { problem, ..row(2) },
            RunSummary { completed_at: None, ..row(1) },
            RunSummary {
                verdict: Some(Verdict::Incomplete),
                is_incomplete: true,
                cost_usd: Some(Decimal(0)),
                title: "Retry the mail".to_owned(),
                ..row(0)
            },
        ]
    );
    let counted = RunSummary { issues: [(Severity::P0, 1), (Severity::P2, 3)].into(), ..row(0) };
    assert_eq!(json!(counted)["issues"], json!({ "P0": 1, "P2": 3 }));
}

#[test]
fn prune_keeps_young_running_and_foreign_folders() {
    let place = TempDir::new().unwrap();
    let runs = place.path();
    for hours in [0, 10, 20, 30] {
        finished(runs, stamp(hours));
    }
    let cut_off = begun(runs, stamp(1)).path().to_owned();
    // Old, but resumed.
    let _resumed = begun(runs, stamp(5));
    begun(runs, stamp(40));
    // One has a foreign file, the other a symlink.
    fs::write(finished(runs, stamp(2)).path().join("notes.txt"), "mine").unwrap();
    symlink(place.path(), runs.join(format!("{}_{ID}", stamp(3)))).unwrap();
    fs::create_dir(runs.join("mine")).unwrap();
    let now = stamp(48);
    let old = |kept, age| -> Vec<u64> {
        let paths = prunable(runs, kept, age, now).unwrap();
        let hours = paths.iter().map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            Timestamp::parse(&name[..16]).unwrap().since(stamp(0)).as_secs() / 3600
        });
        hours.collect()
    };
    let over = |hours: u64| AgeLimit::Over(Duration::from_secs(hours * 3600));
    assert_eq!(
        old(RunsToKeep::NoMinimum, AgeLimit::Any),
        [0, 1, 10, 20, 30],
        "40 may be under way"
    );
    assert_eq!(old(RunsToKeep::Newest(3), AgeLimit::Any), [0, 1, 10]);
    assert_eq!(old(RunsToKeep::NoMinimum, over(30)), [0, 1, 10]);
    assert_eq!(old(RunsToKeep::Newest(5), over(30)), [0, 1]);
    assert_eq!(old(RunsToKeep::Newest(99), AgeLimit::Any), [0; 0]);

    remove_run(&cut_off).unwrap();
    assert!(!cut_off.exists());
    for foreign in [runs.join("mine"), runs.join(format!("{}_{ID}", stamp(2)))] {
        assert!(remove_run(&foreign).is_err());
        assert!(foreign.exists());
    }
    assert!(remove_run(&runs.join(format!("{}_{ID}", stamp(3)))).is_err());
}

#[test]
fn deleting_a_run_keeps_symlink_targets() {
    let place = TempDir::new().unwrap();
    let kept_path = place.path().join("kept");
    fs::create_dir(&kept_path).unwrap();
    fs::write(kept_path.join("a"), "a").unwrap();
    let folder = finished(&place.path().join("runs"), stamp(0));
    symlink(&kept_path, folder.path().join("workspace")).unwrap();
    remove_run(folder.path()).unwrap();
    assert!(!folder.path().exists());
    assert_eq!(fs::read_to_string(kept_path.join("a")).unwrap(), "a");
}

/// A call costs 30 input tokens, 4 output tokens and 2 cents; at most 100 each and 9 cents.
const ASKED: &str = r#"{"event":"asked","turn":1,"attempt":1,"purpose":"work","model":"m","worst":{"usage":{"input":100,"cache_read":0,"cache_written":0,"output":100},"usd":0.09,"basis":"worst"}}"#;
const REPLIED: &str = r#"{"event":"replied","turn":1,"attempt":1,"ms":120,"cost":{"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02,"basis":"counted"},"left":{"usd":1.0},"stop":"calls","served":"m-1","content":{}}"#;
const COST_NOTHING: &str = r#"{"event":"failed","turn":1,"attempt":1,"ms":5,"cost":null,"left":{},"error":"overloaded","retry_after_ms":10}"#;

fn counted(calls: u32) -> UsageTotals {
    let usage = TokenUsage { input: 30, cache_read: 10, cache_written: 0, output: 4 };
    summed(calls, CallCost { usage, money: Money::cents(2), basis: CostBasis::Counted })
}

fn guessed(calls: u32) -> UsageTotals {
    let usage = TokenUsage { input: 100, output: 100, ..TokenUsage::default() };
    summed(calls, CallCost { usage, money: Money::cents(9), basis: CostBasis::Worst })
}

fn summed(calls: u32, cost: CallCost) -> UsageTotals {
    let mut totals = UsageTotals::default();
    (0..calls).for_each(|_| totals.add(cost));
    totals
}

#[test]
fn earlier_cost_includes_unanswered_requests() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    assert_eq!(folder.spent_before().unwrap(), UsageTotals::default());
    let torn = &REPLIED[..REPLIED.len() / 2];
    for (name, text, expected) in [
        ("whole", format!("{ASKED}\n{REPLIED}\n"), counted(1)),
        (
            "torn answer",
            format!("{ASKED}\n{REPLIED}\n{ASKED}\n{torn}"),
            counted(1).plus(&guessed(1)),
        ),
        ("torn question", format!("{ASKED}\n{REPLIED}\n{}", &ASKED[..40]), counted(1)),
        ("no answer", format!("{ASKED}\n"), guessed(1)),
        (
            "free failure",
            format!("{ASKED}\n{COST_NOTHING}\n{ASKED}\n{REPLIED}\n"),
            UsageTotals { failed_calls: 1, ..counted(1) },
        ),
        // A second attempt continues after the partial line.
        (
            "resumed",
            format!("{ASKED}\n{torn}\n{{\"event\":\"started\"}}\n{ASKED}\n{REPLIED}\n"),
            counted(1).plus(&guessed(1)),
        ),
        (
            "garbage",
            "\u{0}\n[]\n{\"event\":\"asked\"}\nnull\n\n".to_owned(),
            UsageTotals::default(),
        ),
    ] {
        let path = folder.transcript("sub-agent-1").unwrap();
        fs::write(&path, text).unwrap();
        assert_eq!(folder.spent_before().unwrap(), expected, "{name}");
    }
    fs::write(folder.transcript("single").unwrap(), [ASKED, REPLIED].join("\n")).unwrap();
    assert_eq!(folder.spent_before().unwrap(), counted(1), "of all transcripts");
    fs::write(folder.transcript("other").unwrap(), [ASKED.as_bytes(), &[0xff, 0xfe]].concat())
        .unwrap();
    assert_eq!(folder.spent_before().unwrap(), counted(1), "a line that is no text is no question");
    // An unreadable transcript may hide any cost.
    fs::create_dir(folder.path().join("transcripts/odd.jsonl")).unwrap();
    assert!(folder.spent_before().is_err());
    let lost = folder.finish(&report("x"), &[], &[]);
    let lost: Vec<&str> = lost.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(lost, ["telemetry.json"]);
}
