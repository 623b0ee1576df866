//! GitLab's API v4, as far as crh and client libraries use it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::DialectRules;
use super::diff::FileDiff;
use super::server::{ForgeCall, ForgeReply};
use super::state::{
    FakeForgeState, ForgeComment, ForgeThread, Pipeline, Project, ProposedChange, Status,
};

/// Most entries of a page.
const PAGE_MAX: usize = 100;

/// Message for a position that is not in the diff.
const BAD_LINE: &str =
    "400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}";

pub(super) const RULES: DialectRules = DialectRules {
    version: "17.5.1-ee",
    api_path: "/api/v4/",
    change_path: "-/merge_requests",
    ref_path: "merge-requests",
    server_variable: "GITLAB_HOST",
    token_variable: "GITLAB_TOKEN",
    bad_line: (400, BAD_LINE),
    answer,
};

fn answer(state: &mut FakeForgeState, call: &ForgeCall) -> ForgeReply {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    let method = call.method.as_str();
    if call.login.is_none() && !(call.is_job && method == "GET") {
        return ForgeReply::refused(401, "401 Unauthorized");
    }
    match (method, path.as_slice()) {
        ("GET", ["version"]) if call.is_job => ForgeReply::refused(401, "401 Unauthorized"),
        ("GET", ["version"]) => {
            ForgeReply::new(200, json!({ "version": state.version, "revision": "0123456" }))
        }
        ("GET", ["user"]) => match &call.login {
            Some(login) => ForgeReply::new(200, user(state, login, call)),
            None => ForgeReply::refused(401, "401 Unauthorized"),
        },
        (_, ["projects", project, rest @ ..]) => {
            let found = state
                .projects
                .values()
                .find(|found| found.path == *project || found.id.to_string() == *project);
            // A hidden project looks like a missing one.
            match found.filter(|found| found.can_read(call.login.as_deref())) {
                None => ForgeReply::refused(404, "404 Project Not Found"),
                Some(found) => {
                    let project = found.path.clone();
                    project_answer(state, call, &project, rest)
                }
            }
        }
        (_, _) => unknown(state, call),
    }
}

fn unknown(state: &mut FakeForgeState, call: &ForgeCall) -> ForgeReply {
    state.surprises.push(format!("{} /{}", call.method, call.path.join("/")));
    ForgeReply::refused(404, "404 Not Found")
}

