//! Sections of an evaluation, shared by all renderings.
//!
//! Invariant: every text is on one line, limited in length and without invisible characters. Each
//! rendering escapes names for its format.

use std::collections::BTreeMap;

use serde::Serialize;

use super::brief::short_line;
use super::figures::{
    amount, count, estimate, fine, format_or_undefined, money, seconds, share, signed,
};
use super::reviewer_table::reviewers_section;
use crate::eval::scores::{
    Calibration, CommentScores, Estimate, Paired, Quality, SeverityAgreement, Share, Stability,
};
use crate::eval::{Agreement, FunnelCounts, FunnelStep, JudgedBy, Rule, Sheet};
use crate::render::html::with_thousands;

/// Maximum number of groups per breakdown.
pub(super) const GROUPS_MAX: usize = 50;

/// A section.
#[derive(Serialize)]
pub(super) struct Section {
    /// Anchor on a page.
    pub(super) id: &'static str,
    /// Short title for the navigation.
    pub(super) short: &'static str,
    pub(super) title: &'static str,
    /// Explanations.
    pub(super) says: Vec<String>,
    pub(super) body: Vec<SectionBody>,
}

/// Content of a section.
#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "is", content = "of")]
pub(super) enum SectionBody {
    Table(SectionTable),
    Facts(Vec<(&'static str, String)>),
    Groups(Vec<RecallGroup>),
}

/// A table; the first cell of a row is its name.
#[derive(Serialize)]
pub(super) struct SectionTable {
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<TableRow>,
}

/// One row of a table.
#[derive(Serialize)]
pub(super) struct TableRow {
    /// Name; may be untrusted.
    pub(super) name: String,
    /// Numbers and fixed texts.
    pub(super) cells: Vec<String>,
}

/// Recall for one breakdown.
#[derive(Serialize)]
pub(super) struct RecallGroup {
    /// What the issues are grouped by.
    pub(super) by: &'static str,
    pub(super) parts: Vec<GroupRecall>,
}

/// Recall of one group.
#[derive(Serialize)]
pub(super) struct GroupRecall {
    /// Name; may be untrusted.
    pub(super) name: String,
    /// Such as `3/4`.
    pub(super) matched: String,
    /// Such as `0.75`.
    pub(super) recall: String,
    /// Value for a bar; `None` if nothing is expected.
    pub(super) percent: Option<f64>,
}

/// All sections. Effort comes last, because it is the only one that differs between deterministic
/// runs.
pub(super) fn sections(sheet: &Sheet) -> Vec<Section> {
    let scores = &sheet.scores;
    let mut sections = vec![counts(sheet), quality(sheet), comments(sheet)];
    sections.extend(funnel(&scores.funnel));
    sections.extend(scores.paired.as_ref().map(|paired| pairs(sheet, paired)));
    sections.extend(recall_by(sheet));
    sections.extend(reviewers_section(&scores.reviewers));
    sections.extend(scores.avg_confidence_calibration.as_ref().map(calibration));
    sections.extend(scores.severity_agreement.as_ref().map(severities));
    sections.extend(scores.stability.as_ref().map(stability));
    let judgement = sheet.evaluation.judged_by.as_ref().zip(scores.judge.as_ref());
    sections.extend(judgement.map(|(judged_by, agreement)| judge(judged_by, agreement)));
    sections.push(effort(sheet));
    sections
}

/// A table as the content of a section.
pub(super) fn table(
    columns: &[&'static str],
    rows: impl IntoIterator<Item = TableRow>,
) -> SectionBody {
    let rows = rows.into_iter().collect();
    SectionBody::Table(SectionTable { columns: columns.to_vec(), rows })
}

fn number_cells(numbers: &[u32]) -> Vec<String> {
    numbers.iter().map(|number| with_thousands(u64::from(*number))).collect()
}

fn share_cells(estimates: &[Estimate]) -> Vec<String> {
    estimates.iter().map(|cell| estimate(cell, share)).collect()
}

/// Display name of a tool.
pub(super) fn plain_tool_name(sheet: &Sheet) -> String {
    let name = short_line(&sheet.evaluation.about.tool);
    if name.is_empty() { "unnamed tool".to_owned() } else { name }
}

/// Display name of a tool with its settings.
pub(super) fn tool_name(sheet: &Sheet) -> String {
    let tool = short_line(&sheet.evaluation.about.name());
    if tool.is_empty() { plain_tool_name(sheet) } else { tool }
}

/// Header of an evaluation: fixed names with possibly untrusted values.
pub(super) fn header_facts(sheet: &Sheet) -> Vec<(&'static str, String)> {
    let evaluation = &sheet.evaluation;
    let about = &evaluation.about;
    let suite = match about.suite_hash.is_empty() {
        true => about.suite.clone(),
        false => {
            format!("{} ({})", about.suite, about.suite_hash.chars().take(12).collect::<String>())
        }
    };
    let repeats = match evaluation.repeats {
        0 | 1 => String::new(),
        repeats => format!("{repeats} of each case"),
    };
    let repeatable = if about.is_repeatable { "yes" } else { "no" };
    let mut facts = vec![
        ("tool", about.tool.clone()),
        ("suite", suite),
        ("strategy", about.strategy.clone()),
        ("reviewers", about.reviewers.join(", ")),
        ("model", if about.model.is_empty() { "none".to_owned() } else { about.model.clone() }),
        ("budget", about.budget.clone()),
        ("prompts", about.prompt_version.chars().take(12).collect()),
        ("runs", repeats),
        ("same result on every run", repeatable.to_owned()),
        ("rule", rule_text(evaluation.rule).to_owned()),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts.into_iter().map(|(name, value)| (name, short_line(&value))).collect()
}

fn rule_text(rule: Rule) -> &'static str {
    match rule {
        Rule::Category => "category (same file, same category, at most 3 lines apart)",
        Rule::Family => "family (same file, same family of categories, at most 3 lines apart)",
        Rule::FileLine => "file-line (same file, at most 3 lines apart)",
        Rule::Text => "text (same file, similar wording)",
        Rule::Judge => "judge (a model decides which reports match)",
    }
}

/// Scores of the tool and the baselines.
fn reviewers(sheet: &Sheet) -> impl Iterator<Item = (String, &Quality)> {
    let baselines =
        sheet.baselines.iter().map(|baseline| (short_line(&baseline.name), &baseline.quality));
    std::iter::once((plain_tool_name(sheet), &sheet.scores.quality)).chain(baselines)
}

fn counts(sheet: &Sheet) -> Section {
    let rows = reviewers(sheet).map(|(name, quality)| {
        let Quality { expected, reported, matched, duplicates, .. } = *quality;
        let Quality { known_bad, on_clean, unlabelled, .. } = *quality;
        let cells = [expected, reported, matched, duplicates, known_bad, on_clean, unlabelled];
        TableRow { name, cells: number_cells(&cells) }
    });
    // Baselines need the changes, which a stored evaluation does not contain.
    let baseline_note = match sheet.baselines.is_empty() {
        true => "`crh eval run` and `crh eval score` also show baselines.",
        false => "The rows below the first are baselines; random ones run many times.",
    };
    Section {
        id: "reports",
        short: "Reports",
        title: "Outcome of the reports",
        says: vec![format!("All runs of all cases, without reversed changes. {baseline_note}")],
        body: vec![table(
            &[
                "Reviewer",
                "Expected",
                "Reported",
                "Matched",
                "Duplicate",
                "Known wrong",
                "On clean",
                "Unlabelled",
            ],
            rows,
        )],
    }
}

fn quality(sheet: &Sheet) -> Section {
    let quality_rows = reviewers(sheet).map(|(name, quality)| {
        let cells = [quality.precision, quality.precision_labelled, quality.recall, quality.f1];
        TableRow { name, cells: share_cells(&cells) }
    });
    let noise_rows = reviewers(sheet).map(|(name, quality)| {
        let cells = vec![
            estimate(&quality.findings_per_change, amount),
            estimate(&quality.clean_flagged, share),
        ];
        TableRow { name, cells }
    });
    Section {
        id: "quality",
        short: "Quality",
        title: "Quality",
        says: vec![
            "95 % confidence intervals in parentheses. Precision counts every unmatched report as wrong; labelled precision ignores unlabelled reports."
                .to_owned(),
        ],
        body: vec![
            table(&["Reviewer", "Precision", "Labelled precision", "Recall", "F1"], quality_rows),
            table(&["Reviewer", "Findings per change", "Clean changes flagged"], noise_rows),
        ],
    }
}

fn comments(sheet: &Sheet) -> Section {
    let baselines =
        sheet.baselines.iter().map(|baseline| (short_line(&baseline.name), &baseline.comments));
    let own_row = std::iter::once((plain_tool_name(sheet), &sheet.scores.comments));
    let all: Vec<(String, &CommentScores)> = own_row.chain(baselines).collect();
    let count_rows = all.iter().map(|(name, scores)| {
        let counts = [scores.expected, scores.found, scores.comments, scores.unmatched];
        TableRow { name: name.clone(), cells: number_cells(&counts) }
    });
    let quality_rows = all.iter().map(|(name, scores)| {
        let cells = share_cells(&[scores.precision, scores.recall, scores.f1]);
        TableRow { name: name.clone(), cells }
    });
    Section {
        id: "comments",
        short: "Comments",
        title: "Published comments",
        says: vec![
            "Counted as public benchmarks do: an issue is found if at least one comment matches it, and a comment is wrong if it matches none."
                .to_owned(),
        ],
        body: vec![
            table(&["Reviewer", "Expected", "Found", "Comments", "Wrong"], count_rows),
            table(&["Reviewer", "Precision", "Recall", "F1"], quality_rows),
        ],
    }
}

fn funnel(steps: &[FunnelCounts]) -> Option<Section> {
    let row = |counts: &FunnelCounts| {
        let name = match counts.step {
            Some(FunnelStep::Raised) => "Raised by a reviewer",
            Some(FunnelStep::Shape) => "In the required format",
            Some(FunnelStep::Evidence) => "Quoted code exists",
            Some(FunnelStep::Merged) => "Merged into issues",
            Some(FunnelStep::Edited) => "Kept by editor and validation",
            None => "Published",
        };
        let FunnelCounts { reports, found, expected, .. } = *counts;
        let recall = (expected > 0).then(|| f64::from(found) / f64::from(expected));
        TableRow {
            name: name.to_owned(),
            cells: vec![
                with_thousands(u64::from(reports)),
                format!("{found}/{expected}"),
                format_or_undefined(recall, share),
            ],
        }
    };
    (!steps.is_empty()).then(|| Section {
        id: "funnel",
        short: "Steps",
        title: "From findings to comments",
        says: vec![
            "The first three rows count findings, the next two issues, and the last one comments. Recall is the share of expected issues that something at this step matches."
                .to_owned(),
        ],
        body: vec![table(&["Step", "Number", "Issues found", "Recall"], steps.iter().map(row))],
    })
}

fn pairs(sheet: &Sheet, paired: &Paired) -> Section {
    let own_row = TableRow {
        name: plain_tool_name(sheet),
        cells: share_cells(&[paired.precision, paired.recall, paired.f1]),
    };
    let baselines = sheet.baselines.iter().filter_map(|baseline| {
        let recall = estimate(baseline.paired_recall.as_ref()?, share);
        Some(TableRow {
            name: short_line(&baseline.name),
            cells: vec![String::new(), recall, String::new()],
        })
    });
    let says = format!(
        "Some cases also exist with their change reversed, which has no bug. An issue counts if it is reported on the change and not on the reversed one. {} with {}: {} reported, {} of them on the reversed change as well; {} on both together, {} of them on reversed changes.",
        count(paired.pairs as usize, "pair"),
        count(paired.expected as usize, "expected issue"),
        paired.matched,
        paired.also_on_twin,
        count(paired.reported as usize, "report"),
        paired.on_twins,
    );
    Section {
        id: "pairs",
        short: "Pairs",
        title: "Changes and their reversals",
        says: vec![says],
        body: vec![table(
            &["Reviewer", "Paired precision", "Paired recall", "Paired F1"],
            std::iter::once(own_row).chain(baselines),
        )],
    }
}

fn recall_by(sheet: &Sheet) -> Option<Section> {
    let recall_by = &sheet.scores.recall_by;
    let recalls = |shares: &mut dyn Iterator<Item = (&String, &Share)>| {
        shares.map(|(name, share)| GroupRecall::new(name, *share)).collect::<Vec<_>>()
    };
    let group_recalls = |shares: &BTreeMap<String, Share>| recalls(&mut shares.iter());
    let groups = [
        ("Severity", group_recalls(&recall_by.severity)),
        ("Category", group_recalls(&recall_by.category)),
        ("Language", group_recalls(&recall_by.language)),
        ("Lines of the change", recalls(&mut recall_by.size.iter().map(|(name, it)| (name, it)))),
        ("Kind", group_recalls(&recall_by.kind)),
    ];
    let groups = groups.into_iter().filter(|(_, parts)| !parts.is_empty());
    let mut says = vec!["Matched issues / expected issues (share).".to_owned()];
    if recall_by.misnamed > 0 {
        says.push(format!(
            "{} of the {} missed issues have a report at their place that the rule does not accept, for example in another category.",
            recall_by.misnamed, recall_by.missed
        ));
    }
    let mut recall_groups = Vec::new();
    for (by, mut parts) in groups {
        let omitted = parts.len().saturating_sub(GROUPS_MAX);
        parts.truncate(GROUPS_MAX);
        if omitted > 0 {
            says.push(format!("{by}: {omitted} more are only in the JSON output."));
        }
        recall_groups.push(RecallGroup { by, parts });
    }
    (!recall_groups.is_empty()).then(|| Section {
        id: "recall",
        short: "Recall",
        title: "Recall by kind of issue",
        says,
        body: vec![SectionBody::Groups(recall_groups)],
    })
}

impl GroupRecall {
    fn new(name: &str, recall_share: Share) -> Self {
        let ratio = (recall_share.expected > 0)
            .then(|| f64::from(recall_share.matched) / f64::from(recall_share.expected));
        Self {
            name: short_line(name),
            matched: format!("{}/{}", recall_share.matched, recall_share.expected),
            recall: format_or_undefined(ratio, share),
            percent: ratio.map(|part| (part * 100.0).clamp(0.0, 100.0)),
        }
    }
}

fn calibration(calibration: &Calibration) -> Section {
    let rows = calibration.bins.iter().map(|bin| TableRow {
        name: format!("{:.1}–{:.1}", bin.from, bin.to),
        cells: vec![
            with_thousands(u64::from(bin.reports)),
            share(bin.confidence),
            share(bin.matched),
            signed(bin.matched - bin.confidence),
        ],
    });
    Section {
        id: "calibration",
        short: "Calibration",
        title: "Calibration",
        says: vec!["Lower is better for both numbers.".to_owned()],
        body: vec![
            SectionBody::Facts(vec![
                ("Brier score", fine(calibration.brier)),
                ("Expected calibration error", fine(calibration.expected_calibration_error)),
                ("Reports with a confidence", with_thousands(u64::from(calibration.reports))),
            ]),
            table(&["Confidence", "Reports", "Mean confidence", "Matched", "Difference"], rows),
        ],
    }
}

fn severities(agreement: &SeverityAgreement) -> Section {
    let average_difference = match agreement.milder_by {
        levels if levels > 0.0 => format!("{} levels milder", amount(levels)),
        levels if levels < 0.0 => format!("{} levels harsher", amount(-levels)),
        _ => "neither milder nor harsher".to_owned(),
    };
    let rows = agreement
        .table
        .iter()
        .zip(["P0", "P1", "P2", "P3"])
        .map(|(row, name)| TableRow { name: name.to_owned(), cells: number_cells(row) });
    Section {
        id: "severity",
        short: "Severity",
        title: "Severity agreement",
        says: Vec::new(),
        body: vec![
            SectionBody::Facts(vec![
                ("Matches with a severity", with_thousands(u64::from(agreement.matches))),
                ("The same", share(agreement.same)),
                ("At most one level off", share(agreement.within_one)),
                ("On average", average_difference),
            ]),
            table(&["Expected, by reported", "P0", "P1", "P2", "P3"], rows),
        ],
    }
}

fn stability(stability: &Stability) -> Section {
    Section {
        id: "stability",
        short: "Stability",
        title: "Stability across repeats",
        says: vec![format!(
            "{} with {} runs each; the deviation of F1 covers only these.",
            count(stability.complete_cases as usize, "case"),
            stability.repeats
        )],
        body: vec![
            SectionBody::Facts(vec![
                ("A report recurs", format_or_undefined(stability.returns, share)),
                ("Variance of being found", format_or_undefined(stability.hit_variance, fine)),
                (
                    "Severity or category changes",
                    format_or_undefined(stability.class_changes, share),
                ),
                ("Standard deviation of F1", format_or_undefined(stability.f1_deviation, fine)),
            ]),
            returning_comments(stability),
        ],
    }
}

/// Number of comments that occur in exactly one run, in exactly two runs, and so on.
fn returning_comments(stability: &Stability) -> SectionBody {
    let total: u32 = stability.by_runs.iter().sum();
    let rows = (1..).zip(&stability.by_runs).map(|(runs, number): (usize, &u32)| TableRow {
        name: format!("{runs} of {}", stability.repeats),
        cells: vec![
            with_thousands(u64::from(*number)),
            format_or_undefined((total > 0).then(|| f64::from(*number) / f64::from(total)), share),
        ],
    });
    table(&["In so many runs", "Different comments", "Share"], rows)
}

fn judge(judge: &JudgedBy, agreement: &Agreement) -> Section {
    let Agreement { pairs, agreed, kappa, .. } = *agreement;
    let agreed = (pairs > 0).then(|| agreed as f64 / pairs as f64);
    let rows = vec![TableRow {
        name: short_line(&judge.model),
        cells: vec![
            with_thousands(pairs),
            format_or_undefined(agreed, share),
            format_or_undefined(kappa, amount),
            with_thousands(u64::from(judge.unanswered)),
            judge.prompt.chars().filter(char::is_ascii_alphanumeric).take(12).collect(),
        ],
    }];
    Section {
        id: "judge",
        short: "Judge",
        title: "Agreement of the judge with the text rule",
        says: vec![
            "A model decided which report matches which issue; the text rule decided the same pairs. Cases without an answer are matched by words."
                .to_owned(),
        ],
        body: vec![SectionBody::Table(SectionTable {
            columns: vec!["Judge", "Pairs", "Same answer", "Kappa", "Unanswered", "Prompt"],
            rows,
        })],
    }
}

fn effort(sheet: &Sheet) -> Section {
    let effort = &sheet.scores.effort;
    let mut facts = vec![
        ("Total cost", money(effort.cost_usd)),
        ("Cost per run", money(effort.cost_usd_per_run)),
    ];
    facts.extend(
        sheet
            .evaluation
            .judged_by
            .as_ref()
            .map(|judge| ("Cost of the judge", money(judge.cost_usd.0 as f64 / 1e6))),
    );
    facts.extend([
        ("Model calls", with_thousands(effort.llm_calls)),
        ("Input tokens", with_thousands(effort.tokens_in)),
        ("Cached input tokens", with_thousands(effort.tokens_cached)),
        ("Output tokens", with_thousands(effort.tokens_out)),
        ("Median time per run", seconds(effort.latency_seconds_median)),
        ("95th percentile time per run", seconds(effort.latency_seconds_p95)),
    ]);
    Section {
        id: "effort",
        short: "Effort",
        title: "Cost and time",
        says: Vec::new(),
        body: vec![SectionBody::Facts(facts)],
    }
}
