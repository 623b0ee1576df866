//! Converts GitHub's replies to crh's types.

use std::collections::BTreeSet;

use super::super::{GitHubHost, Repo};
use super::{RawPullRequest, texts, wire};
use crate::posting::{
    Association, FilePatch, ForgeUser, InlineComment, InlineThread, ProposalComment,
    ProposalProperties, ProposalReview, ProposalState, last_saved_review,
};
use crate::{ChangeProposal, ForgeCheck, ForgeIssue, ProposalKind, ProposalRound};
use crh_review::finding::Side;
use crh_review::identity::{inline_review_marker, is_commit_id};

pub(super) fn convert(
    host: &GitHubHost,
    raw: RawPullRequest,
    instance: &str,
) -> (ChangeProposal, ProposalState) {
    let RawPullRequest {
        pull,
        files,
        comments,
        reviews,
        check_runs,
        statuses,
        conversations,
        mut notes,
        mut incomplete_lists,
    } = raw;
    notes.extend(conversations.notes);
    notes.extend(texts::cut_note("inline comments", conversations.shortened_comments));
    if conversations.unfinished_threads > 0 {
        let count = conversations.unfinished_threads;
        notes.push(format!("Of {count} long threads, only the first comments were read."));
    }
    if conversations.truncated {
        notes.push("There are more inline comments than crh reads.".to_owned());
        incomplete_lists.push("inline threads".to_owned());
    }
    if let Some(count) = pull.changed_files.filter(|count| *count > files.len()) {
        notes.push(format!(
            "GitHub lists {} of {count} changed files; crh reads the others from git.",
            files.len(),
        ));
    }
    let viewer = conversations.viewer;
    let discussion = general_comments(&comments, &reviews);
    let mut threads: Vec<InlineThread> = conversations.threads.into_iter().map(thread).collect();
    // `thread` left out comments of pending reviews, which only their author can see.
    threads.retain(|thread| !thread.comments.is_empty());
    threads.sort_by_key(|thread| thread.comments.first().map(|comment| comment.id));
    let reviewed_heads = reviewed_heads(&reviews, &viewer, instance);
    let proposal_state = ProposalState {
        viewer: Some(viewer),
        properties: pull_properties(&pull),
        files: files.into_iter().map(file).collect(),
        comments: comments.into_iter().map(comment).collect(),
        threads,
        reviews: reviews.into_iter().map(review).collect(),
        row_diff: None,
        incomplete_lists,
    };
    let proposal = ChangeProposal {
        kind: ProposalKind::PullRequest,
        url: pull.html_url.clone(),
        repo: base_name(&pull),
        number: pull.number.to_string(),
        title: pull.title.clone(),
        body: pull.body.clone().unwrap_or_default(),
        author: pull.user.as_ref().map(|user| user.login.clone()),
        draft: pull.draft,
        state: if pull.merged { "merged".to_owned() } else { pull.state.clone() },
        open: proposal_state.properties.open,
        labels: pull.labels.iter().map(|label| label.name.clone()).collect(),
        source: branch_end(host, &pull.head),
        target: branch_end(host, &pull.base),
        checks: checks(check_runs, statuses),
        linked_issues: conversations.issues.into_iter().map(linked_issue).collect(),
        comments: discussion,
        threads: proposal_state.threads.iter().map(|it| it.to_discussion("discussion_r")).collect(),
        votes: Vec::new(),
        rounds: rounds(&pull, reviewed_heads, last_head(&proposal_state, instance)),
        notes,
    };
    (proposal, proposal_state)
}

fn base_name(pull: &wire::Pull) -> String {
    pull.base.repo.as_ref().map(|repo| repo.full_name.clone()).unwrap_or_default()
}

fn branch_end(host: &GitHubHost, end: &wire::BranchTip) -> crate::BranchEnd {
    let repo = end.repo.as_ref().map(|repo| repo.full_name.clone());
    // crh builds this address instead of taking it from a reply, which could name any host: git
    // sends a token there.
    let parsed_repo = repo.as_deref().and_then(Repo::parse);
    crate::BranchEnd {
        git_url: parsed_repo.map(|repo| host.git_url(&repo)),
        repo,
        branch: end.branch.clone(),
        commit: end.sha.clone(),
    }
}

