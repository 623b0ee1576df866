//! Trackers: where a project keeps its tickets. An issue that is filed twice is one ticket: it is looked for before it is made,
//! among what our own account has made, and again where nobody knows whether it was.

#[path = "filing.rs"]
mod desk;
mod github;
mod jira;
mod linear;
#[path = "client.rs"]
mod wire;

pub use github::{Asked, GitHubIssues, Program};
pub use jira::{Jira, JiraAccount};
pub use linear::{LINEAR, Linear, LinearAccount};
use thiserror::Error;
pub use wire::SetupError;

/// As long an address as is passed on.
const URL_MAX: usize = 2_000;

/// What is to be filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// One line of plain text.
    pub title: String,
    /// Markdown. The mark by which the ticket is found again is added by the tracker, in a form that it keeps.
    pub body: String,
    /// What it may be labelled with, if the tracker has such a label.
    pub labels: Vec<String>,
    /// Names the issue across reviews.
    pub dedupe_key: String,
    /// The name of this installation: two of them file for themselves.
    pub instance: String,
}

/// A ticket that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed {
    /// Where it is.
    pub url: String,
    /// Whether it had been filed before.
    pub was_there: bool,
}

/// Why there is no ticket.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TrackerError {
    /// The key is not accepted.
    #[error("{tracker} does not accept the key: {message}")]
    BadKey {
        /// The tracker.
        tracker: String,
        /// What it said.
        message: String,
    },
    /// What the ticket would belong to is not there, is switched off, or cannot be seen with the key.
    #[error("{what} cannot be found: not there, switched off, or not for this key")]
    Missing {
        /// What is missing.
        what: String,
    },
    /// It was understood and refused, and nothing has changed.
    #[error("{tracker} refuses: {message}")]
    Refused {
        /// The tracker.
        tracker: String,
        /// What it said.
        message: String,
    },
    /// It was sent, and nobody knows what became of it. Whoever asks again looks first.
    #[error("nobody knows whether {tracker} has made the ticket: {message}")]
    Unknown {
        /// The tracker.
        tracker: String,
        /// What happened.
        message: String,
    },
    /// It could not be asked, or its answer could not be read. Nothing has changed.
    #[error("{tracker} could not be asked: {message}")]
    Unreachable {
        /// The tracker.
        tracker: String,
        /// What happened.
        message: String,
    },
}

impl Ticket {
    /// The mark by which a ticket is found again, where a tracker shows all that it is given.
    fn mark(&self) -> String {
        format!("crh:{}:{}", plain(&self.instance), plain(&self.dedupe_key))
    }

    /// The body in which nothing looks like such a mark: a text that quotes one must not stand for the ticket of another issue.
    fn body_without_marks(&self) -> String {
        let instance = plain(&self.instance);
        self.body.replace(&format!("crh:{instance}:"), &format!("crh: {instance}:"))
    }
}

/// A name inside a mark or a query: nothing in it ends a word.
fn plain(name: &str) -> String {
    let is_plain = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-');
    name.chars().filter(is_plain).collect()
}

/// A body with a mark as its last line.
fn marked(body: &str, mark: &str) -> String {
    format!("{}\n\n{mark}\n", body.trim_end())
}

/// Whether a text has a mark, as a line of its own.
fn has_mark(text: &str, mark: &str) -> bool {
    text.lines().any(|line| line.trim() == mark)
}

/// An address as it can be shown: whoever answers is not us.
fn shown_url(url: &str) -> String {
    url.chars().filter(char::is_ascii_graphic).take(URL_MAX).collect()
}
