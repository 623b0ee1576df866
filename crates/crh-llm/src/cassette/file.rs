//! The file of a recording: opened, locked, written to, and put in the place of an older one once it is worth it.
//!
//! A cassette that exists is not touched before the first answer has come: until then the new one is a file beside it. So
//! a run that fails leaves the old one as it was.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

use crate::cassette::piece::PieceId;
use crate::cassette::{Answer, Exchange, Header, Line, VERSION};

/// The most that is read of a file to see whether it is a cassette: the first line has fewer than 50 bytes.
const FIRST_LINE_MAX: u64 = 1024;

/// What is put behind the name of a cassette for the one that is to replace it.
const BESIDE: &str = ".recording";

/// The file and what is in it.
pub(super) struct Tape {
    file: File,
    /// The cassette that this one is to replace, as long as it has not.
    older: Option<Older>,
    /// The file that was replaced. Its lock is kept: someone may have opened it just before.
    replaced: Option<File>,
    pieces: HashSet<PieceId>,
    exchanges: u64,
    failed: Option<Failed>,
}

/// A cassette that is there already, and the one beside it that is to replace it.
struct Older {
    /// Held for its lock.
    file: File,
    path: PathBuf,
    beside: PathBuf,
}

/// What went wrong first.
enum Failed {
    /// Nothing is written after it: the file may end in the middle of a line.
    Writing(io::Error),
    /// The recording goes on in the file beside.
    Replacing(io::Error),
}

/// What was found in a file.
enum Found {
    Nothing,
    Cassette,
}

impl Tape {
    /// An empty tape, for `path`. See `Recorder::create`.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let (file, found) = opened(path)?;
        let (mut file, older) = match found {
            Found::Nothing => (file, None),
            Found::Cassette => {
                // The file is replaced, not the link to it.
                let path = fs::canonicalize(path)?;
                let beside = beside(&path);
                let new = emptied(&beside, &file).map_err(|error| {
                    let message = format!("`{}` cannot be written: {error}", beside.display());
                    io::Error::new(error.kind(), message)
                })?;
                (new, Some(Older { file, path, beside }))
            }
        };
        let mut header = serde_json::to_vec(&Header::ours())?;
        header.push(b'\n');
        file.write_all(&header)?;
        let pieces = HashSet::new();
        Ok(Self { file, older, replaced: None, pieces, exchanges: 0, failed: None })
    }

    pub(super) fn has(&self, piece: &PieceId) -> bool {
        self.pieces.contains(piece)
    }

    /// Writes an exchange and the pieces that it needs, in one write.
    pub(super) fn write(
        &mut self,
        pieces: Vec<(PieceId, Value)>,
        exchange: Exchange,
    ) -> io::Result<()> {
        if matches!(self.failed, Some(Failed::Writing(_))) {
            return Ok(());
        }
        let mut lines = Vec::new();
        for (id, value) in pieces {
            if self.pieces.insert(id.clone()) {
                let piece = Line::Piece { id, value };
                serde_json::to_writer(&mut lines, &piece)?;
                lines.push(b'\n');
            }
        }
        let answered = match &exchange.answer {
            Answer::Reply(_) => true,
            Answer::Error(_) => false,
        };
        serde_json::to_writer(&mut lines, &Line::Exchange(exchange))?;
        lines.push(b'\n');
        self.file.write_all(&lines)?;
        self.file.flush()?;
        self.exchanges += 1;
        if answered {
            self.replace_older();
        }
        Ok(())
    }

    /// Nothing more is written.
    pub(super) fn fail(&mut self, error: io::Error) {
        if !matches!(self.failed, Some(Failed::Writing(_))) {
            self.failed = Some(Failed::Writing(error));
        }
    }

    /// How many exchanges stand under the name that was asked for.
    pub(super) fn standing(&self) -> io::Result<u64> {
        match &self.failed {
            Some(Failed::Writing(error) | Failed::Replacing(error)) => {
                Err(io::Error::new(error.kind(), error.to_string()))
            }
            None if self.older.is_some() => Ok(0),
            None => Ok(self.exchanges),
        }
    }

    fn replace_older(&mut self) {
        let Some(Older { file, path, beside }) = self.older.take() else { return };
        self.replaced = Some(file);
        if let Err(error) = fs::rename(&beside, &path) {
            // An answer has been paid for: what is beside is kept and goes on.
            let message = format!(
                "the older one could not be replaced, the new one is `{}`: {error}",
                beside.display()
            );
            self.failed = Some(Failed::Replacing(io::Error::new(error.kind(), message)));
        }
    }

    /// Writes to another file from now on, so that a test can see it fail.
    #[cfg(test)]
    pub(super) fn replace_file(&mut self, file: File) {
        self.file = file;
    }
}

impl Drop for Tape {
    /// Without an answer the older cassette stays, and what was to replace it goes.
    fn drop(&mut self) {
        if let Some(Older { beside, .. }) = &self.older {
            match fs::remove_file(beside) {
                // Whatever is left there, the next recording under this name takes over.
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// Opens a file for recording, with a lock on it. What is no cassette is refused.
fn opened(path: &Path) -> io::Result<(File, Found)> {
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
    let mut file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    match file.try_lock() {
        // Some network file systems know no locks: there it is for the user to record to a file once at a time.
        Ok(()) | Err(TryLockError::Error(_)) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(io::Error::new(
                ErrorKind::ResourceBusy,
                "something else is recording to it",
            ));
        }
    }
    let mut first = Vec::new();
    BufReader::new((&file).take(FIRST_LINE_MAX)).read_until(b'\n', &mut first)?;
    file.rewind()?;
    match Header::read(&first) {
        Some(Header { version: VERSION, .. }) => Ok((file, Found::Cassette)),
        Some(Header { version, .. }) => Err(io::Error::new(
            ErrorKind::AlreadyExists,
            format!(
                "it is a cassette of version {version} of the format, and version {VERSION} can be written; it is left as it is"
            ),
        )),
        None if first.is_empty() => Ok((file, Found::Nothing)),
        None => Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "the file exists and is no cassette; it is left as it is",
        )),
    }
}

/// The file beside a cassette, empty, for the same eyes as the cassette. What a crash has left there is taken over.
fn emptied(beside: &Path, older: &File) -> io::Result<File> {
    let (file, found) = opened(beside)?;
    match found {
        Found::Nothing => {}
        Found::Cassette => file.set_len(0)?,
    }
    file.set_permissions(older.metadata()?.permissions())?;
    Ok(file)
}

fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(BESIDE);
    PathBuf::from(name)
}
