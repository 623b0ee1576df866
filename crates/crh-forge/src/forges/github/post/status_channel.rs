//! Shows a review outside the conversation: as a check run, or as code scanning alerts.
//!
//! Neither depends on positions in the diff. crh plans them separately from comments, because many
//! tokens may write only one of the three.

use super::GitHubRules;
use super::check_run::{check_run_requests, existing_check_runs, post_check_run};
use super::sarif::{SarifUploadError, post_sarif, sarif_upload};
use crate::ForgeError;
use crate::forges::github::{GitHubClient, PullRequestRef, read};
use crate::posting::{
    ForgeRequest, ItemDelivery, PostedItem, PostingOutcome, PostingReceipt, PostingRefusal,
    PostingSkip, ReviewPosting, find_refusal,
};

/// A place for a review outside the conversation of the pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusChannel {
    /// A check run at the head, named after the installation.
    CheckRun,
    /// Code scanning alerts.
    CodeScanning,
}

impl StatusChannel {
    /// Required permissions.
    fn needs(self) -> &'static str {
        match self {
            Self::CheckRun => {
                "a check run needs `checks: write` and a token of Actions or of an App; personal tokens cannot create check runs"
            }
            Self::CodeScanning => {
                "code scanning needs `security-events: write` and must be enabled for the repository"
            }
        }
    }

    fn item(self) -> PostedItem {
        match self {
            Self::CheckRun => PostedItem::CheckRun,
            Self::CodeScanning => PostedItem::CodeScanning,
        }
    }
}

/// Shows a review in the channel. An error means that the pull request could not be read and
/// nothing was written.
pub async fn post_to_channel(
    client: &GitHubClient,
    pull_ref: &PullRequestRef,
    posting: &ReviewPosting<'_>,
    channel: StatusChannel,
) -> Result<PostingOutcome, ForgeError> {
    let (_, proposal_state) = read::pull_request(client, pull_ref, posting.instance).await?;
    if let Some(refusal) = find_refusal(&GitHubRules, posting, &proposal_state) {
        return Ok(PostingOutcome { refusal: Some(refusal), ..PostingOutcome::default() });
    }
    let requests_sent = match channel {
        StatusChannel::CheckRun => {
            let result = post_check_run(client, posting.instance, posting).await;
            result.map_err(SarifUploadError::Forge)
        }
        StatusChannel::CodeScanning => post_sarif(client, posting).await.map(|()| 1),
    };
    let delivery = match requests_sent {
        Ok(0) => ItemDelivery::Skipped(PostingSkip::AlreadyPosted.to_string()),
        Ok(_) => ItemDelivery::Posted,
        Err(error) => ItemDelivery::Failed(failure_message(&error, channel)),
    };
    let receipts = vec![PostingReceipt { item: channel.item(), delivery }];
    Ok(PostingOutcome { receipts, ..PostingOutcome::default() })
}

/// Requests of a dry run, or why there are none.
pub async fn plan_for_channel(
    client: &GitHubClient,
    pull_ref: &PullRequestRef,
    posting: &ReviewPosting<'_>,
    channel: StatusChannel,
) -> Result<Result<Vec<ForgeRequest>, PostingRefusal>, SarifUploadError> {
    let (_, proposal_state) = read::pull_request(client, pull_ref, posting.instance).await?;
    if let Some(refusal) = find_refusal(&GitHubRules, posting, &proposal_state) {
        return Ok(Err(refusal));
    }
    let requests = match channel {
        StatusChannel::CheckRun => {
            let existing = existing_check_runs(client, posting.instance, posting).await?;
            check_run_requests(posting, posting.instance, &existing)
        }
        StatusChannel::CodeScanning => vec![sarif_upload(posting)?],
    };
    Ok(Ok(requests))
}

/// The error, with the required permissions if they may be the cause.
fn failure_message(error: &SarifUploadError, channel: StatusChannel) -> String {
    match error {
        SarifUploadError::Forge(ForgeError::Forbidden { .. } | ForgeError::NotFound { .. }) => {
            format!("{error}; {}", channel.needs())
        }
        SarifUploadError::Forge(
            ForgeError::BadToken { .. }
            | ForgeError::RateLimited { .. }
            | ForgeError::Refused { .. }
            | ForgeError::Ambiguous { .. }
            | ForgeError::Failing { .. }
            | ForgeError::Unreachable { .. }
            | ForgeError::TooLarge { .. }
            | ForgeError::Bazaar { .. }
            | ForgeError::TooOld { .. }
            | ForgeError::Unreadable { .. },
        )
        | SarifUploadError::Serialize(_)
        | SarifUploadError::Compress(_)
        | SarifUploadError::TooLarge(_) => error.to_string(),
    }
}
