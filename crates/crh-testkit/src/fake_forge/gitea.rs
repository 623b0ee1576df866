//! Gitea's API v1, as far as crh and client libraries use it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::DialectRules;
use super::code::StoredFile;
use super::diff::FileDiff;
use super::server::{ForgeCall, ForgeReply};
use super::state::{
    FakeForgeState, ForgeComment, ForgeThread, Project, ProposedChange, Review, Status,
};

/// Most entries of a page: Gitea's default.
const PAGE_MAX: usize = 50;

pub(super) const RULES: DialectRules = DialectRules {
    version: "1.22.3",
    api_path: "/api/v1/",
    change_path: "pulls",
    ref_path: "pull",
    server_variable: "GITEA_SERVER_URL",
    token_variable: "GITEA_TOKEN",
    bad_line: (422, "line not found in the diff"),
    answer,
};

fn answer(state: &mut FakeForgeState, call: &ForgeCall) -> ForgeReply {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    match (call.method.as_str(), path.as_slice()) {
        ("GET", ["version"]) => ForgeReply::new(200, json!({ "version": state.version })),
        ("GET", ["user"]) => match &call.login {
            Some(login) => ForgeReply::new(200, user(state, login, call)),
            None => ForgeReply::refused(401, "token is required"),
        },
        (method, ["repos", owner, name, rest @ ..]) => {
            let repository = format!("{owner}/{name}");
            let found = state.projects.get(&repository);
            match found.filter(|found| found.can_read(call.login.as_deref())) {
                None => ForgeReply::refused(404, "The target couldn't be found."),
                Some(_) if method != "GET" && call.login.is_none() => {
                    ForgeReply::refused(401, "token is required")
                }
                Some(_) => repository_answer(state, call, &repository, rest),
            }
        }
        (_, _) => unknown(state, call),
    }
}

fn unknown(state: &mut FakeForgeState, call: &ForgeCall) -> ForgeReply {
    state.surprises.push(format!("{} /{}", call.method, call.path.join("/")));
    ForgeReply::refused(404, "The target couldn't be found.")
}

