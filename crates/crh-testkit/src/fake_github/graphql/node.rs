//! GraphQL objects and the fields that crh uses.

use serde_json::{Map, Value, json};

use super::super::diff::Side;
use super::super::json::View;
use super::super::state::{Comment, Issue, PENDING, PullRequest, Repository, Review, Thread};
use super::super::time::format_time;
use super::{GraphRefusal, QueryContext, unknown};

/// An object.
#[derive(Debug, Clone)]
pub(super) enum Node<'a> {
    Query,
    /// Result of a mutation.
    Payload(Option<ThreadPath<'a>>),
    Repository(&'a Repository),
    Pull(&'a Repository, &'a PullRequest),
    Issue(&'a Repository, &'a Issue),
    Thread(ThreadPath<'a>),
    ReviewComment(ThreadPath<'a>, &'a Comment),
    IssueComment(&'a Repository, u64, &'a Comment),
    Review(&'a Repository, u64, &'a Review),
    /// Author of something. Bots appear without their suffix.
    Actor(&'a str),
    /// An account by its full login.
    User(&'a str),
    /// A page of a list.
    Piece {
        start: usize,
        nodes: Vec<Self>,
        total: usize,
    },
    PageInfo {
        start: usize,
        end: usize,
        total: usize,
    },
    Edge {
        cursor: usize,
        node: Box<Self>,
    },
    Commit(&'a str),
    Label(&'a str),
    RateLimit,
}

/// A thread with its pull request and repository.
pub(super) type ThreadPath<'a> = (&'a Repository, &'a PullRequest, &'a Thread);

#[derive(Debug)]
pub(super) enum FieldValue<'a> {
    Value(Value),
    Node(Node<'a>),
    List(Vec<Node<'a>>),
    Connection(Vec<Node<'a>>),
    Missing,
}

impl<'a> Node<'a> {
    pub(super) fn type_name(&self, view: &View<'a>) -> &'static str {
        match self {
            Self::Query => "Query",
            Self::Payload(_) => "Payload",
            Self::Repository(_) => "Repository",
            Self::Pull(..) => "PullRequest",
            Self::Issue(..) => "Issue",
            Self::Thread(_) => "PullRequestReviewThread",
            Self::ReviewComment(..) => "PullRequestReviewComment",
            Self::IssueComment(..) => "IssueComment",
            Self::Review(..) => "PullRequestReview",
            Self::Actor(login) => {
                let bot = view.state.account(login).is_some_and(|account| account.bot);
                if bot { "Bot" } else { "User" }
            }
            Self::User(_) => "User",
            Self::Piece { .. } => "Connection",
            Self::PageInfo { .. } => "PageInfo",
            Self::Edge { .. } => "Edge",
            Self::Commit(_) => "Commit",
            Self::Label(_) => "Label",
            Self::RateLimit => "RateLimit",
        }
    }

    /// Whether the object implements an interface.
    pub(super) fn is_also(&self, name: &str) -> bool {
        match name {
            "Node" => !matches!(self, Self::Query | Self::Piece { .. } | Self::PageInfo { .. }),
            "Actor" => matches!(self, Self::Actor(_) | Self::User(_)),
            "Comment" => {
                matches!(self, Self::ReviewComment(..) | Self::IssueComment(..) | Self::Review(..))
            }
            _ => false,
        }
    }

    /// Looks up a field.
    pub(super) fn field(
        &self,
        context: &QueryContext<'a>,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<FieldValue<'a>, GraphRefusal> {
        let value = match self {
            Self::Query => return query(context, name, arguments),
            Self::Repository(repository) => {
                return of_repository(context, repository, name, arguments);
            }
            Self::Payload(place) => match (name, place) {
                ("thread", Some(place)) => Some(FieldValue::Node(Self::Thread(*place))),
                ("clientMutationId", _) => Some(FieldValue::Missing),
                _ => None,
            },
            Self::Pull(repository, pull) => of_pull(context, repository, pull, name),
            Self::Issue(repository, issue) => of_issue(context, repository, issue, name),
            Self::Thread(place) => of_thread(context, place, name),
            Self::ReviewComment(place, comment) => {
                let (repository, pull, thread) = *place;
                of_review_comment(context, (repository, pull, thread), comment, name)
            }
            Self::IssueComment(repository, number, comment) => {
                let page = context.view.pull_url(repository, *number);
                let url = format!("{page}#issuecomment-{}", comment.id);
                of_comment(context, repository, comment, "IC", &url, name)
            }
            Self::Review(repository, number, review) => {
                of_review(context, repository, *number, review, name)
            }
            Self::Actor(login) => of_account(context, login, name, login.trim_end_matches("[bot]")),
            Self::User(login) => of_account(context, login, name, login),
            Self::Piece { start, nodes, total } => piece(*start, nodes, *total, name),
            Self::PageInfo { start, end, total } => page_info(*start, *end, *total, name),
            Self::Edge { cursor, node } => match name {
                "cursor" => Some(FieldValue::Value(json!(format!("cursor:{cursor}")))),
                "node" => Some(FieldValue::Node((**node).clone())),
                _ => None,
            },
            Self::Commit(sha) => (name == "oid").then(|| FieldValue::Value(json!(sha))),
            Self::Label(label) => (name == "name").then(|| FieldValue::Value(json!(label))),
            Self::RateLimit => match name {
                "limit" | "remaining" => Some(FieldValue::Value(json!(5_000))),
                "cost" => Some(FieldValue::Value(json!(1))),
                _ => None,
            },
        };
        value.ok_or_else(|| unknown(self.type_name(&context.view), name))
    }
}

fn value<'a>(value: impl Into<Value>) -> Option<FieldValue<'a>> {
    Some(FieldValue::Value(value.into()))
}

/// An author; null if the account is gone.
fn actor<'a>(context: &QueryContext<'a>, login: &'a str) -> Option<FieldValue<'a>> {
    let exists = context.view.state.account(login).is_some();
    Some(if exists { FieldValue::Node(Node::Actor(login)) } else { FieldValue::Missing })
}

fn query<'a>(
    context: &QueryContext<'a>,
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<FieldValue<'a>, GraphRefusal> {
    let word = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    match name {
        "viewer" => Ok(FieldValue::Node(Node::User(context.login))),
        "rateLimit" => Ok(FieldValue::Node(Node::RateLimit)),
        "repository" => {
            let (owner, name) = (word("owner"), word("name"));
            match context.view.state.repository(owner, name) {
                Some(repository) => Ok(FieldValue::Node(Node::Repository(repository))),
                None => Err(GraphRefusal::of(
                    "NOT_FOUND",
                    format!("Could not resolve to a Repository with the name '{owner}/{name}'."),
                )),
            }
        }
        "node" => {
            let id = word("id");
            match context.view.state.thread(id) {
                Some(place) => Ok(FieldValue::Node(Node::Thread(place))),
                None => Err(GraphRefusal::of(
                    "NOT_FOUND",
                    format!("Could not resolve to a node with the global id of '{id}'"),
                )),
            }
        }
        _ => Err(unknown("Query", name)),
    }
}

fn of_repository<'a>(
    context: &QueryContext<'a>,
    repository: &'a Repository,
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<FieldValue<'a>, GraphRefusal> {
    let number = arguments.get("number").and_then(Value::as_u64).unwrap_or_default();
    let missing = |description: &str| {
        let message = format!("Could not resolve to {description} with the number of {number}.");
        GraphRefusal::of("NOT_FOUND", message)
    };
    let node = match name {
        "pullRequest" => {
            context.may_read_pulls()?;
            let pull = repository.pulls.get(&number).ok_or_else(|| missing("a PullRequest"))?;
            Some(FieldValue::Node(Node::Pull(repository, pull)))
        }
        "issue" => {
            let issue = repository.issues.get(&number).ok_or_else(|| missing("an Issue"))?;
            Some(FieldValue::Node(Node::Issue(repository, issue)))
        }
        "id" => value(format!("R_{}", repository.id)),
        "databaseId" => value(repository.id),
        "name" => value(repository.name.as_str()),
        "nameWithOwner" => value(repository.full_name()),
        "owner" => actor(context, &repository.owner),
        "url" => value(context.view.html_of(repository)),
        "isPrivate" => value(repository.private),
        "isFork" => value(repository.fork_of.is_some()),
        _ => None,
    };
    node.ok_or_else(|| unknown("Repository", name))
}

fn of_pull<'a>(
    context: &QueryContext<'a>,
    repository: &'a Repository,
    pull: &'a PullRequest,
    name: &str,
) -> Option<FieldValue<'a>> {
    let number = pull.number;
    match name {
        "id" => value(format!("PR_{}", pull.id)),
        "databaseId" => value(pull.id),
        // Large numbers are sent as text.
        "fullDatabaseId" => value(pull.id.to_string()),
        "number" => value(number),
        "title" => value(pull.title.as_str()),
        "body" => value(pull.body.as_str()),
        "url" => value(context.view.pull_url(repository, number)),
        "state" => value(if pull.open { "OPEN" } else { "CLOSED" }),
        "closed" => value(!pull.open),
        "merged" => value(false),
        "isDraft" => value(pull.draft),
        "isCrossRepository" => value(pull.head_repository != repository.id),
        "author" => actor(context, &pull.author),
        "authorAssociation" => value(repository.association(&pull.author)),
        "viewerDidAuthor" => value(pull.author == context.login),
        "headRefName" => value(pull.head.as_str()),
        "headRefOid" => value(pull.head_sha.as_str()),
        "baseRefName" => value(pull.base.as_str()),
        "baseRefOid" => value(pull.base_sha.as_str()),
        "createdAt" => value(format_time(pull.created)),
        "updatedAt" => value(format_time(pull.updated)),
        "headRepository" => {
            let head_repository = context.view.state.repository_by_id(pull.head_repository);
            Some(
                head_repository
                    .map_or(FieldValue::Missing, |found| FieldValue::Node(Node::Repository(found))),
            )
        }
        "baseRepository" | "repository" => Some(FieldValue::Node(Node::Repository(repository))),
        "labels" => {
            Some(FieldValue::Connection(pull.labels.iter().map(|name| Node::Label(name)).collect()))
        }
        "reviewThreads" => {
            let is_shown = |thread: &&Thread| {
                let first_comment = thread.comments.first();
                first_comment.is_none_or(|it| it.author == context.login || !pull.is_pending(it))
            };
            let threads = pull.threads.iter().filter(is_shown);
            let threads = threads.map(|thread| Node::Thread((repository, pull, thread)));
            Some(FieldValue::Connection(threads.collect()))
        }
        "closingIssuesReferences" => {
            let closed = pull.closes.iter().filter_map(|number| repository.issues.get(number));
            Some(FieldValue::Connection(
                closed.map(|issue| Node::Issue(repository, issue)).collect(),
            ))
        }
        "comments" => {
            let comments = pull.comments.iter();
            let nodes = comments.map(|comment| Node::IssueComment(repository, number, comment));
            Some(FieldValue::Connection(nodes.collect()))
        }
        "reviews" => {
            let reviews = pull.reviews.iter();
            let nodes = reviews.map(|review| Node::Review(repository, number, review));
            Some(FieldValue::Connection(nodes.collect()))
        }
        _ => None,
    }
}

fn of_issue<'a>(
    context: &QueryContext<'a>,
    repository: &'a Repository,
    issue: &'a Issue,
    name: &str,
) -> Option<FieldValue<'a>> {
    match name {
        "id" => value(format!("I_{}", issue.id)),
        "databaseId" => value(issue.id),
        "fullDatabaseId" => value(issue.id.to_string()),
        "number" => value(issue.number),
        "title" => value(issue.title.as_str()),
        "body" => value(issue.body.as_str()),
        "state" => value(if issue.open { "OPEN" } else { "CLOSED" }),
        "url" => value(format!("{}/issues/{}", context.view.html_of(repository), issue.number)),
        "author" => actor(context, &issue.author),
        "authorAssociation" => value(repository.association(&issue.author)),
        "createdAt" | "updatedAt" => value(format_time(issue.created)),
        "repository" => Some(FieldValue::Node(Node::Repository(repository))),
        _ => None,
    }
}

fn of_thread<'a>(
    context: &QueryContext<'a>,
    place: &ThreadPath<'a>,
    name: &str,
) -> Option<FieldValue<'a>> {
    let (repository, pull, thread) = *place;
    match name {
        "id" => value(thread.id.as_str()),
        "isResolved" => value(thread.resolved),
        "isOutdated" => value(thread.outdated),
        "isCollapsed" => value(thread.resolved || thread.outdated),
        "path" => value(thread.path.as_str()),
        "line" => Some(FieldValue::Value(json!(thread.line))),
        "startLine" => Some(FieldValue::Value(json!(thread.start_line))),
        "originalLine" => value(thread.original_line),
        "originalStartLine" => Some(FieldValue::Value(json!(thread.original_start_line))),
        "diffSide" => value(thread.side.word()),
        "startDiffSide" => Some(FieldValue::Value(json!(thread.start_side.map(Side::word)))),
        "subjectType" => value("LINE"),
        "viewerCanResolve" => value(!thread.resolved),
        "viewerCanUnresolve" => value(thread.resolved),
        "resolvedBy" => Some(match &thread.resolved_by {
            Some(login) if context.view.state.account(login).is_some() => {
                FieldValue::Node(Node::User(login))
            }
            Some(_) | None => FieldValue::Missing,
        }),
        "pullRequest" => Some(FieldValue::Node(Node::Pull(repository, pull))),
        "repository" => Some(FieldValue::Node(Node::Repository(repository))),
        "comments" => {
            let comments = thread.comments.iter();
            let nodes = comments.map(|comment| Node::ReviewComment(*place, comment));
            Some(FieldValue::Connection(nodes.collect()))
        }
        _ => None,
    }
}

fn of_review_comment<'a>(
    context: &QueryContext<'a>,
    (repository, pull, thread): ThreadPath<'a>,
    comment: &'a Comment,
    name: &str,
) -> Option<FieldValue<'a>> {
    match name {
        "path" => value(thread.path.as_str()),
        "line" => Some(FieldValue::Value(json!(thread.line))),
        "startLine" => Some(FieldValue::Value(json!(thread.start_line))),
        "originalLine" => value(thread.original_line),
        "outdated" => value(thread.outdated),
        "state" => value(if pull.is_pending(comment) { PENDING } else { "SUBMITTED" }),
        "diffHunk" => value(thread.diff_hunk.as_str()),
        "originalCommit" => Some(FieldValue::Node(Node::Commit(&thread.original_commit))),
        "commit" => Some(FieldValue::Node(Node::Commit(if thread.outdated {
            &thread.original_commit
        } else {
            &pull.head_sha
        }))),
        "pullRequestReview" => {
            let review = pull.reviews.iter().find(|review| Some(review.id) == comment.review);
            let node = |review| FieldValue::Node(Node::Review(repository, pull.number, review));
            Some(review.map_or(FieldValue::Missing, node))
        }
        _ => {
            let page = context.view.pull_url(repository, pull.number);
            let url = format!("{page}#discussion_r{}", comment.id);
            of_comment(context, repository, comment, "PRRC", &url, name)
        }
    }
}

