//! Atomic file writes: a reader sees the old file or the new one, never a part.

use std::io::Write as _;
use std::path::Path;
use std::{fs, io};

use tempfile::NamedTempFile;

use crh_os::files::sync_folder;

/// Name prefix of temporary files.
pub(super) const TEMP_PREFIX: &str = ".crh-";

/// Number of random characters after the prefix.
const TEMP_SUFFIX_CHARS: usize = 6;

/// Removes temporary files of a killed process. Call it only while no other process writes to the
/// folder.
pub fn remove_temp_files(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(TEMP_PREFIX));
        if rest.is_some_and(|rest| rest.len() == TEMP_SUFFIX_CHARS) && entry.file_type()?.is_file()
        {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes a file atomically. Only its owner can read it.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_temp(path, bytes)?.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Writes a file atomically and flushes it to disk.
pub(super) fn write_durable(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temp_file = write_temp(path, bytes)?;
    // Flush before the rename, so that a power cut leaves the old file rather than an empty one.
    temp_file.as_file().sync_all()?;
    temp_file.persist(path).map_err(|error| error.error)?;
    sync_folder(parent_folder(path))
}

fn write_temp(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    let mut file = builder
        .prefix(TEMP_PREFIX)
        .rand_bytes(TEMP_SUFFIX_CHARS)
        .tempfile_in(parent_folder(path))?;
    file.write_all(bytes)?;
    Ok(file)
}

fn parent_folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
