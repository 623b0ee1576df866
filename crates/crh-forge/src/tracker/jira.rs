//! Jira tickets, with REST API version 3.

mod document;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::client::{TrackerClient, TrackerReply, TrackerRequestKind, TrackerSetupError, reason};
use super::filing::{LabelMode, TicketTracker};
use super::{FiledTicket, TrackerError, TrackerTicket, filing};
use crh_http::{BaseUrl, NetworkSettings};

/// Issue type that every Jira project has.
const KIND: &str = "Task";

/// Jira account and project.
pub struct JiraAccount {
    /// Address of the Jira.
    pub base: BaseUrl,
    /// Email address of the account.
    pub email: String,
    /// API token.
    pub token: SecretString,
    /// Project key, such as `SHOP`.
    pub project: String,
}

/// A Jira project.
pub struct Jira {
    wire: TrackerClient,
    project: String,
}

impl Jira {
    /// Creates a client without sending anything.
    pub fn new(network: &NetworkSettings, account: JiraAccount) -> Result<Self, TrackerSetupError> {
        let JiraAccount { base, email, token, project } = account;
        let pair = STANDARD.encode(format!("{email}:{}", token.expose_secret()));
        let authorization = SecretString::from(format!("Basic {pair}"));
        let wire = TrackerClient::new(network, "Jira", base, &authorization, token)?;
        Ok(Self { wire, project })
    }

    /// Checks the token and the project.
    pub async fn probe(&self) -> Result<(), TrackerError> {
        let answer = self.wire.get(&format!("/rest/api/3/project/{}", self.project)).await?;
        self.check(answer).map(|_| ())
    }

    /// Files a ticket unless it exists.
    pub async fn file(&self, ticket: &TrackerTicket) -> Result<FiledTicket, TrackerError> {
        filing::file(self, ticket).await
    }

    /// Body of a success.
    fn check(&self, answer: TrackerReply) -> Result<Value, TrackerError> {
        match answer.status {
            200..=299 => Ok(answer.body),
            404 => Err(TrackerError::Missing {
                what: format!("the project `{}` at Jira", self.project),
            }),
            status => {
                let message = reason(&answer.body).unwrap_or_else(|| format!("status {status}"));
                Err(self.wire.refused(&message))
            }
        }
    }

    fn url(&self, key: &str) -> String {
        format!("{}/browse/{key}", self.wire.base().as_str())
    }
}

/// Label to find a ticket again. Jira matches labels exactly, but text only by words.
fn own_label(ticket: &TrackerTicket) -> String {
    ticket.mark().replace(':', "-")
}

impl TicketTracker for Jira {
    async fn find(&self, ticket: &TrackerTicket) -> Result<Option<String>, TrackerError> {
        let (label, mark) = (own_label(ticket), ticket.mark());
        let word = mark.rsplit(':').next().unwrap_or_default();
        // These names contain no quotes.
        let query = format!(
            "project = \"{}\" AND creator = currentUser() AND (labels = \"{label}\" OR description ~ \"{word}\")",
            self.project
        );
        let body = json!({ "jql": query, "fields": ["labels", "description"], "maxResults": 50 });
        let answer =
            self.wire.post("/rest/api/3/search/jql", &body, TrackerRequestKind::Read).await?;
        let found = self.check(answer)?;
        let is_ours = |issue: &&Value| {
            let labels = issue["fields"]["labels"].as_array().into_iter().flatten();
            labels.filter_map(Value::as_str).any(|own| own == label)
                || document::has_text(&issue["fields"]["description"], &mark)
        };
        let ours = found["issues"].as_array().into_iter().flatten().find(is_ours);
        Ok(ours.and_then(|issue| issue["key"].as_str()).map(|key| self.url(key)))
    }

    async fn create(
        &self,
        ticket: &TrackerTicket,
        labels: LabelMode,
    ) -> Result<String, TrackerError> {
        let mut fields = json!({
            "project": { "key": self.project }, "issuetype": { "name": KIND },
            "summary": ticket.title, "description": document::document(&ticket.body_without_marks(), &ticket.mark()),
        });
        match labels {
            // Jira creates unknown labels. The title has the severity.
            LabelMode::With => fields["labels"] = json!([own_label(ticket)]),
            LabelMode::Without => {}
        }
        let body = json!({ "fields": fields });
        let made = self
            .check(self.wire.post("/rest/api/3/issue", &body, TrackerRequestKind::Write).await?)?;
        match made["key"].as_str() {
            Some(key) => Ok(self.url(key)),
            None => Err(self.wire.failed("its reply has no ticket", TrackerRequestKind::Write)),
        }
    }
}
