//! Posts a review to a merge proposal, or prints a dry run, for new reviews and stored runs.

use super::super::forge::posting_messages;
use super::{LaunchpadSession, credentials};
use crate::cli::PostFlags;
use crate::failure::{Failure, FailureKind};
use crh_forge::launchpad::MergeProposalRef;
use crh_forge::launchpad::post::{
    LaunchpadPosting, LaunchpadPostingOptions, LaunchpadPostingOutcome, LaunchpadWrite,
    MergeProposalRefusal,
};
use crh_llm::Redactor;
use crh_review::diff::Diff;
use crh_review::report::Report;

pub(crate) struct LaunchpadPostRequest<'a> {
    pub(crate) report: &'a Report,
    /// The reviewed diff.
    pub(crate) diff: &'a Diff,
    pub(crate) redactor: &'a Redactor,
    pub(crate) instance: &'a str,
    pub(crate) flags: PostFlags,
}

pub(crate) enum LaunchpadPostResult {
    /// The write that crh would send; `None` if the review is already posted.
    DryRun(Option<LaunchpadWrite>),
    Done(LaunchpadPostingOutcome),
}

/// Posts a review, or returns the write of a dry run.
pub(crate) fn post(
    session: &LaunchpadSession,
    proposal_ref: &MergeProposalRef,
    request: &LaunchpadPostRequest<'_>,
) -> Result<LaunchpadPostResult, Failure> {
    let LaunchpadPostRequest { report, diff, redactor, instance, flags } = request;
    let mask = |text: &str| redactor.redact(text).into_owned();
    let options = LaunchpadPostingOptions { approve: flags.allow_approve };
    let posting = LaunchpadPosting { report, diff, mask: &mask, instance, options };
    if !flags.dry_run {
        return session.post(proposal_ref, &posting).map(LaunchpadPostResult::Done);
    }
    let plan = session.plan(proposal_ref, &posting)?;
    Ok(match plan.refusal {
        Some(refusal) => LaunchpadPostResult::Done(LaunchpadPostingOutcome {
            refusal: Some(refusal),
            ..LaunchpadPostingOutcome::default()
        }),
        None => LaunchpadPostResult::DryRun(plan.write),
    })
}

/// Rejects flags that only GitHub supports.
pub(crate) fn check_flags(flags: PostFlags) -> Result<(), Failure> {
    let github_flags = [
        ("--request-changes", flags.request_changes, "the vote follows from the verdict"),
        ("--resolve-outdated", flags.resolve_outdated, "inline comments stay"),
    ];
    match github_flags.iter().find(|(_, is_given, _)| *is_given) {
        Some((flag, _, why)) => Err(Failure::usage(format!("`{flag}` works only with GitHub"))
            .hint(format!("leave it out: at Launchpad, {why}"))),
        None => Ok(()),
    }
}

/// Adds exit code and hint to a refusal.
pub(crate) fn refusal_failure(refusal: &MergeProposalRefusal) -> Failure {
    let (kind, hint) = match refusal {
        MergeProposalRefusal::HeadMoved { .. } => {
            (FailureKind::External, "nothing was posted; review the new head and post that")
        }
        MergeProposalRefusal::OtherProposal { .. } => {
            (FailureKind::Usage, "nothing was posted; name the right run")
        }
        MergeProposalRefusal::Closed { .. } => (FailureKind::External, "nothing was posted"),
        MergeProposalRefusal::NotAllRead { .. } => {
            (FailureKind::External, "nothing was posted, to avoid duplicates")
        }
        MergeProposalRefusal::Drafts { .. } => (
            FailureKind::External,
            "nothing was posted; save or discard the drafts on the page of the proposal",
        ),
        MergeProposalRefusal::Unmaskable => {
            (FailureKind::Usage, posting_messages::HINT_SECRET_IN_SCHEMA)
        }
        MergeProposalRefusal::NotLoggedIn => (FailureKind::Usage, credentials::HINT_LOG_IN),
    };
    Failure::new(kind, anyhow::anyhow!("{refusal}")).hint(hint)
}
