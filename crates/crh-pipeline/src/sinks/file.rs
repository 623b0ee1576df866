//! Writes a report to a file, atomically.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use thiserror::Error;

use crh_os::files::temp_builder;
use crh_os::names::canonical;
use crh_review::render::{PageError, TextStyle, html, json, markdown, sarif, text};
use crh_review::report::Report;

/// Permissions of a new file before the umask: all users may read and write.
const MODE: u32 = 0o666;

/// Why a file was not written.
#[derive(Debug, Error)]
pub(super) enum FileError {
    /// The path is a folder, a device or a pipe.
    #[error("`{}` exists and is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The report cannot be rendered as JSON.
    #[error("cannot render the report as JSON: {0}")]
    Form(#[from] serde_json::Error),
    /// The report cannot be rendered as HTML.
    #[error("cannot render the report as HTML: {0}")]
    Page(#[from] PageError),
    /// An I/O error.
    #[error("cannot write `{}`: {error}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error from the operating system.
        error: io::Error,
    },
}

/// Writes a report in the format of the file name extension. Replaces an existing file.
pub(super) fn write_report(path: &Path, report: &Report) -> Result<(), FileError> {
    let rendered = render(path, report)?;
    let io_error = |error| FileError::Io { path: path.to_owned(), error };
    // Replace the target of a symlink, not the link.
    let target = match canonical(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(io_error(error)),
    };
    if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(FileError::NotAFile(path.to_owned()));
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Checked here, since the next error would name a temporary file.
    fs::metadata(folder).map_err(io_error)?;
    let mut temp_file =
        temp_builder(MODE).prefix(".crh-report-").tempfile_in(folder).map_err(io_error)?;
    temp_file.write_all(rendered.as_bytes()).map_err(io_error)?;
    temp_file.as_file().sync_all().map_err(io_error)?;
    temp_file.persist(&target).map_err(|error| io_error(error.error))?;
    Ok(())
}

fn render(path: &Path, report: &Report) -> Result<String, FileError> {
    let extension = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("md") => Ok(markdown(report)),
        Some("sarif") => Ok(sarif(report)?),
        Some("txt") => Ok(text(report, &TextStyle::default())),
        // Sinks have the report only, not its diff.
        Some("html") => Ok(html(report, None)?),
        Some(_) | None => Ok(json(report)?),
    }
}
