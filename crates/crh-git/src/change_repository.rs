//! Writes many changes into one bare repository. Each change is a commit on top of its own root
//! commit, so that reviewers cannot see the real history.
//!
//! Invariant: equal changes give equal commit ids, and two changes differ only in files and
//! message.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::bare::{BareRepository, DIFF_OPTIONS};
use crate::fast_import::FastImport;
use crate::process::{Git, GitError};
use crate::repository::Repository;
use crate::store_files::quote_alternate;
use crh_os::names::canonical;

/// Committer and date of base commits and of changes.
const BASE_COMMITTER: &str = "Developer <developer@example.com> 1767225600 +0000";
const CHANGE_COMMITTER: &str = "Developer <developer@example.com> 1767312000 +0000";
/// Message of the base commit.
const BASE_MESSAGE: &str = "Initial commit";
/// Branch that `HEAD` points to. Its only commit has no files.
const MAIN: &str = "main";
/// File mode of a submodule.
const SUBMODULE: &str = "160000";

/// A change to write.
#[derive(Debug, Clone)]
pub struct ChangeSpec<'a> {
    /// Commit message.
    pub message: String,
    /// Files before the change.
    pub base: CommitContents<'a>,
    /// Files after the change.
    pub head: CommitContents<'a>,
}

/// Contents of a commit.
#[derive(Debug, Clone)]
pub enum CommitContents<'a> {
    /// Files by path.
    Files(&'a BTreeMap<String, Vec<u8>>),
    /// Id of an existing tree, in this repository or one of the `alternates` of
    /// [`ChangeRepository::new`].
    Tree(String),
}

/// A written change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedChange {
    /// Commit before the change.
    pub base: String,
    /// Commit of the change, a child of `base`.
    pub head: String,
    /// Diff between them; may be empty.
    pub diff: Vec<u8>,
}

/// A bare repository of changes.
#[derive(Debug)]
pub struct ChangeRepository {
    bare: BareRepository,
}

