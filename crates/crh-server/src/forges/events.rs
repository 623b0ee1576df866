//! What the events of a forge with a plain REST API mean.

use super::NO_INSTALLATION;
use crate::comment_commands::CommentCommand;
use crate::forge_time::parse_forge_time;
use crate::queue::Authorship;
use crate::webhook::admission::{Admission, PullRequestFacts, admit};
use crate::webhook::plan::{
    ChangeName, CommentPlace, CommentRef, IgnoreReason, PayloadError, PlannedReview, WebhookPlan,
    WebhookRules, plan_text,
};
use crh_forge::rest::{
    ChangeAction, ChangeEvent, CommentEvent, RestChange, RestEvent, is_repository_path,
};

/// Relation of the author to the repository. The author of a branch in the repository itself is
/// trusted, because only people with write access can push one.
pub(super) fn authorship(change: &RestChange) -> Authorship {
    facts(change).authorship()
}

/// Time of the last update, in milliseconds. Forges write `2026-01-02 03:04:05 UTC` or
/// `2026-01-02T03:04:05Z`, with or without fractions of a second. `None` for other time zones.
pub(super) fn revision(change: &RestChange) -> Option<i64> {
    let text = &change.updated_at;
    let (date, time) = (text.get(..10)?, text.get(11..19)?);
    let offset = text.get(19..)?.trim_start_matches('.');
    let offset = offset.trim_start_matches(|digit: char| digit.is_ascii_digit()).trim();
    let is_utc = ["Z", "UTC", "+00:00"].contains(&offset);
    parse_forge_time(&format!("{date}T{time}Z")).filter(|_| is_utc).map(|time| time.0)
}

fn facts(change: &RestChange) -> PullRequestFacts {
    let association = if change.from_fork { "" } else { "COLLABORATOR" };
    PullRequestFacts {
        open: change.is_open,
        draft: change.is_draft,
        from_fork: change.from_fork,
        author_association: association.to_owned(),
    }
}

/// Decides what the server does about an event.
pub(crate) fn plan_event(
    event: RestEvent,
    rules: &WebhookRules,
) -> Result<WebhookPlan, PayloadError> {
    match event {
        RestEvent::Other => Ok(WebhookPlan::Ignore(IgnoreReason::OtherEvent)),
        RestEvent::Change(event) => plan_change(event, rules),
        RestEvent::Comment(event) => plan_comment(event),
    }
}

fn plan_change(event: ChangeEvent, rules: &WebhookRules) -> Result<WebhookPlan, PayloadError> {
    let change = change_name(&event.repository, event.change.number)?;
    let added = match event.action {
        ChangeAction::Other => return Ok(WebhookPlan::Ignore(IgnoreReason::OtherEvent)),
        ChangeAction::Stop => return Ok(WebhookPlan::Stop(change)),
        ChangeAction::Update => None,
        ChangeAction::Label(added) => Some(added),
    };
    let is_approval = added.is_some();
    if added.is_some_and(|added| !added.iter().any(|name| name.eq_ignore_ascii_case(&rules.label)))
    {
        return Ok(WebhookPlan::Ignore(IgnoreReason::OtherLabel));
    }
    // A labelling bot may label every change, also those of strangers.
    if is_approval && event.by_bot {
        return Ok(WebhookPlan::Ignore(IgnoreReason::Bot));
    }
    let revision = revision(&event.change);
    let facts = facts(&event.change);
    let head = commit_id(event.change.head)?;
    let review = PlannedReview { change, head, private: event.is_private, revision };
    Ok(match admit(&facts, is_approval, rules.strangers) {
        Admission::Review => WebhookPlan::Review(review),
        Admission::Stranger => WebhookPlan::AwaitMaintainer(review),
        Admission::NotReady => WebhookPlan::Ignore(IgnoreReason::NotReady),
    })
}

fn plan_comment(event: CommentEvent) -> Result<WebhookPlan, PayloadError> {
    if event.by_bot {
        return Ok(WebhookPlan::Ignore(IgnoreReason::Bot));
    }
    // The forge also delivers crh's own comments. They end with a mark.
    let is_own = event.body.lines().next_back().is_some_and(|line| line.starts_with("<!-- crh"));
    if is_own || !event.is_open {
        return Ok(WebhookPlan::Ignore(IgnoreReason::OtherComment));
    }
    let change = change_name(&event.repository, event.number)?;
    let place = if event.is_on_line { CommentPlace::Line } else { CommentPlace::Conversation };
    let comment = CommentRef { id: event.id, author: event.author, place };
    let command = CommentCommand::parse(&event.body);
    Ok(plan_text(change, comment, command, event.may_be_reply.then_some((event.id, &event.body))))
}

/// Rejects an invalid repository name, because names become parts of paths and addresses.
fn change_name(repository: &str, number: u64) -> Result<ChangeName, PayloadError> {
    if !is_repository_path(repository) {
        return Err(PayloadError::Missing("name of the repository"));
    }
    Ok(ChangeName { installation: NO_INSTALLATION.0, repository: repository.to_owned(), number })
}

/// Rejects a text that is no commit id, because ids become arguments of programs.
fn commit_id(text: String) -> Result<String, PayloadError> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match is_hex && matches!(text.len(), 40 | 64) {
        true => Ok(text),
        false => Err(PayloadError::Missing("head commit")),
    }
}
