//! The standards files whose folder is above a changed file. They are named, not quoted: whoever holds a change against them reads
//! them.

use std::collections::BTreeSet;

use super::instructing_end;
use crate::agent_files::{MAIN_PLACE, nested_place};
use crate::subject::Subject;
use crh_review::diff::RepoPath;

/// A standards file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standard {
    /// Where it is in the workspace, which has it as it was at the end of the change that may instruct: `agent/AGENTS.md`.
    pub place: String,
    /// Its path in the repository, as it is cited.
    pub path: String,
    /// The folder that it holds for; empty for the whole repository.
    pub folder: String,
}

/// The standards files that hold for the files under review, the outermost first. None if there is no workspace.
pub fn standards_for(subject: &Subject) -> Vec<Standard> {
    let Ok(workspace) = subject.workspace() else { return Vec::new() };
    // A workspace that cannot be read fails where somebody needs it.
    let there = workspace.agent_files().unwrap_or_default();
    let changed: Vec<&RepoPath> = subject.files().map(|(file, _)| &file.path).collect();
    let there = there.iter().map(String::as_str).collect();
    standards(&there, &changed, &main_path(subject).unwrap_or_else(|| MAIN_PLACE.to_owned()))
}

/// Where the file for the whole repository lies; none if that cannot be told.
fn main_path(subject: &Subject) -> Option<String> {
    let revisions = subject.bench.repository().ok()?;
    let objects = revisions.objects();
    let revision = revisions.named(Some(instructing_end(subject)))?;
    crate::agent_files::main_path(objects, revision)
}

fn standards(there: &BTreeSet<&str>, changed: &[&RepoPath], main: &str) -> Vec<Standard> {
    let standard = |folder: &[u8], path: String, place: String| Standard {
        place: format!("agent/{place}"),
        path,
        folder: RepoPath::new(folder).shown().into_owned(),
    };
    let mut found = Vec::new();
    if there.contains(MAIN_PLACE) && !changed.is_empty() {
        found.push(standard(b"", main.to_owned(), MAIN_PLACE.to_owned()));
    }
    for path in crate::agent_files::nested(changed) {
        let place = nested_place(&path);
        if there.contains(place.as_str()) {
            let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
            let shown = RepoPath::new(path.as_slice()).shown().into_owned();
            found.push(standard(&path[..end], shown, place));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standards_file_holds_for_what_is_below_its_folder() {
        let check = |there: &[&str], changed: &[&str], expected: &[(&str, &str, &str)]| {
            let changed: Vec<RepoPath> = changed.iter().map(|path| RepoPath::new(*path)).collect();
            let found = standards(
                &there.iter().copied().collect(),
                &changed.iter().collect::<Vec<_>>(),
                "CLAUDE.md",
            );
            let found: Vec<(&str, &str, &str)> = found
                .iter()
                .map(|it| (it.folder.as_str(), it.path.as_str(), it.place.as_str()))
                .collect();
            assert_eq!(found, expected);
        };
        let there = [
            "AGENTS.md",
            "rules/web%2FAGENTS.md",
            "rules/web%2Fdeep%2FCLAUDE.md",
            "rules/style.md",
        ];
        check(&there, &["a.rs"], &[("", "CLAUDE.md", "agent/AGENTS.md")]);
        check(
            &there,
            &["web/deep/a.ts"],
            &[
                ("", "CLAUDE.md", "agent/AGENTS.md"),
                ("web", "web/AGENTS.md", "agent/rules/web%2FAGENTS.md"),
                ("web/deep", "web/deep/CLAUDE.md", "agent/rules/web%2Fdeep%2FCLAUDE.md"),
            ],
        );
        check(&there[1..], &["web2/a.ts", "b.ts"], &[]);
        check(&there, &[], &[]);
    }
}
