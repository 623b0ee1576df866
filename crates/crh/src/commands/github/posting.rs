//! Posts a review to a pull request, or prints a dry run, for new reviews and stored runs.

use std::sync::{Mutex, PoisonError};

use super::session::post_failure;
use super::{GitHubSession, to_failure};
use crate::cli::PostFlags;
use crate::failure::{Failure, FailureKind};
use crate::ui;
use crh_forge::github::PullRequestRef;
use crh_forge::github::post::{
    AllowedVotes, GitHubPosting, GitHubPostingOptions, GitHubPostingOutcome, GitHubRequest,
    ReviewBasis, SarifUploadError, StatusChannel, plan,
};
use crh_git::{BareRepository, Objects};
use crh_llm::Redactor;
use crh_pipeline::incremental::{HeadChange, IncrementalReview};
use crh_pipeline::sinks::GitHubPostKind;
use crh_review::diff::Diff;
use crh_review::report::Report;

/// Largest file for which crh posts suggestions, in bytes.
const FILE_MAX: u64 = 4 << 20;

pub(crate) struct GitHubPostRequest<'a> {
    pub(crate) report: &'a Report,
    pub(crate) diff: &'a Diff,
    pub(crate) files: HeadFiles,
    pub(crate) redactor: &'a Redactor,
    pub(crate) instance: &'a str,
    pub(crate) basis: &'a ReviewBasis,
    /// The last review, if this one covers only newer commits.
    pub(crate) since: Option<&'a IncrementalReview>,
    pub(crate) kind: GitHubPostKind,
    pub(crate) flags: PostFlags,
}

/// Files at the head, if available.
pub(crate) struct HeadFiles(Option<(Mutex<Objects>, String)>);

pub(crate) enum GitHubPostResult {
    /// Requests that would be sent.
    DryRun(Vec<GitHubRequest>),
    Done(GitHubPostingOutcome),
}

impl HeadFiles {
    /// Files of a commit. Empty if the repository cannot be opened.
    pub(crate) fn open(repository_and_commit: Option<&(BareRepository, String)>) -> Self {
        let files = repository_and_commit
            .and_then(|(bare, commit)| Some((Mutex::new(bare.objects().ok()?), commit.clone())));
        Self(files)
    }

    /// Lines of a text file, without line endings.
    fn lines(&self, path: &str) -> Option<Vec<String>> {
        let (objects, commit) = self.0.as_ref()?;
        let objects = objects.lock().unwrap_or_else(PoisonError::into_inner);
        let (entry, size) = objects.stat(commit, path).ok()?;
        if !entry.kind.is_file() || size > FILE_MAX {
            return None;
        }
        let text = String::from_utf8(objects.file(commit, path).ok()?).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    }
}

/// Posts a review, or returns the requests of a dry run.
pub(crate) fn post(
    session: &GitHubSession,
    pull_ref: &PullRequestRef,
    request: &GitHubPostRequest<'_>,
) -> Result<GitHubPostResult, Failure> {
    let GitHubPostRequest { report, diff, files, redactor, instance, basis, since, kind, flags } =
        request;
    if let Some(since) = since.filter(|since| since.head_change == HeadChange::Same) {
        return nothing_new(since, *flags);
    }
    let carried_issues = since.map(|since| since.carried_over_issues(report));
    let head_lines = |path: &str| files.lines(path);
    let mask = |text: &str| redactor.redact(text).into_owned();
    let posting = GitHubPosting {
        report,
        diff,
        head_lines: &head_lines,
        mask: &mask,
        instance,
        web: pull_ref.host.server(),
        basis,
        carried_issues: carried_issues.as_deref(),
        options: GitHubPostingOptions {
            votes: AllowedVotes {
                request_changes: flags.request_changes,
                approve: flags.allow_approve,
            },
            resolve_outdated: flags.resolve_outdated,
            comment_only: *kind == GitHubPostKind::Comment,
        },
    };
    let channel = match kind {
        GitHubPostKind::Review | GitHubPostKind::Comment => None,
        GitHubPostKind::CheckRun => Some(StatusChannel::CheckRun),
        GitHubPostKind::CodeScanning => Some(StatusChannel::CodeScanning),
    };
    if flags.dry_run {
        return dry_run(session, pull_ref, &posting, channel);
    }
    let outcome = match channel {
        None => session.post(pull_ref, &posting),
        Some(channel) => session.post_to_channel(pull_ref, &posting, channel),
    };
    ui::detail(&session.rate_limit_message());
    outcome.map(GitHubPostResult::Done).map_err(|error| post_failure(error, *kind))
}

fn dry_run(
    session: &GitHubSession,
    pull_ref: &PullRequestRef,
    posting: &GitHubPosting<'_>,
    channel: Option<StatusChannel>,
) -> Result<GitHubPostResult, Failure> {
    let requests = match channel {
        None => {
            let pull_state = session.read(pull_ref, posting.instance).map_err(to_failure)?.1;
            let plan = plan(posting, &pull_state);
            let requests = plan.writes.into_iter().map(|write| write.request).collect();
            plan.refusal.map_or(Ok(requests), Err)
        }
        Some(channel) => {
            session.plan_for_channel(pull_ref, posting, channel).map_err(|error| match error {
                SarifUploadError::Forge(error) => to_failure(error),
                SarifUploadError::Serialize(_) | SarifUploadError::Compress(_) => {
                    Failure::new(FailureKind::Bug, error)
                }
                SarifUploadError::TooLarge(_) => Failure::new(FailureKind::External, error),
            })?
        }
    };
    Ok(match requests {
        Ok(requests) => GitHubPostResult::DryRun(requests),
        Err(refusal) => GitHubPostResult::Done(GitHubPostingOutcome {
            refusal: Some(refusal),
            ..GitHubPostingOutcome::default()
        }),
    })
}

/// Result if the pull request already has a review of this head with the same result.
fn nothing_new(since: &IncrementalReview, flags: PostFlags) -> Result<GitHubPostResult, Failure> {
    if flags.dry_run {
        return Ok(GitHubPostResult::DryRun(Vec::new()));
    }
    let note = format!("nothing to post: {}", since.sentence());
    Ok(GitHubPostResult::Done(GitHubPostingOutcome {
        notes: vec![note],
        ..GitHubPostingOutcome::default()
    }))
}
