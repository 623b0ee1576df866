//! GitHub issues, with crh's own client or with an external program.

use serde::Deserialize;
use serde_json::{Value, json};

use super::filing::{LabelMode, TicketTracker};
use super::{FiledTicket, TrackerError, TrackerTicket, filing, has_marker, with_marker};
use crate::ForgeError;
use crate::forge_code::encode_part;
use crate::forges::github::{GitHubClient, Repo};
use crate::posting::Verb;
use crh_review::identity::issue_marker;

const GITHUB: &str = "GitHub";

/// Entries per page: GitHub's maximum.
const PAGE_SIZE: usize = 100;
/// Maximum number of pages to search for a ticket, newest first: two thousand issues of one account
/// in one repository.
const PAGES_MAX: usize = 20;

const VIEWER: &str = "query { viewer { login databaseId } }";

/// Issues of a repository.
pub struct GitHubIssues {
    repo: Repo,
    backend: GitHubBackend,
}

enum GitHubBackend {
    Client(GitHubClient),
    Program(GitHubProgram),
}

/// External program that sends GitHub requests.
pub type GitHubProgram = Box<dyn Fn(&GitHubProgramCall) -> Result<Value, ForgeError>>;

/// A request to the external program.
#[derive(Debug, Clone, PartialEq)]
pub enum GitHubProgramCall {
    /// GET of a REST path.
    Get(String),
    /// A GraphQL query.
    Query(String),
    /// POST to a REST path.
    Post(String, Value),
}

#[derive(Deserialize)]
struct RepositorySettings {
    #[serde(default)]
    has_issues: bool,
}

#[derive(Deserialize)]
struct ViewerData {
    viewer: IssueViewer,
}

#[derive(Deserialize)]
struct IssueViewer {
    login: String,
    #[serde(rename = "databaseId")]
    id: u64,
}

#[derive(Deserialize)]
struct ListedIssue {
    html_url: String,
    body: Option<String>,
    user: Option<IssueAuthor>,
    /// Set for pull requests, which GitHub lists as issues.
    pull_request: Option<Value>,
}

#[derive(Deserialize)]
struct IssueAuthor {
    id: u64,
}

#[derive(Deserialize)]
struct CreatedIssue {
    html_url: String,
}

impl GitHubIssues {
    /// Uses crh's own client.
    pub fn with_client(client: GitHubClient, repo: Repo) -> Self {
        Self { repo, backend: GitHubBackend::Client(client) }
    }

    /// Uses an external program.
    pub fn with_program(program: GitHubProgram, repo: Repo) -> Self {
        Self { repo, backend: GitHubBackend::Program(program) }
    }

    /// Checks that issues are readable and enabled. Only filing shows whether the token may write.
    pub async fn probe(&self) -> Result<(), TrackerError> {
        let repository: RepositorySettings = self.get(&format!("/repos/{}", self.repo)).await?;
        match repository.has_issues {
            true => Ok(()),
            false => Err(self.missing()),
        }
    }

    /// Files a ticket unless it exists.
    pub async fn file(&self, ticket: &TrackerTicket) -> Result<FiledTicket, TrackerError> {
        filing::file(self, ticket).await
    }

    fn missing(&self) -> TrackerError {
        TrackerError::Missing { what: format!("the issue list of `{}`", self.repo) }
    }

    async fn get<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, TrackerError> {
        let reply = match &self.backend {
            GitHubBackend::Client(client) => client.get_json(path).await,
            GitHubBackend::Program(program) => program(&GitHubProgramCall::Get(path.to_owned()))
                .and_then(|value| parse_reply(path, value)),
        };
        reply.map_err(|error| self.to_tracker_error(error))
    }

    async fn viewer(&self) -> Result<IssueViewer, TrackerError> {
        #[derive(Deserialize)]
        struct Answer {
            data: ViewerData,
        }
        let data = match &self.backend {
            GitHubBackend::Client(client) => client.graphql::<ViewerData>(VIEWER, &json!({})).await,
            GitHubBackend::Program(program) => {
                program(&GitHubProgramCall::Query(VIEWER.to_owned()))
                    .and_then(|value| parse_reply::<Answer>("/graphql", value))
                    .map(|answer| answer.data)
            }
        };
        data.map(|data| data.viewer).map_err(|error| self.to_tracker_error(error))
    }

