//! Converts Gitea's replies to crh's types.

use std::collections::{BTreeMap, BTreeSet};

use super::super::is_program;
use super::{RawPullRequest, wire};
use crate::posting::{
    Association, FilePatch, ForgeUser, InlineComment, InlineThread, ProposalComment,
    ProposalProperties, ProposalReview, ProposalState, last_saved_review,
};
use crate::rest::RestChangeRef;
use crate::{
    BranchEnd, ChangeProposal, DiscussionComment, ForgeCheck, ProposalKind, ProposalRound,
};
use crh_review::diff::Diff;
use crh_review::finding::Side;
use crh_review::identity::{is_commit_id, key_in_comment};

pub(super) fn convert(
    change: &RestChangeRef,
    raw: RawPullRequest,
    instance: &str,
) -> (ChangeProposal, ProposalState) {
    let pull = &raw.pull;
    let state = ProposalState {
        viewer: Some(account(&raw.viewer)),
        properties: properties(change, &raw),
        // The list of files has no hunks, so crh uses those of its own diff.
        files: raw.files.iter().map(file).collect(),
        comments: raw.comments.iter().map(|it| comment(it, &raw.roles)).collect(),
        threads: threads(&raw, instance),
        reviews: raw.reviews.iter().map(review).collect(),
        incomplete_lists: raw.incomplete_lists.clone(),
        ..ProposalState::default()
    };
    let end = |branch: &wire::Branch| {
        let repo = branch.repo.as_ref().map(|repo| repo.full_name.clone());
        BranchEnd {
            // crh builds this address instead of taking it from a reply, which could name any host:
            // git sends a token there.
            git_url: repo.as_deref().map(|repo| change.git_url(repo)),
            repo,
            branch: branch.branch.clone(),
            commit: branch.sha.clone(),
        }
    };
    let proposal = ChangeProposal {
        kind: ProposalKind::PullRequest,
        url: change.url(),
        repo: state.properties.repo.clone(),
        number: pull.number.to_string(),
        title: pull.title.clone(),
        body: pull.body.clone().unwrap_or_default(),
        author: pull.user.as_ref().map(|user| user.login.clone()),
        draft: pull.draft,
        state: if pull.merged { "merged".to_owned() } else { pull.state.clone() },
        open: state.properties.open,
        labels: pull.labels.iter().map(|label| label.name.clone()).collect(),
        source: end(&pull.head),
        target: end(&pull.base),
        checks: checks(&raw.statuses),
        linked_issues: Vec::new(),
        comments: general_comments(&raw),
        threads: state.threads.iter().map(|it| it.to_discussion("discussion_r")).collect(),
        votes: Vec::new(),
        rounds: rounds(&raw, &state, instance),
        notes: raw.notes,
    };
    (proposal, state)
}

fn properties(change: &RestChangeRef, raw: &RawPullRequest) -> ProposalProperties {
    let pull = &raw.pull;
    let id = |branch: &wire::Branch| branch.repo.as_ref().map(|repo| repo.id);
    let repo = pull.base.repo.as_ref().map(|repo| repo.full_name.clone());
    let author = pull.user.as_ref();
    ProposalProperties {
        repo: repo.unwrap_or_else(|| change.repository.clone()),
        number: pull.number,
        api_path: change.api_path(),
        url: change.url(),
        head: pull.head.sha.clone(),
        open: pull.state == "open",
        draft: pull.draft,
        author: author.map(account),
        by_bot: author.is_some_and(|author| is_program(&author.login)),
        from_fork: id(&pull.head) != id(&pull.base) || id(&pull.head).is_none(),
        association: author.and_then(|author| raw.roles.get(&author.login).copied()),
        ..ProposalProperties::default()
    }
}

fn account(user: &wire::User) -> ForgeUser {
    ForgeUser::new(user.id, user.login.clone())
}

fn file(file: &wire::File) -> FilePatch {
    let previous = file.previous_filename.clone().filter(|name| !name.is_empty());
    FilePatch { path: file.filename.clone(), previous, patch: None }
}

fn role(user: Option<&wire::User>, roles: &BTreeMap<String, Association>) -> Association {
    user.and_then(|user| roles.get(&user.login).copied()).unwrap_or_default()
}

fn comment(comment: &wire::Comment, roles: &BTreeMap<String, Association>) -> ProposalComment {
    ProposalComment {
        id: comment.id,
        author: comment.user.as_ref().map(account),
        association: role(comment.user.as_ref(), roles),
        created_at: comment.created_at.clone(),
        body: comment.body.clone(),
        url: comment.html_url.clone(),
        vote: None,
    }
}

fn review(review: &wire::Review) -> ProposalReview {
    let state = match review.state.as_str() {
        _ if review.dismissed => "DISMISSED",
        "REQUEST_CHANGES" => "CHANGES_REQUESTED",
        "COMMENT" => "COMMENTED",
        other => other,
    };
    ProposalReview {
        id: review.id,
        author: review.user.as_ref().map(account),
        state: state.to_owned(),
        commit: review.commit_id.clone(),
        body: review.body.clone(),
    }
}

