//! The workspace: a folder with everything that an agent may see of a change.
//!
//! [`write_workspace`] creates one, [`Workspace`] reads it. Its bytes depend only on the input, not
//! on the clock, the user, the umask or the location, so `diff -r` can compare two runs.

mod copy;
mod file_meta;
mod marks;
mod reader;
mod replace_folder;
mod workspace_path;
mod writer;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use copy::copy_workspace;
pub use marks::MarkResult;
pub use reader::Workspace;
use serde::{Deserialize, Serialize};
pub use workspace_path::{PathError, PathKind, WorkspacePath};

use crh_review::diff::Diff;

/// Maximum length of a round id. Forges have shorter ids, and file systems allow 255 bytes.
const ROUND_ID_MAX: usize = 100;

/// Everything that goes into a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceContents {
    /// Title, description, branches and commits.
    pub metadata: ChangeMetadata,
    /// CI status.
    pub ci: CiStatus,
    /// Commits, oldest first.
    pub commits: Vec<CommitEntry>,
    /// Issues that the change refers to.
    pub linked_issues: Vec<LinkedIssueEntry>,
    /// The repository's instructions for agents.
    pub instructions: Vec<AgentFile>,
    /// Files of `context/`, the context pack. Without a file, there is no such folder.
    pub context: Vec<ContextFile>,
    /// Proposed diffs, oldest first. A local change has one.
    pub rounds: Vec<WorkspaceRound>,
}

/// `metadata.json`. Unknown values are `null`; the URL of a local change is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeMetadata {
    /// URL of the change; empty for a local one.
    pub url: String,
    /// Title.
    pub title: String,
    /// Description.
    pub body: String,
    /// Author of the proposal.
    pub author: Option<String>,
    /// Source branch.
    pub source_git_path: Option<String>,
    /// Target branch.
    pub target_git_path: Option<String>,
    /// Source repository; omitted if the URL contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_repository: Option<String>,
    /// Target repository; omitted if the URL contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_repository: Option<String>,
    /// Base commit.
    pub base_rev: Option<String>,
    /// Commit under review, or the snapshot of a dirty checkout.
    pub head_rev: Option<String>,
    /// Whether it is a draft.
    pub draft: bool,
    /// State, in the forge's word.
    pub state: Option<String>,
    /// Labels, in the forge's order.
    pub labels: Vec<String>,
    /// Votes by person; omitted if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<VoteEntry>,
}

/// Last vote of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VoteEntry {
    /// Name of the voter.
    pub by: String,
    /// Vote, in the forge's word.
    pub vote: String,
}

/// `ci.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CiStatus {
    /// One entry per check.
    pub checks: Vec<CiCheck>,
}

/// A CI check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CiCheck {
    /// Name of the check.
    pub name: String,
    /// Result, in the forge's word.
    pub state: String,
    /// URL of the log.
    pub url: Option<String>,
    /// Summary by the check.
    pub summary: Option<String>,
}

/// An entry of `commits.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CommitEntry {
    /// Commit hash.
    pub id: String,
    /// Author.
    pub author: String,
    /// Author date with the author's UTC offset.
    pub date: String,
    /// First line of the message.
    pub subject: String,
    /// Rest of the message.
    pub body: String,
}

/// An entry of `linked-issues.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinkedIssueEntry {
    /// Id at the forge.
    pub id: String,
    /// Title.
    pub title: String,
    /// Text.
    pub body: String,
    /// URL.
    pub url: String,
}

/// An instruction file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFile {
    /// Path under `agent/`: `AGENTS.md`, `rules/style.md`.
    pub place: String,
    /// Contents, as in the repository.
    pub bytes: Vec<u8>,
}

/// A file of the context pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Name under `context/`: `index.json`.
    pub name: &'static str,
    /// Contents.
    pub text: String,
}

