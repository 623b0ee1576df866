//! The only place that prints. Results go to standard output, everything else to standard error.

#[path = "ui/prompt.rs"]
mod asking;
#[path = "ui/summary.rs"]
mod closing;
#[path = "ui/style.rs"]
mod face;
mod lines;
mod panel;
pub(crate) mod progress;
pub(crate) mod questions;
#[path = "ui/task_progress.rs"]
pub(crate) mod rows;
mod screen;
mod state;
#[path = "ui/format.rs"]
mod words;

use std::io;
use std::io::{BufWriter, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

pub(crate) use self::asking::line_from_person;
pub(crate) use self::face::Verbosity;
use self::face::{Channel, Face};
use self::screen::Warnings;
use crate::config::environment;
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crh_review::render::Links;
use crh_review::report::{Decimal, Report};

/// The exit code of a program that was interrupted, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;
/// More than this of an error nobody reads; a forged input can make one of any length.
const ERROR_MAX: usize = 1_000;

/// How what is under way is shown, in the way that fits standard error and what the user wants.
fn face(verbosity: Verbosity, environment: &Environment) -> Face {
    let variable = |name| environment.variable(name).map(|value| value.to_string_lossy());
    let (ci, term) = (variable(environment::CI), variable(environment::TERM));
    let channel = Channel::of(io::stderr().is_terminal(), ci.as_deref(), term.as_deref());
    Face::of(verbosity, channel)
}

/// Writes a result. A reader that has seen enough (`| head`) is no failure.
pub(crate) fn result(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("writing to standard output").or_fail(Kind::Outside)
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a result that is one text.
pub(crate) fn result_text(text: &str) -> Result<(), Failure> {
    result(|out| out.write_all(text.as_bytes()))
}

/// Writes a result as it is, and says why it could not be written.
pub(crate) fn result_line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Ends the program in the middle of what it does.
pub(crate) fn leave_at_once() -> ! {
    questions::restore_at_once();
    screen::clear_at_once();
    #[expect(clippy::exit, reason = "whoever presses Ctrl-C twice does not want to wait")]
    std::process::exit(INTERRUPTED.into())
}

/// Whether the result is read by a person.
pub(crate) fn shows_to_person() -> bool {
    io::stdout().is_terminal()
}

/// Whether the result is shown on a terminal that knows more than text.
pub(crate) fn shows_more_than_text(environment: &Environment) -> bool {
    let term = environment.variable(environment::TERM).map(|value| value.to_string_lossy());
    let ci = None;
    match Channel::of(shows_to_person(), ci, term.as_deref()) {
        Channel::Terminal => true,
        Channel::Stream => false,
    }
}

/// Links to the files of a checkout, for a report that is shown on this machine.
pub(crate) fn links(root: &Path) -> Links {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Links::Under { host, root: root.to_owned() }
}

/// Says how much the user wants to be told from now on.
pub(crate) fn speak(verbosity: Verbosity) {
    screen::set_warnings(match verbosity {
        Verbosity::Quiet => Warnings::Hidden,
        Verbosity::Usual => Warnings::Shown,
        Verbosity::Verbose | Verbosity::Debug => Warnings::Detailed,
    });
}

/// Tells the user something that is no failure.
pub(crate) fn warn(message: &str) {
    screen::warn(&format!("warning: {}", crh_review::visible(message)));
}

/// Tells the user something that may be of use.
pub(crate) fn note(message: &str) {
    screen::warn(&format!("note: {}", crh_review::visible(message)));
}

/// Tells the user something that is of use to whoever looks closely.
pub(crate) fn detail(message: &str) {
    screen::detail(&format!("note: {}", crh_review::visible(message)));
}

/// Tells the user how a review has ended, in one line.
pub(crate) fn say_closing(report: &Report) {
    screen::warn(&closing::closing_line(report));
}

/// Tells the user about the command line: help and version, or what is wrong with it.
pub(crate) fn say_usage(said: &clap::Error) -> ExitCode {
    let text = crh_review::visible(&said.render().to_string());
    if said.use_stderr() {
        screen::say(text.trim_end_matches('\n'));
        return Kind::Usage.exit_code();
    }
    match result_text(&text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => say_failure(&failure),
    }
}

/// Tells the user why nothing was done.
pub(crate) fn say_failure(failure: &Failure) -> ExitCode {
    // Names of files and pieces of input are in these texts: nothing in them may act on the terminal or fill it.
    let error = crh_review::visible(&format!("{:#}", failure.error));
    match error.char_indices().nth(ERROR_MAX) {
        Some((end, _)) => screen::say(&format!("error: {} …", &error[..end])),
        None => screen::say(&format!("error: {error}")),
    }
    if let Some(hint) = &failure.hint {
        screen::say(&format!("hint: {}", crh_review::visible(hint)));
    }
    failure.kind.exit_code()
}

/// What the helper of the sandbox says to whoever started it, and how it ends.
pub(crate) fn say_shut_in(code: u8, why: Option<&str>) -> ExitCode {
    if let Some(why) = why {
        screen::say(&crh_lint::sandbox::said(why));
    }
    ExitCode::from(code)
}

/// Tells the user that crh is broken, and where.
pub(crate) fn say_bug(panic: &PanicHookInfo<'_>) {
    // A piece of the input may be in it, as in everything that was not foreseen.
    let what = crh_review::visible(panic.payload_as_str().unwrap_or("it gave up without a word"));
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    screen::say_from_panic(&format!(
        "error: this is a bug in crh: {what} ({place})\n\
         hint: please report it together with the command and its input"
    ));
}

/// An amount of money, as everything that is for people shows it.
pub(crate) fn dollars(amount: Decimal) -> String {
    words::dollars(amount.0 as f64 / 1e6)
}

/// How long something took, for people.
pub(crate) fn took(milliseconds: u64) -> String {
    words::took(milliseconds)
}

/// The exit code of what was stopped by the user.
pub(crate) fn interrupted() -> ExitCode {
    ExitCode::from(INTERRUPTED)
}

/// Text that is safe to show, on one line.
pub(crate) fn on_one_line(text: &str) -> String {
    crh_review::visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
