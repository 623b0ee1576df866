//! A lock for posting. Without it, two processes that read a change at the same time would both
//! post.

use std::fs::File;
use std::path::Path;

use crh_os::files::create_private_folder;
use crh_review::identity::content_id;

/// Subfolder of the state folder.
const FOLDER: &str = "posting";

/// Waits until no other crh process of this user posts to the change at `url`. Dropping the
/// returned file releases the lock. `None` if the lock file cannot be created: crh then posts
/// without a lock.
pub(super) fn lock_posts(state: &Path, url: &str) -> Option<File> {
    let folder = state.join(FOLDER);
    create_private_folder(&folder).ok()?;
    let name = content_id(url.as_bytes());
    let file = File::create(folder.join(&name[..32])).ok()?;
    file.lock().ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_post_to_a_change_waits_for_the_first() {
        let state = tempfile::tempdir().unwrap();
        let first = lock_posts(state.path(), "https://a.example/o/r/pull/1").unwrap();
        lock_posts(state.path(), "https://a.example/o/r/pull/2").unwrap();
        std::thread::scope(|threads| {
            let second = threads.spawn(|| lock_posts(state.path(), "https://a.example/o/r/pull/1"));
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(!second.is_finished());
            drop(first);
            assert!(second.join().unwrap().is_some());
        });
    }
}
