//! Many changes as commits of one bare repository, each a commit on top of one without a parent: what was there before
//! them has no history that could tell anything.
//!
//! Invariant: the same changes give the same commits, and nothing but the files and the message differs between two.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::bare::{Bare, DIFF_OPTIONS};
use crate::fast_import::FastImport;
use crate::process::{Git, GitError};
use crate::repository::Repository;
use crate::store::quoted;

/// Who commits, and when.
const BEFORE: &str = "Developer <developer@example.com> 1767225600 +0000";
const AFTER: &str = "Developer <developer@example.com> 1767312000 +0000";
/// What is said of everything that was there before a change.
const BEFORE_MESSAGE: &str = "Initial commit";
/// The branch that `HEAD` names. It has no file, so that nothing is found there whichever changes there are.
const MAIN: &str = "main";
/// A file mode that means: this is in another repository.
const SUBMODULE: &str = "160000";

/// A change to be laid out.
#[derive(Debug, Clone)]
pub struct Designed<'a> {
    /// The message of its commit.
    pub message: String,
    /// What is there before.
    pub base: Contents<'a>,
    /// What is there afterwards.
    pub head: Contents<'a>,
}

/// What is in a commit.
#[derive(Debug, Clone)]
pub enum Contents<'a> {
    /// These files, by their paths.
    Files(&'a BTreeMap<String, Vec<u8>>),
    /// This tree, which is here or in a repository that lends its objects.
    Tree(String),
}

/// A change that was laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaidOut {
    /// The commit before.
    pub base: String,
    /// The commit afterwards, whose only parent is the one before.
    pub head: String,
    /// The diff between them; empty if nothing differs.
    pub diff: Vec<u8>,
}

/// A new bare repository in which changes are laid out.
#[derive(Debug)]
pub struct Layout {
    bare: Bare,
}

