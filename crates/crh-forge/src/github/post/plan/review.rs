//! Plans the reviews: inline comments in batches, then the vote.

use serde_json::{Value, json};

use super::analysis::{NotInline, PostingAnalysis, PullRequestPlacement};
use super::{GitHubPostingSteps, GitHubWrite, WriteKind};
use crate::github::post::position::{Anchor, DiffPoint};
use crate::github::post::request::GitHubRequest;
use crate::github::post::suggestion::check_suggestion;
use crate::github::{PullRequestReview, Verb};
use crate::posting::{PostedItem, PostingSkip};
use crh_review::finding::Side;
use crh_review::identity::inline_review_marker;
use crh_review::render::{SuggestionStyle, inline};
use crh_review::report::Issue;
use crh_review::verdict::Verdict;

/// Maximum number of comments per review. With more, GitHub may not answer in time.
const BATCH_MAX: usize = 50;
/// Maximum bytes of comments per review. GitHub documents no limit; crh stays far below a megabyte.
const BATCH_BYTES: usize = 400_000;

pub(super) fn add_reviews(plan: &mut GitHubPostingSteps, analysis: &PostingAnalysis<'_>) {
    for (issue, dismissal) in &analysis.dismissed_issues {
        plan.skipped.push((item(issue), PostingSkip::Dismissed { by: dismissal.by.clone() }));
    }
    let mut comments: Vec<(PostedItem, Value)> = Vec::new();
    for (issue, placement) in analysis.issues() {
        match placement {
            PullRequestPlacement::Existing(..) => {
                plan.skipped.push((item(issue), PostingSkip::AlreadyPosted));
            }
            PullRequestPlacement::Summary(why) => {
                plan.skipped.push((item(issue), skip_reason(*why, analysis)));
            }
            PullRequestPlacement::Inline(anchor) => {
                comments.push((item(issue), comment(issue, anchor, analysis)));
            }
        }
    }
    let vote = choose_vote(plan, analysis);
    for batch in batches(comments) {
        let (issues, comments): (Vec<PostedItem>, Vec<Value>) = batch.into_iter().unzip();
        // The text contains no number of comments, because crh may post the review in parts.
        let body = "The summary comment has the whole review.";
        plan.writes.push(review_write(
            "COMMENT",
            body,
            comments,
            WriteKind::Review { issues },
            analysis,
        ));
    }
    if let Some(event) = vote {
        let body = vote_body(analysis.report.verdict);
        plan.writes.push(review_write(
            event,
            &body,
            Vec::new(),
            WriteKind::Vote { event },
            analysis,
        ));
    }
    let approval = stale_approval(analysis).filter(|_| vote.is_none());
    let may_withdraw = !analysis.posting.options.comment_only
        && analysis.constraints.reason_for_no_withdrawal.is_none();
    if let Some(approval) = approval.filter(|_| may_withdraw) {
        plan.writes.push(withdrawal(approval, analysis));
    }
}

/// Text of a vote.
fn vote_body(verdict: Verdict) -> String {
    format!("{verdict}: the summary comment says why.")
}

fn withdrawal(approval: &PullRequestReview, analysis: &PostingAnalysis<'_>) -> GitHubWrite {
    let message = format!("{} by now: the summary comment says why.", analysis.report.verdict);
    GitHubWrite {
        request: GitHubRequest {
            verb: Verb::Put,
            path: format!("{}/reviews/{}/dismissals", pull_path(analysis), approval.id),
            body: json!({ "message": message, "event": "DISMISS" }),
        },
        kind: WriteKind::Withdraw { id: approval.id },
    }
}

/// An own approval that the verdict no longer supports.
pub(super) fn stale_approval<'a>(analysis: &PostingAnalysis<'a>) -> Option<&'a PullRequestReview> {
    let approval = last_vote(analysis).filter(|review| review.state == "APPROVED");
    let report = &analysis.report;
    approval.filter(|_| report.verdict != Verdict::ReadyToMerge || report.is_suppressed_by_change())
}