/// Why changes could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ChangeRepositoryError {
    /// The folder could not be written.
    #[error("cannot write the repository `{folder}`", folder = folder.display())]
    Io {
        /// The folder.
        folder: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Git printed fewer results than requested.
    #[error("`git {0}` returned incomplete output")]
    IncompleteOutput(&'static str),
}

impl ChangeRepository {
    /// Creates the repository in an empty folder. It uses the objects of the repositories
    /// `alternates` without copying them.
    pub fn new(folder: &Path, alternates: &[Repository]) -> Result<Self, ChangeRepositoryError> {
        let branch = format!("--initial-branch={MAIN}");
        let git = Git::in_folder(folder);
        git.run(["init", "--quiet", "--bare", "--template=", branch.as_str()])?;
        let io = |source| ChangeRepositoryError::Io { folder: folder.to_owned(), source };
        // Git runs in `folder`, where a path relative to the current folder would be wrong.
        let folder = canonical(folder).map_err(io)?;
        let mut object_folders = Vec::new();
        for alternate in alternates {
            let objects: OsString = quote_alternate(&alternate.common_dir.join("objects"));
            object_folders.extend_from_slice(objects.as_encoded_bytes());
            object_folders.push(b'\n');
        }
        if !object_folders.is_empty() {
            let result = fs::create_dir_all(folder.join("objects/info"))
                .and_then(|()| fs::write(folder.join("objects/info/alternates"), object_folders));
            result.map_err(io)?;
        }
        Ok(Self { bare: BareRepository::new(&folder) })
    }

    /// Trees of pairs of commits, in order; `None` for a pair if a commit or a changed file is
    /// missing. If the base has moved on since the head branched off, the tree of their merge base
    /// takes its place, as in the diff of a pull request.
    pub fn trees(
        &self,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Option<(String, String)>>, ChangeRepositoryError> {
        let names =
            pairs.iter().flat_map(|(base, head)| [self.merge_base(base, head), (*head).to_owned()]);
        let names: Vec<String> = names.map(|name| format!("{name}^{{tree}}")).collect();
        let trees = self.resolve_objects(&names, "tree")?;
        let pairs: Vec<Option<(String, String)>> =
            trees.chunks_exact(2).map(|pair| Some((pair[0].clone()?, pair[1].clone()?))).collect();
        self.complete_pairs(pairs)
    }

    /// The merge base of two commits. `base` itself if the history is missing or unrelated, or if
    /// the change goes back from `base` to its ancestor `head`.
    fn merge_base(&self, base: &str, head: &str) -> String {
        let merge_base = self.bare.git().text(["merge-base", base, head]).ok();
        let is_usable = |commit: &String| !commit.is_empty() && commit != head;
        merge_base.filter(is_usable).unwrap_or_else(|| base.to_owned())
    }

    /// Replaces pairs of trees by `None` if a changed file is missing, as in a partial clone.
    fn complete_pairs(
        &self,
        pairs: Vec<Option<(String, String)>>,
    ) -> Result<Vec<Option<(String, String)>>, ChangeRepositoryError> {
        let unique_pairs: BTreeSet<&(String, String)> = pairs.iter().flatten().collect();
        let list: String =
            unique_pairs.iter().map(|(base, head)| format!("{base} {head}\n")).collect();
        let output = self.run_with_list(&["diff-tree", "-r", "--stdin"], &list)?;
        let output = String::from_utf8_lossy(&output);
        let mut blobs: Vec<(String, (String, String))> = Vec::new();
        let mut pair = (String::new(), String::new());
        for line in output.lines() {
            match line.strip_prefix(':') {
                Some(entry) => {
                    blobs.extend(compared_blobs(entry).into_iter().map(|id| (id, pair.clone())));
                }
                None => {
                    let (base, head) = line.split_once(' ').unwrap_or_default();
                    pair = (base.to_owned(), head.to_owned());
                }
            }
        }
        let ids: Vec<String> = blobs.iter().map(|(id, _)| id.clone()).collect();
        let existing_ids = self.resolve_objects(&ids, "blob")?;
        let missing =
            blobs.into_iter().zip(existing_ids).filter(|(_, existing_id)| existing_id.is_none());
        let incomplete_pairs: BTreeSet<(String, String)> =
            missing.map(|((_, pair), _)| pair).collect();
        let is_complete = |pair: &(String, String)| !incomplete_pairs.contains(pair);
        Ok(pairs.into_iter().map(|pair| pair.filter(is_complete)).collect())
    }

    /// Object ids of a kind by name; `None` for missing objects.
    fn resolve_objects(
        &self,
        names: &[String],
        kind: &str,
    ) -> Result<Vec<Option<String>>, ChangeRepositoryError> {
        let list: String = names.iter().map(|name| format!("{name}\n")).collect();
        let output =
            self.run_with_list(&["cat-file", "--batch-check=%(objecttype) %(objectname)"], &list)?;
        let output = String::from_utf8_lossy(&output);
        let matching_id = |line: &str| {
            let (object_kind, id) = line.split_once(' ')?;
            (object_kind == kind).then(|| id.to_owned())
        };
        let ids: Vec<Option<String>> = output.lines().map(matching_id).collect();
        if ids.len() == names.len() {
            Ok(ids)
        } else {
            Err(ChangeRepositoryError::IncompleteOutput("cat-file"))
        }
    }

    /// Commits the changes, in order.
    pub fn commit_changes(
        &self,
        changes: &[ChangeSpec<'_>],
    ) -> Result<Vec<CommittedChange>, ChangeRepositoryError> {
        let mut import = FastImport::default();
        import.commit(MAIN, BASE_COMMITTER, BASE_MESSAGE, "");
        for (number, change) in (1..).zip(changes) {
            // The name does not describe the change, because reviewers may see it.
            let branch = format!("change-{number}");
            let ChangeSpec { message, base, head } = change;
            for (contents, message, committer) in
                [(base, BASE_MESSAGE, BASE_COMMITTER), (head, message, CHANGE_COMMITTER)]
            {
                import.commit(&branch, committer, message, "");
                match contents {
                    CommitContents::Files(files) => {
                        import.clear();
                        files.iter().for_each(|(path, bytes)| import.file(path, bytes));
                    }
                    CommitContents::Tree(id) => import.tree(id),
                }
            }
        }
        let commits = import.run(&self.bare.git())?;
        let pairs = commits.get(1..).unwrap_or_default().chunks_exact(2);
        let diffs = self.diffs(pairs.clone().map(|pair| &pair[1]))?;
        let committed_changes: Vec<CommittedChange> = pairs
            .map(|pair| CommittedChange {
                base: pair[0].clone(),
                head: pair[1].clone(),
                diff: diffs.get(&pair[1]).cloned().unwrap_or_default(),
            })
            .collect();
        if committed_changes.len() == changes.len() {
            Ok(committed_changes)
        } else {
            Err(ChangeRepositoryError::IncompleteOutput("fast-import"))
        }
    }

    /// Diffs of commits against their parents, by commit. A commit without changes has no entry.
    fn diffs<'a>(
        &self,
        commits: impl Iterator<Item = &'a String>,
    ) -> Result<BTreeMap<String, Vec<u8>>, ChangeRepositoryError> {
        let list: String = commits.map(|commit| format!("{commit}\n")).collect();
        let args = [&["diff-tree", "--stdin", "-p"], DIFF_OPTIONS].concat();
        let output = self.run_with_list(&args, &list)?;
        let mut diffs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut current: Option<String> = None;
        for line in output.split_inclusive(|byte| *byte == b'\n') {
            // A diff line never consists of a commit id.
            if let Some(commit) = parse_commit_line(line) {
                // The same commit may be requested twice.
                diffs.insert(commit.to_owned(), Vec::new());
                current = Some(commit.to_owned());
            } else if let Some(diff) = current.as_ref().and_then(|commit| diffs.get_mut(commit)) {
                diff.extend_from_slice(line);
            }
        }
        Ok(diffs)
    }

    /// Runs git with a list on standard input. An empty list gives empty output.
    fn run_with_list(&self, args: &[&str], list: &str) -> Result<Vec<u8>, ChangeRepositoryError> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.bare.git().run_with_input(args, list.as_bytes())?)
    }
}

/// Ids of the blobs that a line of `git diff-tree` names. `entry` is the line after its colon.
fn compared_blobs(entry: &str) -> Vec<String> {
    let mut words = entry.split([' ', '\t']);
    let modes = [words.next(), words.next()];
    let ids = [words.next(), words.next()];
    let pairs = modes.into_iter().zip(ids).filter_map(|(mode, id)| mode.zip(id));
    let blobs =
        pairs.filter(|(mode, id)| *mode != SUBMODULE && id.bytes().any(|byte| byte != b'0'));
    blobs.map(|(_, id)| id.to_owned()).collect()
}

/// The commit id, if the line consists only of one.
fn parse_commit_line(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let is_id = line.len() == 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(line)
}
