//! Resolves symlinks after the change, as a file system does: through other links and linked
//! folders.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};

use super::{FileSource, MODE_LINK};
use crh_git::PathEntryKind;
use crh_review::diff::{Diff, FileDiff, LineKind, RepoPath};
use crh_review::finding::Side;

/// Maximum number of links on the way to a target, as on Linux.
const HOPS_MAX: usize = 40;
/// Maximum length of a target, as on Linux.
const TARGET_BYTES_MAX: usize = 4_096;
/// Maximum number of path parts that crh follows for all links of the tree.
const STEPS_MAX: usize = 2_000_000;
/// Maximum number of files in linked folders that crh looks at in one review.
const LINKED_FILES_MAX: usize = 5_000;

/// Where a symlink leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinkTarget {
    /// A file or folder of the repository.
    Inside(Vec<u8>),
    /// A path that the reviewed tree does not have: outside of it, in `.git`, in a submodule, or
    /// missing.
    Outside,
    /// The links lead back to themselves, or there are more than [`HOPS_MAX`].
    Loop,
}

/// A symlink that leads through another symlink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkName {
    pub(super) path: Vec<u8>,
    pub(super) target: LinkTarget,
}

/// Symlinks after the change.
pub(super) struct HeadLinks<'a, F> {
    files: &'a F,
    /// Targets of links in the diff.
    in_diff: HashMap<&'a [u8], Vec<u8>>,
    entries: RefCell<HashMap<Vec<u8>, HeadEntry>>,
    steps: Cell<usize>,
    linked_files: Cell<usize>,
    tree: OnceCell<Option<LinkTree>>,
}

/// Entry at a path after the change.
#[derive(Debug, Clone)]
enum HeadEntry {
    Link(Vec<u8>),
    Folder,
    File,
    /// Missing, unreadable or a submodule.
    Outside,
    /// There is no repository to look at.
    Unknown,
}

/// Files and links of the whole tree.
struct LinkTree {
    /// Paths of files and links, sorted.
    paths: Vec<Vec<u8>>,
    /// Links that lead through another link, by the path of that other link.
    through: BTreeMap<Vec<u8>, Vec<LinkName>>,
    /// Paths of links by their target.
    by_target: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
}

