//! A change proposed on a forge: one type for pull requests, merge requests and merge proposals.

use crh_review::finding::Side;

/// A change proposed on a forge. crh reads it once, before the review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeProposal {
    /// Pull request, merge request or merge proposal.
    pub kind: ProposalKind,
    /// Web address.
    pub url: String,
    /// `owner/name` of the target repository.
    pub repo: String,
    /// Number or id on the forge.
    pub number: String,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// Login of the author; `None` if the account is gone.
    pub author: Option<String>,
    /// Whether the proposal is marked as a draft.
    pub draft: bool,
    /// State in the forge's own words.
    pub state: String,
    /// Whether the proposal can still be merged or rejected.
    pub open: bool,
    /// Its labels, in the forge's order.
    pub labels: Vec<String>,
    /// Branch to merge.
    pub source: BranchEnd,
    /// Branch to merge into. The commit is the branch tip at the time of reading.
    pub target: BranchEnd,
    /// CI results for the head.
    pub checks: Vec<ForgeCheck>,
    /// Issues that the proposal closes.
    pub linked_issues: Vec<ForgeIssue>,
    /// General comments, oldest first.
    pub comments: Vec<DiscussionComment>,
    /// Comment threads on lines, oldest first.
    pub threads: Vec<DiscussionThread>,
    /// Latest vote of each user. crh reads votes only on GitLab and Launchpad.
    pub votes: Vec<ReviewVote>,
    /// Rounds: known head commits of the proposal, oldest first. The last one is under review.
    pub rounds: Vec<ProposalRound>,
    /// Parts that could not be read, as sentences for the report.
    pub notes: Vec<String>,
}

/// Kind of a proposed change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProposalKind {
    /// A pull request.
    #[default]
    PullRequest,
    /// A merge proposal.
    MergeProposal,
    /// A merge request.
    MergeRequest,
}

impl ProposalKind {
    /// Name for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::PullRequest => "pull request",
            Self::MergeProposal => "merge proposal",
            Self::MergeRequest => "merge request",
        }
    }
}

/// Source or target branch of a proposed change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchEnd {
    /// `owner/name`; `None` if the repository is gone.
    pub repo: Option<String>,
    /// Branch name without `refs/heads/`.
    pub branch: String,
    /// Commit id.
    pub commit: String,
    /// Address to fetch from with git.
    pub git_url: Option<String>,
}

/// A CI check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeCheck {
    /// Its name.
    pub name: String,
    /// Result or progress, in the forge's own words.
    pub state: String,
    /// Address of the log.
    pub url: Option<String>,
    /// Summary that the check itself gives.
    pub summary: Option<String>,
}

/// An issue that a proposal closes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeIssue {
    /// Id on the forge, such as `owner/name#12`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// Web address.
    pub url: String,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscussionComment {
    /// Id on the forge.
    pub id: String,
    /// Login of the author; `None` if the account is gone.
    pub author: Option<String>,
    /// Time in the forge's format.
    pub created_at: Option<String>,
    /// Text.
    pub content: String,
}

/// A comment thread on a line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscussionThread {
    /// Id on the forge.
    pub id: String,
    /// Position in the current diff; `None` if the line is gone.
    pub spot: Option<DiffSpot>,
    /// File that the thread was opened on.
    pub file: String,
    /// Whether the thread was resolved.
    pub resolved: bool,
    /// Whether the forge counts the thread as outdated, usually because the code changed after the
    /// first comment.
    pub outdated: bool,
    /// Comments, oldest first.
    pub comments: Vec<DiscussionComment>,
}

/// A line of a file on one side of a diff.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiffSpot {
    /// Path on that side.
    pub file: String,
    /// Side of the diff.
    pub side: Side,
    /// Line number in that file.
    pub line: u32,
}

/// The latest vote of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewVote {
    /// Login of the voter.
    pub by: String,
    /// The vote, in the forge's own words.
    pub word: String,
}

/// A head commit that the proposal has or had.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProposalRound {
    /// Id on the forge, or `1`, `2` and so on.
    pub id: String,
    /// Tip of the target branch at that time, or the merge base, if known.
    pub target: Option<String>,
    /// Head commit.
    pub head: String,
    /// Time of the push or of the review that names the head, if known.
    pub created_at: Option<String>,
    /// The forge's own diff; `None` if the forge has none or crh could not read it.
    pub diff: Option<Vec<u8>>,
    /// General comments made while this round was the newest, oldest first. Empty on forges without
    /// rounds.
    pub comments: Vec<DiscussionComment>,
    /// Comment threads on lines of this round's diff, oldest first. Empty on forges without rounds.
    pub threads: Vec<DiscussionThread>,
}
