//! Resolves a target to a change with a fixed base and head. crh refreshes the base, snapshots a
//! dirty checkout and never switches branches.

mod checkout_match;
mod diff_file;
mod proposal;

pub use checkout_match::{CheckoutMatch, match_checkout};
pub(crate) use proposal::round_with_head;
pub use proposal::{EarlierRound, ProposalRemotes, ProposedChange, ReviewedHead, resolve_proposal};

use std::iter;

use crate::requirements::is_plan_line;
use crate::target_args::{CommitRange, Dots, Target};
use crh_git::{
    Base, BaseError, BaseRequest, ChangeHistory, CommitDetails, DIFF_BYTES_MAX, EMPTY_TREE,
    GitError, LogError, MissingError, NetworkMode, ReadError, Repository, SnapshotScope, Store,
    StoreError,
};
use crh_review::diff::{Diff, DiffProblem, DiffProblemKind, FileDiff, RepoPath, UnsupportedDiff};
use crh_review::identity::is_commit_id;

/// Maximum number of commits that a description lists. `commits.json` contains all commits.
const LISTED_MAX: usize = 50;

/// A change with fixed base and head commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedChange {
    /// Commit or empty tree to compare with. `None` if only a diff is known.
    pub base: Option<String>,
    /// Commit under review. `None` if only a diff is known.
    pub head: Option<String>,
    /// Ref of the branch under review, or the commit.
    pub source: String,
    /// Ref of the branch to compare with, or the commit.
    pub target: String,
    /// Title of the pull request, subject of the only commit, or another title such as the branch
    /// name.
    pub title: String,
    /// Description of the pull request, body of the only commit, or list of the commits.
    pub body: String,
    /// Author of the pull request, or of the last commit. Empty if unknown.
    pub author: String,
    /// Date of the last commit. `None` if the head is a snapshot of uncommitted work, or if only a
    /// diff is known.
    pub created_at: Option<String>,
    /// Commits, oldest first.
    pub commits: Vec<CommitDetails>,
    /// Diff as git prints it.
    pub diff: Diff,
    /// Untracked files of the checkout that are not part of the change.
    pub untracked: Vec<String>,
    /// Warnings for the user.
    pub notes: Vec<String>,
    /// Data from the forge. `None` if the change is not a pull request or merge proposal.
    pub proposed: Option<Box<ProposedChange>>,
}

/// How to treat untracked files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UntrackedPolicy {
    /// Leave them out of the change, but list them.
    Listed,
    /// Include them in the change.
    Included,
}

/// Options for resolving a target.
#[derive(Debug, Clone, Copy)]
pub struct ResolveOptions<'a> {
    /// Base branch from the settings, if set.
    pub base_branch: Option<&'a str>,
    /// Whether crh may contact remotes.
    pub network: NetworkMode,
    /// How to treat untracked files.
    pub untracked: UntrackedPolicy,
}

