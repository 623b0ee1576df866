//! Unix: modes, owners and locks of folders.

use std::fs;
use std::fs::{DirBuilder, File, FileType, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use tempfile::Builder;

pub(super) fn set_folder_mode(builder: &mut DirBuilder, mode: u32) {
    builder.mode(mode);
}

pub(super) fn set_file_mode(options: &mut OpenOptions, mode: u32) {
    options.mode(mode);
}

pub(super) fn set_temp_mode(builder: &mut Builder<'_, '_>, mode: u32) {
    builder.permissions(Permissions::from_mode(mode));
}

pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

pub(super) fn set_mode_of(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

#[expect(clippy::unnecessary_wraps, reason = "Windows has no modes")]
pub(super) fn mode(metadata: &Metadata) -> Option<u32> {
    Some(metadata.mode())
}

#[expect(clippy::unnecessary_wraps, reason = "Windows does not tell")]
pub(super) fn file_id(metadata: &Metadata) -> Option<(u64, u64)> {
    Some((metadata.dev(), metadata.ino()))
}

pub(super) fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

pub(super) fn check_writable(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?)
}

pub(super) fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

pub(super) fn create_name_link(name: &Path, link: &Path) -> io::Result<()> {
    symlink(name, link)
}

pub(super) fn is_name_link(kind: FileType) -> bool {
    kind.is_symlink()
}

pub(super) fn read_name_link(link: &Path) -> io::Result<PathBuf> {
    fs::read_link(link)
}

pub(super) fn open_folder_lock(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

pub(super) fn unlock(file: &File) -> io::Result<()> {
    file.unlock()
}

pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

pub(super) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(bytes, offset)
}
