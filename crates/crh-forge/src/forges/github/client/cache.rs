//! On-disk cache of replies. If a reply has not changed, GitHub sends only a short "not modified",
//! which does not count against the rate limit.
//!
//! The account is part of the cache key, so that two accounts never share a reply. Damaged files
//! and files of another format are ignored.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Largest cached reply. A page of a hundred long comments has 7 MB.
const ENTRY_MAX: u64 = 16 << 20;

/// Maximum number of cached files. A pull request needs about ten, a very large one a hundred.
const FILES_MAX: usize = 2_000;

/// Maximum bytes that the cache holds, and maximum bytes that one process stores.
const BYTES_MAX: u64 = 256 << 20;

/// Part of the hash in each file name, so that a new format never reads old files.
const FORMAT_VERSION: &str = "1";

const FILE_SUFFIX: &str = ".reply";

/// Cache of replies.
#[derive(Debug)]
pub struct ReplyCache {
    folder: Option<PathBuf>,
    /// Bytes that this process may still store. If it stored anything, dropping the cache prunes
    /// old replies.
    remaining_bytes: AtomicU64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CachedReply {
    pub(super) etag: String,
    pub(super) link: Option<String>,
    pub(super) body: Vec<u8>,
}

/// First line of a cache file.
#[derive(Serialize, Deserialize)]
struct CacheEntryHeader {
    etag: String,
    link: Option<String>,
    sha256: String,
}

impl ReplyCache {
    /// Caches replies in this folder. The first stored reply creates it.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder: Some(folder), remaining_bytes: AtomicU64::new(BYTES_MAX) }
    }

    /// A cache that stores and finds nothing.
    pub fn disabled() -> Self {
        Self { folder: None, remaining_bytes: AtomicU64::new(0) }
    }

    /// File name of a reply: a hash of the URL, the `Accept` header and the account.
    pub(super) fn name(url: &str, accept: &str, account: &str) -> String {
        let key_text = [FORMAT_VERSION, "GET", url, accept, account].join("\n");
        format!("{}{FILE_SUFFIX}", sha256_hex(key_text.as_bytes()))
    }

    pub(super) fn find(&self, name: &str) -> Option<CachedReply> {
        let path = self.folder.as_ref()?.join(name);
        let size = fs::metadata(&path).ok()?.len();
        // crh writes no file of this size, so the file is damaged.
        if size > ENTRY_MAX * 2 {
            return None;
        }
        let bytes = fs::read(&path).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let header: CacheEntryHeader = serde_json::from_slice(&bytes[..end]).ok()?;
        let body = bytes[end + 1..].to_vec();
        (sha256_hex(&body) == header.sha256).then_some(CachedReply {
            etag: header.etag,
            link: header.link,
            body,
        })
    }

    /// Stores a reply. Callers may ignore errors: without a cached reply, crh only downloads again.
    pub(super) fn store(&self, name: &str, cached: &CachedReply) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let size = cached.body.len() as u64;
        let deduct = |remaining: u64| remaining.checked_sub(size);
        let fits_process_limit = || {
            self.remaining_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, deduct).is_ok()
        };
        if size > ENTRY_MAX || !fits_process_limit() {
            return Ok(());
        }
        private_folder(folder)?;
        let header = CacheEntryHeader {
            etag: cached.etag.clone(),
            link: cached.link.clone(),
            sha256: sha256_hex(&cached.body),
        };
        // Only the owner can read the temporary file. It is renamed when it is complete, so that
        // readers never see half a reply.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        serde_json::to_writer(&mut file, &header)?;
        file.write_all(b"\n")?;
        file.write_all(&cached.body)?;
        file.persist(folder.join(name))?;
        Ok(())
    }

    /// Marks a reply as recently used, so that pruning removes older ones first.
    pub(super) fn touch(&self, name: &str, now: SystemTime) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        fs::File::open(folder.join(name))?.set_modified(now)
    }
}

