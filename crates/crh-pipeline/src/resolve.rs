//! From what the user asked for to a change with two pinned ends. The base is refreshed, a dirty checkout is
//! snapshotted, and no checkout is ever switched.

#[path = "resolve/checkout_match.rs"]
mod checked_out;
#[path = "resolve/proposal.rs"]
mod proposed;

pub use checked_out::{CheckedOut, checked_out};
pub(crate) use proposed::round_of;
pub use proposed::{Earlier, Origins, Proposed, UnderReview, proposed};

use crate::asked::{Dots, Range, Target};
use crh_git::{
    BaseError, Commit, EMPTY_TREE, GitError, History, LogError, MissingError, Network, ReadError,
    Repository, Snapshot, Store, StoreError, Wanted,
};
use crh_review::diff::{Diff, RepoPath};
use crh_review::identity::is_commit;

/// How many commits the description of a change lists; all of them are in `commits.json`.
const LISTED_MAX: usize = 50;

/// A change: two ends that nothing moves any more, and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is compared with: a commit, or the empty tree. None if only a diff is known.
    pub base: Option<String>,
    /// What it leads to: a commit. None if only a diff is known.
    pub head: Option<String>,
    /// The branch under review, or the commit.
    pub source: String,
    /// The branch it is compared with, or the commit.
    pub target: String,
    /// What it is called.
    pub title: String,
    /// What it says about itself.
    pub body: String,
    /// Who wrote its last commit.
    pub author: String,
    /// When its last commit was made; none if not all of it is committed.
    pub created_at: Option<String>,
    /// Its commits, oldest first.
    pub commits: Vec<Commit>,
    /// The diff, as git prints it.
    pub diff: Diff,
    /// Files that lie in the checkout and are not part of it, since git does not know them.
    pub untracked: Vec<String>,
    /// What the user should know about it.
    pub notes: Vec<String>,
    /// What a forge knows about it; none for a change that is proposed nowhere.
    pub proposed: Option<Box<Proposed>>,
}

/// What becomes of files that git does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untracked {
    /// They are named.
    Named,
    /// They are part of the change.
    Included,
}

/// How a target is looked up.
#[derive(Debug, Clone, Copy)]
pub struct Lookup<'a> {
    /// The branch that changes are compared with, if a setting says so.
    pub base_branch: Option<&'a str>,
    /// Whether remotes may be asked.
    pub network: Network,
    /// What becomes of files that git does not know.
    pub untracked: Untracked,
}

