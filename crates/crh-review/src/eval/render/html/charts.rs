//! Geometry of the diagrams: precision against recall, calibration, and cost.

use serde::Serialize;
use serde_json::{Value, json};

use super::outcome::{CaseOutcome, ClassifiedCase};
use crate::eval::render::brief::short_line;
use crate::eval::render::figures::{count, defined, estimate, fine, money, seconds, share};
use crate::eval::render::sections::tool_name;
use crate::eval::scores::{Calibration, Estimate, Quality};
use crate::eval::{CaseRun, Sheet};

/// Left edge of a plot, with room for the axis labels.
const PLOT_LEFT: f64 = 52.0;
/// Upper edge, with room for a label above the highest bar.
const PLOT_TOP: f64 = 24.0;
/// Size of a plot. With its axes a diagram is 440 wide, which is readable on a phone.
const PLOT_SIZE: f64 = 360.0;
/// Minimum distance between two marks, which are the numbers of tools at their points.
const MIN_MARK_DISTANCE: f64 = 21.0;
/// Values of the F1 curves.
const F1_VALUES: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
/// Points per curve.
const F1_CURVE_POINTS: u32 = 40;
/// Maximum number of points per diagram.
const POINTS_MAX: usize = 30;

/// Precision against recall.
#[derive(Serialize)]
pub(super) struct PrecisionRecallChart {
    ticks: Vec<Value>,
    iso: Vec<Value>,
    points: Vec<Value>,
    /// Tools without a position, with the reason.
    absent: Vec<String>,
}

