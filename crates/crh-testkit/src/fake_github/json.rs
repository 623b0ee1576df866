//! REST replies, complete according to GitHub's OpenAPI description.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::diff::{FileDiff, Side};
use super::git::FakeCommit;
use super::state::{
    App, CheckRun, Comment, FakeGitHubState, Issue, PENDING, Permission, PullRequest, Repository,
    Review, Status, Thread,
};
use super::time::format_time;

/// Account that GitHub shows in place of deleted accounts.
const GHOST: (&str, u64) = ("ghost", 10_137);

/// The state, with the server address that links start with.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) state: &'a FakeGitHubState,
    pub(super) server: &'a str,
}

impl View<'_> {
    pub(super) fn api(&self) -> String {
        format!("{}/api/v3", self.server)
    }

    pub(super) fn api_of(&self, repository: &Repository) -> String {
        format!("{}/repos/{}", self.api(), repository.full_name())
    }

    pub(super) fn html_of(&self, repository: &Repository) -> String {
        format!("{}/{}", self.server, repository.full_name())
    }

    pub(super) fn pull_url(&self, repository: &Repository, number: u64) -> String {
        format!("{}/pull/{number}", self.html_of(repository))
    }

    /// Null for a deleted account.
    pub(super) fn user(&self, login: &str) -> Value {
        match self.state.account(login) {
            Some(account) => {
                self.account(login, account.id, if account.bot { "Bot" } else { "User" })
            }
            None => Value::Null,
        }
    }

    /// The author. GitHub shows `ghost` for deleted accounts.
    fn author(&self, login: &str) -> Value {
        let user = self.user(login);
        if user.is_null() { self.account(GHOST.0, GHOST.1, "User") } else { user }
    }

    fn account(&self, login: &str, id: u64, kind: &str) -> Value {
        let url = format!("{}/users/{login}", self.api());
        let mut user = json!({
            "login": login, "id": id, "node_id": format!("U_{id}"),
            "avatar_url": format!("{}/avatars/{id}", self.server), "gravatar_id": "",
            "url": url, "html_url": format!("{}/{login}", self.server),
            "following_url": format!("{url}/following{{/other_user}}"),
            "gists_url": format!("{url}/gists{{/gist_id}}"),
            "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
            "subscriptions_url": format!("{url}/subscriptions"),
            "organizations_url": format!("{url}/orgs"),
            "events_url": format!("{url}/events{{/privacy}}"),
            "type": kind, "site_admin": false,
        });
        for name in ["followers", "repos", "received_events"] {
            user[format!("{name}_url")] = json!(format!("{url}/{name}"));
        }
        user
    }

    /// The account of the token, with private fields.
    pub(super) fn private_user(&self, login: &str) -> Value {
        let mut user = self.user(login);
        for key in ["name", "company", "blog", "location", "email", "hireable", "bio"] {
            user[key] = Value::Null;
        }
        for key in [
            "public_repos",
            "public_gists",
            "followers",
            "following",
            "private_gists",
            "total_private_repos",
            "owned_private_repos",
            "disk_usage",
            "collaborators",
        ] {
            user[key] = json!(0);
        }
        user["created_at"] = json!(format_time(0));
        user["updated_at"] = json!(format_time(0));
        user["two_factor_authentication"] = json!(true);
        user
    }

    pub(super) fn repository(&self, repository: &Repository) -> Value {
        let (api, html) = (self.api_of(repository), self.html_of(repository));
        let mut value = json!({
            "id": repository.id, "node_id": format!("R_{}", repository.id),
            "name": repository.name, "full_name": repository.full_name(),
            "owner": self.user(&repository.owner), "private": repository.private,
            "html_url": html, "description": null, "fork": repository.fork_of.is_some(), "url": api,
            "default_branch": "main", "language": null, "license": null, "homepage": null,
            "mirror_url": null, "archived": false, "disabled": false, "topics": [],
            "visibility": if repository.private { "private" } else { "public" },
            "git_url": format!("git://{}.git", html.trim_start_matches("http://")),
            "ssh_url": format!("git@127.0.0.1:{}.git", repository.full_name()),
            "clone_url": format!("{html}.git"), "svn_url": html,
            "created_at": format_time(0), "updated_at": format_time(0), "pushed_at": format_time(0),
            "permissions": { "admin": false, "push": true, "pull": true },
        });
        for (name, end) in REPOSITORY_URLS {
            value[format!("{name}_url")] = json!(format!("{api}/{end}"));
        }
        for name in ["forks", "forks_count", "stargazers_count", "watchers", "watchers_count"] {
            value[name] = json!(0);
        }
        for name in ["size", "open_issues", "open_issues_count"] {
            value[name] = json!(0);
        }
        for name in ["issues", "projects", "wiki", "pages", "downloads", "discussions"] {
            value[format!("has_{name}")] = json!(true);
        }
        value["has_issues"] = json!(!repository.without_issues);
        value
    }

    /// A repository with all fields.
    pub(super) fn full_repository(&self, repository: &Repository) -> Value {
        let mut value = self.repository(repository);
        value["subscribers_count"] = json!(0);
        value["network_count"] = json!(0);
        let parent = repository.fork_of.and_then(|id| self.state.repository_by_id(id));
        if let Some(parent) = parent {
            value["parent"] = self.repository(parent);
            value["source"] = self.repository(parent);
        }
        value
    }

    fn end(&self, repository: Option<&Repository>, owner: &str, name: &str, sha: &str) -> Value {
        json!({
            "label": format!("{owner}:{name}"), "ref": name, "sha": sha, "user": self.user(owner),
            "repo": repository.map(|repository| self.repository(repository)),
        })
    }

    /// A pull request in a list.
    pub(super) fn simple_pull(&self, repository: &Repository, pull: &PullRequest) -> Value {
        let (api, number) = (self.api_of(repository), pull.number);
        let (url, issue) = (format!("{api}/pulls/{number}"), format!("{api}/issues/{number}"));
        let html = self.pull_url(repository, number);
        let statuses = format!("{api}/statuses/{}", pull.head_sha);
        let head = self.state.repository_by_id(pull.head_repository);
        let labels: Vec<Value> = pull.labels.iter().map(|name| self.label(&api, name)).collect();
        let one_comment = format!("{api}/pulls/comments{{/number}}");
        let mut value = json!({
            "url": url, "id": pull.id, "node_id": format!("PR_{}", pull.id), "html_url": html,
            "diff_url": format!("{html}.diff"), "patch_url": format!("{html}.patch"),
            "issue_url": issue, "commits_url": format!("{url}/commits"),
            "review_comments_url": format!("{url}/comments"), "review_comment_url": one_comment,
            "comments_url": format!("{issue}/comments"), "statuses_url": statuses,
            "number": number, "state": if pull.open { "open" } else { "closed" },
            "locked": false, "title": pull.title, "user": self.author(&pull.author),
            "body": if pull.body.is_empty() { Value::Null } else { json!(pull.body) },
            "labels": labels, "milestone": null, "active_lock_reason": null,
            "created_at": format_time(pull.created), "updated_at": format_time(pull.updated),
            "closed_at": if pull.open { Value::Null } else { json!(format_time(pull.updated)) },
            "merged_at": null, "merge_commit_sha": null, "assignee": null, "assignees": [],
            "requested_reviewers": [], "requested_teams": [],
            "head": self.end(head, &pull.head_owner, &pull.head, &pull.head_sha),
            "base": self.end(Some(repository), &repository.owner, &pull.base, &pull.base_sha),
            "author_association": repository.association(&pull.author), "auto_merge": null,
            "draft": pull.draft,
        });
        value["_links"] = json!({});
        for (name, field) in [
            ("self", "url"),
            ("html", "html_url"),
            ("issue", "issue_url"),
            ("comments", "comments_url"),
            ("review_comments", "review_comments_url"),
            ("review_comment", "review_comment_url"),
            ("commits", "commits_url"),
            ("statuses", "statuses_url"),
        ] {
            value["_links"][name] = json!({ "href": value[field] });
        }
        value
    }

    /// A pull request with all fields.
    pub(super) fn pull(&self, repository: &Repository, pull: &PullRequest) -> Value {
        let mut value = self.simple_pull(repository, pull);
        let files = &pull.diff.files;
        let review_comments: usize = pull.threads.iter().map(|thread| thread.comments.len()).sum();
        for (key, number) in [
            ("comments", pull.comments.len() as u64),
            ("review_comments", review_comments as u64),
            ("commits", pull.commits.len() as u64),
            ("additions", files.iter().map(|file| file.additions).sum()),
            ("deletions", files.iter().map(|file| file.deletions).sum()),
            ("changed_files", files.len() as u64),
        ] {
            value[key] = json!(number);
        }
        value["merged"] = json!(false);
        value["mergeable"] = Value::Null;
        value["rebaseable"] = Value::Null;
        value["mergeable_state"] = json!("unknown");
        value["merged_by"] = Value::Null;
        value["maintainer_can_modify"] = json!(false);
        value
    }

    pub(super) fn label(&self, api: &str, name: &str) -> Value {
        json!({
            "id": 1, "node_id": "LA_1", "url": format!("{api}/labels/{}", encoded(name)),
            "name": name, "color": "ededed", "default": false, "description": "",
        })
    }

    pub(super) fn file(&self, repository: &Repository, sha: &str, file: &FileDiff) -> Value {
        let (html, path) = (self.html_of(repository), encoded(&file.path));
        let mut value = json!({
            "sha": file.blob, "filename": file.path, "status": file.status,
            "additions": file.additions, "deletions": file.deletions,
            "changes": file.additions + file.deletions,
            "blob_url": format!("{html}/blob/{sha}/{path}"),
            "raw_url": format!("{html}/raw/{sha}/{path}"),
            "contents_url": format!("{}/contents/{path}?ref={sha}", self.api_of(repository)),
        });
        if let Some(patch) = file.patch() {
            value["patch"] = json!(patch);
        }
        if let Some(previous) = &file.previous {
            value["previous_filename"] = json!(previous);
        }
        value
    }

    pub(super) fn commit(&self, repository: &Repository, commit: &FakeCommit) -> Value {
        let (api, html) = (self.api_of(repository), self.html_of(repository));
        let url = |sha: &str| format!("{api}/commits/{sha}");
        let (name, email, date) = &commit.author;
        let person = json!({ "name": name, "email": email, "date": date });
        let parents = commit.parents.iter().map(|sha| {
            json!({ "sha": sha, "url": url(sha), "html_url": format!("{html}/commit/{sha}") })
        });
        json!({
            "url": url(&commit.sha), "sha": commit.sha, "node_id": format!("C_{}", commit.sha),
            "html_url": format!("{html}/commit/{}", commit.sha),
            "comments_url": format!("{}/comments", url(&commit.sha)),
            "commit": {
                "url": format!("{api}/git/commits/{}", commit.sha),
                "author": person, "committer": person, "message": commit.message,
                "comment_count": 0,
                "tree": { "sha": commit.tree, "url": format!("{api}/git/trees/{}", commit.tree) },
            },
            "author": null, "committer": null, "parents": parents.collect::<Vec<_>>(),
        })
    }

    pub(super) fn comment(&self, repository: &Repository, number: u64, comment: &Comment) -> Value {
        let (api, id) = (self.api_of(repository), comment.id);
        json!({
            "id": id, "node_id": format!("IC_{id}"), "url": format!("{api}/issues/comments/{id}"),
            "html_url": format!("{}#issuecomment-{id}", self.pull_url(repository, number)),
            "body": comment.body, "user": self.user(&comment.author),
            "created_at": format_time(comment.created), "updated_at": format_time(comment.updated),
            "issue_url": format!("{api}/issues/{number}"),
            "author_association": repository.association(&comment.author),
            "performed_via_github_app": null,
        })
    }

    pub(super) fn review(&self, repository: &Repository, number: u64, review: &Review) -> Value {
        let pull = format!("{}/pulls/{number}", self.api_of(repository));
        let page = self.pull_url(repository, number);
        let html = format!("{page}#pullrequestreview-{}", review.id);
        let mut value = json!({
            "id": review.id, "node_id": format!("PRR_{}", review.id),
            "user": self.user(&review.author), "body": review.body, "state": review.state,
            "html_url": html, "pull_request_url": pull,
            "_links": { "html": { "href": html }, "pull_request": { "href": pull } },
            "commit_id": review.commit,
            "author_association": repository.association(&review.author),
        });
        // Pending reviews do not have this field.
        if review.state != PENDING {
            value["submitted_at"] = json!(format_time(review.created));
        }
        value
    }

    pub(super) fn review_comment(
        &self,
        repository: &Repository,
        pull: &PullRequest,
        thread: &Thread,
        comment: &Comment,
    ) -> Value {
        let (api, id) = (self.api_of(repository), comment.id);
        let url = format!("{api}/pulls/comments/{id}");
        let pull_url = format!("{api}/pulls/{}", pull.number);
        let html = format!("{}#discussion_r{id}", self.pull_url(repository, pull.number));
        let first_id = thread.comments.first().map(|first| first.id).filter(|first| *first != id);
        let file = pull.diff.file(&thread.path);
        let position = thread.line.and_then(|line| {
            let file = file?;
            Some(file.position(file.find_row(thread.side, line)?))
        });
        let mut value = json!({
            "url": url, "pull_request_review_id": comment.review, "id": id,
            "node_id": format!("PRRC_{id}"), "diff_hunk": thread.diff_hunk, "path": thread.path,
            "position": position, "original_position": thread.original_position,
            "commit_id": if thread.outdated { &thread.original_commit } else { &pull.head_sha },
            "original_commit_id": thread.original_commit, "user": self.user(&comment.author),
            "body": comment.body, "created_at": format_time(comment.created),
            "updated_at": format_time(comment.updated), "html_url": html, "pull_request_url": pull_url,
            "author_association": repository.association(&comment.author),
            "_links": {
                "self": { "href": url }, "html": { "href": html },
                "pull_request": { "href": pull_url },
            },
            "line": thread.line, "original_line": thread.original_line,
            "start_line": thread.start_line, "original_start_line": thread.original_start_line,
            "side": thread.side.word(),
            "start_side": thread.start_side.map(Side::word), "subject_type": "line",
        });
        if let Some(first) = first_id {
            value["in_reply_to_id"] = json!(first);
        }
        value
    }

    pub(super) fn issue(&self, repository: &Repository, issue: &Issue) -> Value {
        let (api, html) = (self.api_of(repository), self.html_of(repository));
        let (url, number) = (format!("{api}/issues/{}", issue.number), issue.number);
        let labels: Vec<Value> = issue.labels.iter().map(|label| self.label(&api, label)).collect();
        json!({
            "id": issue.id, "node_id": format!("I_{}", issue.id), "url": url,
            "repository_url": api, "labels_url": format!("{url}/labels{{/name}}"),
            "comments_url": format!("{url}/comments"), "events_url": format!("{url}/events"),
            "html_url": format!("{html}/issues/{number}"), "number": number,
            "state": if issue.open { "open" } else { "closed" },
            "title": issue.title, "body": issue.body, "user": self.user(&issue.author),
            "labels": labels, "assignee": null, "assignees": [], "milestone": null, "locked": false,
            "comments": 0, "closed_at": null, "created_at": format_time(issue.created),
            "updated_at": format_time(issue.created),
            "author_association": repository.association(&issue.author),
        })
    }

    /// A pull request as the endpoints for issues show it.
    pub(super) fn pull_as_issue(&self, repository: &Repository, pull: &PullRequest) -> Value {
        let issue = Issue {
            id: pull.id,
            number: pull.number,
            title: pull.title.clone(),
            body: pull.body.clone(),
            author: pull.author.clone(),
            labels: pull.labels.clone(),
            open: pull.open,
            created: pull.created,
        };
        let mut value = self.issue(repository, &issue);
        let html = self.pull_url(repository, pull.number);
        value["comments"] = json!(pull.comments.len());
        value["html_url"] = json!(html);
        value["draft"] = json!(pull.draft);
        value["pull_request"] = json!({
            "url": format!("{}/pulls/{}", self.api_of(repository), pull.number),
            "html_url": html, "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"), "merged_at": null,
        });
        value
    }

    pub(super) fn check_run(&self, repository: &Repository, run: &CheckRun) -> Value {
        let url = format!("{}/check-runs/{}", self.api_of(repository), run.id);
        let html = format!("{}/runs/{}", self.html_of(repository), run.id);
        let field = |name: &str| run.fields.get(name).cloned().unwrap_or(Value::Null);
        let output = |name: &str| field("output").get(name).cloned().unwrap_or(Value::Null);
        let or = |value: Value, other: &str| if value.is_null() { json!(other) } else { value };
        json!({
            "id": run.id, "head_sha": run.head_sha, "node_id": format!("CR_{}", run.id),
            "external_id": or(field("external_id"), ""), "url": url, "html_url": html,
            "details_url": or(field("details_url"), &html), "name": field("name"),
            "status": or(field("status"), "queued"), "conclusion": field("conclusion"),
            "started_at": or(field("started_at"), &format_time(0)),
            "completed_at": field("completed_at"),
            "output": {
                "title": output("title"), "summary": output("summary"), "text": output("text"),
                "annotations_count": run.annotations.len(),
                "annotations_url": format!("{url}/annotations"),
            },
            "check_suite": { "id": run.id }, "app": self.app(&run.app), "pull_requests": [],
        })
    }

    fn app(&self, slug: &str) -> Value {
        let id = self.state.apps.iter().find(|app| app.slug == slug).map_or(1, |app| app.id);
        json!({
            "id": id, "slug": slug, "node_id": format!("A_{id}"), "owner": self.user_or_app(slug),
            "name": slug, "description": "", "external_url": self.server,
            "html_url": format!("{}/apps/{slug}", self.server), "created_at": format_time(0),
            "updated_at": format_time(0), "permissions": { "checks": "write" }, "events": [],
        })
    }

    fn user_or_app(&self, slug: &str) -> Value {
        let user = self.user(slug);
        if user.is_null() { self.user(&format!("{slug}[bot]")) } else { user }
    }

    pub(super) fn status(&self, repository: &Repository, status: &Status) -> Value {
        let api = self.api_of(repository);
        json!({
            "url": format!("{api}/statuses/{}", status.sha), "id": status.id,
            "avatar_url": null, "node_id": format!("SC_{}", status.id), "state": status.state,
            "description": null, "target_url": null, "context": status.context,
            "created_at": format_time(status.created), "updated_at": format_time(status.created),
        })
    }

    pub(super) fn installation(&self, app: &App) -> Value {
        let (id, owner) = &app.installation;
        let account = self.state.account(owner);
        json!({
            "id": id, "account": self.user(owner), "repository_selection": "all",
            "access_tokens_url": format!("{}/app/installations/{id}/access_tokens", self.api()),
            "repositories_url": format!("{}/installation/repositories", self.api()),
            "html_url": format!("{}/settings/installations/{id}", self.server),
            "app_id": app.id, "app_slug": app.slug, "target_type": "User",
            "target_id": account.map_or(0, |account| account.id),
            "permissions": permissions(&app.permissions), "events": [],
            "created_at": format_time(0), "updated_at": format_time(0), "single_file_name": null,
            "suspended_by": null, "suspended_at": null,
        })
    }
}