/// Why there is nothing to review.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A name that stands for nothing.
    #[error("there is no branch or commit `{0}`")]
    NoSuchName(String),
    /// No commit yet.
    #[error("the branch has no commit yet")]
    Unborn,
    /// No files to look at.
    #[error("this repository has no checkout")]
    Bare,
    /// The index cannot be written as a tree.
    #[error("there are conflicts that are not resolved: {}", .0.join(", "))]
    Unmerged(Vec<String>),
    /// Nothing differs.
    #[error("there is nothing to review: {0}")]
    Nothing(String),
    /// Not a diff.
    #[error("the diff has no file in it")]
    NotADiff,
    /// Nobody has asked a forge for it.
    #[error("`{0}` was not read from its forge")]
    NotRead(String),
    /// A forge did not give its commits.
    #[error("fetching from `{url}`")]
    Forge {
        /// Where from.
        url: String,
        /// Why.
        source: GitError,
    },
    /// The base is not clear.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// Objects are missing.
    #[error(transparent)]
    Missing(#[from] MissingError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The history cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// An object cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A change from a diff alone.
pub fn from_diff(bytes: Vec<u8>) -> Result<Change, TargetError> {
    let diff = Diff::read(bytes);
    if diff.files().is_empty() {
        return Err(TargetError::NotADiff);
    }
    Ok(Change {
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

/// Pins what a target stands for.
pub fn change(store: &Store, target: &Target, lookup: &Lookup<'_>) -> Result<Change, TargetError> {
    let ends = match target {
        Target::CurrentBranch => current_branch(store, lookup)?,
        Target::Against(base) => against(store, base, lookup)?,
        Target::Uncommitted => uncommitted(store, Snapshot::WithUntracked, lookup)?,
        Target::Staged => uncommitted(store, Snapshot::Staged, lookup)?,
        Target::Commit(name) => commit(store, name, lookup)?,
        Target::Range(written) => range(store, written, lookup)?,
        Target::Named(name) => named(store, name, lookup)?,
        Target::PullRequest(word) => return Err(TargetError::NotRead(word.clone())),
        Target::Diff(bytes) => return from_diff(bytes.clone()),
    };
    if store.is_partial() {
        complete(store, &ends, None, lookup)?;
    }
    described(store, ends, target, lookup)
}

/// Fetches what a partial clone left out.
fn complete(
    store: &Store,
    ends: &Ends,
    tip: Option<&str>,
    lookup: &Lookup<'_>,
) -> Result<(), TargetError> {
    let history = History::of(store.bare(), &ends.base, &ends.head)?;
    let mut needed = vec![ends.base.as_str(), &ends.head];
    needed.extend(tip);
    // Offline it is enough if both ends are here: a clone without blobs hardly ever has those of its history.
    if lookup.network == Network::Online {
        needed.extend(history.commits());
    }
    Ok(store.complete(&needed, lookup.network)?)
}

/// Two ends, and what they are called.
struct Ends {
    base: String,
    head: String,
    /// Whether the head is a snapshot of what is not committed.
    dirty: bool,
    source: String,
    target: String,
    notes: Vec<String>,
}

/// The current branch, with what is not committed, against its base.
fn current_branch(store: &Store, lookup: &Lookup<'_>) -> Result<Ends, TargetError> {
    let repository = store.repository();
    let tip = repository.head()?.ok_or(TargetError::Unborn)?;
    let branch = repository.branch();
    let base = crh_git::base(store, &tip, &wanted(lookup, branch.as_deref()))?;
    let head = with_checkout(store, &tip, lookup)?;
    Ok(Ends {
        dirty: head != tip,
        base: base.commit,
        head,
        source: branch.map_or(tip, |name| format!("refs/heads/{name}")),
        target: format!("refs/heads/{}", base.branch),
        notes: criss_cross(base.others),
    })
}

/// The current branch, with what is not committed, against what the user names.
fn against(store: &Store, name: &str, lookup: &Lookup<'_>) -> Result<Ends, TargetError> {
    let repository = store.repository();
    let tip = repository.head()?.ok_or(TargetError::Unborn)?;
    let (named, mut notes) = current(store, name, lookup)?;
    deepen(store, &named.id, &tip, lookup)?;
    if !store.parting_is_known(&named.id, &tip)? {
        return Err(MissingError::Parting(name.to_owned(), "HEAD".to_owned()).into());
    }
    let mut partings = store.bare().merge_bases(&named.id, &tip)?.into_iter();
    let parting = partings.next();
    notes.extend(criss_cross(partings.len()));
    if parting.is_none() {
        notes.push(format!("`{name}` and `HEAD` have no commit in common; all of it is compared"));
    }
    let head = with_checkout(store, &tip, lookup)?;
    Ok(Ends {
        dirty: head != tip,
        base: parting.unwrap_or(named.id),
        head,
        source: repository.branch().map_or(tip, |name| format!("refs/heads/{name}")),
        target: named.name,
        notes,
    })
}

/// What is not committed, or only what is staged.
fn uncommitted(store: &Store, what: Snapshot, lookup: &Lookup<'_>) -> Result<Ends, TargetError> {
    let repository = store.repository();
    if repository.work_tree.is_none() {
        return Err(TargetError::Bare);
    }
    let tip = repository.head()?;
    if let Some(tip) = &tip {
        deepen(store, tip, tip, lookup)?;
    }
    let head = snapshot(store, what, tip.as_deref())?;
    let branch = repository.branch();
    let source = branch.map(|name| format!("refs/heads/{name}"));
    let base = tip.unwrap_or_else(|| EMPTY_TREE.to_owned());
    if head == base {
        let what = if what == Snapshot::Staged { "nothing is staged" } else { "all is committed" };
        return Err(TargetError::Nothing(what.to_owned()));
    }
    let source = source.unwrap_or_else(|| base.clone());
    Ok(Ends { dirty: true, head, target: source.clone(), source, base, notes: Vec::new() })
}

/// One commit against its first parent.
fn commit(store: &Store, name: &str, lookup: &Lookup<'_>) -> Result<Ends, TargetError> {
    let Named { id: head, name: source } = commit_named(store, name, lookup)?;
    deepen(store, &head, &head, lookup)?;
    let base = store.bare().parent(&head)?;
    if base != EMPTY_TREE && !store.bare().has(&base) {
        return Err(TargetError::Missing(MissingError::Commit(base)));
    }
    if base != EMPTY_TREE {
        // The history goes back from the base, which is one commit further.
        deepen(store, &base, &head, lookup)?;
    }
    let target = base.clone();
    Ok(Ends { dirty: false, source, target, base, head, notes: Vec::new() })
}

/// From one commit to another.
fn range(store: &Store, range: &Range, lookup: &Lookup<'_>) -> Result<Ends, TargetError> {
    let Named { id: from, name: target } = commit_named(store, &range.from, lookup)?;
    let Named { id: head, name: source } = commit_named(store, &range.to, lookup)?;
    deepen(store, &from, &head, lookup)?;
    let mut notes = Vec::new();
    let is_known = store.parting_is_known(&from, &head)?;
    let base = match range.dots {
        Dots::Three if !is_known => {
            return Err(MissingError::Parting(range.from.clone(), range.to.clone()).into());
        }
        Dots::Three => {
            let mut partings = store.bare().merge_bases(&from, &head)?.into_iter();
            let parting = partings.next();
            notes.extend(criss_cross(partings.len()));
            let unrelated =
                || BaseError::Unrelated { base: range.from.clone(), head: range.to.clone() };
            parting.ok_or_else(unrelated)?
        }
        Dots::Two => {
            if is_known && !store.bare().is_ancestor(&from, &head)? {
                let Range { from, to, .. } = range;
                notes.push(format!(
                    "`{from}` has commits that `{to}` has not, and the diff takes them back; `{from}...{to}` leaves them alone"
                ));
            }
            from
        }
    };
    Ok(Ends { dirty: false, source, target, base, head, notes })
}

/// What to note if there are commits besides the base from which the change parts just as well.
fn criss_cross(others: usize) -> Vec<String> {
    match others {
        0 => Vec::new(),
        _ => vec![format!(
            "the histories were merged criss-cross and part at {} commits; one of them is compared with, so the diff may show what the base has already",
            others + 1
        )],
    }
}

/// A branch or commit against its base; the checkout does not matter.
fn named(store: &Store, name: &str, lookup: &Lookup<'_>) -> Result<Ends, TargetError> {
    let Named { id: head, name: source } = commit_named(store, name, lookup)?;
    let base = crh_git::base(store, &head, &wanted(lookup, source.strip_prefix("refs/heads/")))?;
    let target = format!("refs/heads/{}", base.branch);
    Ok(Ends {
        dirty: false,
        source,
        target,
        base: base.commit,
        head,
        notes: criss_cross(base.others),
    })
}

fn wanted<'a>(lookup: &Lookup<'a>, under_review: Option<&'a str>) -> Wanted<'a> {
    Wanted { branch: lookup.base_branch, repository: None, under_review, network: lookup.network }
}

/// The commit of a checkout with what is not committed; the commit itself in a bare repository.
fn with_checkout(store: &Store, tip: &str, lookup: &Lookup<'_>) -> Result<String, TargetError> {
    if store.repository().work_tree.is_none() {
        return Ok(tip.to_owned());
    }
    let what = match lookup.untracked {
        Untracked::Named => Snapshot::Tracked,
        Untracked::Included => Snapshot::WithUntracked,
    };
    snapshot(store, what, Some(tip))
}

fn snapshot(store: &Store, what: Snapshot, parent: Option<&str>) -> Result<String, TargetError> {
    // Only the index has no way to say "in conflict" as a tree; files do, with markers for the reviewer to see.
    let unmerged = store.repository().unmerged()?;
    if what == Snapshot::Staged && !unmerged.is_empty() {
        return Err(TargetError::Unmerged(shown(unmerged)));
    }
    Ok(store.snapshot(what, parent)?)
}

/// A commit that was named, and what it is called in every clone: its branch, wherever that is, or else itself.
struct Named {
    id: String,
    name: String,
}

/// A commit by a name that is known here or, unless offline, to a remote.
fn commit_named(store: &Store, name: &str, lookup: &Lookup<'_>) -> Result<Named, TargetError> {
    let repository = store.repository();
    // A branch comes before a tag of the same name.
    if let Some(id) = repository.commit(&format!("refs/heads/{name}")) {
        return Ok(Named { name: format!("refs/heads/{name}"), id });
    }
    if let Some(id) = repository.commit(name) {
        return Ok(Named { name: ref_name(repository, name, &id), id });
    }
    let mut failed = None;
    for remote in repository.remotes()? {
        let prefix = format!("{}/", remote.name);
        let branch = name.strip_prefix(&prefix).unwrap_or(name);
        if let Some(id) = repository.commit(&format!("refs/remotes/{prefix}{name}")) {
            return Ok(Named { id, name: format!("refs/heads/{name}") });
        }
        if lookup.network == Network::Offline {
            continue;
        }
        if is_commit(name)
            && store.fetch_commit(&remote.name, name).is_ok()
            && store.bare().has(name)
        {
            return Ok(Named { id: name.to_owned(), name: name.to_owned() });
        }
        match crh_git::refreshed(store, &remote.name, branch) {
            Ok(Some(id)) => return Ok(Named { id, name: format!("refs/heads/{branch}") }),
            Ok(None) => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    // Last, since what was fetched for an earlier review may be old by now.
    match (store.commit(name), failed) {
        (Some(id), _) => Ok(Named { name: id.clone(), id }),
        (None, Some(error)) => Err(error.into()),
        (None, None) => Err(TargetError::NoSuchName(name.to_owned())),
    }
}

/// A base that the user names, refreshed if it is a branch of a remote.
fn current(
    store: &Store,
    name: &str,
    lookup: &Lookup<'_>,
) -> Result<(Named, Vec<String>), TargetError> {
    let repository = store.repository();
    let full = repository.full_name(name).unwrap_or_default();
    if let (Some((remote, branch)), Network::Online) = (tracked(repository, &full)?, lookup.network)
    {
        // A branch that the remote has no more is not the base of anything.
        let id = crh_git::refreshed(store, &remote, &branch)?;
        let id = id.ok_or_else(|| TargetError::NoSuchName(name.to_owned()))?;
        return Ok((Named { id, name: format!("refs/heads/{branch}") }, Vec::new()));
    }
    let named = commit_named(store, name, lookup)?;
    let upstream = full.strip_prefix("refs/heads/").and_then(|name| repository.upstream(name));
    let ahead = upstream.as_deref().and_then(|name| Some((name, repository.commit(name)?)));
    let mut notes = Vec::new();
    if let Some((upstream, tip)) = ahead
        && tip != named.id
        && store.bare().is_ancestor(&named.id, &tip)?
    {
        let upstream = upstream.trim_start_matches("refs/remotes/");
        notes.push(format!("`{name}` is behind `{upstream}`; `--base {upstream}` is up to date"));
    }
    Ok((named, notes))
}

/// The remote and the branch of `refs/remotes/origin/main`.
fn tracked(repository: &Repository, full_name: &str) -> Result<Option<(String, String)>, GitError> {
    let Some(name) = full_name.strip_prefix("refs/remotes/") else { return Ok(None) };
    let branch = |remote: &str| name.strip_prefix(remote)?.strip_prefix('/').map(str::to_owned);
    let remotes = repository.remotes()?.into_iter();
    Ok(remotes.map(|remote| remote.name).find_map(|name| Some((name.clone(), branch(&name)?))))
}

/// Makes a shallow clone deep enough for two commits.
fn deepen(store: &Store, base: &str, head: &str, lookup: &Lookup<'_>) -> Result<(), TargetError> {
    if lookup.network == Network::Online
        && store.bare().is_shallow()
        && let Some(remote) = store.repository().remotes()?.first()
    {
        let failed = |source| BaseError::Remote { remote: remote.name.clone(), source };
        store.deepen(&remote.name, base, head).map_err(failed)?;
    }
    Ok(())
}

/// What a commit is called in every clone: its branch, wherever that is, or else the commit itself.
fn ref_name(repository: &Repository, name: &str, commit: &str) -> String {
    // Nothing with one of these is the name of a ref, and finding out costs git a walk.
    if name.contains(['~', '^', ':', '{']) {
        return commit.to_owned();
    }
    let full = repository.full_name(name).unwrap_or_default();
    let branch = match tracked(repository, &full) {
        Ok(Some((_, branch))) => Some(format!("refs/heads/{branch}")),
        Ok(None) | Err(_) => Some(full).filter(|name| name.starts_with("refs/heads/")),
    };
    branch.unwrap_or_else(|| commit.to_owned())
}

/// Adds what is known about a change whose ends are pinned.
fn described(
    store: &Store,
    ends: Ends,
    target: &Target,
    lookup: &Lookup<'_>,
) -> Result<Change, TargetError> {
    // The diff takes longest, and nothing else waits for it.
    let (diff, known) = std::thread::scope(|scope| {
        let diff = scope.spawn(|| store.bare().diff(&ends.base, &ends.head).map(Diff::read));
        let known = known(store, &ends, target, lookup);
        (diff.join(), known)
    });
    let Known { untracked, head, commits } = known?;
    let diff = diff.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    if diff.files().is_empty() {
        return Err(TargetError::Nothing(nothing(&ends, &untracked)));
    }
    let (title, body) = words(&ends, &commits);
    Ok(Change {
        author: head.as_ref().map_or_else(String::new, |commit| commit.author.clone()),
        created_at: head.map(|commit| commit.committed),
        base: Some(ends.base),
        head: Some(ends.head),
        source: ends.source,
        target: ends.target,
        title,
        body,
        commits,
        diff,
        untracked,
        notes: ends.notes,
        proposed: None,
    })
}

/// What git knows about a change beside its diff.
struct Known {
    untracked: Vec<String>,
    /// The last commit; none if the head is a snapshot.
    head: Option<Commit>,
    commits: Vec<Commit>,
}

fn known(
    store: &Store,
    ends: &Ends,
    target: &Target,
    lookup: &Lookup<'_>,
) -> Result<Known, TargetError> {
    let untracked = left_out(store.repository(), target, lookup)?;
    let mut ids = History::of(store.bare(), &ends.base, &ends.head)?.of_change;
    let head = if ends.dirty {
        ids.retain(|id| *id != ends.head);
        None
    } else {
        store.bare().commits(std::slice::from_ref(&ends.head))?.pop()
    };
    Ok(Known { untracked, head, commits: store.bare().commits(&ids)? })
}

/// Files that lie in the checkout under review and are not part of the review.
fn left_out(
    repository: &Repository,
    target: &Target,
    lookup: &Lookup<'_>,
) -> Result<Vec<String>, GitError> {
    let looks_at_checkout = match target {
        Target::CurrentBranch | Target::Against(_) => lookup.untracked == Untracked::Named,
        Target::Staged => true,
        Target::Uncommitted
        | Target::Commit(_)
        | Target::Range(_)
        | Target::Named(_)
        | Target::PullRequest(_)
        | Target::Diff(_) => false,
    };
    if looks_at_checkout { Ok(shown(repository.untracked()?)) } else { Ok(Vec::new()) }
}

/// Says that nothing differs, and what was not looked at.
fn nothing(ends: &Ends, untracked: &[String]) -> String {
    let short = |name: &str| name.trim_start_matches("refs/heads/").to_owned();
    let same = if ends.base == EMPTY_TREE {
        "there is no file yet".to_owned()
    } else {
        format!("`{}` is the same as `{}`", short(&ends.source), short(&ends.target))
    };
    match untracked {
        [] => same,
        [only] => format!("{same}, and `{only}` is not known to git"),
        [first, rest @ ..] => {
            format!("{same}, and `{first}` and {} more files are not known to git", rest.len())
        }
    }
}

/// What a change is called and says: the words of its only commit, or its branch and a list of its commits.
fn words(ends: &Ends, commits: &[Commit]) -> (String, String) {
    let mut lines: Vec<String> =
        commits.iter().take(LISTED_MAX).map(|commit| format!("- {}", commit.subject)).collect();
    if commits.len() > LISTED_MAX {
        lines.push(format!("and {} more", commits.len() - LISTED_MAX));
    }
    let list = lines.join("\n");
    let short = |name: &str| name.trim_start_matches("refs/heads/").to_owned();
    match commits {
        [] if ends.dirty => (crh_git::SNAPSHOT_SUBJECT.to_owned(), list),
        [] => (format!("From {} to {}", short(&ends.target), short(&ends.source)), list),
        [only] if !ends.dirty => (only.subject.clone(), only.body.clone()),
        [.., last] => match ends.source.strip_prefix("refs/heads/") {
            Some(branch) => (branch.to_owned(), list),
            None => (last.subject.clone(), list),
        },
    }
}

fn shown(paths: Vec<Vec<u8>>) -> Vec<String> {
    paths.into_iter().map(|path| RepoPath::new(path).shown().into_owned()).collect()
}
