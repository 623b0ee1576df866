//! What goes wrong on script: which request, how often, and how.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a test and a request wait for each other: several times what a slow machine takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Something that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// With which requests.
    pub on: On,
    /// How often it does before it stops.
    pub times: usize,
    /// What goes wrong.
    pub how: How,
}

/// Requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    /// All of them.
    Any,
    /// Those with a method and a path such as `/api/v3/repos/*/reviews`, where `*` stands for anything.
    Request(String, String),
    /// The write with this number; the first one that the fake ever got is 1.
    Write(usize),
}

/// What goes wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// It is not applied, and answered with a status.
    StatusBefore(u16),
    /// It is applied, and answered with a status.
    StatusAfter(u16),
    /// It is not applied, and answered with 64 MB and a byte of nothing.
    TooLarge,
    /// It is not applied, and GraphQL says that it took too long.
    Timeout,
    /// It is not applied, and the connection ends without an answer.
    CutBefore,
    /// It is applied, and the connection ends without an answer.
    CutAfter,
    /// A review with a comment on this line is refused, although the line can be spoken about. Other requests pass, and
    /// do not count.
    BadLine {
        /// The file.
        path: String,
        /// The last line of the comment.
        line: u32,
    },
    /// Too much at once: wait so many seconds.
    SecondaryLimit {
        /// The seconds; none if GitHub does not say.
        retry_after: Option<u64>,
    },
    /// All requests of this hour are used up.
    PrimaryLimit {
        /// In how many seconds there are new ones.
        resets_in: u64,
    },
    /// «Not modified», whatever was asked and whether it is true or not.
    NotModified,
    /// An `ETag` that no answer had before, although nothing changed.
    NewEtag,
}

impl Fault {
    /// A fault that happens once, with the write of a number.
    pub fn on_write(number: usize, how: How) -> Self {
        Self { on: On::Write(number), times: 1, how }
    }

    /// A fault that happens once, with a method and a path in which `*` stands for anything.
    pub fn on(method: &str, path: &str, how: How) -> Self {
        Self { on: On::Request(method.to_owned(), path.to_owned()), times: 1, how }
    }

    /// A review with a comment on this line is refused, always.
    pub fn bad_line(path: &str, line: u32) -> Self {
        let how = How::BadLine { path: path.to_owned(), line };
        Self { on: On::Any, times: usize::MAX, how }
    }

    /// The same, but so often.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// Whether it is about a request.
    pub(super) fn fits(&self, method: &str, path: &str, write: Option<usize>) -> bool {
        self.times > 0
            && match &self.on {
                On::Any => true,
                On::Request(wanted, pattern) => wanted == method && matches(pattern, path),
                On::Write(number) => write == Some(*number),
            }
    }
}

/// When a write is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It has come, and will not be applied.
    Before,
    /// It is applied, and not yet answered.
    After,
}

/// A write that is held until the test lets it go: time enough to end the program that sent it.
#[derive(Debug)]
pub struct Hold {
    pub(crate) held: Arc<Held>,
}

#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) write: usize,
    pub(crate) moment: Moment,
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    reached: bool,
    released: bool,
}

impl Hold {
    pub(crate) fn new(write: usize, moment: Moment) -> Self {
        let progress = Mutex::default();
        Self { held: Arc::new(Held { write, moment, progress, changed: Condvar::new() }) }
    }

    /// Waits until the write is held; whether it is. It is not if the program makes fewer writes and `time` is over.
    pub fn wait(&self, time: Duration) -> bool {
        self.held.until(time, |progress| progress.reached)
    }

    /// Whether the write is held, or was.
    pub fn reached(&self) -> bool {
        self.held.progress().reached
    }

    /// Lets the write go: one held before it was applied is cut off, one held after is answered.
    pub fn release(&self) {
        self.held.release();
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
    }
}

impl Held {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn until(&self, time: Duration, reached: impl Fn(&Progress) -> bool) -> bool {
        let waited = self.changed.wait_timeout_while(self.progress(), time, |now| !reached(now));
        reached(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// The write is there; returns when it is let go.
    pub(crate) fn reach(&self) {
        self.progress().reached = true;
        self.changed.notify_all();
        self.until(PATIENCE, |progress| progress.released);
    }

    pub(crate) fn release(&self) {
        self.progress().released = true;
        self.changed.notify_all();
    }
}

/// Whether a text is as a pattern says, in which `*` stands for anything.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(place) = rest.find(piece) else { return false };
        rest = &rest[place + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, expected) in [
            ("/a/b", "/a/b", true),
            ("/a", "/a/b", false),
            ("*", "/a/b", true),
            ("/a/*", "/a/b/c", true),
            ("*/c", "/a/b/c", true),
            ("/a/*/c", "/a/b/c", true),
            ("/a/*/c", "/a/c", false),
            ("*b*", "/a/b/c", true),
            ("*d*", "/a/b/c", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