fn review_write(
    event: &str,
    body: &str,
    comments: Vec<Value>,
    kind: WriteKind,
    analysis: &PostingAnalysis<'_>,
) -> GitHubWrite {
    let marker = inline_review_marker(analysis.posting.instance, &analysis.report.review_id);
    GitHubWrite {
        request: GitHubRequest {
            verb: Verb::Post,
            path: format!("{}/reviews", pull_path(analysis)),
            body: json!({
                "commit_id": analysis.pull_state.pull.head,
                "event": event,
                "body": format!("{marker}\n{body}"),
                "comments": comments,
            }),
        },
        kind,
    }
}

/// API path of the pull request.
fn pull_path(analysis: &PostingAnalysis<'_>) -> String {
    let pull = &analysis.pull_state.pull;
    format!("/repos/{}/pulls/{}", pull.repo, pull.number)
}

fn item(issue: &Issue) -> PostedItem {
    PostedItem::Issue { number: issue.number, key: issue.dedupe_key.clone() }
}

fn skip_reason(why: NotInline, analysis: &PostingAnalysis<'_>) -> PostingSkip {
    let why = match why {
        NotInline::NotInDiff => "its line is not in the diff",
        NotInline::Refused => "GitHub refused a comment on its line",
        NotInline::CommentOnly => analysis
            .constraints
            .reason_for_no_review
            .as_deref()
            .unwrap_or("only the summary comment was requested"),
        NotInline::OverCommentLimit => "limit of inline comments reached",
    };
    PostingSkip::InSummary { why: why.to_owned() }
}

fn comment(issue: &Issue, anchor: &Anchor, analysis: &PostingAnalysis<'_>) -> Value {
    let head_lines = issue
        .replacement
        .as_ref()
        .and_then(|_| (analysis.posting.head_lines)(&issue.location.file));
    let suggestion_style = match check_suggestion(issue, anchor, head_lines.as_deref()) {
        Ok(()) => SuggestionStyle::SuggestionBlock,
        Err(_) => SuggestionStyle::CodeBlock,
    };
    let body =
        inline(issue, analysis.posting.instance, analysis.links.as_deref(), suggestion_style);
    let side = |point: DiffPoint| match point.side {
        Side::Old => "LEFT",
        Side::New => "RIGHT",
    };
    let end = anchor.end;
    let mut comment =
        json!({ "path": anchor.path, "body": body, "line": end.line, "side": side(end) });
    if let Some(start) = anchor.start {
        comment["start_line"] = json!(start.line);
        comment["start_side"] = json!(side(start));
    }
    comment
}

fn batches(comments: Vec<(PostedItem, Value)>) -> Vec<Vec<(PostedItem, Value)>> {
    let mut batches: Vec<Vec<(PostedItem, Value)>> = Vec::new();
    let mut bytes = 0;
    for comment in comments {
        let size = comment.1["body"].as_str().map_or(0, str::len);
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH_MAX && bytes + size <= BATCH_BYTES => {
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
fn choose_vote(
    plan: &mut GitHubPostingSteps,
    analysis: &PostingAnalysis<'_>,
) -> Option<&'static str> {
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
    let (viewer, pull) = (&analysis.pull_state.viewer, &analysis.pull_state.pull);
    let not_possible = |why: &str| Some(PostingSkip::NotPossible { why: why.to_owned() });
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
    if pull.author.as_ref().is_some_and(|author| author.id == viewer.id) {
        return not_possible("the posting account is the author of the pull request");
    }
    let last_vote = last_vote(analysis)?;
    let was_approval = last_vote.body.trim_end().ends_with(&vote_body(Verdict::ReadyToMerge));
    let is_at_head = last_vote.commit.as_deref() == Some(pull.head.as_str());
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
pub(super) fn last_vote<'a>(analysis: &PostingAnalysis<'a>) -> Option<&'a PullRequestReview> {
    let marker = inline_review_marker(analysis.posting.instance, "");
    let marker = marker.trim_end_matches(" -->");
    let is_ours = |review: &&PullRequestReview| {
        let author = review.author.as_ref();
        author.is_some_and(|author| author.id == analysis.pull_state.viewer.id)
            && review.body.starts_with(marker)
    };
    let is_vote = |review: &&PullRequestReview| {
        ["APPROVED", "CHANGES_REQUESTED", "DISMISSED"].contains(&review.state.as_str())
    };
    analysis.pull_state.reviews.iter().rev().filter(is_ours).find(is_vote)
}
