//! State of a merge proposal before posting.

/// State of a merge proposal. The plan of a posting depends only on this state and the review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeProposalState {
    /// Name of the account; `None` if anonymous.
    pub viewer: Option<String>,
    /// Properties of the proposal.
    pub proposal: MergeProposalProperties,
    /// Newest preview diff; `None` if Launchpad has none yet.
    pub latest_diff: Option<LatestDiff>,
    /// General comments, oldest first.
    pub comments: Vec<MergeProposalComment>,
    /// Inline comments of all rounds, oldest round first, in Launchpad's order within a round. A
    /// round is a preview diff with its comments; Launchpad makes one for each pushed version.
    pub inline_comments: Vec<MergeProposalInlineComment>,
    /// Names of the lists that crh could not read completely. Own comments may be missing in these
    /// lists, so crh refuses to post.
    pub incomplete_lists: Vec<String>,
}

/// Properties of a merge proposal that posting depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeProposalProperties {
    /// Unique name of the target repository.
    pub repo: String,
    /// Number.
    pub number: u64,
    /// Path in the web service.
    pub path: String,
    /// Web address.
    pub url: String,
    /// Current head commit.
    pub head: String,
    /// Account that made the proposal.
    pub registrant: Option<String>,
    /// Launchpad's status.
    pub status: String,
    /// Whether one of the repositories is private.
    pub private: bool,
}

/// The newest preview diff, on which crh can comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LatestDiff {
    /// Id of the preview diff.
    pub id: u64,
    /// Head commit of the diff.
    pub head: String,
    /// Text of the diff. Launchpad numbers its rows as `DiffRows` does.
    pub diff: Vec<u8>,
}

/// A general comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeProposalComment {
    /// Author, if known.
    pub author: Option<String>,
    /// The vote that was cast with the comment.
    pub vote: Option<String>,
    /// Text.
    pub content: String,
    /// Web address.
    pub url: String,
}

/// An inline comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeProposalInlineComment {
    /// Row of the diff; `None` if Launchpad's key for the position is not a number.
    pub line: Option<u32>,
    /// Author, if known.
    pub author: Option<String>,
    /// Creation time.
    pub created_at: String,
    /// Text.
    pub text: String,
}

impl MergeProposalProperties {
    /// Whether the proposal was merged, rejected or superseded.
    pub fn is_closed(&self) -> bool {
        matches!(self.status.as_str(), "Merged" | "Rejected" | "Superseded")
    }
}
