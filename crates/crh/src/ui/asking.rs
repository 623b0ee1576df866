//! One line from whoever sits at the terminal.

use std::io;
use std::io::BufRead;
use std::io::IsTerminal;
use std::io::Read;

use super::face::is_ci;
use super::screen;
use crate::config::environment;
use crate::config::environment::Environment;

/// The longest line that is read: what is longer was pasted by mistake.
const LINE_MAX: u64 = 4_096;

/// Whether somebody can be asked: they see the question and can type an answer, and no service of CI pretends to be them.
pub(crate) fn is_somebody_there(environment: &Environment) -> bool {
    let ci = environment.variable(environment::CI).map(|value| value.to_string_lossy());
    io::stdin().is_terminal() && io::stderr().is_terminal() && !is_ci(ci.as_deref())
}

/// Asks, and waits for a line; none if there is none. What is under way is not shown meanwhile.
pub(crate) fn line_from_person(question: &str) -> Option<String> {
    screen::stop_drawing();
    screen::say(&crh_review::visible(question));
    let mut line = String::new();
    let read = io::stdin().lock().take(LINE_MAX).read_line(&mut line);
    screen::go_on_drawing();
    read.ok().filter(|count| *count > 0)?;
    Some(line.trim().to_owned()).filter(|line| !line.is_empty())
}
