//! Issues at GitHub, by our own client or by a program that asks for us.

use serde::Deserialize;
use serde_json::{Value, json};

use super::desk::{Desk, Labels};
use super::{Filed, Ticket, TrackerError, desk, has_mark, marked};
use crate::ForgeError;
use crate::github::{Client, Repo, Verb};
use crh_review::identity::issue_marker;

const GITHUB: &str = "GitHub";

/// Entries on a page, as many as GitHub gives.
const PAGE: usize = 100;
/// The most pages that are looked through for a ticket of ours, the newest first: two thousand that one account has made in one
/// repository.
const PAGES_MAX: usize = 20;

const VIEWER: &str = "query { viewer { login databaseId } }";

/// Issues of a repository.
pub struct GitHubIssues {
    repo: Repo,
    way: Way,
}

enum Way {
    Client(Client),
    Program(Program),
}

/// A program that asks GitHub for us, and gives the answer.
pub type Program = Box<dyn Fn(&Asked) -> Result<Value, ForgeError>>;

/// What a program is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// What is at a path of REST.
    Get(String),
    /// The answer to a query of GraphQL.
    Query(String),
    /// Something new at a path of REST.
    Post(String, Value),
}

#[derive(Deserialize)]
struct Repository {
    #[serde(default)]
    has_issues: bool,
}

#[derive(Deserialize)]
struct Viewed {
    viewer: Viewer,
}

/// Who we are.
#[derive(Deserialize)]
struct Viewer {
    login: String,
    #[serde(rename = "databaseId")]
    id: u64,
}

#[derive(Deserialize)]
struct Listed {
    html_url: String,
    #[serde(default)]
    body: Option<String>,
    user: Option<Author>,
    /// Pull requests are listed, too.
    #[serde(default)]
    pull_request: Option<Value>,
}

#[derive(Deserialize)]
struct Author {
    id: u64,
}

#[derive(Deserialize)]
struct Created {
    html_url: String,
}

impl GitHubIssues {
    /// By our own client.
    pub fn by_client(client: Client, repo: Repo) -> Self {
        Self { repo, way: Way::Client(client) }
    }

    /// By a program.
    pub fn by_program(program: Program, repo: Repo) -> Self {
        Self { repo, way: Way::Program(program) }
    }

    /// Finds out whether issues can be read and are switched on. Whether one can be written is known when one is.
    pub async fn probe(&self) -> Result<(), TrackerError> {
        let repository: Repository = self.get(&format!("/repos/{}", self.repo)).await?;
        match repository.has_issues {
            true => Ok(()),
            false => Err(self.missing()),
        }
    }

    /// Files a ticket, unless it was.
    pub async fn file(&self, ticket: &Ticket) -> Result<Filed, TrackerError> {
        desk::file(self, ticket).await
    }

    fn missing(&self) -> TrackerError {
        TrackerError::Missing { what: format!("the list of issues of `{}`", self.repo) }
    }

    async fn get<T: for<'de> Deserialize<'de>>(&self, path: &str) -> Result<T, TrackerError> {
        let got = match &self.way {
            Way::Client(client) => client.get_json(path).await,
            Way::Program(program) => {
                program(&Asked::Get(path.to_owned())).and_then(|value| read(path, value))
            }
        };
        got.map_err(|error| self.told(error))
    }

    async fn viewer(&self) -> Result<Viewer, TrackerError> {
        #[derive(Deserialize)]
        struct Answer {
            data: Viewed,
        }
        let viewed = match &self.way {
            Way::Client(client) => client.graphql::<Viewed>(VIEWER, &json!({})).await,
            Way::Program(program) => program(&Asked::Query(VIEWER.to_owned()))
                .and_then(|value| read::<Answer>("/graphql", value))
                .map(|answer| answer.data),
        };
        viewed.map(|viewed| viewed.viewer).map_err(|error| self.told(error))
    }

