//! Checks the shape of a finding beyond what its type enforces. Each message tells the model what
//! to change.

use crate::finding::{Finding, Member, Origin, Proof, TITLE_MAX};

/// Limit on quotes per finding. crh searches whole files for each quote.
const MAX_QUOTES: usize = 20;
/// Limit on cited lines per finding: far more than a real finding cites.
const MAX_CITED_LINES: u32 = 2_000;
/// Limit on the bytes of a quote: far more than a real quote has.
const MAX_SNIPPET_BYTES: usize = 10_000;

/// All problems with the shape of a finding. Empty if the shape is valid.
pub(crate) fn shape_problems(member: &Member) -> Vec<String> {
    let finding = &member.finding;
    let mut problems = Vec::new();
    check_title(finding, &mut problems);
    check_position(finding, &mut problems);
    if let Some(problem) = path_problem(&finding.file) {
        problems.push(format!("`file`: {problem}"));
    }
    for (index, evidence) in finding.evidence.iter().enumerate() {
        if let Some(problem) = evidence.file.as_deref().and_then(path_problem) {
            problems.push(format!("`evidence[{index}].file`: {problem}"));
        }
    }
    if finding.evidence.len() > MAX_QUOTES {
        let count = finding.evidence.len();
        problems.push(format!("`evidence` has {count} quotes: give the {MAX_QUOTES} that matter"));
    }
    if finding.evidence.iter().any(|evidence| evidence.snippet.len() > MAX_SNIPPET_BYTES) {
        problems.push(format!("a `snippet` has more than {MAX_SNIPPET_BYTES} bytes: quote less"));
    }
    // Static checks may point at a line without a quote; models must quote.
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

fn check_title(finding: &Finding, problems: &mut Vec<String>) {
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

fn check_position(finding: &Finding, problems: &mut Vec<String>) {
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
            } else if end - start.get() >= MAX_CITED_LINES {
                problems.push(format!("more than {MAX_CITED_LINES} lines are cited: cite those that matter"));
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