fn pull_properties(pull: &wire::Pull) -> ProposalProperties {
    let id = |end: &wire::BranchTip| end.repo.as_ref().map(|repo| repo.id);
    ProposalProperties {
        repo: base_name(pull),
        number: pull.number,
        head: pull.head.sha.clone(),
        open: pull.state == "open",
        draft: pull.draft,
        author: pull.user.clone().map(account),
        by_bot: pull
            .user
            .as_ref()
            .is_some_and(|user| user.kind == "Bot" || user.login.ends_with("[bot]")),
        // If the repository of the head is gone, it was a fork.
        from_fork: id(&pull.head) != id(&pull.base) || id(&pull.head).is_none(),
        association: pull.author_association.as_deref().map(association),
        ..ProposalProperties::default()
    }
}

fn account(user: wire::User) -> ForgeUser {
    ForgeUser::new(user.id, user.login)
}

fn association(word: &str) -> Association {
    match word {
        "OWNER" => Association::Owner,
        "MEMBER" => Association::Member,
        "COLLABORATOR" => Association::Collaborator,
        "CONTRIBUTOR" => Association::Contributor,
        _ => Association::Stranger,
    }
}

fn file(file: wire::File) -> FilePatch {
    FilePatch { path: file.filename, previous: file.previous_filename, patch: file.patch }
}

fn comment(comment: wire::Comment) -> ProposalComment {
    ProposalComment {
        id: comment.id,
        author: comment.user.map(account),
        association: association(&comment.author_association),
        created_at: comment.created_at,
        body: comment.body.unwrap_or_default(),
        url: comment.html_url,
        vote: None,
    }
}

fn review(review: wire::Review) -> ProposalReview {
    ProposalReview {
        id: review.id,
        author: review.user.map(account),
        state: review.state,
        commit: review.commit_id,
        body: review.body.unwrap_or_default(),
    }
}

fn thread(thread: wire::Thread) -> InlineThread {
    let side = match thread.diff_side.as_deref() {
        Some("LEFT") => Some(Side::Old),
        Some("RIGHT") => Some(Side::New),
        Some(_) | None => None,
    };
    let comments = thread.comments.nodes.into_iter().flatten();
    let submitted_comments = comments.filter(|comment| comment.state.as_deref() != Some("PENDING"));
    InlineThread {
        node_id: thread.id,
        resolved: thread.is_resolved,
        resolved_by: thread.resolved_by.map(|actor| actor.login),
        outdated: thread.is_outdated,
        path: thread.path,
        line: thread.line,
        start_line: thread.start_line,
        original_line: thread.original_start_line.or(thread.original_line),
        side,
        comments: submitted_comments.map(inline_comment).collect(),
    }
}

fn inline_comment(comment: wire::ThreadComment) -> InlineComment {
    let id = match comment.full_database_id {
        Some(wire::Number::Text(text)) => text.parse().unwrap_or_default(),
        Some(wire::Number::Plain(number)) => number,
        None => 0,
    };
    InlineComment {
        id,
        ours: comment.viewer_did_author,
        by_bot: comment.author.as_ref().is_some_and(|author| author.kind == "Bot"),
        author: comment.author.map(|author| author.login),
        association: association(&comment.author_association),
        created_at: comment.created_at,
        body: comment.body,
        url: comment.url,
    }
}

/// General comments and non-empty reviews, oldest first. Ids have the form of GitHub's anchors,
/// because comments and reviews are numbered separately.
fn general_comments(
    comments: &[wire::Comment],
    reviews: &[wire::Review],
) -> Vec<crate::DiscussionComment> {
    let author = |user: &Option<wire::User>| user.as_ref().map(|user| user.login.clone());
    let comments = comments.iter().map(|comment| crate::DiscussionComment {
        id: format!("issuecomment-{}", comment.id),
        author: author(&comment.user),
        created_at: Some(comment.created_at.clone()),
        content: comment.body.clone().unwrap_or_default(),
    });
    let reviews = reviews.iter().filter(|review| {
        review.submitted_at.is_some() && review.body.as_deref().is_some_and(|body| !body.is_empty())
    });
    let reviews = reviews.map(|review| crate::DiscussionComment {
        id: format!("pullrequestreview-{}", review.id),
        author: author(&review.user),
        created_at: review.submitted_at.clone(),
        content: review.body.clone().unwrap_or_default(),
    });
    let mut discussion: Vec<crate::DiscussionComment> = comments.chain(reviews).collect();
    // GitHub's time format sorts as text. The sort is stable.
    discussion.sort_by(|one, other| one.created_at.cmp(&other.created_at));
    discussion
}

