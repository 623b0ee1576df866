//! Posts a review to a merge proposal as one comment with summary, vote and inline comments:
//! Launchpad's part of the posting engine.
//!
//! Launchpad accepts the whole comment or nothing. If Launchpad does not confirm the request, crh
//! reads the state and does not send the request again.

mod placement;
mod plan;
mod saved_summary;
#[cfg(test)]
mod tests;
mod text;
mod vote;

use std::collections::BTreeMap;
use std::time::Duration;

use self::plan::{INLINE, current_summary, plan_comment};
use super::{LaunchpadClient, MergeProposalRef, read};
use crate::forges::{PostKind, SinkProfile};
use crate::posting::{
    Anchor, ForgePoster, ForgeProfile, ForgeRequest, ForgeRules, PostingDelays, PostingSteps,
    PostingWrite, ProposalState, ReviewPosting, SuggestionSyntax, Verb, WriteAnswer, WriteKind,
};
use crate::{ForgeError, ProposalKind};

/// Argument that names the operation of a request.
const OPERATION: &str = "ws.op";
/// Arguments of the request that makes a comment, in the order in which crh sends them.
const ARGUMENTS: [&str; 5] = [OPERATION, "content", "vote", "previewdiff_id", INLINE];

/// Launchpad's abilities. It sends all inline comments in one mail. The last delay is half a
/// minute, as long as Launchpad may work on a request.
const PROFILE: ForgeProfile = ForgeProfile {
    name: "Launchpad",
    sinks: &[SinkProfile::new(
        "launchpad",
        PostKind::Review,
        "A Launchpad comment with a summary, a vote and inline comments",
    )],
    kind: ProposalKind::MergeProposal,
    separator: "/+merge/",
    inline_max: 200,
    batch_max: 200,
    has_ranges: false,
    suggestions: SuggestionSyntax::Unsupported,
    no_request_changes: None,
    votes_have_text: true,
    no_resolving: Some("inline comments stay"),
    outdated_means_changed: false,
    repeats_writes: false,
    delays: PostingDelays {
        rereads: [Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(30)],
        between_writes: Duration::ZERO,
    },
};

/// The rules of Launchpad.
pub struct LaunchpadRules;

/// Reads and writes one merge proposal.
pub struct LaunchpadPoster<'a> {
    /// The client.
    pub client: &'a LaunchpadClient,
    /// The merge proposal.
    pub proposal_ref: &'a MergeProposalRef,
}

impl ForgeRules for LaunchpadRules {
    fn profile(&self) -> &'static ForgeProfile {
        &PROFILE
    }

    fn plan_whole(
        &self,
        posting: &ReviewPosting<'_>,
        state: &ProposalState,
    ) -> Option<PostingSteps> {
        Some(plan_comment(self, posting, state))
    }

    fn withdrawals(&self, instance: &str, state: &ProposalState) -> Vec<WriteKind> {
        vote::withdraw_approval(instance, state).into_iter().collect()
    }

    fn request(&self, write: &WriteKind, state: &ProposalState) -> ForgeRequest {
        let body = match write {
            WriteKind::WholeReview { arguments, .. } => arguments.clone(),
            // The plan has no other write.
            WriteKind::Review { .. }
            | WriteKind::Vote { .. }
            | WriteKind::Withdraw { .. }
            | WriteKind::Submit { .. }
            | WriteKind::NewSummary { .. }
            | WriteKind::Summary { .. }
            | WriteKind::Resolve { .. } => serde_json::Value::Null,
        };
        ForgeRequest { verb: Verb::Post, path: state.properties.api_path.clone(), body }
    }

    fn line_url(&self, _: &Anchor, _: &ReviewPosting<'_>, state: &ProposalState) -> String {
        state.properties.url.clone()
    }

    fn summary_url(&self, posting: &ReviewPosting<'_>, state: &ProposalState) -> Option<String> {
        let summary = current_summary(posting, state)?;
        let url = if summary.url.is_empty() { &state.properties.url } else { &summary.url };
        Some(url.clone())
    }
}

impl ForgePoster for LaunchpadPoster<'_> {
    fn rules(&self) -> &'static dyn ForgeRules {
        &LaunchpadRules
    }

    async fn read_state(&self, _instance: &str) -> Result<ProposalState, ForgeError> {
        let (_, mut state) = read::merge_proposal(self.client, self.proposal_ref).await?;
        let path = &state.properties.api_path;
        if let Some(diff) = state.row_diff.as_mut().filter(|_| state.viewer.is_some()) {
            let path = format!("{path}?ws.op=getDraftInlineComments&previewdiff_id={}", diff.id);
            let drafts: Option<BTreeMap<String, String>> = self.client.get_json(&path).await?;
            diff.has_drafts = drafts.is_some_and(|drafts| !drafts.is_empty());
        }
        Ok(state)
    }

    async fn send(&self, write: &PostingWrite) -> (WriteAnswer, Option<String>) {
        let request = &write.request;
        let argument = |name: &str| {
            let value = request.body.get(name)?;
            // The service parses all arguments except the operation as JSON. As a JSON string, a
            // text such as `12` is not taken for a number.
            let text = match value.as_str().filter(|_| name == OPERATION) {
                Some(operation) => operation.to_owned(),
                None => value.to_string(),
            };
            Some((name.to_owned(), text))
        };
        let form: Vec<(String, String)> = ARGUMENTS.into_iter().filter_map(argument).collect();
        match self.client.create(&request.path, &form).await {
            // A comment's page has the same path as its entry in the web service.
            Ok(path) => {
                (WriteAnswer::Done, Some(format!("{}/{path}", self.client.service().code())))
            }
            Err(ForgeError::Ambiguous { message, .. }) => (WriteAnswer::Unconfirmed(message), None),
            Err(error) => (WriteAnswer::Failed(error.to_string()), None),
        }
    }
}
