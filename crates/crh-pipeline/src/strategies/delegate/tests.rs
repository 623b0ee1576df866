use super::sub_agent::REVIEWER;
use super::*;
use crate::strategies::delegate::files::tests::files;

/// A run that covers these parts.
fn record(name: &str, parts: &[DiffPart]) -> RunRecord {
    let assignment = Assignment {
        name: name.to_owned(),
        reviewer: REVIEWER.to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts: parts.to_vec(),
    };
    let covered = |part: &DiffPart| FileCoverage {
        path: part.path.clone(),
        state: CoverageState::Reviewed,
        reason: String::new(),
    };
    RunRecord { coverage: parts.iter().map(covered).collect(), ..RunRecord::new(assignment) }
}

#[test]
fn unassigned_parts_are_not_reviewed() {
    let files = files("a 1 1\nhuge 2 1 1\nb 1 1", 10);
    let given = [
        record("sub-agent-1", &[DiffPart::whole("a")]),
        record("sub-agent-2", &[DiffPart { path: "huge".to_owned(), diff_lines: Some((1, 100)) }]),
        // This run only confirmed a finding.
        RunRecord { coverage: Vec::new(), ..record("sub-agent-3", &[DiffPart::whole("b")]) },
    ];
    let mut orchestrator = record("orchestrator", &[]);
    orchestrator.ended = RunEnd::Cancelled;
    let uncovered = uncovered_files(&files, given.iter(), &orchestrator);
    let paths: Vec<&str> = uncovered.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["huge", "b"]);
    assert!(
        uncovered
            .iter()
            .all(|file| file.reason == "the review was stopped before this file was reviewed")
    );
}
