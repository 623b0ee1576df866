//! State of a proposed change before posting, for all forges. The plan of a posting depends only on
//! this state and the review.

use crate::{DiffSpot, DiscussionComment, DiscussionThread};
use crh_review::finding::Side;

/// State of a pull request, merge request or merge proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProposalState {
    /// The account of the token; `None` if anonymous. crh recognises its own comments by markers:
    /// HTML comments with the name of the installation. Only markers in texts of this account
    /// count.
    pub viewer: Option<ForgeUser>,
    /// Properties of the proposed change.
    pub properties: ProposalProperties,
    /// Files with the forge's hunks, in the forge's order.
    pub files: Vec<FilePatch>,
    /// General comments, oldest first.
    pub comments: Vec<ProposalComment>,
    /// Threads on lines, oldest first.
    pub threads: Vec<InlineThread>,
    /// Reviews, oldest first.
    pub reviews: Vec<ProposalReview>,
    /// For forges that place comments on rows of their own diff: the newest diff.
    pub row_diff: Option<RowDiff>,
    /// Names of the lists that crh could not read completely. Own comments may be missing in these
    /// lists, so crh refuses to post. Lists with shortened texts of other accounts are complete.
    pub incomplete_lists: Vec<String>,
}

impl ProposalState {
    /// Whether the token's account wrote something.
    pub fn is_ours(&self, author: Option<&ForgeUser>) -> bool {
        author.is_some() && author.map(|user| &user.id) == self.viewer.as_ref().map(|user| &user.id)
    }

    /// Login of the token's account.
    pub fn viewer_login(&self) -> Option<&str> {
        self.viewer.as_ref().map(|viewer| viewer.login.as_str())
    }
}

/// An account of a forge. Logins can change hands; ids cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgeUser {
    /// Account id; on forges without ids the login.
    pub id: String,
    /// Login, for display.
    pub login: String,
}

impl ForgeUser {
    /// An account with a numeric id.
    pub fn new(id: u64, login: impl Into<String>) -> Self {
        Self { id: id.to_string(), login: login.into() }
    }

    /// An account of a forge whose logins are unique for ever.
    pub fn named(login: impl Into<String>) -> Self {
        let login = login.into();
        Self { id: login.clone(), login }
    }
}

/// Properties of a proposed change that posting depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProposalProperties {
    /// `owner/name` of the target repository, as the forge writes it.
    pub repo: String,
    /// Number.
    pub number: u64,
    /// Path in the forge's API. Empty for GitHub, whose rules build it from `repo` and `number`.
    pub api_path: String,
    /// Web address. Empty for GitHub, whose rules build it from `repo` and `number`.
    pub url: String,
    /// Current head commit.
    pub head: String,
    /// Commits that the forge compares, for forges whose comment positions name them.
    pub diff_refs: Option<DiffRefs>,
    /// Whether the proposal can still be merged or rejected.
    pub open: bool,
    /// Status in the forge's own words; empty if `open` says everything.
    pub status: String,
    /// Whether the proposal is a draft.
    pub draft: bool,
    /// Author; `None` if the account is gone.
    pub author: Option<ForgeUser>,
    /// Whether the author is a bot.
    pub by_bot: bool,
    /// Whether the head is in another repository than the base.
    pub from_fork: bool,
    /// Whether one of the repositories is private. Set only for Launchpad.
    pub private: bool,
    /// The author's role in the target repository, if the forge names it.
    pub association: Option<Association>,
}

/// Commits between which a forge shows a diff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffRefs {
    /// Merge base.
    pub base: String,
    /// Tip of the target branch when the diff was made.
    pub start: String,
    /// Head.
    pub head: String,
}

/// A diff on whose rows a forge places comments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowDiff {
    /// Id of the diff.
    pub id: u64,
    /// Head commit of the diff.
    pub head: String,
    /// Text of the diff.
    pub diff: Vec<u8>,
    /// Whether the account has drafts of comments on the diff.
    pub has_drafts: bool,
}

/// A file of a proposed change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilePatch {
    /// Path after the change, or before it for a deleted file.
    pub path: String,
    /// Path before a rename.
    pub previous: Option<String>,
    /// Hunks without a file header; `None` if the forge does not show them (too large, binary, only
    /// renamed).
    pub patch: Option<String>,
}

/// A general comment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProposalComment {
    /// Comment id.
    pub id: u64,
    /// Author; `None` if the account is gone.
    pub author: Option<ForgeUser>,
    /// The author's role in the repository.
    pub association: Association,
    /// Creation time.
    pub created_at: String,
    /// Text.
    pub body: String,
    /// Web address.
    pub url: String,
    /// The vote that was cast with the comment.
    pub vote: Option<String>,
}

/// A comment thread on lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InlineThread {
    /// Id that is needed to resolve the thread.
    pub node_id: String,
    /// Whether the thread was resolved.
    pub resolved: bool,
    /// Login of the account that resolved the thread, if known.
    pub resolved_by: Option<String>,
    /// Whether the forge counts the thread as outdated, usually because the code changed after the
    /// first comment.
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

impl InlineThread {
    /// The thread for the reviewers. The id of a comment is the prefix with its number.
    pub(crate) fn to_discussion(&self, id_prefix: &str) -> DiscussionThread {
        let comments = self.comments.iter().map(|comment| DiscussionComment {
            id: format!("{id_prefix}{}", comment.id),
            author: comment.author.clone(),
            created_at: Some(comment.created_at.clone()),
            content: comment.body.clone(),
        });
        let spot = self.line.zip(self.side);
        DiscussionThread {
            id: self.node_id.clone(),
            spot: spot.map(|(line, side)| DiffSpot { file: self.path.clone(), side, line }),
            file: self.path.clone(),
            resolved: self.resolved,
            outdated: self.outdated,
            comments: comments.collect(),
        }
    }
}

/// A comment in a thread on lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InlineComment {
    /// Comment id.
    pub id: u64,
    /// Whether the token's account wrote the comment.
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

/// A review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProposalReview {
    /// Review id.
    pub id: u64,
    /// Author; `None` if the account is gone.
    pub author: Option<ForgeUser>,
    /// State in GitHub's words: `COMMENTED`, `CHANGES_REQUESTED`, `APPROVED`, `DISMISSED`,
    /// `PENDING`.
    pub state: String,
    /// Reviewed commit; `None` if the forge does not tell.
    pub commit: Option<String>,
    /// Text.
    pub body: String,
}

/// Role of an account in a repository.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Association {
    /// Owner of the repository.
    Owner,
    /// Member of the owning organisation; on GitLab a member who may push.
    Member,
    /// Invited collaborator.
    Collaborator,
    /// Author of an earlier contribution; on GitLab a member who may not push.
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
