//! Many like tasks, shown while they are done: a line for each that has ended, and below them a bar with an estimate of the rest.

use std::time::{Duration, Instant};

use super::face::{Face, Verbosity};
use super::{screen, words};
use crate::config::environment::Environment;
use crh_review::{columns, cut};

/// The narrowest and the widest bar that still tells something.
const BAR: std::ops::RangeInclusive<usize> = 6..=30;
/// Wider lines are no easier to read.
const WIDEST: usize = 100;

/// Shows tasks as they end. Dropping it takes the bar away.
pub(crate) struct Rows {
    face: Face,
    total: usize,
    done: usize,
    /// Of these, how many were there already: they say nothing about how long the rest will take.
    known: usize,
    started: Instant,
}

impl Rows {
    /// Begins to show so many tasks, in the way that fits standard error and what the user wants.
    pub(crate) fn new(total: usize, verbosity: Verbosity, environment: &Environment) -> Self {
        let face = super::face(verbosity, environment);
        let rows = Self { face, total, done: 0, known: 0, started: Instant::now() };
        rows.draw();
        rows
    }

    /// A task has ended, or was done before.
    pub(crate) fn ended(&mut self, line: &str, before: Before) {
        self.done += 1;
        self.known += usize::from(before == Before::Yes);
        let line = crh_review::visible(line).replace('\n', " ");
        match self.face {
            Face::Silent => {}
            Face::Panel(_) | Face::Lines(_) => screen::say(&line),
            Face::Events => {
                let event = serde_json::json!({
                    "event": "row_ended",
                    "row": line,
                    "done": self.done,
                    "total": self.total,
                });
                screen::say(&event.to_string());
            }
        }
        self.draw();
    }

    fn draw(&self) {
        if matches!(self.face, Face::Panel(_)) {
            let elapsed = self.started.elapsed();
            screen::draw(vec![bar_line(self, elapsed, screen::size().columns)]);
        }
    }
}

/// Whether a task was done before this command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    Yes,
    No,
}

impl Drop for Rows {
    fn drop(&mut self) {
        if matches!(self.face, Face::Panel(_)) {
            screen::clear();
        }
    }
}

/// How far it is: a bar, the counts, the time so far and an estimate of the rest.
fn bar_line(rows: &Rows, elapsed: Duration, columns_there: usize) -> String {
    let width = columns_there.saturating_sub(1).clamp(1, WIDEST);
    let counts = format!("{}/{}", rows.done, rows.total);
    let rest = match rest(rows, elapsed) {
        Some(rest) => format!("{}, about {} left", words::clock(elapsed), words::clock(rest)),
        None => words::clock(elapsed),
    };
    let room = width.saturating_sub(columns(&counts) + columns(&rest) + 4);
    if room < *BAR.start() {
        return cut(&format!("{counts}  {rest}"), width);
    }
    let wide = room.min(*BAR.end());
    let full = (wide * rows.done).checked_div(rows.total).unwrap_or(wide);
    format!("{}{}  {counts}  {rest}", "█".repeat(full), "░".repeat(wide - full))
}

/// How long the rest will take if it goes on like this; none if nothing is known yet or nothing is left.
fn rest(rows: &Rows, elapsed: Duration) -> Option<Duration> {
    let (worked, left) = (rows.done - rows.known, rows.total.saturating_sub(rows.done));
    if worked == 0 || left == 0 {
        return None;
    }
    Some(elapsed.mul_f64(left as f64 / worked as f64))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::super::face::Detail;
    use super::*;

    fn rows(done: usize, known: usize, total: usize) -> Rows {
        let face = Face::Lines(Detail::Brief);
        Rows { face, total, done, known, started: Instant::now() }
    }

    fn check(rows: &Rows, seconds: u64, columns: usize, expected: Expect) {
        expected.assert_eq(&bar_line(rows, Duration::from_secs(seconds), columns));
    }

    #[test]
    fn the_bar_says_how_far_it_is_and_how_long_the_rest_takes() {
        check(&rows(15, 0, 60), 30, 48, expect!["████░░░░░░░░░░░░░  15/60  0:30, about 1:30 left"]);
        check(&rows(60, 0, 60), 90, 80, expect!["██████████████████████████████  60/60  1:30"]);
        check(&rows(15, 0, 60), 30, 30, expect!["15/60  0:30, about 1:30 left"]);
        check(&rows(0, 0, 0), 0, 80, expect!["██████████████████████████████  0/0  0:00"]);
    }

    #[test]
    fn what_was_there_already_does_not_make_the_estimate_better() {
        check(&rows(30, 15, 60), 30, 40, expect!["████░░░░░  30/60  0:30, about 1:00 left"]);
        check(&rows(15, 15, 60), 1, 40, expect!["██████░░░░░░░░░░░░░░░░░░░░  15/60  0:01"]);
    }
}
