//! Applies acknowledged writes to a [`PullRequestState`].
//!
//! GitHub may return an outdated state shortly after a write. Applying acknowledged writes locally
//! prevents duplicates.

use serde_json::Value;

use super::plan::{GitHubWrite, WriteKind};
use crate::github::{
    InlineComment, InlineThread, PullRequestComment, PullRequestReview, PullRequestState,
};
use crh_review::finding::Side;
use crh_review::identity::key_in_comment;

/// Applies an acknowledged write unless the state already shows it.
pub(super) fn apply(write: &GitHubWrite, pull_state: &mut PullRequestState, instance: &str) {
    match &write.kind {
        WriteKind::Review { .. } => comments(write, pull_state, instance),
        WriteKind::Vote { event } => vote(write, event, pull_state),
        WriteKind::Withdraw { id } => set_review_state(*id, "DISMISSED", pull_state),
        WriteKind::Submit { id } => set_review_state(*id, "COMMENTED", pull_state),
        WriteKind::NewSummary => {
            if super::saved_review::own_summary(pull_state, instance).is_none() {
                pull_state.comments.push(PullRequestComment {
                    author: Some(pull_state.viewer.clone()),
                    body: text(&write.request.body["body"]),
                    ..PullRequestComment::default()
                });
            }
        }
        WriteKind::Summary { id } => {
            for comment in pull_state.comments.iter_mut().filter(|comment| comment.id == *id) {
                comment.body = text(&write.request.body["body"]);
            }
        }
        WriteKind::Resolve { node_id } => {
            let login = pull_state.viewer.login.clone();
            for thread in pull_state.threads.iter_mut().filter(|thread| thread.node_id == *node_id)
            {
                thread.resolved = true;
                thread.resolved_by.get_or_insert_with(|| login.clone());
            }
        }
    }
}

fn set_review_state(id: u64, state: &str, pull_state: &mut PullRequestState) {
    for review in pull_state.reviews.iter_mut().filter(|review| review.id == id) {
        state.clone_into(&mut review.state);
    }
}

fn comments(write: &GitHubWrite, pull_state: &mut PullRequestState, instance: &str) {
    for comment in write.request.body["comments"].as_array().into_iter().flatten() {
        let thread = thread(comment);
        let key = |thread: &InlineThread| {
            let first = thread.comments.first().filter(|first| first.ours)?;
            key_in_comment(instance, &first.body).map(str::to_owned)
        };
        let is_posted = pull_state.threads.iter().any(|existing| key(existing) == key(&thread));
        if !is_posted {
            pull_state.threads.push(thread);
        }
    }
}

fn vote(write: &GitHubWrite, event: &str, pull_state: &mut PullRequestState) {
    let state = if event == "APPROVE" { "APPROVED" } else { "CHANGES_REQUESTED" };
    let is_posted = pull_state.reviews.iter().any(|review| {
        review.state == state
            && review.body.trim_end() == text(&write.request.body["body"]).trim_end()
    });
    if !is_posted {
        pull_state.reviews.push(PullRequestReview {
            author: Some(pull_state.viewer.clone()),
            state: state.to_owned(),
            commit: Some(pull_state.pull.head.clone()),
            body: text(&write.request.body["body"]),
            ..PullRequestReview::default()
        });
    }
}

fn thread(comment: &Value) -> InlineThread {
    let line = |name: &str| comment[name].as_u64().and_then(|line| u32::try_from(line).ok());
    let side = if comment["side"] == "LEFT" { Side::Old } else { Side::New };
    InlineThread {
        path: text(&comment["path"]),
        line: line("line"),
        start_line: line("start_line"),
        original_line: line("start_line").or(line("line")),
        side: Some(side),
        comments: vec![InlineComment {
            ours: true,
            body: text(&comment["body"]),
            ..InlineComment::default()
        }],
        ..InlineThread::default()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
