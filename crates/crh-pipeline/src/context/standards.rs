//! The standards files whose folder is above a changed file. They are named, not quoted: whoever holds a change against them reads
//! them.

use std::collections::BTreeSet;

use crh_review::diff::RepoPath;

use crate::agent_files::MAIN_PLACE;
use crate::agent_files::nested_place;
use crate::subject::Subject;

/// A standards file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standard {
    /// Where it is in the workspace, which has it as it was at the end of the change that may instruct: `agent/AGENTS.md`.
    pub place: String,
    /// The folder that it holds for; empty for the whole repository.
    pub folder: String,
}

/// The standards files that hold for the files under review, the outermost first. None if there is no workspace.
pub fn standards_for(subject: &Subject) -> Vec<Standard> {
    let Ok(workspace) = subject.workspace() else { return Vec::new() };
    // A workspace that cannot be read fails where somebody needs it.
    let there = workspace.agent_files().unwrap_or_default();
    let changed: Vec<&RepoPath> = subject.files().map(|(file, _)| &file.path).collect();
    standards(&there.iter().map(String::as_str).collect(), &changed)
}

fn standards(there: &BTreeSet<&str>, changed: &[&RepoPath]) -> Vec<Standard> {
    let standard = |folder: &[u8], place: String| Standard {
        place: format!("agent/{place}"),
        folder: RepoPath::new(folder).shown().into_owned(),
    };
    let mut found = Vec::new();
    if there.contains(MAIN_PLACE) && !changed.is_empty() {
        found.push(standard(b"", MAIN_PLACE.to_owned()));
    }
    for path in crate::agent_files::nested(changed) {
        let place = nested_place(&path);
        if there.contains(place.as_str()) {
            let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
            found.push(standard(&path[..end], place));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standards_file_holds_for_what_is_below_its_folder() {
        let check = |there: &[&str], changed: &[&str], expected: &[(&str, &str)]| {
            let changed: Vec<RepoPath> = changed.iter().map(|path| RepoPath::new(*path)).collect();
            let found =
                standards(&there.iter().copied().collect(), &changed.iter().collect::<Vec<_>>());
            let found: Vec<(&str, &str)> =
                found.iter().map(|it| (it.folder.as_str(), it.place.as_str())).collect();
            assert_eq!(found, expected);
        };
        let there = [
            "AGENTS.md",
            "rules/web%2FAGENTS.md",
            "rules/web%2Fdeep%2FCLAUDE.md",
            "rules/style.md",
        ];
        check(&there, &["a.rs"], &[("", "agent/AGENTS.md")]);
        check(
            &there,
            &["web/deep/a.ts"],
            &[
                ("", "agent/AGENTS.md"),
                ("web", "agent/rules/web%2FAGENTS.md"),
                ("web/deep", "agent/rules/web%2Fdeep%2FCLAUDE.md"),
            ],
        );
        check(&there[1..], &["web2/a.ts", "b.ts"], &[]);
        check(&there, &[], &[]);
    }
}