#[expect(clippy::too_many_lines, reason = "one arm per operation")]
fn project_answer(
    state: &mut FakeForgeState,
    call: &ForgeCall,
    project: &str,
    rest: &[&str],
) -> ForgeReply {
    match (call.method.as_str(), rest) {
        ("GET", []) => ForgeReply::new(200, project_json(state, &state.projects[project], call)),
        ("GET", ["members", "all"]) => {
            let query = call.query("query").unwrap_or_default().to_ascii_lowercase();
            let members = state.projects[project].members.iter();
            let members = members.filter(|(login, _)| login.to_ascii_lowercase().contains(&query));
            let members = members.map(|(login, level)| member(state, login, *level, call));
            call.page(members.collect(), "per_page", PAGE_MAX)
        }
        ("GET", ["pipelines", id, "jobs"]) => {
            let changes = state.projects[project].changes.iter();
            let mut pipelines = changes.flat_map(|change| &change.pipelines);
            match pipelines.find(|pipeline| pipeline.id.to_string() == **id) {
                Some(found) => {
                    let jobs = (1..).zip(&found.jobs);
                    let jobs = jobs
                        .map(|(number, job)| job_json(found.id * 100 + number, job, project, call));
                    call.page(jobs.collect(), "per_page", PAGE_MAX)
                }
                None => ForgeReply::refused(404, "404 Not found"),
            }
        }
        ("GET", ["repository", "files", path]) => {
            let commit = call.query("ref").unwrap_or_default();
            let Some(file) = state.file(project, commit, path) else {
                return ForgeReply::refused(404, "404 File Not Found");
            };
            let reply = json!({
                "file_name": path.rsplit('/').next(), "file_path": path, "size": file.bytes.len(),
                "encoding": "base64", "content": STANDARD.encode(&file.bytes), "ref": commit,
                "blob_id": file.blob, "commit_id": commit, "last_commit_id": file.last_commit,
                "execute_filemode": file.mode == "100755",
            });
            ForgeReply::new(200, reply)
        }
        ("GET", ["repository", "tree"]) => {
            let (commit, folder) = (call.query("ref").unwrap_or_default(), call.query("path"));
            let folder = folder.unwrap_or_default();
            let entries = state.projects[project].bare.tree(&format!("{commit}:{folder}"));
            if entries.is_empty() {
                return ForgeReply::refused(404, "404 invalid revision or path Not Found");
            }
            let entries = entries.into_iter().map(|(mode, kind, id, name)| {
                let path =
                    if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                json!({ "id": id, "name": name, "type": kind, "path": path, "mode": mode })
            });
            call.page(entries.collect(), "per_page", PAGE_MAX)
        }
        ("GET", ["repository", "commits", sha]) => {
            match state.projects[project].bare.object_type(sha).as_deref() {
                Some("commit") => ForgeReply::new(200, commit_json(state, project, sha)),
                Some(_) | None => ForgeReply::refused(404, "404 Commit Not Found"),
            }
        }
        ("POST", ["repository", "commits"]) => new_commit(state, call, project),
        ("GET", ["members", "all", id]) => {
            let found = &state.projects[project];
            let found =
                found.members.iter().find(|(login, _)| state.users[*login].to_string() == **id);
            match found {
                Some((login, level)) => ForgeReply::new(200, member(state, login, *level, call)),
                None => ForgeReply::refused(404, "404 Not found"),
            }
        }
        ("GET", ["repository", "commits", sha, "statuses"]) => {
            let statuses = state.projects[project].statuses.iter();
            let is_wanted = |status: &&Status| {
                status.sha == **sha && call.query("name").is_none_or(|name| name == status.name)
            };
            let statuses =
                statuses.filter(is_wanted).map(|status| status_json(state, status, call));
            call.page(statuses.collect(), "per_page", PAGE_MAX)
        }
        ("POST", ["statuses", sha]) => set_status(state, call, project, sha),
        ("GET", ["merge_requests"]) => {
            let changes = state.projects[project].changes.iter();
            let is_wanted = |change: &&ProposedChange| {
                call.query("state").is_none_or(|state| (state == "opened") == change.is_open)
                    && call.query("source_branch").is_none_or(|name| name == change.request.head)
            };
            let changes = changes.filter(is_wanted).rev();
            let changes = changes.map(|change| merge_request(state, project, change, call));
            call.page(changes.collect(), "per_page", PAGE_MAX)
        }
        (_, ["merge_requests", number, rest @ ..]) => {
            let number = number.parse().unwrap_or_default();
            match state.change(project, number).is_some() {
                true => merge_request_answer(state, call, (project, number), rest),
                false => ForgeReply::refused(404, "404 Not found"),
            }
        }
        (_, _) => unknown(state, call),
    }
}