/// Why changes could not be laid out.
#[derive(Debug, thiserror::Error)]
pub enum LayOutError {
    /// The folder could not be written.
    #[error("writing the repository `{folder}`", folder = folder.display())]
    Io {
        /// Which.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Git said something else than was asked for.
    #[error("`git {0}` left something out")]
    Short(&'static str),
}

impl Layout {
    /// Makes the repository in an empty folder. The objects of `lenders` are seen in it and never copied.
    pub fn new(folder: &Path, lenders: &[Repository]) -> Result<Self, LayOutError> {
        let branch = format!("--initial-branch={MAIN}");
        let git = Git::in_folder(folder);
        git.run(["init", "--quiet", "--bare", "--template=", branch.as_str()])?;
        let io = |source| LayOutError::Io { folder: folder.to_owned(), source };
        // Git is run in it, from where a relative path would lead elsewhere.
        let folder = fs::canonicalize(folder).map_err(io)?;
        let mut alternates = Vec::new();
        for lender in lenders {
            let objects: OsString = quoted(&lender.common_dir.join("objects"));
            alternates.extend_from_slice(objects.as_bytes());
            alternates.push(b'\n');
        }
        if !alternates.is_empty() {
            let written = fs::create_dir_all(folder.join("objects/info"))
                .and_then(|()| fs::write(folder.join("objects/info/alternates"), alternates));
            written.map_err(io)?;
        }
        Ok(Self { bare: Bare::new(&folder) })
    }

    /// The trees of pairs of commits that lenders have, in their order; none where a commit, or a file that differs
    /// between the two, is not there.
    pub fn trees(
        &self,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Option<(String, String)>>, LayOutError> {
        let names = pairs.iter().flat_map(|(base, head)| [base, head]);
        let names: Vec<String> = names.map(|name| format!("{name}^{{tree}}")).collect();
        let trees = self.found(&names, "tree")?;
        let pairs: Vec<Option<(String, String)>> =
            trees.chunks_exact(2).map(|pair| Some((pair[0].clone()?, pair[1].clone()?))).collect();
        self.only_whole(pairs)
    }

    /// The pairs of trees between which no file is missing, as some are in a partial clone.
    fn only_whole(
        &self,
        pairs: Vec<Option<(String, String)>>,
    ) -> Result<Vec<Option<(String, String)>>, LayOutError> {
        let known: BTreeSet<&(String, String)> = pairs.iter().flatten().collect();
        let list: String = known.iter().map(|(base, head)| format!("{base} {head}\n")).collect();
        let printed = self.asked(&["diff-tree", "-r", "--stdin"], &list)?;
        let printed = String::from_utf8_lossy(&printed);
        let mut needed: Vec<(String, (String, String))> = Vec::new();
        let mut pair = (String::new(), String::new());
        for line in printed.lines() {
            match line.strip_prefix(':') {
                Some(entry) => {
                    needed.extend(blobs(entry).into_iter().map(|id| (id, pair.clone())));
                }
                None => {
                    let (base, head) = line.split_once(' ').unwrap_or_default();
                    pair = (base.to_owned(), head.to_owned());
                }
            }
        }
        let ids: Vec<String> = needed.iter().map(|(id, _)| id.clone()).collect();
        let found = self.found(&ids, "blob")?;
        let missing = needed.into_iter().zip(found).filter(|(_, found)| found.is_none());
        let broken: BTreeSet<(String, String)> = missing.map(|((_, pair), _)| pair).collect();
        let whole = |pair: &(String, String)| !broken.contains(pair);
        Ok(pairs.into_iter().map(|pair| pair.filter(whole)).collect())
    }

    /// The names of objects of a kind, by any names for them; none for what is not there.
    fn found(&self, names: &[String], kind: &str) -> Result<Vec<Option<String>>, LayOutError> {
        let list: String = names.iter().map(|name| format!("{name}\n")).collect();
        let printed =
            self.asked(&["cat-file", "--batch-check=%(objecttype) %(objectname)"], &list)?;
        let printed = String::from_utf8_lossy(&printed);
        let found = |line: &str| {
            let (found, id) = line.split_once(' ')?;
            (found == kind).then(|| id.to_owned())
        };
        let found: Vec<Option<String>> = printed.lines().map(found).collect();
        if found.len() == names.len() { Ok(found) } else { Err(LayOutError::Short("cat-file")) }
    }

    /// Lays out changes; what became of each, in their order.
    pub fn write(&self, changes: &[Designed<'_>]) -> Result<Vec<LaidOut>, LayOutError> {
        let mut list = FastImport::default();
        list.commit(MAIN, BEFORE, BEFORE_MESSAGE, "");
        for (number, change) in (1..).zip(changes) {
            // No word of what it is: it may be seen by whoever reviews it.
            let branch = format!("change-{number}");
            let Designed { message, base, head } = change;
            for (contents, message, when) in
                [(base, BEFORE_MESSAGE, BEFORE), (head, message, AFTER)]
            {
                list.commit(&branch, when, message, "");
                match contents {
                    Contents::Files(files) => {
                        list.clear();
                        files.iter().for_each(|(path, bytes)| list.file(path, bytes));
                    }
                    Contents::Tree(id) => list.tree(id),
                }
            }
        }
        let commits = list.run(&self.bare.git())?;
        let pairs = commits.get(1..).unwrap_or_default().chunks_exact(2);
        let diffs = self.diffs(pairs.clone().map(|pair| &pair[1]))?;
        let laid_out: Vec<LaidOut> = pairs
            .map(|pair| LaidOut {
                base: pair[0].clone(),
                head: pair[1].clone(),
                diff: diffs.get(&pair[1]).cloned().unwrap_or_default(),
            })
            .collect();
        if laid_out.len() == changes.len() {
            Ok(laid_out)
        } else {
            Err(LayOutError::Short("fast-import"))
        }
    }

    /// The diffs of commits against their parents, by commit. A commit that changes nothing has none.
    fn diffs<'a>(
        &self,
        commits: impl Iterator<Item = &'a String>,
    ) -> Result<BTreeMap<String, Vec<u8>>, LayOutError> {
        let list: String = commits.map(|commit| format!("{commit}\n")).collect();
        let args = [&["diff-tree", "--stdin", "-p"], DIFF_OPTIONS].concat();
        let printed = self.asked(&args, &list)?;
        let mut diffs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        let mut current: Option<String> = None;
        for line in printed.split_inclusive(|byte| *byte == b'\n') {
            // A line of a diff begins with a sign or a word, never with the name of a commit.
            if let Some(commit) = commit_name(line) {
                // The same commit may be asked for twice.
                diffs.insert(commit.to_owned(), Vec::new());
                current = Some(commit.to_owned());
            } else if let Some(diff) = current.as_ref().and_then(|commit| diffs.get_mut(commit)) {
                diff.extend_from_slice(line);
            }
        }
        Ok(diffs)
    }

    /// What git prints for a list on its standard input. Nothing is asked about nothing.
    fn asked(&self, args: &[&str], list: &str) -> Result<Vec<u8>, LayOutError> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.bare.git().run_with_input(args, list.as_bytes())?)
    }
}

/// The files that a line of a raw diff compares, without its colon.
fn blobs(entry: &str) -> Vec<String> {
    let mut words = entry.split([' ', '\t']);
    let modes = [words.next(), words.next()];
    let ids = [words.next(), words.next()];
    let pairs = modes.into_iter().zip(ids).filter_map(|(mode, id)| mode.zip(id));
    let in_here =
        pairs.filter(|(mode, id)| *mode != SUBMODULE && id.bytes().any(|byte| byte != b'0'));
    in_here.map(|(_, id)| id.to_owned()).collect()
}

/// The commit that a line names, if it does nothing else.
fn commit_name(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let is_name = line.len() == 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then_some(line)
}
