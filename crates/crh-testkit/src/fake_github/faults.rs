//! Scripted faults: which request, how often, what fails.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a held request waits for its release: several times what a slow machine needs.
const HOLD_TIMEOUT: Duration = Duration::from_secs(120);

/// A scripted fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Affected requests.
    pub trigger: FaultTrigger,
    /// How often the fault still occurs.
    pub times: usize,
    /// What fails.
    pub kind: FaultKind,
}

/// Which requests a fault affects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultTrigger {
    /// All requests.
    Any,
    /// By method and path, such as `/api/v3/repos/*/reviews`. `*` matches anything.
    Request(String, String),
    /// By write number, starting at 1.
    Write(usize),
}

/// What fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// Not applied, with this status.
    StatusBefore(u16),
    /// Applied, with this status.
    StatusAfter(u16),
    /// Not applied, with a reply of 64 MiB and a byte.
    TooLarge,
    /// Not applied; GraphQL reports a timeout.
    Timeout,
    /// Not applied; the connection is cut.
    CutBefore,
    /// Applied; the connection is cut.
    CutAfter,
    /// Refuses reviews with a comment on this line, although the line is visible. Other requests
    /// are not affected and do not count as occurrences.
    BadLine {
        /// File.
        path: String,
        /// Last line of the comment.
        line: u32,
    },
    /// Secondary rate limit.
    SecondaryLimit {
        /// `Retry-After` in seconds, if any.
        retry_after: Option<u64>,
    },
    /// Primary rate limit: all requests of this hour are used up.
    PrimaryLimit {
        /// Seconds until the reset.
        resets_in: u64,
    },
    /// "Not modified" for any request, even if the reply would differ.
    NotModified,
    /// A new `ETag` although nothing changed.
    NewEtag,
}

impl Fault {
    /// A fault for one write, by number.
    pub fn on_write(number: usize, kind: FaultKind) -> Self {
        Self { trigger: FaultTrigger::Write(number), times: 1, kind }
    }

    /// A fault for one request, by method and path pattern.
    pub fn on(method: &str, path: &str, kind: FaultKind) -> Self {
        Self { trigger: FaultTrigger::Request(method.to_owned(), path.to_owned()), times: 1, kind }
    }

    /// Always refuses reviews with a comment on this line.
    pub fn bad_line(path: &str, line: u32) -> Self {
        let kind = FaultKind::BadLine { path: path.to_owned(), line };
        Self { trigger: FaultTrigger::Any, times: usize::MAX, kind }
    }

    /// Sets how often the fault occurs.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// Whether the fault affects a request.
    pub(crate) fn applies_to(&self, method: &str, path: &str, write: Option<usize>) -> bool {
        self.times > 0
            && match &self.trigger {
                FaultTrigger::Any => true,
                FaultTrigger::Request(wanted, pattern) => {
                    wanted == method && matches(pattern, path)
                }
                FaultTrigger::Write(number) => write == Some(*number),
            }
    }
}

/// When a write is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldPoint {
    /// The write is received and will not be applied.
    Before,
    /// The write is applied and not yet answered.
    After,
}

/// A write that is held until the test releases it, for example to kill the program that sent it.
#[derive(Debug)]
pub struct WriteHold {
    pub(crate) held: Arc<HeldWrite>,
}

#[derive(Debug)]
pub(crate) struct HeldWrite {
    pub(crate) write: usize,
    pub(crate) moment: HoldPoint,
    progress: Mutex<Progress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    reached: bool,
    released: bool,
}

impl WriteHold {
    pub(crate) fn new(write: usize, moment: HoldPoint) -> Self {
        let progress = Mutex::default();
        Self { held: Arc::new(HeldWrite { write, moment, progress, changed: Condvar::new() }) }
    }

    /// Waits until the write is held. Returns false after `time`.
    pub fn wait(&self, time: Duration) -> bool {
        self.held.until(time, |progress| progress.reached)
    }

    /// Whether the write is or was held.
    pub fn reached(&self) -> bool {
        self.held.progress().reached
    }

    /// Releases the write. A write that is held before applying is cut off; one that is held after
    /// applying is answered.
    pub fn release(&self) {
        self.held.release();
    }
}

impl Drop for WriteHold {
    fn drop(&mut self) {
        self.release();
    }
}

impl HeldWrite {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn until(&self, time: Duration, reached: impl Fn(&Progress) -> bool) -> bool {
        let waited = self.changed.wait_timeout_while(self.progress(), time, |now| !reached(now));
        reached(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Called when the write reaches its hold point. Returns when the test releases the write, or
    /// after `HOLD_TIMEOUT`.
    pub(crate) fn reach(&self) {
        self.progress().reached = true;
        self.changed.notify_all();
        self.until(HOLD_TIMEOUT, |progress| progress.released);
    }

    pub(crate) fn release(&self) {
        self.progress().released = true;
        self.changed.notify_all();
    }
}

/// Whether a text matches a pattern in which `*` matches anything.
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
    fn star_matches_anything() {
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
