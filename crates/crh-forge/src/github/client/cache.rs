//! Answers that were given before, on disk: a host that says "not modified" need not say it all again, and does not count it.
//!
//! Whose answers they are is part of their name, so that two accounts never share one. A file that is damaged, or of another
//! shape, is as if it were not there.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The largest answer that is kept: a page of a hundred long comments has 7 MB.
const ENTRY_MAX: u64 = 16 << 20;

/// The most files that are kept: a pull request has about ten, a very large one a hundred.
const FILES_MAX: usize = 2_000;

/// The most bytes that are kept, of all pull requests together. One run keeps no more either: what comes after that would only be
/// thrown away at its end.
const BYTES_MAX: u64 = 256 << 20;

/// The shape of the files. Another number is another name, so that old files are never read.
const SHAPE: &str = "1";

/// How the name of a file of ours ends.
const ENDING: &str = ".reply";

/// Where answers are kept.
#[derive(Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
    /// How many bytes this run may still keep. Once it has kept any, old answers are thrown away at the end, when all of the run
    /// are there.
    room: AtomicU64,
}

/// An answer that was given before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) etag: String,
    pub(super) link: Option<String>,
    pub(super) body: Vec<u8>,
}

/// The first line of a file.
#[derive(Serialize, Deserialize)]
struct Label {
    etag: String,
    link: Option<String>,
    sha256: String,
}

impl Cache {
    /// Keeps answers in this folder, which is made when the first one is kept.
    pub fn at(folder: PathBuf) -> Self {
        Self { folder: Some(folder), room: AtomicU64::new(BYTES_MAX) }
    }

    /// Keeps nothing and knows nothing.
    pub fn none() -> Self {
        Self { folder: None, room: AtomicU64::new(0) }
    }

    /// The name of an answer: what was asked, in which form, and by whom.
    pub(super) fn name(url: &str, accept: &str, account: &str) -> String {
        let asked = [SHAPE, "GET", url, accept, account].join("\n");
        format!("{}{ENDING}", hex(asked.as_bytes()))
    }

    /// The answer of this name.
    pub(super) fn find(&self, name: &str) -> Option<Kept> {
        let path = self.folder.as_ref()?.join(name);
        // What is larger than anything that was kept is not of ours.
        let size = fs::metadata(&path).ok()?.len();
        if size > ENTRY_MAX * 2 {
            return None;
        }
        let bytes = fs::read(&path).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let label: Label = serde_json::from_slice(&bytes[..end]).ok()?;
        let body = bytes[end + 1..].to_vec();
        (hex(&body) == label.sha256).then_some(Kept { etag: label.etag, link: label.link, body })
    }

    /// Keeps an answer under this name. That it could not be kept costs a little time later, and is no failure.
    pub(super) fn keep(&self, name: &str, kept: &Kept) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let size = kept.body.len() as u64;
        let left = |room: u64| room.checked_sub(size);
        let has_room =
            || self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok();
        if size > ENTRY_MAX || !has_room() {
            return Ok(());
        }
        private_folder(folder)?;
        let label =
            Label { etag: kept.etag.clone(), link: kept.link.clone(), sha256: hex(&kept.body) };
        // A file of its own that takes the name at the end, readable by its owner alone: nobody ever sees half an answer.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        serde_json::to_writer(&mut file, &label)?;
        file.write_all(b"\n")?;
        file.write_all(&kept.body)?;
        file.persist(folder.join(name))?;
        Ok(())
    }

    /// Marks an answer as used: what is used most is thrown away last.
    pub(super) fn used(&self, name: &str, now: SystemTime) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        fs::File::open(folder.join(name))?.set_modified(now)
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let has_grown = *self.room.get_mut() < BYTES_MAX;
        if let Some(folder) = self.folder.as_ref().filter(|_| has_grown) {
            // What is not thrown away now is thrown away by the next one.
            drop(prune(folder, FILES_MAX, BYTES_MAX));
        }
    }
}

#[cfg(unix)]
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;

    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Throws away the oldest answers until what is left is within bounds.