/// Why a target could not be resolved.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// No branch or commit has this name.
    #[error("no branch or commit named `{0}`")]
    NoSuchName(String),
    /// The history ends before this ancestor.
    #[error("`{start}` has no ancestor `{name}`: its history has fewer commits")]
    NoAncestor {
        /// Branch or commit that the name starts with.
        start: String,
        /// The name, such as `HEAD~50`.
        name: String,
    },
    /// Several refs have this name.
    #[error("`{name}` is the name of different commits: {}", .refs.join(", "))]
    AmbiguousName {
        /// The name.
        name: String,
        /// Full names of the refs.
        refs: Vec<String>,
    },
    /// The branch has no commit yet.
    #[error("the current branch has no commits yet")]
    Unborn,
    /// The repository is bare.
    #[error("this repository is bare: it has no checkout to review")]
    Bare,
    /// The index has unresolved conflicts, so git cannot write it as a tree.
    #[error("unresolved conflicts in {}; resolve and stage them first", .0.join(", "))]
    Unmerged(Vec<String>),
    /// The index is the same as the head commit.
    #[error("nothing to review: nothing is staged")]
    NothingStaged,
    /// The working tree is the same as the head commit.
    #[error("nothing to review: there are no uncommitted changes")]
    NothingUncommitted,
    /// The base and the head have the same files.
    #[error("nothing to review: {0}")]
    NoDifference(String),
    /// The diff is too large.
    #[error("the diff has more than {megabytes} MB, the limit")]
    TooLarge {
        /// Limit in MiB.
        megabytes: u64,
    },
    /// The diff that the user passed is empty.
    #[error("nothing to review: the diff is empty")]
    EmptyDiff,
    /// The text that the user passed is not the diff of one change.
    #[error(transparent)]
    UnsupportedDiff(#[from] UnsupportedDiff),
    /// A hunk of the diff that the user passed lacks lines.
    #[error("the diff is cut in `{file}`, line {} of the diff: {}", .problem.line, .problem.kind)]
    CutDiff {
        /// File of the hunk.
        file: String,
        /// The problem with the hunk.
        problem: DiffProblem,
    },
    /// The pull request was not read from its forge first.
    #[error("`{0}` was not fetched from its forge")]
    NotFetched(String),
    /// Fetching the commits from the forge failed.
    #[error("cannot fetch from `{url}`")]
    Forge {
        /// Address of the repository.
        url: String,
        /// Error from git.
        source: GitError,
    },
    /// The base cannot be determined.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// The remote could not complete a shallow clone.
    #[error("cannot reach the remote `{remote}` to complete this shallow clone")]
    Deepen {
        /// Name of the remote.
        remote: String,
        /// Error from git.
        source: GitError,
    },
    /// Git objects are missing.
    #[error(transparent)]
    MissingObjects(#[from] MissingError),
    /// Git objects are missing, although crh may contact remotes.
    #[error("{missing}")]
    NotFetchable {
        /// What is missing.
        missing: MissingError,
        /// Why the remote did not send it. `None` if there is no remote.
        source: Option<Box<Self>>,
    },
    /// The object store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The history cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A git object cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Builds a change from a diff alone.
pub fn from_diff(bytes: Vec<u8>) -> Result<PinnedChange, TargetError> {
    if bytes.len() as u64 > DIFF_BYTES_MAX {
        return Err(TargetError::TooLarge { megabytes: DIFF_BYTES_MAX >> 20 });
    }
    if bytes.trim_ascii().is_empty() {
        return Err(TargetError::EmptyDiff);
    }
    let diff = Diff::read_supported(bytes)?;
    if let Some((file, problem)) = short_hunk(&diff) {
        let (file, problem) = (file.path.shown().into_owned(), problem.clone());
        return Err(TargetError::CutDiff { file, problem });
    }
    Ok(PinnedChange {
        base: None,
        head: None,
        source: String::new(),
        target: String::new(),
        title: "A diff".to_owned(),
        body: String::new(),
        author: String::new(),
        created_at: None,
        commits: Vec::new(),
        diff,
        untracked: Vec::new(),
        notes: Vec::new(),
        proposed: None,
    })
}

/// The first hunk with fewer lines than its header says, and its file. The diff of an incomplete
/// download ends with one.
fn short_hunk(diff: &Diff) -> Option<(&FileDiff, &DiffProblem)> {
    let is_short = |problem: &&DiffProblem| match problem.kind {
        DiffProblemKind::ShortHunk { .. } => true,
        DiffProblemKind::Stray { .. }
        | DiffProblemKind::NoHunk
        | DiffProblemKind::CutLine
        | DiffProblemKind::HunkHeader
        | DiffProblemKind::Path
        | DiffProblemKind::Combined
        | DiffProblemKind::SubmoduleLog => false,
    };
    let problem = diff.problems().iter().find(is_short)?;
    Some((diff.files().get(diff.file_at(problem.line)?)?, problem))
}

/// Resolves a target to fixed base and head commits. If a remote cannot be reached, crh uses the
/// commits that were fetched before and adds a note.
pub fn resolve_target(
    store: &Store,
    target: &Target,
    options: &ResolveOptions<'_>,
) -> Result<PinnedChange, TargetError> {
    let error = match try_resolve(store, target, options) {
        Err(error) if options.network == NetworkMode::Online => error,
        result => return result,
    };
    let Some(failure) = remote_failure(&error) else {
        return Err(match missing_objects(error) {
            Ok(missing) => TargetError::NotFetchable { missing, source: None },
            Err(other) => other,
        });
    };
    let offline = ResolveOptions { network: NetworkMode::Offline, ..*options };
    match try_resolve(store, target, &offline) {
        Ok(mut change) => {
            let base = match local_base(store, target, &change.target) {
                Some(branch) => format!("crh compares with the local branch `{branch}`"),
                None => "crh uses what was fetched before".to_owned(),
            };
            let effect = match &error {
                _ if detects_base(target) => "the base may be stale",
                // The user named the commits, and crh could not refresh their branch.
                TargetError::Base(_) => "the commits may be stale",
                _ => "the history before the change may be incomplete",
            };
            change.notes.push(format!("{failure}; {base}, so {effect}"));
            Ok(change)
        }
        Err(
            nothing @ (TargetError::NothingStaged
            | TargetError::NothingUncommitted
            | TargetError::NoDifference(_)),
        ) => Err(nothing),
        Err(offline_error) => Err(match missing_objects(offline_error) {
            Ok(missing) => TargetError::NotFetchable { missing, source: Some(Box::new(error)) },
            Err(_) => error,
        }),
    }
}

/// Whether the user names no base, so that crh determines the base of the target.
fn detects_base(target: &Target) -> bool {
    matches!(target, Target::CurrentBranch | Target::Named(_))
}

/// The detected base branch, if no remote branch of this name was ever fetched.
fn local_base<'a>(store: &Store, target: &Target, base: &'a str) -> Option<&'a str> {
    let branch = base.strip_prefix("refs/heads/").filter(|_| detects_base(target))?;
    let remotes = store.repository().remotes().ok()?;
    let is_fetched = remotes.iter().any(|remote| {
        let reference = format!("refs/remotes/{}/{branch}", remote.name);
        store.repository().commit(&reference).is_some()
    });
    (!is_fetched).then_some(branch)
}

