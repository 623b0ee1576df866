//! Tickets of a team at Linear, by its GraphQL.

use secrecy::SecretString;
use serde_json::{Value, json};

use super::desk::{Desk, Labels};
use super::wire::{Purpose, SetupError, Wire, reason};
use super::{Filed, Ticket, TrackerError, desk, has_mark, marked};
use crh_http::{BaseUrl, Network};

/// Where Linear is. Its key goes nowhere else.
pub const LINEAR: &str = "https://api.linear.app";

const PATH: &str = "/graphql";

const PROBE: &str = "query Probe($team: String!) {
  viewer { id }
  teams(filter: { key: { eq: $team } }) { nodes { id } }
}";

/// Archived ones count as well: somebody has seen to them.
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

/// Whose tickets, and where.
pub struct LinearAccount {
    /// Where Linear is: [`LINEAR`], but in tests.
    pub base: BaseUrl,
    /// A personal key.
    pub key: SecretString,
    /// The key of the team, such as `ENG`.
    pub team: String,
}

/// A team at Linear.
pub struct Linear {
    wire: Wire,
    team: String,
}

impl Linear {
    /// A way to ask Linear. Nothing is asked yet.
    pub fn new(network: &Network, account: LinearAccount) -> Result<Self, SetupError> {
        let LinearAccount { base, key, team } = account;
        // The key itself, without a word before it.
        let wire = Wire::new(network, "Linear", base, &key.clone(), key)?;
        Ok(Self { wire, team })
    }

    /// Finds out whether the key is accepted and the team is there.
    pub async fn probe(&self) -> Result<(), TrackerError> {
        let data = self.ask(PROBE, json!({ "team": self.team }), Purpose::Read).await?;
        self.team_id(&data).map(|_| ())
    }

    /// Files a ticket, unless it was.
    pub async fn file(&self, ticket: &Ticket) -> Result<Filed, TrackerError> {
        desk::file(self, ticket).await
    }

    fn team_id(&self, data: &Value) -> Result<String, TrackerError> {
        let id = data["teams"]["nodes"][0]["id"].as_str().map(str::to_owned);
        id.ok_or_else(|| TrackerError::Missing {
            what: format!("the team `{}` at Linear", self.team),
        })
    }

    /// The data of an answer. Linear tells of failures with status 200 and with 400.
    async fn ask(
        &self,
        query: &str,
        variables: Value,
        purpose: Purpose,
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
            (false, _) => Err(self.wire.failed("its answer cannot be read", purpose)),
        }
    }
}

impl Desk for Linear {
    async fn find(&self, ticket: &Ticket) -> Result<Option<String>, TrackerError> {
        let mark = ticket.mark();
        let variables = json!({ "team": self.team, "mark": mark });
        let data = self.ask(FIND, variables, Purpose::Read).await?;
        let nodes = data["issues"]["nodes"].as_array().into_iter().flatten();
        let ours = nodes.filter(|node| {
            node["description"].as_str().is_some_and(|description| has_mark(description, &mark))
        });
        Ok(ours.filter_map(|node| node["url"].as_str()).next().map(str::to_owned))
    }

    async fn create(&self, ticket: &Ticket, labels: Labels) -> Result<String, TrackerError> {
        let names = match labels {
            Labels::With => ticket.labels.as_slice(),
            Labels::Without => &[],
        };
        let variables = json!({ "team": self.team, "labels": names });
        let place = self.ask(PLACE, variables, Purpose::Read).await?;
        let labels = place["issueLabels"]["nodes"].as_array().into_iter().flatten();
        // A label without a team is everybody's.
        let labels = labels.filter(|label| {
            label["team"].is_null() || label["team"]["key"].as_str() == Some(&self.team)
        });
        let labels: Vec<&str> = labels.filter_map(|label| label["id"].as_str()).collect();
        let mut input = json!({
            "teamId": self.team_id(&place)?, "title": ticket.title, "description": marked(&ticket.body_without_marks(), &ticket.mark()),
        });
        if !labels.is_empty() {
            input["labelIds"] = json!(labels);
        }
        let made = self.ask(CREATE, json!({ "input": input }), Purpose::Write).await?;
        let made = &made["issueCreate"];
        match (made["success"].as_bool(), made["issue"]["url"].as_str()) {
            (Some(false), _) => Err(self.wire.refused("it made no ticket, and does not say why")),
            (Some(true) | None, Some(url)) => Ok(url.to_owned()),
            (Some(true) | None, None) => {
                Err(self.wire.failed("its answer names no ticket", Purpose::Write))
            }
        }
    }
}
