//! What trivial reviewers say about the same cases: a score without them means nothing.
//!
//! Each says the best that can be said without understanding anything. The category is the same everywhere, the one that fits most of
//! what is expected in the evaluation: no other constant would get more. The words are those of the lines themselves. Otherwise the rules
//! that ask for a category or for words would hold them down, and a tool would look good beside them for knowing our names of things.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use sha2::{Digest, Sha256};

use super::bootstrap::Random;
use super::case::Span;
use super::evaluation::{About, CaseRun, CaseRuns, Effort, Ending, Evaluation, Reported};
use super::matching::Rule;
use crate::diff::{Diff, FileDiff, Hunk, LineKind};
use crate::finding::{Category, Side};

/// A case's change, for reviewers that look at nothing else.
#[derive(Debug, Clone, Copy)]
pub struct BaselineCase<'a> {
    /// The id of the case.
    pub id: &'a str,
    /// Its diff.
    pub diff: &'a Diff,
}

/// Says nothing.
pub fn nothing(evaluation: &Evaluation) -> Evaluation {
    reviewed_by("nothing", evaluation, 1, |_, _| Some(Vec::new()))
}

/// Reports every expected issue, as it is described: what the engine must give full marks.
#[cfg(test)]
pub(super) fn perfect(evaluation: &Evaluation) -> Evaluation {
    reviewed_by("perfect", evaluation, 1, |case, _| {
        let issues = case.labels.expected.iter().filter_map(|expected| {
            Some(Reported {
                severity: Some(expected.severity),
                confidence: Some(crate::finding::Confidence::ONE),
                ..reported(
                    expected.spans.first()?.clone(),
                    expected.category,
                    expected.description.clone(),
                )
            })
        });
        Some(issues.collect())
    })
}

/// Reports every hunk: on its changed lines of the new side, or of the old side where it only removes.
pub fn every_hunk(evaluation: &Evaluation, changes: &[BaselineCase<'_>]) -> Evaluation {
    let diffs = by_id(changes);
    let category = best_constant(evaluation);
    reviewed_by("every hunk", evaluation, 1, |case, _| {
        let diff = diffs.get(case.labels.id.as_str())?;
        let reports = hunks(diff).filter_map(|hunk| {
            let lines = changed_lines(diff, std::iter::once(hunk));
            let (first, last) = (&lines.first()?.span, &lines.last()?.span);
            let span = Span::new(first.file(), first.line_start(), last.line_end(), first.side())?;
            let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
            Some(reported(span, category, texts.join("\n")))
        });
        Some(reports.collect())
    })
}

/// Reports `lines` random added lines of every change, as often as `repeats` says so that chance averages out. Of a
/// change that only removes it takes removed lines; of one that has fewer lines, all of them.
pub fn random_lines(
    evaluation: &Evaluation,
    changes: &[BaselineCase<'_>],
    lines: usize,
    repeats: u32,
    seed: u64,
) -> Evaluation {
    let diffs = by_id(changes);
    let category = best_constant(evaluation);
    let name = format!("{lines} random lines");
    reviewed_by(&name, evaluation, repeats, |case, repeat| {
        let diff = diffs.get(case.labels.id.as_str())?;
        let mut places = changed_lines(diff, hunks(diff));
        // Each draw is of its case and its repeat, so that a case more does not change those of the others.
        let mut random = Random::new(seed ^ number_of(&case.labels.id, repeat));
        let mut drawn = Vec::new();
        while drawn.len() < lines && !places.is_empty() {
            drawn.push(places.swap_remove(random.below(places.len())));
        }
        Some(drawn.into_iter().map(|line| reported(line.span, category, line.text)).collect())
    })
}

/// The same cases with other reports. What the evaluation did not run is not run here either, so that both have the same
/// cases; nor is one whose change is not known.
fn reviewed_by(
    tool: &str,
    evaluation: &Evaluation,
    repeats: u32,
    reports: impl Fn(&CaseRuns, u32) -> Option<Vec<Reported>>,
) -> Evaluation {
    let run = |case: &CaseRuns, repeat| {
        let is_run = case.runs.iter().any(|run| run.ending.is_begun());
        let reported = if is_run { reports(case, repeat) } else { None };
        CaseRun {
            ending: match reported {
                Some(_) => Ending::Reviewed,
                None if is_run => Ending::NotRun("its change is not known".to_owned()),
                None => Ending::NotRun("it was not run".to_owned()),
            },
            reported: reported.unwrap_or_default(),
            judged: None,
            verdict: String::new(),
            summary: String::new(),
            effort: Effort::default(),
        }
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

/// The category that fits more of what is expected than any other by the rule; of equals the first.
fn best_constant(evaluation: &Evaluation) -> Category {
    let mut expected: BTreeMap<Category, usize> = BTreeMap::new();
    for issue in evaluation.cases.iter().flat_map(|case| &case.labels.expected) {
        *expected.entry(issue.category).or_default() += 1;
    }
    let fits = |said: Category, category: Category| match evaluation.rule {
        Rule::Family => said.family() == category.family(),
        Rule::Category | Rule::FileLine | Rule::Text | Rule::Judge => said == category,
    };
    let fitting = |said: Category| -> usize {
        let fitting = expected.iter().filter(|(category, _)| fits(said, **category));
        fitting.map(|(_, issues)| issues).sum()
    };
    let categories = expected.keys().copied();
    categories.max_by_key(|said| (fitting(*said), Reverse(*said))).unwrap_or(Category::Bug)
}

/// A report of which nothing is shown: it is only scored.
fn reported(span: Span, category: Category, text: String) -> Reported {
    Reported {
        span,
        title: String::new(),
        text,
        evidence: String::new(),
        category: Some(category),
        severity: None,
        confidence: None,
        key: String::new(),
        reviewers: Vec::new(),
    }
}

fn by_id<'a>(changes: &[BaselineCase<'a>]) -> HashMap<&'a str, &'a Diff> {
    changes.iter().map(|change| (change.id, change.diff)).collect()
}

/// A changed line with its text.
struct ChangedLine {
    span: Span,
    text: String,
}

/// The added lines of some hunks, or the removed ones if none is added: where a reader would point at.
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

/// A number for a case and a repeat.
fn number_of(id: &str, repeat: u32) -> u64 {
    let digest = Sha256::digest(format!("{repeat}\n{id}"));
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
