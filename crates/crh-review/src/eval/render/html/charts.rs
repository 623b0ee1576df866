//! Geometry of the diagrams: precision against recall, calibration, and cost.

use serde::Serialize;

use super::outcome::{Outcome, Told};
use crate::eval::render::brief::brief;
use crate::eval::render::figures::{count, defined, estimate, fine, money, seconds, share};
use crate::eval::render::sections::tool;
use crate::eval::scores::{Calibration, Estimate, Quality};
use crate::eval::{CaseRun, Sheet};

/// Left edge of a plot, with room for the axis labels.
const LEFT: f64 = 52.0;
/// Upper edge, with room for a label above the highest bar.
const TOP: f64 = 24.0;
/// Size of a plot. With its axes a diagram is 440 wide, which is readable on a phone.
const SIDE: f64 = 360.0;
/// Minimum distance between two marks.
const MARKS_APART: f64 = 21.0;
/// Values of the F1 curves.
const ISO: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
/// Points per curve.
const ISO_POINTS: u32 = 40;
/// Maximum number of points per diagram.
const POINTS_MAX: usize = 30;

/// A position.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct At {
    x: String,
    y: String,
}

/// An axis label.
#[derive(Serialize)]
pub(super) struct Tick {
    label: String,
    x: String,
    y: String,
}

/// Precision against recall.
#[derive(Serialize)]
pub(super) struct Plane {
    ticks: Vec<Tick>,
    iso: Vec<Iso>,
    points: Vec<Point>,
    /// Tools without a position, with the reason.
    absent: Vec<String>,
}

#[derive(Serialize)]
struct Iso {
    label: String,
    path: String,
    at: At,
}

#[derive(Serialize)]
struct Point {
    /// Number of the tool, the same in every diagram and table.
    mark: usize,
    #[serde(flatten)]
    named: Named,
    /// Exact position.
    at: At,
    /// Position of the mark, moved if another mark is there.
    mark_at: At,
    area: Option<Area>,
}

/// The tool.
#[derive(Serialize)]
struct Named {
    kind: Kind,
    name: String,
    says: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Tool,
    Other,
    Trivial,
}

#[derive(Serialize)]
struct Area {
    x: String,
    y: String,
    width: String,
    height: String,
}

/// Calibration: confidence against matched share.
#[derive(Serialize)]
pub(super) struct Reliability {
    ticks: Vec<Tick>,
    bars: Vec<Bar>,
    says: String,
}

#[derive(Serialize)]
struct Bar {
    area: Area,
    reports: u32,
    label_at: At,
    dot: At,
    says: String,
}

/// Cost against quality.
#[derive(Serialize)]
pub(super) struct Outlay {
    unit: &'static str,
    /// With several sheets, one point per sheet.
    ticks: Vec<Tick>,
    points: Vec<Point>,
    absent: Vec<String>,
    /// With one sheet, cost per run by outcome.
    bars: Vec<OutlayBar>,
}

#[derive(Serialize)]
struct OutlayBar {
    name: &'static str,
    runs: String,
    value: String,
    y: String,
    text_y: String,
    width: String,
}

fn shown(length: f64) -> String {
    format!("{length:.1}")
}

fn x(share: f64) -> f64 {
    LEFT + share.clamp(0.0, 1.0) * SIDE
}

fn y(share: f64) -> f64 {
    TOP + (1.0 - share.clamp(0.0, 1.0)) * SIDE
}

fn at(x: f64, y: f64) -> At {
    At { x: shown(x), y: shown(y) }
}

fn ticks(label: impl Fn(f64) -> String) -> Vec<Tick> {
    let steps = (0..=5).map(|step| f64::from(step) / 5.0);
    steps.map(|at| Tick { label: label(at), x: shown(x(at)), y: shown(y(at)) }).collect()
}

fn plain_ticks() -> Vec<Tick> {
    ticks(|at| format!("{at:.1}"))
}

impl Plane {
    pub(super) fn of(sheets: &[Sheet]) -> Self {
        let tools = sheets.iter().enumerate().map(|(at, sheet)| {
            let kind = if at == 0 { Kind::Tool } else { Kind::Other };
            (kind, tool(sheet), &sheet.scores.quality)
        });
        let trivial = sheets.first().into_iter().flat_map(|sheet| &sheet.baselines);
        let trivial =
            trivial.map(|baseline| (Kind::Trivial, brief(&baseline.name), &baseline.quality));
        let mut marks = Marks::default();
        let mut absent = Vec::new();
        for (number, (kind, name, quality)) in (1..).zip(tools.chain(trivial)) {
            match place(quality) {
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
                    let area = (kind != Kind::Trivial).then(|| area(quality)).flatten();
                    let at = (x(recall), y(precision));
                    marks.add(number, Named { kind, name, says }, at, area);
                }
                None => {
                    absent.push(format!(
                        "{number}, “{name}” (its precision or recall is not defined)"
                    ));
                }
            }
        }
        Self {
            ticks: plain_ticks(),
            iso: ISO.map(Iso::of).into_iter().collect(),
            points: marks.points,
            absent: bounded(absent),
        }
    }
}

