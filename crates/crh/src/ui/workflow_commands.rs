//! Keeps text from acting as a workflow command of a CI system.
//!
//! The runner reads the log of a step. GitHub Actions obeys lines that start with `::`, also after
//! blanks, and lines that contain `##[`. Azure Pipelines obeys `##vso[`, TeamCity `##teamcity[`.
//! Reports quote code and models, so such a line may come from an attacker.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether crh runs in a CI system that executes commands in the log.
static IS_GUARDED: AtomicBool = AtomicBool::new(false);

/// Which workflow commands a text may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AllowedCommands {
    None,
    /// The text consists of crh's own commands.
    Own,
}

/// Guards all output from now on.
pub(super) fn guard() {
    IS_GUARDED.store(true, Ordering::Relaxed);
}

/// The text without workflow commands, if [`guard`] was called.
pub(super) fn guarded(text: &[u8], allowed: AllowedCommands) -> Cow<'_, [u8]> {
    if IS_GUARDED.load(Ordering::Relaxed) { without_commands(text, allowed) } else { text.into() }
}

fn without_commands(text: &[u8], allowed: AllowedCommands) -> Cow<'_, [u8]> {
    let has_command = |mark: &[u8]| text.windows(mark.len()).any(|window| window == mark);
    if !has_command(b"::") && !has_command(b"##") {
        return text.into();
    }
    let mut output = Vec::with_capacity(text.len() + 16);
    // The runner also ends a line at a carriage return.
    for line in text.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
        let start = line.len() - trim_start(line).len();
        let (blanks, mut rest) = line.split_at(start);
        output.extend_from_slice(blanks);
        if allowed == AllowedCommands::None && rest.starts_with(b"::") {
            output.extend_from_slice(b": ");
            rest = &rest[1..];
        }
        while let Some(at) = (0..rest.len()).find(|at| is_bracket_command(&rest[*at..])) {
            output.extend_from_slice(&rest[..at]);
            output.extend_from_slice(b"# #");
            rest = &rest[at + 2..];
        }
        output.extend_from_slice(rest);
    }
    output.into()
}

/// Whether text starts with `##`, letters and `[`.
fn is_bracket_command(text: &[u8]) -> bool {
    let name = text.strip_prefix(b"##").unwrap_or_default();
    let letters = name.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    name.get(letters) == Some(&b'[')
}

/// A line without leading white space, including the white space of Unicode.
fn trim_start(line: &[u8]) -> &[u8] {
    let valid = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&line[..error.valid_up_to()]).unwrap_or_default(),
    };
    &line[valid.len() - valid.trim_start().len()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let output = without_commands(text.as_bytes(), AllowedCommands::None);
        assert_eq!(String::from_utf8_lossy(&output), expected);
    }

    #[test]
    fn lines_are_no_workflow_commands() {
        check("a\n::error::x\nb\n", "a\n: :error::x\nb\n");
        check(" \t::set-env name=a::b", " \t: :set-env name=a::b");
        check("\u{2003}\u{a0}::x", "\u{2003}\u{a0}: :x");
        check("a\r::x\r\n::y", "a\r: :x\r\n: :y");
        check("a ##[error]x ##[y", "a # #[error]x # #[y");
        check("::##[x", ": :# #[x");
        check("###[x", "## #[x");
        check("a ##vso[task.setvariable]x", "a # #vso[task.setvariable]x");
        check("##teamcity[x] ## a [b]", "# #teamcity[x] ## a [b]");
        check("std::io\n | ::x\n: :x\n", "std::io\n | ::x\n: :x\n");
        let invalid = b"\xff\n ::x";
        assert_eq!(*without_commands(invalid, AllowedCommands::None), *b"\xff\n : :x");
    }

    #[test]
    fn own_commands_stay() {
        let text = b"::error file=a::x ##[y\n";
        let expected = b"::error file=a::x # #[y\n";
        assert_eq!(*without_commands(text, AllowedCommands::Own), *expected);
    }
}
