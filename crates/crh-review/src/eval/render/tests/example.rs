//! A hand-written evaluation with content in every section.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::diff::Diff;
use crate::eval::scores::Estimate;
use crate::eval::{
    About, BaselineCase, Better, CaseRuns, CommitRun, Comparison, Difference, Effort, Ending,
    Evaluation, Flip, Noise, Sheet, Span, every_hunk, random_lines, without_reports,
};
use crate::finding::{Category, Side};

pub(super) fn estimate(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value: Some(value), low: Some(low), high: Some(high) }
}

/// Fourteen cases and a twin, each reviewed twice.
pub(super) fn evaluation() -> Evaluation {
    serde_json::from_str(include_str!("../../../../tests/data/eval/evaluation.json")).unwrap()
}

/// A change that adds every mentioned file.
fn change(case: &CaseRuns) -> Diff {
    let expected = case.labels.expected.iter().flat_map(|expected| &expected.spans);
    let reported = case.runs.iter().flat_map(|run| &run.reported).map(|reported| &reported.span);
    let mut files: BTreeMap<&str, u32> = BTreeMap::from([("README.md", 10)]);
    for span in expected.chain(reported) {
        let lines = files.entry(span.file()).or_default();
        *lines = (*lines).max(span.line_end());
    }
    let files = files.into_iter().map(|(file, lines)| {
        let added = "+line\n".repeat(lines as usize);
        format!(
            "diff --git a/{file} b/{file}\nnew file mode 100644\n--- /dev/null\n+++ b/{file}\n@@ -0,0 +1,{lines} @@\n{added}"
        )
    });
    Diff::read(files.collect::<String>())
}

/// The baselines.
fn baselines(evaluation: &Evaluation) -> Vec<(String, Evaluation)> {
    let diffs: Vec<Diff> = evaluation.cases.iter().map(change).collect();
    let cases = evaluation.cases.iter().zip(&diffs);
    let changes: Vec<BaselineCase<'_>> =
        cases.map(|(case, diff)| BaselineCase { id: &case.labels.id, diff }).collect();
    vec![
        ("reports nothing".to_owned(), without_reports(evaluation)),
        ("reports every hunk".to_owned(), every_hunk(evaluation, &changes)),
        ("reports 3 random lines".to_owned(), random_lines(evaluation, &changes, 3, 20, 1)),
    ]
}

/// A sheet with content in every section.
pub(super) fn full() -> Sheet {
    // Cached, because scoring takes a while and many tests need it.
    static FULL: LazyLock<Sheet> = LazyLock::new(|| {
        let evaluation = evaluation();
        let baselines = baselines(&evaluation);
        Sheet::new(evaluation, &baselines)
    });
    FULL.clone()
}

/// A sheet of a tool without reports, with two missing runs, and without cost.
pub(super) fn silent() -> Sheet {
    let mut evaluation = evaluation();
    evaluation.repeats = 1;
    evaluation.judged_by = None;
    evaluation.about.strategy = "static".to_owned();
    evaluation.about.model = String::new();
    evaluation.about.prompt_version = String::new();
    evaluation.about.is_repeatable = true;
    evaluation.cases.retain(|case| case.labels.twin_of.is_none());
    for case in &mut evaluation.cases {
        case.runs.truncate(1);
        case.runs[0].ending = Ending::Reviewed;
        case.runs[0].reported.clear();
        case.runs[0].judged = None;
        case.runs[0].effort = Effort { latency_ms: 12, ..Default::default() };
    }
    Sheet::new(evaluation, &[])
}

/// A sheet of a panel: specialists find two kinds of issues, a static check one, a general reviewer
/// the rest, and one requested reviewer reports nothing.
pub(super) fn panel() -> Sheet {
    let mut evaluation = evaluation();
    let about = &mut evaluation.about;
    about.strategy = "panel".to_owned();
    let lenses = [
        ("concurrency", Category::Concurrency),
        ("correctness", Category::Bug),
        ("performance", Category::Performance),
        ("security", Category::Security),
        ("testing", Category::Testing),
    ];
    about.reviewers = ["correctness", "security", "testing"].map(str::to_owned).to_vec();
    about.lenses = lenses.map(|(name, category)| (name.to_owned(), category)).into();
    let runs = evaluation.cases.iter_mut().flat_map(|case| &mut case.runs);
    for report in runs.flat_map(|run| &mut run.reported) {
        let reviewers: &[&str] = match report.category {
            Some(Category::Security) => &["security"],
            Some(Category::Concurrency) => &["concurrency", "correctness"],
            Some(Category::Style) => &["ruff"],
            Some(_) | None => &["correctness"],
        };
        report.reviewers = reviewers.iter().map(|name| (*name).to_owned()).collect();
    }
    Sheet::new(evaluation, &[])
}

/// A sheet with more failed runs than are listed.
pub(super) fn troubled() -> Sheet {
    let mut evaluation = silent().evaluation;
    let case = evaluation.cases[0].clone();
    evaluation.cases = (0..23)
        .map(|index| {
            let mut case = case.clone();
            case.labels.id = format!("case-{index:02}");
            case.runs[0].ending = match index % 4 {
                0 => Ending::Incomplete("1 of 3 files was not read".to_owned()),
                1 => Ending::NotRun("interrupted".to_owned()),
                _ => Ending::Failed("the model refused\nto answer".to_owned()),
            };
            case
        })
        .collect();
    Sheet::new(evaluation, &[])
}