#[expect(clippy::too_many_lines, reason = "one arm per operation")]
fn merge_request_answer(
    state: &mut FakeForgeState,
    call: &ForgeCall,
    (project, number): (&str, u64),
    rest: &[&str],
) -> ForgeReply {
    let login = call.login.clone().unwrap_or_default();
    // GitLab would run a line such as `/merge`, even in some code blocks: the pattern by which it
    // skips them is easy to deceive.
    let is_quick_action = |line: &&str| {
        let rest = line.strip_prefix('/').unwrap_or_default();
        rest.starts_with(|char: char| char.is_ascii_alphabetic())
    };
    let body = call.text("body");
    state.surprises.extend(body.lines().find(is_quick_action).map(str::to_owned));
    let list = |values: Vec<Value>| call.page(values, "per_page", PAGE_MAX);
    let change = state.change(project, number).unwrap();
    match (call.method.as_str(), rest) {
        ("GET", []) => ForgeReply::new(200, merge_request(state, project, change, call)),
        ("GET", ["diffs"]) => list(state.diff(project, number).iter().map(file_json).collect()),
        ("GET", ["versions"]) => list(change.versions.iter().rev().map(|refs| json!({
            "id": refs.id, "head_commit_sha": refs.head, "base_commit_sha": refs.base,
            "start_commit_sha": refs.start, "created_at": "2026-01-01T00:00:00Z", "state": "collected",
        })).collect()),
        ("GET", ["discussions"]) => discussions(state, change, call),
        ("GET", ["notes"]) => {
            let shown = |comment: &ForgeComment| note(state, comment, number, call);
            call.page_of(&change.comments, "per_page", PAGE_MAX, shown)
        }
        ("GET", ["approvals"]) => ForgeReply::new(200, approvals(state, change, call)),
        ("GET", ["pipelines"]) => list(change.pipelines.iter().rev().map(|pipeline| json!({
            "id": pipeline.id, "iid": 1, "project_id": state.projects[project].id, "sha": pipeline.sha,
            "ref": format!("refs/merge-requests/{number}/head"), "source": "merge_request_event",
            "status": pipeline_status(pipeline), "created_at": "2026-01-01T00:00:00Z",
            "web_url": format!("{}/{project}/-/pipelines/{}", call.web, pipeline.id),
        })).collect()),
        ("GET", ["closes_issues"]) => list(change.closes.iter().map(|issue| json!({
            "id": issue.number + 9_000, "iid": issue.number, "project_id": state.projects[project].id,
            "title": issue.title, "description": issue.body, "state": "opened",
            "references": {
                "short": format!("#{}", issue.number), "relative": format!("#{}", issue.number),
                "full": format!("{project}#{}", issue.number),
            },
            "web_url": format!("{}/{project}/-/issues/{}", call.web, issue.number),
        })).collect()),
        ("POST", ["notes", id, "award_emoji"]) => {
            let (id, name) = (id.parse().unwrap_or_default(), call.text("name"));
            let mut notes = change.comments.iter().chain(change.threads.iter().flat_map(|it| &it.comments));
            if !notes.any(|note| note.id == id) || state.reactions.contains(&(id, name.clone())) {
                return ForgeReply::refused(404, "404 Award Emoji Name has already been taken Not Found");
            }
            state.reactions.push((id, name.clone()));
            let by = user(state, &login, call);
            let reaction = json!({ "id": id, "name": name, "user": by, "awardable_id": id, "awardable_type": "Note" });
            ForgeReply::new(201, reaction)
        }
        ("POST", ["notes"]) => {
            if call.text("body").is_empty() {
                return ForgeReply::new(400, json!({ "error": "body is missing" }));
            }
            let id = state.add_comment(project, number, &login, &call.text("body"));
            let change = state.change(project, number).unwrap();
            let comment = change.comments.iter().find(|comment| comment.id == id).unwrap();
            ForgeReply::new(201, note(state, comment, number, call))
        }
        ("PUT", ["notes", id]) => {
            let body = call.text("body");
            let change = state.change_mut(project, number).unwrap();
            let comment = change.comments.iter_mut().find(|comment| comment.id.to_string() == **id);
            match comment {
                None => ForgeReply::refused(404, "404 Note Not Found"),
                Some(comment) if comment.author != login => {
                    ForgeReply::refused(403, "403 Forbidden")
                }
                Some(comment) => {
                    comment.body = body;
                    let comment = comment.clone();
                    ForgeReply::new(200, note(state, &comment, number, call))
                }
            }
        }
        ("DELETE", ["notes", id]) => {
            let change = state.change_mut(project, number).unwrap();
            match change.comments.iter().position(|comment| comment.id.to_string() == **id) {
                None => ForgeReply::refused(404, "404 Note Not Found"),
                Some(index) if change.comments[index].author != login => {
                    ForgeReply::refused(403, "403 Forbidden")
                }
                Some(index) => {
                    change.comments.remove(index);
                    ForgeReply::new(204, Value::Null)
                }
            }
        }
        ("POST", ["discussions"]) => new_discussion(state, call, (project, number), &login),
        ("POST", ["discussions", id, "notes"]) => {
            state.add_reply(project, number, id, &login, &call.text("body"));
            let change = state.change(project, number).unwrap();
            let thread = change.threads.iter().find(|thread| thread.id == **id).unwrap();
            let comment = thread.comments.last().unwrap();
            ForgeReply::new(201, note(state, comment, number, call))
        }
        ("PUT", ["discussions", id]) => {
            let resolved = call.body["resolved"] == true || call.body["resolved"] == "true";
            let change = state.change_mut(project, number).unwrap();
            let Some(thread) = change.threads.iter_mut().find(|thread| thread.id == **id) else {
                return ForgeReply::refused(404, "404 Discussion Not Found");
            };
            thread.resolved = resolved;
            thread.resolved_by = resolved.then(|| login.clone());
            let thread = thread.clone();
            let change = state.change(project, number).unwrap();
            ForgeReply::new(200, discussion(state, &thread, change, call))
        }
        ("POST", ["approve"]) => {
            let sha = call.text("sha");
            if !sha.is_empty() && sha != change.refs().head {
                return ForgeReply::refused(409, "SHA does not match HEAD of source branch");
            }
            if change.request.author == login {
                return ForgeReply::refused(401, "401 Unauthorized");
            }
            state.change_mut(project, number).unwrap().approvals.insert(login);
            let change = state.change(project, number).unwrap();
            ForgeReply::new(201, approvals(state, change, call))
        }
        ("POST", ["unapprove"]) => {
            match state.change_mut(project, number).unwrap().approvals.remove(&login) {
                true => {
                    let change = state.change(project, number).unwrap();
                    ForgeReply::new(201, approvals(state, change, call))
                }
                false => ForgeReply::refused(404, "404 Not Found"),
            }
        }
        (_, _) => unknown(state, call),
    }
}