/// Permissions in GitHub's format.
pub(super) fn permissions(permissions: &BTreeSet<Permission>) -> Value {
    let mut value = json!({ "metadata": "read" });
    // `Permission` sorts read before write, so the higher one stays.
    for permission in permissions {
        let (name, level) = match permission {
            Permission::Contents => ("contents", "read"),
            Permission::WriteContents => ("contents", "write"),
            Permission::ReadPulls => ("pull_requests", "read"),
            Permission::WritePulls => ("pull_requests", "write"),
            Permission::ReadIssues => ("issues", "read"),
            Permission::WriteIssues => ("issues", "write"),
            Permission::ReadChecks => ("checks", "read"),
            Permission::WriteChecks => ("checks", "write"),
            Permission::ReadStatuses => ("statuses", "read"),
            Permission::WriteSecurity => ("security_events", "write"),
        };
        value[name] = json!(level);
    }
    value
}

/// Percent-encodes a path.
fn encoded(path: &str) -> String {
    let mut encoded = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Addresses below the address of a repository: name of the field without `_url`, and path.
const REPOSITORY_URLS: [(&str, &str); 36] = [
    ("archive", "{archive_format}{/ref}"),
    ("assignees", "assignees{/user}"),
    ("blobs", "git/blobs{/sha}"),
    ("branches", "branches{/branch}"),
    ("collaborators", "collaborators{/collaborator}"),
    ("comments", "comments{/number}"),
    ("commits", "commits{/sha}"),
    ("compare", "compare/{base}...{head}"),
    ("contents", "contents/{+path}"),
    ("contributors", "contributors"),
    ("deployments", "deployments"),
    ("downloads", "downloads"),
    ("events", "events"),
    ("forks", "forks"),
    ("git_commits", "git/commits{/sha}"),
    ("git_refs", "git/refs{/sha}"),
    ("git_tags", "git/tags{/sha}"),
    ("hooks", "hooks"),
    ("issue_comment", "issues/comments{/number}"),
    ("issue_events", "issues/events{/number}"),
    ("issues", "issues{/number}"),
    ("keys", "keys{/key_id}"),
    ("labels", "labels{/name}"),
    ("languages", "languages"),
    ("merges", "merges"),
    ("milestones", "milestones{/number}"),
    ("notifications", "notifications{?since,all,participating}"),
    ("pulls", "pulls{/number}"),
    ("releases", "releases{/id}"),
    ("stargazers", "stargazers"),
    ("statuses", "statuses/{sha}"),
    ("subscribers", "subscribers"),
    ("subscription", "subscription"),
    ("tags", "tags"),
    ("teams", "teams"),
    ("trees", "git/trees{/sha}"),
];
