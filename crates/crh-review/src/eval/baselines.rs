//! Trivial reviewers as baselines for the scores.
//!
//! The baselines do not understand the change. Their reports have the one category that matches most
//! expected issues, and the words of the reported lines. Otherwise the baselines would score low
//! under rules that compare categories or words, and a tool would look good only because it knows
//! the category names.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use sha2::{Digest, Sha256};

use super::bootstrap::Random;
use super::case::Span;
use super::evaluation::{About, CaseRun, CaseRuns, Ending, Evaluation, Reported};
use super::matching::Rule;
use crate::diff::{Diff, FileDiff, Hunk, LineKind};
use crate::finding::{Category, Side};

/// The change of a case, for reviewers that see only the diff.
#[derive(Debug, Clone, Copy)]
pub struct BaselineCase<'a> {
    /// Id of the case.
    pub id: &'a str,
    /// Diff of the case.
    pub diff: &'a Diff,
}

/// The same cases without reports.
pub fn without_reports(evaluation: &Evaluation) -> Evaluation {
    with_reports("nothing", evaluation, 1, |_, _| Some(Vec::new()))
}

/// Reports every expected issue as described. The scoring must give these reports full marks.
#[cfg(test)]
pub(super) fn perfect(evaluation: &Evaluation) -> Evaluation {
    with_reports("perfect", evaluation, 1, |case, _| {
        let issues = case.labels.expected.iter().filter_map(|expected| {
            Some(Reported {
                severity: Some(expected.severity),
                confidence: Some(crate::finding::Confidence::ONE),
                ..untitled_report(
                    expected.spans.first()?.clone(),
                    expected.category.unwrap_or(Category::Bug),
                    expected.description.clone(),
                )
            })
        });
        Some(issues.collect())
    })
}

