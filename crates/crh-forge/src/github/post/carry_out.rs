//! Carries out a plan: does what [`Carrying`] says, one request after another, and tells it what came of each.

use serde_json::Value;

use super::Posting;
use super::carrying::Answer;
use super::carrying::Carrying;
use super::carrying::Step;
use super::plan::What;
use super::plan::Write;
use super::receipt::Outcome;
use crate::ForgeError;
use crate::github::Client;
use crate::github::Name;
use crate::github::read;

/// Posts a review to a pull request. What stands there is read first, since a review takes long. An error means that it could
/// not be read and nothing was written; whatever goes wrong later is in the outcome.
pub async fn carry_out(
    client: &Client,
    name: &Name,
    posting: &Posting<'_>,
) -> Result<Outcome, ForgeError> {
    let (_, standing) = read::proposal(client, name, posting.instance).await?;
    let mut carrying = Carrying::new(*posting);
    carrying.read(standing);
    loop {
        match carrying.next() {
            Step::Done(outcome) => return Ok(outcome),
            Step::Write(write) => {
                let answer = sent(client, &write).await;
                carrying.answered(answer);
            }
            Step::Read => match read::proposal(client, name, posting.instance).await {
                Ok((_, standing)) => carrying.read(standing),
                Err(error) => carrying.unreadable(&error.to_string()),
            },
        }
    }
}

async fn sent(client: &Client, write: &Write) -> Answer {
    let request = &write.request;
    let result: Result<Value, ForgeError> = match &write.what {
        What::Resolve { .. } => {
            let query = request.body["query"].as_str().unwrap_or_default();
            client.graphql(query, &request.body["variables"]).await
        }
        What::Review { .. } | What::NewSummary | What::Summary { .. } => {
            client.write(request.verb, &request.path, &request.body).await
        }
    };
    match result {
        Ok(_) => Answer::Done,
        Err(error) => answer(&error),
    }
}

/// What an error says about a write.
fn answer(error: &ForgeError) -> Answer {
    let said = error.to_string();
    match error {
        ForgeError::Refused { status: 422, .. } => Answer::Refused(said),
        ForgeError::Forbidden { .. } | ForgeError::NotFound { .. } => Answer::Forbidden(said),
        // It was applied, most likely; what stands there tells.
        ForgeError::Ambiguous { .. } | ForgeError::Unreadable { .. } => Answer::Unsure(said),
        ForgeError::Refused { .. }
        | ForgeError::BadToken { .. }
        | ForgeError::RateLimited { .. }
        | ForgeError::Unreachable { .. } => Answer::Failed(said),
    }
}
