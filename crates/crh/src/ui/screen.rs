//! Standard error as one screen: lines that stay, and below them at most one panel that is drawn over again.
//!
//! Invariant: nothing is switched on that would have to be switched off again. The cursor stays visible and rests on the line
//! below the panel, so that a process that is killed leaves a terminal that works.

use std::io;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use crh_review::columns;

/// What a terminal has that does not say.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// Half a second in all, which is longer than anyone draws.
const PANIC_TRIES: u32 = 50;
const PANIC_WAIT: Duration = Duration::from_millis(10);

static SCREEN: Mutex<Screen> =
    Mutex::new(Screen { warnings: Warnings::Shown, drawing: Drawing::On, drawn: Vec::new() });

/// What is known about standard error.
struct Screen {
    warnings: Warnings,
    drawing: Drawing,
    /// The lines of the panel that stand there now.
    drawn: Vec<String>,
}

/// Whether the user wants to see what is no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Warnings {
    /// Yes.
    Shown,
    /// Yes, and what is of interest only to whoever looks closely.
    Detailed,
    /// No.
    Hidden,
}

/// Whether a panel may be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drawing {
    /// It may.
    On,
    /// Not now: somebody is typing below the last line.
    Off,
}

/// How much fits a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// Characters in a line.
    pub(super) columns: usize,
    /// Lines.
    pub(super) rows: usize,
}

/// How much fits standard error now.
pub(super) fn size() -> Size {
    match rustix::termios::tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            Size { columns: size.ws_col.into(), rows: size.ws_row.into() }
        }
        Ok(_) | Err(_) => USUAL,
    }
}

/// Says whether warnings are shown from now on.
pub(super) fn set_warnings(warnings: Warnings) {
    screen().warnings = warnings;
}

/// Prints lines that stay, if the user wants to see what is no error.
pub(super) fn warn(text: &str) {
    let screen = screen();
    if screen.warnings != Warnings::Hidden {
        screen.print(text);
    }
}

/// Prints lines that stay, if the user looks closely.
pub(super) fn detail(text: &str) {
    let screen = screen();
    if screen.warnings == Warnings::Detailed {
        screen.print(text);
    }
}

/// Prints lines that stay.
pub(super) fn say(text: &str) {
    screen().print(text);
}

/// Prints a text after which the answer is typed, on the same line.
pub(super) fn prompt(text: &str) {
    write(text);
}

/// Prints lines that stay, from wherever a panic was. If that was here, waiting for our turn would be forever.
pub(super) fn say_from_panic(text: &str) {
    for _ in 0..PANIC_TRIES {
        match SCREEN.try_lock() {
            Ok(screen) => return screen.print(text),
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner().print(text),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PANIC_WAIT),
        }
    }
    write(&format!("{text}\n"));
}

/// Draws the panel over the one that stands there. None of its lines is wider than the terminal.
pub(super) fn draw(lines: Vec<String>) {
    let mut screen = screen();
    if screen.drawing == Drawing::Off {
        return;
    }
    write(&frame(&screen.drawn, "", &lines, size().columns));
    screen.drawn = lines;
}

/// Takes the panel away.
pub(super) fn clear() {
    draw(Vec::new());
}

/// Takes the panel away, and leaves the place to whoever types there.
pub(super) fn stop_drawing() {
    clear();
    screen().drawing = Drawing::Off;
}

/// Lets the panel be drawn again.
pub(super) fn go_on_drawing() {
    screen().drawing = Drawing::On;
}

/// Takes the panel away, if that can be done at once: whoever writes may be waiting for a reader that never comes.
pub(super) fn clear_at_once() {
    if let Ok(mut screen) = SCREEN.try_lock() {
        write(&frame(&screen.drawn, "", &[], size().columns));
        screen.drawn.clear();
    }
}

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    /// Prints lines above the panel.
    fn print(&self, text: &str) {
        write(&frame(&self.drawn, &format!("{text}\n"), &self.drawn, size().columns));
    }
}

fn write(text: &str) {
    // If nobody can be told, nobody can be told that either.
    io::stderr().write_all(text.as_bytes()).ok();
}

/// What to write so that a terminal shows text and a panel where an old panel stands.
///
/// A terminal that was made narrower since has broken the old lines, so their rows are counted by its width of now. Every
/// line is emptied before it is written and not after: in the last column that would take a character away.
fn frame(old: &[String], text: &str, panel: &[String], width: usize) -> String {
    let rows: usize = old.iter().map(|line| seen_columns(line).div_ceil(width.max(1)).max(1)).sum();
    let mut out = String::new();
    if rows > 0 {
        out.push_str(&format!("\u{1b}[{rows}A\r"));
    }
    if !text.is_empty() {
        // It may be longer than a line.
        out.push_str(if rows > 0 { "\u{1b}[J" } else { "" });
        out.push_str(text);
    }
    for line in panel {
        out.push_str(&format!("\u{1b}[K{line}\n"));
    }
    if rows > panel.len() {
        out.push_str("\u{1b}[J");
    }
    out
}

/// How many columns a line takes: what only says how it looks takes none.
fn seen_columns(line: &str) -> usize {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().map_or(0, columns);
    first
        + parts.map(|part| part.split_once('m').map_or(0, |(_, seen)| columns(seen))).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(old: &[&str], text: &str, panel: &[&str], width: usize, expected: Expect) {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let (old, panel): (Vec<String>, Vec<String>) = (owned(old), owned(panel));
        expected.assert_eq(
            &frame(&old, text, &panel, width).replace('\u{1b}', "ESC").replace('\r', "CR"),
        );
    }

    #[test]
    fn the_first_panel_is_just_printed() {
        check(
            &[],
            "",
            &["a", "b"],
            80,
            expect![[r#"
            ESC[Ka
            ESC[Kb
        "#]],
        );
    }

    #[test]
    fn a_panel_is_drawn_over_the_one_before() {
        check(
            &["a", "b"],
            "",
            &["c", "d"],
            80,
            expect![[r#"
                ESC[2ACRESC[Kc
                ESC[Kd
            "#]],
        );
        check(
            &["a", "b", ""],
            "",
            &["c"],
            80,
            expect![[r#"
                ESC[3ACRESC[Kc
                ESC[J"#]],
        );
    }

    #[test]
    fn rows_that_a_narrower_terminal_has_broken_are_all_taken_away() {
        check(
            &[&"x".repeat(79), &"y".repeat(40)],
            "",
            &["a", "b"],
            40,
            expect![[r#"
                ESC[3ACRESC[Ka
                ESC[Kb
                ESC[J"#]],
        );
    }

    #[test]
    fn how_a_line_looks_takes_no_column() {
        assert_eq!(seen_columns("\u{1b}[1mab\u{1b}[0mc"), 3);
        assert_eq!(seen_columns("abc"), 3);
        assert_eq!(seen_columns(""), 0);
    }

    #[test]
    fn what_stays_is_printed_above_the_panel() {
        check(
            &["a", "b"],
            "warning: x\n",
            &["a", "b"],
            80,
            expect![[r#"
                ESC[2ACRESC[Jwarning: x
                ESC[Ka
                ESC[Kb
            "#]],
        );
        check(
            &[],
            "warning: x\n",
            &[],
            80,
            expect![[r#"
                warning: x
            "#]],
        );
    }

    #[test]
    fn a_panel_that_ends_leaves_nothing() {
        check(&["a", "b"], "", &[], 80, expect!["ESC[2ACRESC[J"]);
        check(&[], "", &[], 80, expect![""]);
    }
}
