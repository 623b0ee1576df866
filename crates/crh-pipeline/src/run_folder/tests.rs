use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::time::Duration;

use expect_test::expect;
use secrecy::SecretString;
use tempfile::TempDir;

use super::*;
use crate::events::Stage;
use crate::plan::Assignment;
use crh_agent::{Basis, Cost};
use crh_llm::{Money, Usage};
use crh_review::finding::Severity;
use crh_review::report::{Change, Decimal, Dropped, Fate};
use crh_review::verdict::Verdict;

const ID: &str = "0123456789abcdef";
const MIDNIGHT: u64 = 1_794_700_800;
/// A key that is known, in no shape that gives it away.
const KNOWN: &str = "the_key_of_the_house";
/// Code that looks like a key and is none that is known.
const SHAPED: &str = "ghp_9fQ2xLm7Tz4Kc8Vb1Nw6Rd3Hj5Yg0SeAbCd";

fn stamp(hours: u64) -> Stamp {
    Stamp::from_unix(MIDNIGHT + hours * 3600)
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
    let change = Change {
        title: title.to_owned(),
        head_ref: "refs/heads/other".to_owned(),
        head_sha: "cd34".to_owned(),
        ..Change::default()
    };
    Report { schema_version: SCHEMA_VERSION, change, ..Report::default() }
}

fn standpoint() -> Standpoint {
    Standpoint { branch: "topic".to_owned(), head_sha: "ab12".to_owned() }
}

/// A run that came to its end.
fn finished(runs: &Path, stamp: Stamp) -> RunFolder {
    let folder = RunFolder::create(runs, stamp, ID).unwrap();
    let report = report("Retry the mail");
    folder.begin(&standpoint()).unwrap();
    assert!(folder.finish(&report, &[], &[], Completion::At(stamp)).is_empty());
    folder
}

/// A run that has begun.
fn begun(runs: &Path, stamp: Stamp) -> RunFolder {
    let folder = RunFolder::create(runs, stamp, ID).unwrap();
    folder.begin(&standpoint()).unwrap();
    folder
}