    /// Those labels of a ticket that exist in the repository. GitHub would create the others.
    async fn labels(&self, ticket: &TrackerTicket) -> Vec<String> {
        let mut existing = Vec::new();
        for label in &ticket.labels {
            let path = format!("/repos/{}/labels/{}", self.repo, encode_part(label));
            // Labels are optional, so crh skips a label that it cannot check.
            if self.get::<Value>(&path).await.is_ok() {
                existing.push(label.clone());
            }
        }
        existing
    }

    fn to_tracker_error(&self, error: ForgeError) -> TrackerError {
        let (tracker, message) = (GITHUB.to_owned(), error.to_string());
        match error {
            ForgeError::BadToken { message, .. } => TrackerError::BadKey { tracker, message },
            ForgeError::Forbidden { message, .. } | ForgeError::Refused { message, .. } => {
                TrackerError::Refused { tracker, message }
            }
            ForgeError::NotFound { .. } => self.missing(),
            ForgeError::Ambiguous { message, .. } => {
                TrackerError::OutcomeUnknown { tracker, message }
            }
            ForgeError::RateLimited { .. }
            | ForgeError::TooLarge { .. }
            | ForgeError::Bazaar { .. }
            | ForgeError::TooOld { .. }
            | ForgeError::Unreadable { .. } => TrackerError::Unreachable { tracker, message },
            ForgeError::Failing { host, message } | ForgeError::Unreachable { host, message } => {
                TrackerError::Unreachable { tracker: format!("`{host}`"), message }
            }
        }
    }
}

impl TicketTracker for GitHubIssues {
    async fn find(&self, ticket: &TrackerTicket) -> Result<Option<String>, TrackerError> {
        let viewer = self.viewer().await?;
        let marker = issue_marker(&ticket.instance, &ticket.dedupe_key);
        let list = format!(
            "/repos/{}/issues?state=all&sort=created&direction=desc&creator={}&per_page={PAGE_SIZE}",
            self.repo,
            encode_part(&viewer.login)
        );
        for page in 1..=PAGES_MAX {
            let issues: Vec<ListedIssue> = self.get(&format!("{list}&page={page}")).await?;
            let is_last = issues.len() < PAGE_SIZE;
            let own_issue = issues.into_iter().find(|issue| {
                issue.pull_request.is_none()
                    && issue.user.as_ref().is_some_and(|user| user.id == viewer.id)
                    && issue.body.as_deref().is_some_and(|body| has_marker(body, &marker))
            });
            if let Some(own_issue) = own_issue {
                return Ok(Some(own_issue.html_url));
            }
            if is_last {
                break;
            }
        }
        Ok(None)
    }

    async fn create(
        &self,
        ticket: &TrackerTicket,
        labels: LabelMode,
    ) -> Result<String, TrackerError> {
        let marker = issue_marker(&ticket.instance, &ticket.dedupe_key);
        let mut body = json!({ "title": ticket.title, "body": with_marker(&ticket.body, &marker) });
        let labels = match labels {
            LabelMode::With => self.labels(ticket).await,
            LabelMode::Without => Vec::new(),
        };
        if !labels.is_empty() {
            body["labels"] = json!(labels);
        }
        let path = format!("/repos/{}/issues", self.repo);
        let created = match &self.backend {
            GitHubBackend::Client(client) => client.write(Verb::Post, &path, &body).await,
            GitHubBackend::Program(program) => {
                program(&GitHubProgramCall::Post(path.clone(), body))
            }
        };
        let created = created.map_err(|error| self.to_tracker_error(error))?;
        match serde_json::from_value(created) {
            Ok(CreatedIssue { html_url }) => Ok(html_url),
            Err(error) => Err(TrackerError::OutcomeUnknown {
                tracker: GITHUB.to_owned(),
                message: format!("cannot parse its reply: {error}"),
            }),
        }
    }
}

fn parse_reply<T: for<'de> Deserialize<'de>>(path: &str, value: Value) -> Result<T, ForgeError> {
    serde_json::from_value(value).map_err(|error| ForgeError::Unreadable {
        request: format!("GET {}", path.split('?').next().unwrap_or(path)),
        message: error.to_string(),
    })
}