/// Describes the error if a remote could not be reached or did not send what crh asked for. Git's
/// own message is left out, since it may contain the remote's URL.
fn remote_failure(error: &TargetError) -> Option<String> {
    if let TargetError::Base(BaseError::Remote { .. }) | TargetError::Deepen { .. } = error {
        return Some(error.to_string());
    }
    let TargetError::MissingObjects(error) = error else { return None };
    match error {
        MissingError::Git(_) => {
            Some("cannot fetch the objects that this partial clone lacks".to_owned())
        }
        MissingError::NotSent { .. } => Some(error.to_string()),
        MissingError::Commit(_)
        | MissingError::MergeBase(..)
        | MissingError::Gone { .. }
        | MissingError::Objects { .. } => None,
    }
}

/// The error about missing objects, or else the unchanged error.
fn missing_objects(error: TargetError) -> Result<MissingError, TargetError> {
    match error {
        TargetError::MissingObjects(missing)
        | TargetError::Base(BaseError::MissingObjects(missing)) => Ok(missing),
        other => Err(other),
    }
}

fn try_resolve(
    store: &Store,
    target: &Target,
    options: &ResolveOptions<'_>,
) -> Result<PinnedChange, TargetError> {
    let range = match target {
        Target::CurrentBranch => current_branch(store, options)?,
        Target::Against(base) => branch_against(store, base, options)?,
        Target::Uncommitted => uncommitted(store, SnapshotScope::WithUntracked, options)?,
        Target::Staged => uncommitted(store, SnapshotScope::Staged, options)?,
        Target::Commit(name) => single_commit(store, name, options)?,
        Target::Range(typed_range) => range(store, typed_range, options)?,
        Target::Named(name) => named_branch(store, name, options)?,
        Target::PullRequest(word) => return Err(TargetError::NotFetched(word.clone())),
        Target::Diff(bytes) => return diff_file::resolve_diff(store, bytes.clone(), options),
    };
    if store.is_partial() {
        fetch_missing_objects(store, &range, None, options)?;
    }
    build_change(store, range, target, options)
}

/// Fetches the objects that a partial clone lacks: those of base, head and the target's tip.
fn fetch_missing_objects(
    store: &Store,
    range: &ResolvedRange,
    target_tip: Option<&str>,
    options: &ResolveOptions<'_>,
) -> Result<(), TargetError> {
    let history = ChangeHistory::load(store.bare(), &range.base, &range.head)?;
    let mut commits = vec![range.base.as_str(), &range.head];
    commits.extend(target_tip);
    // Offline, crh requires only the objects of base and head. A clone without blobs rarely has the
    // blobs of the commits between them.
    if options.network == NetworkMode::Online {
        commits.extend(history.commits());
    }
    Ok(store.fetch_missing(&commits, options.network)?)
}

/// Base and head commits, with the names of their branches.
struct ResolvedRange {
    base: String,
    head: String,
    /// Whether the head is a snapshot of uncommitted work.
    dirty: bool,
    source: String,
    target: String,
    notes: Vec<String>,
}

