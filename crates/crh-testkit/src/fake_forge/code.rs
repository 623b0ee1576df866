//! Files and commits of the fake: reads a file at a commit, and commits a file to a branch.

use super::state::FakeForgeState;

/// Access level from which a member may push.
const DEVELOPER: u32 = 30;

/// A file at a commit.
#[derive(Debug)]
pub(super) struct StoredFile {
    pub(super) mode: String,
    pub(super) blob: String,
    pub(super) bytes: Vec<u8>,
    /// Last commit that changed it.
    pub(super) last_commit: String,
}

impl FakeForgeState {
    pub(super) fn file(&self, repository: &str, commit: &str, path: &str) -> Option<StoredFile> {
        let bare = &self.projects[repository].bare;
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        bare.object_type(commit).filter(|kind| kind == "commit")?;
        let entries = bare.tree(&format!("{commit}:{folder}"));
        let (mode, kind, blob, _) = entries.into_iter().find(|(_, _, _, found)| found == name)?;
        let last_commit = bare.last_commit(commit, path);
        (kind == "blob").then(|| StoredFile { mode, bytes: bare.blob(&blob), blob, last_commit })
    }

    /// Commits new text of a file that exists on a branch. `None` if the account may not push, if
    /// the branch or file is missing, or if the text is not UTF-8.
    pub(super) fn commit_file(
        &mut self,
        repository: &str,
        login: &str,
        (branch, path, bytes): (&str, &str, Vec<u8>),
        message: &str,
    ) -> Option<String> {
        let project = &self.projects[repository];
        project.members.get(login).filter(|level| **level >= DEVELOPER)?;
        let (bare, parent) = (project.bare.clone(), project.bare.tip(branch)?);
        let file = self.file(repository, &parent, path)?;
        let text = String::from_utf8(bytes).ok()?;
        let tree = bare.write_tree(&parent, &[(path.to_owned(), file.mode, text)]);
        let commit = bare.write_commit(&tree, &[parent], message);
        bare.move_branch(branch, &commit);
        let changes = self.projects[repository].changes.iter();
        let from_here = changes
            .filter(|it| it.is_open && it.source == repository && it.request.head == branch)
            .map(|it| it.number);
        for number in from_here.collect::<Vec<_>>() {
            self.push(repository, number);
        }
        Some(commit)
    }
}
