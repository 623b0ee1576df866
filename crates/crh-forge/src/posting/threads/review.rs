//! Plans the reviews: inline comments in batches, then the vote or the withdrawal of an approval.

use super::analysis::{IssuePlacement, NotInline, PostingAnalysis};
use crate::posting::position::Anchor;
use crate::posting::suggestion::check_suggestion;
use crate::posting::{
    PlannedComment, PostedItem, PostingSkip, PostingSteps, ProposalReview, SuggestionSyntax,
    WriteKind, own_reviews,
};
use crh_review::identity::inline_review_marker;
use crh_review::render::{SuggestionStyle, inline};
use crh_review::report::Issue;
use crh_review::verdict::Verdict;

/// Maximum bytes of comments per review. Forges document no limit; crh stays far below a megabyte.
const BATCH_BYTES: usize = 400_000;

pub(super) fn add_reviews(plan: &mut PostingSteps, analysis: &PostingAnalysis<'_>) {
    for (issue, dismissal) in &analysis.dismissed_issues {
        plan.skipped
            .push((PostedItem::issue(issue), PostingSkip::Dismissed { by: dismissal.by.clone() }));
    }
    let mut comments: Vec<PlannedComment> = Vec::new();
    for (issue, placement) in analysis.issues() {
        match placement {
            IssuePlacement::Existing(..) => {
                plan.skipped.push((PostedItem::issue(issue), PostingSkip::AlreadyPosted));
            }
            IssuePlacement::Summary(why) => {
                plan.skipped.push((PostedItem::issue(issue), skip_reason(*why, analysis)));
            }
            IssuePlacement::Inline(anchor) => {
                comments.push(planned_comment(issue, anchor, analysis));
            }
        }
    }
    let vote = choose_vote(plan, analysis);
    for comments in batches(comments, analysis.rules.profile().batch_max) {
        // The text contains no number of comments, because crh may post the review in parts.
        let body = review_body("The summary comment has the whole review.", analysis);
        plan.writes.push(analysis.write(WriteKind::Review { body, comments }));
    }
    if let Some(event) = vote {
        let body = review_body(&vote_body(analysis.report.verdict), analysis);
        plan.writes.push(analysis.write(WriteKind::Vote { event, body }));
    }
    let approval = stale_approval(analysis).filter(|_| vote.is_none());
    let may_withdraw = !analysis.posting.options.comment_only
        && analysis.constraints.reason_for_no_withdrawal.is_none();
    if let Some(approval) = approval.filter(|_| may_withdraw) {
        let message = format!("Now {}: the summary comment says why.", analysis.report.verdict);
        plan.writes.push(analysis.write(WriteKind::Withdraw { id: approval.id, message }));
    }
}

/// Text of a vote.
fn vote_body(verdict: Verdict) -> String {
    format!("{verdict}: the summary comment says why.")
}

/// An own approval that the verdict no longer supports.
pub(super) fn stale_approval<'a>(analysis: &PostingAnalysis<'a>) -> Option<&'a ProposalReview> {
    let approval = last_vote(analysis).filter(|review| review.state == "APPROVED");
    let report = &analysis.report;
    approval.filter(|_| report.verdict != Verdict::ReadyToMerge || report.is_suppressed_by_change())
}

/// Text of a review, with its marker.
fn review_body(text: &str, analysis: &PostingAnalysis<'_>) -> String {
    let marker = inline_review_marker(analysis.posting.instance, &analysis.report.review_id);
    format!("{marker}\n{text}")
}

fn skip_reason(why: NotInline, analysis: &PostingAnalysis<'_>) -> PostingSkip {
    let why = match why {
        NotInline::NotInDiff => "its line is not in the diff".to_owned(),
        NotInline::Refused => {
            format!("{} refused a comment on its line", analysis.rules.profile().name)
        }
        NotInline::CommentOnly => analysis
            .constraints
            .reason_for_no_review
            .clone()
            .unwrap_or_else(|| "only the summary comment was requested".to_owned()),
        NotInline::OverCommentLimit => "limit of inline comments reached".to_owned(),
    };
    PostingSkip::InSummary { why }
}

fn planned_comment(
    issue: &Issue,
    anchor: &Anchor,
    analysis: &PostingAnalysis<'_>,
) -> PlannedComment {
    let body = inline(
        issue,
        analysis.posting.instance,
        analysis.links.as_deref(),
        suggestion_style(issue, anchor, analysis),
    );
    PlannedComment { item: PostedItem::issue(issue), anchor: anchor.clone(), body }
}

