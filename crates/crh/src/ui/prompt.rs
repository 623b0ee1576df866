//! Reads one line from the terminal.

use super::questions::{discard_input, read_line};
use super::screen;
use crh_review::wrap;

/// Maximum length of an answer in bytes. A longer line was pasted by mistake.
const LINE_MAX: u64 = 4_096;

/// Prints a question and reads a line; none if it is empty. Hides the progress panel meanwhile.
pub(crate) fn prompt_line(question: &str) -> Option<String> {
    let width = screen::size().columns.saturating_sub(1).max(1);
    let question = crh_review::escape_invisible(question);
    let lines: String = question.lines().map(|line| wrap("", "", line, width)).collect();
    screen::pause_drawing();
    screen::print_line(lines.trim_end());
    discard_input();
    let line = read_line(LINE_MAX);
    screen::resume_drawing();
    Some(line?.trim().to_owned()).filter(|line| !line.is_empty())
}
