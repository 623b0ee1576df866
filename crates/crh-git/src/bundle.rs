//! Git bundles with all trees and blobs that a review reads. The same change gives the same bytes
//! for every kind of clone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::bare::BareRepository;
use crate::history::{ChangeHistory, LogError};
use crate::objects::{EMPTY_TREE, Objects};
use crate::process::{Git, GitError};
use crate::read_error::ReadError;

const SIGNATURE: &[u8] = b"# v2 git bundle\n";
/// Maximum header size. The header has a line for base, head and each missing parent, so 1 MiB is
/// enough for 24,000 missing parents.
const MAX_HEADER_BYTES: usize = 1 << 20;

/// Why a bundle could not be created or opened.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Not a valid bundle.
    #[error("not a valid git bundle: {0}")]
    NotABundle(&'static str),
    /// A file could not be written.
    #[error("cannot write `{path}`")]
    Io {
        /// The file.
        path: PathBuf,
        /// Cause.
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

/// Creates the bundle of a change, with additional objects.
pub fn create_bundle(
    store: &BareRepository,
    base: &str,
    head: &str,
    additional_objects: &BTreeSet<String>,
) -> Result<Vec<u8>, BundleError> {
    let history = ChangeHistory::load(store, base, head)?;
    let mut objects = bundle_objects(store, &history, base)?;
    objects.extend(additional_objects.iter().filter(|id| *id != EMPTY_TREE).cloned());
    // Pack without deltas, because they depend on how the clone is packed.
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

/// All objects of the commits of a history, sorted by id.
fn bundle_objects(
    store: &BareRepository,
    history: &ChangeHistory,
    base: &str,
) -> Result<BTreeSet<String>, GitError> {
    let mut roots: Vec<&str> = history.commits().collect();
    if base == EMPTY_TREE {
        roots.push(EMPTY_TREE);
    }
    let list: String = roots.iter().map(|id| format!("{id}\n")).collect();
    let args = ["rev-list", "--objects", "--no-object-names", "--no-walk", "--stdin"];
    let output = store.git().run_with_input(args, list.as_bytes())?;
    let output = String::from_utf8_lossy(&output).into_owned();
    Ok(output.lines().filter(|id| *id != EMPTY_TREE).map(str::to_owned).collect())
}

/// Unpacks a bundle as a bare repository into an empty folder.
pub fn unbundle(bundle: &[u8], folder: &Path) -> Result<(), BundleError> {
    let (tips, pack) = parse_bundle(bundle)?;
    Git::in_folder(folder).run(["init", "--quiet", "--bare", "--template="])?;
    Git::with_git_dir(folder).run_with_input(["index-pack", "--stdin"], pack)?;
    let boundary = shallow_commits(&Objects::open(folder)?, tips)?;
    if boundary.is_empty() {
        return Ok(());
    }
    let lines: String = boundary.iter().map(|id| format!("{id}\n")).collect();
    let path = folder.join("shallow");
    fs::write(&path, lines).map_err(|source| BundleError::Io { path, source })
}

/// Reachable commits with a missing parent.
fn shallow_commits(objects: &Objects, tips: Vec<String>) -> Result<BTreeSet<String>, ReadError> {
    let mut boundary = BTreeSet::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut pending: Vec<String> = tips.into_iter().filter(|tip| tip != EMPTY_TREE).collect();
    while let Some(commit) = pending.pop() {
        if !seen.insert(commit.clone()) {
            continue;
        }
        for parent in objects.parents(&commit)? {
            if objects.has(&parent) {
                pending.push(parent);
            } else {
                boundary.insert(commit.clone());
            }
        }
    }
    Ok(boundary)
}

/// The tips that the header of a bundle names, and the pack of the bundle.
fn parse_bundle(bundle: &[u8]) -> Result<(Vec<String>, &[u8]), BundleError> {
    let rest = bundle.strip_prefix(SIGNATURE).ok_or(BundleError::NotABundle("wrong first line"))?;
    let header = &rest[..rest.len().min(MAX_HEADER_BYTES)];
    let length = header
        .windows(2)
        .position(|pair| pair == b"\n\n")
        .ok_or(BundleError::NotABundle("the header has no end"))?;
    let lines = String::from_utf8_lossy(&header[..length]);
    let is_id = |id: &&str| id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let tips = lines.lines().filter(|line| !line.starts_with('-'));
    let tips: Option<Vec<String>> =
        tips.map(|line| line.split(' ').next().filter(is_id).map(str::to_owned)).collect();
    let tips = tips.ok_or(BundleError::NotABundle("invalid header line"))?;
    Ok((tips, &rest[length + 2..]))
}
