use super::*;
use crate::strategies::delegate::files::tests::files;

/// A run that was given these parts and covers them.
fn record(name: &str, parts: &[Part]) -> RunRecord {
    let assignment = Assignment {
        name: name.to_owned(),
        reviewer: REVIEWER.to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts: parts.to_vec(),
    };
    let covered = |part: &Part| FileCoverage {
        path: part.path.clone(),
        state: CoverageState::Reviewed,
        reason: String::new(),
    };
    RunRecord { coverage: parts.iter().map(covered).collect(), ..RunRecord::begun(assignment) }
}

#[test]
fn what_nobody_was_given_is_not_reviewed() {
    let files = files("a 1 1\nhuge 2 1 1\nb 1 1", 10);
    let given = [
        record("sub-agent-1", &[Part::whole("a")]),
        record("sub-agent-2", &[Part { path: "huge".to_owned(), diff_lines: Some((1, 100)) }]),
        // It only confirmed something.
        RunRecord { coverage: Vec::new(), ..record("sub-agent-3", &[Part::whole("b")]) },
    ];
    let mut orchestrator = record("orchestrator", &[]);
    orchestrator.ended = RunEnd::Cancelled;
    let uncovered = uncovered(&files, given.iter(), &orchestrator);
    let paths: Vec<&str> = uncovered.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["huge", "b"]);
    assert!(uncovered.iter().all(|file| file.reason == "the review was stopped first"));
}
