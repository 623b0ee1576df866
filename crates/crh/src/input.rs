//! Reads input files and standard input, with a size limit and errors that name the input.

use std::fs::File;
use std::io;
use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::Context;
use serde::de::{DeserializeOwned, Error as _};

use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_review::diff::Diff;
use crh_review::{StrictJson, json_problem};

/// Maximum size of an input in bytes. Real diffs and reports are smaller.
const INPUT_MAX: u64 = 1 << 30;

/// Name of an input for messages. `-` is standard input.
pub(crate) fn display_name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { format!("`{}`", path.display()) }
}

/// Reads a file, or standard input for `-`.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    bytes_within(path, INPUT_MAX)
}

/// Reads a file of a folder, or standard input for `-`.
pub(crate) fn bytes_in(folder: &Path, path: &Path) -> Result<Vec<u8>, Failure> {
    match is_stdin(path) {
        true => bytes(path),
        false => bytes(&folder.join(path)),
    }
}

fn bytes_within(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Failure> {
    let name = display_name(path);
    let mut bytes = Vec::new();
    let result = if is_stdin(path) {
        if io::stdin().is_terminal() {
            return Err(Failure::usage("standard input is a terminal")
                .hint("pipe the input into this command, or name a file"));
        }
        io::stdin().lock().take(max_bytes + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| {
            // Reserve exactly, because a growing vector may need twice the memory.
            let size = file.metadata()?.len().min(max_bytes);
            bytes.reserve_exact(usize::try_from(size).unwrap_or_default());
            file.take(max_bytes + 1).read_to_end(&mut bytes)
        })
    };
    let bytes_read = result
        .with_context(|| format!("cannot read {name}"))
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("check the path"))?;
    if u64::try_from(bytes_read).unwrap_or(u64::MAX) > max_bytes {
        return Err(Failure::usage(format!("{name} is larger than {} MiB", max_bytes >> 20))
            .hint("split it, or leave parts out"));
    }
    Ok(bytes)
}

/// Reads one JSON object from a file or standard input. Rejects duplicate keys. `expected`
/// describes the content for the error message "FILE is not …", such as "a crh report".
pub(crate) fn json<T: DeserializeOwned>(path: &Path, expected: &str) -> Result<T, Failure> {
    json_within(path, expected, INPUT_MAX)
}

/// Like [`json`], with a size limit in bytes.
pub(crate) fn json_within<T: DeserializeOwned>(
    path: &Path,
    expected: &str,
    max_bytes: u64,
) -> Result<T, Failure> {
    parse_object(&bytes_within(path, max_bytes)?, path, expected)
}

/// Like [`json_within`], for a file whose path is in an environment variable.
pub(crate) fn json_from_variable<T: DeserializeOwned>(
    variable: &str,
    path: &Path,
    expected: &str,
    max_bytes: u64,
) -> Result<T, Failure> {
    let result = parse_object(&bytes_from_variable(variable, path, max_bytes)?, path, expected);
    result.map_err(|failure| failure.hint(format!("`{variable}` contains this path")))
}

fn parse_object<T: DeserializeOwned>(
    bytes: &[u8],
    path: &Path,
    expected: &str,
) -> Result<T, Failure> {
    let parse = || {
        let StrictJson(value) = serde_json::from_slice(bytes)?;
        // Reject arrays here: Serde would accept one as the struct's fields in declaration order.
        if !value.is_object() {
            return Err(serde_json::Error::custom("expected a JSON object"));
        }
        serde_json::from_value(value)
    };
    parse()
        .map_err(|error| anyhow::anyhow!(json_problem(&error)))
        .with_context(|| format!("{} is not {expected}", display_name(path)))
        .or_fail(FailureKind::Usage)
}

/// Reads a diff, which may be empty, from a file or standard input. Prints a warning for each part
/// that cannot be parsed.
pub(crate) fn diff(path: &Path) -> Result<Diff, Failure> {
    let name = display_name(path);
    let bytes = bytes(path)?;
    let diff = match bytes.trim_ascii().is_empty() {
        true => Diff::read(bytes),
        false => Diff::read_supported(bytes)
            .map_err(|error| Failure::usage(format!("{name}: {error}")).hint(error.hint()))?,
    };
    for problem in diff.problems() {
        ui::warn(&format!("{name}, {problem}"));
    }
    Ok(diff)
}

/// Reads a file whose path is in an environment variable.
pub(crate) fn bytes_from_variable(
    variable: &str,
    path: &Path,
    max_bytes: u64,
) -> Result<Vec<u8>, Failure> {
    bytes_of_regular_file(path, max_bytes, &variable_hint(variable))
}

/// Hint for an unreadable file whose path is in an environment variable.
pub(crate) fn variable_hint(variable: &str) -> String {
    format!("`{variable}` contains this path; set it to a file, or unset it")
}

/// Reads a regular file. Rejects devices and pipes, because they may be endless.
pub(crate) fn bytes_of_regular_file(
    path: &Path,
    max_bytes: u64,
    hint: &str,
) -> Result<Vec<u8>, Failure> {
    let name = path.display();
    let failure = |reason: String| Failure::usage(format!("`{name}` {reason}")).hint(hint);
    let read_failure = |error: io::Error| failure(format!("cannot be read: {error}"));
    // Opening a pipe would block.
    if !path.metadata().map_err(read_failure)?.is_file() {
        return Err(failure("is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(read_failure)?;
    file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(read_failure)?;
    match bytes.len() as u64 > max_bytes {
        true => Err(failure(format!("is larger than {} KiB", max_bytes >> 10))),
        false => Ok(bytes),
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_from_variable_must_be_regular_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, [b'k'; 1024]).unwrap();
        assert_eq!(bytes_from_variable("VARIABLE", &file, 1024).unwrap(), [b'k'; 1024]);
        for (path, max_bytes, reason) in [
            (file.as_path(), 1023, "is larger than 0 KiB"),
            (folder.path(), 1024, "is not a file"),
            (Path::new("/dev/zero"), 1024, "is not a file"),
        ] {
            let failure = bytes_from_variable("VARIABLE", path, max_bytes).unwrap_err();
            assert_eq!(failure.error.to_string(), format!("`{}` {reason}", path.display()));
            assert!(failure.hint.unwrap().starts_with("`VARIABLE` contains this path"));
        }
    }
}
