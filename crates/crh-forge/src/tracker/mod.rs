//! Issue trackers. An issue gets one ticket: crh looks for it among the tickets of its own account
//! before it creates one, and again after an unconfirmed request.

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

/// Longest address in messages.
const URL_MAX: usize = 2_000;

/// A ticket to file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackerTicket {
    /// Plain text, one line.
    pub title: String,
    /// Markdown. The tracker adds a mark to find the ticket again.
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
    /// Whether it existed before.
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
    /// Unknown whether the ticket was created. The next attempt looks for it first.
    #[error("cannot tell whether {tracker} created the ticket: {message}")]
    Unknown {
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
    /// Visible mark to find a ticket again.
    fn mark(&self) -> String {
        format!("crh:{}:{}", plain(&self.instance), plain(&self.dedupe_key))
    }

    /// Breaks marks in the body, so that a quoted mark does not stand for another issue's ticket.
    fn body_without_marks(&self) -> String {
        let instance = plain(&self.instance);
        self.body.replace(&format!("crh:{instance}:"), &format!("crh: {instance}:"))
    }
}

/// A name that needs no quoting in a mark or query.
fn plain(name: &str) -> String {
    let is_plain = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-');
    name.chars().filter(is_plain).collect()
}

/// Adds the mark as the last line.
fn with_mark(body: &str, mark: &str) -> String {
    format!("{}\n\n{mark}\n", body.trim_end())
}

/// Whether a line of the text is the mark.
fn has_mark(text: &str, mark: &str) -> bool {
    text.lines().any(|line| line.trim() == mark)
}

/// Limits an address from a reply to visible characters.
fn displayable_url(url: &str) -> String {
    url.chars().filter(char::is_ascii_graphic).take(URL_MAX).collect()
}