/// The tool that a point stands for.
struct PointLabel {
    kind: PointKind,
    name: String,
    says: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum PointKind {
    /// The tool of the first sheet.
    Tool,
    /// The tool of another sheet.
    Other,
    /// A baseline.
    Trivial,
}

/// Calibration: confidence against matched share.
#[derive(Serialize)]
pub(super) struct CalibrationChart {
    ticks: Vec<Value>,
    bars: Vec<Value>,
    says: String,
}

/// Cost against quality.
#[derive(Serialize)]
pub(super) struct CostChart {
    /// With several sheets, the label of the axis. With one sheet, the title of the bars.
    unit: &'static str,
    ticks: Vec<Value>,
    /// With several sheets, one point per sheet.
    points: Vec<Value>,
    absent: Vec<String>,
    /// With one sheet, cost per run by outcome.
    bars: Vec<Value>,
}

fn format_length(length: f64) -> String {
    format!("{length:.1}")
}

fn x(share: f64) -> f64 {
    PLOT_LEFT + share.clamp(0.0, 1.0) * PLOT_SIZE
}

fn y(share: f64) -> f64 {
    PLOT_TOP + (1.0 - share.clamp(0.0, 1.0)) * PLOT_SIZE
}

fn position(x: f64, y: f64) -> Value {
    json!({ "x": format_length(x), "y": format_length(y) })
}

fn ticks(label: impl Fn(f64) -> String) -> Vec<Value> {
    let steps = (0..=5).map(|step| f64::from(step) / 5.0);
    let tick = |fraction| {
        let (x, y) = (format_length(x(fraction)), format_length(y(fraction)));
        json!({ "label": label(fraction), "x": x, "y": y })
    };
    steps.map(tick).collect()
}

fn share_ticks() -> Vec<Value> {
    ticks(|fraction| format!("{fraction:.1}"))
}

impl PrecisionRecallChart {
    pub(super) fn new(sheets: &[Sheet]) -> Self {
        let tools = sheets.iter().enumerate().map(|(index, sheet)| {
            let kind = if index == 0 { PointKind::Tool } else { PointKind::Other };
            (kind, tool_name(sheet), &sheet.scores.quality)
        });
        let baselines = sheets.first().into_iter().flat_map(|sheet| &sheet.baselines);
        let baselines = baselines
            .map(|baseline| (PointKind::Trivial, short_line(&baseline.name), &baseline.quality));
        let mut marks = MarkLayout::default();
        let mut absent = Vec::new();
        for (number, (kind, name, quality)) in (1..).zip(tools.chain(baselines)) {
            match recall_and_precision(quality) {
                Some(_) if marks.points.len() == POINTS_MAX => {
                    absent.push(format!("{number}, “{name}” (there is no room)"));
                }
                Some((recall, precision)) => {
                    let says = format!(
                        "precision {}, recall {}, F1 {}",
                        estimate(&quality.precision, share),
                        estimate(&quality.recall, share),
                        estimate(&quality.f1, share),
                    );
                    let area =
                        (kind != PointKind::Trivial).then(|| interval_rect(quality)).flatten();
                    let coordinates = (x(recall), y(precision));
                    marks.add(number, &PointLabel { kind, name, says }, coordinates, area);
                }
                None => {
                    absent.push(format!(
                        "{number}, “{name}” (its precision or recall is not defined)"
                    ));
                }
            }
        }
        Self {
            ticks: share_ticks(),
            iso: F1_VALUES.map(f1_curve).to_vec(),
            points: marks.points,
            absent: limit_list(absent),
        }
    }
}

/// Limits the list of tools that are not drawn.
fn limit_list(mut absent: Vec<String>) -> Vec<String> {
    let omitted = absent.len().saturating_sub(POINTS_MAX);
    absent.truncate(POINTS_MAX);
    absent.extend((omitted > 0).then(|| format!("{omitted} more")));
    absent
}

/// Recall and precision, if both are defined.
fn recall_and_precision(quality: &Quality) -> Option<(f64, f64)> {
    Some((defined(quality.recall.value)?, defined(quality.precision.value)?))
}

/// Rectangle of the intervals of recall and precision.
fn interval_rect(quality: &Quality) -> Option<Value> {
    let interval = |metric: &Estimate| Some((defined(metric.low)?, defined(metric.high)?));
    let ((left, right), (low, high)) = (interval(&quality.recall)?, interval(&quality.precision)?);
    Some(rect_between(x(left), y(high), x(right), y(low)))
}

fn rect_between(left: f64, top: f64, right: f64, bottom: f64) -> Value {
    json!({
        "x": format_length(left),
        "y": format_length(top),
        "width": format_length((right - left).max(0.0)),
        "height": format_length((bottom - top).max(0.0)),
    })
}

/// Points with the same F1.
fn f1_curve(f1: f64) -> Value {
    // All points of the curve satisfy (2 * precision - F1) * (2 * recall - F1) = F1². So
    // precision is F1 / 2 * (1 + tilt) and recall F1 / 2 * (1 + 1 / tilt); the steepest tilt is
    // where precision is 1.
    let steepest = (2.0 - f1) / f1;
    let points = (0..=F1_CURVE_POINTS).map(|step| {
        let tilt = steepest.powf(1.0 - 2.0 * f64::from(step) / f64::from(F1_CURVE_POINTS));
        let (recall, precision) = (f1 / 2.0 * (1.0 + 1.0 / tilt), f1 / 2.0 * (1.0 + tilt));
        format!("{} {}", format_length(x(recall)), format_length(y(precision)))
    });
    let path = format!("M{}", points.collect::<Vec<_>>().join(" L"));
    // The curve ends where recall is 1.
    let end = f1 / 2.0 * (1.0 + 1.0 / steepest);
    let label_at = position(x(1.0) - 4.0, y(end) - 7.0);
    json!({ "label": format!("F1 {f1:.1}"), "path": path, "at": label_at })
}

/// Marks that do not overlap, as far as there is room.
#[derive(Default)]
struct MarkLayout {
    points: Vec<Value>,
    mark_positions: Vec<(f64, f64)>,
}

impl MarkLayout {
    /// Adds a point with the number of its tool, which is the same in every diagram and table. The
    /// mark is moved if another mark is there.
    fn add(&mut self, mark: usize, label: &PointLabel, at: (f64, f64), area: Option<Value>) {
        let mark_at = self.nearest_free_position(at);
        self.mark_positions.push(mark_at);
        self.points.push(json!({
            "mark": mark,
            "kind": label.kind,
            "name": label.name,
            "says": label.says,
            "at": position(at.0, at.1),
            "mark_at": position(mark_at.0, mark_at.1),
            "area": area,
        }));
    }

