//! Issue trackers. Each issue gets at most one ticket. Before crh creates a ticket, and after a
//! request without a reply, it looks for the ticket among those of its own account.

mod client;
mod filing;
mod github;
mod jira;
mod linear;

pub use client::TrackerSetupError;
pub use github::{GitHubIssues, GitHubProgram, GitHubProgramCall};
pub use jira::{Jira, JiraAccount};
pub use linear::{LINEAR, Linear, LinearAccount};
use thiserror::Error;

/// Longest ticket address that crh shows, in characters. Browsers accept about as many.
const URL_MAX: usize = 2_000;

/// A ticket to file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackerTicket {
    /// Plain text, one line.
    pub title: String,
    /// Markdown, without the marker: the line by which crh finds the ticket again.
    pub body: String,
    /// Labels to set if they exist on the tracker.
    pub labels: Vec<String>,
    /// Key of the issue, stable across reviews.
    pub dedupe_key: String,
    /// Name of this installation. Installations file separately.
    pub instance: String,
}

/// An existing ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiledTicket {
    /// Web address.
    pub url: String,
    /// Whether the ticket existed before.
    pub already_filed: bool,
}

/// Why a ticket was not filed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TrackerError {
    /// The tracker rejects the key.
    #[error("{tracker} rejected the key: {message}")]
    BadKey {
        /// The tracker.
        tracker: String,
        /// Its message.
        message: String,
    },
    /// The project, team or issue list is missing, disabled or not visible.
    #[error("{what} was not found: missing, disabled, or not visible with this key")]
    Missing {
        /// What is missing.
        what: String,
    },
    /// The tracker refused. Nothing changed.
    #[error("{tracker} refused: {message}")]
    Refused {
        /// The tracker.
        tracker: String,
        /// Its message.
        message: String,
    },
    /// The tracker may or may not have created the ticket. The next attempt looks for it first.
    #[error("cannot tell whether {tracker} created the ticket: {message}")]
    OutcomeUnknown {
        /// The tracker.
        tracker: String,
        /// What happened.
        message: String,
    },
    /// No usable reply. Nothing changed.
    #[error("cannot reach {tracker}: {message}")]
    Unreachable {
        /// The tracker.
        tracker: String,
        /// What happened.
        message: String,
    },
}

impl TrackerTicket {
    /// Marker: the last line of a ticket, by which crh finds the ticket of an issue again. Jira and
    /// Linear show it. GitHub tickets have a hidden HTML comment instead.
    fn marker(&self) -> String {
        format!(
            "crh:{}:{}",
            without_special_chars(&self.instance),
            without_special_chars(&self.dedupe_key)
        )
    }

    /// The body with a space inside each marker that it quotes. Otherwise crh could take this
    /// ticket for the ticket of the quoted issue.
    fn body_without_markers(&self) -> String {
        let instance = without_special_chars(&self.instance);
        self.body.replace(&format!("crh:{instance}:"), &format!("crh: {instance}:"))
    }
}

/// A name without characters that need quoting in a marker or in a search query.
fn without_special_chars(name: &str) -> String {
    let is_plain = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-');
    name.chars().filter(is_plain).collect()
}

/// Adds the marker as the last line.
fn with_marker(body: &str, marker: &str) -> String {
    format!("{}\n\n{marker}\n", body.trim_end())
}

/// Whether a line of the text is the marker.
fn has_marker(text: &str, marker: &str) -> bool {
    text.lines().any(|line| line.trim() == marker)
}

/// An address from a reply, cut to [`URL_MAX`] visible ASCII characters.
fn displayable_url(url: &str) -> String {
    url.chars().filter(char::is_ascii_graphic).take(URL_MAX).collect()
}
