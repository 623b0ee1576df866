//! State of a pull request before posting. The plan of a posting depends only on this state and the
//! review.

use crh_review::finding::Side;

/// State of a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullRequestState {
    /// The account of the token. crh recognises its own comments by markers: HTML comments with the
    /// name of the installation. Only markers in texts of this account count.
    pub viewer: GitHubUser,
    /// Properties of the pull request.
    pub pull: PullRequestProperties,
    /// Files with GitHub's hunks (three lines of context), in GitHub's order.
    pub files: Vec<FilePatch>,
    /// General comments, oldest first.
    pub comments: Vec<PullRequestComment>,
    /// Threads on lines, oldest first.
    pub threads: Vec<InlineThread>,
    /// Reviews, oldest first.
    pub reviews: Vec<PullRequestReview>,
    /// Names of the lists that crh could not read completely. Own comments may be missing in these
    /// lists, so crh refuses to post. Lists with shortened texts of other accounts are complete.
    pub incomplete_lists: Vec<String>,
}

/// A GitHub account. Logins can change hands; ids cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitHubUser {
    /// Account id.
    pub id: u64,
    /// Login, for display.
    pub login: String,
}

/// Properties of a pull request that posting depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullRequestProperties {
    /// `owner/name` of the target repository, as GitHub writes it.
    pub repo: String,
    /// Number.
    pub number: u64,
    /// Current head commit.
    pub head: String,
    /// Whether the pull request is open.
    pub open: bool,
    /// Whether the pull request is a draft.
    pub draft: bool,
    /// Author; `None` if the account is gone.
    pub author: Option<GitHubUser>,
    /// Whether the author is a bot.
    pub by_bot: bool,
    /// Whether the head is in another repository than the base.
    pub from_fork: bool,
    /// The author's role in the target repository, if GitHub names it.
    pub association: Option<Association>,
}

/// A file of a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilePatch {
    /// Path after the change, or before it for a deleted file.
    pub path: String,
    /// Path before a rename.
    pub previous: Option<String>,
    /// Hunks without a file header; `None` if GitHub does not show them (too large, binary, only
    /// renamed).
    pub patch: Option<String>,
}

/// A general comment on a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullRequestComment {
    /// Comment id.
    pub id: u64,
    /// Author; `None` if the account is gone.
    pub author: Option<GitHubUser>,
    /// The author's role in the repository.
    pub association: Association,
    /// Creation time.
    pub created_at: String,
    /// Text.
    pub body: String,
    /// Web address.
    pub url: String,
}

/// A comment thread on lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InlineThread {
    /// GraphQL id, needed to resolve the thread.
    pub node_id: String,
    /// Whether the thread was resolved.
    pub resolved: bool,
    /// Login of the account that resolved the thread, if known.
    pub resolved_by: Option<String>,
    /// Whether the code changed after the first comment.
    pub outdated: bool,
    /// File path.
    pub path: String,
    /// Last commented line in the current diff; `None` if the diff no longer has the line.
    pub line: Option<u32>,
    /// First commented line, if the thread is on several lines.
    pub start_line: Option<u32>,
    /// First commented line in the diff at the time of the first comment.
    pub original_line: Option<u32>,
    /// Side of the commented lines.
    pub side: Option<Side>,
    /// Comments, oldest first.
    pub comments: Vec<InlineComment>,
}

/// A comment in a thread on lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InlineComment {
    /// Comment id.
    pub id: u64,
    /// Whether GitHub says that the token's account wrote the comment.
    pub ours: bool,
    /// Login of the author, for display; `None` if the account is gone.
    pub author: Option<String>,
    /// Whether a bot wrote the comment.
    pub by_bot: bool,
    /// The author's role in the repository.
    pub association: Association,
    /// Creation time.
    pub created_at: String,
    /// Text.
    pub body: String,
    /// Web address.
    pub url: String,
}

/// A review on a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullRequestReview {
    /// Review id.
    pub id: u64,
    /// Author; `None` if the account is gone.
    pub author: Option<GitHubUser>,
    /// GitHub's state: `COMMENTED`, `CHANGES_REQUESTED`, `APPROVED`, `DISMISSED`, `PENDING`.
    pub state: String,
    /// Reviewed commit.
    pub commit: Option<String>,
    /// Text.
    pub body: String,
}

/// Role of an account in a repository, as GitHub reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Association {
    /// Owner of the repository.
    Owner,
    /// Member of the owning organisation.
    Member,
    /// Invited collaborator.
    Collaborator,
    /// Author of an earlier contribution.
    Contributor,
    /// Anyone else.
    #[default]
    Stranger,
}

impl Association {
    /// Whether this role may dismiss issues.
    pub fn is_trusted(self) -> bool {
        match self {
            Self::Owner | Self::Member | Self::Collaborator => true,
            Self::Contributor | Self::Stranger => false,
        }
    }
}
