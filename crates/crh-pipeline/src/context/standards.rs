//! Standards files that apply to the changed files, such as `AGENTS.md`. Prompts name them;
//! reviewers read them with tools.

use std::collections::BTreeSet;

use crate::agent_files::{MAIN_PLACE, RootFile, nested_file_place};
use crate::change_under_review::ChangeUnderReview;
use crh_review::diff::RepoPath;

/// A standards file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StandardsFile {
    /// Path in the workspace, such as `agent/AGENTS.md`. The workspace holds the file as it is at
    /// `ChangeUnderReview::instructions_revision`.
    pub place: String,
    /// Path in the repository, for citations.
    pub path: String,
    /// Folder that it applies to. Empty for the whole repository.
    pub folder: String,
}

/// The standards files for the files under review. Those of the whole repository come first.
pub fn standards_for(change: &ChangeUnderReview) -> Vec<StandardsFile> {
    let Ok(workspace) = change.workspace() else { return Vec::new() };
    // The stages that depend on the workspace report that it is unreadable.
    let instruction_files = workspace.instruction_files().unwrap_or_default();
    let changed: Vec<&RepoPath> = change.files().map(|(file, _)| &file.path).collect();
    let instruction_files = instruction_files.iter().map(String::as_str).collect();
    standards(&instruction_files, &changed, &root_files(change))
}

/// Files for the whole repository. If crh cannot find any, it guesses the name of the main file.
fn root_files(change: &ChangeUnderReview) -> Vec<RootFile> {
    let guess = || vec![RootFile { path: MAIN_PLACE, place: MAIN_PLACE.to_owned() }];
    let Ok(revisions) = change.tool_context.repository() else { return guess() };
    let Some(revision) = revisions.resolve(Some(change.instructions_revision())) else {
        return guess();
    };
    match crate::agent_files::root_files(revisions.objects(), revision) {
        files if files.is_empty() => guess(),
        files => files,
    }
}

fn standards(
    instruction_files: &BTreeSet<&str>,
    changed: &[&RepoPath],
    root_files: &[RootFile],
) -> Vec<StandardsFile> {
    let standard = |folder: &[u8], path: String, place: String| StandardsFile {
        place: format!("agent/{place}"),
        path,
        folder: RepoPath::new(folder).shown().into_owned(),
    };
    let mut standards_files: Vec<StandardsFile> = root_files
        .iter()
        .filter(|file| instruction_files.contains(file.place.as_str()) && !changed.is_empty())
        .map(|file| standard(b"", file.path.to_owned(), file.place.clone()))
        .collect();
    for path in crate::agent_files::nested_paths(changed) {
        let place = nested_file_place(&path);
        if instruction_files.contains(place.as_str()) {
            let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
            let path_text = RepoPath::new(path.as_slice()).shown().into_owned();
            standards_files.push(standard(&path[..end], path_text, place));
        }
    }
    standards_files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standards_file_applies_below_its_folder() {
        let check = |there: &[&str], changed: &[&str], expected: &[(&str, &str, &str)]| {
            let changed: Vec<RepoPath> = changed.iter().map(|path| RepoPath::new(*path)).collect();
            let actual = standards(
                &there.iter().copied().collect(),
                &changed.iter().collect::<Vec<_>>(),
                &[RootFile { path: "CLAUDE.md", place: MAIN_PLACE.to_owned() }],
            );
            let actual: Vec<(&str, &str, &str)> = actual
                .iter()
                .map(|it| (it.folder.as_str(), it.path.as_str(), it.place.as_str()))
                .collect();
            assert_eq!(actual, expected);
        };
        let instruction_files = [
            "AGENTS.md",
            "rules/web%2FAGENTS.md",
            "rules/web%2Fdeep%2FCLAUDE.md",
            "rules/style.md",
        ];
        check(&instruction_files, &["a.rs"], &[("", "CLAUDE.md", "agent/AGENTS.md")]);
        check(
            &instruction_files,
            &["web/deep/a.ts"],
            &[
                ("", "CLAUDE.md", "agent/AGENTS.md"),
                ("web", "web/AGENTS.md", "agent/rules/web%2FAGENTS.md"),
                ("web/deep", "web/deep/CLAUDE.md", "agent/rules/web%2Fdeep%2FCLAUDE.md"),
            ],
        );
        check(&instruction_files[1..], &["web2/a.ts", "b.ts"], &[]);
        check(&instruction_files, &[], &[]);
    }
}
