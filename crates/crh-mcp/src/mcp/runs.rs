//! Stored runs as resources: their reports, and the numbered diffs.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::report::IssueView;
use crate::{MASKS, contains_quote};
use crh_os::names::canonical;

/// Lines of the diff before and after the place of an issue.
const EXCERPT_LINES: usize = 12;
/// Maximum bytes of a diff. Clients do not get longer ones.
const DIFF_MAX: u64 = 8 << 20;
/// Where a run keeps its numbered diff with masked credentials.
const NUMBERED_DIFF: &str = "stages/masked.diff";

/// An entry of `crh show --list --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct StoredRun {
    #[serde(rename = "run_id")]
    pub(crate) name: String,
    pub(crate) started_at: Option<String>,
    #[serde(default)]
    pub(crate) title: Option<String>,
    /// Whether crh did not write it on this machine.
    #[serde(default)]
    pub(crate) is_foreign: bool,
}

/// A resource of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunResource {
    Report(String),
    NumberedDiff(String),
}

impl RunResource {
    /// The resource of a URI, such as `crh://runs/NAME/report`.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let (run, part) = uri.strip_prefix("crh://runs/")?.split_once('/')?;
        let is_name = !run.is_empty() && is_run_name(run);
        match part {
            _ if !is_name => None,
            "report" => Some(Self::Report(run.to_owned())),
            "diff" => Some(Self::NumberedDiff(run.to_owned())),
            _ => None,
        }
    }

    pub(crate) fn uri(&self) -> String {
        match self {
            Self::Report(run) => format!("crh://runs/{run}/report"),
            Self::NumberedDiff(run) => format!("crh://runs/{run}/diff"),
        }
    }
}

/// Whether a text has no other characters than names of runs, such as
/// `20260101T020000Z_0123456789abcdef-2`. True for an empty text.
pub(crate) fn is_run_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// The numbered diff of a run. The caller checks that crh wrote the run. `None` if the diff is
/// missing or too large.
pub fn numbered_diff(run_folder: &Path) -> Option<String> {
    let folder = canonical(run_folder).ok()?;
    let file: PathBuf = canonical(folder.join(NUMBERED_DIFF)).ok()?;
    let is_readable = file.starts_with(&folder) && fs::metadata(&file).ok()?.len() <= DIFF_MAX;
    is_readable
        .then(|| fs::read(&file).ok())
        .flatten()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The issue with all evidence, and the diff around it.
pub fn explain(issue: &IssueView, run_folder: &Path) -> String {
    let quote = issue.evidence.first();
    let shown = numbered_diff(run_folder)
        .zip(quote)
        .and_then(|(diff, quote)| excerpt(&diff, &issue.file, &quote.snippet, quote.line));
    issue.explanation(shown.as_deref())
}

/// The lines of a numbered diff around quoted code of a file. If the code is there several times,
/// the place nearest to the line of the file is shown.
fn excerpt(diff: &str, file: &str, snippet: &str, line: u64) -> Option<String> {
    let quoted = snippet.lines().map(str::trim).find(|line| !line.is_empty())?;
    let lines: Vec<&str> = diff.lines().collect();
    let header = format!(" b/{file}");
    let is_header = |line: &str| line.contains("  diff --git ");
    let start = lines.iter().position(|line| is_header(line) && line.ends_with(&header))?;
    let length = lines[start + 1..].iter().position(|line| is_header(line));
    let end = length.map_or(lines.len(), |length| start + 1 + length);
    let is_quoted = |index: &usize| contains_quote(lines[*index], quoted);
    let file_lines = file_lines(&lines[start..end]);
    let quoted_line =
        (start..end).filter(is_quoted).min_by_key(|index| file_lines[index - start].abs_diff(line));
    // The diff may mask more of a credential than the quote, so that only the line number matches.
    let is_masked = MASKS.iter().any(|mask| quoted.contains(mask));
    let same_line = || (start..end).find(|index| is_masked && file_lines[index - start] == line);
    let place = quoted_line.or_else(same_line)?;
    let first = place.saturating_sub(EXCERPT_LINES).max(start);
    let last = (place + EXCERPT_LINES + 1).min(end);
    Some(lines[first..last].join("\n"))
}

/// Line of the new file at each line of a numbered diff of one file.
fn file_lines(diff: &[&str]) -> Vec<u64> {
    let mut next = 0;
    let lines = diff.iter().map(|line| {
        let raw = line.split_once("  ").map_or("", |(_, raw)| raw);
        if let Some(hunk) = raw.strip_prefix("@@ ") {
            let new = hunk.split('+').nth(1).unwrap_or_default();
            next = new.split([',', ' ']).next().and_then(|first| first.parse().ok()).unwrap_or(0);
            return next;
        }
        let current = next;
        next += u64::from(raw.starts_with(['+', ' ']));
        current
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_have_uris() {
        let diff = RunResource::NumberedDiff("2026_a".to_owned());
        assert_eq!(RunResource::parse(&diff.uri()), Some(diff));
        for uri in ["crh://runs/../report", "crh://runs//report", "crh://runs/a/x", "file:///a"] {
            assert_eq!(RunResource::parse(uri), None, "{uri}");
        }
    }

    #[test]
    fn excerpt_shows_the_quoted_lines_of_the_file() {
        let diff = "1  diff --git a/a b/a\n2  +x = 1\n3  diff --git a/b b/b\n4  +x = 1\n5  +y";
        let expected = "3  diff --git a/b b/b\n4  +x = 1\n5  +y";
        assert_eq!(excerpt(diff, "b", "\n  x = 1\n", 1).as_deref(), Some(expected));
        assert_eq!(excerpt(diff, "c", "x = 1", 1), None);
    }

    #[test]
    fn excerpt_shows_the_line_of_a_credential_that_the_diff_masks() {
        let diff = "1  diff --git a/a b/a\n2  @@ -0,0 +1,2 @@\n3  +x = 1\n4  +KEY = \"[redacted]\"";
        let shown = excerpt(diff, "a", "KEY = \"AKIA****\"", 2);
        assert_eq!(shown.as_deref(), Some(diff));
        assert_eq!(excerpt(diff, "a", "y = 2", 2), None);
    }

    #[test]
    fn excerpt_shows_the_place_of_the_issue_and_masked_code() {
        let hunk = |number: u32, line: u32| {
            format!("{number}  @@ -1 +{line},1 @@\n{}  +key = 's'\n", number + 1)
        };
        let gap = "0   x\n".repeat(3 * EXCERPT_LINES);
        let diff = format!("1  diff --git a/a b/a\n{}{gap}{}", hunk(2, 3), hunk(90, 46));
        let shown = excerpt(&diff, "a", "key = '[redacted]'", 46).unwrap();
        assert!(shown.contains("91  +key") && !shown.contains("3  +key"), "{shown}");
    }
}
