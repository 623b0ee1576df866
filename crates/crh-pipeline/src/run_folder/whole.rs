//! Files that are whole or not there.

use std::io;
use std::io::Write as _;
use std::path::Path;

/// What a file is called while it is written.
pub(super) const DRAFT: &str = ".crh-";

/// Writes a file beside its place and puts it there in one step. It is its owner's alone.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(DRAFT).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
