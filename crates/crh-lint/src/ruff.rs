//! The linter `ruff`, where it is installed: what it says about a Python file, and what of that is new.
//!
//! It is given the text of a file and nothing else: neither the repository nor its settings decide what it says.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::analysers::{is_program, words};
use crate::fold::folded;
use crate::process;
use crate::process::{Bounds, Finished, Launch, UNSTOPPED, Unfinished};

/// Rules about defects, taken broadly, and none about style: errors of syntax, pyflakes, bugbear, pylint's errors and
/// warnings, security, asynchronous code, blind `except`, time zones, wasted time, and ruff's own.
const RULES: &str = "E9,F,B,PLE,PLW,S,ASYNC,BLE,DTZ,PERF,RUF";
/// The name of what is no rule: a text that cannot be parsed. Older versions give it no name.
const SYNTAX: &str = "invalid-syntax";
/// How much it may print for one file: twenty thousand findings.
const OUTPUT: u64 = 16 << 20;

/// The program, and how far it may go.
#[derive(Debug, Clone)]
pub struct Ruff {
    program: PathBuf,
    path: OsString,
    bounds: Bounds,
}

/// What it says about a line. Nothing of the line itself: there may be secrets in it, and a long one may have thousands of findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuffFinding {
    /// The rule, such as `F821`.
    pub rule: String,
    /// The line, counted from 1; a line of the file.
    pub line: u32,
    /// What is wrong, in a sentence.
    pub message: String,
}

/// Why it said nothing about a file.
#[derive(Debug, thiserror::Error)]
pub enum RuffError {
    /// It reads UTF-8 alone.
    #[error("the file is not UTF-8")]
    NotUtf8,
    /// There is no such program any more, or it is not for this machine.
    #[error("`ruff` could not be run")]
    NotRun(#[source] io::Error),
    /// It did not end.
    #[error("`ruff` did not end within {0} seconds")]
    TooSlow(u64),
    /// It did not stop printing.
    #[error("`ruff` printed more than {0} bytes")]
    TooMuch(u64),
    /// It said no.
    #[error("`ruff` failed: {0}")]
    Failed(String),
    /// It printed something else than it was asked for.
    #[error("what `ruff` printed is not understood")]
    NotUnderstood(#[source] serde_json::Error),
}

/// A finding as it is printed; of what else is there, nothing is needed.
#[derive(Deserialize)]
struct Printed {
    code: Option<String>,
    message: String,
    location: Location,
}

#[derive(Deserialize)]
struct Location {
    row: u32,
}

impl Ruff {
    /// The first `ruff` in the folders of a `PATH`, and how long it may take for one file. Folders that are not absolute are passed over: what they are depends on
    /// where one stands, and that may be in the middle of a change by a stranger.
    pub fn find(path: &OsStr, time: Duration) -> Option<Self> {
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        let program = folders.map(|folder| folder.join("ruff")).find(|file| is_program(file))?;
        let bounds = Bounds { time, output: OUTPUT, is_stopped: UNSTOPPED };
        Some(Self { program, path: path.to_owned(), bounds })
    }

    /// What it says about a file and would not have said about it before the change: the same rule on a line with the same
    /// text, white space aside, is nothing new.
    pub fn introduced(
        &self,
        path: &str,
        old: Option<&[u8]>,
        new: &[u8],
    ) -> Result<Vec<RuffFinding>, RuffError> {
        let after = self.findings(path, new)?;
        match old {
            Some(old) if !after.is_empty() => {
                let before = self.findings(path, old)?;
                Ok(added((old, &before), (new, after)))
            }
            Some(_) | None => Ok(after),
        }
    }

    /// All that it says about a text, from the first line to the last.
    pub fn findings(&self, path: &str, text: &[u8]) -> Result<Vec<RuffFinding>, RuffError> {
        let text = std::str::from_utf8(text).map_err(|_| RuffError::NotUtf8)?;
        // Where the file is would only make it look there.
        let name = path.rsplit('/').next().unwrap_or(path);
        let named = format!("--stdin-filename={name}");
        let rules = format!("--select={RULES}");
        let args = [
            "check",
            "--isolated",
            "--no-cache",
            "--exit-zero",
            "--output-format=json",
            &rules,
            &named,
            "-",
        ];
        let input = text.as_bytes().to_vec();
        let launch = Launch { program: &self.program, args: &args, path: &self.path, input };
        let Finished { status, stdout, stderr } =
            process::run(launch, self.bounds).map_err(|error| self.unfinished(error))?;
        if !status.success() {
            return Err(RuffError::Failed(words(&stderr)));
        }
        read(&stdout, text).map_err(RuffError::NotUnderstood)
    }

    fn unfinished(&self, error: Unfinished) -> RuffError {
        match error {
            Unfinished::Io(error) => RuffError::NotRun(error),
            // Nobody stops it.
            Unfinished::TooSlow | Unfinished::Stopped => {
                RuffError::TooSlow(self.bounds.time.as_secs())
            }
            Unfinished::TooMuch => RuffError::TooMuch(self.bounds.output),
        }
    }
}

/// What it printed about a text.
fn read(printed: &[u8], text: &str) -> Result<Vec<RuffFinding>, serde_json::Error> {
    let printed: Vec<Printed> = serde_json::from_slice(printed)?;
    let last = u32::try_from(text.lines().count()).unwrap_or(u32::MAX).max(1);
    let mut findings: Vec<RuffFinding> = printed
        .into_iter()
        .map(|Printed { code, message, location }| {
            // The end of a file is the line behind its last.
            let line = location.row.clamp(1, last);
            RuffFinding { rule: code.unwrap_or_else(|| SYNTAX.to_owned()), line, message }
        })
        .collect();
    findings.sort_by(|one, two| (one.line, &one.rule).cmp(&(two.line, &two.rule)));
    Ok(findings)
}

/// Findings that were not there before. Each side is a text with what was found in it.
fn added(
    (old, before): (&[u8], &[RuffFinding]),
    (new, mut after): (&[u8], Vec<RuffFinding>),
) -> Vec<RuffFinding> {
    let mut numbers = BTreeMap::new();
    let [old, new] =
        [(old, before), (new, &after)].map(|(text, found)| numbered(text, found, &mut numbers));
    let known: BTreeSet<_> =
        before.iter().map(|it| (it.rule.as_str(), old.get(&it.line))).collect();
    after.retain(|it| !known.contains(&(it.rule.as_str(), new.get(&it.line))));
    after
}

/// A number for each line on which something was found. Lines that are the same but for white space have the same one, so that a line is
/// looked at once and not once for each finding.
fn numbered(
    text: &[u8],
    findings: &[RuffFinding],
    numbers: &mut BTreeMap<String, usize>,
) -> BTreeMap<u32, usize> {
    let found: BTreeSet<u32> = findings.iter().map(|finding| finding.line).collect();
    let text = String::from_utf8_lossy(text);
    let lines = (1..).zip(text.lines()).filter(|(line, _)| found.contains(line));
    let numbered = lines.map(|(line, text)| {
        let next = numbers.len();
        (line, *numbers.entry(folded(text)).or_insert(next))
    });
    numbered.collect()
}

#[cfg(test)]
mod tests;