/// A round: one version of the change, as a diff with its comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRound {
    /// Id at the forge. Without one, `1` or a later number. Also the name of its folder.
    pub id: String,
    /// When the forge saw the round, or date of the head commit. `None` for uncommitted work.
    pub created_at: Option<String>,
    /// Base commit.
    pub base_rev: Option<String>,
    /// Head commit.
    pub head_rev: Option<String>,
    /// Parsed diff, shared with the scope.
    pub diff: Arc<Diff>,
    /// Comments on the whole change.
    pub general: Vec<WorkspaceComment>,
    /// Discussions about lines, including outdated ones.
    pub threads: Vec<WorkspaceThread>,
    /// Comments by line of `numbered.diff`.
    pub inline: BTreeMap<u32, Vec<WorkspaceComment>>,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkspaceComment {
    /// Id at the forge.
    pub id: String,
    /// Author.
    pub author: Option<String>,
    /// Creation time.
    pub created_at: Option<String>,
    /// Text.
    pub content: String,
}

/// A discussion about a place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkspaceThread {
    /// Id at the forge.
    pub id: String,
    /// File.
    pub file: Option<String>,
    /// Line, if the forge still knows it.
    pub line: Option<u32>,
    /// Whether it is resolved.
    pub resolved: bool,
    /// Whether the code has changed since.
    pub outdated: bool,
    /// All comments, including the first.
    pub replies: Vec<WorkspaceComment>,
}

/// An entry of `preview-diffs/index.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoundEntry {
    /// Id, and name of the folder.
    pub id: String,
    /// See [`WorkspaceRound::created_at`].
    pub created_at: Option<String>,
    /// Base commit.
    pub base_rev: Option<String>,
    /// Head commit.
    pub head_rev: Option<String>,
    /// Whether it is under review.
    pub is_latest: bool,
}

/// A round's `meta.json`: its entry without `isLatest`, which would change with the next round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RoundMeta {
    id: String,
    created_at: Option<String>,
    base_rev: Option<String>,
    head_rev: Option<String>,
}

/// Why a workspace could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The folder must not be replaced.
    #[error("crh does not replace `{folder}`: {reason}", folder = folder.display())]
    NotReplaced {
        /// Requested folder.
        folder: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Invalid id of a round.
    #[error("`{0}` is not a valid round id: use up to 100 letters, digits, `.`, `_` and `-`")]
    RoundId(String),
    /// Duplicate id of a round.
    #[error("two rounds have the id `{0}`")]
    SameRound(String),
    /// Invalid or duplicate path of an instruction file.
    #[error("`{0}` is not a valid path below `agent`, or it is already used")]
    AgentPlace(String),
    /// Writing failed.
    #[error("cannot write `{path}`: {why}", path = path.display())]
    Write {
        /// File or folder.
        path: PathBuf,
        /// Error from the operating system.
        why: io::Error,
    },
    /// A value cannot be serialised.
    #[error("`{path}` cannot be written as JSON: {reason}")]
    Json {
        /// Path from the workspace root.
        path: String,
        /// Error.
        reason: String,
    },
    /// The folder is not a workspace.
    #[error("`{folder}` is not a workspace: {reason}", folder = folder.display())]
    NotAWorkspace {
        /// Requested folder.
        folder: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A file is missing or has the wrong format.
    #[error("the workspace is damaged: `{path}` {reason}")]
    Damaged {
        /// Path from the workspace root.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Unknown round.
    #[error("there is no round `{id}`; there are {known}")]
    NoRound {
        /// Requested id.
        id: String,
        /// Existing ids, for the message.
        known: String,
    },
}

/// Writes a workspace to a folder. Creates the folder, or replaces an existing workspace
/// atomically.
///
/// A folder with any other contents is left alone. If writing fails, the old workspace stays.
pub fn write_workspace(contents: &WorkspaceContents, out: &Path) -> Result<(), WorkspaceError> {
    let rounds = writer::sorted_rounds(contents)?;
    replace_folder::replace_folder(out, |staging| writer::write_tree(contents, &rounds, staging))
}

/// Whether a round id is a valid folder name on every file system.
fn is_round_id(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !id.is_empty()
        && id.len() <= ROUND_ID_MAX
        && id.bytes().all(is_allowed)
        && !id.starts_with('.')
        && !matches!(id, "latest" | "index.json")
}
