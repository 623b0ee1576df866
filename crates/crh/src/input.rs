//! Reads what the user gave: files and standard input, bounded, with errors that name them.

use std::fs::File;
use std::io;
use std::io::IsTerminal;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use crh_review::Strict;
use crh_review::diff::Diff;
use serde::de::DeserializeOwned;
use serde::de::Error as _;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
use crate::ui;

/// More than any diff or report that people produce; less than what would bring a laptop down.
const INPUT_MAX: u64 = 1 << 30;

/// Where an input comes from. `-` is standard input.
pub(crate) fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { format!("`{}`", path.display()) }
}

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    bytes_within(path, INPUT_MAX)
}

fn bytes_within(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let name = name(path);
    let mut bytes = Vec::new();
    let read = if is_stdin(path) {
        if io::stdin().is_terminal() {
            return Err(Failure::usage("standard input is a terminal")
                .hint("pipe something into this command, or name a file"));
        }
        io::stdin().lock().take(most + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| {
            // Room for the whole file at once: a vector that grows as it goes may need twice as much.
            let size = file.metadata()?.len().min(most);
            bytes.reserve_exact(usize::try_from(size).unwrap_or_default());
            file.take(most + 1).read_to_end(&mut bytes)
        })
    };
    let read = read
        .with_context(|| format!("reading {name}"))
        .or_fail(Kind::Usage)
        .map_err(|failure| failure.hint("check the path; `-` reads standard input"))?;
    if u64::try_from(read).unwrap_or(u64::MAX) > most {
        return Err(Failure::usage(format!("{name} is larger than {} MiB", most >> 20))
            .hint("split it, or leave out what nobody reads"));
    }
    Ok(bytes)
}

/// JSON from a file or standard input: one object, without duplicate keys, read as a type.
pub(crate) fn json<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, Failure> {
    json_within(path, what, INPUT_MAX)
}

/// The same, if it has at most so many bytes.
pub(crate) fn json_within<T: DeserializeOwned>(
    path: &Path,
    what: &str,
    most: u64,
) -> Result<T, Failure> {
    let bytes = bytes_within(path, most)?;
    let read = || {
        let Strict(value) = serde_json::from_slice(&bytes)?;
        // A list would be taken for the fields in their order.
        if !value.is_object() {
            return Err(serde_json::Error::custom("expected a JSON object"));
        }
        serde_json::from_value(value)
    };
    read().with_context(|| format!("{} is not {what}", name(path))).or_fail(Kind::Usage)
}

/// A diff from a file or standard input. What could not be understood in it is said on standard error.
pub(crate) fn diff(path: &Path) -> Result<Diff, Failure> {
    let diff = Diff::read(bytes(path)?);
    if diff.files().is_empty() && !diff.raw().trim_ascii().is_empty() {
        return Err(Failure::usage(format!("there is no diff in {}", name(path)))
            .hint("give it the output of `git diff`"));
    }
    for problem in diff.problems() {
        ui::warn(&format!("{}, {problem}", name(path)));
    }
    Ok(diff)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}
