//! The shape of a finding: the rules that its type alone cannot hold, each with a sentence that a model
//! can act on.

use crate::finding::{Finding, Member, Origin, Proof, TITLE_MAX};

/// Nobody needs more quotes to prove one thing; each is searched for in whole files.
const EVIDENCE_MAX: usize = 20;
/// Whoever cites more lines than this cites none.
const LINES_MAX: u32 = 2_000;
/// A quote is read by people.
const SNIPPET_MAX: usize = 10_000;

/// What is wrong with a finding's shape, all of it at once. Empty if nothing is.
pub(crate) fn shape_problems(member: &Member) -> Vec<String> {
    let finding = &member.finding;
    let mut problems = Vec::new();
    title(finding, &mut problems);
    position(finding, &mut problems);
    if let Some(problem) = path_problem(&finding.file) {
        problems.push(format!("`file`: {problem}"));
    }
    for (at, piece) in finding.evidence.iter().enumerate() {
        if let Some(problem) = piece.file.as_deref().and_then(path_problem) {
            problems.push(format!("`evidence[{at}].file`: {problem}"));
        }
    }
    if finding.evidence.len() > EVIDENCE_MAX {
        let count = finding.evidence.len();
        problems
            .push(format!("`evidence` has {count} quotes: give the {EVIDENCE_MAX} that matter"));
    }
    if finding.evidence.iter().any(|piece| piece.snippet.len() > SNIPPET_MAX) {
        problems.push(format!("a `snippet` has more than {SNIPPET_MAX} bytes: quote less"));
    }
    // A program points at what it computed; everyone else must quote.
    if finding.evidence.is_empty()
        && member.proof == Proof::Quotes
        && member.origin == Origin::Model
    {
        problems.push("`evidence` is empty: quote the line that proves it".to_owned());
    }
    if finding.why_it_matters.trim().is_empty() {
        problems.push("`why_it_matters` is empty: say what goes wrong and for whom".to_owned());
    }
    problems
}

fn title(finding: &Finding, problems: &mut Vec<String>) {
    let length = finding.title.chars().count();
    if finding.title.trim().is_empty() {
        problems.push("`title` is empty: say in one line what is wrong".to_owned());
    }
    if length > TITLE_MAX {
        problems
            .push(format!("`title` has {length} characters: shorten it to {TITLE_MAX} or fewer"));
    }
    if finding.title.chars().any(|char| matches!(char, '\n' | '\r')) {
        problems.push("`title` has more than one line: keep one".to_owned());
    }
}

fn position(finding: &Finding, problems: &mut Vec<String>) {
    let has_lines =
        finding.line_start.is_some() || finding.line_end.is_some() || finding.side.is_some();
    match (finding.diff_line, finding.line_start) {
        (Some(_), _) if has_lines => problems.push(
            "`diff_line` stands instead of `line_start`, `line_end` and `side`: give one or the other"
                .to_owned(),
        ),
        (None, None) => problems.push("`line_start` is missing: cite a line".to_owned()),
        (None, Some(start)) => {
            let end = finding.line_end.unwrap_or(start).get();
            if end < start.get() {
                problems.push("`line_end` is before `line_start`: swap them".to_owned());
            } else if end - start.get() >= LINES_MAX {
                problems.push(format!("more than {LINES_MAX} lines are cited: cite those that matter"));
            }
        }
        (Some(_), _) => {}
    }
}

fn path_problem(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        Some("empty: name the file as the diff does")
    } else if path.starts_with('/') {
        Some("absolute: write the path from the repository root")
    } else if path.split('/').any(|part| matches!(part, "." | ".." | "")) {
        Some("has `.`, `..` or an empty part: write the path as the diff does")
    } else {
        None
    }
}
