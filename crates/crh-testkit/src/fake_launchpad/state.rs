//! What the fake knows: people, tokens, repositories, and all that was said on merge proposals.

use std::collections::BTreeMap;

use crate::fake_github::git::Bare;

/// The first second of the fake's own time, 2026-01-01. What is written later is so many seconds younger.
const FIRST_SECOND: u64 = 1_767_225_600;

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) people: BTreeMap<String, Person>,
    pub(super) tokens: BTreeMap<String, Token>,
    /// Tokens that were asked for and not exchanged yet.
    pub(super) request_tokens: BTreeMap<String, RequestToken>,
    /// Access tokens that git takes for private repositories, and whose they are.
    pub(super) git_tokens: BTreeMap<String, String>,
    pub(super) repositories: Vec<Repository>,
    /// By path, such as `~ann/shop/+git/shop/+merge/12`.
    pub(super) proposals: BTreeMap<String, Proposal>,
    /// The paths that merge proposals have now, by those that they had before somebody was renamed.
    pub(super) moved: BTreeMap<String, String>,
    pub(super) bugs: BTreeMap<u64, Bug>,
    /// The description of the web service, if somebody has brought one.
    pub(super) wadl: Option<String>,
    pub(super) surprises: Vec<String>,
    /// How many entries are on a page, if not as many as Launchpad gives.
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

/// What a person said to a token that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing yet.
    Open,
    /// Yes, and who it was.
    Yes(String),
    No,
}

#[derive(Debug)]
pub(super) struct Repository {
    pub(super) id: u64,
    /// Its unique name, such as `~acme/shop/+git/shop`.
    pub(super) name: String,
    pub(super) private: bool,
    pub(super) bare: Bare,
    pub(super) reports: Vec<Report>,
}

/// What a check says about a commit.
#[derive(Debug, Clone)]
pub(super) struct Report {
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
    /// Repository and branch; for Bazaar the name of a branch, and nothing.
    pub(super) source: (String, String),
    pub(super) target: (String, String),
    pub(super) bazaar: bool,
    pub(super) description: Option<String>,
    pub(super) commit_message: Option<String>,
    pub(super) status: String,
    pub(super) created: u64,
    pub(super) diffs: Vec<PreviewDiff>,
    pub(super) comments: Vec<Comment>,
    /// The comment with the last vote of each reviewer.
    pub(super) votes: BTreeMap<String, u64>,
    pub(super) bugs: Vec<u64>,
    /// What people have begun to write beside lines of a preview diff, and not published.
    pub(super) drafts: BTreeMap<(String, u64), BTreeMap<u64, String>>,
}

#[derive(Debug, Clone)]
pub(super) struct PreviewDiff {
    pub(super) id: u64,
    pub(super) created: u64,
    pub(super) source_revision: String,
    pub(super) target_revision: String,
    /// The merge of both compared with the target; conflicts are in it with their markers.
    pub(super) text: Vec<u8>,
    /// The files with conflicts.
    pub(super) conflicts: Vec<String>,
}

/// What somebody wrote on a merge proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Launchpad's number for it.
    pub id: u64,
    /// Who wrote it.
    pub author: String,
    /// The subject; empty if Launchpad made one.
    pub subject: String,
    /// The text.
    pub content: String,
    /// The vote that came with it.
    pub vote: Option<String>,
    /// When, in seconds.
    pub created: u64,
    /// The preview diff that its inline comments are about.
    pub preview_diff: Option<u64>,
    /// The inline comments, by the line of the diff.
    pub inline: BTreeMap<u64, String>,
}

impl State {
    /// A number that nothing else has.
    pub(super) fn id(&mut self) -> u64 {
        self.ids += 1;
        1_000 + self.ids
    }

    /// The time of something that happens now; nothing happens in the same second.
    pub(super) fn tick(&mut self) -> u64 {
        self.second += 1;
        FIRST_SECOND + self.second
    }

    /// The person with a name, made if there is none.
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

    /// Whether a merge proposal is for those alone who may see its repositories.
    pub(super) fn is_private(&self, proposal: &Proposal) -> bool {
        let private = |name: &str| self.repository(name).is_some_and(|it| it.private);
        private(&proposal.source.0) || private(&proposal.target.0)
    }

    /// The commit at the tip of a branch.
    pub(super) fn tip(&self, (repository, branch): &(String, String)) -> Option<String> {
        self.repository(repository)?.bare.tip(branch)
    }
}

impl PreviewDiff {
    /// How many lines its text has.
    pub(super) fn lines(&self) -> usize {
        self.text.split_inclusive(|byte| *byte == b'\n').count()
    }

    /// How many rows its page has: there, a form feed ends one too.
    pub(super) fn rows(&self) -> usize {
        let feeds = self.text.iter().filter(|byte| matches!(byte, 0xb | 0xc | 0x1c..=0x1e));
        self.lines() + feeds.count()
    }
}
