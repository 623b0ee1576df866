//! Converts GitLab's replies to crh's types.

use std::collections::{BTreeMap, BTreeSet};

use super::super::is_program;
use super::{RawMergeRequest, wire};
use crate::posting::{
    Association, DiffRefs, FilePatch, ForgeUser, InlineComment, InlineThread, ProposalComment,
    ProposalProperties, ProposalReview, ProposalState, own_summary,
};
use crate::rest::RestChangeRef;
use crate::{
    BranchEnd, ChangeProposal, DiscussionComment, ForgeCheck, ForgeIssue, ProposalKind,
    ProposalRound, ReviewVote,
};
use crh_review::finding::Side;
use crh_review::identity::{inline_review_marker, is_commit_id};

pub(super) fn convert(
    change: &RestChangeRef,
    raw: RawMergeRequest,
    instance: &str,
) -> (ChangeProposal, ProposalState) {
    let properties = properties(change, &raw);
    let mut state = ProposalState {
        viewer: raw.viewer.as_ref().map(account),
        comments: general_notes(&raw).map(|note| comment(note, change, &raw.roles)).collect(),
        threads: threads(&raw, &properties, change),
        files: raw.files.iter().map(file).collect(),
        properties,
        incomplete_lists: raw.incomplete_lists.clone(),
        ..ProposalState::default()
    };
    state.reviews = own_approval(&raw, &state, instance).into_iter().collect();
    let merge_request = &raw.merge_request;
    let source_repo =
        raw.source_project.as_ref().map(|project| project.path_with_namespace.clone());
    let head = state.properties.head.clone();
    let start = state.properties.diff_refs.as_ref().map(|refs| refs.start.clone());
    let end = |repo: Option<String>, branch: &str, commit: String| BranchEnd {
        // crh builds this address instead of taking it from a reply, which could name any host: git
        // sends a token there.
        git_url: repo.as_deref().map(|repo| change.git_url(repo)),
        repo,
        branch: branch.to_owned(),
        commit,
    };
    let proposal = ChangeProposal {
        kind: ProposalKind::MergeRequest,
        url: change.url(),
        repo: state.properties.repo.clone(),
        number: merge_request.iid.to_string(),
        title: merge_request.title.clone(),
        body: merge_request.description.clone().unwrap_or_default(),
        author: merge_request.author.as_ref().map(|author| author.username.clone()),
        draft: merge_request.draft,
        state: merge_request.state.clone(),
        open: state.properties.open,
        labels: merge_request.labels.clone(),
        source: end(source_repo, &merge_request.source_branch, head.clone()),
        target: end(
            Some(state.properties.repo.clone()),
            &merge_request.target_branch,
            start.clone().unwrap_or_default(),
        ),
        checks: checks(&raw.jobs),
        linked_issues: raw.issues.iter().map(linked_issue).collect(),
        comments: general_notes(&raw).map(discussion_comment).collect(),
        threads: state.threads.iter().map(|it| it.to_discussion("note_")).collect(),
        votes: votes(&raw),
        rounds: rounds(&raw, head, start),
        notes: raw.notes,
    };
    (proposal, state)
}

fn properties(change: &RestChangeRef, raw: &RawMergeRequest) -> ProposalProperties {
    let merge_request = &raw.merge_request;
    let text = |commit: &Option<String>| commit.clone().unwrap_or_default();
    let refs = merge_request.diff_refs.as_ref().map(|refs| DiffRefs {
        base: text(&refs.base_sha),
        start: text(&refs.start_sha),
        head: text(&refs.head_sha),
    });
    let author = merge_request.author.as_ref();
    // After a rename, the full reference has the new name of the project.
    let full = merge_request.references.as_ref().and_then(|names| names.full.rsplit_once('!'));
    ProposalProperties {
        repo: full.map_or_else(|| change.repository.clone(), |(repo, _)| repo.to_owned()),
        number: merge_request.iid,
        api_path: change.api_path(),
        url: change.url(),
        head: refs.as_ref().map(|refs| refs.head.clone()).unwrap_or_default(),
        diff_refs: refs,
        open: merge_request.state == "opened",
        status: merge_request.state.clone(),
        draft: merge_request.draft,
        author: author.map(account),
        by_bot: author.is_some_and(is_bot),
        // If the project of the source branch is gone, it was a fork.
        from_fork: merge_request.source_project_id.is_none()
            || merge_request.source_project_id != merge_request.target_project_id,
        association: author.and_then(|author| raw.roles.get(&author.id).copied()),
        ..ProposalProperties::default()
    }
}

