//! The forges, each in its own folder. [`ForgeName`] lists all of them; there is no other list.
//!
//! A forge with a plain REST API implements [`ForgeRules`] (what to post), [`RestForge`] (names,
//! reading, posting), [`RestLogins`](crate::rest::RestLogins) (servers and tokens of the user) and
//! [`RestServing`](crate::rest::RestServing) (webhooks, and requests of crh's server). The other
//! crates iterate over [`ForgeName::all_rest`].
//!
//! GitHub and Launchpad have their own clients, so other crates have code for them: the App, the
//! sign-in and check runs of GitHub, and the login of Launchpad.

pub mod gitea;
pub mod github;
pub mod gitlab;
pub mod launchpad;

use crate::posting::ForgeRules;
use crate::rest::RestForge;

/// A forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ForgeName {
    /// GitHub.
    GitHub,
    /// Launchpad: one comment with summary, vote and inline comments.
    Launchpad,
    /// GitLab.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
}

/// How to post to a proposed change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PostKind {
    /// A review with a summary and comments on lines.
    Review,
    /// One comment, which needs fewer permissions.
    Comment,
    /// A check run with annotations, which only an App or Actions may create; on other forges a
    /// commit status.
    CheckRun,
    /// Code scanning alerts.
    CodeScanning,
}

/// A way to post to a forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinkProfile {
    /// Name on the command line.
    pub name: &'static str,
    /// How it posts.
    pub kind: PostKind,
    /// Explanation in the help text.
    pub help: &'static str,
}

impl SinkProfile {
    const fn new(name: &'static str, kind: PostKind, help: &'static str) -> Self {
        Self { name, kind, help }
    }
}

impl ForgeName {
    /// All forges.
    pub const ALL: [Self; 4] = [Self::GitHub, Self::Launchpad, Self::GitLab, Self::Gitea];

    /// The implementation.
    pub fn rules(self) -> &'static dyn ForgeRules {
        match self {
            Self::GitHub => &github::post::GitHubRules,
            Self::Launchpad => &launchpad::post::LaunchpadRules,
            Self::GitLab => &gitlab::GitLab,
            Self::Gitea => &gitea::Gitea,
        }
    }

    /// The implementations of all forges with a plain REST API.
    pub fn all_rest() -> impl Iterator<Item = &'static dyn RestForge> {
        Self::ALL.into_iter().filter_map(|forge| forge.rules().rest())
    }

    /// Name of the sink that posts reviews.
    pub fn name(self) -> &'static str {
        self.rules().profile().sinks.first().map_or("", |sink| sink.name)
    }

    /// What the forge calls a proposed change.
    pub fn word(self) -> &'static str {
        self.rules().profile().kind.word()
    }
}