    /// The position itself, or the nearest free one on circles around it.
    fn nearest_free_position(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let is_inside = |(x, y): &(f64, f64)| {
            (PLOT_LEFT..=PLOT_LEFT + PLOT_SIZE).contains(x)
                && (PLOT_TOP..=PLOT_TOP + PLOT_SIZE).contains(y)
        };
        let is_free = |(x, y): &(f64, f64)| {
            self.mark_positions
                .iter()
                .all(|(other_x, other_y)| (x - other_x).hypot(y - other_y) >= MIN_MARK_DISTANCE)
        };
        let positions_around = (1..=6).flat_map(|ring| {
            (0..8).map(move |turn| {
                let (sin, cos) = (f64::from(turn) * std::f64::consts::FRAC_PI_4).sin_cos();
                let radius = f64::from(ring) * (MIN_MARK_DISTANCE + 1.0);
                (x + radius * cos, y - radius * sin)
            })
        });
        let candidates = std::iter::once((x, y)).chain(positions_around);
        let mut candidates =
            candidates.filter(|candidate| is_inside(candidate) && is_free(candidate));
        candidates.next().unwrap_or((x, y))
    }
}

impl CalibrationChart {
    pub(super) fn new(calibration: &Calibration) -> Self {
        let bars = calibration.bins.iter().map(|bin| {
            let area = rect_between(x(bin.from) + 1.0, y(bin.matched), x(bin.to) - 1.0, y(0.0));
            let says = format!(
                "confidence {:.1} to {:.1}: {}, mean confidence {}, matched {}",
                bin.from,
                bin.to,
                count(bin.reports as usize, "report"),
                share(bin.confidence),
                share(bin.matched),
            );
            json!({
                "area": area,
                "reports": bin.reports,
                "label_at": position(x((bin.from + bin.to) / 2.0), y(bin.matched) - 8.0),
                "dot": position(x(bin.confidence), y(bin.matched)),
                "says": says,
            })
        });
        let says = format!(
            "{}, Brier score {}, expected calibration error {}",
            count(calibration.reports as usize, "report"),
            fine(calibration.brier),
            fine(calibration.expected_calibration_error),
        );
        Self { ticks: share_ticks(), bars: bars.collect(), says }
    }
}

/// Cost per run: money, or time if nothing was paid.
#[derive(Clone, Copy)]
enum CostMeasure {
    Money,
    Time,
}

impl CostMeasure {
    fn for_sheets(sheets: &[Sheet]) -> Self {
        match sheets.iter().any(|sheet| sheet.scores.effort.cost_usd > 0.0) {
            true => Self::Money,
            false => Self::Time,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Money => "cost per run, USD",
            Self::Time => "median time per run, s",
        }
    }

    fn bar_title(self) -> &'static str {
        match self {
            Self::Money => "Mean cost per run",
            Self::Time => "Mean time per run",
        }
    }

    fn sheet_cost(self, sheet: &Sheet) -> f64 {
        let effort = &sheet.scores.effort;
        match self {
            Self::Money => effort.cost_usd_per_run,
            Self::Time => effort.latency_seconds_median,
        }
    }

    fn run_cost(self, run: &CaseRun) -> f64 {
        match self {
            Self::Money => run.effort.cost_usd.0 as f64 / 1e6,
            Self::Time => run.effort.latency_ms as f64 / 1e3,
        }
    }

    fn format_cost(self, value: f64) -> String {
        match self {
            Self::Money => money(value),
            Self::Time => seconds(value),
        }
    }
}

