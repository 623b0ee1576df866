//! The reviews of a plan: inline comments in batches, and then the word of the review, if it has one.

use serde_json::{Value, json};

use super::look::{Look, NotInline, Place};
use super::{Plan, What, Write};
use crate::github::post::position::{Anchor, Point};
use crate::github::post::request::Request;
use crate::github::post::suggestion::button;
use crate::github::{StandingReview, Verb};
use crate::posted::{Item, Skip};
use crh_review::finding::Side;
use crh_review::identity::posted_marker;
use crh_review::render::{Offer, inline};
use crh_review::report::Issue;
use crh_review::verdict::Verdict;

/// How many comments one review has at most: enough for nearly all, and few enough that GitHub answers in time.
const BATCH_MAX: usize = 50;
/// How many bytes the comments of one review have at most. GitHub does not say what it takes; this is far below a megabyte.
const BATCH_BYTES: usize = 400_000;

/// Adds the reviews.
pub(super) fn add(plan: &mut Plan, look: &Look<'_>) {
    for (issue, no) in &look.gone {
        plan.skipped.push((item(issue), Skip::Dismissed { by: no.by.clone() }));
    }
    let mut comments: Vec<(Item, Value)> = Vec::new();
    for (issue, place) in look.issues() {
        match place {
            Place::Stands(..) => plan.skipped.push((item(issue), Skip::Stands)),
            Place::Summary(why) => plan.skipped.push((item(issue), not_inline(*why, look))),
            Place::Inline(anchor) => comments.push((item(issue), comment(issue, anchor, look))),
        }
    }
    let vote = vote(plan, look);
    for batch in batches(comments) {
        let (issues, comments): (Vec<Item>, Vec<Value>) = batch.into_iter().unzip();
        // A review may be posted in parts, so that it does not count its comments.
        let said = "The summary comment has the whole review.";
        plan.writes.push(write("COMMENT", said, comments, What::Review { issues }, look));
    }
    if let Some(event) = vote {
        let said = reason_given(look.report.verdict);
        plan.writes.push(write(event, &said, Vec::new(), What::Vote { event }, look));
    }
    let standing = standing_approval(look).filter(|_| vote.is_none());
    let allowed = !look.posting.terms.comment_only && look.learned.no_withdrawing.is_none();
    if let Some(approval) = standing.filter(|_| allowed) {
        plan.writes.push(withdrawal(approval, look));
    }
}

/// What a vote says.
fn reason_given(verdict: Verdict) -> String {
    format!("{verdict}: the summary comment says why.")
}

fn withdrawal(approval: &StandingReview, look: &Look<'_>) -> Write {
    let message = format!("{} by now: the summary comment says why.", look.report.verdict);
    Write {
        request: Request {
            verb: Verb::Put,
            path: format!("{}/reviews/{}/dismissals", pull_path(look), approval.id),
            body: json!({ "message": message, "event": "DISMISS" }),
        },
        what: What::Withdraw { id: approval.id },
    }
}

/// An approval of ours that the verdict does not bear out.
pub(super) fn standing_approval<'a>(look: &Look<'a>) -> Option<&'a StandingReview> {
    let approval = last_vote(look).filter(|review| review.state == "APPROVED");
    approval.filter(|_| look.report.verdict != Verdict::ReadyToMerge)
}

fn write(event: &str, said: &str, comments: Vec<Value>, what: What, look: &Look<'_>) -> Write {
    let marker = posted_marker(look.posting.instance, &look.report.review_id);
    Write {
        request: Request {
            verb: Verb::Post,
            path: format!("{}/reviews", pull_path(look)),
            body: json!({
                "commit_id": look.standing.pull.head,
                "event": event,
                "body": format!("{marker}\n{said}"),
                "comments": comments,
            }),
        },
        what,
    }
}

/// The path of the pull request in the API.
fn pull_path(look: &Look<'_>) -> String {
    let pull = &look.standing.pull;
    format!("/repos/{}/pulls/{}", pull.repo, pull.number)
}

