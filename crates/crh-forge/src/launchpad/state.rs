//! State of a merge proposal before posting.

/// State of a merge proposal. Planning depends only on this.
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
    /// Inline comments by round, oldest first, in Launchpad's order within each.
    pub inline: Vec<MergeProposalInlineComment>,
    /// Lists that were not read completely.
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
    /// Account that proposed it.
    pub registrant: Option<String>,
    /// Launchpad's status.
    pub status: String,
    /// Whether one of the repositories is private.
    pub private: bool,
}

/// A preview diff that can have comments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LatestDiff {
    /// Id.
    pub id: u64,
    /// Head commit.
    pub head: String,
    /// Text, with rows as Launchpad counts them.
    pub diff: Vec<u8>,
}

/// A general comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeProposalComment {
    /// Author, if known.
    pub author: Option<String>,
    /// The vote that came with it.
    pub vote: Option<String>,
    /// Text.
    pub content: String,
    /// Web address.
    pub url: String,
}

/// An inline comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeProposalInlineComment {
    /// Line; `None` if its key is not a number.
    pub line: Option<u32>,
    /// Author, if known.
    pub author: Option<String>,
    /// Creation time.
    pub created_at: String,
    /// Text.
    pub text: String,
}

impl MergeProposalProperties {
    /// Whether it was merged, rejected or superseded.
    pub fn is_closed(&self) -> bool {
        matches!(self.status.as_str(), "Merged" | "Rejected" | "Superseded")
    }
}
