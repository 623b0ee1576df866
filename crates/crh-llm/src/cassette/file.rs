//! Writes a cassette file, whose format the parent module describes, and replaces an older
//! cassette.
//!
//! An existing cassette is replaced only after the first reply. Until then, the new cassette is a
//! temporary file next to the old one, so a failed run keeps the old cassette.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

use crate::cassette::piece::PieceId;
use crate::cassette::{CassetteHeader, CassetteLine, Exchange, RecordedAnswer, VERSION};

/// Maximum bytes read to detect a cassette. The header line has fewer than 100.
const FIRST_LINE_MAX: u64 = 1024;

/// Suffix of the temporary file.
const TEMPORARY_SUFFIX: &str = ".recording";

/// A cassette that is being written.
pub(super) struct CassetteFile {
    file: File,
    /// The existing cassette, until it is replaced.
    old_cassette: Option<OldCassette>,
    /// The old cassette after `replace_old`. Its lock is kept, because another process may have
    /// opened that file before.
    replaced_file: Option<File>,
    pieces: HashSet<PieceId>,
    exchange_count: u64,
    failure: Option<WriteFailure>,
}

/// An existing cassette, and the temporary file that will replace it.
struct OldCassette {
    /// The old cassette, kept open for its lock.
    file: File,
    path: PathBuf,
    temporary_file: PathBuf,
}

/// The error that `exchange_count` returns. A `Writing` error takes the place of a `Replacing`
/// error.
enum WriteFailure {
    /// An exchange could not be recorded. Nothing is written after this error, because the last
    /// line may be incomplete.
    Writing(io::Error),
    /// The old cassette could not be replaced. Recording continues in the temporary file.
    Replacing(io::Error),
}

enum ExistingFile {
    Empty,
    Cassette,
}

impl CassetteFile {
    /// See `Recorder::create`.
    pub(super) fn create(path: &Path, prompts: Option<&str>) -> io::Result<Self> {
        let (file, existing_file) = open_locked(path)?;
        let (mut file, old_cassette) = match existing_file {
            ExistingFile::Empty => (file, None),
            ExistingFile::Cassette => {
                // Replace the target of a symlink, not the link.
                let path = fs::canonicalize(path)?;
                let temporary_file = temporary_path(&path);
                let new_file = open_temporary(&temporary_file, &file).map_err(|error| {
                    let message = format!("cannot write `{}`: {error}", temporary_file.display());
                    io::Error::new(error.kind(), message)
                })?;
                (new_file, Some(OldCassette { file, path, temporary_file }))
            }
        };
        let mut header = serde_json::to_vec(&CassetteHeader::current(prompts))?;
        header.push(b'\n');
        file.write_all(&header)?;
        let pieces = HashSet::new();
        Ok(Self {
            file,
            old_cassette,
            replaced_file: None,
            pieces,
            exchange_count: 0,
            failure: None,
        })
    }

    pub(super) fn has(&self, piece: &PieceId) -> bool {
        self.pieces.contains(piece)
    }

    /// Writes an exchange and its new pieces in one write.
    pub(super) fn write(
        &mut self,
        pieces: Vec<(PieceId, Value)>,
        exchange: Exchange,
    ) -> io::Result<()> {
        if matches!(self.failure, Some(WriteFailure::Writing(_))) {
            return Ok(());
        }
        let mut lines = Vec::new();
        for (id, value) in pieces {
            if self.pieces.insert(id.clone()) {
                let piece = CassetteLine::Piece { id, value };
                serde_json::to_writer(&mut lines, &piece)?;
                lines.push(b'\n');
            }
        }
        let has_reply = match &exchange.answer {
            RecordedAnswer::Reply(_) => true,
            RecordedAnswer::Error(_) => false,
        };
        serde_json::to_writer(&mut lines, &CassetteLine::Exchange(exchange))?;
        lines.push(b'\n');
        self.file.write_all(&lines)?;
        self.file.flush()?;
        self.exchange_count += 1;
        if has_reply {
            self.replace_old();
        }
        Ok(())
    }

    /// Stores the error and stops writing.
    pub(super) fn fail(&mut self, error: io::Error) {
        if !matches!(self.failure, Some(WriteFailure::Writing(_))) {
            self.failure = Some(WriteFailure::Writing(error));
        }
    }

    /// Number of exchanges at the requested path.
    pub(super) fn exchange_count(&self) -> io::Result<u64> {
        match &self.failure {
            Some(WriteFailure::Writing(error) | WriteFailure::Replacing(error)) => {
                Err(io::Error::new(error.kind(), error.to_string()))
            }
            None if self.old_cassette.is_some() => Ok(0),
            None => Ok(self.exchange_count),
        }
    }

    fn replace_old(&mut self) {
        let Some(OldCassette { file, path, temporary_file }) = self.old_cassette.take() else {
            return;
        };
        self.replaced_file = Some(file);
        if let Err(error) = fs::rename(&temporary_file, &path) {
            // The user paid for the reply, so keep recording in the temporary file.
            let message = format!(
                "cannot replace the old cassette; the new one is `{}`: {error}",
                temporary_file.display()
            );
            self.failure = Some(WriteFailure::Replacing(io::Error::new(error.kind(), message)));
        }
    }

    /// Redirects writes, so that a test can make them fail.
    #[cfg(test)]
    pub(super) fn replace_file(&mut self, file: File) {
        self.file = file;
    }
}

impl Drop for CassetteFile {
    /// Without a reply, the old cassette stays and the temporary file is removed.
    fn drop(&mut self) {
        if let Some(OldCassette { temporary_file, .. }) = &self.old_cassette {
            match fs::remove_file(temporary_file) {
                // The next recording reuses a leftover file.
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// Opens or creates a file and locks it, if the file system supports locks. Rejects a file that is
/// neither empty nor a cassette of this version.
fn open_locked(path: &Path) -> io::Result<(File, ExistingFile)> {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
    let mut file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    match file.try_lock() {
        // Some network file systems do not support locks.
        Ok(()) | Err(TryLockError::Error(_)) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(io::Error::new(
                ErrorKind::ResourceBusy,
                "another process is recording to it",
            ));
        }
    }
    let mut first_line = Vec::new();
    BufReader::new((&file).take(FIRST_LINE_MAX)).read_until(b'\n', &mut first_line)?;
    file.rewind()?;
    match CassetteHeader::parse(&first_line) {
        Some(CassetteHeader { version: VERSION, .. }) => Ok((file, ExistingFile::Cassette)),
        Some(CassetteHeader { version, .. }) => Err(io::Error::new(
            ErrorKind::AlreadyExists,
            format!(
                "it is a recording of version {version}, and crh writes version {VERSION}; the file was not changed"
            ),
        )),
        None if first_line.is_empty() => Ok((file, ExistingFile::Empty)),
        None => Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "the file exists and is not a recording of crh; it was not changed",
        )),
    }
}

/// Opens an empty temporary file with the permissions of the cassette. A file left by a crash is
/// reused.
fn open_temporary(temporary_file: &Path, old_file: &File) -> io::Result<File> {
    let (file, existing_file) = open_locked(temporary_file)?;
    match existing_file {
        ExistingFile::Empty => {}
        ExistingFile::Cassette => file.set_len(0)?,
    }
    file.set_permissions(old_file.metadata()?.permissions())?;
    Ok(file)
}

fn temporary_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(TEMPORARY_SUFFIX);
    PathBuf::from(name)
}
