//! A report in a file: written beside it and moved into its place, so that nobody ever reads half of one.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

use crh_review::render::{Colour, Links, PageError, html, json, markdown, sarif, text};
use crh_review::report::Report;

/// Everyone may read a report and its owner write it, as far as the user's mask allows.
const MODE: u32 = 0o666;

/// Why a file was not written.
#[derive(Debug, Error)]
pub(super) enum FileError {
    /// What is there is none: a folder, a device, a pipe.
    #[error("`{}` is there and is not a file", .0.display())]
    NotAFile(PathBuf),
    /// The report has no such form.
    #[error("the report cannot be written as JSON: {0}")]
    Form(#[from] serde_json::Error),
    /// Nor such a page.
    #[error("the report cannot be written as a page: {0}")]
    Page(#[from] PageError),
    /// The disk said no.
    #[error("writing `{}`: {error}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
}

/// Writes a report in the form that the file's name asks for, in the place of whatever file is there.
pub(super) fn replace(path: &Path, report: &Report) -> Result<(), FileError> {
    let shown = shown(path, report)?;
    let failed = |error| FileError::Io { path: path.to_owned(), error };
    // What a link points at is replaced, not the link.
    let place = match fs::canonicalize(path) {
        Ok(place) => place,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(failed(error)),
    };
    if fs::metadata(&place).is_ok_and(|there| !there.is_file()) {
        return Err(FileError::NotAFile(path.to_owned()));
    }
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Said here, since the error of the next call would name a file that nobody knows of.
    fs::metadata(folder).map_err(failed)?;
    let mut new = tempfile::Builder::new()
        .prefix(".crh-report-")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder)
        .map_err(failed)?;
    new.write_all(shown.as_bytes()).map_err(failed)?;
    new.as_file().sync_all().map_err(failed)?;
    new.persist(&place).map_err(|error| failed(error.error))?;
    Ok(())
}

fn shown(path: &Path, report: &Report) -> Result<String, FileError> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("md") => Ok(markdown(report)),
        Some("sarif") => Ok(sarif(report)?),
        Some("txt") => Ok(text(report, Colour::Off, &Links::Off)),
        // Without its diff: a report alone is what a sink is given.
        Some("html") => Ok(html(report, None)?),
        Some(_) | None => Ok(json(report)?),
    }
}