/// The files of a folder with what is in them.
fn contents(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        match path.is_dir() {
            true => left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path())),
            false => {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn runs_of_one_second_have_folders_of_their_own_which_are_private_and_ignored() {
    let place = TempDir::new().unwrap();
    let runs = place.path().join(".crh/runs");
    let made: Vec<RunFolder> =
        (0..3).map(|_| RunFolder::create(&runs, stamp(0), ID).unwrap()).collect();
    let names: Vec<String> = made.iter().map(RunFolder::run_id).collect();
    let first = "20261115T000000Z_0123456789abcdef";
    assert_eq!(names, [first.to_owned(), format!("{first}-2"), format!("{first}-3")]);
    for folder in made {
        assert_eq!(fs::metadata(folder.path()).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::read_to_string(folder.path().join(".gitignore")).unwrap(), "*\n");
    }
    for wrong in ["", "../../etc", "0123456789ABCDEF", "0123"] {
        assert!(RunFolder::create(&runs, stamp(0), wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_finished_run_has_all_its_files_and_reads_back_the_same() {
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
    let raw = json!({ "title": "no severity" });
    let set_aside = Dropped {
        fate: Fate::Malformed,
        reason: "`severity` is missing".to_owned(),
        into: None,
        reviewer: "general".to_owned(),
        member: None,
        raw: Some(raw),
    };
    let mut record = RunRecord::begun(assignment("sub-agent-1"));
    record.set_aside.push(set_aside);
    record.summary = "looked at all".to_owned();
    folder.keep(&record).unwrap();
    let report = report("Retry the mail");
    let stages = [StageTime { stage: Stage::Plan, took_ms: 12 }];
    let lost = folder.finish(&report, &[record], &stages, Completion::At(stamp(1)));
    assert!(lost.is_empty(), "{lost:?}");

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
          "verdict": "Not ready"
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
fn what_comes_after_a_review_is_made_from_where_it_was_made_from() {
    let place = TempDir::new().unwrap();
    let folder = finished(place.path(), stamp(0));
    let ready = Report { verdict: Verdict::ReadyToMerge, ..report("Fixed") };
    folder.rewrite(&ready).unwrap();
    let metadata = folder.metadata().unwrap();
    assert_eq!(metadata.standpoint, standpoint());
    assert_eq!(metadata.verdict.as_deref(), Some("Ready to merge"));
    assert!(metadata.completed_at.is_some());
    let round = folder.round(1).unwrap();
    round.finish(&ready, &[], &[], Completion::At(stamp(1)));
    assert_eq!(round.metadata().unwrap().standpoint, standpoint());
}

#[test]
fn outside_of_a_repository_a_change_says_where_it_is_from() {
    let of = |head_ref: &str| {
        let change = Change { head_ref: head_ref.to_owned(), ..report("A change").change };
        Standpoint::of_change(&change)
    };
    let at = |branch: &str| Standpoint { branch: branch.to_owned(), head_sha: "cd34".to_owned() };
    assert_eq!(of("refs/heads/fix/mail"), at("fix/mail"));
    assert_eq!(of("cd34"), at(""));
}

#[test]
fn a_review_that_was_stopped_has_a_report_and_is_not_complete() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    folder.finish(&report("Half"), &[], &[], Completion::Stopped);
    let metadata = folder.metadata().unwrap();
    assert_eq!((metadata.verdict.as_deref(), metadata.completed_at), (Some("Not ready"), None));
    assert!(folder.report().is_ok());
}

#[test]
fn known_secrets_are_in_no_file_and_code_that_looks_like_one_stays_where_it_is_read_again() {
    let place = TempDir::new().unwrap();
    let redactor = Redactor::new([&SecretString::from(KNOWN)]);
    let folder = RunFolder::create(place.path(), stamp(0), ID).unwrap().redacting(redactor);
    let text = format!("{KNOWN} {SHAPED}");
    let mut record = RunRecord::begun(assignment("single"));
    record.summary = text.clone();
    folder.keep(&record).unwrap();
    let mut report = report("Keys");
    report.warnings.push(text);
    folder.finish(&report, &[record], &[], Completion::At(stamp(0)));
    let files = contents(folder.path());
    let with = |word: &str| -> Vec<&str> {
        let found = files.iter().filter(|(_, text)| text.contains(word));
        found.map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(with(KNOWN), [""; 0]);
    assert_eq!(
        with(SHAPED),
        ["review.json", "reviewers/single.json", "stages/runs/single.json"],
        "quotes are held against the code again"
    );
    // In Markdown both stand as words that need marks before their underscores and brackets.
    assert!(files["review.md"].contains("redacted"), "{}", files["review.md"]);
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let place = TempDir::new().unwrap();
    let folder = RunFolder::create(place.path(), stamp(0), ID).unwrap();
    for wrong in ["", "../x.json", "a/../../x", "/etc/x", "a//b", ".hidden", "a\\b", "é", "a b"] {
        assert!(folder.store(wrong, &1).is_err(), "{wrong}");
    }
    assert_eq!(contents(place.path()).len(), 1, "the .gitignore alone");
}

#[test]
fn only_runs_that_completed_are_not_made_again() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    assert_eq!(folder.earlier(), []);
    let done = RunRecord::begun(assignment("sub-agent-2"));
    let mut cancelled = RunRecord::begun(assignment("sub-agent-3"));
    cancelled.ended = RunEnd::Cancelled;
    for record in [&done, &cancelled, &RunRecord::failed(assignment("sub-agent-4"), "crashed")] {
        folder.keep(record).unwrap();
    }
    fs::write(folder.path().join("stages/runs/sub-agent-1.json"), "{\"assign").unwrap();
    fs::write(folder.path().join("stages/runs/.crh-half.json"), "{}").unwrap();
    assert_eq!(folder.earlier(), [done]);
}

#[test]
fn a_run_that_is_under_way_is_not_resumed_a_second_time() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    let path = folder.path().to_owned();
    let refused = RunFolder::resume(&path).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the run `20261115T000000Z_0123456789abcdef` is still under way"
    );
    assert!(RunFolder::open(&path).is_ok(), "looking is free");
    drop(folder);
    let resumed = RunFolder::resume(&path).unwrap();
    assert!(matches!(RunFolder::resume(&path), Err(FolderError::InUse(_))));
    drop(resumed);
    assert!(RunFolder::resume(&path).is_ok());
}

#[test]
fn whoever_goes_on_with_a_run_removes_the_drafts_of_who_was_ended_before() {
    let runs = TempDir::new().unwrap();
    let folder = finished(runs.path(), stamp(1));
    let path = folder.path().to_owned();
    drop(folder);
    let before = contents(&path);
    fs::create_dir_all(path.join(STAGES)).unwrap();
    for name in [".crh-a1B2c3", "stages/.crh-a1B2c3", ".crh-mine", "stages/.crh-a1B2c3d"] {
        fs::write(path.join(name), "half").unwrap();
    }
    RunFolder::resume(&path).unwrap();
    let after = contents(&path);
    let left: Vec<&String> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    assert_eq!(left, [".crh-mine", "stages/.crh-a1B2c3d"]);
}

#[test]
fn a_run_is_found_by_its_name_the_beginning_of_it_or_as_the_newest() {
    let place = TempDir::new().unwrap();
    let runs = place.path();
    assert!(matches!(find(runs, None), Err(FolderError::NoRuns(_))));
    assert!(matches!(find(&runs.join("none"), Some("latest")), Err(FolderError::NoRuns(_))));
    for hours in [9, 0, 0] {
        begun(runs, stamp(hours));
    }
    // Nobody's runs: a link, a file, a name that is none.
    symlink("/", runs.join(format!("99990101T000000Z_{ID}"))).unwrap();
    fs::write(runs.join(format!("99980101T000000Z_{ID}")), "").unwrap();
    fs::create_dir(runs.join("99970101T000000Z_notanid")).unwrap();

    let found = |wanted: Option<&str>| match find(runs, wanted) {
        Ok(folder) => folder.run_id(),
        Err(error) => error.to_string().replace(runs.to_str().unwrap(), "RUNS"),
    };
    let first = "20261115T000000Z_0123456789abcdef";
    let newest = "20261115T090000Z_0123456789abcdef";
    for (wanted, expected) in [
        (None, newest),
        (Some("latest"), newest),
        (Some(""), "there is no run `` in `RUNS`"),
        (Some("20261115T09"), newest),
        (Some(newest), newest),
        (Some(first), first),
        (Some(&format!("{first}-2")), &format!("{first}-2")),
        (Some("2025"), "there is no run `2025` in `RUNS`"),
        (
            Some("99990101T000000Z_0123456789abcdef"),
            "there is no run `99990101T000000Z_0123456789abcdef` in `RUNS`",
        ),
        (Some(".."), "there is no run `..` in `RUNS`"),
        (
            Some("20261115"),
            "`20261115` may be `20261115T090000Z_0123456789abcdef` or `20261115T000000Z_0123456789abcdef-2` or `20261115T000000Z_0123456789abcdef`",
        ),
    ] {
        assert_eq!(found(wanted), expected, "{wanted:?}");
    }
}

#[test]
fn a_folder_that_is_no_run_is_refused_with_the_reason() {
    let place = TempDir::new().unwrap();
    let said = |path: &Path| {
        let error = RunFolder::open(path).unwrap_err().to_string();
        error.replace(place.path().to_str().unwrap(), "HERE")
    };
    expect!["`HERE` is not the folder of a run: there is no `metadata.json` in it"]
        .assert_eq(&said(place.path()));
    expect!["`HERE/none` is not the folder of a run: it is no folder"]
        .assert_eq(&said(&place.path().join("none")));
    fs::write(place.path().join("metadata.json"), "{}").unwrap();
    let error = said(place.path());
    assert!(error.contains("cannot be read: missing field `run_id`"), "{error}");
}

#[test]
fn a_report_that_is_missing_or_not_ours_is_one_sentence() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    let said = |folder: &RunFolder| folder.report().unwrap_err().to_string();
    expect!["the run `20261115T000000Z_0123456789abcdef` has no `review.json`: it did not come to its end"]
        .assert_eq(&said(&folder));
    let newer = Report { schema_version: 99, ..report("x") };
    folder.store("review.json", &newer).unwrap();
    expect!["`review.json` of the run `20261115T000000Z_0123456789abcdef` cannot be read: it has schema_version 99, and this crh reads 1"]
        .assert_eq(&said(&folder));
    fs::write(folder.path().join("review.json"), "{").unwrap();
    expect!["`review.json` of the run `20261115T000000Z_0123456789abcdef` cannot be read: EOF while parsing an object at line 1 column 1"]
        .assert_eq(&said(&folder));
}

#[test]
fn the_list_has_the_newest_first_and_says_what_is_known_of_each() {
    let place = TempDir::new().unwrap();
    let runs = place.path();
    assert_eq!(list(&runs.join("none")).unwrap(), []);
    finished(runs, stamp(0));
    begun(runs, stamp(1));
    fs::write(finished(runs, stamp(2)).path().join("review.json"), "{").unwrap();
    let rows = list(runs).unwrap();
    let row = |hours: u64| Row {
        run_id: format!("{}_{ID}", stamp(hours)),
        started_at: stamp(hours).iso(),
        completed_at: Some(stamp(hours).iso()),
        verdict: None,
        issues: BTreeMap::new(),
        cost_usd: None,
        title: String::new(),
        problem: None,
    };
    let problem = rows[0].problem.clone();
    assert!(problem.as_ref().is_some_and(|why| why.contains("review.json")), "{problem:?}");
    assert_eq!(
        rows,
        [
            Row { problem, ..row(2) },
            Row { completed_at: None, ..row(1) },
            Row {
                verdict: Some(Verdict::Incomplete),
                cost_usd: Some(Decimal(0)),
                title: "Retry the mail".to_owned(),
                ..row(0)
            },
        ]
    );
    let counted = Row { issues: [(Severity::P0, 1), (Severity::P2, 3)].into(), ..row(0) };
    assert_eq!(json!(counted)["issues"], json!({ "P0": 1, "P2": 3 }));
}

#[test]
fn old_runs_go_and_what_is_young_under_way_or_not_ours_stays() {
    let place = TempDir::new().unwrap();
    let runs = place.path();
    for hours in [0, 10, 20, 30] {
        finished(runs, stamp(hours));
    }
    let cut_off = begun(runs, stamp(1)).path().to_owned();
    // Old, and somebody has resumed it.
    let _resumed = begun(runs, stamp(5));
    begun(runs, stamp(40));
    // Somebody has put something into one, and linked to another place.
    fs::write(finished(runs, stamp(2)).path().join("notes.txt"), "mine").unwrap();
    symlink(place.path(), runs.join(format!("{}_{ID}", stamp(3)))).unwrap();
    fs::create_dir(runs.join("mine")).unwrap();
    let now = stamp(48);
    let old = |kept, age| -> Vec<u64> {
        let paths = prunable(runs, kept, age, now).unwrap();
        let hours = paths.iter().map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            Stamp::parse(&name[..16]).unwrap().since(stamp(0)).as_secs() / 3600
        });
        hours.collect()
    };
    let over = |hours: u64| Age::Over(Duration::from_secs(hours * 3600));
    assert_eq!(old(Kept::AnyNumber, Age::Any), [0, 1, 10, 20, 30], "40 may be under way");
    assert_eq!(old(Kept::Newest(3), Age::Any), [0, 1, 10]);
    assert_eq!(old(Kept::AnyNumber, over(30)), [0, 1, 10]);
    assert_eq!(old(Kept::Newest(5), over(30)), [0, 1]);
    assert_eq!(old(Kept::Newest(99), Age::Any), [0; 0]);

    remove(&cut_off).unwrap();
    assert!(!cut_off.exists());
    for foreign in [runs.join("mine"), runs.join(format!("{}_{ID}", stamp(2)))] {
        assert!(remove(&foreign).is_err());
        assert!(foreign.exists());
    }
    assert!(remove(&runs.join(format!("{}_{ID}", stamp(3)))).is_err());
}

