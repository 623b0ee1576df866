//! Jira tickets, with REST API version 3.

mod document;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::client::{
    TrackerClient, TrackerReply, TrackerRequestKind, TrackerSetupError, error_message,
};
use super::filing::{LabelMode, TicketTracker};
use super::{FiledTicket, TrackerError, TrackerTicket, filing};
use crh_http::{BaseUrl, NetworkSettings};

/// Issue type that Jira projects have by default.
const ISSUE_TYPE: &str = "Task";

/// Jira account and project.
pub struct JiraAccount {
    /// Address of the Jira server.
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
    client: TrackerClient,
    project: String,
}

impl Jira {
    /// Creates a client without sending anything.
    pub fn new(network: &NetworkSettings, account: JiraAccount) -> Result<Self, TrackerSetupError> {
        let JiraAccount { base, email, token, project } = account;
        let pair = STANDARD.encode(format!("{email}:{}", token.expose_secret()));
        let authorization = SecretString::from(format!("Basic {pair}"));
        let client = TrackerClient::new(network, "Jira", base, &authorization, token)?;
        Ok(Self { client, project })
    }

    /// Checks the token and the project.
    pub async fn probe(&self) -> Result<(), TrackerError> {
        let reply = self.client.get(&format!("/rest/api/3/project/{}", self.project)).await?;
        self.success_body(reply).map(|_| ())
    }

    /// Files a ticket unless it exists.
    pub async fn file(&self, ticket: &TrackerTicket) -> Result<FiledTicket, TrackerError> {
        filing::file(self, ticket).await
    }

    /// The body of a successful reply, or an error.
    fn success_body(&self, reply: TrackerReply) -> Result<Value, TrackerError> {
        match reply.status {
            200..=299 => Ok(reply.body),
            404 => Err(TrackerError::Missing {
                what: format!("the project `{}` at Jira", self.project),
            }),
            status => {
                let message =
                    error_message(&reply.body).unwrap_or_else(|| format!("status {status}"));
                Err(self.client.refusal_error(&message))
            }
        }
    }

    fn url(&self, key: &str) -> String {
        format!("{}/browse/{key}", self.client.base().as_str())
    }
}

/// Label by which crh finds a ticket again. Jira compares labels exactly, but texts only word by
/// word.
fn marker_label(ticket: &TrackerTicket) -> String {
    ticket.marker().replace(':', "-")
}

impl TicketTracker for Jira {
    async fn find(&self, ticket: &TrackerTicket) -> Result<Option<String>, TrackerError> {
        let (label, marker) = (marker_label(ticket), ticket.marker());
        let key = marker.rsplit(':').next().unwrap_or_default();
        // The project key, the label and the key contain no quotes.
        let query = format!(
            "project = \"{}\" AND creator = currentUser() AND (labels = \"{label}\" OR description ~ \"{key}\")",
            self.project
        );
        let body = json!({ "jql": query, "fields": ["labels", "description"], "maxResults": 50 });
        let reply =
            self.client.post("/rest/api/3/search/jql", &body, TrackerRequestKind::Read).await?;
        let results = self.success_body(reply)?;
        let is_ours = |issue: &&Value| {
            let labels = issue["fields"]["labels"].as_array().into_iter().flatten();
            labels.filter_map(Value::as_str).any(|name| name == label)
                || document::has_text(&issue["fields"]["description"], &marker)
        };
        let own_issue = results["issues"].as_array().into_iter().flatten().find(is_ours);
        Ok(own_issue.and_then(|issue| issue["key"].as_str()).map(|key| self.url(key)))
    }

    async fn create(
        &self,
        ticket: &TrackerTicket,
        labels: LabelMode,
    ) -> Result<String, TrackerError> {
        let mut fields = json!({
            "project": { "key": self.project }, "issuetype": { "name": ISSUE_TYPE },
            "summary": ticket.title, "description": document::document(&ticket.body_without_markers(), &ticket.marker()),
        });
        match labels {
            // Only crh's own label: Jira would create labels that do not exist. The severity is in
            // the title.
            LabelMode::With => fields["labels"] = json!([marker_label(ticket)]),
            LabelMode::Without => {}
        }
        let body = json!({ "fields": fields });
        let created = self.success_body(
            self.client.post("/rest/api/3/issue", &body, TrackerRequestKind::Write).await?,
        )?;
        match created["key"].as_str() {
            Some(key) => Ok(self.url(key)),
            None => {
                Err(self.client.failure_error("its reply has no ticket", TrackerRequestKind::Write))
            }
        }
    }
}
