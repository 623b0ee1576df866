//! Whose fault it is that there is nothing to review.

use super::super::forge::Forge;
use crate::failure::{Failure, Kind};
use crh_git::{BaseError, GitError};
use crh_pipeline::asked::Mode;
use crh_pipeline::target::TargetError;

/// Whose fault it is that there is nothing to review, and what to do about it.
pub(in crate::commands) fn failed(
    error: TargetError,
    mode: Option<Mode>,
    at: Option<&Forge>,
) -> Failure {
    let (kind, hint) = whose(&error, at);
    if mode == Some(Mode::Headless) && is_without_scope(&error) {
        let text = "Review failed (headless mode). Reason: no diff scope detected. Re-invoke with a branch name, PR number, or base:<ref>.";
        return Failure::usage(text).hint(error.to_string());
    }
    let failure = Failure::new(kind, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Whether an error means that nothing says what there is to review, and not that something said is wrong.
fn is_without_scope(error: &TargetError) -> bool {
    match error {
        TargetError::Nothing(_) | TargetError::Unborn | TargetError::Bare => true,
        TargetError::Base(error) => match error {
            BaseError::Unresolvable { .. }
            | BaseError::Ambiguous(_)
            | BaseError::Unrelated { .. } => true,
            BaseError::Remote { .. }
            | BaseError::Git(_)
            | BaseError::Missing(_)
            | BaseError::NoSuchBranch(_) => false,
        },
        TargetError::NoSuchName(_)
        | TargetError::NotRead(_)
        | TargetError::Forge { .. }
        | TargetError::Unmerged(_)
        | TargetError::NotADiff
        | TargetError::Missing(_)
        | TargetError::Store(_)
        | TargetError::Log(_)
        | TargetError::Read(_)
        | TargetError::Git(_) => false,
    }
}

fn whose(error: &TargetError, at: Option<&Forge>) -> (Kind, Option<&'static str>) {
    match error {
        TargetError::NoSuchName(name) if name.bytes().all(|byte| byte.is_ascii_digit()) => (
            Kind::Usage,
            Some(
                "as many digits are the name of a commit; a pull request is written as `owner/name#12`",
            ),
        ),
        TargetError::NoSuchName(_) => {
            (Kind::Usage, Some("`git branch --all` lists branches; fetch it if it is new"))
        }
        TargetError::Unborn => (Kind::Usage, Some("`--uncommitted` takes what is there")),
        TargetError::Bare => (Kind::Usage, Some("name a branch, or a range `A..B`")),
        TargetError::Unmerged(_) => (Kind::Usage, Some("resolve them, or take `--uncommitted`")),
        TargetError::Nothing(_) => (
            Kind::Usage,
            Some(
                "`--base REF` names another base, `--commit SHA` takes one commit, `--include-untracked` takes new files",
            ),
        ),
        TargetError::NotADiff => (Kind::Usage, Some("`git diff` and `git show` print one")),
        TargetError::Base(error) => match error {
            BaseError::Remote { .. } => {
                (Kind::Outside, Some("`--offline` takes the base as it was last fetched"))
            }
            BaseError::Git(_) => (Kind::Outside, None),
            BaseError::Missing(_) => {
                (Kind::Usage, Some("leave `--offline` out, or `git fetch --unshallow`"))
            }
            BaseError::NoSuchBranch(_)
            | BaseError::Unresolvable { .. }
            | BaseError::Ambiguous(_)
            | BaseError::Unrelated { .. } => {
                (Kind::Usage, Some("`--base REF` says it, or `base.branch` in `crh.toml`"))
            }
        },
        TargetError::NotRead(_) => (Kind::Bug, None),
        TargetError::Forge { source, .. } => {
            (Kind::Outside, at.and_then(|at| not_fetched(source, at)))
        }
        TargetError::Missing(_) => {
            (Kind::Outside, Some("leave `--offline` out, or fetch them with git"))
        }
        TargetError::Log(_) | TargetError::Read(_) | TargetError::Git(_) => {
            (Kind::Outside, Some("`git fsck` says whether the repository is damaged"))
        }
        TargetError::Store(_) => (Kind::Outside, None),
    }
}

/// What to do about commits that git does not get from a forge.
fn not_fetched(error: &GitError, at: &Forge) -> Option<&'static str> {
    match error {
        GitError::Failed { message, .. } if is_refused(message) => Some(at.to_fetch()),
        GitError::Failed { .. } | GitError::TooSlow { .. } => Some("try again later"),
        GitError::Missing | GitError::TooOld { .. } | GitError::Io { .. } => None,
    }
}

/// Whether git says that it may not have the repository, or that there is none that it can see. It is always run in English.
fn is_refused(message: &str) -> bool {
    let words = [
        "error: 401",
        "error: 403",
        "error: 404",
        "Authentication failed",
        "could not read Username",
        "could not read Password",
        "Permission denied",
        "' not found",
    ];
    words.iter().any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_fetch_is_told_from_a_server_that_fails() {
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
            assert_eq!(is_refused(message), expected, "{message}");
        }
    }
}