#[test]
fn deleting_a_run_leaves_what_its_links_lead_to() {
    let place = TempDir::new().unwrap();
    let kept = place.path().join("kept");
    fs::create_dir(&kept).unwrap();
    fs::write(kept.join("a"), "a").unwrap();
    let folder = finished(&place.path().join("runs"), stamp(0));
    symlink(&kept, folder.path().join("workspace")).unwrap();
    remove(folder.path()).unwrap();
    assert!(!folder.path().exists());
    assert_eq!(fs::read_to_string(kept.join("a")).unwrap(), "a");
}

/// What a call costs in these transcripts: 30 tokens in, 4 out, and 2 cents; at the worst 100 each and 9 cents.
const ASKED: &str = r#"{"event":"asked","turn":1,"attempt":1,"purpose":"work","model":"m","worst":{"usage":{"input":100,"cache_read":0,"cache_written":0,"output":100},"usd":0.09,"basis":"worst"}}"#;
const REPLIED: &str = r#"{"event":"replied","turn":1,"attempt":1,"ms":120,"cost":{"usage":{"input":30,"cache_read":10,"cache_written":0,"output":4},"usd":0.02,"basis":"counted"},"left":{"usd":1.0},"stop":"calls","served":"m-1","content":{}}"#;
const COST_NOTHING: &str = r#"{"event":"failed","turn":1,"attempt":1,"ms":5,"cost":null,"left":{},"error":"overloaded","retry_after_ms":10}"#;

