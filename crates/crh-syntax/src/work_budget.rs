//! Work budget of a text, counted in parser steps and never in time, so that results are
//! deterministic.
//!
//! The parser calls back every hundred steps. Steps alone are not a bound: one step can scan to the
//! end of the text, and one error can redo everything that is open. Therefore reads are counted
//! where text is handed out, and errors in the parser's log. The log triples the parse time (half a
//! microsecond per byte) but makes hostile text harmless.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Limit in hundreds of steps. Code takes up to 0.04 per byte.
const STEPS_BASE: u64 = 1_000;
const BYTES_PER_STEP: u64 = 8;

/// Limit on pieces of text read. Code takes up to 0.006 per byte if a scanner looks far ahead.
const READS_BASE: u64 = 2_000;
const BYTES_PER_READ: u64 = 64;

/// Limit on errors. Code that the grammar does not fully support has up to 4 per kilobyte, a C++
/// header parsed as C up to 36, and text in no language hundreds.
const ERRORS_BASE: u64 = 500;
const ERRORS_PER_KILOBYTE: u64 = 40;

/// Limit on errors weighted by the kilobytes before them. An error costs at most a millisecond per
/// kilobyte, so hostile text is stopped within a minute.
pub(crate) const ERROR_WEIGHT_MAX: u64 = 50_000;

const KILOBYTE: u64 = 1024;

/// Remaining work budget of one text. Atomics are required because the parser's log callback must
/// be `Send`.
pub(crate) struct WorkBudget {
    steps: AtomicU64,
    reads: AtomicU64,
    errors: AtomicU64,
    error_weight: AtomicU64,
    error_weight_max: u64,
    /// Farthest offset that was read.
    reached: AtomicU64,
    is_spent: AtomicBool,
}

impl WorkBudget {
    /// Budget for a text of this size and an error limit.
    pub(crate) fn for_text(bytes: usize, error_weight_max: u64) -> Self {
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

    /// Counts a hundred steps.
    pub(crate) fn count_steps(&self) -> ControlFlow<()> {
        self.pay(&self.steps);
        if self.is_spent() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Counts a read. It is always served, because a scanner that meets a sudden end may loop
    /// forever; the next step stops the parser.
    pub(crate) fn count_read(&self, offset: usize) {
        self.reached.fetch_max(offset as u64, Relaxed);
        self.pay(&self.reads);
    }

    /// Counts log lines that start an error recovery.
    pub(crate) fn count_log_line(&self, message: &str) {
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

    /// Weighted errors so far.
    pub(crate) fn error_weight(&self) -> u64 {
        self.error_weight.load(Relaxed)
    }

    /// Whether the budget is exceeded.
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
