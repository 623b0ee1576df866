//! ruff on a single Python file via standard input, for evaluations: findings, and which
//! of them are new.
//!
//! ruff gets only the file's text. Neither the repository nor its settings influence the result.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::analysers::output::stderr_summary;
use crate::installation::is_executable;
use crate::process;
use crate::process::{NEVER_STOPPED, ProcessCommand, ProcessError, ProcessLimits, ProcessOutput};
use crate::whitespace::fold_whitespace;

/// Rule groups about defects in a broad sense, without style: syntax errors, pyflakes, bugbear,
/// pylint errors and warnings, security, async code, blind `except`, time zones, performance, and
/// ruff's own.
const RULES: &str = "E9,F,B,PLE,PLW,S,ASYNC,BLE,DTZ,PERF,RUF";
/// Rule name for a syntax error. Older ruff versions report syntax errors without a name.
const SYNTAX_RULE: &str = "invalid-syntax";
/// Output limit per file: about 20,000 findings.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;

/// The installed ruff with its limits.
#[derive(Debug, Clone)]
pub struct Ruff {
    program: PathBuf,
    path: OsString,
    limits: ProcessLimits,
}

/// A ruff finding. Does not quote the line, which may contain secrets or be very long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuffFinding {
    /// The rule, such as `F821`.
    pub rule: String,
    /// The line, 1-based and within the file.
    pub line: u32,
    /// The message.
    pub message: String,
}

/// Why ruff produced no findings.
#[derive(Debug, thiserror::Error)]
pub enum RuffError {
    /// The file is not UTF-8.
    #[error("the file is not UTF-8")]
    NotUtf8,
    /// The program is missing or not for this machine.
    #[error("`ruff` could not be started")]
    NotRun(#[source] io::Error),
    /// Timeout, in seconds.
    #[error("`ruff` did not finish within {0} seconds")]
    TooSlow(u64),
    /// Output limit exceeded, in bytes.
    #[error("`ruff` printed more than {0} bytes")]
    TooMuch(u64),
    /// ruff reported an error.
    #[error("`ruff` failed: {0}")]
    Failed(String),
    /// The output is not the expected JSON.
    #[error("the output of `ruff` is not understood")]
    NotUnderstood(#[source] serde_json::Error),
}

#[derive(Deserialize)]
struct RuffStdinFinding {
    code: Option<String>,
    message: String,
    location: RuffStdinLocation,
}

#[derive(Deserialize)]
struct RuffStdinLocation {
    row: u32,
}

impl Ruff {
    /// Finds the first `ruff` in the folders of a `PATH`. `time` is the limit per file. Relative
    /// folders are skipped, because they may be inside the change.
    pub fn find(path: &OsStr, time: Duration) -> Option<Self> {
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        let program = folders.map(|folder| folder.join("ruff")).find(|file| is_executable(file))?;
        let limits = ProcessLimits { time, output: OUTPUT_BYTES_MAX, is_stopped: NEVER_STOPPED };
        Some(Self { program, path: path.to_owned(), limits })
    }

    /// Returns the findings of a file that its old text does not have. The same rule on a line with
    /// the same text (ignoring white space) is not new.
    pub fn introduced(
        &self,
        path: &str,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> Result<Vec<RuffFinding>, RuffError> {
        let findings = self.findings(path, new)?;
        match old {
            Some(old) if !findings.is_empty() => {
                let old_findings = self.findings(path, old)?;
                Ok(new_findings((old, &old_findings), (new, findings)))
            }
            Some(_) | None => Ok(findings),
        }
    }

    /// Returns all findings of a text, by line.
    pub fn findings(&self, path: &str, text: &[u8]) -> Result<Vec<RuffFinding>, RuffError> {
        let text = std::str::from_utf8(text).map_err(|_| RuffError::NotUtf8)?;
        // The folder does not matter: ruff runs with `--isolated`.
        let name = path.rsplit('/').next().unwrap_or(path);
        let filename_arg = format!("--stdin-filename={name}");
        let rules_arg = format!("--select={RULES}");
        let args = [
            "check",
            "--isolated",
            "--no-cache",
            "--exit-zero",
            "--output-format=json",
            &rules_arg,
            &filename_arg,
            "-",
        ];
        let input = text.as_bytes().to_vec();
        let command =
            ProcessCommand { program: &self.program, args: &args, path: &self.path, input };
        let ProcessOutput { status, stdout, stderr } =
            process::run(command, self.limits).map_err(|error| self.to_ruff_error(error))?;
        if !status.success() {
            return Err(RuffError::Failed(stderr_summary(&stderr)));
        }
        parse_output(&stdout, text).map_err(RuffError::NotUnderstood)
    }

    fn to_ruff_error(&self, error: ProcessError) -> RuffError {
        match error {
            ProcessError::Io(error) => RuffError::NotRun(error),
            // This run cannot be cancelled.
            ProcessError::Timeout | ProcessError::Stopped => {
                RuffError::TooSlow(self.limits.time.as_secs())
            }
            ProcessError::TooMuchOutput => RuffError::TooMuch(self.limits.output),
        }
    }
}

fn parse_output(stdout: &[u8], text: &str) -> Result<Vec<RuffFinding>, serde_json::Error> {
    let json_findings: Vec<RuffStdinFinding> = serde_json::from_slice(stdout)?;
    let last_line = u32::try_from(text.lines().count()).unwrap_or(u32::MAX).max(1);
    let mut findings: Vec<RuffFinding> = json_findings
        .into_iter()
        .map(|RuffStdinFinding { code, message, location }| {
            // ruff reports the end of a file one line after the last.
            let line = location.row.clamp(1, last_line);
            RuffFinding { rule: code.unwrap_or_else(|| SYNTAX_RULE.to_owned()), line, message }
        })
        .collect();
    findings.sort_by(|one, two| (one.line, &one.rule).cmp(&(two.line, &two.rule)));
    Ok(findings)
}

/// The findings that the old text does not have.
fn new_findings(
    (old, old_findings): (&[u8], &[RuffFinding]),
    (new, mut findings): (&[u8], Vec<RuffFinding>),
) -> Vec<RuffFinding> {
    let mut numbers = BTreeMap::new();
    let [old, new] = [(old, old_findings), (new, &findings)]
        .map(|(text, findings)| number_lines(text, findings, &mut numbers));
    let old_keys: BTreeSet<_> =
        old_findings.iter().map(|it| (it.rule.as_str(), old.get(&it.line))).collect();
    findings.retain(|it| !old_keys.contains(&(it.rule.as_str(), new.get(&it.line))));
    findings
}

/// Numbers the lines with findings; equal lines (ignoring white space) get the same number. So each
/// line is normalized only once.
fn number_lines(
    text: &[u8],
    findings: &[RuffFinding],
    numbers: &mut BTreeMap<String, usize>,
) -> BTreeMap<u32, usize> {
    let lines_with_findings: BTreeSet<u32> = findings.iter().map(|finding| finding.line).collect();
    let text = String::from_utf8_lossy(text);
    let lines = (1..).zip(text.lines()).filter(|(line, _)| lines_with_findings.contains(line));
    let numbered_lines = lines.map(|(line, text)| {
        let next = numbers.len();
        (line, *numbers.entry(fold_whitespace(text)).or_insert(next))
    });
    numbered_lines.collect()
}

#[cfg(test)]
mod tests;
