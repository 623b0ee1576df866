//! Renders an evaluation as one self-contained HTML page without scripts.
//!
//! Invariant: the template escapes all values, and invisible characters are escaped before.

mod case;
mod cases;
mod charts;
mod headline;
mod outcome;

use serde::Serialize;
use serde_json::{Value, json};

use self::cases::{Anchors, CasesView};
use self::charts::{CalibrationChart, CostChart, PrecisionRecallChart};
use self::headline::{Card, cards};
use self::outcome::{ClassifiedCase, classified_cases};
use super::brief;
use super::brief::{short_line, split_listed};
use super::comparison::{EXCLUDED_TITLE, cases_line, differences, listed_flips, meaning};
use super::figures::{estimate, money, seconds, share};
use super::run_problems::{listed_problems, problem_counts, runs_line};
use super::sections::{Section, header_facts, plain_tool_name, sections, tool_name};
use crate::eval::{Comparison, Sheet};
use crate::render::PageError;
use crate::render::html::prose::prose;
use crate::render::html::render_page;

const TEMPLATE: &str = include_str!("html/page.html");
/// Maximum number of listed flipped cases, excluded cases and sheets.
const LISTED_MAX: usize = 500;

/// One page: the first sheet in full, and a comparison of all.
pub fn html(sheets: &[Sheet], comparison: Option<&Comparison>) -> Result<String, PageError> {
    let first = sheets.first();
    let cases = first.map(|sheet| classified_cases(&sheet.evaluation)).unwrap_or_default();
    let anchors = Anchors::new(&cases);
    render_page(
        TEMPLATE,
        PageView {
            title: first.map_or_else(|| "Evaluations compared".to_owned(), title),
            sheet: first.map(|sheet| SheetView::new(sheet, sheets, &cases, &anchors)),
            others: if sheets.len() > 1 { other_views(sheets) } else { Vec::new() },
            others_more: sheets.len().saturating_sub(LISTED_MAX),
            comparison: comparison.map(|comparison| ComparisonView::new(comparison, &anchors)),
        },
    )
}

/// Values of the template.
#[derive(Serialize)]
struct PageView {
    title: String,
    sheet: Option<SheetView>,
    others: Vec<Value>,
    others_more: usize,
    comparison: Option<ComparisonView>,
}

/// One sheet in full.
#[derive(Serialize)]
struct SheetView {
    about: Vec<(&'static str, String)>,
    runs: String,
    alarm: Option<String>,
    troubles: Vec<Value>,
    troubles_more: usize,
    cards: Vec<Card>,
    precision_recall: PrecisionRecallChart,
    calibration: Option<CalibrationChart>,
    cost: CostChart,
    sections: Vec<Section>,
    cases: CasesView,
}

#[derive(Serialize)]
struct ComparisonView {
    before: String,
    after: String,
    cases: String,
    columns: Vec<&'static str>,
    differences: Vec<Value>,
    flips: Vec<Value>,
    flips_more: usize,
    left_out_title: &'static str,
    left_out: Vec<String>,
    left_out_more: usize,
}

fn title(sheet: &Sheet) -> String {
    let suite = short_line(&sheet.evaluation.about.suite);
    if suite.is_empty() {
        plain_tool_name(sheet)
    } else {
        format!("{} on {suite}", plain_tool_name(sheet))
    }
}

impl SheetView {
    fn new(
        sheet: &Sheet,
        sheets: &[Sheet],
        cases: &[ClassifiedCase<'_>],
        anchors: &Anchors,
    ) -> Self {
        let (problems, troubles_more) = listed_problems(&sheet.evaluation);
        let troubles = problems.into_iter().map(|problem| {
            json!({
                "state": problem.state,
                "case": anchors.link(problem.case),
                "run": problem.run,
                "why": prose(&brief::text(problem.reason)),
            })
        });
        Self {
            about: header_facts(sheet),
            runs: runs_line(&sheet.scores.runs),
            alarm: problem_counts(&sheet.scores.runs),
            troubles: troubles.collect(),
            troubles_more,
            cards: cards(sheet),
            precision_recall: PrecisionRecallChart::new(sheets),
            calibration: sheet
                .scores
                .avg_confidence_calibration
                .as_ref()
                .map(CalibrationChart::new),
            cost: CostChart::new(sheets, cases),
            sections: sections(sheet),
            cases: CasesView::new(cases, anchors),
        }
    }
}

/// One row per sheet.
fn other_views(sheets: &[Sheet]) -> Vec<Value> {
    let views = sheets.iter().take(LISTED_MAX).enumerate().map(|(index, sheet)| {
        let quality = &sheet.scores.quality;
        let effort = &sheet.scores.effort;
        let cells = [
            estimate(&quality.precision, share),
            estimate(&quality.recall, share),
            estimate(&quality.f1, share),
            estimate(&quality.clean_flagged, share),
            money(effort.cost_usd_per_run),
            seconds(effort.latency_seconds_median),
        ];
        json!({ "mark": index + 1, "name": tool_name(sheet), "cells": cells })
    });
    views.collect()
}

impl ComparisonView {
    fn new(comparison: &Comparison, anchors: &Anchors) -> Self {
        let table = differences(comparison);
        let rows = table.rows.into_iter().zip(&comparison.differences);
        let (flips, flips_more) = listed_flips(comparison, LISTED_MAX);
        let flips = flips.into_iter().map(|flip| {
            let (case, what) = (anchors.link(&flip.case), prose(&brief::line(&flip.what)));
            json!({ "is_better": flip.is_better, "case": case, "what": what })
        });
        let (left_out, left_out_more) = split_listed(&comparison.left_out, LISTED_MAX);
        Self {
            before: short_line(&comparison.before),
            after: short_line(&comparison.after),
            cases: cases_line(comparison),
            columns: table.columns,
            differences: rows
                .map(|(row, difference)| {
                    let mood = meaning(difference).css_class();
                    json!({ "name": row.name, "cells": row.cells, "mood": mood })
                })
                .collect(),
            flips: flips.collect(),
            flips_more,
            left_out_title: EXCLUDED_TITLE,
            left_out: left_out.iter().map(|case| short_line(case)).collect(),
            left_out_more,
        }
    }
}