/// Makes a thread on lines. GitLab needs all three commits of a version, and a line that the diff
/// of that version shows. The fake accepts only the newest version.
fn new_discussion(
    state: &mut FakeForgeState,
    call: &ForgeCall,
    (project, number): (&str, u64),
    login: &str,
) -> ForgeReply {
    let position = call.body["position"].clone();
    let text = |name: &str| position[name].as_str().unwrap_or_default().to_owned();
    for name in ["base_sha", "start_sha", "head_sha", "position_type"] {
        if text(name).is_empty() {
            let error = format!("position[{name}] is missing");
            return ForgeReply::new(400, json!({ "error": error }));
        }
    }
    let refs = state.change(project, number).unwrap().refs().clone();
    let is_current = [text("base_sha"), text("start_sha"), text("head_sha")]
        == [refs.base, refs.start, refs.head.clone()];
    let line = |name: &str| position[name].as_u64().and_then(|line| u32::try_from(line).ok());
    let (old, new) = (line("old_line").unwrap_or(0), line("new_line").unwrap_or(0));
    let files = state.diff(project, number);
    let file = files
        .iter()
        .find(|file| file.new_path == text("new_path") && file.old_path == text("old_path"));
    let has_line =
        |file: &&FileDiff| file.lines.iter().any(|shown| (shown.old, shown.new) == (old, new));
    let Some(file) = file.filter(|file| is_current && has_line(file)) else {
        return ForgeReply::refused(400, BAD_LINE);
    };
    let (path, old_path) = (file.new_path.clone(), file.old_path.clone());
    let id = state.add_thread(project, number, login, (&path, new), &call.text("body"));
    let change = state.change_mut(project, number).unwrap();
    let thread = change.threads.iter_mut().find(|thread| thread.id == id).unwrap();
    (thread.old_path, thread.sent_position) = (old_path, position);
    thread.old_line = (old > 0).then_some(old);
    thread.new_line = (new > 0).then_some(new);
    let thread = thread.clone();
    let change = state.change(project, number).unwrap();
    ForgeReply::new(201, discussion(state, &thread, change, call))
}

/// Commits one updated file. GitLab refuses it if the request names another last commit of the file
/// than the branch has.
fn new_commit(state: &mut FakeForgeState, call: &ForgeCall, project: &str) -> ForgeReply {
    let (branch, login) = (call.text("branch"), call.login.clone().unwrap_or_default());
    let action = &call.body["actions"][0];
    let text = |name: &str| action[name].as_str().unwrap_or_default().to_owned();
    let tip = state.projects[project].bare.tip(&branch).unwrap_or_default();
    let path = text("file_path");
    let file = state.file(project, &tip, &path).filter(|_| text("action") == "update");
    let Some(file) = file else {
        return ForgeReply::refused(400, "A file with this name doesn't exist");
    };
    if action["last_commit_id"].as_str().is_some_and(|last| last != file.last_commit) {
        let message =
            "You are attempting to update a file that has changed since you started editing it.";
        return ForgeReply::refused(400, message);
    }
    let bytes = STANDARD.decode(text("content")).unwrap_or_default();
    let message = call.text("commit_message");
    match state.commit_file(project, &login, (&branch, &path, bytes), &message) {
        Some(commit) => ForgeReply::new(201, commit_json(state, project, &commit)),
        None => ForgeReply::refused(403, "You are not allowed to push into this branch"),
    }
}

