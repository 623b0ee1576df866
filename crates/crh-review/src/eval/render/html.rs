//! Renders an evaluation as one self-contained HTML page without scripts.
//!
//! Invariant: the template escapes all values, and invisible characters are escaped before.

mod case;
mod cases;
mod charts;
mod headline;
mod outcome;

use serde::Serialize;

use self::cases::{Anchors, CaseLink, Cases};
use self::charts::{Outlay, Plane, Reliability};
use self::headline::{Card, cards};
use self::outcome::{Told, told};
use super::brief;
use super::brief::{brief, first};
use super::comparison::{LEFT_OUT, cases_line, differences, flips, meaning};
use super::figures::{estimate, money, seconds, share};
use super::sections::{Section, about, name, sections, tool};
use super::trouble::{alarm, runs_line, troubles};
use crate::eval::{Comparison, Sheet};
use crate::render::PageError;
use crate::render::html::prose::{Prose, prose};
use crate::render::html::render_page;

const TEMPLATE: &str = include_str!("html/page.html");
/// Maximum number of listed flipped cases, excluded cases and sheets.
const LISTED_MAX: usize = 500;

/// One page: the first sheet in full, and a comparison of all.
pub fn html(sheets: &[Sheet], comparison: Option<&Comparison>) -> Result<String, PageError> {
    let first = sheets.first();
    let cases = first.map(|sheet| told(&sheet.evaluation)).unwrap_or_default();
    let anchors = Anchors::of(&cases);
    render_page(
        TEMPLATE,
        Page {
            title: first.map_or_else(|| "Evaluations compared".to_owned(), title),
            sheet: first.map(|sheet| SheetView::of(sheet, sheets, &cases, &anchors)),
            others: if sheets.len() > 1 { others(sheets) } else { Vec::new() },
            others_more: sheets.len().saturating_sub(LISTED_MAX),
            comparison: comparison.map(|comparison| ComparisonView::of(comparison, &anchors)),
        },
    )
}

/// Values of the template.
#[derive(Serialize)]
struct Page {
    title: String,
    sheet: Option<SheetView>,
    others: Vec<OtherView>,
    others_more: usize,
    comparison: Option<ComparisonView>,
}

/// One sheet in full.
#[derive(Serialize)]
struct SheetView {
    about: Vec<(&'static str, String)>,
    runs: String,
    alarm: Option<String>,
    troubles: Vec<TroubleView>,
    troubles_more: usize,
    cards: Vec<Card>,
    plane: Plane,
    reliability: Option<Reliability>,
    outlay: Outlay,
    sections: Vec<Section>,
    cases: Cases,
}

#[derive(Serialize)]
struct TroubleView {
    state: &'static str,
    case: CaseLink,
    run: Option<String>,
    why: Prose,
}

/// One of several sheets.
#[derive(Serialize)]
struct OtherView {
    mark: usize,
    name: String,
    cells: [String; 6],
}

#[derive(Serialize)]
struct ComparisonView {
    before: String,
    after: String,
    cases: String,
    columns: Vec<&'static str>,
    differences: Vec<DifferenceView>,
    flips: Vec<FlipView>,
    flips_more: usize,
    left_out_title: &'static str,
    left_out: Vec<String>,
    left_out_more: usize,
}

#[derive(Serialize)]
struct DifferenceView {
    name: String,
    cells: Vec<String>,
    mood: &'static str,
}

#[derive(Serialize)]
struct FlipView {
    is_better: bool,
    case: CaseLink,
    what: Prose,
}

fn title(sheet: &Sheet) -> String {
    let suite = brief(&sheet.evaluation.about.suite);
    if suite.is_empty() { name(sheet) } else { format!("{} on {suite}", name(sheet)) }
}

impl SheetView {
    fn of(sheet: &Sheet, sheets: &[Sheet], cases: &[Told<'_>], anchors: &Anchors) -> Self {
        let (named, troubles_more) = troubles(&sheet.evaluation);
        let troubles = named.into_iter().map(|trouble| TroubleView {
            state: trouble.state,
            case: anchors.link(trouble.case),
            run: trouble.run,
            why: prose(&brief::text(trouble.why)),
        });
        Self {
            about: about(sheet),
            runs: runs_line(&sheet.scores.runs),
            alarm: alarm(&sheet.scores.runs),
            troubles: troubles.collect(),
            troubles_more,
            cards: cards(sheet),
            plane: Plane::of(sheets),
            reliability: sheet.scores.avg_confidence_calibration.as_ref().map(Reliability::of),
            outlay: Outlay::of(sheets, cases),
            sections: sections(sheet),
            cases: Cases::of(cases, anchors),
        }
    }
}

/// One row per sheet.
fn others(sheets: &[Sheet]) -> Vec<OtherView> {
    let views = sheets.iter().take(LISTED_MAX).enumerate().map(|(at, sheet)| {
        let quality = &sheet.scores.quality;
        let effort = &sheet.scores.effort;
        OtherView {
            mark: at + 1,
            name: tool(sheet),
            cells: [
                estimate(&quality.precision, share),
                estimate(&quality.recall, share),
                estimate(&quality.f1, share),
                estimate(&quality.clean_flagged, share),
                money(effort.cost_usd_per_run),
                seconds(effort.latency_seconds_median),
            ],
        }
    });
    views.collect()
}

impl ComparisonView {
    fn of(comparison: &Comparison, anchors: &Anchors) -> Self {
        let table = differences(comparison);
        let rows = table.rows.into_iter().zip(&comparison.differences);
        let (flips, flips_more) = flips(comparison, LISTED_MAX);
        let flips = flips.into_iter().map(|flip| FlipView {
            is_better: flip.is_better,
            case: anchors.link(&flip.case),
            what: prose(&brief::line(&flip.what)),
        });
        let (left_out, left_out_more) = first(&comparison.left_out, LISTED_MAX);
        Self {
            before: brief(&comparison.before),
            after: brief(&comparison.after),
            cases: cases_line(comparison),
            columns: table.columns,
            differences: rows
                .map(|(row, difference)| DifferenceView {
                    name: row.name,
                    cells: row.cells,
                    mood: meaning(difference).mood(),
                })
                .collect(),
            flips: flips.collect(),
            flips_more,
            left_out_title: LEFT_OUT,
            left_out: left_out.iter().map(|case| brief(case)).collect(),
            left_out_more,
        }
    }
}
