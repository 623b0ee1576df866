//! Issues and labels of a repository.

use serde_json::{Value, json};

use super::super::json::View;
use super::super::state::{FakeGitHubState, Issue, Repository};
use super::writes::{MAX_BODY, RepoName, fields};
use super::{Call, Reply, ReplyResult, page};

/// The longest title, in characters.
const MAX_TITLE: usize = 256;

/// Issues and pull requests, newest first by default. If issues are disabled, only pull requests.
pub(super) fn list(view: &View<'_>, call: &Call, repository: &Repository) -> Reply {
    let state = call.parameter("state").unwrap_or("open");
    let is_state = |open: bool| match state {
        "all" => true,
        "closed" => !open,
        _ => open,
    };
    let by = |author: &str| {
        call.parameter("creator").is_none_or(|creator| creator.eq_ignore_ascii_case(author))
    };
    let issues = repository
        .issues
        .values()
        .filter(|issue| !repository.without_issues && is_state(issue.open) && by(&issue.author));
    let pulls = repository.pulls.values();
    let pulls = pulls.filter(|pull| is_state(pull.open) && by(&pull.author));
    let mut entries: Vec<(u64, Value)> = issues
        .map(|issue| (issue.number, view.issue(repository, issue)))
        .chain(pulls.map(|pull| (pull.number, view.pull_as_issue(repository, pull))))
        .collect();
    entries.sort_by_key(|(number, _)| *number);
    if call.parameter("direction") != Some("asc") {
        entries.reverse();
    }
    page(view, call, repository, &entries, |(_, issue)| issue.clone())
}

/// Finds a label, ignoring case.
pub(super) fn label(view: &View<'_>, repository: &Repository, name: &str) -> ReplyResult {
    let label = repository.labels.iter().find(|label| label.eq_ignore_ascii_case(name));
    let found = label.ok_or_else(Reply::not_found)?;
    Ok(Reply::with(200, view.label(&view.api_of(repository), found)))
}

/// Opens an issue and creates missing labels.
pub(super) fn create(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
) -> ReplyResult {
    let input = fields(
        state,
        "an issue",
        &call.body,
        &["title", "body", "labels", "assignees", "milestone", "type"],
    )?;
    let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (title, body) = (text("title"), text("body"));
    let refused = |field: &str| {
        let error = json!({ "resource": "Issue", "code": "invalid", "field": field });
        Reply::invalid("Validation Failed", json!([error]))
    };
    if title.trim().is_empty() || title.chars().count() > MAX_TITLE {
        return Err(refused("title"));
    }
    if body.chars().count() > MAX_BODY {
        return Err(refused("body"));
    }
    let labels = input.get("labels").and_then(Value::as_array).into_iter().flatten();
    let labels: Vec<String> = labels.filter_map(Value::as_str).map(str::to_owned).collect();
    let author = call.login.clone().unwrap_or_default();
    let (id, created) = (state.id(), state.tick());
    let repository = state.repository_mut(owner, name).ok_or_else(Reply::not_found)?;
    if repository.without_issues {
        return Err(Reply::refused(410, "Issues has been disabled in this repository."));
    }
    let existing_label = |label: String| {
        let label_name =
            repository.labels.iter().find(|own| own.eq_ignore_ascii_case(&label)).cloned();
        label_name.unwrap_or(label)
    };
    let labels: Vec<String> = labels.into_iter().map(existing_label).collect();
    repository.labels.extend(labels.iter().cloned());
    repository.numbers += 1;
    let number = repository.numbers;
    let open = true;
    let issue = Issue { id, number, title, body, author, labels, open, created };
    repository.issues.insert(number, issue.clone());
    let view = View { state, server };
    let repository = view.state.repository(owner, name).ok_or_else(Reply::not_found)?;
    Ok(Reply::with(201, view.issue(repository, &issue)))
}