/// Names of tools that are not drawn, limited.
fn bounded(mut absent: Vec<String>) -> Vec<String> {
    let more = absent.len().saturating_sub(POINTS_MAX);
    absent.truncate(POINTS_MAX);
    absent.extend((more > 0).then(|| format!("{more} more")));
    absent
}

/// Recall and precision, if both are defined.
fn place(quality: &Quality) -> Option<(f64, f64)> {
    Some((defined(quality.recall.value)?, defined(quality.precision.value)?))
}

/// Box of both intervals.
fn area(quality: &Quality) -> Option<Area> {
    let ends = |of: &Estimate| Some((defined(of.low)?, defined(of.high)?));
    let ((left, right), (low, high)) = (ends(&quality.recall)?, ends(&quality.precision)?);
    Some(area_between(x(left), y(high), x(right), y(low)))
}

fn area_between(left: f64, top: f64, right: f64, bottom: f64) -> Area {
    Area {
        x: shown(left),
        y: shown(top),
        width: shown((right - left).max(0.0)),
        height: shown((bottom - top).max(0.0)),
    }
}

impl Iso {
    fn of(f1: f64) -> Self {
        // All points of the curve satisfy (2 * precision - F1) * (2 * recall - F1) = F1². So
        // precision is F1 / 2 * (1 + tilt) and recall F1 / 2 * (1 + 1 / tilt); the steepest tilt is
        // where precision is 1.
        let steepest = (2.0 - f1) / f1;
        let points = (0..=ISO_POINTS).map(|at| {
            let tilt = steepest.powf(1.0 - 2.0 * f64::from(at) / f64::from(ISO_POINTS));
            let (recall, precision) = (f1 / 2.0 * (1.0 + 1.0 / tilt), f1 / 2.0 * (1.0 + tilt));
            format!("{} {}", shown(x(recall)), shown(y(precision)))
        });
        let path = format!("M{}", points.collect::<Vec<_>>().join(" L"));
        // The curve ends where recall is 1.
        let end = f1 / 2.0 * (1.0 + 1.0 / steepest);
        Self { label: format!("F1 {f1:.1}"), path, at: at(x(1.0) - 4.0, y(end) - 7.0) }
    }
}

/// Marks that do not overlap.
#[derive(Default)]
struct Marks {
    points: Vec<Point>,
    taken: Vec<(f64, f64)>,
}

impl Marks {
    fn add(&mut self, mark: usize, named: Named, true_at: (f64, f64), area: Option<Area>) {
        let mark_at = self.free_near(true_at);
        self.taken.push(mark_at);
        self.points.push(Point {
            mark,
            named,
            at: at(true_at.0, true_at.1),
            mark_at: at(mark_at.0, mark_at.1),
            area,
        });
    }

    /// The position itself, or the nearest free one on circles around it.
    fn free_near(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let inside = |(x, y): &(f64, f64)| {
            (LEFT..=LEFT + SIDE).contains(x) && (TOP..=TOP + SIDE).contains(y)
        };
        let free = |(x, y): &(f64, f64)| {
            self.taken
                .iter()
                .all(|(other_x, other_y)| (x - other_x).hypot(y - other_y) >= MARKS_APART)
        };
        let around = (1..=6).flat_map(|ring| {
            (0..8).map(move |turn| {
                let (sin, cos) = (f64::from(turn) * std::f64::consts::FRAC_PI_4).sin_cos();
                let far = f64::from(ring) * (MARKS_APART + 1.0);
                (x + far * cos, y - far * sin)
            })
        });
        let places = std::iter::once((x, y)).chain(around);
        let mut places = places.filter(|place| inside(place) && free(place));
        places.next().unwrap_or((x, y))
    }
}

impl Reliability {
    pub(super) fn of(calibration: &Calibration) -> Self {
        let bars = calibration.bins.iter().map(|bin| {
            let area = area_between(x(bin.from) + 1.0, y(bin.matched), x(bin.to) - 1.0, y(0.0));
            let says = format!(
                "confidence {:.1} to {:.1}: {}, mean confidence {}, matched {}",
                bin.from,
                bin.to,
                count(bin.reports as usize, "report"),
                share(bin.confidence),
                share(bin.matched),
            );
            Bar {
                area,
                reports: bin.reports,
                label_at: at(x((bin.from + bin.to) / 2.0), y(bin.matched) - 8.0),
                dot: at(x(bin.confidence), y(bin.matched)),
                says,
            }
        });
        let says = format!(
            "{}, Brier score {}, expected calibration error {}",
            count(calibration.reports as usize, "report"),
            fine(calibration.brier),
            fine(calibration.expected_calibration_error),
        );
        Self { ticks: plain_ticks(), bars: bars.collect(), says }
    }
}

