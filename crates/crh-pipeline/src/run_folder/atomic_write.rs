//! Files that are whole or not there.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::{fs, io};

use tempfile::NamedTempFile;

/// What a file is called while it is written.
pub(super) const DRAFT: &str = ".crh-";

/// As many characters follow.
const DRAFT_CHARS: usize = 6;

/// Removes the drafts of whoever was ended while it wrote. Only for a folder that nobody else writes to meanwhile.
pub fn remove_drafts(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(DRAFT));
        if rest.is_some_and(|rest| rest.len() == DRAFT_CHARS) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes a file beside its place and puts it there in one step. It is its owner's alone.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    draft(path, bytes)?.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The same, and it is on the disk when this returns.
pub(super) fn write_lasting(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = draft(path, bytes)?;
    // Before it is put there: no loss of power leaves an empty file in the place of the old one.
    draft.as_file().sync_all()?;
    draft.persist(path).map_err(|error| error.error)?;
    File::open(folder(path))?.sync_all()
}

fn draft(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    let mut file = builder.prefix(DRAFT).rand_bytes(DRAFT_CHARS).tempfile_in(folder(path))?;
    file.write_all(bytes)?;
    Ok(file)
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