fn account(user: &wire::User) -> ForgeUser {
    ForgeUser::new(user.id, user.username.clone())
}

/// Whether a user is a bot. GitLab says so only in some replies. A deleted account is none, because
/// it may have been a person's.
fn is_bot(user: &wire::User) -> bool {
    user.bot == Some(true) || is_program(&user.username)
}

fn file(file: &wire::FileDiff) -> FilePatch {
    let is_hidden = file.too_large == Some(true) || file.collapsed == Some(true);
    FilePatch {
        path: file.new_path.clone(),
        previous: file.renamed_file.then(|| file.old_path.clone()),
        patch: (!file.diff.is_empty() && !is_hidden).then(|| file.diff.clone()),
    }
}

/// Comments outside threads on lines. GitLab's own notes about events do not count.
fn general_notes(raw: &RawMergeRequest) -> impl Iterator<Item = &wire::Note> {
    let discussions = raw.discussions.iter().filter(|discussion| !is_on_lines(discussion));
    discussions.flat_map(|discussion| &discussion.notes).filter(|note| !note.system)
}

fn is_on_lines(discussion: &wire::Discussion) -> bool {
    !discussion.individual_note
        && discussion.notes.first().is_some_and(|note| note.position.is_some())
}

fn note_url(change: &RestChangeRef, id: u64) -> String {
    format!("{}#note_{id}", change.url())
}

fn role(user: Option<&wire::User>, roles: &BTreeMap<u64, Association>) -> Association {
    user.and_then(|user| roles.get(&user.id).copied()).unwrap_or_default()
}

fn comment(
    note: &wire::Note,
    change: &RestChangeRef,
    roles: &BTreeMap<u64, Association>,
) -> ProposalComment {
    ProposalComment {
        id: note.id,
        author: note.author.as_ref().map(account),
        association: role(note.author.as_ref(), roles),
        created_at: note.created_at.clone(),
        body: note.body.clone(),
        url: note_url(change, note.id),
        vote: None,
    }
}

fn threads(
    raw: &RawMergeRequest,
    properties: &ProposalProperties,
    change: &RestChangeRef,
) -> Vec<InlineThread> {
    let viewer = raw.viewer.as_ref().map(|viewer| viewer.id);
    let to_comment = |note: &wire::Note| InlineComment {
        id: note.id,
        ours: viewer.is_some() && note.author.as_ref().map(|author| author.id) == viewer,
        by_bot: note.author.as_ref().is_some_and(is_bot),
        author: note.author.as_ref().map(|author| author.username.clone()),
        association: role(note.author.as_ref(), &raw.roles),
        created_at: note.created_at.clone(),
        body: note.body.clone(),
        url: note_url(change, note.id),
    };
    let to_thread = |discussion: &wire::Discussion| {
        let first = discussion.notes.first()?;
        let position = first.position.clone()?;
        let (side, line) = match (position.new_line, position.old_line) {
            (Some(line), _) => (Side::New, Some(line)),
            (None, old_line) => (Side::Old, old_line),
        };
        let start = position.line_range.and_then(|range| range.start);
        let start = start.and_then(|start| match side {
            Side::New => start.new_line,
            Side::Old => start.old_line,
        });
        // GitLab moves the position of a note to a new diff only if the line is unchanged there.
        let outdated = position.head_sha.as_deref() != Some(properties.head.as_str());
        let path = match side {
            Side::New => position.new_path,
            Side::Old => position.new_path.or(position.old_path),
        };
        let people_notes = discussion.notes.iter().filter(|note| !note.system);
        Some(InlineThread {
            node_id: discussion.id.clone(),
            resolved: first.resolved,
            resolved_by: first.resolved_by.as_ref().map(|user| user.username.clone()),
            outdated,
            path: path.unwrap_or_default(),
            line: line.filter(|_| !outdated),
            start_line: start.filter(|first| !outdated && Some(*first) != line),
            original_line: start.or(line),
            side: Some(side),
            comments: people_notes.map(to_comment).collect(),
        })
    };
    let on_lines = raw.discussions.iter().filter(|discussion| is_on_lines(discussion));
    let mut threads: Vec<InlineThread> = on_lines.filter_map(to_thread).collect();
    threads.sort_by_key(|thread| thread.comments.first().map(|comment| comment.id));
    threads
}