impl<'a, F: FileSource> HeadLinks<'a, F> {
    pub(super) fn new(diff: &'a Diff, files: &'a F) -> Self {
        let is_link = |file: &&FileDiff| file.new_mode == Some(MODE_LINK);
        let target = |file: &'a FileDiff| {
            let lines = file.hunks.iter().flat_map(|hunk| diff.lines(hunk));
            let added = lines.filter(|line| line.kind == LineKind::Added).map(|line| line.text());
            let added: Vec<&[u8]> = added.collect();
            (!added.is_empty()).then(|| (file.path.as_bytes(), added.join(&b'\n')))
        };
        Self {
            files,
            in_diff: diff.files().iter().filter(is_link).filter_map(target).collect(),
            entries: RefCell::default(),
            steps: Cell::new(0),
            linked_files: Cell::new(0),
            tree: OnceCell::new(),
        }
    }

    pub(super) fn is_link(&self, path: &[u8]) -> bool {
        matches!(self.entry(path), HeadEntry::Link(_))
    }

    pub(super) fn is_file(&self, path: &[u8]) -> bool {
        matches!(self.entry(path), HeadEntry::File)
    }

    /// Where a link leads.
    pub(super) fn target(&self, link: &[u8]) -> LinkTarget {
        self.resolve(link).0
    }

    /// Other links that lead through this link. `None` if there are too many links, or if crh
    /// cannot list the files.
    pub(super) fn links_through(&self, link: &[u8]) -> Option<&[LinkName]> {
        let tree = self.tree()?;
        Some(tree.through.get(link).map_or(&[], Vec::as_slice))
    }

    /// Paths that lead to a file through a link to it or to one of its folders.
    pub(super) fn aliases(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let Some(tree) = self.tree() else { return Vec::new() };
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let ends = ends.map(|(index, _)| index).chain([path.len()]);
        let alias = |end: usize| {
            let (start, rest) = path.split_at(end);
            let links = tree.by_target.get(start).into_iter().flatten();
            links.map(move |link| [link.as_slice(), rest].concat())
        };
        ends.flat_map(alias).collect()
    }

    /// Files below a folder, relative to it. `None` if there are too many to look at, or if crh
    /// cannot list them.
    pub(super) fn files_below(&self, folder: &[u8]) -> Option<Vec<&[u8]>> {
        let prefix = if folder.is_empty() { Vec::new() } else { [folder, b"/"].concat() };
        let paths = &self.tree()?.paths;
        let first = paths.partition_point(|path| path.as_slice() < prefix.as_slice());
        let below = paths.get(first..)?.iter().map_while(|path| path.strip_prefix(&*prefix));
        let below: Vec<&[u8]> = below.take(LINKED_FILES_MAX + 1).collect();
        self.linked_files.set(self.linked_files.get() + below.len());
        (self.linked_files.get() <= LINKED_FILES_MAX).then_some(below)
    }

    /// Whether there is a repository.
    pub(super) fn has_tree(&self) -> bool {
        !matches!(self.files.entry(b""), Ok(None))
    }

    fn tree(&self) -> Option<&LinkTree> {
        self.tree.get_or_init(|| self.read_tree()).as_ref()
    }

    fn read_tree(&self) -> Option<LinkTree> {
        let files = self.files.head_files()?;
        let mut tree =
            LinkTree { paths: Vec::new(), through: BTreeMap::new(), by_target: BTreeMap::new() };
        for (path, kind) in files {
            if kind == PathEntryKind::Link {
                let (target, hops) = self.resolve(&path);
                if self.steps.get() > STEPS_MAX {
                    return None;
                }
                if let LinkTarget::Inside(target) = &target {
                    tree.by_target.entry(target.clone()).or_default().push(path.clone());
                }
                for hop in hops.into_iter().filter(|hop| *hop != path) {
                    let name = LinkName { path: path.clone(), target: target.clone() };
                    tree.through.entry(hop).or_default().push(name);
                }
            }
            tree.paths.push(path);
        }
        tree.paths.sort_unstable();
        Some(tree)
    }

    /// Target of a link, and the links on the way to it.
    fn resolve(&self, link: &[u8]) -> (LinkTarget, Vec<Vec<u8>>) {
        let mut hops = Vec::new();
        let mut folder: Vec<Vec<u8>> = Vec::new();
        // Remaining parts of the path, in reverse order.
        let mut pending = parts_reversed(link);
        while let Some(part) = pending.pop() {
            self.steps.set(self.steps.get() + 1);
            match part.as_slice() {
                b"" | b"." => continue,
                b".." if folder.pop().is_some() => continue,
                b".." => return (LinkTarget::Outside, hops),
                part if part.eq_ignore_ascii_case(b".git") => return (LinkTarget::Outside, hops),
                _ => folder.push(part),
            }
            let path = folder.join(&b'/');
            match self.entry(&path) {
                HeadEntry::Folder | HeadEntry::Unknown => {}
                HeadEntry::File if pending.is_empty() => {}
                HeadEntry::File | HeadEntry::Outside => return (LinkTarget::Outside, hops),
                HeadEntry::Link(target) => {
                    if hops.len() >= HOPS_MAX {
                        return (LinkTarget::Loop, hops);
                    }
                    hops.push(path);
                    let is_invalid = target.is_empty() || target.len() > TARGET_BYTES_MAX;
                    if is_invalid || target.starts_with(b"/") {
                        return (LinkTarget::Outside, hops);
                    }
                    folder.pop();
                    pending.extend(parts_reversed(&target));
                }
            }
        }
        (LinkTarget::Inside(folder.join(&b'/')), hops)
    }

    fn entry(&self, path: &[u8]) -> HeadEntry {
        if let Some(entry) = self.entries.borrow().get(path) {
            return entry.clone();
        }
        let in_diff = || self.in_diff.get(path).cloned().map(HeadEntry::Link);
        let content = || self.files.content(Side::New, &RepoPath::new(path)).ok().flatten();
        let entry = match self.files.entry(path) {
            Ok(None) => in_diff().unwrap_or(HeadEntry::Unknown),
            Ok(Some(PathEntryKind::Link)) => {
                content().map(HeadEntry::Link).or_else(in_diff).unwrap_or(HeadEntry::Outside)
            }
            Ok(Some(PathEntryKind::Folder)) => HeadEntry::Folder,
            Ok(Some(PathEntryKind::File | PathEntryKind::Executable)) => HeadEntry::File,
            Ok(Some(PathEntryKind::Submodule)) | Err(_) => HeadEntry::Outside,
        };
        self.entries.borrow_mut().insert(path.to_vec(), entry.clone());
        entry
    }
}

fn parts_reversed(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec).collect()
}
