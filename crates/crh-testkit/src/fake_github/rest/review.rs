//! Posts reviews. All comments must be on visible lines, or the whole review is refused.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::diff::{Diff, Side};
use super::super::git::DiffContext;
use super::super::json::View;
use super::super::state::{Comment, FakeGitHubState, PENDING, Review, Thread};
use super::writes::{MAX_BODY, RepoName, fields};
use super::{Call, Reply, ReplyResult};

const REVIEW_FIELDS: [&str; 4] = ["commit_id", "body", "event", "comments"];

const COMMENT_FIELDS: [&str; 6] = ["path", "body", "line", "side", "start_line", "start_side"];

/// Posts a review.
pub(super) fn post(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
    number: &str,
) -> ReplyResult {
    let sent = fields(state, "a review", &call.body, &REVIEW_FIELDS)?.clone();
    let comments = sent.get("comments").and_then(Value::as_array).cloned().unwrap_or_default();
    for comment in &comments {
        fields(state, "a review comment", comment, &COMMENT_FIELDS)?;
    }
    let author = call.login.clone().unwrap_or_default();
    let body = sent.get("body").and_then(Value::as_str).unwrap_or_default().to_owned();
    let event = sent.get("event").and_then(Value::as_str);
    if event.is_none() {
        // GitHub would create a pending review. crh never wants that, so the fake refuses it below.
        state.surprises.push("a review without an event stays a draft".to_owned());
    }
    let number: u64 = number.parse().map_err(|_| Reply::not_found())?;
    let repository = state.repository(owner, name).ok_or_else(Reply::not_found)?;
    let pull = repository.pulls.get(&number).ok_or_else(Reply::not_found)?;
    let is_own = pull.author == author;
    let review_state = event_state(event, is_own, body.is_empty() && comments.is_empty())?;
    if body.chars().count() > MAX_BODY {
        return Err(refused("Body is too long (maximum is 65536 characters)"));
    }
    let is_draft = |review: &Review| review.author == author && review.state == PENDING;
    if pull.reviews.iter().any(is_draft) {
        return Err(refused("User can only have one pending review per pull request"));
    }
    let commit = sent.get("commit_id").and_then(Value::as_str).unwrap_or(&pull.head_sha).to_owned();
    if !pull.proposes(&commit) {
        return Err(refused("The commit_id is not part of the pull request"));
    }
    let at_head = commit == pull.head_sha;
    let diff = if at_head {
        pull.diff.clone()
    } else {
        Arc::new(repository.bare.diff(&pull.merge_base, &commit, DiffContext::Three))
    };
    let mut threads = Vec::new();
    for comment in &comments {
        threads.push(thread(comment, &diff, &commit)?);
    }
    apply(
        state,
        (owner, name),
        number,
        ParsedReview { author, body, review_state, commit, threads, at_head },
    )
    .and_then(|review| {
        let view = View { state, server };
        let repository = view.state.repository(owner, name).ok_or_else(Reply::not_found)?;
        Ok(Reply::with(200, view.review(repository, number, &review)))
    })
}

