//! Plans a posting for forges with threads on lines and a summary that can be edited.

mod analysis;
mod review;
mod summary;

use self::analysis::PostingAnalysis;
use super::plan::{PostingConstraints, PostingRefusal, PostingSteps, PostingWrite, WriteKind};
use super::{ForgeRules, ProposalReview, ProposalState, ReviewPosting};
use crh_review::identity::inline_review_marker;

/// Plans the writes: inline comments, vote, summary, then resolved threads. A vote without a text
/// comes after the summary. If an interrupted posting left a pending review, the plan submits that
/// review and does nothing else.
pub(crate) fn plan_threads(
    rules: &dyn ForgeRules,
    posting: &ReviewPosting<'_>,
    state: &ProposalState,
    constraints: &PostingConstraints,
) -> PostingSteps {
    if let Some(draft) = own_draft(state) {
        let marker = inline_review_marker(posting.instance, &posting.report.review_id);
        if !draft.body.starts_with(&marker) {
            return PostingSteps::refused(PostingRefusal::Unsubmitted);
        }
        let kind = WriteKind::Submit { id: draft.id };
        let writes = vec![PostingWrite::new(rules, kind, state)];
        return PostingSteps { writes, ..PostingSteps::default() };
    }
    let analysis = PostingAnalysis::new(rules, posting, state, constraints);
    let mut plan = PostingSteps::default();
    review::add_reviews(&mut plan, &analysis);
    summary::add_summary(&mut plan, &analysis);
    if !rules.profile().votes_have_text {
        plan.writes.sort_by_key(|write| matches!(write.kind, WriteKind::Vote { .. }));
    }
    if constraints.reason_for_no_resolving.is_none() {
        for own_thread in analysis.threads_to_resolve() {
            let node_id = own_thread.thread.node_id.clone();
            plan.writes.push(analysis.write(WriteKind::Resolve { node_id }));
        }
    }
    plan
}

/// The pending review of the token's account.
fn own_draft(state: &ProposalState) -> Option<&ProposalReview> {
    let own_reviews = state.reviews.iter().filter(|review| state.is_ours(review.author.as_ref()));
    own_reviews.into_iter().find(|review| review.state == "PENDING")
}

#[cfg(test)]
mod tests;
