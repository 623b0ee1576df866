//! Answers of GitHub's made into our own values. Pure.

use std::collections::BTreeSet;

use super::super::post::last_state;
use super::super::{
    Account, Association, FilePatch, Host, InlineComment, InlineThread, PullState, Repo, Standing,
    StandingReview, TopComment,
};
use super::{Burst, texts, wire};
use crate::{Check, LinkedIssue, Proposal, ProposalKind, Round, Spot};
use crh_review::finding::Side;
use crh_review::identity::{is_commit, posted_marker};

/// What a review needs to know, and what stands there, made of what came.
pub(super) fn converted(host: &Host, burst: Burst, instance: &str) -> (Proposal, Standing) {
    let Burst {
        pull,
        files,
        comments,
        reviews,
        check_runs,
        statuses,
        conversations,
        mut notes,
        mut unread,
    } = burst;
    notes.extend(conversations.notes);
    notes.extend(texts::note("comments on lines", conversations.cut));
    if conversations.unended > 0 {
        let count = conversations.unended;
        notes
            .push(format!("Of {count} long conversations about lines only the beginning is read."));
    }
    if conversations.left_out {
        notes.push("There is more said about lines than is read.".to_owned());
        unread.push("conversations about lines".to_owned());
    }
    if let Some(count) = pull.changed_files.filter(|count| *count > files.len()) {
        notes.push(format!(
            "GitHub shows {} of the {count} changed files; the others come from git alone.",
            files.len(),
        ));
    }
    let viewer = conversations.viewer;
    let said = said(&comments, &reviews);
    let mut threads: Vec<InlineThread> = conversations.threads.into_iter().map(thread).collect();
    // What is in a review that was not submitted is shown to its author alone.
    threads.retain(|thread| !thread.comments.is_empty());
    threads.sort_by_key(|thread| thread.comments.first().map(|comment| comment.id));
    let reviewed = reviewed(&reviews, &viewer, instance);
    let standing = Standing {
        viewer,
        pull: state(&pull),
        files: files.into_iter().map(file).collect(),
        comments: comments.into_iter().map(comment).collect(),
        threads,
        reviews: reviews.into_iter().map(review).collect(),
        unread,
    };
    let proposal = Proposal {
        kind: ProposalKind::PullRequest,
        url: pull.html_url.clone(),
        repo: base_name(&pull),
        number: pull.number.to_string(),
        title: pull.title.clone(),
        body: pull.body.clone().unwrap_or_default(),
        author: pull.user.as_ref().map(|user| user.login.clone()),
        draft: pull.draft,
        state: if pull.merged { "merged".to_owned() } else { pull.state.clone() },
        open: standing.pull.open,
        labels: pull.labels.iter().map(|label| label.name.clone()).collect(),
        source: end(host, &pull.head),
        target: end(host, &pull.base),
        checks: checks(check_runs, statuses),
        linked_issues: conversations.issues.into_iter().map(linked).collect(),
        comments: said,
        threads: standing.threads.iter().map(shown).collect(),
        votes: Vec::new(),
        rounds: rounds(&pull, reviewed, last_head(&standing, instance)),
        notes,
    };
    (proposal, standing)
}

fn base_name(pull: &wire::Pull) -> String {
    pull.base.repo.as_ref().map(|repo| repo.full_name.clone()).unwrap_or_default()
}

fn end(host: &Host, end: &wire::End) -> crate::End {
    let repo = end.repo.as_ref().map(|repo| repo.full_name.clone());
    // The address is made here: one that a host names could be any, and a token goes along with it.
    let known = repo.as_deref().and_then(Repo::parse);
    crate::End {
        git_url: known.map(|repo| host.git_url(&repo)),
        repo,
        branch: end.branch.clone(),
        commit: end.sha.clone(),
    }
}

fn state(pull: &wire::Pull) -> PullState {
    let id = |end: &wire::End| end.repo.as_ref().map(|repo| repo.id);
    PullState {
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
        // A head whose repository is gone was in another one.
        from_fork: id(&pull.head) != id(&pull.base) || id(&pull.head).is_none(),
    }
}

