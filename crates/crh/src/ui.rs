//! All output of crh. Results go to standard output, everything else to standard error.

mod format;
mod lines;
mod panel;
pub(crate) mod progress;
mod prompt;
pub(crate) mod questions;
mod screen;
mod state;
mod style;
mod summary;
pub(crate) mod task_progress;
mod workflow_commands;

use std::io;
use std::io::{IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

pub(crate) use self::prompt::prompt_line;
use self::screen::WarningLevel;
pub(crate) use self::style::Verbosity;
use self::style::{OutputKind, ProgressStyle};
use self::workflow_commands::AllowedCommands;
use crate::config::environment;
use crate::config::environment::Environment;
use crate::failure;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_os::terminal;
use crh_review::render::FileLinks;
use crh_review::report::{Decimal, Report};

/// Exit code after Ctrl-C, as shells use it.
pub(crate) const INTERRUPTED: u8 = 130;
/// Exit code of an incomplete review.
const INCOMPLETE: u8 = 4;
/// Maximum characters of an error message. Malicious input could make a message of any length.
const ERROR_MAX: usize = 1_000;

/// The progress style for standard error and the chosen verbosity.
fn progress_style(verbosity: Verbosity, environment: &Environment) -> ProgressStyle {
    let variable = |name| environment.variable(name).map(|value| value.to_string_lossy());
    let (ci, term) = (variable(environment::CI), variable(environment::TERM));
    let output = OutputKind::detect(io::stderr().is_terminal(), ci.as_deref(), term.as_deref());
    ProgressStyle::choose(verbosity, output)
}

/// Writes a result to standard output. A closed pipe (`| head`) is not a failure.
pub(crate) fn result(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut text = Vec::new();
    let outcome = write(&mut text).and_then(|()| write_stdout(&text, AllowedCommands::None));
    tolerate_closed_pipe(outcome)
}

fn tolerate_closed_pipe(outcome: io::Result<()>) -> Result<(), Failure> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output").or_fail(FailureKind::External)
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a text to standard output. A closed pipe is not a failure.
pub(crate) fn result_text(text: &str) -> Result<(), Failure> {
    result(|out| out.write_all(text.as_bytes()))
}

/// Writes workflow commands for GitHub Actions to standard output. A closed pipe is not a failure.
pub(crate) fn result_commands(text: &str) -> Result<(), Failure> {
    tolerate_closed_pipe(write_stdout(text.as_bytes(), AllowedCommands::Own))
}

/// Writes a text to standard output and returns every error, including a closed pipe.
pub(crate) fn result_line(text: &str) -> io::Result<()> {
    write_stdout(text.as_bytes(), AllowedCommands::None)
}

/// In CI systems that execute commands in the log, keeps text from acting as such a command.
pub(crate) fn guard_workflow_commands(environment: &Environment) {
    let is_set = |name: &&str| environment.variable(name).is_some_and(|value| !value.is_empty());
    if environment::OBEYING_CI.iter().any(is_set) {
        workflow_commands::guard();
    }
}

fn write_stdout(text: &[u8], allowed: AllowedCommands) -> io::Result<()> {
    let stdout = io::stdout();
    // The CI system reads only its log. Patches in files must stay exact.
    let text = if terminal::stdout_is_file() {
        text.into()
    } else {
        workflow_commands::guarded(text, allowed)
    };
    let mut out = stdout.lock();
    out.write_all(&text).and_then(|()| out.flush())
}

/// Prints why a limit ends the command, restores the terminal and exits.
pub(crate) fn exit_at_limit(message: &str, hint: &str) -> ! {
    questions::try_restore();
    screen::try_clear();
    error(message);
    screen::print_line(&format!("hint: {hint}"));
    crh_git::stop_fetches();
    #[expect(clippy::exit, reason = "the work that reached the limit cannot be stopped")]
    std::process::exit(INCOMPLETE.into())
}

/// Restores the terminal and exits at once with code 130.
pub(crate) fn exit_now() -> ! {
    questions::try_restore();
    screen::try_clear();
    #[expect(clippy::exit, reason = "the second Ctrl-C exits immediately")]
    std::process::exit(INTERRUPTED.into())
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether standard output and standard error are terminals, so that users see the report and the
/// progress on one screen.
fn report_is_beside_progress() -> bool {
    stdout_is_terminal() && io::stderr().is_terminal()
}

/// Width of the window that shows standard output, or 80 columns without a window.
pub(crate) fn stdout_columns() -> usize {
    match terminal::stdout_size() {
        Some(window) if window.columns > 0 => window.columns.into(),
        Some(_) | None => 80,
    }
}

/// Whether standard output is a terminal that supports colours and links.
pub(crate) fn stdout_supports_styles(environment: &Environment) -> bool {
    let term = environment.variable(environment::TERM).map(|value| value.to_string_lossy());
    let ci = None;
    match OutputKind::detect(stdout_is_terminal(), ci, term.as_deref()) {
        OutputKind::Terminal => true,
        OutputKind::Stream => false,
    }
}

/// Links to the files of a checkout on this machine.
pub(crate) fn links(root: &Path) -> FileLinks {
    match terminal::link_host() {
        Some(host) => FileLinks::Folder { host, root: root.to_owned() },
        None => FileLinks::Off,
    }
}

/// Sets which messages are shown from now on.
pub(crate) fn set_verbosity(verbosity: Verbosity) {
    screen::set_warnings(match verbosity {
        Verbosity::Quiet => WarningLevel::Hidden,
        Verbosity::Normal => WarningLevel::Shown,
        Verbosity::Verbose | Verbosity::Debug => WarningLevel::Detailed,
    });
}

/// Prints an error that does not end the command, also in quiet mode.
pub(crate) fn error(message: &str) {
    screen::print_line(&format!("error: {}", crh_review::escape_invisible(message)));
}

/// Prints a warning.
pub(crate) fn warn(message: &str) {
    screen::warn(&format!("warning: {}", crh_review::escape_invisible(message)));
}

/// Prints a note.
pub(crate) fn note(message: &str) {
    screen::warn(&format!("note: {}", crh_review::escape_invisible(message)));
}

/// Prints a note in verbose mode.
pub(crate) fn detail(message: &str) {
    screen::detail(&format!("note: {}", crh_review::escape_invisible(message)));
}

/// Prints the one-line summary of a finished review.
pub(crate) fn print_summary(report: &Report) {
    screen::warn(&summary::summary_line(report));
}

/// Prints what clap returned: help, version, or a usage error.
pub(crate) fn print_usage(error: &clap::Error) -> ExitCode {
    let text = crh_review::escape_invisible(&error.render().to_string())
        .replace("number would be zero for non-zero type", "must be at least 1")
        .replace("invalid digit found in string", "must be a whole number without a sign");
    if error.use_stderr() {
        screen::print_line(text.trim_end_matches('\n'));
        return failure::exit_code(FailureKind::Usage);
    }
    match result_text(&text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => print_failure(&failure),
    }
}

/// Prints an error with its hint, and returns its exit code.
pub(crate) fn print_failure(failure: &Failure) -> ExitCode {
    // The text may contain file names and input, so control characters are escaped and the length
    // is limited.
    let error = crh_review::escape_invisible(&format!("{:#}", failure.error));
    match error.char_indices().nth(ERROR_MAX) {
        Some((end, _)) => screen::print_line(&format!("error: {} …", &error[..end])),
        None => screen::print_line(&format!("error: {error}")),
    }
    if let Some(hint) = &failure.hint {
        screen::print_line(&format!("hint: {}", crh_review::escape_invisible(hint)));
    }
    failure::exit_code(failure.kind)
}

/// Prints the sandbox helper's error for its parent process, and returns its exit code.
pub(crate) fn print_sandbox_helper(code: u8, error: Option<&str>) -> ExitCode {
    if let Some(error) = error {
        screen::print_line(&crh_lint::sandbox::helper_error_line(error));
    }
    ExitCode::from(code)
}

/// Panic hook: reports a bug in crh with its location.
pub(crate) fn print_panic(panic: &PanicHookInfo<'_>) {
    // The message may contain input, so it is escaped.
    let message =
        crh_review::escape_invisible(panic.payload_as_str().unwrap_or("no panic message"));
    let location = panic.location().map(ToString::to_string).unwrap_or_default();
    screen::print_from_panic(&format!(
        "error: this is a bug in crh: {message} ({location})\n\
         hint: please report it together with the command and its input"
    ));
}

/// Formats an amount of money for people.
pub(crate) fn dollars(amount: Decimal) -> String {
    crh_pipeline::text::dollars(amount.0 as f64 / 1e6)
}

/// The exit code of an interrupted command.
pub(crate) fn interrupted() -> ExitCode {
    ExitCode::from(INTERRUPTED)
}

/// Quotes a path for a shell command if it needs quotes.
pub(crate) fn shell_path(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

/// Quotes an argument of a shell command if it needs quotes.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "/._-~:@+,%".contains(char);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_word_is_quoted_only_if_necessary() {
        for plain in ["runs/20260101-1.a_b", "~/c.json", "openai:gpt-5.4", "https://h:1/+mr/2"] {
            assert_eq!(shell_word(plain), plain);
        }
        for (word, quoted) in [
            ("", "''"),
            ("my run", "'my run'"),
            ("it's", "'it'\\''s'"),
            ("$(id)", "'$(id)'"),
            ("a;b", "'a;b'"),
            ("#1", "'#1'"),
        ] {
            assert_eq!(shell_word(word), quoted);
            assert_eq!(shell_path(Path::new(word)), quoted);
        }
    }
}
