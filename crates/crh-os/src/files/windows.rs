//! Windows: access control lists in the place of modes and owners.

use std::fs;
use std::fs::{DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io;
use std::io::Read as _;
use std::os::windows::fs::{FileExt as _, symlink_dir, symlink_file};
use std::path::{Path, PathBuf};

use tempfile::Builder;

/// File in a folder that is locked instead of the folder.
const FOLDER_LOCK: &str = ".lock";
/// `ERROR_LOCK_VIOLATION`, which Wine reports in the place of `ERROR_NOT_LOCKED`.
const LOCK_VIOLATION: i32 = 33;
/// Maximum bytes of the name that a link stores.
const NAME_MAX: u64 = 1_024;

pub(super) fn set_folder_mode(_: &mut DirBuilder, _: u32) {}

pub(super) fn set_file_mode(_: &mut OpenOptions, _: u32) {}

pub(super) fn set_temp_mode(_: &mut Builder<'_, '_>, _: u32) {}

#[expect(clippy::unnecessary_wraps, reason = "fails on Unix")]
pub(super) fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "fails on Unix")]
pub(super) fn set_mode_of(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

pub(super) fn mode(_: &Metadata) -> Option<u32> {
    None
}

pub(super) fn file_id(_: &Metadata) -> Option<(u64, u64)> {
    None
}

pub(super) fn is_own(_: &Metadata) -> bool {
    true
}

#[expect(clippy::unnecessary_wraps, reason = "fails on Unix")]
pub(super) fn check_writable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Windows has two kinds of symlinks. A missing target counts as a file.
pub(super) fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    match link.parent().is_some_and(|folder| folder.join(target).is_dir()) {
        true => symlink_dir(target, link),
        false => symlink_file(target, link),
    }
}

pub(super) fn create_name_link(name: &Path, link: &Path) -> io::Result<()> {
    fs::write(link, name.as_os_str().as_encoded_bytes())
}

pub(super) fn is_name_link(kind: FileType) -> bool {
    kind.is_file()
}

pub(super) fn read_name_link(link: &Path) -> io::Result<PathBuf> {
    let mut name = String::new();
    File::open(link)?.take(NAME_MAX).read_to_string(&mut name)?;
    Ok(PathBuf::from(name))
}

pub(super) fn open_folder_lock(folder: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(FOLDER_LOCK))
}

/// `File::unlock` unlocks twice, and ignores that the second time fails with `ERROR_NOT_LOCKED`.
/// This ignores Wine's other error as well.
pub(super) fn unlock(file: &File) -> io::Result<()> {
    match file.unlock() {
        Err(error) if error.raw_os_error() == Some(LOCK_VIOLATION) => Ok(()),
        result => result,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "fails on Unix")]
pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let (mut bytes, mut offset) = (bytes, offset);
    while !bytes.is_empty() {
        match file.seek_read(bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                bytes = bytes.split_at_mut(count).1;
                offset += count as u64;
            }
        }
    }
    Ok(())
}