fn account(user: wire::User) -> Account {
    Account { id: user.id, login: user.login }
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

fn comment(comment: wire::Comment) -> TopComment {
    TopComment {
        id: comment.id,
        author: comment.user.map(account),
        association: association(&comment.author_association),
        created_at: comment.created_at,
        body: comment.body.unwrap_or_default(),
        url: comment.html_url,
    }
}

fn review(review: wire::Review) -> StandingReview {
    StandingReview {
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
    let submitted = comments.filter(|comment| comment.state.as_deref() != Some("PENDING"));
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
        comments: submitted.map(inline).collect(),
    }
}

fn inline(comment: wire::ThreadComment) -> InlineComment {
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

/// A conversation as whoever reviews sees it.
fn shown(thread: &InlineThread) -> crate::Thread {
    let spot = match (thread.line, thread.side) {
        (Some(line), Some(side)) => Some(Spot { file: thread.path.clone(), side, line }),
        (_, _) => None,
    };
    let comments = thread.comments.iter().map(|comment| crate::Comment {
        id: format!("discussion_r{}", comment.id),
        author: comment.author.clone(),
        created_at: Some(comment.created_at.clone()),
        content: comment.body.clone(),
    });
    crate::Thread {
        id: thread.node_id.clone(),
        spot,
        file: thread.path.clone(),
        resolved: thread.resolved,
        outdated: thread.outdated,
        comments: comments.collect(),
    }
}

/// What was said about the whole, oldest first: comments, and reviews that say something. Ids are as GitHub writes them in addresses,
/// since comments and reviews are numbered apart.
fn said(comments: &[wire::Comment], reviews: &[wire::Review]) -> Vec<crate::Comment> {
    let author = |user: &Option<wire::User>| user.as_ref().map(|user| user.login.clone());
    let comments = comments.iter().map(|comment| crate::Comment {
        id: format!("issuecomment-{}", comment.id),
        author: author(&comment.user),
        created_at: Some(comment.created_at.clone()),
        content: comment.body.clone().unwrap_or_default(),
    });
    let reviews = reviews.iter().filter(|review| {
        review.submitted_at.is_some() && review.body.as_deref().is_some_and(|body| !body.is_empty())
    });
    let reviews = reviews.map(|review| crate::Comment {
        id: format!("pullrequestreview-{}", review.id),
        author: author(&review.user),
        created_at: review.submitted_at.clone(),
        content: review.body.clone().unwrap_or_default(),
    });
    let mut said: Vec<crate::Comment> = comments.chain(reviews).collect();
    // GitHub writes times so that their order is that of their texts. What came at once stays in GitHub's order.
    said.sort_by(|one, other| one.created_at.cmp(&other.created_at));
    said
}

fn linked(issue: wire::Issue) -> LinkedIssue {
    LinkedIssue {
        id: format!("{}#{}", issue.repository.name_with_owner, issue.number),
        title: issue.title,
        body: issue.body,
        url: issue.url,
    }
}

fn checks(runs: Vec<wire::CheckRuns>, statuses: Vec<wire::Statuses>) -> Vec<Check> {
    let runs = runs.into_iter().flat_map(|page| page.check_runs).map(|run| {
        let said = [run.output.title, run.output.summary];
        let said: Vec<String> =
            said.into_iter().flatten().filter(|text| !text.is_empty()).collect();
        Check {
            name: run.name,
            state: run.conclusion.unwrap_or(run.status),
            url: run.details_url.or(run.html_url),
            summary: (!said.is_empty()).then(|| said.join("\n\n")),
        }
    });
    let statuses = statuses.into_iter().flat_map(|page| page.statuses).map(|status| Check {
        name: status.context,
        state: status.state,
        url: status.target_url,
        summary: status.description,
    });
    let mut checks: Vec<Check> = runs.chain(statuses).collect();
    // Checks come in the order in which they were started, which differs from read to read.
    checks.sort_by(|one, other| (&one.name, &one.url).cmp(&(&other.name, &other.url)));
    checks
}

/// A head that was reviewed, and when.
type Reviewed = (String, Option<String>);

/// The heads that our own reviews were about, oldest first.
fn reviewed(reviews: &[wire::Review], viewer: &Account, instance: &str) -> Vec<Reviewed> {
    let marker = posted_marker(instance, "");
    let marker = marker.trim_end_matches(" -->");
    let ours = reviews.iter().filter(|review| {
        let body = review.body.as_deref().unwrap_or_default();
        review.user.as_ref().is_some_and(|user| user.id == viewer.id) && body.starts_with(marker)
    });
    let heads =
        ours.filter_map(|review| Some((review.commit_id.clone()?, review.submitted_at.clone())));
    heads.collect()
}

/// The head that our summary is about: a review that found nothing has left nothing else.
fn last_head(standing: &Standing, instance: &str) -> Option<Reviewed> {
    let head = last_state(standing, instance).ok()?.head;
    is_commit(&head).then_some((head, None))
}

/// The heads that we reviewed before, each once, and the current one.
fn rounds(pull: &wire::Pull, reviewed: Vec<Reviewed>, last: Option<Reviewed>) -> Vec<Round> {
    let mut known = BTreeSet::from([pull.head.sha.clone()]);
    let earlier = reviewed.into_iter().chain(last);
    let earlier = earlier.filter(|(head, _)| known.insert(head.clone()));
    let mut rounds: Vec<Round> =
        earlier.map(|(head, created_at)| Round { head, created_at, ..Round::default() }).collect();
    rounds.push(Round {
        target: Some(pull.base.sha.clone()),
        head: pull.head.sha.clone(),
        ..Round::default()
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
        state(&serde_json::from_value(pull).unwrap()).by_bot
    }

    #[test]
    fn a_bot_is_told_by_its_kind_or_by_its_name() {
        assert!(by_bot(json!({ "id": 1, "login": "renovate", "type": "Bot" })));
        assert!(by_bot(json!({ "id": 1, "login": "renovate[bot]" })));
        assert!(!by_bot(json!({ "id": 1, "login": "robot", "type": "User" })));
        assert!(!by_bot(serde_json::Value::Null), "the account is gone");
    }
}