impl Drop for ReplyCache {
    fn drop(&mut self) {
        let has_grown = *self.remaining_bytes.get_mut() < BYTES_MAX;
        if let Some(folder) = self.folder.as_ref().filter(|_| has_grown) {
            // Errors do not matter: the next process that stores a reply prunes again.
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

/// Removes the oldest replies until the rest is within the limits.
fn prune(folder: &Path, files_max: usize, bytes_max: u64) -> io::Result<()> {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().ends_with(FILE_SUFFIX) {
            continue;
        }
        // Another process may prune at the same time.
        let Ok(metadata) = entry.metadata() else { continue };
        files.push((metadata.modified()?, metadata.len(), entry.path()));
    }
    files.sort_by(|one, other| other.cmp(one));
    let mut bytes = 0;
    for (index, (_, size, path)) in files.iter().enumerate() {
        bytes += size;
        if index >= files_max || bytes > bytes_max {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(())
}

pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn cached_reply(body: &str) -> CachedReply {
        let link = Some("<x>; rel=\"next\"".to_owned());
        CachedReply { etag: "W/\"1\"".to_owned(), link, body: body.as_bytes().to_vec() }
    }

    fn name(number: u32) -> String {
        ReplyCache::name(&format!("https://h/{number}"), "json", "me")
    }

    #[test]
    fn stored_reply_is_found_only_by_its_account() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ReplyCache::in_folder(folder.path().join("a/b"));
        assert_eq!(cache.find(&name(1)), None);
        cache.store(&name(1), &cached_reply("[1]\n2")).unwrap();
        assert_eq!(cache.find(&name(1)), Some(cached_reply("[1]\n2")));
        cache.store(&name(1), &cached_reply("")).unwrap();
        assert_eq!(cache.find(&name(1)), Some(cached_reply("")));
        for other in [
            ReplyCache::name("https://h/1", "json", "you"),
            ReplyCache::name("https://h/1", "text", "me"),
            name(2),
        ] {
            assert_eq!(cache.find(&other), None);
        }
        ReplyCache::disabled().store(&name(1), &cached_reply("x")).unwrap();
        assert_eq!(ReplyCache::disabled().find(&name(1)), None);
    }

    #[cfg(unix)]
    #[test]
    fn cache_is_readable_only_by_owner() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("forge");
        ReplyCache::in_folder(inside.clone()).store(&name(1), &cached_reply("x")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&inside), mode(&inside.join(name(1)))), (0o700, 0o600));
    }

    #[test]
    fn damaged_cache_file_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ReplyCache::in_folder(folder.path().to_owned());
        cache.store(&name(1), &cached_reply("[1, 2, 3]")).unwrap();
        let path = folder.path().join(name(1));
        let complete_file = fs::read(&path).unwrap();
        for cut in 0..complete_file.len() {
            fs::write(&path, &complete_file[..cut]).unwrap();
            assert_eq!(cache.find(&name(1)), None, "cut at {cut}");
        }
        let mut other = complete_file.clone();
        *other.last_mut().unwrap() ^= 1;
        fs::write(&path, &other).unwrap();
        assert_eq!(cache.find(&name(1)), None);
        fs::write(&path, &complete_file).unwrap();
        assert_eq!(cache.find(&name(1)), Some(cached_reply("[1, 2, 3]")));
    }

    #[test]
    fn pruning_removes_oldest_replies_only() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ReplyCache::in_folder(folder.path().to_owned());
        for number in 1..=5 {
            cache.store(&name(number), &cached_reply("x")).unwrap();
            let file = fs::File::open(folder.path().join(name(number))).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(number.into());
            file.set_modified(time).unwrap();
        }
        fs::write(folder.path().join("other"), "not ours").unwrap();
        let remaining =
            || (1..=5).filter(|number| cache.find(&name(*number)).is_some()).collect::<Vec<_>>();
        prune(folder.path(), 3, BYTES_MAX).unwrap();
        assert_eq!(remaining(), [3, 4, 5]);
        let size = fs::metadata(folder.path().join(name(5))).unwrap().len();
        prune(folder.path(), FILES_MAX, size * 2).unwrap();
        assert_eq!(remaining(), [4, 5]);
        assert!(folder.path().join("other").exists());
    }

    #[test]
    fn pruning_keeps_recently_used_replies() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ReplyCache::in_folder(folder.path().to_owned());
        let time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        for number in 1..=3 {
            cache.store(&name(number), &cached_reply("x")).unwrap();
            cache.touch(&name(number), time(number.into())).unwrap();
        }
        cache.touch(&name(1), time(9)).unwrap();
        prune(folder.path(), 1, BYTES_MAX).unwrap();
        assert!(cache.find(&name(1)).is_some());
        assert!(cache.touch(&name(2), time(9)).is_err());
        ReplyCache::disabled().touch(&name(1), time(9)).unwrap();
    }

    #[test]
    fn cache_is_pruned_on_drop() {
        let folder = tempfile::tempdir().unwrap();
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let cache = ReplyCache::in_folder(folder.path().to_owned());
        cache.store(&name(1), &cached_reply("x")).unwrap();
        for number in 0..FILES_MAX {
            fs::write(folder.path().join(format!("{number}{FILE_SUFFIX}")), "").unwrap();
        }
        drop(ReplyCache::in_folder(folder.path().to_owned()));
        assert_eq!(files(), FILES_MAX + 1, "a cache that stored nothing does not prune");
        drop(cache);
        assert_eq!(files(), FILES_MAX);
    }

    #[test]
    fn run_stores_at_most_the_byte_limit() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ReplyCache {
            folder: Some(folder.path().to_owned()),
            remaining_bytes: AtomicU64::new(10),
        };
        for (number, body, is_kept) in [(1, "123456", true), (2, "12345", false), (3, "1234", true)]
        {
            cache.store(&name(number), &cached_reply(body)).unwrap();
            assert_eq!(cache.find(&name(number)).is_some(), is_kept, "{number}");
        }
    }

    #[test]
    fn oversized_reply_is_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ReplyCache::in_folder(folder.path().to_owned());
        cache.store(&name(1), &cached_reply(&"x".repeat(ENTRY_MAX as usize + 1))).unwrap();
        assert_eq!(cache.find(&name(1)), None);
    }
}