    /// The labels of a ticket that there are: GitHub would make the others.
    async fn labels(&self, ticket: &Ticket) -> Vec<String> {
        let mut there = Vec::new();
        for label in &ticket.labels {
            let path = format!("/repos/{}/labels/{}", self.repo, encoded(label));
            // One that cannot be looked up is left out: it is not what the ticket is for.
            if self.get::<Value>(&path).await.is_ok() {
                there.push(label.clone());
            }
        }
        there
    }

    fn told(&self, error: ForgeError) -> TrackerError {
        let (tracker, message) = (GITHUB.to_owned(), error.to_string());
        match error {
            ForgeError::BadToken { message, .. } => TrackerError::BadKey { tracker, message },
            ForgeError::Forbidden { message, .. } | ForgeError::Refused { message, .. } => {
                TrackerError::Refused { tracker, message }
            }
            ForgeError::NotFound { .. } => self.missing(),
            ForgeError::Ambiguous { message, .. } => TrackerError::Unknown { tracker, message },
            ForgeError::RateLimited { .. }
            | ForgeError::TooLarge { .. }
            | ForgeError::Bazaar { .. }
            | ForgeError::Unreadable { .. } => TrackerError::Unreachable { tracker, message },
            ForgeError::Failing { host, message } | ForgeError::Unreachable { host, message } => {
                TrackerError::Unreachable { tracker: format!("`{host}`"), message }
            }
        }
    }
}

impl Desk for GitHubIssues {
    async fn find(&self, ticket: &Ticket) -> Result<Option<String>, TrackerError> {
        let viewer = self.viewer().await?;
        let marker = issue_marker(&ticket.instance, &ticket.dedupe_key);
        let list = format!(
            "/repos/{}/issues?state=all&sort=created&direction=desc&creator={}&per_page={PAGE}",
            self.repo,
            encoded(&viewer.login)
        );
        for page in 1..=PAGES_MAX {
            let listed: Vec<Listed> = self.get(&format!("{list}&page={page}")).await?;
            let is_last = listed.len() < PAGE;
            let found = listed.into_iter().find(|issue| {
                issue.pull_request.is_none()
                    && issue.user.as_ref().is_some_and(|user| user.id == viewer.id)
                    && issue.body.as_deref().is_some_and(|body| has_mark(body, &marker))
            });
            if let Some(found) = found {
                return Ok(Some(found.html_url));
            }
            if is_last {
                break;
            }
        }
        Ok(None)
    }

    async fn create(&self, ticket: &Ticket, labels: Labels) -> Result<String, TrackerError> {
        let marker = issue_marker(&ticket.instance, &ticket.dedupe_key);
        let mut body = json!({ "title": ticket.title, "body": marked(&ticket.body, &marker) });
        let labels = match labels {
            Labels::With => self.labels(ticket).await,
            Labels::Without => Vec::new(),
        };
        if !labels.is_empty() {
            body["labels"] = json!(labels);
        }
        let path = format!("/repos/{}/issues", self.repo);
        let created = match &self.way {
            Way::Client(client) => client.write(Verb::Post, &path, &body).await,
            Way::Program(program) => program(&Asked::Post(path.clone(), body)),
        };
        let created = created.map_err(|error| self.told(error))?;
        match serde_json::from_value(created) {
            Ok(Created { html_url }) => Ok(html_url),
            Err(error) => Err(TrackerError::Unknown {
                tracker: GITHUB.to_owned(),
                message: format!("its answer cannot be read: {error}"),
            }),
        }
    }
}

fn read<T: for<'de> Deserialize<'de>>(path: &str, value: Value) -> Result<T, ForgeError> {
    serde_json::from_value(value).map_err(|error| ForgeError::Unreadable {
        what: format!("GET {}", path.split('?').next().unwrap_or(path)),
        message: error.to_string(),
    })
}

/// A word inside an address.
fn encoded(word: &str) -> String {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    word.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}
