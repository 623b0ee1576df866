//! Reads what the user gave: files and standard input, bounded, with errors that name them.

use std::fs::File;
use std::io;
use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::Context;
use serde::de::{DeserializeOwned, Error as _};

use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_review::Strict;
use crh_review::diff::Diff;

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
    object(&bytes_within(path, most)?, path, what)
}

/// The same from a file that a variable names.
pub(crate) fn json_named_by<T: DeserializeOwned>(
    variable: &str,
    path: &Path,
    what: &str,
    most: u64,
) -> Result<T, Failure> {
    let object = object(&bytes_named_by(variable, path, most)?, path, what);
    object.map_err(|failure| failure.hint(format!("`{variable}` names it")))
}

fn object<T: DeserializeOwned>(bytes: &[u8], path: &Path, what: &str) -> Result<T, Failure> {
    let read = || {
        let Strict(value) = serde_json::from_slice(bytes)?;
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

/// The bytes of a file that a variable names.
pub(crate) fn bytes_named_by(variable: &str, path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    bytes_of_file(path, most, &named_by(variable))
}

/// What to do about a file that a variable names and that cannot be read.
pub(crate) fn named_by(variable: &str) -> String {
    format!("`{variable}` names it; set it to a file, or unset it")
}

/// The bytes of a file. What is no file may have no end. `hint` is for whoever named it.
pub(crate) fn bytes_of_file(path: &Path, most: u64, hint: &str) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let refused = |why: String| Failure::usage(format!("`{shown}` {why}")).hint(hint);
    let unread = |error: io::Error| refused(format!("cannot be read: {error}"));
    // A pipe would wait for its writer before it is known to be one.
    if !path.metadata().map_err(unread)?.is_file() {
        return Err(refused("is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unread)?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(unread)?;
    match bytes.len() as u64 > most {
        true => Err(refused(format!("is larger than {} KiB", most >> 10))),
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
    fn what_a_variable_names_is_a_file_of_a_bounded_size() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, [b'k'; 1024]).unwrap();
        assert_eq!(bytes_named_by("VARIABLE", &file, 1024).unwrap(), [b'k'; 1024]);
        for (path, most, why) in [
            (file.as_path(), 1023, "is larger than 0 KiB"),
            (folder.path(), 1024, "is not a file"),
            (Path::new("/dev/zero"), 1024, "is not a file"),
        ] {
            let failure = bytes_named_by("VARIABLE", path, most).unwrap_err();
            assert_eq!(failure.error.to_string(), format!("`{}` {why}", path.display()));
            assert!(failure.hint.unwrap().starts_with("`VARIABLE` names it"));
        }
    }
}
