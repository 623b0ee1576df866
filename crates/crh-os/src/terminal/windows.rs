//! Windows: the console's interface.

use std::io;
use std::os::windows::io::AsHandle;

use terminal_size::{Height, Width};

use super::WindowSize;

pub(super) fn stdout_size() -> Option<WindowSize> {
    size(io::stdout())
}

pub(super) fn stderr_size() -> Option<WindowSize> {
    size(io::stderr())
}

fn size(output: impl AsHandle) -> Option<WindowSize> {
    let (Width(columns), Height(rows)) = terminal_size::terminal_size_of(output)?;
    Some(WindowSize { columns, rows })
}

pub(super) fn stdout_is_file() -> bool {
    false
}

/// Old consoles print escape sequences as text until a program asks for them.
pub(super) fn takes_escapes() -> bool {
    anstyle_query::windows::enable_ansi_colors() == Some(true)
}

pub(super) fn link_host() -> Option<String> {
    None
}
