//! Unix: every operation starts at the open root and follows no symlink.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{FileSnapshot, InsidePath};

/// Maximum file size. Larger files are not source code.
const FILE_MAX: u64 = 64 << 20;
/// Permission bits of a mode.
const PERMISSIONS: u32 = 0o7777;

/// Why crh cannot change a checkout on this system. `None` if it can.
pub(in crate::fix) fn refusal() -> Option<&'static str> {
    None
}

#[derive(Debug)]
pub(in crate::fix) struct CheckoutTree {
    root: File,
    path: PathBuf,
}

/// Kind of an atomic rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RenameKind {
    /// Fails if the target exists.
    ToNew,
    /// Swaps two files.
    Exchange,
}

impl<'p> InsidePath<'p> {
    fn name(self) -> &'p str {
        self.path.rsplit_once('/').map_or(self.path, |(_, name)| name)
    }

    /// All parent folders, outermost first.
    fn folders(self) -> impl Iterator<Item = &'p str> {
        let path = self.path;
        path.match_indices('/').map(move |(at, _)| &path[..at])
    }
}

impl CheckoutTree {
    pub(in crate::fix) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { root: File::open(path)?, path: path.to_owned() })
    }

    pub(in crate::fix) fn path(&self) -> &Path {
        &self.path
    }

    /// The root folder, for the lock.
    pub(in crate::fix) fn root(&self) -> &File {
        &self.root
    }

    /// The file at a path, or `None`. Anything but a regular file is an error.
    pub(in crate::fix) fn read(&self, at: InsidePath<'_>) -> io::Result<Option<FileSnapshot>> {
        let folder = match self.folder(at.folder()) {
            Err(error) if is_missing(&error) => return Ok(None),
            folder => folder?,
        };
        // Opening a FIFO would block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = match rustix::fs::openat(&folder, at.name(), flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(io::Error::other("it is a symlink")),
            Err(error) => return Err(error.into()),
        };
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        if facts.len() > FILE_MAX {
            return Err(io::Error::other("it is too large"));
        }
        let mut bytes = Vec::new();
        let length = file.by_ref().take(FILE_MAX + 1).read_to_end(&mut bytes)?;
        if length as u64 > FILE_MAX {
            return Err(io::Error::other("it is too large"));
        }
        let owner = (facts.uid(), facts.gid());
        Ok(Some(FileSnapshot { bytes, mode: facts.mode() & PERMISSIONS, owner }))
    }

    /// Missing parent folders, outermost first.
    pub(in crate::fix) fn missing_folders(&self, at: InsidePath<'_>) -> io::Result<Vec<String>> {
        let mut missing = Vec::new();
        for folder in at.folders() {
            match self.folder(folder) {
                Err(error) if is_missing(&error) => missing.push(folder.to_owned()),
                folder => drop(folder?),
            }
        }
        Ok(missing)
    }

    pub(in crate::fix) fn make_folder(&self, at: InsidePath<'_>) -> io::Result<()> {
        let folder = self.folder(at.folder())?;
        match rustix::fs::mkdirat(&folder, at.name(), Mode::from_raw_mode(0o777)) {
            // If it is not a folder, opening it fails later.
            Ok(()) | Err(Errno::EXIST) => folder.sync_all(),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a folder if it exists and is empty.
    pub(in crate::fix) fn remove_empty_folder(&self, at: InsidePath<'_>) -> io::Result<()> {
        self.unlink(at, AtFlags::REMOVEDIR)
    }

    /// Removes a file if it exists.
    pub(in crate::fix) fn remove(&self, at: InsidePath<'_>) -> io::Result<()> {
        self.unlink(at, AtFlags::empty())
    }

    fn unlink(&self, at: InsidePath<'_>, flags: AtFlags) -> io::Result<()> {
        let folder = match self.folder(at.folder()) {
            Err(error) if is_missing(&error) => return Ok(()),
            folder => folder?,
        };
        match rustix::fs::unlinkat(&folder, at.name(), flags) {
            Ok(()) => folder.sync_all(),
            Err(Errno::NOENT) => Ok(()),
            // Another program has put a file there.
            Err(Errno::NOTEMPTY | Errno::EXIST) if flags.contains(AtFlags::REMOVEDIR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a new file with the default mode.
    pub(in crate::fix) fn create(&self, at: InsidePath<'_>) -> io::Result<File> {
        self.create_with(at, Mode::from_raw_mode(0o666))
    }

    /// Creates a new file that only its owner can read, until its final mode is set.
    pub(in crate::fix) fn create_private(&self, at: InsidePath<'_>) -> io::Result<File> {
        self.create_with(at, Mode::from_raw_mode(0o600))
    }

    fn create_with(&self, at: InsidePath<'_>, mode: Mode) -> io::Result<File> {
        let folder = self.folder(at.folder())?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&folder, at.name(), flags, mode)?))
    }

    /// Renames a file in the same folder and replaces the file at the new name, atomically and
    /// durably.
    pub(in crate::fix) fn rename(
        &self,
        from: InsidePath<'_>,
        to: InsidePath<'_>,
    ) -> io::Result<()> {
        let folder = self.folder(to.folder())?;
        rustix::fs::renameat(&folder, from.name(), &folder, to.name())?;
        folder.sync_all()
    }

    /// Renames a file in the same folder, atomically and durably. Fails with `AlreadyExists` if the
    /// name is taken, and with `Unsupported` if the file system cannot do it.
    pub(in crate::fix) fn rename_to_new(
        &self,
        from: InsidePath<'_>,
        to: InsidePath<'_>,
    ) -> io::Result<()> {
        let folder = self.folder(to.folder())?;
        rename_with_flag(&folder, (from.name(), to.name()), RenameKind::ToNew)?;
        folder.sync_all()
    }

    /// Swaps two files in the same folder, atomically and durably. Fails with `Unsupported` if the
    /// file system cannot do it.
    pub(in crate::fix) fn exchange(
        &self,
        one: InsidePath<'_>,
        other: InsidePath<'_>,
    ) -> io::Result<()> {
        let folder = self.folder(other.folder())?;
        rename_with_flag(&folder, (one.name(), other.name()), RenameKind::Exchange)?;
        folder.sync_all()
    }

    /// Sets the owner and group of a file. Ignores an error: a user who can write a file may not be
    /// allowed to give it to another user.
    pub(in crate::fix) fn set_owner(&self, file: &File, owner: (u32, u32)) -> io::Result<()> {
        let (user, group) = owner;
        let facts = file.metadata()?;
        if (facts.uid(), facts.gid()) != owner {
            std::os::unix::fs::fchown(file, Some(user), Some(group)).unwrap_or_default();
        }
        Ok(())
    }

    /// Opens a folder below the root without following symlinks.
    fn folder(&self, path: &str) -> io::Result<File> {
        let mut folder = self.root.try_clone()?;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let next = rustix::fs::openat(&folder, OsStr::new(part), flags, Mode::empty());
            folder = match next {
                Ok(next) => File::from(next),
                Err(Errno::LOOP | Errno::NOTDIR) => {
                    let flags = AtFlags::SYMLINK_NOFOLLOW;
                    let is_link = rustix::fs::statat(&folder, part, flags)
                        .is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode).is_symlink());
                    let what = if is_link { "a symlink" } else { "not a folder" };
                    return Err(io::Error::other(format!("`{part}` is {what}")));
                }
                Err(error) => return Err(error.into()),
            };
        }
        Ok(folder)
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_with_flag(folder: &File, (from, to): (&str, &str), kind: RenameKind) -> io::Result<()> {
    use rustix::fs::RenameFlags;

    let flags = match kind {
        RenameKind::ToNew => RenameFlags::NOREPLACE,
        RenameKind::Exchange => RenameFlags::EXCHANGE,
    };
    match rustix::fs::renameat_with(folder, from, folder, to, flags) {
        // Errors of kernels and file systems that do not know the flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(io::ErrorKind::Unsupported.into()),
        renamed => Ok(renamed?),
    }
}

/// Not available on other systems.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_with_flag(_: &File, _: (&str, &str), _: RenameKind) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}