fn counted(calls: u32) -> Totals {
    let usage = Usage { input: 30, cache_read: 10, cache_written: 0, output: 4 };
    summed(calls, Cost { usage, money: Money::cents(2), basis: Basis::Counted })
}

fn guessed(calls: u32) -> Totals {
    let usage = Usage { input: 100, output: 100, ..Usage::default() };
    summed(calls, Cost { usage, money: Money::cents(9), basis: Basis::Worst })
}

fn summed(calls: u32, cost: Cost) -> Totals {
    let mut totals = Totals::default();
    (0..calls).for_each(|_| totals.add(cost));
    totals
}

#[test]
fn what_was_spent_before_counts_every_question_also_one_of_which_no_more_was_heard() {
    let place = TempDir::new().unwrap();
    let folder = begun(place.path(), stamp(0));
    assert_eq!(folder.spent_before().unwrap(), Totals::default());
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
        ("free failure", format!("{ASKED}\n{COST_NOTHING}\n{ASKED}\n{REPLIED}\n"), counted(1)),
        // A second attempt goes on below the torn line.
        (
            "resumed",
            format!("{ASKED}\n{torn}\n{{\"event\":\"started\"}}\n{ASKED}\n{REPLIED}\n"),
            counted(1).plus(&guessed(1)),
        ),
        ("garbage", "\u{0}\n[]\n{\"event\":\"asked\"}\nnull\n\n".to_owned(), Totals::default()),
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
    // What cannot be read may have cost anything.
    fs::create_dir(folder.path().join("transcripts/odd.jsonl")).unwrap();
    assert!(folder.spent_before().is_err());
    let lost = folder.finish(&report("x"), &[], &[], Completion::Stopped);
    let lost: Vec<&str> = lost.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(lost, ["telemetry.json"]);
}
