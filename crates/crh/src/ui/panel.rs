//! The panel: what a review is doing now, in a few lines of a terminal of any width.

use std::time::Duration;

use super::screen::Size;
use super::state::{Running, State};
use super::words;
use crh_review::{columns, cut, cut_inside};

/// Wider lines are no easier to read.
const WIDEST: usize = 100;
/// More runs than this are counted, not listed: the panel is to be taken in at a glance.
const RUNS_MAX: usize = 8;
/// The narrowest and the widest bar that still tells something.
const BAR: std::ops::RangeInclusive<usize> = 6..=30;
/// As many characters of a run's name as tell it from the others.
const NAME_MAX: usize = 14;
/// Below this width a line has no room for everything.
const NARROW: usize = 60;
/// A panel needs so many lines besides those of the runs: the stage, what was spent, and the one where the cursor is.
const OTHER_LINES: usize = 3;

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// How long each picture of the spinner stands.
const SPIN: Duration = Duration::from_millis(200);

/// The lines of the panel at a time from the start. None is as wide as the terminal: in the last column, terminals differ.
pub(super) fn panel_lines(state: &State, at: Duration, size: Size) -> Vec<String> {
    let width = size.columns.saturating_sub(1).clamp(1, WIDEST);
    let mut lines = vec![stage_line(state, at, width)];
    let room = size.rows.saturating_sub(OTHER_LINES).clamp(1, RUNS_MAX);
    // If not all fit, the last of the lines says how many are missing.
    let shown = if state.runs.len() > room { room - 1 } else { state.runs.len() };
    let (runs, more) = state.runs.split_at(shown);
    lines.extend(run_lines(runs, at, width));
    if !more.is_empty() {
        lines.push(match runs {
            [] => format!("  {} runs at work", more.len()),
            _ => format!("  … and {} more runs", more.len()),
        });
    }
    lines.push(spent_line(state, width));
    lines.iter().map(|line| cut(line.trim_end(), width)).collect()
}

/// The stage, how far it is, and how long the review has been at work.
fn stage_line(state: &State, at: Duration, width: usize) -> String {
    let picture = SPINNER[(at.as_millis() / SPIN.as_millis()) as usize % SPINNER.len()];
    let stage = state.stage.map_or("Starting", words::stage);
    let start = format!("{picture} {stage}");
    let clock = format!(" {}", words::clock(at));
    let files = match state.files {
        Some(files) if files > 0 => {
            format!("{}/{}", state.done(), words::count(files, "file", "files"))
        }
        Some(_) | None => return spread(&start, &clock, width),
    };
    // Two blanks before the bar, two after it, and one more before the clock.
    let taken = columns(&start) + columns(&files) + columns(&clock) + 5;
    match width.checked_sub(taken) {
        Some(room) if room >= *BAR.start() => {
            let bar = bar(state.done(), state.files.unwrap_or(0), room.min(*BAR.end()));
            spread(&format!("{start}  {bar}  {files}"), &clock, width)
        }
        Some(_) | None => spread(&format!("{start}  {files}"), &clock, width),
    }
}

/// Two texts at the two ends of a line.
fn spread(left: &str, right: &str, width: usize) -> String {
    let left = cut(left, width.saturating_sub(columns(right)));
    let blanks = width.saturating_sub(columns(&left) + columns(right));
    format!("{left}{}{right}", " ".repeat(blanks))
}

fn bar(done: usize, all: usize, width: usize) -> String {
    let full = (done * width).checked_div(all).unwrap_or(0).min(width);
    format!("{}{}", "█".repeat(full), "░".repeat(width - full))
}

/// Each run on a line: its name, what it is about, what it does, and for how long it has been at work. Where there is little
/// room, what it is about stands for its name, and nobody is told the time.
fn run_lines(runs: &[Running], at: Duration, width: usize) -> Vec<String> {
    let is_narrow = width < NARROW;
    let name = |run: &Running| match is_narrow && !run.label.is_empty() {
        true => run.label.clone(),
        false => run.name.clone(),
    };
    let label = |run: &Running| if is_narrow { String::new() } else { run.label.clone() };
    let widest = |text: &dyn Fn(&Running) -> String, most: usize| {
        runs.iter().map(|run| columns(&text(run))).max().unwrap_or(0).min(most)
    };
    let name_width = widest(&name, NAME_MAX);
    let label_width = widest(&label, width / 3);
    let line = |run: &Running| {
        let mut line = format!("  {}  ", padded(&name(run), name_width));
        if label_width > 0 {
            line.push_str(&format!("{}  ", padded(&label(run), label_width)));
        }
        let time = match is_narrow {
            true => String::new(),
            false => format!(" {}", words::clock(at.saturating_sub(run.since))),
        };
        let doing = if run.doing.is_empty() { "thinking" } else { &run.doing };
        // A path is known by its end.
        let room = width.saturating_sub(columns(&line) + columns(&time));
        line.push_str(&cut_inside(doing, room));
        spread(&line, &time, width)
    };
    runs.iter().map(line).collect()
}

/// A text that takes so many columns, cut or filled up.
fn padded(text: &str, width: usize) -> String {
    let text = cut(text, width);
    let blanks = width.saturating_sub(columns(&text));
    format!("{text}{}", " ".repeat(blanks))
}

/// What was spent and found, as much of it as fits; what matters most comes first.
fn spent_line(state: &State, width: usize) -> String {
    let totals = &state.totals;
    let mut parts = vec![
        words::money(totals.money, state.budget),
        words::tokens(totals),
        words::count(state.findings, "finding", "findings"),
    ];
    parts.extend(words::cached(totals));
    let mut line = String::from(" ");
    for part in parts {
        let separator = if line == " " { " " } else { " · " };
        if columns(&line) + columns(separator) + columns(&part) > width && line != " " {
            break;
        }
        line.push_str(separator);
        line.push_str(&part);
    }
    line
}

#[cfg(test)]
mod tests;
