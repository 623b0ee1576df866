//! Stored runs as resources: their reports, and the numbered diffs.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Lines of the diff before and after the place of an issue.
const EXCERPT_LINES: usize = 12;
/// Maximum bytes of a diff. Longer ones are for the command line.
const DIFF_MAX: u64 = 8 << 20;
/// Where a run keeps its numbered diff.
const NUMBERED_DIFF: &str = "workspace/preview-diffs/latest/diff/numbered.diff";

/// A line of `crh show --list --format json`.
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
        let is_name = !run.is_empty() && run.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
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

/// The numbered diff of a run that crh has accepted as its own.
pub(crate) fn numbered_diff(run_folder: &Path) -> Option<String> {
    let folder = fs::canonicalize(run_folder).ok()?;
    let file: PathBuf = fs::canonicalize(folder.join(NUMBERED_DIFF)).ok()?;
    let is_readable = file.starts_with(&folder) && fs::metadata(&file).ok()?.len() <= DIFF_MAX;
    is_readable
        .then(|| fs::read(&file).ok())
        .flatten()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The lines of a numbered diff around quoted code of a file.
pub(crate) fn excerpt(diff: &str, file: &str, snippet: &str) -> Option<String> {
    let quoted = snippet.lines().map(str::trim).find(|line| !line.is_empty())?;
    let lines: Vec<&str> = diff.lines().collect();
    let header = format!(" b/{file}");
    let is_header = |line: &str| line.contains("  diff --git ");
    let start = lines.iter().position(|line| is_header(line) && line.ends_with(&header))?;
    let length = lines[start + 1..].iter().position(|line| is_header(line));
    let end = length.map_or(lines.len(), |length| start + 1 + length);
    let place = start + lines[start..end].iter().position(|line| line.contains(quoted))?;
    let first = place.saturating_sub(EXCERPT_LINES).max(start);
    let last = (place + EXCERPT_LINES + 1).min(end);
    Some(lines[first..last].join("\n"))
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
        assert_eq!(excerpt(diff, "b", "\n  x = 1\n").as_deref(), Some(expected));
        assert_eq!(excerpt(diff, "c", "x = 1"), None);
    }
}
