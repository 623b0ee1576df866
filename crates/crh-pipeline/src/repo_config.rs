//! Files in which a repository says how it wants to be reviewed, read from git objects at one end of a change.

use crate::revisions::Revisions;
use crh_git::ReadError;
use crh_review::diff::RepoPath;

/// A folder of such files.
pub(crate) struct Folder {
    /// Where it is.
    pub(crate) path: &'static str,
    /// What one of its files holds, as a word.
    pub(crate) what: &'static str,
    /// How the names of its files end.
    pub(crate) endings: &'static [&'static str],
    /// More files than these are left out.
    pub(crate) files_max: usize,
    /// A larger file is not read.
    pub(crate) file_max: u64,
}

impl Folder {
    /// Its files as they are at `base` or `head`, and a sentence about each that was not read. A repository without the folder
    /// has none.
    pub(crate) fn read(
        &self,
        revisions: &Revisions,
        end: &str,
    ) -> (Vec<(String, Vec<u8>)>, Vec<String>) {
        let revision = revisions.named(Some(end)).unwrap_or_default();
        let mut notes = Vec::new();
        let files = self.files(revisions, revision, &mut notes).unwrap_or_else(|why| {
            notes.push(format!("the {}s in `{}` were not read: {why}", self.what, self.path));
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
        let Self { path: folder, what, endings, files_max, file_max } = self;
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
                "{more} more files in `{folder}` are left out: at most {files_max} are read"
            ));
            found.truncate(*files_max);
        }
        let mut files = Vec::new();
        for path in found {
            let shown = RepoPath::new(path.clone()).shown().into_owned();
            let size = objects.stat(revision, &path)?.1;
            if size > *file_max {
                notes.push(format!("a {what} file, `{shown}`: it has {size} bytes"));
            } else {
                files.push((shown, objects.file(revision, &path)?));
            }
        }
        Ok(files)
    }
}
