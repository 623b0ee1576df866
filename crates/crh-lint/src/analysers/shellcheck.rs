//! shellcheck on shell scripts, with checks that find defects and are almost always right.

use std::time::Duration;

use memchr::memmem;
use serde::Deserialize;

use super::analyser::{Analyser, path_argument};
use super::diagnostic::{AnalyserReport, Diagnostic};
use super::output::parse_json;
use super::scratch::Scratch;
use crate::paths::extension;
use crate::process::ProcessOutput;
use crh_review::finding::{Category, Confidence, Severity};
use crh_syntax::{Language, interpreter};

/// About 100 times as long as shellcheck needs for the scripts of a typical change.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// Checks about scripts that fail or delete the wrong files.
const FAILING_CHECKS: &[u32] = &[2104, 2105, 2114, 2115, 2168, 2218, 2224, 2225, 2226, 2264];

/// Checks about constant conditions and commands that do not do what they say.
#[rustfmt::skip]
const MISLEADING_CHECKS: &[u32] = &[
    2050, 2055, 2056, 2066, 2069, 2070, 2071, 2072, 2074, 2077, 2078, 2081, 2082, 2084, 2096, 2121, 2122, 2123, 2151,
    2152, 2157, 2158, 2159, 2160, 2161, 2170, 2193, 2221, 2222, 2229, 2242, 2252, 2255, 2257, 2259, 2260, 2261,
];

/// Codes for files that shellcheck does not check: unknown shell, and syntax error.
const UNPARSED_CODES: [u32; 2] = [1071, 1072];

/// Shells that shellcheck knows, without their versions.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ksh", "ash", "bats"];
/// Shells whose scripts are not checked, even if the file is named `*.sh`.
const OTHER_SHELLS: [&str; 7] = ["zsh", "fish", "csh", "tcsh", "elvish", "nu", "xonsh"];

/// The start of a directive, and its replacement of the same length.
const DIRECTIVE: &[u8] = b"shellcheck";
const NO_DIRECTIVE: &[u8] = b"(disarmed)";

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
            "sh" | "bash" | "ksh" | "dash" => {
                !shell_name(&text()).is_some_and(|name| OTHER_SHELLS.contains(&name.as_str()))
            }
            _ => Language::from_path(path).is_none() && is_shell(&text()),
        }
    }

    fn args(&self, files: &[String], _: &Scratch) -> Result<Vec<String>, String> {
        let fixed_args = ["--norc", "--format=json1", "--severity=warning", "--"];
        let fixed_args = fixed_args.into_iter().map(str::to_owned);
        Ok(fixed_args.chain(files.iter().map(path_argument)).collect())
    }

    /// Disarms directives, and a `#!` line that names no shell that shellcheck knows. Both can keep
    /// shellcheck from checking the file, and shellcheck has no option to ignore them. The length
    /// stays the same, so lines do not move.
    fn prepare_text(&self, mut text: Vec<u8>) -> Vec<u8> {
        let is_known = |name: String| SHELLS.contains(&name.as_str());
        if text.starts_with(b"#!") && !shell_name(&text).is_some_and(is_known) {
            text[1] = b'#';
        }
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        lines.flat_map(without_directive).collect()
    }

    fn parse_output(&self, output: &ProcessOutput) -> Result<AnalyserReport, String> {
        // shellcheck exits with 1 if it reports anything.
        let json: ShellcheckOutput = parse_json(output)?;
        let mut report = AnalyserReport::default();
        for comment in json.comments {
            let severity = match comment.code {
                code if UNPARSED_CODES.contains(&code) => {
                    report.unparsed_files.push(comment.file);
                    continue;
                }
                code if FAILING_CHECKS.contains(&code) => Severity::P1,
                code if MISLEADING_CHECKS.contains(&code) => Severity::P2,
                _ => continue,
            };
            report.diagnostics.push(Diagnostic {
                path: comment.file,
                line: comment.line,
                rule: format!("SC{}", comment.code),
                message: comment.message,
                severity,
                category: Category::Bug,
                confidence: Confidence::thousandths(850),
                why: String::new(),
            });
        }
        Ok(report)
    }
}

/// Disarms the shellcheck directives of a line. A directive that only names the shell stays.
fn without_directive(line: &[u8]) -> Vec<u8> {
    let offsets: Vec<usize> = memmem::find_iter(line, DIRECTIVE).collect();
    let mut line = line.to_vec();
    for at in offsets {
        let is_gap = |byte: &u8| byte.is_ascii_whitespace() || !byte.is_ascii();
        let before = line[..at].iter().rev().find(|byte| !is_gap(byte));
        if before == Some(&b'#') && !names_shell(&line[at + DIRECTIVE.len()..]) {
            line[at..at + DIRECTIVE.len()].copy_from_slice(NO_DIRECTIVE);
        }
    }
    line
}

/// Whether a directive is only `shell=NAME`, with the name of a supported shell.
fn names_shell(directive: &[u8]) -> bool {
    let name = directive.trim_ascii().strip_prefix(b"shell=");
    name.is_some_and(|name| matches!(name, b"sh" | b"bash" | b"dash" | b"ksh"))
}

/// Whether the first line names a supported shell.
fn is_shell(text: &[u8]) -> bool {
    matches!(shell_name(text).as_deref(), Some("sh" | "bash" | "dash" | "ksh"))
}

/// The program that the first line names, without its version.
fn shell_name(text: &[u8]) -> Option<String> {
    let is_version = |letter: char| letter.is_ascii_digit() || letter == '.';
    Some(interpreter(text)?.trim_end_matches(is_version).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_script_is_known_by_extension_or_shebang() {
        for (path, text, expected) in [
            ("a.sh", "", true),
            ("a.sh", "#!/usr/bin/env python3\n", true),
            ("a.sh", "#!/bin/zsh\n", false),
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

    #[test]
    fn what_keeps_shellcheck_from_a_file_is_disarmed() {
        let disarmed = |text: &str| {
            let text = ShellcheckAnalyser.prepare_text(text.as_bytes().to_vec());
            String::from_utf8(text).unwrap()
        };
        for (text, expected) in [
            ("# shellcheck foo\n", "# (disarmed) foo\n"),
            ("#\u{a0}shellcheck foo\n", "#\u{a0}(disarmed) foo\n"),
            ("echo '#' # shellcheck disable=all\n", "echo '#' # (disarmed) disable=all\n"),
            ("# shellcheck shell=bash disable=all\n", "# (disarmed) shell=bash disable=all\n"),
            ("#shellcheck shell=zsh\n", "#(disarmed) shell=zsh\n"),
            ("#shellcheck shell=bash\r\n", "#shellcheck shell=bash\r\n"),
            ("shellcheck foo # see shellcheck\n", "shellcheck foo # see shellcheck\n"),
            ("#!/usr/bin/python3\nx\n", "##/usr/bin/python3\nx\n"),
            ("#!/usr/bin/env bash5.2\nx\n", "#!/usr/bin/env bash5.2\nx\n"),
        ] {
            assert_eq!(disarmed(text), expected);
        }
    }
}
