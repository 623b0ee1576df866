//! Reads the repository's own review configuration (`.crh/rules`, `.crh/reviewers`) from git
//! objects at the base or head of a change.

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
    /// Maximum number of files. Further files are left out.
    pub(crate) files_max: usize,
    /// Maximum size of a file. Larger files are not read.
    pub(crate) file_max: u64,
}

impl RepoConfigFolder {
    /// Reads the files at `base` or `head`. Also returns notes on files that were not read.
    pub(crate) fn read(
        &self,
        revisions: &Revisions,
        revision_name: &str,
    ) -> (Vec<(String, Vec<u8>)>, Vec<String>) {
        let revision = revisions.resolve(Some(revision_name)).unwrap_or_default();
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
        let Self { path: folder, item, extensions: endings, files_max, file_max } = self;
        let objects = revisions.objects();
        let entries = match objects.folder(revision, folder) {
            Ok(entries) => entries,
            Err(ReadError::NoEntry(_)) => return Ok(Vec::new()),
            Err(why) => return Err(why),
        };
        let has_extension =
            |path: &[u8]| endings.iter().any(|ending| path.ends_with(ending.as_bytes()));
        let paths =
            entries.into_iter().filter(|entry| entry.kind.is_file() && has_extension(&entry.path));
        let mut paths: Vec<Vec<u8>> = paths.map(|entry| entry.path).collect();
        if paths.len() > *files_max {
            let omitted = paths.len() - files_max;
            notes.push(format!(
                "{omitted} more files in `{folder}` are left out: crh reads at most {files_max}"
            ));
            paths.truncate(*files_max);
        }
        let mut files = Vec::new();
        for path in paths {
            let path_text = RepoPath::new(path.clone()).shown().into_owned();
            let size = objects.stat(revision, &path)?.1;
            if size > *file_max {
                notes.push(format!(
                    "{item} file `{path_text}` was not read: it has {size} bytes, more than {file_max}"
                ));
            } else {
                files.push((path_text, objects.file(revision, &path)?));
            }
        }
        Ok(files)
    }
}
