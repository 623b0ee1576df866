//! The workspace: the folder that holds everything an agent may see of a change, the same bytes every time.
//!
//! [`write()`] makes one from values, [`Workspace`] reads one back. Nothing in it depends on the clock, the
//! user, the umask or where it lies, so two runs on the same input can be compared with `diff -r`.

mod copy;
#[path = "workspace_path.rs"]
mod inside;
#[path = "file_meta.rs"]
mod line_map;
#[path = "replace_folder.rs"]
mod place;
mod reader;
#[path = "marks.rs"]
mod reviewed;
mod writer;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

pub use copy::copy;
pub use inside::{Inside, InsideKind, Outside};
pub use reader::Workspace;
pub use reviewed::Marked;
use serde::{Deserialize, Serialize};

use crh_review::diff::Diff;

/// File systems allow 255 bytes a name; an id longer than this was not given by a forge.
const ROUND_ID_MAX: usize = 100;

/// Everything that goes into a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// What the change is called and where it comes from.
    pub metadata: Metadata,
    /// What its checks say.
    pub ci: Ci,
    /// Its commits, oldest first; empty if there are none to tell.
    pub commits: Vec<Commit>,
    /// The issues it says it deals with.
    pub linked_issues: Vec<LinkedIssue>,
    /// The repository's instructions for agents.
    pub agent: Vec<AgentFile>,
    /// The diffs that were proposed one after another; a local change has one.
    pub rounds: Vec<Round>,
}

/// `metadata.json`. What is not known is `null`; locally the address is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metadata {
    /// Where the change can be looked at; empty for a local one.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// Who proposes it.
    pub author: Option<String>,
    /// The branch it is on.
    pub source_git_path: Option<String>,
    /// The branch it is for.
    pub target_git_path: Option<String>,
    /// The repository it comes from; left out where its address says that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_repository: Option<String>,
    /// The repository it is for; left out where its address says that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_repository: Option<String>,
    /// The commit it starts from.
    pub base_rev: Option<String>,
    /// The commit under review; of a dirty checkout, that of its snapshot.
    pub head_rev: Option<String>,
    /// Whether its author calls it unfinished.
    pub draft: bool,
    /// The forge's word for where it stands.
    pub state: Option<String>,
    /// Its labels, in the forge's order.
    pub labels: Vec<String>,
    /// How people voted, by their names; left out where nobody did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
}

/// The last vote of somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Vote {
    /// Whose.
    pub by: String,
    /// The forge's word for it.
    pub vote: String,
}

/// `ci.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ci {
    /// One row for each check.
    pub checks: Vec<Check>,
}

/// A check of the forge's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// The forge's word for its outcome.
    pub state: String,
    /// Where its log is.
    pub url: Option<String>,
    /// What it says about itself.
    pub summary: Option<String>,
}

/// A row of `commits.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Commit {
    /// Its hash.
    pub id: String,
    /// Who wrote it.
    pub author: String,
    /// When, with the author's own offset: the same for the same commit, wherever it is read.
    pub date: String,
    /// The first line of its message.
    pub subject: String,
    /// The rest of its message.
    pub body: String,
}

/// A row of `linked-issues.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinkedIssue {
    /// The forge's name for it.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Where it is.
    pub url: String,
}

/// An instruction file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFile {
    /// Where it lies under `agent/`: `AGENTS.md`, `rules/style.md`.
    pub place: String,
    /// Its bytes, as they are in the repository.
    pub bytes: Vec<u8>,
}

/// One diff of the change, with what people said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The forge's id; elsewhere `1`, `2` and so on. It is the name of a folder.
    pub id: String,
    /// When the forge saw it, or the head commit's date; nothing for a dirty tree.
    pub created_at: Option<String>,
    /// The commit it starts from.
    pub base_rev: Option<String>,
    /// The commit it ends with.
    pub head_rev: Option<String>,
    /// The diff. It is read once, by whoever has its bytes, since the scope needs it too.
    pub diff: Diff,
    /// What was said about the change as a whole.
    pub general: Vec<Comment>,
    /// Conversations about lines, also those whose line is gone.
    pub threads: Vec<Thread>,
    /// Comments by line of this round's `numbered.diff`.
    pub inline: BTreeMap<u32, Vec<Comment>>,
}