#[expect(clippy::too_many_lines, reason = "one arm per operation")]
fn repository_answer(
    state: &mut FakeForgeState,
    call: &ForgeCall,
    repository: &str,
    rest: &[&str],
) -> ForgeReply {
    let login = call.login.clone().unwrap_or_default();
    match (call.method.as_str(), rest) {
        ("GET", []) => ForgeReply::new(200, repository_json(&state.projects[repository], call)),
        ("GET", ["collaborators", name, "permission"]) => {
            let is_member = state.projects[repository].members.contains_key(*name);
            let permission = if is_member { "write" } else { "read" };
            ForgeReply::new(200, json!({ "permission": permission, "role_name": permission }))
        }
        ("GET", ["commits", sha, "statuses"] | ["statuses", sha]) => {
            let statuses = state.projects[repository].statuses.iter().rev();
            let statuses = statuses.filter(|status| status.sha == **sha);
            let statuses = statuses.map(|status| status_json(state, status, call)).collect();
            call.page(statuses, "limit", PAGE_MAX)
        }
        ("POST", ["statuses", sha]) => {
            let status = Status {
                id: state.next_id(),
                sha: (*sha).to_owned(),
                state: call.text("state"),
                name: call.text("context"),
                description: call.text("description"),
                author: login,
            };
            state.projects.get_mut(repository).unwrap().statuses.push(status.clone());
            ForgeReply::new(201, status_json(state, &status, call))
        }
        ("POST", ["issues", "comments", id, "reactions"]) => {
            let reaction = (id.parse().unwrap_or_default(), call.text("content"));
            let is_new = !state.reactions.contains(&reaction);
            if is_new {
                state.reactions.push(reaction.clone());
            }
            let by = user(state, &login, call);
            let reply =
                json!({ "user": by, "content": reaction.1, "created_at": "2026-01-01T00:00:00Z" });
            ForgeReply::new(if is_new { 201 } else { 200 }, reply)
        }
        ("GET", ["git", "commits", sha]) => {
            let bare = &state.projects[repository].bare;
            if bare.object_type(sha).as_deref() != Some("commit") {
                return not_found();
            }
            let (_, _, message) = bare.commit_parts(sha);
            ForgeReply::new(200, json!({ "sha": sha, "commit": { "message": message } }))
        }
        ("GET", ["contents", path @ ..]) => {
            let commit = call.query("ref").unwrap_or_default();
            match state.file(repository, commit, &path.join("/")) {
                Some(file) => ForgeReply::new(200, contents_json(&path.join("/"), &file)),
                None => not_found(),
            }
        }
        ("PUT", ["contents", path @ ..]) => {
            update_contents(state, call, repository, &path.join("/"), &login)
        }
        ("PATCH", ["issues", "comments", id]) => edit_comment(state, call, repository, id, &login),
        ("DELETE", ["issues", "comments", id]) => delete_comment(state, repository, id, &login),
        ("GET", ["issues", number, "comments"]) => {
            with_change(state, repository, number, |change| {
                let comments = change.comments.iter();
                comments
                    .map(|it| comment_json(state, it, (repository, change.number), call))
                    .collect()
            })
            .map_or_else(not_found, ForgeReply::whole_list)
        }
        ("POST", ["issues", number, "comments"]) => {
            let number = number.parse().unwrap_or_default();
            if state.change(repository, number).is_none() {
                return not_found();
            }
            let id = state.add_comment(repository, number, &login, &call.text("body"));
            let change = state.change(repository, number).unwrap();
            let comment = change.comments.iter().find(|comment| comment.id == id).unwrap();
            ForgeReply::new(201, comment_json(state, comment, (repository, number), call))
        }
        ("GET", ["pulls", name]) if name.ends_with(".diff") => {
            let number = name.trim_end_matches(".diff").parse().unwrap_or_default();
            let Some(change) = state.change(repository, number) else { return not_found() };
            let refs = change.refs();
            let diff = state.projects[repository].bare.diff_text(&refs.base, &refs.head);
            ForgeReply::text(&String::from_utf8_lossy(&diff))
        }
        ("GET", ["pulls"]) => {
            let changes = state.projects[repository].changes.iter();
            let is_wanted = |change: &&ProposedChange| match call.query("state") {
                None | Some("open") => change.is_open,
                Some("closed") => !change.is_open,
                Some(_) => true,
            };
            let changes = changes.filter(is_wanted).rev();
            let changes = changes.map(|change| pull_json(state, repository, change, call));
            call.page(changes.collect(), "limit", PAGE_MAX)
        }
        (_, ["pulls", number, rest @ ..]) => {
            let number = number.parse().unwrap_or_default();
            match state.change(repository, number).is_some() {
                true => pull_answer(state, call, (repository, number), rest, &login),
                false => not_found(),
            }
        }
        (_, _) => unknown(state, call),
    }
}

fn contents_json(path: &str, file: &StoredFile) -> Value {
    let kind = if file.mode == "120000" { "symlink" } else { "file" };
    json!({
        "name": path.rsplit('/').next(), "path": path, "type": kind, "size": file.bytes.len(),
        "encoding": "base64", "content": STANDARD.encode(&file.bytes), "sha": file.blob,
    })
}

/// Commits a file. Gitea refuses it if the request names another blob than the branch has.
fn update_contents(
    state: &mut FakeForgeState,
    call: &ForgeCall,
    repository: &str,
    path: &str,
    login: &str,
) -> ForgeReply {
    let branch = call.text("branch");
    let tip = state.projects[repository].bare.tip(&branch).unwrap_or_default();
    let Some(file) = state.file(repository, &tip, path) else { return not_found() };
    if call.text("sha") != file.blob {
        let message =
            format!("sha does not match [given: {}, expected: {}]", call.text("sha"), file.blob);
        return ForgeReply::refused(422, &message);
    }
    let bytes = STANDARD.decode(call.text("content")).unwrap_or_default();
    match state.commit_file(repository, login, (&branch, path, bytes), &call.text("message")) {
        None => ForgeReply::refused(403, "user should have a permission to write to this branch"),
        Some(commit) => match state.file(repository, &commit, path) {
            None => not_found(),
            Some(file) => {
                let content = contents_json(path, &file);
                ForgeReply::new(200, json!({ "content": content, "commit": { "sha": commit } }))
            }
        },
    }
}