/// Cost per run: money, or time if nothing was paid.
#[derive(Clone, Copy)]
enum Measure {
    Money,
    Time,
}

impl Measure {
    fn of(sheets: &[Sheet]) -> Self {
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

    fn of_sheet(self, sheet: &Sheet) -> f64 {
        let effort = &sheet.scores.effort;
        match self {
            Self::Money => effort.cost_usd_per_run,
            Self::Time => effort.latency_seconds_median,
        }
    }

    fn of_run(self, run: &CaseRun) -> f64 {
        match self {
            Self::Money => run.effort.cost_usd.0 as f64 / 1e6,
            Self::Time => run.effort.latency_ms as f64 / 1e3,
        }
    }

    fn words(self, value: f64) -> String {
        match self {
            Self::Money => money(value),
            Self::Time => seconds(value),
        }
    }
}

impl Outlay {
    pub(super) fn of(sheets: &[Sheet], cases: &[Told<'_>]) -> Self {
        let measure = Measure::of(sheets);
        match sheets {
            [_] => Self {
                unit: measure.unit(),
                ticks: Vec::new(),
                points: Vec::new(),
                absent: Vec::new(),
                bars: outlay_bars(cases, measure),
            },
            sheets => Self::between(sheets, measure),
        }
    }

    fn between(sheets: &[Sheet], measure: Measure) -> Self {
        let most = sheets.iter().map(|sheet| measure.of_sheet(sheet)).fold(0.0, f64::max);
        let scale = round_above(most);
        let mut marks = Marks::default();
        let mut absent = Vec::new();
        for (number, sheet) in (1..).zip(sheets) {
            let f1 = &sheet.scores.quality.f1;
            let name = tool(sheet);
            let has_room = marks.points.len() < POINTS_MAX;
            let Some(value) = defined(f1.value).filter(|_| has_room) else {
                let why = if has_room { "its F1 is not defined" } else { "there is no room" };
                absent.push(format!("{number}, “{name}” ({why})"));
                continue;
            };
            let took = measure.of_sheet(sheet);
            let says = format!("F1 {}, {} a run", estimate(f1, share), measure.words(took));
            let ends = defined(f1.low).zip(defined(f1.high));
            let across = x(took / scale);
            let area =
                ends.map(|(low, high)| area_between(across - 1.0, y(high), across + 1.0, y(low)));
            let kind = if number == 1 { Kind::Tool } else { Kind::Other };
            marks.add(number, Named { kind, name, says }, (across, y(value)), area);
        }
        // Use as many decimals as the step needs.
        let decimals = (-(scale / 5.0).log10().floor()).max(0.0) as usize;
        Self {
            unit: measure.unit(),
            ticks: ticks(|at| format!("{:.decimals$}", at * scale)),
            points: marks.points,
            absent: bounded(absent),
            bars: Vec::new(),
        }
    }
}

/// The smallest 1, 2 or 5 times a power of ten that is not below a number.
fn round_above(number: f64) -> f64 {
    if !(number.is_finite() && number > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(number.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power >= number);
    step.unwrap_or(10.0) * power
}

/// Mean cost of started runs, by outcome.
fn outlay_bars(cases: &[Told<'_>], measure: Measure) -> Vec<OutlayBar> {
    let runs = cases.iter().flat_map(Told::begun_runs);
    let runs: Vec<(Outcome, f64)> =
        runs.map(|(outcome, run)| (outcome, measure.of_run(run))).collect();
    let rows: Vec<(Outcome, usize, f64)> = Outcome::ALL
        .into_iter()
        .filter_map(|outcome| {
            let of = runs.iter().filter(|(of, _)| *of == outcome).map(|(_, took)| *took);
            let of: Vec<f64> = of.collect();
            (!of.is_empty()).then(|| (outcome, of.len(), of.iter().sum::<f64>() / of.len() as f64))
        })
        .collect();
    let most = rows.iter().map(|(_, _, mean)| *mean).fold(0.0, f64::max);
    let bars = rows.iter().enumerate().map(|(row, (outcome, number, mean))| {
        let top = TOP + row as f64 * 56.0;
        OutlayBar {
            name: outcome.title(),
            runs: count(*number, "run"),
            value: measure.words(*mean),
            y: shown(top + 20.0),
            text_y: shown(top + 13.0),
            width: shown(if most > 0.0 { mean / most * (SIDE + LEFT - 30.0) } else { 0.0 }),
        }
    });
    bars.collect()
}
