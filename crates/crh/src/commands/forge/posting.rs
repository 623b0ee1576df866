//! Posts a review to a proposed change, or returns a dry run, for new reviews and stored runs.

use std::sync::{Mutex, PoisonError};

use tokio::runtime::Runtime;

use super::posting_messages::HINT_SECRET_IN_SCHEMA;
use crate::cli::PostFlags;
use crate::commands::launchpad::credentials::HINT_LOG_IN;
use crate::failure::{Failure, FailureKind};
use crh_forge::ForgeError;
use crh_forge::posting::{
    AllowedVotes, ForgePoster, ForgeRequest, PostingOptions, PostingOutcome, PostingRefusal,
    ReviewBasis, ReviewPosting, plan_review, post_review,
};
use crh_git::{BareRepository, Objects};
use crh_llm::Redactor;
use crh_pipeline::incremental::{HeadChange, IncrementalReview};
use crh_pipeline::sinks::{ForgeName, PostKind};
use crh_review::diff::Diff;
use crh_review::report::Report;

/// Largest file that crh reads from a commit, in bytes. Issues in larger files get no suggestions.
const FILE_MAX: u64 = 4 << 20;

/// A review to post.
pub(crate) struct PostRequest<'a> {
    pub(crate) report: &'a Report,
    pub(crate) diff: &'a Diff,
    pub(crate) files: HeadFiles,
    pub(crate) redactor: &'a Redactor,
    pub(crate) instance: &'a str,
    pub(crate) basis: &'a ReviewBasis,
    /// The last review, if this one covers only newer commits.
    pub(crate) since: Option<&'a IncrementalReview>,
    pub(crate) kind: PostKind,
    pub(crate) flags: PostFlags,
}

/// A repository and the head commit of the review, if available.
pub(crate) struct HeadFiles(Option<(Mutex<Objects>, String)>);

pub(crate) enum PostResult {
    /// Requests that would be sent.
    DryRun(Vec<ForgeRequest>),
    Done(PostingOutcome),
}

impl HeadFiles {
    /// Opens the repository. Empty if that fails.
    pub(crate) fn open(repository_and_commit: Option<&(BareRepository, String)>) -> Self {
        let files = repository_and_commit
            .and_then(|(bare, commit)| Some((Mutex::new(bare.objects().ok()?), commit.clone())));
        Self(files)
    }

    /// Lines of a text file at the head, without line endings.
    fn lines(&self, path: &str) -> Option<Vec<String>> {
        let (_, commit) = self.0.as_ref()?;
        Some(self.text_at(commit, path)?.lines().map(str::to_owned).collect())
    }

    /// Whether the repository has a commit.
    pub(crate) fn has_commit(&self, commit: &str) -> bool {
        let objects = self.0.as_ref().map(|(objects, _)| objects);
        objects.is_some_and(|it| it.lock().unwrap_or_else(PoisonError::into_inner).has(commit))
    }

    /// A text file of a commit. `None` if it is too large or not UTF-8.
    pub(crate) fn text_at(&self, commit: &str, path: &str) -> Option<String> {
        let (objects, _) = self.0.as_ref()?;
        let objects = objects.lock().unwrap_or_else(PoisonError::into_inner);
        let (entry, size) = objects.stat(commit, path).ok()?;
        if !entry.kind.is_file() || size > FILE_MAX {
            return None;
        }
        String::from_utf8(objects.file(commit, path).ok()?).ok()
    }
}

impl PostRequest<'_> {
    /// Calls a function with everything that the posting engine needs. `web` is the address of the
    /// forge.
    pub(crate) fn with_posting<T>(
        &self,
        web: &str,
        run: impl FnOnce(&ReviewPosting<'_>) -> T,
    ) -> T {
        let carried_issues = self.since.map(|since| since.carried_over_issues(self.report));
        run(&ReviewPosting {
            report: self.report,
            diff: self.diff,
            head_lines: &|path| self.files.lines(path),
            mask: &|text| self.redactor.redact(text).into_owned(),
            instance: self.instance,
            web,
            basis: self.basis,
            carried_issues: carried_issues.as_deref(),
            options: PostingOptions {
                votes: AllowedVotes {
                    request_changes: self.flags.request_changes,
                    approve: self.flags.allow_approve,
                },
                resolve_outdated: self.flags.resolve_outdated,
                comment_only: self.kind == PostKind::Comment,
            },
        })
    }

    /// The result if the last review covers this head already: crh posts nothing.
    pub(crate) fn nothing_new(&self) -> Option<PostResult> {
        let since = self.since.filter(|since| since.head_change == HeadChange::Same)?;
        if self.flags.dry_run {
            return Some(PostResult::DryRun(Vec::new()));
        }
        let notes = vec![format!("nothing to post: {}", since.sentence())];
        Some(PostResult::Done(PostingOutcome { notes, ..PostingOutcome::default() }))
    }

    /// Posts with the engine, or plans for a dry run.
    pub(crate) fn post(
        &self,
        poster: &impl ForgePoster,
        web: &str,
        runtime: &Runtime,
    ) -> Result<PostResult, ForgeError> {
        if let Some(result) = self.nothing_new() {
            return Ok(result);
        }
        self.with_posting(web, |posting| match self.flags.dry_run {
            false => {
                let delays = &poster.rules().profile().delays;
                runtime.block_on(post_review(poster, posting, delays)).map(PostResult::Done)
            }
            true => {
                let plan = runtime.block_on(plan_review(poster, posting))?;
                let requests = plan.writes.into_iter().map(|write| write.request).collect();
                Ok(PostResult::dry_run(plan.refusal.map_or(Ok(requests), Err)))
            }
        })
    }
}

impl PostResult {
    /// Result of a dry run: the requests, or the refusal.
    pub(crate) fn dry_run(requests: Result<Vec<ForgeRequest>, PostingRefusal>) -> Self {
        match requests {
            Ok(requests) => Self::DryRun(requests),
            Err(refusal) => {
                Self::Done(PostingOutcome { refusal: Some(refusal), ..PostingOutcome::default() })
            }
        }
    }
}

/// Adds exit code and hint to a refusal.
pub(crate) fn refusal_failure(refusal: &PostingRefusal) -> Failure {
    let (kind, hint) = match refusal {
        PostingRefusal::HeadMoved { .. } => {
            (FailureKind::External, "nothing was posted; review the new head and post that")
        }
        PostingRefusal::OtherProposal { .. } => {
            (FailureKind::Usage, "nothing was posted; name the right run")
        }
        PostingRefusal::Closed { .. } => (FailureKind::External, "nothing was posted"),
        PostingRefusal::NotAllRead { .. } => {
            (FailureKind::External, "nothing was posted, to avoid duplicates")
        }
        PostingRefusal::Unsubmitted => {
            (FailureKind::External, "nothing was posted; submit or discard that review first")
        }
        PostingRefusal::Drafts { .. } => (
            FailureKind::External,
            "nothing was posted; save or discard the drafts on the page of the proposal",
        ),
        PostingRefusal::Unmaskable => (FailureKind::Usage, HINT_SECRET_IN_SCHEMA),
        PostingRefusal::NotLoggedIn(name) => {
            let rest = ForgeName::all_rest().find(|rest| rest.profile().name == *name);
            let permissions = rest.map(|rest| rest.rest_profile().permissions);
            (FailureKind::Usage, permissions.unwrap_or(HINT_LOG_IN))
        }
    };
    Failure::new(kind, anyhow::anyhow!("{refusal}")).hint(hint)
}
