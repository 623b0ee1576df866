use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::assignment::Assignment;
use crate::run_folder::{CheckoutState, Timestamp};

type Heard = Arc<Mutex<Vec<ReviewEvent>>>;

fn journal(folder: Option<RunFolder>) -> (ReviewJournal, Heard) {
    let heard = Heard::default();
    let listener = {
        let heard = heard.clone();
        move |event: &ReviewEvent| heard.lock().unwrap().push(event.clone())
    };
    let journal = ReviewJournal::open(
        folder,
        Redactor::default(),
        TranscriptDetail::LengthsOnly,
        Vec::new(),
        listener,
    );
    (journal, heard)
}

fn folder(runs: &Path) -> RunFolder {
    let folder = RunFolder::create(runs, Timestamp::from_unix(0), "0123456789abcdef").unwrap();
    folder.write_start(&CheckoutState::default()).unwrap();
    folder
}

fn record(name: &str) -> RunRecord {
    RunRecord::new(Assignment {
        name: name.to_owned(),
        reviewer: "general".to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts: Vec::new(),
    })
}

#[tokio::test(start_paused = true)]
async fn stage_emits_events_and_stores_time_and_output() {
    let place = TempDir::new().unwrap();
    let (journal, heard) = journal(Some(folder(place.path())));
    assert_eq!(journal.stage(Stage::Plan, || vec!["secrets"]), ["secrets"]);
    let review = async {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        "done"
    };
    assert_eq!(journal.async_stage(Stage::Review, review).await, "done");
    assert_eq!(
        *heard.lock().unwrap(),
        [
            ReviewEvent::StageStarted { stage: Stage::Plan },
            ReviewEvent::StageEnded { stage: Stage::Plan, took_ms: 0 },
            ReviewEvent::StageStarted { stage: Stage::Review },
            ReviewEvent::StageEnded { stage: Stage::Review, took_ms: 1_500 },
        ]
    );
    let times = journal.stages();
    assert_eq!(times.last(), Some(&StageTime { stage: Stage::Review, took_ms: 1_500 }));
    let folder = RunFolder::open(&journal.folder().unwrap()).unwrap();
    assert_eq!(folder.read::<Vec<String>>("stages/plan.json").unwrap(), ["secrets"]);
    assert_eq!(folder.read::<String>("stages/review.json").unwrap(), "done");
    assert_eq!(journal.write_problems(), [""; 0]);
}

/// The stage after this one. A new stage stops the build here, so that the test covers it.
fn stage_after(stage: &Stage) -> Option<Stage> {
    Some(match stage {
        Stage::Target => Stage::Scope,
        Stage::Scope => Stage::Workspace,
        Stage::Workspace => Stage::Context,
        Stage::Context => Stage::Plan,
        Stage::Plan => Stage::Review,
        Stage::Review => Stage::Findings,
        Stage::Findings => Stage::Merge,
        Stage::Merge => Stage::Edit,
        Stage::Edit => Stage::Validate,
        Stage::Validate => Stage::Proof,
        Stage::Proof => Stage::Report,
        Stage::Report => Stage::Sinks,
        Stage::Sinks => return None,
    })
}

#[test]
fn stage_name_equals_its_json_name() {
    let stages: Vec<Stage> = std::iter::successors(Some(Stage::Target), stage_after).collect();
    assert!(stages.is_sorted(), "{stages:?}");
    for stage in stages {
        assert_eq!(serde_json::json!(stage), stage.name());
    }
}

#[test]
fn run_has_one_transcript_and_is_stored_at_its_end() {
    let place = TempDir::new().unwrap();
    let (journal, _) = journal(Some(folder(place.path())));
    journal.transcript("sub-agent-1");
    journal.transcript("sub-agent-1");
    journal.store_run(&record("sub-agent-1"));
    journal.store("stages/terms.json", &7);
    let folder = RunFolder::open(&journal.folder().unwrap()).unwrap();
    assert_eq!(folder.completed_runs(), [record("sub-agent-1")]);
    assert_eq!(folder.read::<u32>("stages/terms.json").unwrap(), 7);
    assert!(folder.path().join("transcripts/sub-agent-1.jsonl").is_file());
}

#[test]
fn unwritable_folder_warns_once_and_review_continues() {
    let place = TempDir::new().unwrap();
    let run_folder = folder(place.path());
    // Files in the place of folders fail even for root.
    for name in ["stages", "transcripts"] {
        fs::write(run_folder.path().join(name), "").unwrap();
    }
    let (journal, heard) = journal(Some(run_folder));
    assert_eq!(journal.stage(Stage::Plan, || 1), 1);
    journal.store_run(&record("single"));
    assert!(journal.transcript("single").error().is_none());
    let problems = journal.write_problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    let start = "cannot write `stages/plan.json` to the run folder: ";
    assert!(problems[0].starts_with(start), "{problems:?}");
    assert!(problems[0].ends_with("; and 2 more files"), "{problems:?}");
    let warnings = heard.lock().unwrap().iter().filter(|event| is_warning(event)).count();
    assert_eq!(warnings, 1);
    journal.finish(&Report::default(), &[record("single")]);
    let folder = RunFolder::open(&journal.folder().unwrap()).unwrap();
    assert!(folder.path().join("review.json").is_file(), "the rest is written all the same");
}

fn is_warning(event: &ReviewEvent) -> bool {
    matches!(event, ReviewEvent::Warning { .. })
}

#[test]
fn transcript_name_with_path_is_rejected() {
    let place = TempDir::new().unwrap();
    let (journal, _) = journal(Some(folder(place.path())));
    journal.transcript("../../escaped");
    assert!(!place.path().join("escaped.jsonl").exists());
    assert_eq!(journal.write_problems().len(), 1);
}

#[test]
fn without_a_folder_nothing_is_stored() {
    let (journal, heard) = journal(None);
    journal.stage(Stage::Plan, || 1);
    journal.store_run(&record("single"));
    journal.transcript("single");
    journal.finish(&Report::default(), &[]);
    assert_eq!(journal.folder(), None);
    assert_eq!(journal.write_problems(), [""; 0]);
    assert_eq!(heard.lock().unwrap().len(), 2);
}