fn commit_json(state: &FakeForgeState, project: &str, sha: &str) -> Value {
    let (_, parents, message) = state.projects[project].bare.commit_parts(sha);
    let title = message.lines().next().unwrap_or_default();
    json!({
        "id": sha, "short_id": &sha[..8], "title": title, "message": message,
        "parent_ids": parents, "author_name": "crh", "created_at": "2026-01-01T00:00:00Z",
    })
}

/// Sets a commit status. GitLab refuses the same state with the same description.
fn set_status(
    state: &mut FakeForgeState,
    call: &ForgeCall,
    project: &str,
    sha: &str,
) -> ForgeReply {
    let id = state.next_id();
    let login = call.login.clone().unwrap_or_default();
    let name = call.body["name"].as_str().unwrap_or("default").to_owned();
    let found = state.projects.get_mut(project).unwrap();
    let last = found.statuses.iter().rfind(|status| status.sha == sha && status.name == name);
    let wanted = call.text("state");
    if !["pending", "running", "success", "failed", "canceled", "skipped"]
        .contains(&wanted.as_str())
    {
        return ForgeReply::new(400, json!({ "error": "state does not have a valid value" }));
    }
    if last.is_some_and(|last| last.state == wanted && last.description == call.text("description"))
    {
        let message = format!("Cannot transition status via :{wanted} from :{wanted}");
        return ForgeReply::refused(400, &message);
    }
    let status = Status {
        id,
        sha: sha.to_owned(),
        state: wanted,
        name,
        description: call.text("description"),
        author: login,
    };
    found.statuses.push(status.clone());
    ForgeReply::new(201, status_json(state, &status, call))
}

fn user(state: &FakeForgeState, login: &str, call: &ForgeCall) -> Value {
    let id = state.users.get(login).copied().unwrap_or_default();
    json!({
        "id": id, "username": login, "name": login, "state": "active", "locked": false,
        "avatar_url": null, "web_url": format!("{}/{login}", call.web),
    })
}

fn member(state: &FakeForgeState, login: &str, level: u32, call: &ForgeCall) -> Value {
    let mut member = user(state, login, call);
    member["access_level"] = json!(level);
    member
}

/// State of a pipeline: the worst state of its jobs.
fn pipeline_status(pipeline: &Pipeline) -> &str {
    let states = ["failed", "canceled", "running", "pending"];
    let has = |state: &&&str| pipeline.jobs.iter().any(|(_, job)| job == **state);
    states.iter().find(has).copied().unwrap_or("success")
}

fn job_json(id: u64, (name, status): &(String, String), project: &str, call: &ForgeCall) -> Value {
    let reason = (status == "failed").then_some("script_failure");
    json!({
        "id": id, "name": name, "status": status, "stage": "test", "allow_failure": false,
        "failure_reason": reason, "created_at": "2026-01-01T00:00:00Z",
        "web_url": format!("{}/{project}/-/jobs/{id}", call.web),
    })
}

fn project_json(state: &FakeForgeState, project: &Project, call: &ForgeCall) -> Value {
    let parent = project.parent.as_ref().and_then(|parent| state.projects.get(parent));
    let mut value = json!({
        "id": project.id, "path_with_namespace": project.path,
        "name": project.path.rsplit('/').next(), "default_branch": "main",
        "visibility": if project.is_private { "private" } else { "public" },
        "web_url": format!("{}/{}", call.web, project.path),
        "http_url_to_repo": format!("{}/{}.git", call.web, project.path),
    });
    if let Some(parent) = parent {
        value["forked_from_project"] =
            json!({ "id": parent.id, "path_with_namespace": parent.path });
    }
    value
}

