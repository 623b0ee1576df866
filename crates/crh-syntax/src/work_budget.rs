//! How much work a text may cost, counted in what the parser does and never in time, so that the same text
//! always gives the same answer.
//!
//! The parser asks once every hundred steps whether to go on. Steps alone do not bound it: one step can
//! scan to the end of the text, and one error can undo and redo everything that is still open before it. So
//! what is read is counted where the text is handed out, and errors are counted from the parser's log. The
//! log makes a parse three times as long (half a microsecond a byte), and hostile text harmless.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Hundreds of steps: code takes up to 0.04 of them a byte, with errors or without.
const STEPS_BASE: u64 = 1_000;
const BYTES_PER_STEP: u64 = 8;

/// Pieces of text: one for each piece of it, and up to 0.006 a byte where a scanner looks far ahead.
const READS_BASE: u64 = 2_000;
const BYTES_PER_READ: u64 = 64;

/// Errors: code that its grammar does not quite know has up to 4 in a kilobyte, a C++ header taken for C up
/// to 36. Text in no language has hundreds.
const ERRORS_BASE: u64 = 500;
const ERRORS_PER_KILOBYTE: u64 = 40;

/// Errors, each weighed with the kilobytes before it: an error costs at most about a millisecond for each
/// of those, so text made to hurt is stopped within a minute. Code of 300 kB may have one in each.
pub(crate) const ERROR_WEIGHT_MAX: u64 = 50_000;

const KILOBYTE: u64 = 1024;

/// The work that one text may still cost. It is shared with the parser's log, which has to be able to change
/// threads, though it never does; hence the atomics.
pub(crate) struct Work {
    steps: AtomicU64,
    reads: AtomicU64,
    errors: AtomicU64,
    error_weight: AtomicU64,
    error_weight_max: u64,
    /// How far into the text the parser has asked to read.
    reached: AtomicU64,
    is_spent: AtomicBool,
}

impl Work {
    /// What a text of this size may cost, its errors at most this much.
    pub(crate) fn allowed_for(bytes: usize, error_weight_max: u64) -> Self {
        let bytes = bytes as u64;
        Self {
            steps: AtomicU64::new(STEPS_BASE + bytes / BYTES_PER_STEP),
            reads: AtomicU64::new(READS_BASE + bytes / BYTES_PER_READ),
            errors: AtomicU64::new(0),
            error_weight: AtomicU64::new(0),
            error_weight_max,
            reached: AtomicU64::new(0),
            is_spent: AtomicBool::new(false),
        }
    }

    /// Pays for a hundred steps.
    pub(crate) fn step(&self) -> ControlFlow<()> {
        self.pay(&self.steps);
        if self.is_spent() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Pays for a piece of text. It is handed out in any case, since a scanner that meets a sudden end may
    /// never come back; the next step stops the parser.
    pub(crate) fn read(&self, offset: usize) {
        self.reached.fetch_max(offset as u64, Relaxed);
        self.pay(&self.reads);
    }

    /// Takes note of a line of the parser's log, of which only the start of error recovery matters.
    pub(crate) fn note(&self, message: &str) {
        if !message.starts_with("resume version") {
            return;
        }
        let kilobytes = self.reached.load(Relaxed) / KILOBYTE + 1;
        let errors = self.errors.fetch_add(1, Relaxed) + 1;
        let weight = self.error_weight.fetch_add(kilobytes, Relaxed) + kilobytes;
        if errors > ERRORS_BASE + ERRORS_PER_KILOBYTE * kilobytes || weight > self.error_weight_max
        {
            self.is_spent.store(true, Relaxed);
        }
    }

    /// What its errors have cost.
    pub(crate) fn error_weight(&self) -> u64 {
        self.error_weight.load(Relaxed)
    }

    /// Whether the text cost more than it may.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent.load(Relaxed)
    }

    fn pay(&self, account: &AtomicU64) {
        match account.load(Relaxed).checked_sub(1) {
            Some(left) => account.store(left, Relaxed),
            None => self.is_spent.store(true, Relaxed),
        }
    }
}