fn item(issue: &Issue) -> Item {
    Item::Issue { number: issue.number, key: issue.dedupe_key.clone() }
}

fn not_inline(why: NotInline, look: &Look<'_>) -> Skip {
    let why = match why {
        NotInline::NotInDiff => "the pull request does not show its line",
        NotInline::Refused => "GitHub refused a comment on its line",
        NotInline::CommentOnly => {
            look.learned.no_review.as_deref().unwrap_or("only a comment was asked for")
        }
        NotInline::Crowded => "so many more urgent ones have comments that nobody reads more",
    };
    Skip::InSummary { why: why.to_owned() }
}

fn comment(issue: &Issue, anchor: &Anchor, look: &Look<'_>) -> Value {
    let head =
        issue.replacement.as_ref().and_then(|_| (look.posting.head_lines)(&issue.location.file));
    let offer = match button(issue, anchor, head.as_deref()) {
        Ok(()) => Offer::Button,
        Err(_) => Offer::Shown,
    };
    let body = inline(issue, look.posting.instance, look.links.as_deref(), offer);
    let side = |point: Point| match point.side {
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

fn batches(comments: Vec<(Item, Value)>) -> Vec<Vec<(Item, Value)>> {
    let mut batches: Vec<Vec<(Item, Value)>> = Vec::new();
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

/// The word beside the comments, if it was asked for, fits the verdict, and does not stand already.
fn vote(plan: &mut Plan, look: &Look<'_>) -> Option<&'static str> {
    let votes = look.posting.terms.votes;
    let wanted = match look.report.verdict {
        Verdict::NotReady | Verdict::ReadyWithFixes if votes.request_changes => "REQUEST_CHANGES",
        Verdict::ReadyToMerge if votes.approve => "APPROVE",
        Verdict::NotReady
        | Verdict::ReadyWithFixes
        | Verdict::Incomplete
        | Verdict::ReadyToMerge
        | Verdict::ChecksPassed => return None,
    };
    let reason = reason_against(wanted, look);
    if let Some(reason) = reason {
        plan.skipped.push((Item::Vote { event: wanted.to_owned() }, reason));
        return None;
    }
    Some(wanted)
}

fn reason_against(wanted: &str, look: &Look<'_>) -> Option<Skip> {
    let (viewer, pull) = (&look.standing.viewer, &look.standing.pull);
    let not = |why: &str| Some(Skip::Not { why: why.to_owned() });
    if look.posting.terms.comment_only {
        return not("only a comment was asked for");
    }
    if let Some(why) = look.learned.no_review.as_ref().or(look.learned.no_vote.as_ref()) {
        return not(why);
    }
    if pull.author.as_ref().is_some_and(|author| author.id == viewer.id) {
        return not("the pull request is by the account that posts");
    }
    let last = last_vote(look)?;
    let was_approval = last.body.trim_end().ends_with(&reason_given(Verdict::ReadyToMerge));
    let at_head = last.commit.as_deref() == Some(pull.head.as_str());
    if last.state == "DISMISSED" && at_head && was_approval == (wanted == "APPROVE") {
        return not("it was dismissed at this head");
    }
    let stands = match wanted {
        "REQUEST_CHANGES" => last.state == "CHANGES_REQUESTED",
        _ => last.state == "APPROVED" && at_head,
    };
    stands.then_some(Skip::Stands)
}

/// The last review of ours that says more than a comment. Other programs may use the same account.
pub(super) fn last_vote<'a>(look: &Look<'a>) -> Option<&'a StandingReview> {
    let marker = posted_marker(look.posting.instance, "");
    let marker = marker.trim_end_matches(" -->");
    let is_ours = |review: &&StandingReview| {
        let author = review.author.as_ref();
        author.is_some_and(|author| author.id == look.standing.viewer.id)
            && review.body.starts_with(marker)
    };
    let says = |review: &&StandingReview| {
        ["APPROVED", "CHANGES_REQUESTED", "DISMISSED"].contains(&review.state.as_str())
    };
    look.standing.reviews.iter().rev().filter(is_ours).find(says)
}