/// The current branch with uncommitted work, compared with its base.
fn current_branch(
    store: &Store,
    options: &ResolveOptions<'_>,
) -> Result<ResolvedRange, TargetError> {
    let repository = store.repository();
    let tip = repository.head()?.ok_or(TargetError::Unborn)?;
    let branch = repository.branch();
    let base = match crh_git::find_base(store, &tip, &base_query(options, branch.as_deref())) {
        Err(BaseError::OwnBase(name)) => {
            let range = uncommitted_on_own_base(store, tip, branch, options)?;
            return range.ok_or_else(|| {
                TargetError::NoDifference(format!(
                    "`{name}` has no uncommitted changes, and there is nothing to compare it with: the repository has no remote and no other main branch"
                ))
            });
        }
        base => base?,
    };
    let head = snapshot_checkout(store, &tip, options)?;
    Ok(ResolvedRange {
        dirty: head != tip,
        head,
        source: branch.map_or(tip, |name| format!("refs/heads/{name}")),
        target: format!("refs/heads/{}", base.branch),
        notes: base_notes(&base),
        base: base.commit,
    })
}

/// Uncommitted work on a branch that is its own base, such as `main`. The commits of the branch are
/// not new. None if there is no uncommitted work.
fn uncommitted_on_own_base(
    store: &Store,
    tip: String,
    branch: Option<String>,
    options: &ResolveOptions<'_>,
) -> Result<Option<ResolvedRange>, TargetError> {
    let head = snapshot_checkout(store, &tip, options)?;
    let source = branch.map_or_else(|| tip.clone(), |name| format!("refs/heads/{name}"));
    Ok((head != tip).then(|| ResolvedRange {
        dirty: true,
        base: tip,
        head,
        target: source.clone(),
        source,
        notes: Vec::new(),
    }))
}

/// The current branch with uncommitted work, compared with a ref that the user names. crh takes the
/// ref as it is in the clone. A remote is needed only if a shallow clone lacks the merge base.
fn branch_against(
    store: &Store,
    name: &str,
    options: &ResolveOptions<'_>,
) -> Result<ResolvedRange, TargetError> {
    let repository = store.repository();
    let tip = repository.head()?.ok_or(TargetError::Unborn)?;
    let (named_base, mut notes) = resolve_base(store, name, options)?;
    if !store.merge_base_is_known(&named_base.id, &tip)? {
        deepen(store, &named_base.id, &tip, options)?;
    }
    if !store.merge_base_is_known(&named_base.id, &tip)? {
        return Err(MissingError::MergeBase(name.to_owned(), "HEAD".to_owned()).into());
    }
    let mut merge_bases = store.bare().merge_bases(&named_base.id, &tip)?.into_iter();
    let merge_base = merge_bases.next();
    notes.extend(criss_cross_note(merge_bases.len()));
    if merge_base.is_none() {
        notes.push(format!(
            "`{name}` and `HEAD` have no common ancestor; crh compares the whole trees"
        ));
    }
    let head = snapshot_checkout(store, &tip, options)?;
    Ok(ResolvedRange {
        dirty: head != tip,
        base: merge_base.unwrap_or(named_base.id),
        head,
        source: repository.branch().map_or(tip, |name| format!("refs/heads/{name}")),
        target: named_base.name,
        notes,
    })
}

/// Uncommitted or staged changes only.
fn uncommitted(
    store: &Store,
    scope: SnapshotScope,
    options: &ResolveOptions<'_>,
) -> Result<ResolvedRange, TargetError> {
    let repository = store.repository();
    if repository.work_tree.is_none() {
        return Err(TargetError::Bare);
    }
    let tip = repository.head()?;
    if let Some(tip) = &tip {
        deepen(store, tip, tip, options)?;
    }
    let head = take_snapshot(store, scope, tip.as_deref())?;
    let branch = repository.branch();
    let source = branch.map(|name| format!("refs/heads/{name}"));
    let base = tip.unwrap_or_else(|| EMPTY_TREE.to_owned());
    if head == base {
        return Err(match scope {
            SnapshotScope::Staged => TargetError::NothingStaged,
            SnapshotScope::Tracked | SnapshotScope::WithUntracked => {
                TargetError::NothingUncommitted
            }
        });
    }
    let source = source.unwrap_or_else(|| base.clone());
    Ok(ResolvedRange { dirty: true, head, target: source.clone(), source, base, notes: Vec::new() })
}

/// One commit compared with its first parent.
fn single_commit(
    store: &Store,
    name: &str,
    options: &ResolveOptions<'_>,
) -> Result<ResolvedRange, TargetError> {
    let NamedCommit { id: head, name: source } = find_commit(store, name, options)?;
    deepen(store, &head, &head, options)?;
    let base = store.bare().parent(&head)?;
    if base != EMPTY_TREE && !store.bare().has(&base) {
        return Err(TargetError::MissingObjects(MissingError::Commit(base)));
    }
    if base != EMPTY_TREE {
        // The base is one commit further back than the head.
        deepen(store, &base, &head, options)?;
    }
    let target = base.clone();
    Ok(ResolvedRange { dirty: false, source, target, base, head, notes: Vec::new() })
}

