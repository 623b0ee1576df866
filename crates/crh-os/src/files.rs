//! Files: permissions, owners, links, locks of folders.
//!
//! Windows has access control lists in the place of modes and owners. New files and folders inherit
//! the list of their parent folder, and crh neither changes nor checks it.

#[cfg_attr(unix, path = "files/unix.rs")]
#[cfg_attr(windows, path = "files/windows.rs")]
mod system;

use std::fs::{DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::Builder;

/// Mode of a folder that only its owner can use.
pub const PRIVATE_FOLDER: u32 = 0o700;
/// Mode of a file that only its owner can read.
pub const PRIVATE_FILE: u32 = 0o600;

/// A builder of folders with this mode. Windows: with the rights of the parent folder.
pub fn folder_builder(mode: u32) -> DirBuilder {
    let mut builder = DirBuilder::new();
    system::set_folder_mode(&mut builder, mode);
    builder
}

/// Creates a folder that only its owner can use, and its missing parents.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    folder_builder(PRIVATE_FOLDER).recursive(true).create(folder)
}

/// Options whose new files have this mode. Windows: with the rights of the folder.
pub fn open_options(mode: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    system::set_file_mode(&mut options, mode);
    options
}

/// A builder of temporary files and folders with this mode. Windows: with the rights of the folder.
pub fn temp_builder<'a, 'b>(mode: u32) -> Builder<'a, 'b> {
    let mut builder = Builder::new();
    system::set_temp_mode(&mut builder, mode);
    builder
}

/// Sets the mode of a file or folder. Windows: does nothing.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    system::set_mode(path, mode)
}

/// Sets the mode of an open file. Windows: does nothing.
pub fn set_mode_of(file: &File, mode: u32) -> io::Result<()> {
    system::set_mode_of(file, mode)
}

/// The mode of a file. Windows: `None`.
pub fn mode(metadata: &Metadata) -> Option<u32> {
    system::mode(metadata)
}

/// Numbers that identify a file on this machine while it exists. Windows: `None`.
pub fn file_id(metadata: &Metadata) -> Option<(u64, u64)> {
    system::file_id(metadata)
}

/// Whether a file belongs to the user who runs crh. Windows: always true, because the owner cannot
/// be read without unsafe code.
pub fn is_own(metadata: &Metadata) -> bool {
    system::is_own(metadata)
}

/// Fails if files cannot be created in a folder, as far as the system tells. Windows: never fails.
pub fn check_writable(folder: &Path) -> io::Result<()> {
    system::check_writable(folder)
}

/// Creates a symlink. Windows: needs the right to create links, which only administrators and
/// developer mode have.
pub fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    system::symlink(target, link)
}

/// Creates a link to a name in the same folder. Windows: a file with the name as its text, as git
/// writes links there, because creating a symlink needs a right that most users do not have.
pub fn create_name_link(name: &Path, link: &Path) -> io::Result<()> {
    system::create_name_link(name, link)
}

/// Whether an entry can be a link that [`create_name_link`] created.
pub fn is_name_link(kind: FileType) -> bool {
    system::is_name_link(kind)
}

/// The name that [`create_name_link`] stored.
pub fn read_name_link(link: &Path) -> io::Result<PathBuf> {
    system::read_name_link(link)
}

/// Opens the file to call [`File::lock`] on, to lock a folder. It is the folder itself, because a
/// program could delete a lock file and create it again. Windows cannot lock a folder, so there it
/// is the file `.lock` in the folder.
pub fn open_folder_lock(folder: &Path) -> io::Result<File> {
    system::open_folder_lock(folder)
}

/// Releases the lock of a file. Windows: ignores Wine's error for a lock that was already released.
pub fn unlock(file: &File) -> io::Result<()> {
    system::unlock(file)
}

/// Flushes the names in a folder to disk. Windows: does nothing, because NTFS logs renames.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    system::sync_folder(folder)
}

/// Fills `bytes` with the bytes of the file from an offset on.
pub fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    system::read_exact_at(file, bytes, offset)
}
