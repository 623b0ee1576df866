//! The only place that prints. Results go to standard output, everything else to standard error.

#![expect(clippy::print_stderr, reason = "this is where crh speaks")]

use std::io;
use std::io::BufWriter;
use std::io::IsTerminal;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use anyhow::Context;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;

/// More than this of an error nobody reads; a forged input can make one of any length.
const ERROR_MAX: usize = 1_000;

/// Writes a result. A reader that has seen enough (`| head`) is no failure.
pub(crate) fn result(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("writing to standard output").or_fail(Kind::Usage)
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a result that is one text.
pub(crate) fn result_text(text: &str) -> Result<(), Failure> {
    result(|out| out.write_all(text.as_bytes()))
}

/// Whether the result is read by a person.
pub(crate) fn shows_to_person() -> bool {
    io::stdout().is_terminal()
}

/// Tells the user something that is no failure.
pub(crate) fn warn(message: &str) {
    eprintln!("warning: {}", crh_review::visible(message));
}

/// Tells the user something that may be of use.
pub(crate) fn note(message: &str) {
    eprintln!("note: {}", crh_review::visible(message));
}

/// Tells the user about the command line: help and version, or what is wrong with it.
pub(crate) fn say_usage(said: &clap::Error) -> ExitCode {
    let text = crh_review::visible(&said.render().to_string());
    if said.use_stderr() {
        eprint!("{text}");
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
        Some((end, _)) => eprintln!("error: {} …", &error[..end]),
        None => eprintln!("error: {error}"),
    }
    if let Some(hint) = &failure.hint {
        eprintln!("hint: {}", crh_review::visible(hint));
    }
    failure.kind.exit_code()
}

/// Tells the user that crh is broken, and where.
pub(crate) fn say_bug(panic: &PanicHookInfo<'_>) {
    let what = panic.payload_as_str().unwrap_or("it gave up without a word");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    eprintln!("error: this is a bug in crh: {what} ({place})");
    eprintln!("hint: please report it together with the command and its input");
}