fn not_found() -> ForgeReply {
    ForgeReply::refused(404, "The target couldn't be found.")
}

fn with_change<T>(
    state: &FakeForgeState,
    repository: &str,
    number: &str,
    run: impl FnOnce(&ProposedChange) -> T,
) -> Option<T> {
    state.change(repository, number.parse().ok()?).map(run)
}

fn delete_comment(
    state: &mut FakeForgeState,
    repository: &str,
    id: &str,
    login: &str,
) -> ForgeReply {
    let project = state.projects.get_mut(repository).unwrap();
    for change in &mut project.changes {
        let is_wanted = |comment: &ForgeComment| comment.id.to_string() == id;
        let Some(index) = change.comments.iter().position(is_wanted) else { continue };
        if change.comments[index].author != login {
            return ForgeReply::refused(403, "user is not the poster of the comment");
        }
        change.comments.remove(index);
        return ForgeReply::new(204, Value::Null);
    }
    not_found()
}

fn edit_comment(
    state: &mut FakeForgeState,
    call: &ForgeCall,
    repository: &str,
    id: &str,
    login: &str,
) -> ForgeReply {
    let project = state.projects.get_mut(repository).unwrap();
    let found = project.changes.iter_mut().find_map(|change| {
        let number = change.number;
        let comment = change.comments.iter_mut().find(|comment| comment.id.to_string() == id)?;
        Some((number, comment))
    });
    match found {
        None => not_found(),
        Some((_, comment)) if comment.author != login => {
            ForgeReply::refused(403, "user is not the poster of the comment")
        }
        Some((number, comment)) => {
            comment.body = call.text("body");
            let comment = comment.clone();
            ForgeReply::new(200, comment_json(state, &comment, (repository, number), call))
        }
    }
}

fn pull_answer(
    state: &mut FakeForgeState,
    call: &ForgeCall,
    (repository, number): (&str, u64),
    rest: &[&str],
    login: &str,
) -> ForgeReply {
    let list = |values: Vec<Value>| call.page(values, "limit", PAGE_MAX);
    let change = state.change(repository, number).unwrap();
    match (call.method.as_str(), rest) {
        ("GET", []) => ForgeReply::new(200, pull_json(state, repository, change, call)),
        ("GET", ["files"]) => list(state.diff(repository, number).iter().map(file_json).collect()),
        ("GET", ["reviews"]) => {
            let reviews = change.reviews.iter();
            list(reviews.map(|review| review_json(state, change, review, call)).collect())
        }
        ("GET", ["reviews", id, "comments"]) => {
            let threads = change.threads.iter().filter(|thread| thread.review.to_string() == **id);
            let at = (repository, number);
            let comments =
                threads.flat_map(|thread| thread.comments.iter().map(move |it| (thread, it)));
            let comments = comments.map(|(thread, it)| line_comment(state, thread, it, at, call));
            ForgeReply::whole_list(comments.collect())
        }
        ("POST", ["reviews"]) => new_review(state, call, (repository, number), login),
        ("POST", ["reviews", id, "dismissals"]) => {
            let change = state.change_mut(repository, number).unwrap();
            let review = change.reviews.iter_mut().find(|review| review.id.to_string() == **id);
            let Some(review) = review else { return not_found() };
            review.is_dismissed = true;
            let review = review.clone();
            change.approvals.remove(&review.author);
            let change = state.change(repository, number).unwrap();
            ForgeReply::new(200, review_json(state, change, &review, call))
        }
        (_, _) => unknown(state, call),
    }
}

