use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::plan::Assignment;
use crate::run_folder::{Stamp, Standpoint};

type Heard = Arc<Mutex<Vec<Event>>>;

fn journal(folder: Option<RunFolder>) -> (Journal, Heard) {
    let heard = Heard::default();
    let listener = {
        let heard = heard.clone();
        move |event: &Event| heard.lock().unwrap().push(event.clone())
    };
    let journal =
        Journal::open(folder, Redactor::default(), Contents::Withheld, Vec::new(), listener);
    (journal, heard)
}

fn folder(runs: &Path) -> RunFolder {
    let folder = RunFolder::create(runs, Stamp::from_unix(0), "0123456789abcdef").unwrap();
    folder.begin(&Standpoint::default()).unwrap();
    folder
}

fn record(name: &str) -> RunRecord {
    RunRecord::begun(Assignment {
        name: name.to_owned(),
        reviewer: "general".to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts: Vec::new(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_stage_is_told_timed_and_stored() {
    let place = TempDir::new().unwrap();
    let (journal, heard) = journal(Some(folder(place.path())));
    assert_eq!(journal.stage(Stage::Plan, || vec!["secrets"]), ["secrets"]);
    let review = async {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        "done"
    };
    assert_eq!(journal.waiting_stage(Stage::Review, review).await, "done");
    assert_eq!(
        *heard.lock().unwrap(),
        [
            Event::StageStarted { stage: Stage::Plan },
            Event::StageEnded { stage: Stage::Plan, took_ms: 0 },
            Event::StageStarted { stage: Stage::Review },
            Event::StageEnded { stage: Stage::Review, took_ms: 1_500 },
        ]
    );
    let times = journal.stages();
    assert_eq!(times.last(), Some(&StageTime { stage: Stage::Review, took_ms: 1_500 }));
    let folder = RunFolder::open(&journal.folder().unwrap()).unwrap();
    assert_eq!(folder.read::<Vec<String>>("stages/plan.json").unwrap(), ["secrets"]);
    assert_eq!(folder.read::<String>("stages/review.json").unwrap(), "done");
    assert_eq!(journal.problems(), [""; 0]);
}

#[test]
fn the_name_of_a_stage_is_the_one_in_its_events() {
    for stage in [
        Stage::Target,
        Stage::Scope,
        Stage::Workspace,
        Stage::Plan,
        Stage::Review,
        Stage::Findings,
        Stage::Merge,
        Stage::Validate,
        Stage::Report,
        Stage::Sinks,
    ] {
        assert_eq!(serde_json::json!(stage), stage.name());
    }
}

#[test]
fn a_run_has_one_transcript_and_is_kept_when_it_ends() {
    let place = TempDir::new().unwrap();
    let (journal, _) = journal(Some(folder(place.path())));
    journal.transcript("sub-agent-1");
    journal.transcript("sub-agent-1");
    journal.keep(&record("sub-agent-1"));
    journal.store("stages/terms.json", &7);
    let folder = RunFolder::open(&journal.folder().unwrap()).unwrap();
    assert_eq!(folder.earlier(), [record("sub-agent-1")]);
    assert_eq!(folder.read::<u32>("stages/terms.json").unwrap(), 7);
    assert!(folder.path().join("transcripts/sub-agent-1.jsonl").is_file());
}

#[test]
fn a_folder_that_cannot_be_written_is_told_once_and_ends_nothing() {
    let place = TempDir::new().unwrap();
    let made = folder(place.path());
    // A file where folders have to be, which stands in the way of root too.
    for name in ["stages", "transcripts"] {
        fs::write(made.path().join(name), "").unwrap();
    }
    let (journal, heard) = journal(Some(made));
    assert_eq!(journal.stage(Stage::Plan, || 1), 1);
    journal.keep(&record("single"));
    assert!(journal.transcript("single").error().is_none());
    let problems = journal.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    let start = "`stages/plan.json` of the run folder could not be written: ";
    assert!(problems[0].starts_with(start), "{problems:?}");
    assert!(problems[0].ends_with("; and 2 more files"), "{problems:?}");
    let warnings = heard.lock().unwrap().iter().filter(|event| is_warning(event)).count();
    assert_eq!(warnings, 1);
    journal.finish(&Report::default(), &[record("single")], Completion::Stopped);
    let folder = RunFolder::open(&journal.folder().unwrap()).unwrap();
    assert!(folder.path().join("review.json").is_file(), "the rest is written all the same");
}

fn is_warning(event: &Event) -> bool {
    matches!(event, Event::Warning { .. })
}

#[test]
fn a_name_that_leads_elsewhere_gets_no_transcript() {
    let place = TempDir::new().unwrap();
    let (journal, _) = journal(Some(folder(place.path())));
    journal.transcript("../../escaped");
    assert!(!place.path().join("escaped.jsonl").exists());
    assert_eq!(journal.problems().len(), 1);
}

#[test]
fn without_a_folder_nothing_is_kept_and_nothing_is_wrong() {
    let (journal, heard) = journal(None);
    journal.stage(Stage::Plan, || 1);
    journal.keep(&record("single"));
    journal.transcript("single");
    journal.finish(&Report::default(), &[], Completion::Stopped);
    assert_eq!(journal.folder(), None);
    assert_eq!(journal.problems(), [""; 0]);
    assert_eq!(heard.lock().unwrap().len(), 2);
}