/// Common fields of comments.
fn of_comment<'a>(
    context: &QueryContext<'a>,
    repository: &'a Repository,
    comment: &'a Comment,
    prefix: &str,
    url: &str,
    name: &str,
) -> Option<FieldValue<'a>> {
    match name {
        "id" => value(format!("{prefix}_{}", comment.id)),
        "databaseId" => value(comment.id),
        "fullDatabaseId" => value(comment.id.to_string()),
        "body" => value(comment.body.as_str()),
        "author" => actor(context, &comment.author),
        "authorAssociation" => value(repository.association(&comment.author)),
        "viewerDidAuthor" => value(comment.author == context.login),
        "isMinimized" => value(comment.minimized),
        "createdAt" => value(format_time(comment.created)),
        "updatedAt" => value(format_time(comment.updated)),
        "url" => value(url),
        _ => None,
    }
}

fn of_review<'a>(
    context: &QueryContext<'a>,
    repository: &'a Repository,
    number: u64,
    review: &'a Review,
    name: &str,
) -> Option<FieldValue<'a>> {
    match name {
        "id" => value(format!("PRR_{}", review.id)),
        "databaseId" => value(review.id),
        "fullDatabaseId" => value(review.id.to_string()),
        "body" => value(review.body.as_str()),
        "state" => value(review.state.as_str()),
        "author" => actor(context, &review.author),
        "authorAssociation" => value(repository.association(&review.author)),
        "viewerDidAuthor" => value(review.author == context.login),
        "commit" => Some(FieldValue::Node(Node::Commit(&review.commit))),
        "createdAt" | "submittedAt" | "updatedAt" => value(format_time(review.created)),
        "url" => {
            let page = context.view.pull_url(repository, number);
            value(format!("{page}#pullrequestreview-{}", review.id))
        }
        _ => None,
    }
}

