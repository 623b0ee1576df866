//! Tickets of a project at Jira, by version 3 of its REST.

mod document;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::desk::{Desk, Labels};
use super::wire::{Answer, Purpose, SetupError, Wire, reason};
use super::{Filed, Ticket, TrackerError, desk};
use crh_http::{BaseUrl, Network};

/// Every project that comes with Jira has it.
const KIND: &str = "Task";

/// Whose tickets, and where.
pub struct JiraAccount {
    /// Where the Jira is.
    pub base: BaseUrl,
    /// The address of the account.
    pub email: String,
    /// Its token.
    pub token: SecretString,
    /// The key of the project, such as `SHOP`.
    pub project: String,
}

/// A project at Jira.
pub struct Jira {
    wire: Wire,
    project: String,
}

impl Jira {
    /// A way to ask a Jira. Nothing is asked yet.
    pub fn new(network: &Network, account: JiraAccount) -> Result<Self, SetupError> {
        let JiraAccount { base, email, token, project } = account;
        let pair = STANDARD.encode(format!("{email}:{}", token.expose_secret()));
        let authorization = SecretString::from(format!("Basic {pair}"));
        let wire = Wire::new(network, "Jira", base, &authorization, token)?;
        Ok(Self { wire, project })
    }

    /// Finds out whether the token is accepted and the project is there.
    pub async fn probe(&self) -> Result<(), TrackerError> {
        let answer = self.wire.get(&format!("/rest/api/3/project/{}", self.project)).await?;
        self.fine(answer).map(|_| ())
    }

    /// Files a ticket, unless it was.
    pub async fn file(&self, ticket: &Ticket) -> Result<Filed, TrackerError> {
        desk::file(self, ticket).await
    }

    /// The body of a success.
    fn fine(&self, answer: Answer) -> Result<Value, TrackerError> {
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

/// A label that finds a ticket again: Jira looks for labels as they are, and for words of a text as it understands them.
fn own_label(ticket: &Ticket) -> String {
    ticket.mark().replace(':', "-")
}

impl Desk for Jira {
    async fn find(&self, ticket: &Ticket) -> Result<Option<String>, TrackerError> {
        let (label, mark) = (own_label(ticket), ticket.mark());
        let word = mark.rsplit(':').next().unwrap_or_default();
        // Nothing in these names ends a text of the query.
        let query = format!(
            "project = \"{}\" AND creator = currentUser() AND (labels = \"{label}\" OR description ~ \"{word}\")",
            self.project
        );
        let body = json!({ "jql": query, "fields": ["labels", "description"], "maxResults": 50 });
        let answer = self.wire.post("/rest/api/3/search/jql", &body, Purpose::Read).await?;
        let found = self.fine(answer)?;
        let is_ours = |issue: &&Value| {
            let labels = issue["fields"]["labels"].as_array().into_iter().flatten();
            labels.filter_map(Value::as_str).any(|own| own == label)
                || document::has_text(&issue["fields"]["description"], &mark)
        };
        let ours = found["issues"].as_array().into_iter().flatten().find(is_ours);
        Ok(ours.and_then(|issue| issue["key"].as_str()).map(|key| self.url(key)))
    }

    async fn create(&self, ticket: &Ticket, labels: Labels) -> Result<String, TrackerError> {
        let mut fields = json!({
            "project": { "key": self.project }, "issuetype": { "name": KIND },
            "summary": ticket.title, "description": document::document(&ticket.body_without_marks(), &ticket.mark()),
        });
        match labels {
            // Jira makes every label that it is given: the severity stands in the title.
            Labels::With => fields["labels"] = json!([own_label(ticket)]),
            Labels::Without => {}
        }
        let body = json!({ "fields": fields });
        let made = self.fine(self.wire.post("/rest/api/3/issue", &body, Purpose::Write).await?)?;
        match made["key"].as_str() {
            Some(key) => Ok(self.url(key)),
            None => Err(self.wire.failed("its answer names no ticket", Purpose::Write)),
        }
    }
}