fn merge_request(
    state: &FakeForgeState,
    project: &str,
    change: &ProposedChange,
    call: &ForgeCall,
) -> Value {
    let refs = change.refs();
    let id = |path: &str| state.projects[path].id;
    json!({
        "id": change.id, "iid": change.number, "project_id": id(project),
        "title": change.request.title, "description": change.request.body,
        "state": if change.is_open { "opened" } else { "merged" },
        "draft": change.request.draft, "author": user(state, &change.request.author, call),
        "labels": change.request.labels, "source_branch": change.request.head,
        "target_branch": change.request.base, "source_project_id": id(&change.source),
        "target_project_id": id(project), "sha": refs.head,
        "diff_refs": { "base_sha": refs.base, "start_sha": refs.start, "head_sha": refs.head },
        "references": {
            "short": format!("!{}", change.number), "relative": format!("!{}", change.number),
            "full": format!("{project}!{}", change.number),
        },
        "web_url": format!("{}/{project}/-/merge_requests/{}", call.web, change.number),
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T03:04:05.678Z",
    })
}

fn file_json(file: &FileDiff) -> Value {
    json!({
        "old_path": file.old_path, "new_path": file.new_path, "a_mode": "100644", "b_mode": "100644",
        "diff": file.text, "new_file": file.is_new, "renamed_file": file.is_renamed,
        "deleted_file": file.is_deleted, "generated_file": false,
    })
}

fn discussions(state: &FakeForgeState, change: &ProposedChange, call: &ForgeCall) -> ForgeReply {
    let comments = change.comments.iter().map(|comment| (comment, None));
    let threads = change.threads.iter().map(|thread| (&thread.comments[0], Some(thread)));
    let mut all: Vec<(&ForgeComment, Option<&ForgeThread>)> = comments.chain(threads).collect();
    all.sort_by_key(|(first, _)| first.id);
    call.page_of(&all, "per_page", PAGE_MAX, |(first, thread)| match thread {
        Some(thread) => discussion(state, thread, change, call),
        None => {
            let note = note(state, first, change.number, call);
            json!({ "id": format!("{:040x}", first.id), "individual_note": true, "notes": [note] })
        }
    })
}

fn note(state: &FakeForgeState, comment: &ForgeComment, number: u64, call: &ForgeCall) -> Value {
    json!({
        "id": comment.id, "type": null, "body": comment.body,
        "author": user(state, &comment.author, call), "created_at": comment.created_at,
        "updated_at": comment.created_at, "system": false, "noteable_iid": number,
        "noteable_type": "MergeRequest", "resolvable": false, "confidential": false,
        "internal": false,
    })
}

fn discussion(
    state: &FakeForgeState,
    thread: &ForgeThread,
    change: &ProposedChange,
    call: &ForgeCall,
) -> Value {
    let refs = change.versions.iter().find(|refs| refs.head == thread.head).unwrap();
    let notes = thread.comments.iter().map(|comment| {
        let mut note = note(state, comment, change.number, call);
        note["type"] = json!("DiffNote");
        note["resolvable"] = json!(true);
        note["resolved"] = json!(thread.resolved);
        let resolver = thread.resolved_by.as_ref();
        note["resolved_by"] = resolver.map_or(Value::Null, |login| user(state, login, call));
        note["position"] = json!({
            "base_sha": refs.base, "start_sha": refs.start, "head_sha": refs.head,
            "position_type": "text", "old_path": thread.old_path, "new_path": thread.path,
            "old_line": thread.old_line, "new_line": thread.new_line,
            "line_range": thread.sent_position["line_range"],
        });
        note
    });
    let notes: Vec<Value> = notes.collect();
    json!({ "id": thread.id, "individual_note": false, "notes": notes })
}

fn approvals(state: &FakeForgeState, change: &ProposedChange, call: &ForgeCall) -> Value {
    let approvers = change.approvals.iter();
    let approvers: Vec<Value> =
        approvers.map(|login| json!({ "user": user(state, login, call) })).collect();
    json!({ "iid": change.number, "approved": !approvers.is_empty(), "approved_by": approvers })
}

fn status_json(state: &FakeForgeState, status: &Status, call: &ForgeCall) -> Value {
    json!({
        "id": status.id, "sha": status.sha, "status": status.state, "name": status.name,
        "description": status.description, "author": user(state, &status.author, call),
        "created_at": "2026-01-01T00:00:00Z",
    })
}