fn of_account<'a>(
    context: &QueryContext<'a>,
    login: &str,
    name: &str,
    shown: &str,
) -> Option<FieldValue<'a>> {
    let id = context.view.state.account(login).map_or(0, |account| account.id);
    match name {
        "login" => value(shown),
        "databaseId" => value(id),
        "id" => value(format!("U_{id}")),
        "url" => value(format!("{}/{shown}", context.view.server)),
        _ => None,
    }
}

fn piece<'a>(start: usize, nodes: &[Node<'a>], total: usize, name: &str) -> Option<FieldValue<'a>> {
    match name {
        "nodes" => Some(FieldValue::List(nodes.to_vec())),
        "edges" => {
            let edges = nodes.iter().enumerate().map(|(index, node)| Node::Edge {
                cursor: start + index + 1,
                node: Box::new(node.clone()),
            });
            Some(FieldValue::List(edges.collect()))
        }
        "totalCount" => value(total),
        "pageInfo" => {
            Some(FieldValue::Node(Node::PageInfo { start, end: start + nodes.len(), total }))
        }
        _ => None,
    }
}

fn page_info<'a>(start: usize, end: usize, total: usize, name: &str) -> Option<FieldValue<'a>> {
    let cursor = |index: usize| {
        let cursor = (end > start).then(|| format!("cursor:{index}"));
        Some(FieldValue::Value(json!(cursor)))
    };
    match name {
        "hasNextPage" => value(end < total),
        "hasPreviousPage" => value(start > 0),
        "startCursor" => cursor(start + 1),
        "endCursor" => cursor(end),
        _ => None,
    }
}