/// What somebody wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Comment {
    /// The forge's id for it.
    pub id: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// When.
    pub created_at: Option<String>,
    /// The text.
    pub content: String,
}

/// A conversation about a place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Thread {
    /// The forge's id for it.
    pub id: String,
    /// The file it is about.
    pub file: Option<String>,
    /// The line of that file it was about, where the forge still knows.
    pub line: Option<u32>,
    /// Whether people called it settled.
    pub resolved: bool,
    /// Whether the code under it has changed since.
    pub outdated: bool,
    /// What was said, from the first comment on.
    pub replies: Vec<Comment>,
}

/// A row of `preview-diffs/index.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoundRow {
    /// The round's id and the name of its folder.
    pub id: String,
    /// See [`Round::created_at`].
    pub created_at: Option<String>,
    /// The commit it starts from.
    pub base_rev: Option<String>,
    /// The commit it ends with.
    pub head_rev: Option<String>,
    /// Whether it is the one under review.
    pub is_latest: bool,
}

/// A round's `meta.json`: its row without `isLatest`, which a later round would change.
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
    /// The folder may not be replaced.
    #[error("`{folder}` is left as it is: {reason}", folder = folder.display())]
    NotReplaced {
        /// The folder that was asked for.
        folder: PathBuf,
        /// What keeps us from it.
        reason: String,
    },
    /// An id that cannot be the name of a round's folder.
    #[error(
        "`{0}` cannot be the id of a round: letters, digits, `.`, `_` and `-` can, up to 100 of them"
    )]
    RoundId(String),
    /// An id that two rounds have.
    #[error("two rounds have the id `{0}`")]
    SameRound(String),
    /// A place for an agent file that is none, or is taken.
    #[error("`{0}` cannot be the place of an agent file: it is not below `agent`, or it is taken")]
    AgentPlace(String),
    /// Writing failed.
    #[error("writing `{path}`: {why}", path = path.display())]
    Write {
        /// What was written.
        path: PathBuf,
        /// What the system says.
        why: io::Error,
    },
    /// A value that cannot be shown as JSON.
    #[error("`{path}` cannot be written as JSON: {reason}")]
    Json {
        /// The file, from the workspace's root.
        path: String,
        /// What stands in the way.
        reason: String,
    },
    /// There is no workspace.
    #[error("`{folder}` is not a workspace: {reason}", folder = folder.display())]
    NotAWorkspace {
        /// The folder that was asked for.
        folder: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A file of the workspace is missing or not what it should be.
    #[error("the workspace is damaged: `{path}` {reason}")]
    Damaged {
        /// The file, from the workspace's root.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A round that the workspace does not have.
    #[error("there is no round `{id}`; there are {known}")]
    NoRound {
        /// The id that was asked for.
        id: String,
        /// The ids there are, as a text.
        known: String,
    },
}

/// Writes a workspace to a folder, which is made if it is missing and replaced as a whole if it is a workspace.
///
/// A folder with anything else in it is left alone. If writing fails, what was there before is still there.
pub fn write(contents: &Contents, out: &Path) -> Result<(), WorkspaceError> {
    let rounds = writer::checked(contents)?;
    place::replace(out, |staging| writer::write_tree(contents, &rounds, staging))
}

/// Whether a round's folder can have this name on every file system.
fn is_round_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !id.is_empty()
        && id.len() <= ROUND_ID_MAX
        && id.bytes().all(plain)
        && !id.starts_with('.')
        && !matches!(id, "latest" | "index.json")
}
