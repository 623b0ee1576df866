//! Carries out a plan: one request, and a look at what stands if nobody knows what became of it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::plan::{Plan, Refusal, found, plan};
use super::{Outcome, Posting};
use crate::ForgeError;
use crate::launchpad::{Client, Name, Standing, read};
use crate::posted::{Delivery, Receipt, Skip};

/// How long is waited before each look at what stands, after a write of which nobody knows whether it was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// Before the first look, the second and the third.
    pub looks: [Duration; 3],
}

impl Default for Waits {
    /// Launchpad cuts a request after half a minute and may work on it until then.
    fn default() -> Self {
        Self { looks: [5, 15, 30].map(Duration::from_secs) }
    }
}

/// Posts a review to a merge proposal. What stands there is read first, since a review takes long. An error means that it could not
/// be read and nothing was written; whatever goes wrong later is in the outcome.
pub async fn carry_out(
    client: &Client,
    name: &Name,
    posting: &Posting<'_>,
    waits: &Waits,
) -> Result<Outcome, ForgeError> {
    let (plan, standing) = planned(client, name, posting).await?;
    let Some(write) = &plan.write else {
        let url = place(posting, &standing);
        return Ok(outcome(plan, Ok(()), url));
    };
    match client.create(&write.path, &write.form).await {
        Ok(path) => {
            // The page of something has the path that it has in the web service.
            let url = format!("{}/{path}", client.service().code());
            Ok(outcome(plan, Ok(()), Some(url)))
        }
        Err(ForgeError::Ambiguous { message, .. }) => {
            let (found, url) = looked(client, name, posting, waits, message).await;
            Ok(outcome(plan, found, url))
        }
        Err(error) => Ok(outcome(plan, Err(error.to_string()), None)),
    }
}

/// What is to be written for a review, given what stands there now; and that.
pub async fn planned(
    client: &Client,
    name: &Name,
    posting: &Posting<'_>,
) -> Result<(Plan, Standing), ForgeError> {
    let (_, standing) = read::proposal(client, name).await?;
    let plan = plan(posting, &standing);
    let Some(round) = plan.round(&standing) else { return Ok((plan, standing)) };
    let path = &standing.proposal.path;
    let path = format!("{path}?ws.op=getDraftInlineComments&previewdiff_id={}", round.id);
    let drafts: Option<BTreeMap<String, String>> = client.get_json(&path).await?;
    if drafts.is_none_or(|drafts| drafts.is_empty()) {
        return Ok((plan, standing));
    }
    let who = standing.viewer.clone().unwrap_or_default();
    Ok((Plan { refusal: Some(Refusal::Drafts { who }), ..Plan::default() }, standing))
}

/// Looks whether a comment came to stand of which nobody knows it. It is never sent again: the next run does that, which reads
/// first what stands.
async fn looked(
    client: &Client,
    name: &Name,
    posting: &Posting<'_>,
    waits: &Waits,
    why: String,
) -> (Result<(), String>, Option<String>) {
    let mut why = format!("it was not there after {why}");
    for wait in waits.looks {
        tokio::time::sleep(wait).await;
        match read::proposal(client, name).await {
            Ok((_, standing)) => {
                if let Some(url) = place(posting, &standing) {
                    return (Ok(()), Some(url));
                }
            }
            Err(error) => why = format!("what stands could not be read: {error}"),
        }
    }
    (Err(why), None)
}

/// Where the summary stands that says what is to be said.
fn place(posting: &Posting<'_>, standing: &Standing) -> Option<String> {
    let own = found(posting, standing)?;
    Some(if own.url.is_empty() { standing.proposal.url.clone() } else { own.url.clone() })
}

fn outcome(plan: Plan, applied: Result<(), String>, url: Option<String>) -> Outcome {
    let Plan { refusal, posted, skipped, notes, write: _ } = plan;
    let posted = posted.into_iter().map(|item| {
        let delivery = match &applied {
            Ok(()) => Delivery::Posted,
            Err(why) => Delivery::Failed(why.clone()),
        };
        Receipt { item, delivery }
    });
    let skipped = skipped.into_iter().map(|(item, skip)| {
        let delivery = match (&applied, &skip) {
            // Without the summary it is nowhere.
            (Err(why), Skip::InSummary { .. }) => Delivery::Failed(why.clone()),
            (Ok(()) | Err(_), _) => Delivery::Skipped(skip.to_string()),
        };
        Receipt { item, delivery }
    });
    let mut receipts: Vec<Receipt> = posted.chain(skipped).collect();
    receipts.sort_by(|one, other| one.item.cmp(&other.item));
    Outcome { refusal, receipts, notes, url }
}
