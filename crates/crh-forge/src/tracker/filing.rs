//! How a ticket is filed, at any tracker.

use super::{Filed, Ticket, TrackerError, shown_url};

/// A tracker, as far as filing needs it.
pub(super) trait Desk {
    /// Where the ticket of an issue is that our own account made, open or closed; none if there is none.
    async fn find(&self, ticket: &Ticket) -> Result<Option<String>, TrackerError>;

    /// Makes a ticket; where it is. It is asked for once.
    async fn create(&self, ticket: &Ticket, labels: Labels) -> Result<String, TrackerError>;
}

/// Whether a ticket has its labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Labels {
    /// Those that the tracker has.
    With,
    /// None.
    Without,
}

/// Files a ticket, unless it was. A ticket without labels is better than none.
pub(super) async fn file(desk: &impl Desk, ticket: &Ticket) -> Result<Filed, TrackerError> {
    let filed = |url: String, was_there| Filed { url: shown_url(&url), was_there };
    if let Some(url) = desk.find(ticket).await? {
        let was_there = true;
        return Ok(filed(url, was_there));
    }
    let created = match desk.create(ticket, Labels::With).await {
        Err(TrackerError::Refused { .. }) if !ticket.labels.is_empty() => {
            desk.create(ticket, Labels::Without).await
        }
        created => created,
    };
    let was_there = false;
    match created {
        Ok(url) => Ok(filed(url, was_there)),
        Err(unknown @ TrackerError::Unknown { .. }) => match desk.find(ticket).await {
            Ok(Some(url)) => Ok(filed(url, was_there)),
            // To make another one would be to guess. Whoever tries again looks first.
            Ok(None) | Err(_) => Err(unknown),
        },
        Err(error) => Err(error),
    }
}
