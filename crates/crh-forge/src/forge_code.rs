//! Code and conversations at a forge: the types that all forges share.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::DiffSpot;
use crh_review::identity::is_key;

/// Largest file that crh changes, in bytes.
const FILE_MAX: usize = 1 << 20;

/// Modes of files that crh changes. Links and submodules have others.
pub const FILE_MODES: [&str; 2] = ["100644", "100755"];

/// Head of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullHead {
    /// Commit.
    pub commit: String,
    /// Branch.
    pub branch: String,
    /// Whether the branch is in the repository of the pull request.
    pub is_own_branch: bool,
}

/// A text file at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadFile {
    /// Content.
    pub text: String,
    /// What a commit must name, so that the forge changes this version of the file.
    pub version: FileVersion,
}

/// How a forge names a version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileVersion {
    /// GitHub: the new commit builds on this tree and keeps the mode of the file.
    Entry {
        /// Mode as git writes it, such as `100644`.
        mode: String,
        /// Tree of the commit from which crh read the file.
        tree: String,
    },
    /// Id of the file's blob, or of the last commit to the file. The forge decides which.
    Id(String),
}

/// A commit that changes one file.
#[derive(Debug, Clone, Copy)]
pub struct FileCommit<'a> {
    /// Branch to commit to.
    pub branch: &'a str,
    /// Head that the branch must have. Only GitHub checks it; other forges check the version of the
    /// file.
    pub parent: &'a str,
    /// The file before the commit.
    pub file: &'a HeadFile,
    /// Its path.
    pub path: &'a str,
    /// Its new content.
    pub text: &'a str,
    /// Message.
    pub message: &'a str,
}

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitResult {
    /// The branch has the commit.
    Committed(String),
    /// The forge refused: the branch moved, is protected, or crh may not write. Nothing changed.
    Refused,
}

/// A conversation that crh opened about an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnConversation {
    /// Id with which crh resolves it.
    pub thread: String,
    /// Id of its first comment.
    pub root: u64,
    /// Its current position, if the forge places replies by line.
    pub spot: Option<DiffSpot>,
    /// Whether it is resolved.
    pub resolved: bool,
    /// Key of the issue.
    pub issue_key: String,
    /// Texts of crh's own comments: on GitHub the last ones of this conversation, on other forges
    /// all of the pull request.
    pub own_texts: Vec<String>,
}

/// A fix that people can apply with a click.
#[derive(Debug, Clone, Copy)]
pub struct FixSuggestion<'a> {
    /// File.
    pub path: &'a str,
    /// First and last line that it replaces.
    pub lines: (u32, u32),
    /// Sentence above the new lines.
    pub heading: &'a str,
    /// The new lines.
    pub replacement: &'a str,
    /// Hidden mark by which crh recognises the suggestion, so that it posts it only once.
    pub mark: &'a str,
}

impl FixSuggestion<'_> {
    /// Text of the comment. `word` is the code block language that makes the forge show a
    /// suggestion.
    pub fn body(&self, word: &str) -> String {
        let Self { heading, replacement, mark, .. } = self;
        format!("{heading}\n\n```{word}\n{replacement}\n```\n\n{mark}")
    }
}

/// A file in base64, as all forges send it.
#[derive(Deserialize)]
pub struct BlobReply {
    content: String,
    encoding: String,
    #[serde(default)]
    size: usize,
}

/// Key of the issue in the marker on the last line of a comment. Markers of all instances of crh
/// count.
pub fn issue_key(body: &str) -> Option<&str> {
    let line = body.trim_end().lines().next_back()?;
    let marker = line.strip_prefix("<!-- crh:")?.strip_suffix(" -->")?;
    let (_, key) = marker.rsplit_once(':')?;
    is_key(key).then_some(key)
}

/// The text of a blob. `None` if it is too large or not UTF-8.
pub fn decode(blob: BlobReply) -> Option<String> {
    if blob.size > FILE_MAX || blob.encoding != "base64" {
        return None;
    }
    let packed: String = blob.content.split_whitespace().collect();
    String::from_utf8(STANDARD.decode(packed).ok()?).ok()
}

/// Percent-encodes a branch name or a path for an address.
pub fn encode(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    text.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Percent-encodes a text as one part of an address, as OAuth does: all but letters, digits and
/// `-._~`.
pub(crate) fn encode_part(text: &str) -> String {
    encode(text).replace('/', "%2F")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_name_cannot_leave_its_address() {
        assert_eq!(encode("feature/a b?c#d%é"), "feature/a%20b%3Fc%23d%25%C3%A9");
    }

    #[test]
    fn only_a_marker_in_the_last_line_names_an_issue() {
        let key = "00112233445566aa";
        assert_eq!(issue_key(&format!("**P1** t\n\n<!-- crh:crh:{key} -->\n")), Some(key));
        assert_eq!(issue_key(&format!("<!-- crh:crh:{key} -->\nquoted")), None);
        assert_eq!(issue_key("<!-- crh:crh:state:abc -->"), None);
        assert_eq!(issue_key(""), None);
    }
}