impl CostChart {
    pub(super) fn new(sheets: &[Sheet], cases: &[ClassifiedCase<'_>]) -> Self {
        let measure = CostMeasure::for_sheets(sheets);
        match sheets {
            [_] => Self {
                unit: measure.bar_title(),
                ticks: Vec::new(),
                points: Vec::new(),
                absent: Vec::new(),
                bars: cost_bars(cases, measure),
            },
            sheets => Self::compare_sheets(sheets, measure),
        }
    }

    fn compare_sheets(sheets: &[Sheet], measure: CostMeasure) -> Self {
        let max_cost = sheets.iter().map(|sheet| measure.sheet_cost(sheet)).fold(0.0, f64::max);
        let scale = round_up(max_cost);
        let mut marks = MarkLayout::default();
        let mut absent = Vec::new();
        for (number, sheet) in (1..).zip(sheets) {
            let f1 = &sheet.scores.quality.f1;
            let name = tool_name(sheet);
            let has_room = marks.points.len() < POINTS_MAX;
            let Some(value) = defined(f1.value).filter(|_| has_room) else {
                let reason = if has_room { "its F1 is not defined" } else { "there is no room" };
                absent.push(format!("{number}, “{name}” ({reason})"));
                continue;
            };
            let cost = measure.sheet_cost(sheet);
            let says = format!("F1 {}, {} a run", estimate(f1, share), measure.format_cost(cost));
            let interval = defined(f1.low).zip(defined(f1.high));
            let x_position = x(cost / scale);
            let area = interval.map(|(low, high)| {
                rect_between(x_position - 1.0, y(high), x_position + 1.0, y(low))
            });
            let kind = if number == 1 { PointKind::Tool } else { PointKind::Other };
            marks.add(number, &PointLabel { kind, name, says }, (x_position, y(value)), area);
        }
        // Use as many decimals as the step needs.
        let decimals = (-(scale / 5.0).log10().floor()).max(0.0) as usize;
        Self {
            unit: measure.unit(),
            ticks: ticks(|fraction| format!("{:.decimals$}", fraction * scale)),
            points: marks.points,
            absent: limit_list(absent),
            bars: Vec::new(),
        }
    }
}

/// The smallest 1, 2 or 5 times a power of ten that is not below a number.
fn round_up(number: f64) -> f64 {
    if !(number.is_finite() && number > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(number.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= number);
    step.unwrap_or(10.0) * power
}

/// Mean cost of started runs, by outcome.
fn cost_bars(cases: &[ClassifiedCase<'_>], measure: CostMeasure) -> Vec<Value> {
    let runs = cases.iter().flat_map(ClassifiedCase::started_runs);
    let runs: Vec<(CaseOutcome, f64)> =
        runs.map(|(outcome, run)| (outcome, measure.run_cost(run))).collect();
    let rows: Vec<(CaseOutcome, usize, f64)> = CaseOutcome::ALL
        .into_iter()
        .filter_map(|outcome| {
            let costs = runs.iter().filter(|(other, _)| *other == outcome).map(|(_, cost)| *cost);
            let costs: Vec<f64> = costs.collect();
            (!costs.is_empty())
                .then(|| (outcome, costs.len(), costs.iter().sum::<f64>() / costs.len() as f64))
        })
        .collect();
    let max_mean = rows.iter().map(|(_, _, mean)| *mean).fold(0.0, f64::max);
    let bars = rows.iter().enumerate().map(|(index, (outcome, number, mean))| {
        let top = PLOT_TOP + index as f64 * 56.0;
        let share = if max_mean > 0.0 { mean / max_mean } else { 0.0 };
        json!({
            "name": outcome.title(),
            "runs": count(*number, "run"),
            "value": measure.format_cost(*mean),
            "y": format_length(top + 20.0),
            "text_y": format_length(top + 13.0),
            "width": format_length(share * (PLOT_SIZE + PLOT_LEFT - 30.0)),
        })
    });
    bars.collect()
}