fn range(
    store: &Store,
    range: &CommitRange,
    options: &ResolveOptions<'_>,
) -> Result<ResolvedRange, TargetError> {
    let NamedCommit { id: from, name: target } = find_commit(store, &range.from, options)?;
    let NamedCommit { id: head, name: source } = find_commit(store, &range.to, options)?;
    deepen(store, &from, &head, options)?;
    let mut notes = Vec::new();
    let merge_base_is_known = store.merge_base_is_known(&from, &head)?;
    let base = match range.dots {
        Dots::Three if !merge_base_is_known => {
            return Err(MissingError::MergeBase(range.from.clone(), range.to.clone()).into());
        }
        Dots::Three => {
            let mut merge_bases = store.bare().merge_bases(&from, &head)?.into_iter();
            let merge_base = merge_bases.next();
            notes.extend(criss_cross_note(merge_bases.len()));
            let unrelated =
                || BaseError::Unrelated { base: range.from.clone(), head: range.to.clone() };
            merge_base.ok_or_else(unrelated)?
        }
        Dots::Two => {
            if merge_base_is_known && !store.bare().is_ancestor(&from, &head)? {
                let CommitRange { from, to, .. } = range;
                notes.push(format!(
                    "`{to}` lacks commits of `{from}`, so they appear as removals; use `{from}...{to}` to leave them out"
                ));
            }
            from
        }
    };
    Ok(ResolvedRange { dirty: false, source, target, base, head, notes })
}

/// Warns if the two histories have more than one merge base.
fn criss_cross_note(other_merge_bases: usize) -> Vec<String> {
    match other_merge_bases {
        0 => Vec::new(),
        _ => vec![format!(
            "the branches have {} merge bases (criss-cross merges); crh compares with one of them, so the diff may contain changes that the base already has",
            other_merge_bases + 1
        )],
    }
}

/// A branch or commit compared with its base. Ignores the checkout.
fn named_branch(
    store: &Store,
    name: &str,
    options: &ResolveOptions<'_>,
) -> Result<ResolvedRange, TargetError> {
    let NamedCommit { id: head, name: source } = find_commit(store, name, options)?;
    let base =
        crh_git::find_base(store, &head, &base_query(options, source.strip_prefix("refs/heads/")))?;
    let target = format!("refs/heads/{}", base.branch);
    Ok(ResolvedRange {
        dirty: false,
        source,
        target,
        head,
        notes: base_notes(&base),
        base: base.commit,
    })
}

/// Notes about a base that crh has found.
fn base_notes(base: &Base) -> Vec<String> {
    let mut notes = criss_cross_note(base.other_merge_bases);
    if base.is_by_own_branch {
        notes.push(format!(
            "no remote is called `origin` or `upstream`, so crh compares with `{}`; `--base` names another base",
            base.display_name()
        ));
    }
    notes
}

fn base_query<'a>(options: &ResolveOptions<'a>, under_review: Option<&'a str>) -> BaseRequest<'a> {
    BaseRequest {
        branch: options.base_branch,
        repository: None,
        reviewed_branch: under_review,
        network: options.network,
    }
}

/// Snapshots the checkout. In a bare repository, returns the commit itself.
fn snapshot_checkout(
    store: &Store,
    tip: &str,
    options: &ResolveOptions<'_>,
) -> Result<String, TargetError> {
    if store.repository().work_tree.is_none() {
        return Ok(tip.to_owned());
    }
    let scope = match options.untracked {
        UntrackedPolicy::Listed => SnapshotScope::Tracked,
        UntrackedPolicy::Included => SnapshotScope::WithUntracked,
    };
    take_snapshot(store, scope, Some(tip))
}

fn take_snapshot(
    store: &Store,
    scope: SnapshotScope,
    parent: Option<&str>,
) -> Result<String, TargetError> {
    // Git cannot write an index with conflicts as a tree. A snapshot of the files can contain
    // conflicts, since the files contain conflict markers.
    let unmerged = store.repository().unmerged()?;
    if scope == SnapshotScope::Staged && !unmerged.is_empty() {
        return Err(TargetError::Unmerged(display_paths(unmerged)));
    }
    Ok(store.snapshot(scope, parent)?)
}

/// A commit and its name that is valid in every clone: its branch, or else its hash.
struct NamedCommit {
    id: String,
    name: String,
}

