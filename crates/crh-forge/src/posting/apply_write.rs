//! Applies acknowledged writes to a [`ProposalState`].
//!
//! A forge may return an outdated state shortly after a write. Applying acknowledged writes locally
//! prevents duplicates.

use super::{
    InlineComment, InlineThread, PlannedComment, PostingWrite, ProposalComment, ProposalReview,
    ProposalState, WriteKind, own_summary,
};
use crh_review::identity::key_in_comment;

/// Applies an acknowledged write unless the state already shows it.
pub(super) fn apply(write: &PostingWrite, state: &mut ProposalState, instance: &str) {
    match &write.kind {
        WriteKind::Review { comments, .. } => add_threads(comments, state, instance),
        WriteKind::Vote { event, body } => add_vote(event, body, state),
        WriteKind::Withdraw { id, .. } => set_review_state(*id, "DISMISSED", state),
        WriteKind::Submit { id } => set_review_state(*id, "COMMENTED", state),
        WriteKind::NewSummary { body } => {
            if own_summary(state, instance).is_none() {
                let (author, body) = (state.viewer.clone(), body.clone());
                let comment = ProposalComment { author, body, ..ProposalComment::default() };
                state.comments.push(comment);
            }
        }
        WriteKind::Summary { id, body } => {
            for comment in state.comments.iter_mut().filter(|comment| comment.id == *id) {
                comment.body.clone_from(body);
            }
        }
        WriteKind::Resolve { node_id } => {
            let login = state.viewer_login().unwrap_or_default().to_owned();
            for thread in state.threads.iter_mut().filter(|thread| thread.node_id == *node_id) {
                thread.resolved = true;
                thread.resolved_by.get_or_insert_with(|| login.clone());
            }
        }
        // The posting ends with this write.
        WriteKind::WholeReview { .. } => {}
    }
}

fn set_review_state(id: u64, review_state: &str, state: &mut ProposalState) {
    for review in state.reviews.iter_mut().filter(|review| review.id == id) {
        review_state.clone_into(&mut review.state);
    }
}

fn add_threads(comments: &[PlannedComment], state: &mut ProposalState, instance: &str) {
    let key = |thread: &InlineThread| {
        let first = thread.comments.first().filter(|first| first.ours)?;
        key_in_comment(instance, &first.body).map(str::to_owned)
    };
    for comment in comments {
        let thread = thread(comment);
        if !state.threads.iter().any(|existing| key(existing) == key(&thread)) {
            state.threads.push(thread);
        }
    }
}

fn add_vote(event: &str, body: &str, state: &mut ProposalState) {
    let review_state = if event == "APPROVE" { "APPROVED" } else { "CHANGES_REQUESTED" };
    let is_posted = state
        .reviews
        .iter()
        .any(|review| review.state == review_state && review.body.trim_end() == body.trim_end());
    if !is_posted {
        state.reviews.push(ProposalReview {
            author: state.viewer.clone(),
            state: review_state.to_owned(),
            commit: Some(state.properties.head.clone()),
            body: body.to_owned(),
            ..ProposalReview::default()
        });
    }
}

fn thread(comment: &PlannedComment) -> InlineThread {
    let PlannedComment { anchor, body, .. } = comment;
    let start = anchor.start.map(|start| start.line);
    InlineThread {
        path: anchor.path.clone(),
        line: Some(anchor.end.line),
        start_line: start,
        original_line: start.or(Some(anchor.end.line)),
        side: Some(anchor.end.side),
        comments: vec![InlineComment {
            ours: true,
            body: body.clone(),
            ..InlineComment::default()
        }],
        ..InlineThread::default()
    }
}
