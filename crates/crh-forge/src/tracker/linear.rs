//! Linear tickets, with GraphQL.

use secrecy::SecretString;
use serde_json::{Value, json};

use super::client::{TrackerClient, TrackerRequestKind, TrackerSetupError, error_message};
use super::filing::{LabelMode, TicketTracker};
use super::{FiledTicket, TrackerError, TrackerTicket, filing, has_marker, with_marker};
use crh_http::{BaseUrl, NetworkSettings};

/// Address of Linear. crh sends the key only there.
pub const LINEAR: &str = "https://api.linear.app";

const PATH: &str = "/graphql";

const PROBE: &str = "query Probe($team: String!) {
  viewer { id }
  teams(filter: { key: { eq: $team } }) { nodes { id } }
}";

/// Includes archived tickets: crh does not file their issues again.
const FIND: &str = "query Find($team: String!, $mark: String!) {
  issues(first: 20, includeArchived: true, filter: {
    team: { key: { eq: $team } }, creator: { isMe: { eq: true } }, description: { contains: $mark }
  }) { nodes { url description } }
}";

const TEAM_AND_LABELS: &str = "query Place($team: String!, $labels: [String!]!) {
  teams(filter: { key: { eq: $team } }) { nodes { id } }
  issueLabels(filter: { name: { in: $labels } }) { nodes { id team { key } } }
}";

const CREATE: &str = "mutation Create($input: IssueCreateInput!) {
  issueCreate(input: $input) { success issue { url } }
}";

/// Linear account and team.
pub struct LinearAccount {
    /// [`LINEAR`], except in tests.
    pub base: BaseUrl,
    /// Personal API key.
    pub key: SecretString,
    /// Team key, such as `ENG`.
    pub team: String,
}

/// A Linear team.
pub struct Linear {
    client: TrackerClient,
    team: String,
}

impl Linear {
    /// Creates a client without sending anything.
    pub fn new(
        network: &NetworkSettings,
        account: LinearAccount,
    ) -> Result<Self, TrackerSetupError> {
        let LinearAccount { base, key, team } = account;
        // Linear expects the key itself, without `Bearer`.
        let client = TrackerClient::new(network, "Linear", base, &key.clone(), key)?;
        Ok(Self { client, team })
    }

    /// Checks the key and the team.
    pub async fn probe(&self) -> Result<(), TrackerError> {
        let data =
            self.request(PROBE, json!({ "team": self.team }), TrackerRequestKind::Read).await?;
        self.team_id(&data).map(|_| ())
    }

    /// Files a ticket unless it exists.
    pub async fn file(&self, ticket: &TrackerTicket) -> Result<FiledTicket, TrackerError> {
        filing::file(self, ticket).await
    }

    fn team_id(&self, data: &Value) -> Result<String, TrackerError> {
        let id = data["teams"]["nodes"][0]["id"].as_str().map(str::to_owned);
        id.ok_or_else(|| TrackerError::Missing {
            what: format!("the team `{}` at Linear", self.team),
        })
    }

    /// Sends a GraphQL request and returns the data of the reply. Linear reports errors with status
    /// 200 and 400.
    async fn request(
        &self,
        query: &str,
        variables: Value,
        purpose: TrackerRequestKind,
    ) -> Result<Value, TrackerError> {
        let body = json!({ "query": query, "variables": variables });
        let reply = self.client.post(PATH, &body, purpose).await?;
        let message =
            || error_message(&reply.body).unwrap_or_else(|| format!("status {}", reply.status));
        let errors = reply.body["errors"].as_array().into_iter().flatten();
        let has_code = |word: &str| {
            errors.clone().any(|error| {
                error["extensions"]["code"].as_str().is_some_and(|code| code.contains(word))
            })
        };
        if has_code("AUTHENTICATION") {
            return Err(self.client.bad_key_error(&message()));
        }
        if has_code("INTERNAL") {
            return Err(self.client.failure_error(&message(), purpose));
        }
        let has_errors = errors.clone().next().is_some();
        match (has_errors || reply.status >= 400, reply.body.get("data")) {
            (true, _) => Err(self.client.refusal_error(&message())),
            (false, Some(data)) if data.is_object() => Ok(data.clone()),
            (false, _) => Err(self.client.failure_error("cannot parse its reply", purpose)),
        }
    }
}

impl TicketTracker for Linear {
    async fn find(&self, ticket: &TrackerTicket) -> Result<Option<String>, TrackerError> {
        let marker = ticket.marker();
        let variables = json!({ "team": self.team, "mark": marker });
        let data = self.request(FIND, variables, TrackerRequestKind::Read).await?;
        let nodes = data["issues"]["nodes"].as_array().into_iter().flatten();
        let own_nodes = nodes.filter(|node| {
            node["description"].as_str().is_some_and(|description| has_marker(description, &marker))
        });
        Ok(own_nodes.filter_map(|node| node["url"].as_str()).next().map(str::to_owned))
    }

    async fn create(
        &self,
        ticket: &TrackerTicket,
        labels: LabelMode,
    ) -> Result<String, TrackerError> {
        let names = match labels {
            LabelMode::With => ticket.labels.as_slice(),
            LabelMode::Without => &[],
        };
        let variables = json!({ "team": self.team, "labels": names });
        let team_and_labels =
            self.request(TEAM_AND_LABELS, variables, TrackerRequestKind::Read).await?;
        let labels = team_and_labels["issueLabels"]["nodes"].as_array().into_iter().flatten();
        // Labels without a team belong to all teams.
        let labels = labels.filter(|label| {
            label["team"].is_null() || label["team"]["key"].as_str() == Some(&self.team)
        });
        let labels: Vec<&str> = labels.filter_map(|label| label["id"].as_str()).collect();
        let mut input = json!({
            "teamId": self.team_id(&team_and_labels)?, "title": ticket.title, "description": with_marker(&ticket.body_without_markers(), &ticket.marker()),
        });
        if !labels.is_empty() {
            input["labelIds"] = json!(labels);
        }
        let data =
            self.request(CREATE, json!({ "input": input }), TrackerRequestKind::Write).await?;
        let created = &data["issueCreate"];
        match (created["success"].as_bool(), created["issue"]["url"].as_str()) {
            (Some(false), _) => {
                Err(self.client.refusal_error("it created no ticket and gave no reason"))
            }
            (Some(true) | None, Some(url)) => Ok(url.to_owned()),
            (Some(true) | None, None) => {
                Err(self.client.failure_error("its reply has no ticket", TrackerRequestKind::Write))
            }
        }
    }
}