/// Makes a review, with a thread per comment. Gitea refuses the whole review if a comment is on a
/// line outside the diff.
fn new_review(
    state: &mut FakeForgeState,
    call: &ForgeCall,
    (repository, number): (&str, u64),
    login: &str,
) -> ForgeReply {
    let event = call.text("event");
    let review_state = match event.as_str() {
        "APPROVED" | "REQUEST_CHANGES" | "COMMENT" | "PENDING" => event.clone(),
        _ => return ForgeReply::refused(422, "invalid review event"),
    };
    let change = state.change(repository, number).unwrap();
    if change.request.author == login && ["APPROVED", "REQUEST_CHANGES"].contains(&event.as_str()) {
        return ForgeReply::refused(422, "reject your own pull is not allowed");
    }
    let head = match call.text("commit_id").as_str() {
        "" => change.refs().head.clone(),
        commit => commit.to_owned(),
    };
    let files = state.diff(repository, number);
    let line =
        |value: &Value| value.as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
    let comments = call.body["comments"].as_array().cloned().unwrap_or_default();
    for comment in &comments {
        let (old, new) = (line(&comment["old_position"]), line(&comment["new_position"]));
        let file = files.iter().find(|file| comment["path"] == file.new_path.as_str());
        let is_shown = |file: &FileDiff| {
            file.lines
                .iter()
                .any(|shown| (new > 0 && shown.new == new) || (old > 0 && shown.old == old))
        };
        if !file.is_some_and(is_shown) {
            return ForgeReply::refused(422, "line not found in the diff");
        }
    }
    let review = Review {
        id: state.next_id(),
        author: login.to_owned(),
        state: review_state,
        body: call.text("body"),
        commit: head,
        is_dismissed: false,
    };
    for comment in &comments {
        let path = comment["path"].as_str().unwrap_or_default();
        let (old, new) = (line(&comment["old_position"]), line(&comment["new_position"]));
        let body = comment["body"].as_str().unwrap_or_default();
        let id = state.add_thread(repository, number, login, (path, new), body);
        let change = state.change_mut(repository, number).unwrap();
        let thread = change.threads.iter_mut().find(|thread| thread.id == id).unwrap();
        thread.review = review.id;
        thread.old_line = (old > 0).then_some(old);
        thread.new_line = (new > 0).then_some(new);
        thread.sent_position = json!(hunk(&files, path, old, new));
    }
    let change = state.change_mut(repository, number).unwrap();
    if review.state == "APPROVED" {
        change.approvals.insert(login.to_owned());
    }
    change.reviews.push(review.clone());
    let change = state.change(repository, number).unwrap();
    ForgeReply::new(200, review_json(state, change, &review, call))
}

/// The hunk up to a line, as Gitea stores it with a comment.
fn hunk(files: &[FileDiff], path: &str, old: u32, new: u32) -> String {
    let Some(file) = files.iter().find(|file| file.new_path == path) else { return String::new() };
    let mut shown = file.lines.iter();
    let mut text = String::new();
    for line in file.text.lines() {
        text.push_str(line);
        text.push('\n');
        if line.starts_with("@@") || line.starts_with('\\') {
            continue;
        }
        let Some(at) = shown.next() else { break };
        if (new > 0 && at.new == new) || (old > 0 && at.old == old) {
            break;
        }
    }
    text
}

fn user(state: &FakeForgeState, login: &str, call: &ForgeCall) -> Value {
    let id = state.users.get(login).copied().unwrap_or_default();
    json!({
        "id": id, "login": login, "full_name": "", "email": format!("{login}@noreply.localhost"),
        "avatar_url": "", "html_url": format!("{}/{login}", call.web), "username": login,
    })
}

fn repository_json(project: &Project, call: &ForgeCall) -> Value {
    json!({
        "id": project.id, "full_name": project.path, "name": project.path.rsplit('/').next(),
        "private": project.is_private, "default_branch": "main", "fork": project.parent.is_some(),
        "html_url": format!("{}/{}", call.web, project.path),
        "clone_url": format!("{}/{}.git", call.web, project.path),
    })
}