fn suggestion_style(
    issue: &Issue,
    anchor: &Anchor,
    analysis: &PostingAnalysis<'_>,
) -> SuggestionStyle {
    let suggestion = match analysis.rules.profile().suggestions {
        SuggestionSyntax::CommentedLines => SuggestionStyle::SuggestionBlock,
        SuggestionSyntax::RelativeLines => SuggestionStyle::RelativeSuggestion {
            lines_above: anchor.start.map_or(0, |start| anchor.end.line.abs_diff(start.line)),
        },
        SuggestionSyntax::Unsupported => return SuggestionStyle::CodeBlock,
    };
    let head_lines = issue
        .replacement
        .as_ref()
        .and_then(|_| (analysis.posting.head_lines)(&issue.location.file));
    match check_suggestion(issue, anchor, head_lines.as_deref()) {
        Ok(()) => suggestion,
        Err(_) => SuggestionStyle::CodeBlock,
    }
}

fn batches(comments: Vec<PlannedComment>, batch_max: usize) -> Vec<Vec<PlannedComment>> {
    let mut batches: Vec<Vec<PlannedComment>> = Vec::new();
    let mut bytes = 0;
    for comment in comments {
        let size = comment.body.len();
        match batches.last_mut() {
            Some(batch) if batch.len() < batch_max && bytes + size <= BATCH_BYTES => {
                batch.push(comment);
                bytes += size;
            }
            Some(_) | None => {
                batches.push(vec![comment]);
                bytes = size;
            }
        }
    }
    batches
}

/// The vote, if it is permitted, fits the verdict and does not exist yet.
fn choose_vote(plan: &mut PostingSteps, analysis: &PostingAnalysis<'_>) -> Option<&'static str> {
    let votes = analysis.posting.options.votes;
    let event = match analysis.report.verdict {
        Verdict::NotReady | Verdict::ReadyWithFixes if votes.request_changes => "REQUEST_CHANGES",
        Verdict::ReadyToMerge if votes.approve => "APPROVE",
        Verdict::NotReady
        | Verdict::ReadyWithFixes
        | Verdict::Incomplete
        | Verdict::ReadyToMerge
        | Verdict::ChecksPassed => return None,
    };
    let reason = reason_not_to_vote(event, analysis);
    if let Some(reason) = reason {
        plan.skipped.push((PostedItem::Vote { event: event.to_owned() }, reason));
        return None;
    }
    Some(event)
}

fn reason_not_to_vote(event: &str, analysis: &PostingAnalysis<'_>) -> Option<PostingSkip> {
    let (state, profile) = (analysis.proposal_state, analysis.rules.profile());
    let not_possible = |why: &str| Some(PostingSkip::NotPossible { why: why.to_owned() });
    if let Some(why) = profile.no_request_changes.filter(|_| event == "REQUEST_CHANGES") {
        return not_possible(why);
    }
    if event == "APPROVE" && analysis.report.is_suppressed_by_change() {
        return not_possible("the change suppresses findings about itself");
    }
    if analysis.posting.options.comment_only {
        return not_possible("only the summary comment was requested");
    }
    if let Some(why) = analysis
        .constraints
        .reason_for_no_review
        .as_ref()
        .or(analysis.constraints.reason_for_no_vote.as_ref())
    {
        return not_possible(why);
    }
    if state.is_ours(state.properties.author.as_ref()) {
        let kind = profile.kind.word();
        return not_possible(&format!("the posting account is the author of the {kind}"));
    }
    let last_vote = last_vote(analysis)?;
    let was_approval = last_vote.body.trim_end().ends_with(&vote_body(Verdict::ReadyToMerge));
    let is_at_head = last_vote.commit.as_ref().is_none_or(|it| *it == state.properties.head);
    if last_vote.state == "DISMISSED" && is_at_head && was_approval == (event == "APPROVE") {
        return not_possible("a vote was dismissed at this head");
    }
    let is_current = match event {
        "REQUEST_CHANGES" => last_vote.state == "CHANGES_REQUESTED",
        _ => last_vote.state == "APPROVED" && is_at_head,
    };
    is_current.then_some(PostingSkip::AlreadyPosted)
}

/// The last vote of this installation. Other programs may use the same account.
pub(super) fn last_vote<'a>(analysis: &PostingAnalysis<'a>) -> Option<&'a ProposalReview> {
    let is_vote = |review: &&ProposalReview| {
        ["APPROVED", "CHANGES_REQUESTED", "DISMISSED"].contains(&review.state.as_str())
    };
    own_reviews(analysis.posting.instance, analysis.proposal_state).rev().find(is_vote)
}
