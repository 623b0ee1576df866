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
const PATIENCE: Duration = Duration::from_secs(60);
/// A screen that did not change for this long is complete: a terminal may deliver a drawing in
/// pieces.
const STILL: Duration = Duration::from_millis(100);
/// More lines than any test prints.
const PAPER: u16 = 2_000;

/// A program at a terminal. Dropping it kills the program.
pub struct Terminal {
    child: Child,
    master: OwnedFd,
    seen: Arc<Seen>,
    reader: Option<JoinHandle<()>>,
}

/// Result of a program at a terminal.
pub struct Ended {
    /// -1 if a signal ended it.
    pub code: i32,
    /// All output that was not overwritten.
    pub paper: String,
    /// All raw bytes sent to the terminal.
    pub sent: String,
    /// Whether the terminal is back in line mode, with echo and a visible cursor.
    pub is_as_usual: bool,
}

/// The screen, with a signal for every change.
struct Seen {
    shown: Mutex<Shown>,
    changed: Condvar,
}

struct Shown {
    screen: vt100::Parser,
    /// The same output on a screen so tall that nothing scrolls away.
    paper: vt100::Parser,
    sent: Vec<u8>,
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
        // Only the program holds the other end, so the reader notices when it ends.
        drop((command, slave));
        let seen = Arc::new(Seen {
            shown: Mutex::new(Shown {
                screen: vt100::Parser::new(number(rows), number(columns), 0),
                paper: vt100::Parser::new(number(PAPER), number(columns), 0),
                sent: Vec::new(),
                has_ended: false,
            }),
            changed: Condvar::new(),
        });
        let output = std::fs::File::from(master.try_clone().unwrap());
        let told = seen.clone();
        let reader = std::thread::spawn(move || read(output, &told));
        Self { child, master, seen, reader: Some(reader) }
    }

    /// Waits until the screen shows a text.
    ///
    /// # Panics
    ///
    /// After a minute, or if the program ends first.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits for a condition; `what` names it.
    ///
    /// # Panics
    ///
    /// After a minute, or if the program ends first.
    pub fn wait_until(&self, what: &str, is_there: impl Fn(&str) -> bool) {
        self.wait(what, STILL, is_there);
    }

    /// Like [`Self::wait_until`], for conditions that only a completely drawn screen fulfils, so it
    /// does not wait for stillness.
    ///
    /// # Panics
    ///
    /// After a minute, or if the program ends first.
    pub fn wait_until_whole(&self, what: &str, is_whole: impl Fn(&str) -> bool) {
        self.wait(what, Duration::ZERO, is_whole);
    }

    fn wait(&self, what: &str, still: Duration, is_there: impl Fn(&str) -> bool) {
        let start = Instant::now();
        let mut shown = self.shown();
        loop {
            let screen = contents(&shown.screen);
            let is_wanted = is_there(&screen);
            if is_wanted && (shown.has_ended || still.is_zero()) {
                return;
            }
            assert!(!shown.has_ended, "the program has ended without {what:?}:\n{screen}");
            let left = PATIENCE.checked_sub(start.elapsed());
            let left = left.unwrap_or_else(|| panic!("the screen never had {what:?}:\n{screen}"));
            let wait = if is_wanted { still.min(left) } else { left };
            let waited = self.seen.changed.wait_timeout(shown, wait);
            let (next, time) = waited.unwrap_or_else(PoisonError::into_inner);
            if is_wanted && time.timed_out() {
                return;
            }
            shown = next;
        }
    }

    /// What the screen shows.
    pub fn screen(&self) -> String {
        contents(&self.shown().screen)
    }

    /// Types keys.
    pub fn types(&self, keys: &str) {
        let mut keyboard = std::fs::File::from(self.master.try_clone().unwrap());
        keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Resizes the window.
    pub fn resize(&self, columns: u16, rows: u16) {
        let mut shown = self.shown();
        shown.screen.screen_mut().set_size(number(rows), number(columns));
        shown.paper.screen_mut().set_size(number(PAPER), number(columns));
        tcsetwinsize(&self.master, size(columns, rows)).unwrap();
    }

    /// Whether the terminal is in raw mode. Keys typed before may be lost when it starts.
    pub fn hands_over_keys(&self) -> bool {
        !tcgetattr(&self.master).unwrap().local_modes.contains(LocalModes::ICANON)
    }

    /// Whether the terminal is in line mode, with echo and a visible cursor.
    pub fn is_as_usual(&self) -> bool {
        let modes = tcgetattr(&self.master).unwrap().local_modes;
        let has_cursor = !self.shown().screen.screen().hide_cursor();
        has_cursor && modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        // The process was not waited for, so its id is still valid.
        kill_process(pid, signal).unwrap();
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ended {
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        self.reader.take().unwrap().join().unwrap();
        let paper = contents(&self.shown().paper);
        let sent = String::from_utf8_lossy(&self.shown().sent).into_owned();
        Ended { code, paper, sent, is_as_usual: self.is_as_usual() }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.seen.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
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

fn read(mut output: std::fs::File, seen: &Seen) {
    let mut bytes = [0; 4_096];
    loop {
        // Reading fails when the other end is closed.
        let count = output.read(&mut bytes).unwrap_or(0);
        let mut shown = seen.shown.lock().unwrap_or_else(PoisonError::into_inner);
        match count {
            0 => shown.has_ended = true,
            count => {
                shown.screen.process(&bytes[..count]);
                shown.paper.process(&bytes[..count]);
                shown.sent.extend_from_slice(&bytes[..count]);
            }
        }
        seen.changed.notify_all();
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
