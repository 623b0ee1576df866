//! Shared by benchmarks: one line per ratio, and the memory of a process.

use std::fs;
use std::path::Path;

/// Prints a ratio and whether it is within its limit.
#[expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
pub fn is_within(label: &str, ratio: f64, limit: f64, detail: &str) -> bool {
    let word = if ratio <= limit { "ok" } else { "OVER" };
    println!("{word:4} {ratio:6.3} (limit {limit:.2})  {label}: {detail}");
    ratio <= limit
}

/// Peak memory of a process in kilobytes, from `/proc/ID/status`; 0 if unknown.
pub fn high_water(status: &Path) -> u64 {
    let status = fs::read_to_string(status).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
