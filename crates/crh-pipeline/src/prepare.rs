//! From a pinned change to everything that goes into its workspace.

use crh_git::Objects;
use crh_git::ReadError;
use crh_review::diff::RepoPath;

use crate::agent_files::agent_files;
use crate::target::Change;
use crate::workspace::Ci;
use crate::workspace::Commit;
use crate::workspace::Contents;
use crate::workspace::Metadata;
use crate::workspace::Round;

/// What goes into the workspace of a local change, and what the user should know about it.
pub fn contents(
    change: Change,
    objects: Option<&Objects>,
) -> Result<(Contents, Vec<String>), ReadError> {
    let paths: Vec<&RepoPath> = change.diff.files().iter().map(|file| &file.path).collect();
    // Locally the author and the reader are one, so the instructions are those of the change itself.
    let agent = match (objects, &change.head) {
        (Some(objects), Some(head)) => agent_files(objects, head, &paths)?,
        (None, _) | (_, None) => Default::default(),
    };
    let known = |text: String| Some(text).filter(|text| !text.is_empty());
    let commits = change.commits.into_iter().map(|commit| Commit {
        id: commit.id,
        author: commit.author,
        date: commit.authored,
        subject: commit.subject,
        body: commit.body,
    });
    let contents = Contents {
        metadata: Metadata {
            title: change.title,
            body: change.body,
            author: known(change.author),
            source_git_path: known(change.source),
            target_git_path: known(change.target),
            base_rev: change.base.clone(),
            head_rev: change.head.clone(),
            ..Metadata::default()
        },
        ci: Ci::default(),
        commits: commits.collect(),
        linked_issues: Vec::new(),
        agent: agent.files,
        rounds: vec![Round {
            id: "1".to_owned(),
            created_at: change.created_at,
            base_rev: change.base,
            head_rev: change.head,
            diff: change.diff,
            general: Vec::new(),
            threads: Vec::new(),
            inline: Default::default(),
        }],
    };
    Ok((contents, agent.notes))
}
