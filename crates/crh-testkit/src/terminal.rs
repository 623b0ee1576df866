//! A program at a pseudo-terminal: tests read the screen and type keys.

use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::program::Program;

/// Longest wait for the screen on a slow machine. Passing tests do not wait this long.
const SCREEN_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a screen must stay the same to count as complete. A terminal may deliver a drawing in
/// pieces.
const STABLE_TIME: Duration = Duration::from_millis(100);
/// Height of the screen that keeps the full output: more lines than any test prints.
const FULL_OUTPUT_LINES: u16 = 2_000;

/// A program at a terminal. Dropping it kills the program.
pub struct Terminal {
    child: Child,
    master: OwnedFd,
    screen: Arc<SharedScreen>,
    reader: Option<JoinHandle<()>>,
}

/// Result of a program at a terminal.
pub struct TerminalOutput {
    /// Exit code; -1 if a signal ended the program.
    pub code: i32,
    /// All output that was not overwritten.
    pub full_output: String,
    /// All raw bytes sent to the terminal.
    pub raw_output: String,
    /// Whether the terminal is back in line mode, with echo and a visible cursor.
    pub is_restored: bool,
}

/// The screen, shared with the reader thread, which signals every change.
struct SharedScreen {
    state: Mutex<ScreenState>,
    change_signal: Condvar,
}

struct ScreenState {
    screen: vt100::Parser,
    /// The same output on a screen so tall that nothing scrolls away.
    full_output: vt100::Parser,
    raw_output: Vec<u8>,
    has_ended: bool,
}

impl Program {
    /// Starts the program at a terminal of this size.
    pub fn at_terminal(self, columns: u16, rows: u16) -> Terminal {
        Terminal::start(self, columns, rows, None)
    }

    /// Like [`Self::at_terminal`], with standard output in a file.
    pub fn at_terminal_writing(self, columns: u16, rows: u16, stdout: std::fs::File) -> Terminal {
        Terminal::start(self, columns, rows, Some(stdout))
    }
}

impl Terminal {
    fn start(program: Program, columns: u16, rows: u16, stdout: Option<std::fs::File>) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        tcsetwinsize(&master, size(columns, rows)).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let slave = rustix::fs::open(
            &name,
            rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )
        .unwrap();
        let copy = || Stdio::from(slave.try_clone().unwrap());
        let mut command = program.into_command();
        command.stdin(copy()).stderr(copy());
        command.stdout(stdout.map_or_else(copy, Stdio::from));
        let child = command.spawn().unwrap();
        // Only the program keeps the other end open, so the reader notices when the program exits.
        drop((command, slave));
        let screen = Arc::new(SharedScreen {
            state: Mutex::new(ScreenState {
                screen: vt100::Parser::new(number(rows), number(columns), 0),
                full_output: vt100::Parser::new(number(FULL_OUTPUT_LINES), number(columns), 0),
                raw_output: Vec::new(),
                has_ended: false,
            }),
            change_signal: Condvar::new(),
        });
        let output = std::fs::File::from(master.try_clone().unwrap());
        let shared_screen = screen.clone();
        let reader = std::thread::spawn(move || read(output, &shared_screen));
        Self { child, master, screen, reader: Some(reader) }
    }

    /// Waits until the screen shows a text.
    ///
    /// # Panics
    ///
    /// After a minute, or if the program ends first.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits for a condition; `description` names it in error messages.
    pub fn wait_until(&self, description: &str, condition: impl Fn(&str) -> bool) {
        self.wait(description, STABLE_TIME, condition);
    }

    /// Like [`Self::wait_until`], for conditions that only a completely drawn screen meets.
    /// Therefore it does not wait until the screen stops changing.
    ///
    /// # Panics
    ///
    /// After a minute, or if the program ends first.
    pub fn wait_until_drawn(&self, description: &str, condition: impl Fn(&str) -> bool) {
        self.wait(description, Duration::ZERO, condition);
    }

    fn wait(&self, description: &str, stable_time: Duration, condition: impl Fn(&str) -> bool) {
        let start = Instant::now();
        let mut state = self.lock_state();
        loop {
            let screen = contents(&state.screen);
            let is_met = condition(&screen);
            if is_met && (state.has_ended || stable_time.is_zero()) {
                return;
            }
            assert!(!state.has_ended, "the program has ended without {description:?}:\n{screen}");
            let remaining = SCREEN_TIMEOUT.checked_sub(start.elapsed());
            let remaining = remaining
                .unwrap_or_else(|| panic!("the screen never had {description:?}:\n{screen}"));
            let wait = if is_met { stable_time.min(remaining) } else { remaining };
            let result = self.screen.change_signal.wait_timeout(state, wait);
            let (next_state, time) = result.unwrap_or_else(PoisonError::into_inner);
            if is_met && time.timed_out() {
                return;
            }
            state = next_state;
        }
    }

    /// What the screen shows.
    pub fn screen(&self) -> String {
        contents(&self.lock_state().screen)
    }

    /// Types keys.
    pub fn types(&self, keys: &str) {
        let mut keyboard = std::fs::File::from(self.master.try_clone().unwrap());
        keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Resizes the window.
    pub fn resize(&self, columns: u16, rows: u16) {
        let mut state = self.lock_state();
        state.screen.screen_mut().set_size(number(rows), number(columns));
        state.full_output.screen_mut().set_size(number(FULL_OUTPUT_LINES), number(columns));
        tcsetwinsize(&self.master, size(columns, rows)).unwrap();
    }

    /// Whether the terminal is in raw mode. Keys that are typed earlier may be lost when raw mode
    /// starts.
    pub fn is_raw_mode(&self) -> bool {
        !tcgetattr(&self.master).unwrap().local_modes.contains(LocalModes::ICANON)
    }

    /// Whether the terminal is in line mode, with echo and a visible cursor.
    pub fn is_restored(&self) -> bool {
        let modes = tcgetattr(&self.master).unwrap().local_modes;
        let has_cursor = !self.lock_state().screen.screen().hide_cursor();
        has_cursor && modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        // The process was not waited for, so its id is still valid.
        kill_process(pid, signal).unwrap();
    }

    /// Waits until the program exits.
    pub fn end(mut self) -> TerminalOutput {
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        self.reader.take().unwrap().join().unwrap();
        let full_output = contents(&self.lock_state().full_output);
        let raw_output = String::from_utf8_lossy(&self.lock_state().raw_output).into_owned();
        TerminalOutput { code, full_output, raw_output, is_restored: self.is_restored() }
    }

    fn lock_state(&self) -> MutexGuard<'_, ScreenState> {
        self.screen.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The program may have exited already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn number(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

fn read(mut output: std::fs::File, shared_screen: &SharedScreen) {
    let mut bytes = [0; 4_096];
    loop {
        // Reading fails when the other end is closed.
        let count = output.read(&mut bytes).unwrap_or(0);
        let mut state = shared_screen.state.lock().unwrap_or_else(PoisonError::into_inner);
        match count {
            0 => state.has_ended = true,
            count => {
                state.screen.process(&bytes[..count]);
                state.full_output.process(&bytes[..count]);
                state.raw_output.extend_from_slice(&bytes[..count]);
            }
        }
        shared_screen.change_signal.notify_all();
        if count == 0 {
            return;
        }
    }
}

/// The visible lines, without trailing blanks and empty lines at the end.
fn contents(parser: &vt100::Parser) -> String {
    let screen = parser.screen();
    let (_, columns) = screen.size();
    let lines: Vec<String> =
        screen.rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect();
    format!("{}\n", lines.join("\n").trim_end())
}
