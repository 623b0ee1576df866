//! One line from whoever sits at the terminal.

use std::io;
use std::io::{BufRead, Read};

use super::questions::forget_typed;
use super::screen;
use crh_review::wrapped;

/// The longest line that is read: what is longer was pasted by mistake.
const LINE_MAX: u64 = 4_096;

/// Asks, a paragraph a line, and waits for a line; none if there is none. What is under way is not shown meanwhile.
pub(crate) fn line_from_person(question: &str) -> Option<String> {
    let width = screen::size().columns.saturating_sub(1).max(1);
    let question = crh_review::visible(question);
    let lines: String = question.lines().map(|line| wrapped("", "", line, width)).collect();
    screen::stop_drawing();
    screen::say(lines.trim_end());
    forget_typed();
    let mut line = String::new();
    let read = io::stdin().lock().take(LINE_MAX).read_line(&mut line);
    screen::go_on_drawing();
    read.ok().filter(|count| *count > 0)?;
    Some(line.trim().to_owned()).filter(|line| !line.is_empty())
}
