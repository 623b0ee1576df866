//! Files of a store: its locks, the copy of an index, and paths in `alternates`.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::{fs, io};

use crh_os::files;
use crh_os::names::os_str;

/// Lock file of crh in a store.
pub(crate) const LOCK: &str = "crh.lock";

/// Lock files of git in a store, except those of refs, which are next to each ref.
const GIT_LOCKS: &[&str] = &["shallow.lock", "packed-refs.lock", "config.lock"];

/// Whether a git folder is a store that crh created.
pub(crate) fn is_store(git_dir: &Path) -> bool {
    git_dir.join(LOCK).is_file()
}

/// Locks a store and removes git locks left by a killed process, which would block all later
/// fetches.
pub(crate) fn lock_store(folder: &Path) -> io::Result<File> {
    let lock = File::create(folder.join(LOCK))?;
    lock.lock()?;
    for name in GIT_LOCKS {
        remove_if_exists(&folder.join(name))?;
    }
    let mut folders = vec![folder.join("refs")];
    while let Some(refs_folder) = folders.pop() {
        let entries = match fs::read_dir(&refs_folder) {
            Ok(entries) => entries,
            // The folder of the refs is not created yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|extension| extension == "lock") {
                // No ref ends in `.lock`.
                remove_if_exists(&entry.path())?;
            }
        }
    }
    Ok(lock)
}

/// Copies an index with its modification time. Git compares the times of files with the time of the
/// index to detect changes.
pub(crate) fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    remove_if_exists(to)?;
    fs::copy(from, to)?;
    // The user's index may be read-only.
    files::set_mode(to, files::PRIVATE_FILE)?;
    let modified_time = fs::metadata(from)?.modified()?;
    File::options().write(true).open(to)?.set_modified(modified_time)
}

pub(crate) fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Quotes a path for `alternates` if needed.
pub(crate) fn quote_alternate(path: &Path) -> OsString {
    let bytes = path.as_os_str().as_encoded_bytes();
    let has_plain_start = !bytes.starts_with(b"\"") && !bytes.starts_with(b"#");
    if has_plain_start && !bytes.iter().any(|byte| matches!(byte, b'\n' | b':')) {
        return path.as_os_str().to_owned();
    }
    let mut quoted = vec![b'"'];
    for byte in bytes {
        match byte {
            b'\n' => quoted.extend_from_slice(b"\\n"),
            b'"' | b'\\' => quoted.extend_from_slice(&[b'\\', *byte]),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'"');
    // On Windows, a path that is not Unicode stays unquoted.
    os_str(&quoted).unwrap_or(path.as_os_str()).to_owned()
}