/// Finds a commit by a revision as `git rev-parse` reads it, or by the name of a branch that only a
/// remote has.
fn find_commit(
    store: &Store,
    name: &str,
    options: &ResolveOptions<'_>,
) -> Result<NamedCommit, TargetError> {
    let repository = store.repository();
    if let Some(id) = repository.plain_branch(name) {
        return Ok(NamedCommit { id, name: format!("refs/heads/{name}") });
    }
    if let Some(id) = repository.commit(name) {
        let start = split_revision(name).map_or(name, |(start, _)| start);
        let refs = repository.ambiguous_refs(start)?;
        if !refs.is_empty() {
            return Err(TargetError::AmbiguousName { name: start.to_owned(), refs });
        }
        return Ok(NamedCommit { name: ref_name(repository, name, &id), id });
    }
    if let Some((start, path)) = split_revision(name) {
        return find_ancestor(store, start, path, options);
    }
    let mut first_error = None;
    for remote in repository.remotes()? {
        let prefix = format!("{}/", remote.name);
        let branch = name.strip_prefix(&prefix).unwrap_or(name);
        if let Some(id) = repository.commit(&format!("refs/remotes/{prefix}{name}")) {
            return Ok(NamedCommit { id, name: format!("refs/heads/{name}") });
        }
        if options.network == NetworkMode::Offline {
            continue;
        }
        if is_commit_id(name)
            && store.fetch_commit(&remote.name, name).is_ok()
            && store.bare().has(name)
        {
            return Ok(NamedCommit { id: name.to_owned(), name: name.to_owned() });
        }
        match crh_git::refresh_branch(store, &remote.name, branch) {
            Ok(Some(id)) => return Ok(NamedCommit { id, name: format!("refs/heads/{branch}") }),
            Ok(None) => {}
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    // Last resort, since crh's store may have an outdated branch from an earlier review.
    match (store.commit(name), first_error) {
        (Some(id), _) => Ok(NamedCommit { name: id.clone(), id }),
        (None, Some(error)) => Err(error.into()),
        (None, None) => Err(TargetError::NoSuchName(name.to_owned())),
    }
}

/// Splits a revision such as `HEAD~1` into its start and the path from there. None for a name that
/// may be a branch.
fn split_revision(name: &str) -> Option<(&str, &str)> {
    match name.find(['~', '^', ':', '{']) {
        Some(end) => Some(name.split_at(end)),
        None => matches!(name, "HEAD" | "@").then_some((name, "")),
    }
}

/// Finds a commit relative to another one. A shallow clone may lack it, so crh deepens the clone.
fn find_ancestor(
    store: &Store,
    start: &str,
    path: &str,
    options: &ResolveOptions<'_>,
) -> Result<NamedCommit, TargetError> {
    let name = format!("{start}{path}");
    let Some(tip) = store.repository().commit(start) else {
        return Err(TargetError::NoSuchName(name));
    };
    if !store.bare().is_shallow() {
        return Err(match follows_first_parents(path) {
            true => TargetError::NoAncestor { start: start.to_owned(), name },
            false => TargetError::NoSuchName(name),
        });
    }
    deepen(store, &tip, &tip, options)?;
    let id = store.commit(&format!("{tip}{path}"));
    let id = id.ok_or(MissingError::Commit(name))?;
    Ok(NamedCommit { name: id.clone(), id })
}

/// Whether the path of a revision goes back along first parents: `~50` or `^^`.
fn follows_first_parents(path: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    path.bytes().all(|byte| byte == b'^') || path.strip_prefix('~').is_some_and(is_number)
}

/// Resolves a base that the user names, without asking a remote.
fn resolve_base(
    store: &Store,
    name: &str,
    options: &ResolveOptions<'_>,
) -> Result<(NamedCommit, Vec<String>), TargetError> {
    let repository = store.repository();
    let offline = ResolveOptions { network: NetworkMode::Offline, ..*options };
    let named = find_commit(store, name, &offline)?;
    let full_name = repository.full_name(name).unwrap_or_default();
    let upstream = full_name.strip_prefix("refs/heads/").and_then(|name| repository.upstream(name));
    let upstream_and_tip =
        upstream.as_deref().and_then(|name| Some((name, repository.commit(name)?)));
    let mut notes = Vec::new();
    if let Some((upstream, tip)) = upstream_and_tip
        && tip != named.id
        && store.bare().is_ancestor(&named.id, &tip)?
    {
        let upstream = upstream.trim_start_matches("refs/remotes/");
        notes.push(format!("`{name}` is behind `{upstream}`; pass `--base {upstream}` to compare with the newer commit"));
    }
    Ok((named, notes))
}

/// Splits `refs/remotes/origin/main` into remote and branch.
fn split_tracking_ref(
    repository: &Repository,
    full_name: &str,
) -> Result<Option<(String, String)>, GitError> {
    let Some(name) = full_name.strip_prefix("refs/remotes/") else { return Ok(None) };
    let branch = |remote: &str| name.strip_prefix(remote)?.strip_prefix('/').map(str::to_owned);
    let remotes = repository.remotes()?.into_iter();
    Ok(remotes.map(|remote| remote.name).find_map(|name| Some((name.clone(), branch(&name)?))))
}

/// Deepens a shallow clone so that it contains the history between two commits.
fn deepen(
    store: &Store,
    base: &str,
    head: &str,
    options: &ResolveOptions<'_>,
) -> Result<(), TargetError> {
    if options.network == NetworkMode::Online
        && store.bare().is_shallow()
        && let Some(remote) = store.repository().remotes()?.first()
    {
        let remote_error = |source| TargetError::Deepen { remote: remote.name.clone(), source };
        store.deepen(&remote.name, base, head).map_err(remote_error)?;
    }
    Ok(())
}

/// A name of a commit that is valid in every clone: its branch, or else its hash.
fn ref_name(repository: &Repository, name: &str, commit: &str) -> String {
    // No ref name contains one of these characters, so the lookup is not needed.
    if name.contains(['~', '^', ':', '{']) {
        return commit.to_owned();
    }
    let full_name = repository.full_name(name).unwrap_or_default();
    let branch = match split_tracking_ref(repository, &full_name) {
        Ok(Some((_, branch))) => Some(format!("refs/heads/{branch}")),
        Ok(None) | Err(_) => Some(full_name).filter(|name| name.starts_with("refs/heads/")),
    };
    branch.unwrap_or_else(|| commit.to_owned())
}

/// Reads the diff and the commits of a range.
fn build_change(
    store: &Store,
    range: ResolvedRange,
    target: &Target,
    options: &ResolveOptions<'_>,
) -> Result<PinnedChange, TargetError> {
    // The diff takes longest, so it runs in its own thread.
    let (diff, details) = std::thread::scope(|scope| {
        let diff = scope.spawn(|| store.bare().diff(&range.base, &range.head).map(Diff::read));
        let details = read_git_details(store, &range, target, options);
        (diff.join(), details)
    });
    let GitDetails { untracked, head, commits } = details?;
    let diff = diff.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    if diff.files().is_empty() {
        return Err(TargetError::NoDifference(no_difference_message(&range, &untracked)));
    }
    let (title, body) = title_and_body(&range, &commits);
    Ok(PinnedChange {
        author: head.as_ref().map_or_else(String::new, |commit| commit.author.clone()),
        created_at: head.map(|commit| commit.committed),
        base: Some(range.base),
        head: Some(range.head),
        source: range.source,
        target: range.target,
        title,
        body,
        commits,
        diff,
        untracked,
        notes: range.notes,
        proposed: None,
    })
}

struct GitDetails {
    untracked: Vec<String>,
    /// Last commit. `None` if the head is a snapshot.
    head: Option<CommitDetails>,
    commits: Vec<CommitDetails>,
}

fn read_git_details(
    store: &Store,
    range: &ResolvedRange,
    target: &Target,
    options: &ResolveOptions<'_>,
) -> Result<GitDetails, TargetError> {
    let untracked = untracked_in_checkout(store.repository(), target, options)?;
    let bare = store.bare();
    let mut ids = bare.change_commits(&range.base, &range.head)?;
    if range.dirty {
        ids.retain(|id| *id != range.head);
        return Ok(GitDetails { untracked, head: None, commits: bare.commits(&ids)? });
    }
    let commits = bare.commits(&ids)?;
    let head = match commits.last().filter(|commit| commit.id == range.head) {
        Some(head) => Some(head.clone()),
        // The base contains the head.
        None => bare.commits(std::slice::from_ref(&range.head))?.pop(),
    };
    Ok(GitDetails { untracked, head, commits })
}

/// Untracked files of the checkout that are not reviewed. Empty if the target is not the checkout.
fn untracked_in_checkout(
    repository: &Repository,
    target: &Target,
    options: &ResolveOptions<'_>,
) -> Result<Vec<String>, GitError> {
    let shows_checkout = match target {
        Target::CurrentBranch | Target::Against(_) => options.untracked == UntrackedPolicy::Listed,
        Target::Staged => true,
        Target::Uncommitted
        | Target::Commit(_)
        | Target::Range(_)
        | Target::Named(_)
        | Target::PullRequest(_)
        | Target::Diff(_) => false,
    };
    if shows_checkout { Ok(display_paths(repository.untracked()?)) } else { Ok(Vec::new()) }
}

fn no_difference_message(range: &ResolvedRange, untracked: &[String]) -> String {
    let short = |name: &str| name.trim_start_matches("refs/heads/").to_owned();
    let reason = if range.base == EMPTY_TREE {
        "there are no files yet".to_owned()
    } else {
        match (short(&range.source), short(&range.target)) {
            (source, target) if source == target => {
                format!("`{target}` is compared with itself, so nothing differs")
            }
            (source, target) => format!("`{source}` has no changes that `{target}` does not have"),
        }
    };
    match untracked {
        [] => reason,
        [path] => format!("{reason}; `{path}` is untracked"),
        [path, rest @ ..] => {
            let count = untracked.len();
            format!("{reason}; {count} files are untracked (`{path}` and {} more)", rest.len())
        }
    }
}

/// Title and description of a change. For one commit, its subject and body. For several commits or
/// with uncommitted work, a title such as the branch name, and a list of the commits with the
/// newest line `Plan: PATH` of their messages.
fn title_and_body(range: &ResolvedRange, commits: &[CommitDetails]) -> (String, String) {
    let mut lines: Vec<String> =
        commits.iter().take(LISTED_MAX).map(|commit| format!("- {}", commit.subject)).collect();
    if commits.len() > LISTED_MAX {
        lines.push(format!("and {} more", commits.len() - LISTED_MAX));
    }
    let mut plan_lines = commits
        .iter()
        .flat_map(|commit| iter::once(commit.subject.as_str()).chain(commit.body.lines()))
        .filter(|line| is_plan_line(line));
    if let Some(plan_line) = plan_lines.next_back() {
        lines.push(format!("\n{}", plan_line.trim()));
    }
    let list = lines.join("\n");
    let short = |name: &str| name.trim_start_matches("refs/heads/").to_owned();
    match commits {
        [] if range.dirty => (crh_git::SNAPSHOT_SUBJECT.to_owned(), list),
        [] => (format!("From {} to {}", short(&range.target), short(&range.source)), list),
        [commit] if !range.dirty => (commit.subject.clone(), commit.body.clone()),
        [.., last] => match range.source.strip_prefix("refs/heads/") {
            Some(branch) => (branch.to_owned(), list),
            None => (last.subject.clone(), list),
        },
    }
}

fn display_paths(paths: Vec<Vec<u8>>) -> Vec<String> {
    paths.into_iter().map(|path| RepoPath::new(path).shown().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(subject: &str, body: &str) -> CommitDetails {
        CommitDetails {
            id: String::new(),
            author: String::new(),
            authored: String::new(),
            committed: String::new(),
            subject: subject.to_owned(),
            body: body.to_owned(),
        }
    }

    #[test]
    fn newest_plan_line_is_part_of_the_description() {
        let range = |dirty| ResolvedRange {
            base: String::new(),
            head: String::new(),
            source: "refs/heads/orders".to_owned(),
            target: "refs/heads/main".to_owned(),
            dirty,
            notes: Vec::new(),
        };
        let planned = |path: &str| commit("Add orders", &format!("Text.\n\nPlan: {path}\n"));
        let body = |dirty, commits: &[CommitDetails]| title_and_body(&range(dirty), commits).1;
        assert_eq!(body(false, &[planned("a.md")]), "Text.\n\nPlan: a.md\n");
        assert_eq!(body(true, &[planned("a.md")]), "- Add orders\n\nPlan: a.md");
        let commits = [planned("a.md"), planned("b.md"), commit("Fix a typo", "")];
        let expected = "- Add orders\n- Add orders\n- Fix a typo\n\nPlan: b.md";
        assert_eq!(body(false, &commits), expected);
        assert_eq!(body(true, &[commit("Fix a typo", "Why.")]), "- Fix a typo");
        assert_eq!(body(true, &[commit("Plan: c.md", "")]), "- Plan: c.md\n\nPlan: c.md");
    }

    #[test]
    fn cut_diff_is_rejected_with_file_and_line() {
        let whole = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-1\n+2\n\
                     --- a/y.py\n+++ b/y.py\n@@ -1,2 +1,2 @@\n kept\n-1\n+2\n";
        assert!(from_diff(whole.into()).is_ok());
        let cut = whole.strip_suffix("-1\n+2\n").unwrap();
        assert_eq!(
            from_diff(cut.into()).unwrap_err().to_string(),
            "the diff is cut in `y.py`, line 8 of the diff: the hunk is 2 lines shorter than its \
             header says"
        );
    }
}