/// The approval of our account, as a review. GitLab stores no text with an approval, so it counts
/// as crh's own only if crh has posted a summary.
fn own_approval(
    raw: &RawMergeRequest,
    state: &ProposalState,
    instance: &str,
) -> Option<ProposalReview> {
    own_summary(state, instance)?;
    let approvers = raw.approvals.approved_by.iter().map(|approval| account(&approval.user));
    let author = approvers.into_iter().find(|user| state.is_ours(Some(user)))?;
    Some(ProposalReview {
        author: Some(author),
        state: "APPROVED".to_owned(),
        // GitLab does not tell which head the approval was for.
        commit: None,
        body: inline_review_marker(instance, ""),
        ..ProposalReview::default()
    })
}

fn discussion_comment(note: &wire::Note) -> DiscussionComment {
    DiscussionComment {
        id: format!("note_{}", note.id),
        author: note.author.as_ref().map(|author| author.username.clone()),
        created_at: Some(note.created_at.clone()),
        content: note.body.clone(),
    }
}

fn votes(raw: &RawMergeRequest) -> Vec<ReviewVote> {
    let votes = raw.approvals.approved_by.iter().map(|approval| ReviewVote {
        by: approval.user.username.clone(),
        word: "approved".to_owned(),
    });
    let mut votes: Vec<ReviewVote> = votes.collect();
    votes.sort_by(|one, other| one.by.cmp(&other.by));
    votes
}

fn checks(jobs: &[wire::Job]) -> Vec<ForgeCheck> {
    let checks = jobs.iter().map(|job| ForgeCheck {
        name: job.name.clone(),
        state: job.status.clone(),
        url: job.web_url.clone(),
        summary: job.failure_reason.clone(),
    });
    let mut checks: Vec<ForgeCheck> = checks.collect();
    checks.sort_by(|one, other| (&one.name, &one.url).cmp(&(&other.name, &other.url)));
    checks
}

fn linked_issue(issue: &wire::Issue) -> ForgeIssue {
    let full = issue.references.as_ref().map(|names| names.full.clone());
    ForgeIssue {
        id: full.unwrap_or_else(|| format!("#{}", issue.iid)),
        title: issue.title.clone(),
        body: issue.description.clone().unwrap_or_default(),
        url: issue.web_url.clone().unwrap_or_default(),
    }
}

/// Versions, oldest first, and the current head.
fn rounds(raw: &RawMergeRequest, head: String, start: Option<String>) -> Vec<ProposalRound> {
    let mut versions: Vec<&wire::Version> = raw.versions.iter().collect();
    versions.sort_by_key(|version| version.id);
    let mut known_heads = BTreeSet::from([head.clone()]);
    let earlier = versions.into_iter().filter(|version| {
        is_commit_id(&version.head_commit_sha)
            && known_heads.insert(version.head_commit_sha.clone())
    });
    let mut rounds: Vec<ProposalRound> = earlier
        .map(|version| ProposalRound {
            target: version.start_commit_sha.clone(),
            head: version.head_commit_sha.clone(),
            created_at: version.created_at.clone(),
            ..ProposalRound::default()
        })
        .collect();
    rounds.push(ProposalRound { target: start, head, ..ProposalRound::default() });
    for (number, round) in (1..).zip(&mut rounds) {
        round.id = u32::to_string(&number);
    }
    rounds
}
