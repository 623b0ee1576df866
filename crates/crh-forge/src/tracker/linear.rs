//! Linear tickets, with GraphQL.

use secrecy::SecretString;
use serde_json::{Value, json};

use super::client::{TrackerClient, TrackerRequestKind, TrackerSetupError, reason};
use super::filing::{LabelMode, TicketTracker};
use super::{FiledTicket, TrackerError, TrackerTicket, filing, has_mark, with_mark};
use crh_http::{BaseUrl, NetworkSettings};

/// Address of Linear. The key goes only there.
pub const LINEAR: &str = "https://api.linear.app";

const PATH: &str = "/graphql";

const PROBE: &str = "query Probe($team: String!) {
  viewer { id }
  teams(filter: { key: { eq: $team } }) { nodes { id } }
}";

/// Includes archived tickets, which were handled.
const FIND: &str = "query Find($team: String!, $mark: String!) {
  issues(first: 20, includeArchived: true, filter: {
    team: { key: { eq: $team } }, creator: { isMe: { eq: true } }, description: { contains: $mark }
  }) { nodes { url description } }
}";

const PLACE: &str = "query Place($team: String!, $labels: [String!]!) {
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
    wire: TrackerClient,
    team: String,
}

impl Linear {
    /// Creates a client without sending anything.
    pub fn new(
        network: &NetworkSettings,
        account: LinearAccount,
    ) -> Result<Self, TrackerSetupError> {
        let LinearAccount { base, key, team } = account;
        // The bare key, without `Bearer`.
        let wire = TrackerClient::new(network, "Linear", base, &key.clone(), key)?;
        Ok(Self { wire, team })
    }

    /// Checks the key and the team.
    pub async fn probe(&self) -> Result<(), TrackerError> {
        let data = self.ask(PROBE, json!({ "team": self.team }), TrackerRequestKind::Read).await?;
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

    /// Returns the data of a reply. Linear reports errors with status 200 and 400.
    async fn ask(
        &self,
        query: &str,
        variables: Value,
        purpose: TrackerRequestKind,
    ) -> Result<Value, TrackerError> {
        let body = json!({ "query": query, "variables": variables });
        let answer = self.wire.post(PATH, &body, purpose).await?;
        let said = || reason(&answer.body).unwrap_or_else(|| format!("status {}", answer.status));
        let codes = answer.body["errors"].as_array().into_iter().flatten();
        let has = |word: &str| {
            codes.clone().any(|error| {
                error["extensions"]["code"].as_str().is_some_and(|code| code.contains(word))
            })
        };
        if has("AUTHENTICATION") {
            return Err(self.wire.bad_key(&said()));
        }
        if has("INTERNAL") {
            return Err(self.wire.failed(&said(), purpose));
        }
        let has_errors = codes.clone().next().is_some();
        match (has_errors || answer.status >= 400, answer.body.get("data")) {
            (true, _) => Err(self.wire.refused(&said())),
            (false, Some(data)) if data.is_object() => Ok(data.clone()),
            (false, _) => Err(self.wire.failed("cannot parse its reply", purpose)),
        }
    }
}

impl TicketTracker for Linear {
    async fn find(&self, ticket: &TrackerTicket) -> Result<Option<String>, TrackerError> {
        let mark = ticket.mark();
        let variables = json!({ "team": self.team, "mark": mark });
        let data = self.ask(FIND, variables, TrackerRequestKind::Read).await?;
        let nodes = data["issues"]["nodes"].as_array().into_iter().flatten();
        let ours = nodes.filter(|node| {
            node["description"].as_str().is_some_and(|description| has_mark(description, &mark))
        });
        Ok(ours.filter_map(|node| node["url"].as_str()).next().map(str::to_owned))
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
        let place = self.ask(PLACE, variables, TrackerRequestKind::Read).await?;
        let labels = place["issueLabels"]["nodes"].as_array().into_iter().flatten();
        // Labels without a team belong to all teams.
        let labels = labels.filter(|label| {
            label["team"].is_null() || label["team"]["key"].as_str() == Some(&self.team)
        });
        let labels: Vec<&str> = labels.filter_map(|label| label["id"].as_str()).collect();
        let mut input = json!({
            "teamId": self.team_id(&place)?, "title": ticket.title, "description": with_mark(&ticket.body_without_marks(), &ticket.mark()),
        });
        if !labels.is_empty() {
            input["labelIds"] = json!(labels);
        }
        let made = self.ask(CREATE, json!({ "input": input }), TrackerRequestKind::Write).await?;
        let made = &made["issueCreate"];
        match (made["success"].as_bool(), made["issue"]["url"].as_str()) {
            (Some(false), _) => Err(self.wire.refused("it created no ticket and gave no reason")),
            (Some(true) | None, Some(url)) => Ok(url.to_owned()),
            (Some(true) | None, None) => {
                Err(self.wire.failed("its reply has no ticket", TrackerRequestKind::Write))
            }
        }
    }
}
