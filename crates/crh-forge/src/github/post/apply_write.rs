//! What stands on a pull request once a write has been applied.
//!
//! GitHub may still answer with what stood before, shortly after it has said yes: what it has acknowledged is put in here, so
//! that nothing is written twice.

use serde_json::Value;

use super::plan::{What, Write};
use crate::github::{InlineComment, InlineThread, Standing, StandingReview, TopComment};
use crh_review::finding::Side;
use crh_review::identity::marked_key;

/// Puts an acknowledged write into what stands, unless it is there.
pub(super) fn apply(write: &Write, standing: &mut Standing, instance: &str) {
    match &write.what {
        What::Review { .. } => comments(write, standing, instance),
        What::Vote { event } => vote(write, event, standing),
        What::Withdraw { id } => become_state(*id, "DISMISSED", standing),
        What::Submit { id } => become_state(*id, "COMMENTED", standing),
        What::NewSummary => {
            if super::state::own_summary(standing, instance).is_none() {
                standing.comments.push(TopComment {
                    author: Some(standing.viewer.clone()),
                    body: text(&write.request.body["body"]),
                    ..TopComment::default()
                });
            }
        }
        What::Summary { id } => {
            for comment in standing.comments.iter_mut().filter(|comment| comment.id == *id) {
                comment.body = text(&write.request.body["body"]);
            }
        }
        What::Resolve { node_id } => {
            let login = standing.viewer.login.clone();
            for thread in standing.threads.iter_mut().filter(|it| it.node_id == *node_id) {
                thread.resolved = true;
                thread.resolved_by.get_or_insert_with(|| login.clone());
            }
        }
    }
}

fn become_state(id: u64, state: &str, standing: &mut Standing) {
    for review in standing.reviews.iter_mut().filter(|review| review.id == id) {
        state.clone_into(&mut review.state);
    }
}

fn comments(write: &Write, standing: &mut Standing, instance: &str) {
    for comment in write.request.body["comments"].as_array().into_iter().flatten() {
        let thread = thread(comment);
        let key = |thread: &InlineThread| {
            let first = thread.comments.first().filter(|first| first.ours)?;
            marked_key(instance, &first.body).map(str::to_owned)
        };
        let stands = standing.threads.iter().any(|there| key(there) == key(&thread));
        if !stands {
            standing.threads.push(thread);
        }
    }
}

fn vote(write: &Write, event: &str, standing: &mut Standing) {
    let state = if event == "APPROVE" { "APPROVED" } else { "CHANGES_REQUESTED" };
    let is_there = standing.reviews.iter().any(|review| {
        review.state == state
            && review.body.trim_end() == text(&write.request.body["body"]).trim_end()
    });
    if !is_there {
        standing.reviews.push(StandingReview {
            author: Some(standing.viewer.clone()),
            state: state.to_owned(),
            commit: Some(standing.pull.head.clone()),
            body: text(&write.request.body["body"]),
            ..StandingReview::default()
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
