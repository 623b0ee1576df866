//! Files a ticket on any tracker.

use super::{FiledTicket, TrackerError, TrackerTicket, displayable_url};

/// Operations that filing needs.
pub(super) trait TicketTracker {
    /// Address of the ticket that our account filed for the issue, open or closed.
    async fn find(&self, ticket: &TrackerTicket) -> Result<Option<String>, TrackerError>;

    /// Creates a ticket and returns its address. Sends one request, without retries.
    async fn create(
        &self,
        ticket: &TrackerTicket,
        labels: LabelMode,
    ) -> Result<String, TrackerError>;
}

/// Whether to set labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelMode {
    /// Set those labels of the ticket that exist on the tracker; on Jira, only crh's own label.
    With,
    /// Set no labels.
    Without,
}

/// Files a ticket unless it exists. If the tracker refuses the ticket with labels, crh tries again
/// without labels.
pub(super) async fn file(
    tracker: &impl TicketTracker,
    ticket: &TrackerTicket,
) -> Result<FiledTicket, TrackerError> {
    let filed_ticket =
        |url: String, already_filed| FiledTicket { url: displayable_url(&url), already_filed };
    if let Some(url) = tracker.find(ticket).await? {
        let already_filed = true;
        return Ok(filed_ticket(url, already_filed));
    }
    let created = match tracker.create(ticket, LabelMode::With).await {
        Err(TrackerError::Refused { .. }) if !ticket.labels.is_empty() => {
            tracker.create(ticket, LabelMode::Without).await
        }
        created => created,
    };
    let already_filed = false;
    match created {
        Ok(url) => Ok(filed_ticket(url, already_filed)),
        Err(unknown @ TrackerError::OutcomeUnknown { .. }) => match tracker.find(ticket).await {
            Ok(Some(url)) => Ok(filed_ticket(url, already_filed)),
            // A second `create` could duplicate the ticket. When the user files the issue again,
            // crh looks for the ticket first.
            Ok(None) | Err(_) => Err(unknown),
        },
        Err(error) => Err(error),
    }
}
