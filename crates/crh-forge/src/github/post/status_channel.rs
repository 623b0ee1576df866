//! What shows a review beside the conversation of a pull request: a check run, and the alerts of code scanning.
//!
//! Neither is about a position in GitHub's diff, and neither is planned with the comments: a token that may write the one often
//! may not write the other.

use super::check_run::{check_run, post_check_run, standing_runs};
use super::plan::{Refusal, refusal};
use super::request::Request;
use super::sarif::{SarifError, post_sarif, sarif_upload};
use super::{Outcome, Posting};
use crate::ForgeError;
use crate::github::{Client, Name, read};
use crate::posted::{Delivery, Item, Receipt, Skip};

/// A place beside the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// A check run at the head, named after the installation.
    CheckRun,
    /// The alerts of code scanning.
    CodeScanning,
}

impl Beside {
    /// What a token needs to write there.
    fn needs(self) -> &'static str {
        match self {
            Self::CheckRun => {
                "a check run needs `checks: write` and a token of Actions or of an App; a personal one cannot make any"
            }
            Self::CodeScanning => {
                "code scanning needs `security-events: write`, and has to be switched on for the repository"
            }
        }
    }

    fn item(self) -> Item {
        match self {
            Self::CheckRun => Item::CheckRun,
            Self::CodeScanning => Item::CodeScanning,
        }
    }
}

/// Shows a review beside the conversation. An error means that the pull request could not be read and nothing was written.
pub async fn carry_out_beside(
    client: &Client,
    name: &Name,
    posting: &Posting<'_>,
    beside: Beside,
) -> Result<Outcome, ForgeError> {
    let (_, standing) = read::proposal(client, name, posting.instance).await?;
    if let Some(refusal) = refusal(posting, &standing) {
        return Ok(Outcome { refusal: Some(refusal), ..Outcome::default() });
    }
    let written = match beside {
        Beside::CheckRun => {
            let sent = post_check_run(client, posting.instance, posting).await;
            sent.map_err(SarifError::Forge)
        }
        Beside::CodeScanning => post_sarif(client, posting).await.map(|()| 1),
    };
    let delivery = match written {
        Ok(0) => Delivery::Skipped(Skip::Stands.to_string()),
        Ok(_) => Delivery::Posted,
        Err(error) => Delivery::Failed(told(&error, beside)),
    };
    let receipts = vec![Receipt { item: beside.item(), delivery }];
    Ok(Outcome { receipts, ..Outcome::default() })
}

/// Every request that would be made, or why none would.
pub async fn planned_beside(
    client: &Client,
    name: &Name,
    posting: &Posting<'_>,
    beside: Beside,
) -> Result<Result<Vec<Request>, Refusal>, SarifError> {
    let (_, standing) = read::proposal(client, name, posting.instance).await?;
    if let Some(refusal) = refusal(posting, &standing) {
        return Ok(Err(refusal));
    }
    let requests = match beside {
        Beside::CheckRun => {
            let standing = standing_runs(client, posting.instance, posting).await?;
            check_run(posting, posting.instance, &standing)
        }
        Beside::CodeScanning => vec![sarif_upload(posting)?],
    };
    Ok(Ok(requests))
}

/// What went wrong, with what a token needs where that may be the reason.
fn told(error: &SarifError, beside: Beside) -> String {
    match error {
        SarifError::Forge(ForgeError::Forbidden { .. } | ForgeError::NotFound { .. }) => {
            format!("{error}; {}", beside.needs())
        }
        SarifError::Forge(
            ForgeError::BadToken { .. }
            | ForgeError::RateLimited { .. }
            | ForgeError::Refused { .. }
            | ForgeError::Ambiguous { .. }
            | ForgeError::Failing { .. }
            | ForgeError::Unreachable { .. }
            | ForgeError::TooLarge { .. }
            | ForgeError::Bazaar { .. }
            | ForgeError::Unreadable { .. },
        )
        | SarifError::Written(_)
        | SarifError::Compressed(_)
        | SarifError::TooLarge(_) => error.to_string(),
    }
}