/// Threads: comments on the same line, oldest first. Each comment of crh starts a new thread,
/// because crh may comment on two issues in the same line.
fn threads(raw: &RawPullRequest, instance: &str) -> Vec<InlineThread> {
    let diff = Diff::read(raw.diff.clone());
    let mut threads: Vec<InlineThread> = Vec::new();
    let mut current: BTreeMap<(&str, u32, u32), usize> = BTreeMap::new();
    for comment in &raw.review_comments {
        let ours = comment.user.as_ref().is_some_and(|user| user.id == raw.viewer.id);
        let starts = ours && key_in_comment(instance, &comment.body).is_some();
        let place = (comment.path.as_str(), comment.position, comment.original_position);
        let index = match current.get(&place).copied().filter(|_| !starts) {
            Some(index) => index,
            None => {
                threads.push(thread(comment, &diff));
                current.insert(place, threads.len() - 1);
                threads.len() - 1
            }
        };
        threads[index].comments.push(InlineComment {
            id: comment.id,
            ours,
            by_bot: comment.user.as_ref().is_some_and(|user| is_program(&user.login)),
            author: comment.user.as_ref().map(|user| user.login.clone()),
            association: role(comment.user.as_ref(), &raw.roles),
            created_at: comment.created_at.clone(),
            body: comment.body.clone(),
            url: comment.html_url.clone(),
        });
    }
    threads
}

fn thread(comment: &wire::ReviewComment, diff: &Diff) -> InlineThread {
    let (side, line) = match comment.position {
        0 => (Side::Old, comment.original_position),
        line => (Side::New, line),
    };
    // Gitea does not say whether the line changed. The hunk of a comment ends with the commented
    // line as it was.
    let commented = comment.diff_hunk.lines().last().and_then(|line| line.get(1..));
    let outdated = match (line_text(diff, &comment.path, side, line), commented) {
        (Some(now), Some(commented)) => now != commented,
        (None, Some(_)) => !diff.files().is_empty(),
        (_, None) => false,
    };
    InlineThread {
        node_id: comment.id.to_string(),
        resolved: comment.resolver.is_some(),
        resolved_by: comment.resolver.as_ref().map(|user| user.login.clone()),
        outdated,
        path: comment.path.clone(),
        line: (!outdated).then_some(line),
        original_line: Some(line),
        side: Some(side),
        ..InlineThread::default()
    }
}

/// Text of the line; `None` if the diff does not show it.
fn line_text(diff: &Diff, path: &str, side: Side, line: u32) -> Option<String> {
    let file = diff.files().iter().find(|file| file.path.shown() == path)?;
    let mut lines = file.hunks.iter().flat_map(|hunk| diff.lines(hunk));
    let found = lines.find(|shown| match side {
        Side::Old => shown.kind.in_old() && shown.old == line,
        Side::New => shown.kind.in_new() && shown.new == line,
    })?;
    Some(String::from_utf8_lossy(found.text()).into_owned())
}

fn general_comments(raw: &RawPullRequest) -> Vec<DiscussionComment> {
    let author = |user: &Option<wire::User>| user.as_ref().map(|user| user.login.clone());
    let comments = raw.comments.iter().map(|comment| DiscussionComment {
        id: format!("issuecomment-{}", comment.id),
        author: author(&comment.user),
        created_at: Some(comment.created_at.clone()),
        content: comment.body.clone(),
    });
    let reviews = raw.reviews.iter().filter(|review| !review.body.is_empty());
    let reviews = reviews.map(|review| DiscussionComment {
        id: format!("pullrequestreview-{}", review.id),
        author: author(&review.user),
        created_at: review.submitted_at.clone(),
        content: review.body.clone(),
    });
    let mut discussion: Vec<DiscussionComment> = comments.chain(reviews).collect();
    discussion.sort_by(|one, other| one.created_at.cmp(&other.created_at));
    discussion
}

/// The first status of each context, which is the newest: Gitea lists the newest first.
fn checks(statuses: &[wire::Status]) -> Vec<ForgeCheck> {
    let mut known = BTreeSet::new();
    let newest = statuses.iter().filter(|status| known.insert(status.context.clone()));
    let mut checks: Vec<ForgeCheck> = newest
        .map(|status| ForgeCheck {
            name: status.context.clone(),
            state: status.status.clone(),
            url: status.target_url.clone(),
            summary: status.description.clone(),
        })
        .collect();
    checks.sort_by(|one, other| one.name.cmp(&other.name));
    checks
}

/// The head of crh's last review, if it differs from the current head, and the current head.
fn rounds(raw: &RawPullRequest, state: &ProposalState, instance: &str) -> Vec<ProposalRound> {
    let head = &state.properties.head;
    let last = last_saved_review(state, instance).ok().map(|saved| saved.head);
    let last = last.filter(|last| last != head && is_commit_id(last));
    let mut rounds: Vec<ProposalRound> =
        last.map(|head| ProposalRound { head, ..ProposalRound::default() }).into_iter().collect();
    let merge_base = raw.pull.merge_base.clone().filter(|base| is_commit_id(base));
    rounds.push(ProposalRound {
        target: merge_base.or_else(|| Some(raw.pull.base.sha.clone())),
        head: head.clone(),
        ..ProposalRound::default()
    });
    for (number, round) in (1..).zip(&mut rounds) {
        round.id = u32::to_string(&number);
    }
    rounds
}