/// Reports every hunk: its added lines, or its removed lines if it only removes.
pub fn every_hunk(evaluation: &Evaluation, changes: &[BaselineCase<'_>]) -> Evaluation {
    let diffs = by_id(changes);
    let category = best_category(evaluation);
    with_reports("every hunk", evaluation, 1, |case, _| {
        let diff = diffs.get(case.labels.id.as_str())?;
        let reports = hunks(diff).filter_map(|hunk| {
            let lines = changed_lines(diff, std::iter::once(hunk));
            let (first, last) = (&lines.first()?.span, &lines.last()?.span);
            let span = Span::new(first.file(), first.line_start(), last.line_end(), first.side())?;
            let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
            Some(untitled_report(span, category, texts.join("\n")))
        });
        Some(reports.collect())
    })
}

/// Reports `lines` random added lines of every change, repeated `repeats` times to average out
/// chance. Uses removed lines if a change only removes, and all lines if there are fewer.
pub fn random_lines(
    evaluation: &Evaluation,
    changes: &[BaselineCase<'_>],
    lines: usize,
    repeats: u32,
    seed: u64,
) -> Evaluation {
    let diffs = by_id(changes);
    let category = best_category(evaluation);
    let name = format!("{lines} random lines");
    with_reports(&name, evaluation, repeats, |case, repeat| {
        let diff = diffs.get(case.labels.id.as_str())?;
        let mut candidates = changed_lines(diff, hunks(diff));
        // Each case and repeat has a seed of its own, so that a new case does not change the others.
        let mut random = Random::new(seed ^ case_seed(&case.labels.id, repeat));
        let mut drawn_lines = Vec::new();
        while drawn_lines.len() < lines && !candidates.is_empty() {
            drawn_lines.push(candidates.swap_remove(random.below(candidates.len())));
        }
        Some(
            drawn_lines
                .into_iter()
                .map(|line| untitled_report(line.span, category, line.text))
                .collect(),
        )
    })
}

/// The same cases with other reports. Cases that the evaluation did not run, or whose change is
/// unknown, are not run.
fn with_reports(
    tool: &str,
    evaluation: &Evaluation,
    repeats: u32,
    reports: impl Fn(&CaseRuns, u32) -> Option<Vec<Reported>>,
) -> Evaluation {
    let run = |case: &CaseRuns, repeat| {
        let was_started = case.runs.iter().any(|run| run.ending.is_started());
        let reported = if was_started { reports(case, repeat) } else { None };
        let ending = match reported {
            Some(_) => Ending::Reviewed,
            None if was_started => Ending::NotRun("the change is unknown".to_owned()),
            None => Ending::NotRun("not run".to_owned()),
        };
        CaseRun::new(ending, reported.unwrap_or_default())
    };
    let cases = evaluation.cases.iter().map(|case| CaseRuns {
        labels: case.labels.clone(),
        title: case.title.clone(),
        runs: (0..repeats).map(|repeat| run(case, repeat)).collect(),
    });
    Evaluation {
        schema_version: evaluation.schema_version,
        about: About {
            tool: tool.to_owned(),
            suite: evaluation.about.suite.clone(),
            suite_hash: evaluation.about.suite_hash.clone(),
            is_repeatable: true,
            ..About::default()
        },
        rule: evaluation.rule,
        repeats,
        judged_by: None,
        cases: cases.collect(),
    }
}

/// The category that matches the most expected issues; the first on a tie.
fn best_category(evaluation: &Evaluation) -> Category {
    let mut expected: BTreeMap<Category, usize> = BTreeMap::new();
    let issues = evaluation.cases.iter().flat_map(|case| &case.labels.expected);
    for category in issues.filter_map(|issue| issue.category) {
        *expected.entry(category).or_default() += 1;
    }
    let matches_guess = |guess: Category, category: Category| match evaluation.rule {
        Rule::Family => guess.family() == category.family(),
        Rule::Category | Rule::FileLine | Rule::Text | Rule::Judge => guess == category,
    };
    let matching_issues = |guess: Category| -> usize {
        let counts = expected.iter().filter(|(category, _)| matches_guess(guess, **category));
        counts.map(|(_, issues)| issues).sum()
    };
    let categories = expected.keys().copied();
    categories
        .max_by_key(|guess| (matching_issues(*guess), Reverse(*guess)))
        .unwrap_or(Category::Bug)
}

/// A report that is only scored, never shown.
fn untitled_report(span: Span, category: Category, text: String) -> Reported {
    Reported { text, category: Some(category), ..Reported::new(span, "") }
}

fn by_id<'a>(changes: &[BaselineCase<'a>]) -> HashMap<&'a str, &'a Diff> {
    changes.iter().map(|change| (change.id, change.diff)).collect()
}

/// A changed line with its text.
struct ChangedLine {
    span: Span,
    text: String,
}

/// The added lines of some hunks, or the removed lines if there are none.
fn changed_lines<'d>(
    diff: &Diff,
    hunks: impl Iterator<Item = (&'d FileDiff, &'d Hunk)>,
) -> Vec<ChangedLine> {
    let mut lines: Vec<ChangedLine> = Vec::new();
    for (file, hunk) in hunks {
        for line in diff.lines(hunk) {
            let (side, number) = match line.kind {
                LineKind::Added => (Side::New, line.new),
                LineKind::Removed => (Side::Old, line.old),
                LineKind::Context | LineKind::Remark => continue,
            };
            let text = String::from_utf8_lossy(line.text()).into_owned();
            let span = Span::new(&file.path.shown(), number, number, side);
            lines.extend(span.map(|span| ChangedLine { span, text }));
        }
    }
    if lines.iter().any(|line| line.span.side() == Side::New) {
        lines.retain(|line| line.span.side() == Side::New);
    }
    lines
}

fn hunks(diff: &Diff) -> impl Iterator<Item = (&FileDiff, &Hunk)> {
    diff.files().iter().flat_map(|file| file.hunks.iter().map(move |hunk| (file, hunk)))
}

/// The seed for a case and a repeat.
fn case_seed(id: &str, repeat: u32) -> u64 {
    let digest = Sha256::digest(format!("{repeat}\n{id}"));
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
