//! The newest commits of a branch with their files, to learn from fixes and reverts.

use crate::bare::BareRepository;
use crate::process::GitError;

/// A commit with the files that it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentCommit {
    /// Commit hash.
    pub id: String,
    /// Hashes of its parents.
    pub parents: Vec<String>,
    /// Name of the author.
    pub author: String,
    /// Day on which it was written, `YYYY-MM-DD`.
    pub day: String,
    /// First line of the message.
    pub subject: String,
    /// The rest of the message.
    pub body: String,
    /// Changed files. Empty for merges.
    pub files: Vec<String>,
}

impl BareRepository {
    /// The newest commits up to `head`, newest first.
    pub fn recent_commits(&self, head: &str, limit: u32) -> Result<Vec<RecentCommit>, GitError> {
        let limit = format!("--max-count={limit}");
        // `%x01` starts each commit, and NUL ends each field and path.
        let format = "--format=tformat:%x01%H%x00%P%x00%an%x00%as%x00%s%x00%b%x00";
        let args = [
            "log",
            &limit,
            "--encoding=UTF-8",
            "--no-renames",
            "-z",
            "--name-only",
            format,
            head,
            "--",
        ];
        let output = String::from_utf8_lossy(&self.git().run(args)?).into_owned();
        Ok(output.split('\u{1}').filter_map(parse_commit).collect())
    }
}

fn parse_commit(text: &str) -> Option<RecentCommit> {
    let mut fields = text.split('\0');
    let mut field = || fields.next().map(str::to_owned);
    let id = field().filter(|id| id.len() == 40)?;
    let parents = field()?.split_whitespace().map(str::to_owned).collect();
    let (author, day, subject, body) = (field()?, field()?, field()?, field()?);
    let files = fields.map(|file| file.trim_start_matches('\n').to_owned());
    let files = files.filter(|file| !file.is_empty()).collect();
    Some(RecentCommit { id, parents, author, day, subject, body, files })
}
