//! Posts a review with one request. If Launchpad does not confirm the request, crh reads the
//! proposal again to see whether the comment appeared.

use std::collections::BTreeMap;
use std::time::Duration;

use super::plan::{LaunchpadPostingSteps, MergeProposalRefusal, current_summary, plan};
use super::{LaunchpadPosting, LaunchpadPostingOutcome};
use crate::ForgeError;
use crate::launchpad::{LaunchpadClient, MergeProposalRef, MergeProposalState, read};
use crate::posting::{ItemDelivery, PostingReceipt, PostingSkip};

/// Delays before crh reads the proposal again after an unconfirmed write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchpadPostingDelays {
    /// Before the first, second and third read.
    pub rereads: [Duration; 3],
}

impl Default for LaunchpadPostingDelays {
    /// The last delay is half a minute, as long as Launchpad may work on a request.
    fn default() -> Self {
        Self { rereads: [5, 15, 30].map(Duration::from_secs) }
    }
}

/// Posts a review to a merge proposal. Reads the current state first. An error means that the state
/// could not be read and nothing was written; later failures are in the outcome.
pub async fn post_review(
    client: &LaunchpadClient,
    proposal_ref: &MergeProposalRef,
    posting: &LaunchpadPosting<'_>,
    delays: &LaunchpadPostingDelays,
) -> Result<LaunchpadPostingOutcome, ForgeError> {
    let (plan, proposal_state) = read_and_plan(client, proposal_ref, posting).await?;
    let Some(write) = &plan.write else {
        let url = summary_url(posting, &proposal_state);
        return Ok(outcome(plan, Ok(()), url));
    };
    match client.create(&write.path, &write.form).await {
        Ok(path) => {
            // A comment's page has the same path as its entry in the web service.
            let url = format!("{}/{path}", client.service().code());
            Ok(outcome(plan, Ok(()), Some(url)))
        }
        Err(ForgeError::Ambiguous { message, .. }) => {
            let (applied, url) =
                check_if_applied(client, proposal_ref, posting, delays, message).await;
            Ok(outcome(plan, applied, url))
        }
        Err(error) => Ok(outcome(plan, Err(error.to_string()), None)),
    }
}

/// Reads the current state and plans the write for a review.
pub async fn read_and_plan(
    client: &LaunchpadClient,
    proposal_ref: &MergeProposalRef,
    posting: &LaunchpadPosting<'_>,
) -> Result<(LaunchpadPostingSteps, MergeProposalState), ForgeError> {
    let (_, proposal_state) = read::merge_proposal(client, proposal_ref).await?;
    let plan = plan(posting, &proposal_state);
    let Some(diff) = plan.commented_diff(&proposal_state) else {
        return Ok((plan, proposal_state));
    };
    let path = &proposal_state.proposal.path;
    let path = format!("{path}?ws.op=getDraftInlineComments&previewdiff_id={}", diff.id);
    let drafts: Option<BTreeMap<String, String>> = client.get_json(&path).await?;
    if drafts.is_none_or(|drafts| drafts.is_empty()) {
        return Ok((plan, proposal_state));
    }
    let who = proposal_state.viewer.clone().unwrap_or_default();
    Ok((
        LaunchpadPostingSteps {
            refusal: Some(MergeProposalRefusal::Drafts { who }),
            ..LaunchpadPostingSteps::default()
        },
        proposal_state,
    ))
}

/// Checks whether an unconfirmed comment was posted. Never sends the comment again: when the user
/// posts again, crh reads the state first.
async fn check_if_applied(
    client: &LaunchpadClient,
    proposal_ref: &MergeProposalRef,
    posting: &LaunchpadPosting<'_>,
    delays: &LaunchpadPostingDelays,
    why: String,
) -> (Result<(), String>, Option<String>) {
    let mut why = format!("the comment did not appear after {why}");
    for wait in delays.rereads {
        tokio::time::sleep(wait).await;
        match read::merge_proposal(client, proposal_ref).await {
            Ok((_, proposal_state)) => {
                if let Some(url) = summary_url(posting, &proposal_state) {
                    return (Ok(()), Some(url));
                }
            }
            Err(error) => why = format!("cannot read the current state: {error}"),
        }
    }
    (Err(why), None)
}

/// Address of the current summary.
fn summary_url(
    posting: &LaunchpadPosting<'_>,
    proposal_state: &MergeProposalState,
) -> Option<String> {
    let summary = current_summary(posting, proposal_state)?;
    Some(if summary.url.is_empty() {
        proposal_state.proposal.url.clone()
    } else {
        summary.url.clone()
    })
}

fn outcome(
    plan: LaunchpadPostingSteps,
    applied: Result<(), String>,
    url: Option<String>,
) -> LaunchpadPostingOutcome {
    let LaunchpadPostingSteps { refusal, posted, skipped, notes, write: _ } = plan;
    let posted = posted.into_iter().map(|item| {
        let delivery = match &applied {
            Ok(()) => ItemDelivery::Posted,
            Err(why) => ItemDelivery::Failed(why.clone()),
        };
        PostingReceipt { item, delivery }
    });
    let skipped = skipped.into_iter().map(|(item, skip)| {
        let delivery = match (&applied, &skip) {
            // The issue is only in the summary, which was not posted.
            (Err(why), PostingSkip::InSummary { .. }) => ItemDelivery::Failed(why.clone()),
            (Ok(()) | Err(_), _) => ItemDelivery::Skipped(skip.to_string()),
        };
        PostingReceipt { item, delivery }
    });
    let mut receipts: Vec<PostingReceipt> = posted.chain(skipped).collect();
    receipts.sort_by(|one, other| one.item.cmp(&other.item));
    LaunchpadPostingOutcome { refusal, receipts, notes, url }
}