/// Submits a pending review.
pub(super) fn submit(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    place: (RepoName<'_>, &str, &str),
) -> ReplyResult {
    let sent = fields(state, "a submission", &call.body, &["event", "body"])?;
    let becomes = event_state(sent.get("event").and_then(Value::as_str), false, false)?;
    let author = call.login.clone().unwrap_or_default();
    change_review(state, server, place, becomes, |review| {
        let is_theirs = review.author == author && review.state == PENDING;
        is_theirs.then_some(()).ok_or("Can not submit a review that is not pending")
    })
}

/// Dismisses a review.
pub(super) fn dismiss(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    place: (RepoName<'_>, &str, &str),
) -> ReplyResult {
    fields(state, "a dismissal", &call.body, &["event", "message"])?;
    change_review(state, server, place, "DISMISSED", |review| {
        let says = ["APPROVED", "CHANGES_REQUESTED"].contains(&review.state.as_str());
        says.then_some(()).ok_or("Can not dismiss a commented pull request review")
    })
}

/// Changes the state of a review if permitted.
fn change_review(
    state: &mut FakeGitHubState,
    server: &str,
    ((owner, name), number, id): (RepoName<'_>, &str, &str),
    becomes: &str,
    may: impl Fn(&Review) -> Result<(), &'static str>,
) -> ReplyResult {
    let number: u64 = number.parse().map_err(|_| Reply::not_found())?;
    let repository = state.repository_mut(owner, name).ok_or_else(Reply::not_found)?;
    let pull = repository.pulls.get_mut(&number).ok_or_else(Reply::not_found)?;
    let review = pull.reviews.iter_mut().find(|review| review.id.to_string() == id);
    let review = review.ok_or_else(Reply::not_found)?;
    may(review).map_err(refused)?;
    becomes.clone_into(&mut review.state);
    let review = review.clone();
    let view = View { state, server };
    let repository = view.state.repository(owner, name).ok_or_else(Reply::not_found)?;
    Ok(Reply::with(200, view.review(repository, number, &review)))
}

struct ParsedReview {
    author: String,
    body: String,
    review_state: &'static str,
    commit: String,
    threads: Vec<(Thread, String)>,
    at_head: bool,
}

fn apply(
    state: &mut FakeGitHubState,
    (owner, name): RepoName<'_>,
    number: u64,
    posted: ParsedReview,
) -> Result<Review, Reply> {
    let (id, created) = (state.id(), state.tick());
    let mut threads = Vec::new();
    for (mut thread, body) in posted.threads {
        let comment = state.id();
        thread.id = format!("PRRT_{}", state.id());
        thread.comments.push(Comment {
            id: comment,
            author: posted.author.clone(),
            body,
            created,
            updated: created,
            review: Some(id),
            minimized: false,
        });
        threads.push(thread);
    }
    let review = Review {
        id,
        author: posted.author,
        state: posted.review_state.to_owned(),
        body: posted.body,
        commit: posted.commit,
        created,
    };
    let repository = state.repository_mut(owner, name).ok_or_else(Reply::not_found)?;
    let bare = repository.bare.clone();
    let pull = repository.pulls.get_mut(&number).ok_or_else(Reply::not_found)?;
    pull.reviews.push(review.clone());
    pull.threads.extend(threads);
    pull.updated = created;
    if !posted.at_head {
        pull.compare(&bare);
    }
    Ok(review)
}

/// State of a review after an event.
fn event_state(event: Option<&str>, is_own: bool, empty: bool) -> Result<&'static str, Reply> {
    match event {
        Some("COMMENT") if empty => Err(refused("Body can't be blank")),
        Some("COMMENT") => Ok("COMMENTED"),
        Some("REQUEST_CHANGES") if is_own => {
            Err(refused("Can not request changes on your own pull request"))
        }
        Some("REQUEST_CHANGES") if empty => {
            Err(refused("You need to leave a comment indicating the requested changes."))
        }
        Some("REQUEST_CHANGES") => Ok("CHANGES_REQUESTED"),
        Some("APPROVE") if is_own => Err(refused("Can not approve your own pull request")),
        Some("APPROVE") => Ok("APPROVED"),
        _ => Err(refused(
            "Variable $event of type PullRequestReviewEvent was provided invalid value",
        )),
    }
}

/// Thread and text of a comment.
fn thread(comment: &Value, diff: &Diff, commit: &str) -> Result<(Thread, String), Reply> {
    let word = |key: &str| comment[key].as_str();
    let body = word("body").unwrap_or_default();
    if body.trim().is_empty() {
        return Err(refused("Body can't be blank"));
    }
    if body.chars().count() > MAX_BODY {
        return Err(refused("Body is too long (maximum is 65536 characters)"));
    }
    let side = |key: &str, other: Side| match word(key) {
        None => Ok(other),
        Some(word) => Side::from_word(word).ok_or_else(|| refused("Side is invalid")),
    };
    let path = word("path").unwrap_or_default();
    let file = diff.file(path).ok_or_else(|| refused("Path could not be resolved"))?;
    let line = number(comment, "line")?.ok_or_else(|| refused("Line could not be resolved"))?;
    let right = side("side", Side::Right)?;
    let unresolved = || refused("Line could not be resolved");
    let row = file.find_row(right, line).ok_or_else(unresolved)?;
    let start_line = number(comment, "start_line")?;
    let start_side = side("start_side", right)?;
    if let Some(first) = start_line {
        let start = file.find_row(start_side, first);
        let start = start.ok_or_else(|| refused("Start line could not be resolved"))?;
        if start >= row && start.hunk == row.hunk {
            return Err(refused(
                "Pull request review thread start line must precede the end line.",
            ));
        }
        if start.hunk != row.hunk {
            return Err(refused(
                "Pull request review thread start line must be part of the same hunk as the line.",
            ));
        }
    }
    let thread = Thread {
        id: String::new(),
        path: path.to_owned(),
        side: right,
        line: Some(line),
        start_line,
        start_side: start_line.map(|_| start_side),
        original_line: line,
        original_start_line: start_line,
        original_commit: commit.to_owned(),
        diff_hunk: file.hunk_down_to(row),
        original_position: file.position(row),
        resolved: false,
        resolved_by: None,
        outdated: false,
        comments: Vec::new(),
    };
    Ok((thread, body.to_owned()))
}

/// An optional line number.
fn number(comment: &Value, key: &str) -> Result<Option<u32>, Reply> {
    match &comment[key] {
        Value::Null => Ok(None),
        value => {
            let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
            number.map(Some).ok_or_else(|| {
                Reply::invalid("Invalid request.", json!([format!("{value} is not an integer.")]))
            })
        }
    }
}

fn refused(message: &str) -> Reply {
    Reply::invalid("Unprocessable Entity", json!([message]))
}
