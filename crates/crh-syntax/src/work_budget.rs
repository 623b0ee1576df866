//! Work budget of a text, counted in parser steps and never in time, so the result does not depend
//! on the machine.
//!
//! The parser calls back every hundred steps. Steps alone are not a bound: one step can scan to the
//! end of the text, and one error can make the parser redo every open construct. Therefore crh also
//! counts reads where it hands out text, and errors in the parser's log. The log triples the parse
//! time (half a microsecond per byte) but makes hostile text harmless.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Limit on hundreds of parser steps: a base, and one per 8 bytes of text. Real code takes up to
/// 0.04 per byte.
const STEPS_BASE: u64 = 1_000;
const BYTES_PER_STEP: u64 = 8;

/// Limit on reads: a base, and one per 64 bytes of text. Real code takes up to 0.006 per byte if a
/// scanner looks far ahead.
const READS_BASE: u64 = 2_000;
const BYTES_PER_READ: u64 = 64;

/// Limit on errors: a base, and an amount per kilobyte. Code that the grammar does not fully
/// support has up to 4 per kilobyte, a C++ header parsed as C up to 36, and text in no language
/// hundreds.
const ERRORS_BASE: u64 = 500;
const ERRORS_PER_KILOBYTE: u64 = 40;

/// Limit on errors weighted by the kilobytes before them. An error costs at most a millisecond per
/// kilobyte, so hostile text is stopped within a minute.
pub(crate) const ERROR_WEIGHT_MAX: u64 = 50_000;

const KILOBYTE: u64 = 1024;

/// Remaining work budget of one text. Atomics are required because the parser's log callback must
/// be `Send`.
pub(crate) struct WorkBudget {
    steps_left: AtomicU64,
    reads_left: AtomicU64,
    errors: AtomicU64,
    error_weight: AtomicU64,
    error_weight_max: u64,
    /// Farthest offset that was read.
    farthest_offset: AtomicU64,
    is_exceeded: AtomicBool,
}

impl WorkBudget {
    /// Budget for a text of this size, with this limit on weighted errors.
    pub(crate) fn for_text(bytes: usize, error_weight_max: u64) -> Self {
        let bytes = bytes as u64;
        Self {
            steps_left: AtomicU64::new(STEPS_BASE + bytes / BYTES_PER_STEP),
            reads_left: AtomicU64::new(READS_BASE + bytes / BYTES_PER_READ),
            errors: AtomicU64::new(0),
            error_weight: AtomicU64::new(0),
            error_weight_max,
            farthest_offset: AtomicU64::new(0),
            is_exceeded: AtomicBool::new(false),
        }
    }

    /// Counts a hundred steps.
    pub(crate) fn count_steps(&self) -> ControlFlow<()> {
        self.spend_one(&self.steps_left);
        if self.is_exceeded() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Counts a read. The caller serves the read even if the budget is exceeded, because a scanner
    /// that meets a sudden end may loop forever. The next step stops the parser.
    pub(crate) fn count_read(&self, offset: usize) {
        self.farthest_offset.fetch_max(offset as u64, Relaxed);
        self.spend_one(&self.reads_left);
    }

    /// Counts log lines that start an error recovery.
    pub(crate) fn count_log_line(&self, message: &str) {
        if !message.starts_with("resume version") {
            return;
        }
        let kilobytes = self.farthest_offset.load(Relaxed) / KILOBYTE + 1;
        let errors = self.errors.fetch_add(1, Relaxed) + 1;
        let weight = self.error_weight.fetch_add(kilobytes, Relaxed) + kilobytes;
        if errors > ERRORS_BASE + ERRORS_PER_KILOBYTE * kilobytes || weight > self.error_weight_max
        {
            self.is_exceeded.store(true, Relaxed);
        }
    }

    /// Weighted errors so far.
    pub(crate) fn error_weight(&self) -> u64 {
        self.error_weight.load(Relaxed)
    }

    /// Whether the budget is exceeded.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.is_exceeded.load(Relaxed)
    }

    fn spend_one(&self, counter: &AtomicU64) {
        match counter.load(Relaxed).checked_sub(1) {
            Some(remaining) => counter.store(remaining, Relaxed),
            None => self.is_exceeded.store(true, Relaxed),
        }
    }
}
