//! A git bundle with everything that the tools read: every tree and blob of the commits around a change. The
//! same change gives the same bytes, whatever the clone it is made from looks like.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::bare::{Bare, EMPTY_TREE};
use crate::history::{History, LogError};
use crate::objects::{Objects, ReadError};
use crate::process::{Git, GitError};

/// The first line of a bundle.
const SIGNATURE: &[u8] = b"# v2 git bundle\n";
/// The head of a bundle has a line for each end of its history. Longer ones are no bundles of ours.
const HEAD_MAX: usize = 1 << 20;

/// Why a bundle could not be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is none.
    #[error("this is not a bundle of objects: {0}")]
    NotABundle(&'static str),
    /// A file could not be written.
    #[error("writing `{path}`")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An object could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The history could not be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// The bundle of a change, with other objects that a review of it needs.
pub fn bundle(
    store: &Bare,
    base: &str,
    head: &str,
    also: &BTreeSet<String>,
) -> Result<Vec<u8>, BundleError> {
    let history = History::of(store, base, head)?;
    let mut objects = objects(store, &history, base)?;
    objects.extend(also.iter().filter(|id| *id != EMPTY_TREE).cloned());
    // Not one delta, since which of them are found depends on how the objects lie in the clone.
    let args = [
        "pack-objects",
        "--stdout",
        "--quiet",
        "--threads=1",
        "--window=0",
        "--no-reuse-delta",
        "--no-reuse-object",
    ];
    let list: String = objects.iter().map(|id| format!("{id}\n")).collect();
    let pack = store.git().run_with_input(args, list.as_bytes())?;
    let mut bytes = SIGNATURE.to_vec();
    for parent in history.parents_outside(&store.objects()?)? {
        bytes.extend_from_slice(format!("-{parent} \n").as_bytes());
    }
    for (name, id) in [("base", base), ("head", head)] {
        bytes.extend_from_slice(format!("{id} refs/crh/{name}\n").as_bytes());
    }
    bytes.push(b'\n');
    bytes.extend_from_slice(&pack);
    Ok(bytes)
}

/// Every object of the commits of a history, sorted by name.
fn objects(store: &Bare, history: &History, base: &str) -> Result<BTreeSet<String>, GitError> {
    let mut roots: Vec<&str> = history.commits().collect();
    if base == EMPTY_TREE {
        roots.push(EMPTY_TREE);
    }
    let list: String = roots.iter().map(|id| format!("{id}\n")).collect();
    let args = ["rev-list", "--objects", "--no-object-names", "--no-walk", "--stdin"];
    let printed = store.git().run_with_input(args, list.as_bytes())?;
    let printed = String::from_utf8_lossy(&printed).into_owned();
    Ok(printed.lines().filter(|id| *id != EMPTY_TREE).map(str::to_owned).collect())
}

/// Lays the objects of a bundle out as a bare repository in an empty folder.
pub fn unbundle(bundle: &[u8], folder: &Path) -> Result<(), BundleError> {
    let (tips, pack) = read(bundle)?;
    Git::in_folder(folder).run(["init", "--quiet", "--bare", "--template="])?;
    Git::with_git_dir(folder).run_with_input(["index-pack", "--stdin"], pack)?;
    let ends = ends(&Objects::open(folder)?, tips)?;
    if ends.is_empty() {
        return Ok(());
    }
    let lines: String = ends.iter().map(|id| format!("{id}\n")).collect();
    let path = folder.join("shallow");
    fs::write(&path, lines).map_err(|source| BundleError::Io { path, source })
}

/// The commits that can be reached and have a parent that is missing.
fn ends(objects: &Objects, tips: Vec<String>) -> Result<BTreeSet<String>, ReadError> {
    let mut ends = BTreeSet::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut next: Vec<String> = tips.into_iter().filter(|tip| tip != EMPTY_TREE).collect();
    while let Some(commit) = next.pop() {
        if !seen.insert(commit.clone()) {
            continue;
        }
        for parent in objects.parents(&commit)? {
            if objects.has(&parent) {
                next.push(parent);
            } else {
                ends.insert(commit.clone());
            }
        }
    }
    Ok(ends)
}

/// The commits that a bundle names, and its pack.
fn read(bundle: &[u8]) -> Result<(Vec<String>, &[u8]), BundleError> {
    let rest = bundle.strip_prefix(SIGNATURE).ok_or(BundleError::NotABundle("its first line"))?;
    let head = &rest[..rest.len().min(HEAD_MAX)];
    let length = head
        .windows(2)
        .position(|pair| pair == b"\n\n")
        .ok_or(BundleError::NotABundle("its head has no end"))?;
    let lines = String::from_utf8_lossy(&head[..length]);
    let is_id = |id: &&str| id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let tips = lines.lines().filter(|line| !line.starts_with('-'));
    let tips: Option<Vec<String>> =
        tips.map(|line| line.split(' ').next().filter(is_id).map(str::to_owned)).collect();
    let tips = tips.ok_or(BundleError::NotABundle("a line of its head"))?;
    Ok((tips, &rest[length + 2..]))
}