fn pull_json(
    state: &FakeForgeState,
    repository: &str,
    change: &ProposedChange,
    call: &ForgeCall,
) -> Value {
    let refs = change.refs();
    let end = |path: &str, branch: &str, sha: &str| {
        let project = &state.projects[path];
        json!({
            "label": branch, "ref": branch, "sha": sha, "repo_id": project.id,
            "repo": repository_json(project, call),
        })
    };
    let labels: Vec<Value> =
        change.request.labels.iter().map(|name| json!({ "id": 1, "name": name })).collect();
    json!({
        "id": change.id, "number": change.number, "title": change.request.title,
        "body": change.request.body, "state": if change.is_open { "open" } else { "closed" },
        "draft": change.request.draft, "merged": false,
        "user": user(state, &change.request.author, call), "labels": labels,
        "head": end(&change.source, &change.request.head, &refs.head),
        "base": end(repository, &change.request.base, &refs.start), "merge_base": refs.base,
        "html_url": format!("{}/{repository}/pulls/{}", call.web, change.number),
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T03:04:05Z",
    })
}

fn file_json(file: &FileDiff) -> Value {
    let status = match (file.is_new, file.is_deleted, file.is_renamed) {
        (true, _, _) => "added",
        (_, true, _) => "deleted",
        (_, _, true) => "renamed",
        (_, _, _) => "changed",
    };
    let mut value = json!({ "filename": file.new_path, "status": status });
    if file.is_renamed {
        value["previous_filename"] = json!(file.old_path);
    }
    value
}

fn comment_json(
    state: &FakeForgeState,
    comment: &ForgeComment,
    (repository, number): (&str, u64),
    call: &ForgeCall,
) -> Value {
    let id = comment.id;
    json!({
        "id": id, "user": user(state, &comment.author, call), "body": comment.body,
        "created_at": comment.created_at, "updated_at": comment.created_at,
        "html_url": format!("{}/{repository}/pulls/{number}#issuecomment-{id}", call.web),
    })
}

fn review_json(
    state: &FakeForgeState,
    change: &ProposedChange,
    review: &Review,
    call: &ForgeCall,
) -> Value {
    let count = change.threads.iter().filter(|thread| thread.review == review.id);
    let count: usize = count.map(|thread| thread.comments.len()).sum();
    json!({
        "id": review.id, "user": user(state, &review.author, call), "state": review.state,
        "body": review.body, "commit_id": review.commit, "dismissed": review.is_dismissed,
        "stale": review.commit != change.refs().head, "official": true, "comments_count": count,
        "submitted_at": "2026-01-01T00:00:00Z",
    })
}

fn line_comment(
    state: &FakeForgeState,
    thread: &ForgeThread,
    comment: &ForgeComment,
    at: (&str, u64),
    call: &ForgeCall,
) -> Value {
    let mut value = comment_json(state, comment, at, call);
    value["path"] = json!(thread.path);
    value["position"] = json!(thread.new_line.unwrap_or(0));
    value["original_position"] =
        json!(thread.old_line.filter(|_| thread.new_line.is_none()).unwrap_or(0));
    value["diff_hunk"] = json!(thread.sent_position.as_str().unwrap_or_default());
    value["commit_id"] = json!(thread.head);
    value["pull_request_review_id"] = json!(thread.review);
    let resolver = thread.resolved_by.as_ref();
    value["resolver"] = resolver.map_or(Value::Null, |login| user(state, login, call));
    value
}

fn status_json(state: &FakeForgeState, status: &Status, call: &ForgeCall) -> Value {
    json!({
        "id": status.id, "status": status.state, "context": status.name,
        "description": status.description, "target_url": "",
        "creator": user(state, &status.author, call), "created_at": "2026-01-01T00:00:00Z",
    })
}