fn prune(folder: &Path, files_max: usize, bytes_max: u64) -> io::Result<()> {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().ends_with(ENDING) {
            continue;
        }
        // Somebody else may be throwing away as well.
        let Ok(found) = entry.metadata() else { continue };
        files.push((found.modified()?, found.len(), entry.path()));
    }
    files.sort_by(|one, other| other.cmp(one));
    let mut bytes = 0;
    for (place, (_, size, path)) in files.iter().enumerate() {
        bytes += size;
        if place >= files_max || bytes > bytes_max {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn kept(body: &str) -> Kept {
        let link = Some("<x>; rel=\"next\"".to_owned());
        Kept { etag: "W/\"1\"".to_owned(), link, body: body.as_bytes().to_vec() }
    }

    fn name(number: u32) -> String {
        Cache::name(&format!("https://h/{number}"), "json", "me")
    }

    #[test]
    fn what_was_kept_is_found_by_whoever_asked_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("a/b"));
        assert_eq!(cache.find(&name(1)), None);
        cache.keep(&name(1), &kept("[1]\n2")).unwrap();
        assert_eq!(cache.find(&name(1)), Some(kept("[1]\n2")));
        cache.keep(&name(1), &kept("")).unwrap();
        assert_eq!(cache.find(&name(1)), Some(kept("")));
        for other in [
            Cache::name("https://h/1", "json", "you"),
            Cache::name("https://h/1", "text", "me"),
            name(2),
        ] {
            assert_eq!(cache.find(&other), None);
        }
        Cache::none().keep(&name(1), &kept("x")).unwrap();
        assert_eq!(Cache::none().find(&name(1)), None);
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_what_is_kept() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("forge");
        Cache::at(inside.clone()).keep(&name(1), &kept("x")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&inside), mode(&inside.join(name(1)))), (0o700, 0o600));
    }

    #[test]
    fn a_damaged_file_is_as_if_it_were_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        cache.keep(&name(1), &kept("[1, 2, 3]")).unwrap();
        let path = folder.path().join(name(1));
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(cache.find(&name(1)), None, "cut at {cut}");
        }
        let mut other = whole.clone();
        *other.last_mut().unwrap() ^= 1;
        fs::write(&path, &other).unwrap();
        assert_eq!(cache.find(&name(1)), None);
        fs::write(&path, &whole).unwrap();
        assert_eq!(cache.find(&name(1)), Some(kept("[1, 2, 3]")));
    }

    #[test]
    fn the_oldest_answers_go_first_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        for number in 1..=5 {
            cache.keep(&name(number), &kept("x")).unwrap();
            let file = fs::File::open(folder.path().join(name(number))).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(number.into());
            file.set_modified(time).unwrap();
        }
        fs::write(folder.path().join("other"), "not ours").unwrap();
        let left =
            || (1..=5).filter(|number| cache.find(&name(*number)).is_some()).collect::<Vec<_>>();
        prune(folder.path(), 3, BYTES_MAX).unwrap();
        assert_eq!(left(), [3, 4, 5]);
        let size = fs::metadata(folder.path().join(name(5))).unwrap().len();
        prune(folder.path(), FILES_MAX, size * 2).unwrap();
        assert_eq!(left(), [4, 5]);
        assert!(folder.path().join("other").exists());
    }

    #[test]
    fn what_was_used_last_stays() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        for number in 1..=3 {
            cache.keep(&name(number), &kept("x")).unwrap();
            cache.used(&name(number), time(number.into())).unwrap();
        }
        cache.used(&name(1), time(9)).unwrap();
        prune(folder.path(), 1, BYTES_MAX).unwrap();
        assert!(cache.find(&name(1)).is_some());
        assert!(cache.used(&name(2), time(9)).is_err());
        Cache::none().used(&name(1), time(9)).unwrap();
    }

    #[test]
    fn the_bounds_hold_when_a_client_ends() {
        let folder = tempfile::tempdir().unwrap();
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let cache = Cache::at(folder.path().to_owned());
        cache.keep(&name(1), &kept("x")).unwrap();
        for number in 0..FILES_MAX {
            fs::write(folder.path().join(format!("{number}{ENDING}")), "").unwrap();
        }
        drop(Cache::at(folder.path().to_owned()));
        assert_eq!(files(), FILES_MAX + 1, "nothing was kept by this one");
        drop(cache);
        assert_eq!(files(), FILES_MAX);
    }

    #[test]
    fn a_run_keeps_no_more_than_there_is_room_for() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { folder: Some(folder.path().to_owned()), room: AtomicU64::new(10) };
        for (number, body, is_kept) in [(1, "123456", true), (2, "12345", false), (3, "1234", true)]
        {
            cache.keep(&name(number), &kept(body)).unwrap();
            assert_eq!(cache.find(&name(number)).is_some(), is_kept, "{number}");
        }
    }

    #[test]
    fn what_is_too_large_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        cache.keep(&name(1), &kept(&"x".repeat(ENTRY_MAX as usize + 1))).unwrap();
        assert_eq!(cache.find(&name(1)), None);
    }
}
