//! Files a ticket on any tracker.

use super::{FiledTicket, TrackerError, TrackerTicket, displayable_url};

/// Operations that filing needs.
pub(super) trait TicketTracker {
    /// Address of the ticket that our account filed for the issue, open or closed.
    async fn find(&self, ticket: &TrackerTicket) -> Result<Option<String>, TrackerError>;

    /// Creates a ticket and returns its address. Sent once.
    async fn create(
        &self,
        ticket: &TrackerTicket,
        labels: LabelMode,
    ) -> Result<String, TrackerError>;
}

/// Whether to set labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelMode {
    /// Labels that exist on the tracker.
    With,
    /// No labels.
    Without,
}

/// Files a ticket unless it exists. Drops the labels if the tracker refuses them.
pub(super) async fn file(
    tracker: &impl TicketTracker,
    ticket: &TrackerTicket,
) -> Result<FiledTicket, TrackerError> {
    let filed = |url: String, was_there| FiledTicket {
        url: displayable_url(&url),
        already_filed: was_there,
    };
    if let Some(url) = tracker.find(ticket).await? {
        let was_there = true;
        return Ok(filed(url, was_there));
    }
    let created = match tracker.create(ticket, LabelMode::With).await {
        Err(TrackerError::Refused { .. }) if !ticket.labels.is_empty() => {
            tracker.create(ticket, LabelMode::Without).await
        }
        created => created,
    };
    let was_there = false;
    match created {
        Ok(url) => Ok(filed(url, was_there)),
        Err(unknown @ TrackerError::Unknown { .. }) => match tracker.find(ticket).await {
            Ok(Some(url)) => Ok(filed(url, was_there)),
            // Creating another one could duplicate it. The next attempt looks for it first.
            Ok(None) | Err(_) => Err(unknown),
        },
        Err(error) => Err(error),
    }
}
