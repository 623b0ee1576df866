//! A proposed change as a forge knows it: the same value for a pull request and for a merge proposal.

use crh_review::finding::Side;

/// A proposed change. Nothing in it is asked for again during a review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    /// What its forge calls it.
    pub kind: ProposalKind,
    /// Where it can be looked at.
    pub url: String,
    /// `owner/name` of the repository that it is proposed to.
    pub repo: String,
    /// The forge's number or id of it.
    pub number: String,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// Who proposes it.
    pub author: Option<String>,
    /// Whether its author calls it unfinished.
    pub draft: bool,
    /// The forge's word for where it stands.
    pub state: String,
    /// Whether it is still to be decided about.
    pub open: bool,
    /// Its labels, in the forge's order.
    pub labels: Vec<String>,
    /// What is proposed.
    pub source: End,
    /// What it is to be merged into. Its commit is the tip of that branch when this was read.
    pub target: End,
    /// What its checks say.
    pub checks: Vec<Check>,
    /// The issues that it says it deals with.
    pub linked_issues: Vec<LinkedIssue>,
    /// What was said about it as a whole, oldest first.
    pub comments: Vec<Comment>,
    /// What was said about its lines, oldest first.
    pub threads: Vec<Thread>,
    /// How people voted, by their names; empty at a forge where a review is no vote.
    pub votes: Vec<Vote>,
    /// The heads that were proposed one after another as far as they are known, oldest first; the last is the head under review.
    pub rounds: Vec<Round>,
    /// What of it could not be read, in sentences for the reader of the review.
    pub notes: Vec<String>,
}

/// What a forge calls a proposed change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProposalKind {
    /// GitHub's word.
    #[default]
    PullRequest,
    /// Launchpad's word.
    MergeProposal,
}

impl ProposalKind {
    /// The word, for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::PullRequest => "pull request",
            Self::MergeProposal => "merge proposal",
        }
    }
}

/// One end of a proposed change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct End {
    /// `owner/name`; none if that repository is gone.
    pub repo: Option<String>,
    /// The branch, without `refs/heads/`.
    pub branch: String,
    /// The commit.
    pub commit: String,
    /// Where git fetches from.
    pub git_url: Option<String>,
}

/// A check of the forge's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// The forge's word for its outcome, or for how far it is.
    pub state: String,
    /// Where its log is.
    pub url: Option<String>,
    /// What it says about itself.
    pub summary: Option<String>,
}

/// An issue that a proposal deals with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedIssue {
    /// The forge's name for it, such as `owner/name#12`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Where it is.
    pub url: String,
}

/// What somebody wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The forge's id for it.
    pub id: String,
    /// Who wrote it; none if the account is gone.
    pub author: Option<String>,
    /// When, as the forge writes times.
    pub created_at: Option<String>,
    /// The text.
    pub content: String,
}

/// A conversation about a place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The forge's id for it.
    pub id: String,
    /// Where it is on the current diff; none if its line is gone.
    pub spot: Option<Spot>,
    /// The file it was begun on.
    pub file: String,
    /// Whether people called it settled.
    pub resolved: bool,
    /// Whether the code under it has changed since.
    pub outdated: bool,
    /// What was said, from the first comment on.
    pub comments: Vec<Comment>,
}

/// A line of a file on one side of a diff.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The file's path on that side.
    pub file: String,
    /// Which side.
    pub side: Side,
    /// The line in that file.
    pub line: u32,
}

/// The last vote of somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    /// Whose.
    pub by: String,
    /// The forge's word for it.
    pub word: String,
}

/// A head that was proposed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    /// The forge's id for it; elsewhere `1`, `2` and so on.
    pub id: String,
    /// The tip of the target when it was; none if that is not known.
    pub target: Option<String>,
    /// The head.
    pub head: String,
    /// When the forge saw it.
    pub created_at: Option<String>,
    /// The forge's own diff of it; none if it has none, or if it could not be read.
    pub diff: Option<Vec<u8>>,
    /// What was said about the whole while it was the newest one, oldest first; empty at a forge that knows no rounds.
    pub comments: Vec<Comment>,
    /// What was said about lines of its own diff, oldest first; empty at a forge that knows no rounds.
    pub threads: Vec<Thread>,
}
