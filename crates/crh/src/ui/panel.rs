//! The progress panel: a few lines at the bottom of a terminal of any width.

use std::time::Duration;

use super::format;
use super::screen::TerminalSize;
use super::state::{ActiveRun, ProgressState};
use crh_review::{columns, truncate, truncate_middle};

/// Maximum width of a panel line. Longer lines are hard to read.
const WIDTH_MAX: usize = 100;
/// Maximum number of lines for runs. If there are more runs, the last of these lines says how many
/// more.
const RUNS_MAX: usize = 8;
/// Minimum and maximum width of the progress bar.
const BAR_WIDTH: std::ops::RangeInclusive<usize> = 6..=30;
/// Maximum width of a reviewer's name.
const NAME_MAX: usize = 14;
/// Below this width, the panel leaves out some columns.
const NARROW_WIDTH: usize = 60;
/// Lines besides those of the runs: stage, cost, and the cursor line.
const OTHER_LINES: usize = 3;

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// Time per spinner frame.
const SPINNER_INTERVAL: Duration = Duration::from_millis(200);

/// The lines of the panel. `elapsed` is the time since the start of the review. All lines are
/// narrower than the terminal, because terminals differ in how they wrap at the last column.
pub(super) fn panel_lines(
    state: &ProgressState,
    elapsed: Duration,
    size: TerminalSize,
) -> Vec<String> {
    let width = size.columns.saturating_sub(1).min(WIDTH_MAX);
    let mut lines = vec![stage_line(state, elapsed, width)];
    let max_run_lines = size.rows.saturating_sub(OTHER_LINES).clamp(1, RUNS_MAX);
    // If not all runs fit, the last of these lines says how many more there are.
    let shown_count =
        if state.runs.len() > max_run_lines { max_run_lines - 1 } else { state.runs.len() };
    let (shown_runs, hidden_runs) = state.runs.split_at(shown_count);
    lines.extend(run_lines(shown_runs, elapsed, width));
    if !hidden_runs.is_empty() {
        lines.push(match shown_runs {
            [] => format!("  {} active runs", hidden_runs.len()),
            _ => format!("  … and {} more runs", hidden_runs.len()),
        });
    }
    lines.push(spent_line(state, width));
    // In a tiny terminal, the first lines stay.
    lines.truncate(size.rows.saturating_sub(1));
    lines.iter().map(|line| truncate(line.trim_end(), width)).collect()
}

/// Stage, progress bar, and elapsed time.
fn stage_line(state: &ProgressState, elapsed: Duration, width: usize) -> String {
    let spinner =
        SPINNER[(elapsed.as_millis() / SPINNER_INTERVAL.as_millis()) as usize % SPINNER.len()];
    let stage = state.stage.map_or("Starting", format::stage);
    let start = format!("{spinner} {stage}");
    let clock = format!(" {}", format::clock(elapsed));
    let Some((done, total)) = state.reviewer_progress() else {
        return justify(&start, &clock, width);
    };
    let reviewers = format!("{done}/{}", format::count(total, "reviewer", "reviewers"));
    // Two blanks before the bar, and two after it. The clock starts with a blank.
    let width_without_bar = columns(&start) + columns(&reviewers) + columns(&clock) + 4;
    match width.checked_sub(width_without_bar) {
        Some(available_width) if available_width >= *BAR_WIDTH.start() => {
            let bar = bar(done, total, available_width.min(*BAR_WIDTH.end()));
            justify(&format!("{start}  {bar}  {reviewers}"), &clock, width)
        }
        Some(_) | None => justify(&format!("{start}  {reviewers}"), &clock, width),
    }
}

/// Puts two texts at the two ends of a line.
fn justify(left: &str, right: &str, width: usize) -> String {
    let left = truncate(left, width.saturating_sub(columns(right)));
    let blanks = width.saturating_sub(columns(&left) + columns(right));
    format!("{left}{}{right}", " ".repeat(blanks))
}

fn bar(done: usize, total: usize, width: usize) -> String {
    let filled_width = (done * width).checked_div(total).unwrap_or(0).min(width);
    format!("{}{}", "█".repeat(filled_width), "░".repeat(width - filled_width))
}

/// One line per run: name, part of the change (its label), current tool call, elapsed time. On
/// narrow terminals the label replaces the name and the time is left out.
fn run_lines(runs: &[ActiveRun], elapsed: Duration, width: usize) -> Vec<String> {
    let is_narrow = width < NARROW_WIDTH;
    let name = |run: &ActiveRun| match is_narrow && !run.label.is_empty() {
        true => run.label.clone(),
        false => run.name.clone(),
    };
    let label = |run: &ActiveRun| if is_narrow { String::new() } else { run.label.clone() };
    let column_width = |text: &dyn Fn(&ActiveRun) -> String, max_width: usize| {
        runs.iter().map(|run| columns(&text(run))).max().unwrap_or(0).min(max_width)
    };
    let name_width = column_width(&name, NAME_MAX);
    let label_width = column_width(&label, width / 3);
    let line = |run: &ActiveRun| {
        let mut line = format!("  {}  ", pad(&name(run), name_width));
        if label_width > 0 {
            line.push_str(&format!("{}  ", pad(&label(run), label_width)));
        }
        let time = match is_narrow {
            true => String::new(),
            false => format!(" {}", format::clock(elapsed.saturating_sub(run.started_at))),
        };
        let activity = if run.last_tool_call.is_empty() { "thinking" } else { &run.last_tool_call };
        // Both ends are informative: the name of the tool, and the end of a path.
        let activity_width = width.saturating_sub(columns(&line) + columns(&time));
        line.push_str(&truncate_middle(activity, activity_width));
        justify(&line, &time, width)
    };
    runs.iter().map(line).collect()
}

/// Cuts or pads a text to a width.
fn pad(text: &str, width: usize) -> String {
    let text = truncate(text, width);
    let blanks = width.saturating_sub(columns(&text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Cost, tokens, findings and cache hits, as far as they fit.
fn spent_line(state: &ProgressState, width: usize) -> String {
    let totals = &state.totals;
    let mut parts = vec![
        format::money(totals.money, state.budget),
        format::tokens(totals),
        format::count(state.findings, "finding", "findings"),
    ];
    parts.extend(format::cached(totals));
    let mut line = String::from(" ");
    for text in parts {
        let separator = if line == " " { " " } else { " · " };
        if columns(&line) + columns(separator) + columns(&text) > width && line != " " {
            break;
        }
        line.push_str(separator);
        line.push_str(&text);
    }
    line
}

#[cfg(test)]
mod tests;