/// A comparison with improvements and regressions.
pub(super) fn comparison() -> Comparison {
    let difference = |metric: &str,
                      before: f64,
                      after: f64,
                      interval: (f64, f64),
                      is_real: bool,
                      better: Better| {
        Difference {
            metric: metric.to_owned(),
            before: Some(before),
            after: Some(after),
            change: estimate(after - before, interval.0, interval.1),
            is_real,
            better,
        }
    };
    let flip = |case: &str, is_better: bool, what: &str| Flip {
        case: case.to_owned(),
        is_better,
        what: what.to_owned(),
    };
    Comparison {
        before: "crh 0.0.9 single anthropic:claude-sonnet-4-5".to_owned(),
        after: "crh 0.1.0 delegate anthropic:claude-sonnet-4-5".to_owned(),
        cases: 10,
        left_out: vec!["c-old-name".to_owned(), "rust-relabelled".to_owned()],
        runs_left_out: 1,
        differences: vec![
            Difference {
                metric: "paired_recall".to_owned(),
                before: None,
                after: Some(0.4),
                change: Estimate::default(),
                is_real: false,
                better: Better::More,
            },
            difference("precision", 0.38, 0.43, (-0.031, 0.12), false, Better::More),
            difference("recall", 0.25, 0.5, (0.083, 0.417), true, Better::More),
            difference("clean_flagged", 0.125, 0.5, (0.1, 0.6), true, Better::Less),
            difference("findings_per_change", 0.45, 0.78, (0.11, 0.52), true, Better::Neither),
            difference("cost_usd_per_run", 0.016, 0.016, (0.0, 0.0), false, Better::Less),
        ],
        flips: vec![
            flip("python-late-fee", true, "issue 1 is found in 2 of 2 runs, before in none"),
            flip(
                "java-tenant-attachments",
                false,
                "a report on a clean change: `owner` may be null",
            ),
        ],
    }
}

/// Text that tries to break out of every format.
const EVIL: &str = "</details><script>alert(1)</script> x|y \u{1b}[2J\u{202e}\n# Forged\n| 9 | \
                    ![i](https://evil.example/i) @team \" onclick=\"x";

/// A sheet with hostile text everywhere.
pub(super) fn hostile() -> Sheet {
    let mut evaluation = evaluation();
    let evil = || EVIL.to_owned();
    evaluation.about = About {
        tool: evil(),
        suite: evil(),
        suite_hash: evil(),
        strategy: evil(),
        reviewers: vec![evil()],
        lenses: [(evil(), Category::Bug)].into(),
        model: evil(),
        budget: evil(),
        prompt_version: evil(),
        is_repeatable: false,
    };
    if let Some(judge) = &mut evaluation.judged_by {
        (judge.model, judge.prompt) = (evil(), evil());
    }
    for (index, case) in evaluation.cases.iter_mut().enumerate() {
        case.labels.id = format!("{EVIL}{index}");
        case.labels.language = format!("{EVIL}{}", index % 2);
        case.labels.twin_of = case.labels.twin_of.as_ref().map(|_| format!("{EVIL}0"));
        case.title = evil();
        for expected in &mut case.labels.expected {
            expected.description = evil();
            expected.spans = Span::new(EVIL, 1, 2, Side::Old).into_iter().collect();
        }
        for label in &mut case.labels.known_bad {
            label.description = evil();
        }
        for run in &mut case.runs {
            (run.verdict, run.summary) = (evil(), evil());
            if run.ending != Ending::Reviewed {
                run.ending = Ending::Failed(evil());
            }
            for report in &mut run.reported {
                (report.title, report.text, report.evidence) = (evil(), evil(), evil());
                report.reviewers = vec![evil()];
                report.span = Span::new(EVIL, 3, 3, Side::New).unwrap();
            }
        }
    }
    let mut baselines = baselines(&self::evaluation());
    baselines[1].0 = evil();
    Sheet::new(evaluation, &baselines)
}

/// A comparison with hostile text everywhere.
pub(super) fn hostile_comparison() -> Comparison {
    let mut comparison = comparison();
    let evil = || EVIL.to_owned();
    (comparison.before, comparison.after) = (evil(), evil());
    comparison.differences[0].metric = evil();
    for flip in &mut comparison.flips {
        (flip.case, flip.what) = (format!("{EVIL}1"), evil());
    }
    comparison.left_out = vec![evil()];
    comparison
}

/// Noise with hostile text, from a complete and an incomplete review.
pub(super) fn hostile_noise() -> Noise {
    let sheet = hostile();
    let reported = sheet.evaluation.cases.iter().flat_map(|case| &case.runs[0].reported);
    let reported: Vec<_> = reported.cloned().collect();
    assert!(!reported.is_empty());
    let complete_run = CommitRun { commit: EVIL.to_owned(), not_reviewed: None, reported };
    let part = CommitRun { not_reviewed: Some(EVIL.to_owned()), ..complete_run.clone() };
    Noise::new(&[complete_run, part], 10, 1)
}
