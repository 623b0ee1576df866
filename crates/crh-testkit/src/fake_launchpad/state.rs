//! State of the fake: people, tokens, repositories and discussions.

use std::collections::BTreeMap;

use crate::fake_github::git::FakeBareRepository;

/// Start of the fake's clock, 2026-01-01. Each event adds a second.
const FIRST_SECOND: u64 = 1_767_225_600;

#[derive(Debug, Default)]
pub(super) struct FakeLaunchpadState {
    pub(super) people: BTreeMap<String, Person>,
    pub(super) tokens: BTreeMap<String, Token>,
    /// Requested tokens that were not exchanged yet.
    pub(super) request_tokens: BTreeMap<String, RequestToken>,
    /// Git access tokens, with their accounts.
    pub(super) git_tokens: BTreeMap<String, String>,
    pub(super) repositories: Vec<Repository>,
    /// By path, such as `~ann/shop/+git/shop/+merge/12`.
    pub(super) proposals: BTreeMap<String, Proposal>,
    /// Current paths of merge proposals, by former path.
    pub(super) moved: BTreeMap<String, String>,
    pub(super) bugs: BTreeMap<u64, Bug>,
    /// Description of the web service, if a test provides one.
    pub(super) wadl: Option<String>,
    pub(super) surprises: Vec<String>,
    /// Page size, if not the default.
    pub(super) page: Option<usize>,
    ids: u64,
    second: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Person {
    pub(super) name: String,
    pub(super) display_name: String,
}

#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) consumer: String,
    pub(super) secret: String,
    pub(super) person: String,
}

#[derive(Debug, Clone)]
pub(super) struct RequestToken {
    pub(super) consumer: String,
    pub(super) secret: String,
    pub(super) decision: Decision,
}

/// Decision about a requested token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// None yet.
    Open,
    /// Authorized by this person.
    Yes(String),
    No,
}

#[derive(Debug)]
pub(super) struct Repository {
    pub(super) id: u64,
    /// Unique name, such as `~acme/shop/+git/shop`.
    pub(super) name: String,
    pub(super) private: bool,
    pub(super) bare: FakeBareRepository,
    pub(super) status_reports: Vec<StatusReport>,
}

/// A status report.
#[derive(Debug, Clone)]
pub(super) struct StatusReport {
    pub(super) id: u64,
    pub(super) commit: String,
    pub(super) title: String,
    pub(super) result: String,
    pub(super) summary: Option<String>,
    pub(super) url: Option<String>,
    pub(super) created: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Bug {
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) description: String,
}

#[derive(Debug, Clone)]
pub(super) struct Proposal {
    pub(super) id: u64,
    pub(super) path: String,
    pub(super) registrant: String,
    /// Repository and branch; for Bazaar the branch name and an empty text.
    pub(super) source: (String, String),
    pub(super) target: (String, String),
    pub(super) bazaar: bool,
    pub(super) description: Option<String>,
    pub(super) commit_message: Option<String>,
    pub(super) status: String,
    pub(super) created: u64,
    pub(super) diffs: Vec<PreviewDiff>,
    pub(super) comments: Vec<Comment>,
    /// Comment with the last vote of each reviewer.
    pub(super) votes: BTreeMap<String, u64>,
    pub(super) bugs: Vec<u64>,
    /// Draft comments by account and preview diff.
    pub(super) drafts: BTreeMap<(String, u64), BTreeMap<u64, String>>,
}

#[derive(Debug, Clone)]
pub(super) struct PreviewDiff {
    pub(super) id: u64,
    pub(super) created: u64,
    pub(super) source_revision: String,
    pub(super) target_revision: String,
    /// The merge compared with the target, with conflict markers.
    pub(super) text: Vec<u8>,
    /// Conflicting files.
    pub(super) conflicts: Vec<String>,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Id.
    pub id: u64,
    /// Author.
    pub author: String,
    /// The subject; empty if Launchpad made one.
    pub subject: String,
    /// The text.
    pub content: String,
    /// The vote that came with it.
    pub vote: Option<String>,
    /// Creation time in seconds.
    pub created: u64,
    /// Preview diff of its inline comments.
    pub preview_diff: Option<u64>,
    /// Inline comments by line of the diff.
    pub inline: BTreeMap<u64, String>,
}

impl FakeLaunchpadState {
    /// A new unique id.
    pub(super) fn id(&mut self) -> u64 {
        self.ids += 1;
        1_000 + self.ids
    }

    /// Advances the clock by a second.
    pub(super) fn tick(&mut self) -> u64 {
        self.second += 1;
        FIRST_SECOND + self.second
    }

    /// Creates the person if it does not exist.
    pub(super) fn ensure(&mut self, name: &str) {
        let person = || Person { name: name.to_owned(), display_name: format!("{name} (person)") };
        self.people.entry(name.to_owned()).or_insert_with(person);
    }

    pub(super) fn repository(&self, name: &str) -> Option<&Repository> {
        self.repositories.iter().find(|repository| repository.name == name)
    }

    pub(super) fn repository_mut(&mut self, name: &str) -> Option<&mut Repository> {
        self.repositories.iter_mut().find(|repository| repository.name == name)
    }

    /// Whether one of its repositories is private.
    pub(super) fn is_private(&self, proposal: &Proposal) -> bool {
        let is_private = |name: &str| self.repository(name).is_some_and(|it| it.private);
        is_private(&proposal.source.0) || is_private(&proposal.target.0)
    }

    /// Tip of a branch.
    pub(super) fn tip(&self, (repository, branch): &(String, String)) -> Option<String> {
        self.repository(repository)?.bare.tip(branch)
    }
}

impl PreviewDiff {
    /// Number of lines.
    pub(super) fn lines(&self) -> usize {
        self.text.split_inclusive(|byte| *byte == b'\n').count()
    }

    /// Number of rows as Launchpad's pages count them: form feeds and some other control characters
    /// end a row, too.
    pub(super) fn rows(&self) -> usize {
        let feeds = self.text.iter().filter(|byte| matches!(byte, 0xb | 0xc | 0x1c..=0x1e));
        self.lines() + feeds.count()
    }
}
