//! Unix: the terminal's own interface.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use super::WindowSize;

pub(super) fn stdout_size() -> Option<WindowSize> {
    size(io::stdout())
}

pub(super) fn stderr_size() -> Option<WindowSize> {
    size(io::stderr())
}

fn size(output: impl AsFd) -> Option<WindowSize> {
    let window = rustix::termios::tcgetwinsize(output).ok()?;
    Some(WindowSize { columns: window.ws_col, rows: window.ws_row })
}

pub(super) fn stdout_is_file() -> bool {
    let stdout = io::stdout().as_fd().try_clone_to_owned();
    stdout.and_then(|stdout| File::from(stdout).metadata()).is_ok_and(|it| it.is_file())
}

pub(super) fn takes_escapes() -> bool {
    true
}

#[expect(clippy::unnecessary_wraps, reason = "Windows has none")]
pub(super) fn link_host() -> Option<String> {
    Some(rustix::system::uname().nodename().to_string_lossy().into_owned())
}
