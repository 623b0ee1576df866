//! Withdraws approvals of older heads. crh does so before it reviews a new head: a review that ends
//! early, even by a kill, leaves no approval of code that crh has not reviewed.

use super::{
    ForgePoster, ForgeRules, PostingWrite, ProposalReview, ProposalState, WriteAnswer, WriteKind,
    last_saved_review,
};
use crh_review::identity::inline_review_marker;

/// The writes that withdraw this installation's approvals of older heads. Empty for a closed change
/// and without a login.
pub fn plan_withdrawals(
    rules: &dyn ForgeRules,
    instance: &str,
    state: &ProposalState,
) -> Vec<PostingWrite> {
    if !state.properties.open || state.viewer.is_none() {
        return Vec::new();
    }
    let kinds = rules.withdrawals(instance, state).into_iter();
    kinds.map(|kind| PostingWrite::new(rules, kind, state)).collect()
}

/// Sends a withdrawal once. The error says why the approval may still be there; the next review
/// reads the state again.
pub async fn send_withdrawal(
    poster: &impl ForgePoster,
    write: &PostingWrite,
) -> Result<(), String> {
    match Box::pin(poster.send(write)).await.0 {
        WriteAnswer::Done => Ok(()),
        WriteAnswer::Unconfirmed(why)
        | WriteAnswer::Misplaced(why)
        | WriteAnswer::Refused(why)
        | WriteAnswer::Forbidden(why)
        | WriteAnswer::Failed(why) => Err(why),
    }
}

/// Reviews of this installation, oldest first. Other programs may use the same account.
pub(crate) fn own_reviews<'s>(
    instance: &str,
    state: &'s ProposalState,
) -> impl DoubleEndedIterator<Item = &'s ProposalReview> {
    let marker = inline_review_marker(instance, "");
    let marker = marker.trim_end_matches(" -->").to_owned();
    state.reviews.iter().filter(move |review| {
        state.is_ours(review.author.as_ref()) && review.body.starts_with(&marker)
    })
}

/// Withdraws the approvals of older heads on a forge with reviews. If the forge does not tell the
/// approved head, the summary does.
pub(crate) fn withdraw_reviews(instance: &str, state: &ProposalState) -> Vec<WriteKind> {
    let head = &state.properties.head;
    let summary_head = last_saved_review(state, instance).ok().map(|review| review.head);
    let is_stale = |review: &&ProposalReview| {
        review.state == "APPROVED" && review.commit.as_ref().or(summary_head.as_ref()) != Some(head)
    };
    let message = withdrawal_message(head);
    own_reviews(instance, state)
        .filter(is_stale)
        .map(|review| WriteKind::Withdraw { id: review.id, message: message.clone() })
        .collect()
}

/// Text that tells readers why crh withdrew the approval.
pub(crate) fn withdrawal_message(head: &str) -> String {
    let head = head.get(..10).unwrap_or(head);
    format!("This approval was for an older head. crh has not reviewed {head} yet.")
}
