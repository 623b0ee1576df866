//! Reads the repository's own review configuration (`.crh/rules`, `.crh/reviewers`) from git
//! objects at one end of a change.

use crate::revisions::Revisions;
use crh_git::ReadError;
use crh_review::diff::RepoPath;

/// A folder of configuration files.
pub(crate) struct RepoConfigFolder {
    /// Path from the repository root.
    pub(crate) path: &'static str,
    /// Singular noun for one file, for messages.
    pub(crate) item: &'static str,
    /// File name suffixes.
    pub(crate) extensions: &'static [&'static str],
    /// Files beyond this number are left out.
    pub(crate) files_max: usize,
    /// Larger files are not read.
    pub(crate) file_max: u64,
}

impl RepoConfigFolder {
    /// Reads the files at `base` or `head`. Returns a note for each file that was not read.
    pub(crate) fn read(
        &self,
        revisions: &Revisions,
        end: &str,
    ) -> (Vec<(String, Vec<u8>)>, Vec<String>) {
        let revision = revisions.resolve(Some(end)).unwrap_or_default();
        let mut notes = Vec::new();
        let files = self.files(revisions, revision, &mut notes).unwrap_or_else(|why| {
            notes.push(format!("cannot read the {}s in `{}`: {why}", self.item, self.path));
            Vec::new()
        });
        (files, notes)
    }

    fn files(
        &self,
        revisions: &Revisions,
        revision: &str,
        notes: &mut Vec<String>,
    ) -> Result<Vec<(String, Vec<u8>)>, ReadError> {
        let Self { path: folder, item: what, extensions: endings, files_max, file_max } = self;
        let objects = revisions.objects();
        let entries = match objects.folder(revision, folder) {
            Ok(entries) => entries,
            Err(ReadError::NoEntry(_)) => return Ok(Vec::new()),
            Err(why) => return Err(why),
        };
        let is_one = |path: &[u8]| endings.iter().any(|ending| path.ends_with(ending.as_bytes()));
        let found = entries.into_iter().filter(|it| it.kind.is_file() && is_one(&it.path));
        let mut found: Vec<Vec<u8>> = found.map(|entry| entry.path).collect();
        if found.len() > *files_max {
            let more = found.len() - files_max;
            notes.push(format!(
                "{more} more files in `{folder}` are left out: crh reads at most {files_max}"
            ));
            found.truncate(*files_max);
        }
        let mut files = Vec::new();
        for path in found {
            let shown = RepoPath::new(path.clone()).shown().into_owned();
            let size = objects.stat(revision, &path)?.1;
            if size > *file_max {
                notes.push(format!(
                    "{what} file `{shown}` was not read: it has {size} bytes, more than {file_max}"
                ));
            } else {
                files.push((shown, objects.file(revision, &path)?));
            }
        }
        Ok(files)
    }
}
