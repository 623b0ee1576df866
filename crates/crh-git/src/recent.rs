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
        // NUL is the one byte that neither a message nor a path can contain. An empty field starts
        // each commit, since no path is empty.
        let format = "--format=tformat:%x00%H%x00%P%x00%an%x00%as%x00%s%x00%b";
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
        let mut fields = output.split('\0');
        Ok(std::iter::from_fn(|| parse_commit(&mut fields)).collect())
    }
}

/// Reads the fields of the next commit, and its paths up to the empty field of the one after it.
fn parse_commit<'o>(fields: &mut impl Iterator<Item = &'o str>) -> Option<RecentCommit> {
    let mut field = || fields.next().map(str::to_owned);
    let id = field().filter(|field| !field.is_empty()).or_else(&mut field)?;
    let parents = field()?.split_whitespace().map(str::to_owned).collect();
    let (author, day, subject, body) = (field()?, field()?, field()?, field()?);
    let mut files: Vec<String> =
        fields.by_ref().take_while(|path| !path.is_empty()).map(str::to_owned).collect();
    // Git writes a line end before the first path.
    if let Some(path) = files.first_mut() {
        *path = path.strip_prefix('\n').unwrap_or(path).to_owned();
    }
    Some(RecentCommit { id, parents, author, day, subject, body, files })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_testkit::Repo;

    #[test]
    fn control_characters_do_not_split_a_commit() {
        let repo = Repo::new();
        repo.write("a.txt", "1\n");
        repo.write("\n\u{1}b.txt", "1\n");
        repo.commit("one\n\nbody\u{1}0123456789012345678901234567890123456789\u{1}");
        repo.commit("two");
        repo.write("a.txt", "2\n");
        repo.commit("three\n\nlast");
        let bare = BareRepository::new(&repo.path().join(".git"));
        let commits = bare.recent_commits("HEAD", 10).unwrap();
        let rows: Vec<_> = commits.iter().map(|it| (&*it.subject, &*it.body, &it.files)).collect();
        let first_body = "body\u{1}0123456789012345678901234567890123456789\u{1}\n";
        let first_files = vec!["\n\u{1}b.txt".to_owned(), "a.txt".to_owned()];
        let expected = [
            ("three", "last\n", &vec!["a.txt".to_owned()]),
            ("two", "", &vec![]),
            ("one", first_body, &first_files),
        ];
        assert_eq!(rows, expected);
        assert_eq!(commits[0].parents, [commits[1].id.clone()]);
        assert_eq!(commits[2].parents, Vec::<String>::new());
    }
}
