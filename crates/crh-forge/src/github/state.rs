//! What stands on a pull request when a review is about to be posted: whoever decides what to write looks at this alone.

use crh_review::finding::Side;

/// What stands on a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Who we are there: markers count only in what this account wrote.
    pub viewer: Account,
    /// The pull request itself.
    pub pull: PullState,
    /// Its files with GitHub's own three lines of context, in GitHub's order.
    pub files: Vec<FilePatch>,
    /// Comments on the pull request as a whole, oldest first.
    pub comments: Vec<TopComment>,
    /// Conversations about lines, oldest first.
    pub threads: Vec<InlineThread>,
    /// Reviews, oldest first.
    pub reviews: Vec<StandingReview>,
    /// What of these there is more of than was read, so that what is ours may be missing. What others wrote may be cut without that.
    pub unread: Vec<String>,
}

/// An account of GitHub's. Names can be changed and taken by others; the number cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// Its number.
    pub id: u64,
    /// Its name, for readers.
    pub login: String,
}

/// What of a pull request decides whether anything is posted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullState {
    /// `owner/name` of the repository that it is proposed to, as GitHub writes it.
    pub repo: String,
    /// Its number.
    pub number: u64,
    /// The commit at its head now.
    pub head: String,
    /// Whether it is open.
    pub open: bool,
    /// Whether its author calls it unfinished.
    pub draft: bool,
    /// Who proposes it; none if the account is gone.
    pub author: Option<Account>,
    /// Whether a program proposes it.
    pub by_bot: bool,
    /// Whether its head is in another repository than its base.
    pub from_fork: bool,
}

/// A file of a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilePatch {
    /// Its path after the change, or before it if it is deleted.
    pub path: String,
    /// Its path before, if it was renamed.
    pub previous: Option<String>,
    /// Its hunks, without a header; none if GitHub does not show them (too large, binary, renamed only).
    pub patch: Option<String>,
}

/// A comment on a pull request as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopComment {
    /// Its number.
    pub id: u64,
    /// Who wrote it; none if the account is gone.
    pub author: Option<Account>,
    /// What its author is to the repository.
    pub association: Association,
    /// When.
    pub created_at: String,
    /// The text, as it was written.
    pub body: String,
    /// Where it can be looked at.
    pub url: String,
}

/// A conversation about lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InlineThread {
    /// GitHub's global id, which resolving it needs.
    pub node_id: String,
    /// Whether somebody called it settled.
    pub resolved: bool,
    /// Who did; none if nobody, or if that is not known.
    pub resolved_by: Option<String>,
    /// Whether the code under it has changed since.
    pub outdated: bool,
    /// The file.
    pub path: String,
    /// The last line that it is about, on the current diff; none if that is gone.
    pub line: Option<u32>,
    /// The first, if it is about several.
    pub start_line: Option<u32>,
    /// The first line that it was about when it began.
    pub original_line: Option<u32>,
    /// The side of the line.
    pub side: Option<Side>,
    /// The comments, the first one first.
    pub comments: Vec<InlineComment>,
}

/// A comment in a conversation about lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InlineComment {
    /// Its number.
    pub id: u64,
    /// Whether it is ours, by GitHub's own word.
    pub ours: bool,
    /// Who wrote it, for readers; none if the account is gone.
    pub author: Option<String>,
    /// Whether a program wrote it.
    pub by_bot: bool,
    /// What its author is to the repository.
    pub association: Association,
    /// When.
    pub created_at: String,
    /// The text, as it was written.
    pub body: String,
    /// Where it can be looked at.
    pub url: String,
}

/// A review that was posted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandingReview {
    /// Its number.
    pub id: u64,
    /// Who wrote it; none if the account is gone.
    pub author: Option<Account>,
    /// GitHub's word for what it is: `COMMENTED`, `CHANGES_REQUESTED`, `APPROVED`, `DISMISSED`, `PENDING`.
    pub state: String,
    /// The commit that it was about.
    pub commit: Option<String>,
    /// The text, as it was written.
    pub body: String,
}

/// What somebody is to a repository, by GitHub's word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Association {
    /// It is theirs.
    Owner,
    /// They are in the organisation that it belongs to.
    Member,
    /// They were invited.
    Collaborator,
    /// They have changed it before.
    Contributor,
    /// None of these.
    #[default]
    Stranger,
}

impl Association {
    /// Whether people of this kind may decide about the repository.
    pub fn decides(self) -> bool {
        match self {
            Self::Owner | Self::Member | Self::Collaborator => true,
            Self::Contributor | Self::Stranger => false,
        }
    }
}
