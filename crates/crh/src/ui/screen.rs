//! Standard error as a screen: permanent lines, and below them at most one panel that is redrawn.
//!
//! Invariant: this module changes no terminal mode. The cursor stays visible on the line below the
//! panel, so a killed process leaves a working terminal.

use std::io;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use super::workflow_commands::{AllowedCommands, guarded};
use crh_review::columns;

/// Size to assume if the terminal does not report one.
const DEFAULT_SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };

/// How often the panic hook tries to lock the screen, and the pause after each attempt: half a
/// second in total, longer than any drawing takes.
const PANIC_TRIES: u32 = 50;
const PANIC_WAIT: Duration = Duration::from_millis(10);

static SCREEN: Mutex<Screen> =
    Mutex::new(Screen { warnings: WarningLevel::Shown, drawing: Drawing::On, panel: Vec::new() });

/// State of standard error.
struct Screen {
    warnings: WarningLevel,
    drawing: Drawing,
    /// Lines of the panel on the screen.
    panel: Vec<String>,
}

/// Which messages besides errors to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WarningLevel {
    /// Warnings and notes.
    Shown,
    /// Warnings, notes and details.
    Detailed,
    /// Errors only.
    Hidden,
}

/// Whether the panel may be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drawing {
    On,
    /// The user is typing below the last line.
    Off,
}

/// Size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalSize {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Current size of standard error.
pub(super) fn size() -> TerminalSize {
    match crh_os::terminal::stderr_size() {
        Some(size) if size.columns > 0 && size.rows > 0 => {
            TerminalSize { columns: size.columns.into(), rows: size.rows.into() }
        }
        Some(_) | None => DEFAULT_SIZE,
    }
}

/// Sets which messages are shown from now on.
pub(super) fn set_warnings(warnings: WarningLevel) {
    screen().warnings = warnings;
}

/// Prints permanent lines unless warnings are hidden.
pub(super) fn warn(text: &str) {
    let screen = screen();
    if screen.warnings != WarningLevel::Hidden {
        screen.print(text);
    }
}

/// Prints permanent lines in verbose mode.
pub(super) fn detail(text: &str) {
    let screen = screen();
    if screen.warnings == WarningLevel::Detailed {
        screen.print(text);
    }
}

/// Prints permanent lines.
pub(super) fn print_line(text: &str) {
    screen().print(text);
}

/// Prints a prompt; the answer is typed on the same line.
pub(super) fn prompt(text: &str) {
    write(text);
}

/// Prints lines from the panic hook. Does not block on the lock, because the panicking thread may
/// hold it.
pub(super) fn print_from_panic(text: &str) {
    for _ in 0..PANIC_TRIES {
        match SCREEN.try_lock() {
            Ok(screen) => return screen.print(text),
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner().print(text),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PANIC_WAIT),
        }
    }
    write(&format!("{text}\n"));
}

/// Redraws the panel. No line may be wider than the terminal.
pub(super) fn draw(lines: Vec<String>) {
    let mut screen = screen();
    if screen.drawing == Drawing::Off {
        return;
    }
    write(&frame(&screen.panel, "", &lines, size().columns));
    screen.panel = lines;
}

/// Removes the panel.
pub(super) fn clear() {
    draw(Vec::new());
}

/// Removes the panel until [`resume_drawing`], so that the user can type.
pub(super) fn pause_drawing() {
    clear();
    screen().drawing = Drawing::Off;
}

/// Allows the panel to be drawn again.
pub(super) fn resume_drawing() {
    screen().drawing = Drawing::On;
}

/// Whether the panel is removed, because the user is typing.
pub(super) fn is_drawing_paused() -> bool {
    screen().drawing == Drawing::Off
}

/// Removes the panel unless another thread holds the lock, which may be blocked on a full pipe.
pub(super) fn try_clear() {
    if let Ok(mut screen) = SCREEN.try_lock() {
        write(&frame(&screen.panel, "", &[], size().columns));
        screen.panel.clear();
    }
}

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    /// Prints lines above the panel.
    fn print(&self, text: &str) {
        write(&frame(&self.panel, &format!("{text}\n"), &self.panel, size().columns));
    }
}

fn write(text: &str) {
    let text = guarded(text.as_bytes(), AllowedCommands::None);
    // If standard error fails, there is no place to report it.
    io::stderr().write_all(&text).ok();
}

/// Escape sequences that replace the old panel by text and a new panel.
///
/// Old lines may wrap on a terminal that became narrower, so their rows are counted with the
/// current width. Each line is cleared before it is written, because clearing in the last column
/// would erase a character.
fn frame(old_panel: &[String], text: &str, new_panel: &[String], width: usize) -> String {
    let old_rows: usize =
        old_panel.iter().map(|line| visible_columns(line).div_ceil(width.max(1)).max(1)).sum();
    let mut out = String::new();
    if old_rows > 0 {
        out.push_str(&format!("\u{1b}[{old_rows}A\r"));
    }
    if !text.is_empty() {
        // The text may be longer than one line.
        out.push_str(if old_rows > 0 { "\u{1b}[J" } else { "" });
        out.push_str(text);
    }
    for line in new_panel {
        out.push_str(&format!("\u{1b}[K{line}\n"));
    }
    if old_rows > new_panel.len() {
        out.push_str("\u{1b}[J");
    }
    out
}

/// Width of a line without its colour codes.
fn visible_columns(line: &str) -> usize {
    let mut parts = line.split("\u{1b}[");
    let width_before_codes = parts.next().map_or(0, columns);
    width_before_codes
        + parts
            .map(|part| part.split_once('m').map_or(0, |(_, visible)| columns(visible)))
            .sum::<usize>()
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
    fn first_panel_is_printed() {
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
    fn panel_replaces_previous_panel() {
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
    fn wrapped_rows_of_narrower_terminal_are_cleared() {
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
    fn colour_codes_have_no_width() {
        assert_eq!(visible_columns("\u{1b}[1mab\u{1b}[0mc"), 3);
        assert_eq!(visible_columns("abc"), 3);
        assert_eq!(visible_columns(""), 0);
    }

    #[test]
    fn permanent_lines_are_printed_above_panel() {
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
    fn cleared_panel_leaves_nothing() {
        check(&["a", "b"], "", &[], 80, expect!["ESC[2ACRESC[J"]);
        check(&[], "", &[], 80, expect![""]);
    }
}