fn linked_issue(issue: wire::Issue) -> ForgeIssue {
    ForgeIssue {
        id: format!("{}#{}", issue.repository.name_with_owner, issue.number),
        title: issue.title,
        body: issue.body,
        url: issue.url,
    }
}

fn checks(runs: Vec<wire::CheckRuns>, statuses: Vec<wire::Statuses>) -> Vec<ForgeCheck> {
    let runs = runs.into_iter().flat_map(|page| page.check_runs).map(|run| {
        let texts = [run.output.title, run.output.summary];
        let summary_parts: Vec<String> =
            texts.into_iter().flatten().filter(|text| !text.is_empty()).collect();
        ForgeCheck {
            name: run.name,
            state: run.conclusion.unwrap_or(run.status),
            url: run.details_url.or(run.html_url),
            summary: (!summary_parts.is_empty()).then(|| summary_parts.join("\n\n")),
        }
    });
    let statuses = statuses.into_iter().flat_map(|page| page.statuses).map(|status| ForgeCheck {
        name: status.context,
        state: status.state,
        url: status.target_url,
        summary: status.description,
    });
    let mut checks: Vec<ForgeCheck> = runs.chain(statuses).collect();
    // Checks arrive in the order of their start, which varies.
    checks.sort_by(|one, other| (&one.name, &one.url).cmp(&(&other.name, &other.url)));
    checks
}

/// A reviewed head with the time of the review.
type ReviewedCommit = (String, Option<String>);

/// Heads of the reviews and votes that this instance posted, oldest first.
fn reviewed_heads(
    reviews: &[wire::Review],
    viewer: &ForgeUser,
    instance: &str,
) -> Vec<ReviewedCommit> {
    let marker = inline_review_marker(instance, "");
    let marker = marker.trim_end_matches(" -->");
    let own_reviews = reviews.iter().filter(|review| {
        let body = review.body.as_deref().unwrap_or_default();
        review.user.as_ref().is_some_and(|user| user.id.to_string() == viewer.id)
            && body.starts_with(marker)
    });
    let heads = own_reviews
        .filter_map(|review| Some((review.commit_id.clone()?, review.submitted_at.clone())));
    heads.collect()
}

/// Head in the saved state of crh's summary. A review without issues leaves no other trace.
fn last_head(proposal_state: &ProposalState, instance: &str) -> Option<ReviewedCommit> {
    let head = last_saved_review(proposal_state, instance).ok()?.head;
    is_commit_id(&head).then_some((head, None))
}

/// Heads of earlier own reviews, without duplicates, and the current head.
fn rounds(
    pull: &wire::Pull,
    reviewed_heads: Vec<ReviewedCommit>,
    last_head: Option<ReviewedCommit>,
) -> Vec<ProposalRound> {
    let mut known_heads = BTreeSet::from([pull.head.sha.clone()]);
    let earlier_heads = reviewed_heads.into_iter().chain(last_head);
    let earlier_heads = earlier_heads.filter(|(head, _)| known_heads.insert(head.clone()));
    let mut rounds: Vec<ProposalRound> = earlier_heads
        .map(|(head, created_at)| ProposalRound { head, created_at, ..ProposalRound::default() })
        .collect();
    rounds.push(ProposalRound {
        target: Some(pull.base.sha.clone()),
        head: pull.head.sha.clone(),
        ..ProposalRound::default()
    });
    for (number, round) in (1..).zip(&mut rounds) {
        round.id = u32::to_string(&number);
    }
    rounds
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn by_bot(user: serde_json::Value) -> bool {
        let end = json!({ "ref": "main", "sha": "a" });
        let pull = json!({ "number": 1, "state": "open", "user": user, "head": end, "base": end });
        pull_properties(&serde_json::from_value(pull).unwrap()).by_bot
    }

    #[test]
    fn bot_is_detected_by_type_or_name() {
        assert!(by_bot(json!({ "id": 1, "login": "renovate", "type": "Bot" })));
        assert!(by_bot(json!({ "id": 1, "login": "renovate[bot]" })));
        assert!(!by_bot(json!({ "id": 1, "login": "robot", "type": "User" })));
        assert!(!by_bot(serde_json::Value::Null), "the account is gone");
    }
}
