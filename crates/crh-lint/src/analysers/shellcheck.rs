//! shellcheck on shell scripts, with the checks about defects that are almost always right.

use std::time::Duration;

use memchr::memmem;
use serde::Deserialize;

use super::diagnostic::Diagnostic;
use super::{Analyser, Scratch, parse_json, path_argument};
use crate::paths::extension;
use crate::process::ProcessOutput;
use crh_review::finding::{Category, Confidence, Severity};
use crh_syntax::{Language, interpreter};

pub(super) const NAME: &str = "shellcheck";
/// About 100 times what the scripts of a change take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// Checks about scripts that fail or delete the wrong files.
const FAILING_CHECKS: &[u32] = &[2104, 2105, 2114, 2115, 2168, 2218, 2224, 2225, 2226, 2264];

/// Checks about constant conditions and commands that do not do what they say.
#[rustfmt::skip]
const MISLEADING_CHECKS: &[u32] = &[
    2050, 2055, 2056, 2066, 2069, 2070, 2071, 2072, 2074, 2077, 2078, 2081, 2082, 2084, 2096, 2121, 2122, 2123, 2151,
    2152, 2157, 2158, 2159, 2160, 2161, 2170, 2193, 2221, 2222, 2229, 2242, 2252, 2255, 2257, 2259, 2260, 2261,
];

/// The directive that disables checks, and its replacement of the same length.
const DISABLE_KEY: &[u8] = b"disable=";
const UNKNOWN_KEY: &[u8] = b"ignored=";

pub(super) struct ShellcheckAnalyser;

#[derive(Deserialize)]
struct ShellcheckOutput {
    comments: Vec<ShellcheckComment>,
}

#[derive(Deserialize)]
struct ShellcheckComment {
    file: String,
    line: u32,
    code: u32,
    message: String,
}

impl Analyser for ShellcheckAnalyser {
    fn handles(&self, path: &str, text: &dyn Fn() -> Vec<u8>) -> bool {
        match extension(path).as_str() {
            "sh" | "bash" | "ksh" | "dash" => true,
            _ => Language::from_path(path).is_none() && is_shell(&text()),
        }
    }

    fn args(&self, files: &[String], _: &Scratch) -> Result<Vec<String>, String> {
        let fixed_args = ["--norc", "--format=json1", "--severity=warning", "--"];
        let fixed_args = fixed_args.into_iter().map(str::to_owned);
        Ok(fixed_args.chain(files.iter().map(path_argument)).collect())
    }

    /// Disarms `disable` directives; shellcheck has no option for that. The length stays the same,
    /// so lines do not move.
    fn prepare_text(&self, text: Vec<u8>) -> Vec<u8> {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        lines.flat_map(without_directive).collect()
    }

    fn parse_output(&self, output: &ProcessOutput) -> Result<Vec<Diagnostic>, String> {
        // shellcheck exits with 1 if it reports anything.
        let json: ShellcheckOutput = parse_json(output)?;
        let diagnostics = json.comments.into_iter().filter_map(|comment| {
            let severity = match comment.code {
                code if FAILING_CHECKS.contains(&code) => Severity::P1,
                code if MISLEADING_CHECKS.contains(&code) => Severity::P2,
                _ => return None,
            };
            Some(Diagnostic {
                path: comment.file,
                line: comment.line,
                rule: format!("SC{}", comment.code),
                message: comment.message,
                severity,
                category: Category::Bug,
                confidence: Confidence::thousandths(850),
                why: String::new(),
            })
        });
        Ok(diagnostics.collect())
    }
}

/// Replaces `disable=` in a shellcheck directive by `ignored=`, a key that shellcheck does not
/// know.
fn without_directive(line: &[u8]) -> Vec<u8> {
    let is_directive = memmem::find(line, b"#").is_some_and(|at| {
        let comment = &line[at + 1..];
        comment.trim_ascii_start().starts_with(b"shellcheck")
    });
    let mut line = line.to_vec();
    if is_directive {
        let offsets: Vec<usize> = memmem::find_iter(&line, DISABLE_KEY).collect();
        for at in offsets {
            line[at..at + DISABLE_KEY.len()].copy_from_slice(UNKNOWN_KEY);
        }
    }
    line
}

/// Whether the first line names a supported shell.
fn is_shell(text: &[u8]) -> bool {
    matches!(interpreter(text), Some("sh" | "bash" | "dash" | "ksh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_script_is_known_by_extension_or_shebang() {
        for (path, text, expected) in [
            ("a.sh", "", true),
            ("bin/run", "#!/bin/sh\n", true),
            ("bin/run", "#! /usr/bin/env -S bash -e\n", true),
            ("bin/run", "#!/usr/bin/env python3\n", false),
            ("bin/run", "echo #!/bin/sh\n", false),
            ("deploy.command", "#!/bin/bash\n", true),
            ("a.zsh", "#!/bin/zsh\n", false),
            ("a.py", "#!/bin/sh\n", false),
        ] {
            let is_handled = ShellcheckAnalyser.handles(path, &|| text.as_bytes().to_vec());
            assert_eq!(is_handled, expected, "{path} {text}");
        }
    }
}
