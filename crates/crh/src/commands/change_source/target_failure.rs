//! Exit codes and hints for changes that cannot be resolved.

use super::super::forge::Forge;
use crate::failure::{Failure, FailureKind};
use crh_git::{BaseError, GitError, MissingError, ReadError, StoreError};
use crh_pipeline::resolve::TargetError;
use crh_pipeline::target_args::RequestedMode;

/// Hint for a change that reaches a limit.
const TOO_LARGE: &str = "review parts of the change, for example `crh review A..B`; `budget.seconds` in your config is the time limit";

/// Turns the error into a failure with a hint.
pub(in crate::commands) fn target_failure(
    error: TargetError,
    mode: Option<RequestedMode>,
    forge: Option<&Forge>,
) -> Failure {
    let (kind, hint) = kind_and_hint(&error, forge);
    if mode == Some(RequestedMode::Headless) && is_scope_unknown(&error) {
        // Callers of headless mode expect exactly this text.
        let text = "Review failed (headless mode). Reason: no diff scope detected. Re-invoke with a branch name, PR number, or base:<ref>.";
        return Failure::usage(text).hint(error.to_string());
    }
    let failure = Failure::new(kind, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Whether crh could not decide what to review. False for an empty change, for a wrong argument, or
/// if git or the forge failed.
fn is_scope_unknown(error: &TargetError) -> bool {
    match error {
        TargetError::Unborn | TargetError::Bare => true,
        TargetError::Base(error) => match error {
            BaseError::Unresolvable { .. }
            | BaseError::OwnBase(_)
            | BaseError::Ambiguous(_)
            | BaseError::SeveralRemotes(_)
            | BaseError::Unrelated { .. } => true,
            BaseError::Remote { .. }
            | BaseError::Git(_)
            | BaseError::MissingObjects(_)
            | BaseError::NoSuchBranch(_) => false,
        },
        TargetError::NothingStaged
        | TargetError::NothingUncommitted
        | TargetError::NoDifference(_)
        | TargetError::NoSuchName(_)
        | TargetError::NoAncestor { .. }
        | TargetError::AmbiguousName { .. }
        | TargetError::NotFetched(_)
        | TargetError::Forge { .. }
        | TargetError::Unmerged(_)
        | TargetError::EmptyDiff
        | TargetError::UnsupportedDiff(_)
        | TargetError::CutDiff { .. }
        | TargetError::TooLarge { .. }
        | TargetError::Deepen { .. }
        | TargetError::MissingObjects(_)
        | TargetError::NotFetchable { .. }
        | TargetError::Store(_)
        | TargetError::Log(_)
        | TargetError::Read(_)
        | TargetError::Git(_) => false,
    }
}

#[expect(clippy::too_many_lines, reason = "one row per error")]
fn kind_and_hint(
    error: &TargetError,
    forge: Option<&Forge>,
) -> (FailureKind, Option<&'static str>) {
    match error {
        TargetError::NoSuchName(name) if name.bytes().all(|byte| byte.is_ascii_digit()) => (
            FailureKind::Usage,
            Some("a number this long is read as a commit; write a pull request as `owner/name#12`"),
        ),
        TargetError::NoSuchName(_) => (
            FailureKind::Usage,
            Some(
                "if the name exists only on the remote, run `git fetch`; `git branch --all` lists all branches",
            ),
        ),
        TargetError::NoAncestor { .. } => {
            (FailureKind::Usage, Some("name a commit that `git log` lists"))
        }
        TargetError::AmbiguousName { .. } => {
            (FailureKind::Usage, Some("write the full name of the ref, or delete the tag"))
        }
        TargetError::Unborn => {
            (FailureKind::Usage, Some("review uncommitted files with `--uncommitted`"))
        }
        TargetError::Bare => (FailureKind::Usage, Some("name a branch or a range `A..B`")),
        TargetError::Unmerged(_) => {
            (FailureKind::Usage, Some("resolve the conflicts, or pass `--uncommitted`"))
        }
        TargetError::NothingStaged => (
            FailureKind::Usage,
            Some("stage changes with `git add`, or review them with `--uncommitted`"),
        ),
        TargetError::NothingUncommitted => (
            FailureKind::Usage,
            Some("leave out `--uncommitted` to review the commits of the branch"),
        ),
        TargetError::NoDifference(_) => (
            FailureKind::Usage,
            Some(
                "name a base with `--base REF`, review one commit with `--commit SHA`, or add new files with `--include-untracked`",
            ),
        ),
        TargetError::EmptyDiff => {
            (FailureKind::Usage, Some("pass the output of `git diff` or `git show`"))
        }
        TargetError::UnsupportedDiff(error) => (FailureKind::Usage, Some(error.hint())),
        TargetError::CutDiff { .. } => (
            FailureKind::Usage,
            Some("pass the whole diff; a download or a copy may have lost some of its lines"),
        ),
        TargetError::Base(error) => match error {
            BaseError::Remote { .. } => (
                FailureKind::External,
                Some(
                    "check the network and the remote's URL, or name a base in this clone with `--base REF`",
                ),
            ),
            BaseError::Git(_) => (FailureKind::External, None),
            BaseError::MissingObjects(_) => {
                (FailureKind::Usage, Some("remove `--offline`, or run `git fetch --unshallow`"))
            }
            BaseError::OwnBase(_) => (
                FailureKind::Usage,
                Some(
                    "review uncommitted and untracked files with `--uncommitted`, a commit with `--commit SHA`, or name a base with `--base REF`",
                ),
            ),
            BaseError::NoSuchBranch(_)
            | BaseError::Unresolvable { .. }
            | BaseError::Ambiguous(_)
            | BaseError::SeveralRemotes(_)
            | BaseError::Unrelated { .. } => (
                FailureKind::Usage,
                Some(
                    "name a base with `--base REF`, with `CRH_BASE`, or with `base.branch` in your own settings; `--uncommitted` needs no base",
                ),
            ),
        },
        TargetError::NotFetched(_) => (FailureKind::Bug, None),
        TargetError::Forge { source, .. } => {
            (FailureKind::External, forge.and_then(|forge| fetch_hint(source, forge)))
        }
        TargetError::MissingObjects(_) => {
            (FailureKind::External, Some("remove `--offline`, or fetch the commits with git"))
        }
        TargetError::Deepen { .. } => {
            (FailureKind::External, Some("check the network and the remote's URL"))
        }
        TargetError::NotFetchable { missing, source } => {
            (FailureKind::External, Some(fetch_missing_hint(missing, source.is_some())))
        }
        TargetError::TooLarge { .. }
        | TargetError::Read(ReadError::TooManyFiles(_) | ReadError::TooDeep(_)) => {
            (FailureKind::Skipped, Some(TOO_LARGE))
        }
        TargetError::Git(error) | TargetError::Store(StoreError::Git(error))
            if reaches_limit(error) =>
        {
            (FailureKind::Skipped, Some(TOO_LARGE))
        }
        TargetError::Log(_) | TargetError::Read(_) | TargetError::Git(_) => {
            (FailureKind::External, Some("run `git fsck` to check the repository"))
        }
        TargetError::Store(_) => (FailureKind::External, None),
    }
}

/// How to get objects that crh could not fetch.
fn fetch_missing_hint(missing: &MissingError, has_remote: bool) -> &'static str {
    match missing {
        _ if !has_remote => "add the remote of this clone, or fetch the commits with git",
        MissingError::Commit(_) | MissingError::MergeBase(..) => {
            "run `git fetch --unshallow` when the remote answers"
        }
        MissingError::Objects { .. }
        | MissingError::NotSent { .. }
        | MissingError::Gone { .. }
        | MissingError::Git(_) => "run crh again when the remote answers",
    }
}

/// Whether git reached a limit of crh.
fn reaches_limit(error: &GitError) -> bool {
    match error {
        GitError::TooMuchOutput { .. }
        | GitError::TooManyFiles { .. }
        | GitError::TooDeep { .. }
        | GitError::OutOfMemory { .. }
        | GitError::TimedOut { .. } => true,
        GitError::NotInstalled
        | GitError::TooOld { .. }
        | GitError::Failed { .. }
        | GitError::Io { .. } => false,
    }
}

/// Hint for a failed fetch from a forge.
fn fetch_hint(error: &GitError, forge: &Forge) -> Option<&'static str> {
    match error {
        GitError::Failed { message, .. } if is_access_denied(message) => Some(forge.fetch_hint()),
        GitError::Failed { .. } | GitError::TimedOut { .. } => Some("try again later"),
        GitError::NotInstalled
        | GitError::TooOld { .. }
        | GitError::TooMuchOutput { .. }
        | GitError::TooManyFiles { .. }
        | GitError::TooDeep { .. }
        | GitError::OutOfMemory { .. }
        | GitError::Io { .. } => None,
    }
}

/// Whether git was denied access or the repository does not exist. Git always runs with English
/// messages.
fn is_access_denied(message: &str) -> bool {
    let phrases = [
        "error: 401",
        "error: 403",
        "error: 404",
        "Authentication failed",
        "could not read Username",
        "could not read Password",
        "Permission denied",
        "' not found",
    ];
    phrases.iter().any(|phrase| message.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denied_fetch_differs_from_server_failure() {
        for (message, expected) in [
            ("fatal: unable to access 'https://h/r/': The requested URL returned error: 403", true),
            ("remote: Unauthorized; fatal: Authentication failed for 'https://h/r/'", true),
            ("fatal: could not read Username for 'https://h': terminal prompts disabled", true),
            ("remote: Not Found; fatal: repository 'https://h/r/' not found", true),
            (
                "fatal: unable to access 'https://h/r/': The requested URL returned error: 503",
                false,
            ),
            ("fatal: https://h/r/info/refs not valid: is this a git repository?", false),
            ("error: RPC failed; curl 18 transfer closed; fatal: early EOF", false),
            ("fatal: unable to access 'https://h/r/': Could not resolve host: h", false),
        ] {
            assert_eq!(is_access_denied(message), expected, "{message}");
        }
    }
}
