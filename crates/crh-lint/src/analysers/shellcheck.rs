//! shellcheck, on shell scripts: those of its checks that are about defects and almost always right.

use std::time::Duration;

use memchr::memmem;
use serde::Deserialize;

use super::said::Said;
use super::{Analyser, Installed, Needs, Scratch, argument, json};
use crate::paths::extension;
use crate::process::Finished;
use crh_review::finding::{Category, Confidence, Severity};

pub(super) const NAME: &str = "shellcheck";
/// A hundred times what it takes for the scripts of a change.
const TIME: Duration = Duration::from_secs(30);

/// Checks about scripts that end with an error, or remove what they should not.
const FAILS: &[u32] = &[2104, 2105, 2114, 2115, 2168, 2218, 2224, 2225, 2226, 2264];

/// Checks about conditions that are always the same, and commands that do something else than they say.
#[rustfmt::skip]
const MISLEADS: &[u32] = &[
    2050, 2055, 2056, 2066, 2069, 2070, 2071, 2072, 2074, 2077, 2078, 2081, 2082, 2084, 2096, 2121, 2122, 2123, 2151,
    2152, 2157, 2158, 2159, 2160, 2161, 2170, 2193, 2221, 2222, 2229, 2242, 2252, 2255, 2257, 2259, 2260, 2261,
];

/// What makes it silent, and what stands there instead.
const DISABLES: &[u8] = b"disable=";
const UNKNOWN: &[u8] = b"ignored=";

pub(super) struct Shellcheck<'a> {
    pub(super) program: &'a Installed,
}

#[derive(Deserialize)]
struct Printed {
    comments: Vec<Comment>,
}

#[derive(Deserialize)]
struct Comment {
    file: String,
    line: u32,
    code: u32,
    message: String,
}

impl Analyser for Shellcheck<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn installed(&self) -> &Installed {
        self.program
    }

    fn time(&self) -> Duration {
        TIME
    }

    fn wants(&self, path: &str, text: &dyn Fn() -> Vec<u8>) -> bool {
        match extension(path).as_str() {
            "sh" | "bash" | "ksh" | "dash" => true,
            "" => is_shell(&text()),
            _ => false,
        }
    }

    fn needs(&self) -> Needs<'_> {
        Needs::Files
    }

    fn args(&self, files: &[String], _: &Scratch) -> Result<Vec<String>, String> {
        let fixed = ["--norc", "--format=json1", "--severity=warning", "--"];
        Ok(fixed.into_iter().map(str::to_owned).chain(files.iter().map(argument)).collect())
    }

    /// Without a word that would make it silent: it has no option for that. As long as before, so that lines stay where they are.
    fn shown(&self, text: Vec<u8>) -> Vec<u8> {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        lines.flat_map(without_directive).collect()
    }

    fn read(&self, finished: &Finished) -> Result<Vec<Said>, String> {
        // It ends with 1 if it has something to say.
        let printed: Printed = json(finished)?;
        let said = printed.comments.into_iter().filter_map(|comment| {
            let severity = match comment.code {
                code if FAILS.contains(&code) => Severity::P1,
                code if MISLEADS.contains(&code) => Severity::P2,
                _ => return None,
            };
            Some(Said {
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
        Ok(said.collect())
    }
}

/// A line whose comment is for shellcheck with `ignored=`, a word that it does not know, instead of `disable=`.
fn without_directive(line: &[u8]) -> Vec<u8> {
    let is_for_it = memmem::find(line, b"#").is_some_and(|at| {
        let comment = &line[at + 1..];
        comment.trim_ascii_start().starts_with(b"shellcheck")
    });
    let mut line = line.to_vec();
    if is_for_it {
        let found: Vec<usize> = memmem::find_iter(&line, DISABLES).collect();
        for at in found {
            line[at..at + DISABLES.len()].copy_from_slice(UNKNOWN);
        }
    }
    line
}

/// Whether the first line names a shell that is known here.
fn is_shell(text: &[u8]) -> bool {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(line) = line.strip_prefix(b"#!") else { return false };
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace().filter_map(|word| word.rsplit('/').next());
    let program = words.find(|word| *word != "env" && !word.starts_with('-'));
    matches!(program, Some("sh" | "bash" | "dash" | "ksh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_known_by_its_ending_or_its_first_line() {
        let program = Installed { program: "/x".into(), readable: Vec::new() };
        let shellcheck = Shellcheck { program: &program };
        for (path, text, expected) in [
            ("a.sh", "", true),
            ("bin/run", "#!/bin/sh\n", true),
            ("bin/run", "#! /usr/bin/env -S bash -e\n", true),
            ("bin/run", "#!/usr/bin/env python3\n", false),
            ("bin/run", "echo #!/bin/sh\n", false),
            ("a.zsh", "#!/bin/zsh\n", false),
            ("a.py", "#!/bin/sh\n", false),
        ] {
            assert_eq!(
                shellcheck.wants(path, &|| text.as_bytes().to_vec()),
                expected,
                "{path} {text}"
            );
        }
    }
}
