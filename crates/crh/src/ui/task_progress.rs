//! Progress of many similar tasks: a line per finished task, and a progress bar with the estimated
//! remaining time.

use std::time::{Duration, Instant};

use super::style::{ProgressStyle, Verbosity};
use super::{format, screen};
use crate::config::environment::Environment;
use crh_eval::{AlreadyDone, TaskDisplay};
use crh_review::{columns, truncate};

/// Minimum and maximum width of the progress bar.
const BAR_WIDTH: std::ops::RangeInclusive<usize> = 6..=30;
/// Maximum width of the progress line. Longer lines are hard to read.
const WIDTH_MAX: usize = 100;

/// Shows tasks as they finish. Dropping it removes the bar.
pub(crate) struct TaskProgress {
    style: ProgressStyle,
    total: usize,
    done: usize,
    /// Tasks finished before this command. The time estimate leaves them out.
    already_done: usize,
    started: Instant,
}

impl TaskProgress {
    /// Starts to show progress for `total` tasks.
    pub(crate) fn new(total: usize, verbosity: Verbosity, environment: &Environment) -> Self {
        let style = super::progress_style(verbosity, environment);
        let progress = Self { style, total, done: 0, already_done: 0, started: Instant::now() };
        progress.draw();
        progress
    }

    fn draw(&self) {
        if matches!(self.style, ProgressStyle::Panel(_)) {
            let elapsed = self.started.elapsed();
            screen::draw(vec![bar_line(self, elapsed, screen::size().columns)]);
        }
    }
}

impl TaskDisplay for TaskProgress {
    fn task_ended(&mut self, line: &str, already_done: AlreadyDone) {
        self.done += 1;
        self.already_done += usize::from(already_done == AlreadyDone::Yes);
        let line = crh_review::escape_invisible(line).replace('\n', " ");
        match self.style {
            ProgressStyle::Silent => {}
            ProgressStyle::Panel(_) | ProgressStyle::Lines(_) => screen::print_line(&line),
            ProgressStyle::Events => {
                // Keep these names, because scripts may read them. A row is a task.
                let event = serde_json::json!({
                    "event": "row_ended",
                    "row": line,
                    "done": self.done,
                    "total": self.total,
                });
                screen::print_line(&event.to_string());
            }
        }
        self.draw();
    }
}

impl Drop for TaskProgress {
    fn drop(&mut self) {
        if matches!(self.style, ProgressStyle::Panel(_)) {
            screen::clear();
        }
    }
}

/// Progress bar, counts, elapsed and estimated remaining time.
fn bar_line(progress: &TaskProgress, elapsed: Duration, terminal_columns: usize) -> String {
    let width = terminal_columns.saturating_sub(1).clamp(1, WIDTH_MAX);
    let counts = format!("{}/{}", progress.done, progress.total);
    let time = match remaining_time(progress, elapsed) {
        Some(time) => format!("{}, about {} left", format::clock(elapsed), format::clock(time)),
        None => format::clock(elapsed),
    };
    let available_width = width.saturating_sub(columns(&counts) + columns(&time) + 4);
    if available_width < *BAR_WIDTH.start() {
        return truncate(&format!("{counts}  {time}"), width);
    }
    let bar_width = available_width.min(*BAR_WIDTH.end());
    let filled_width = (bar_width * progress.done).checked_div(progress.total).unwrap_or(bar_width);
    format!(
        "{}{}  {counts}  {time}",
        "█".repeat(filled_width),
        "░".repeat(bar_width - filled_width)
    )
}

/// Estimated remaining time; none without data, or if no task is left.
fn remaining_time(progress: &TaskProgress, elapsed: Duration) -> Option<Duration> {
    let (finished_now, remaining) =
        (progress.done - progress.already_done, progress.total.saturating_sub(progress.done));
    if finished_now == 0 || remaining == 0 {
        return None;
    }
    Some(elapsed.mul_f64(remaining as f64 / finished_now as f64))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::style::LineDetail;
    use super::*;

    fn progress(done: usize, already_done: usize, total: usize) -> TaskProgress {
        let style = ProgressStyle::Lines(LineDetail::Brief);
        TaskProgress { style, total, done, already_done, started: Instant::now() }
    }

    fn check(progress: &TaskProgress, seconds: u64, columns: usize, expected: Expect) {
        expected.assert_eq(&bar_line(progress, Duration::from_secs(seconds), columns));
    }

    #[test]
    fn bar_shows_progress_and_remaining_time() {
        check(
            &progress(15, 0, 60),
            30,
            48,
            expect!["████░░░░░░░░░░░░░  15/60  0:30, about 1:30 left"],
        );
        check(&progress(60, 0, 60), 90, 80, expect!["██████████████████████████████  60/60  1:30"]);
        check(&progress(15, 0, 60), 30, 30, expect!["15/60  0:30, about 1:30 left"]);
        check(&progress(0, 0, 0), 0, 80, expect!["██████████████████████████████  0/0  0:00"]);
    }

    #[test]
    fn already_done_tasks_do_not_affect_estimate() {
        check(&progress(30, 15, 60), 30, 40, expect!["████░░░░░  30/60  0:30, about 1:00 left"]);
        check(&progress(15, 15, 60), 1, 40, expect!["██████░░░░░░░░░░░░░░░░░░░░  15/60  0:01"]);
    }
}
