//! The terminal: its size, escape sequences, and the name of this machine for links.

#[cfg_attr(unix, path = "terminal/unix.rs")]
#[cfg_attr(windows, path = "terminal/windows.rs")]
mod system;

/// Size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSize {
    /// Width.
    pub columns: u16,
    /// Height.
    pub rows: u16,
}

/// Size of the window that shows standard output, if there is one.
pub fn stdout_size() -> Option<WindowSize> {
    system::stdout_size()
}

/// Size of the window that shows standard error, if there is one.
pub fn stderr_size() -> Option<WindowSize> {
    system::stderr_size()
}

/// Whether standard output goes to a file. Windows: `false`, because a pipe can look like a file.
pub fn stdout_is_file() -> bool {
    system::stdout_is_file()
}

/// Whether terminals take escape sequences. Windows: only if the console can be set so, and standard
/// output and standard error both are consoles.
pub fn takes_escapes() -> bool {
    system::takes_escapes()
}

/// Name of this machine in links to files. Windows: `None`, because there such a link names a share.
pub fn link_host() -> Option<String> {
    system::link_host()
}
