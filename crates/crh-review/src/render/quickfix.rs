//! Quickfix list for editors: `file:line:col: text`, one line per issue.

use crate::finding::Side;
use crate::report::Report;
use crate::sanitise::{one_line, path};

/// The open issues as a quickfix list, without pre-existing ones. Editors resolve paths from their
/// current folder, so paths are relative to `folder`, which is relative to the repository root.
pub fn quickfix(report: &Report, folder: &str) -> String {
    report
        .shown_open_issues()
        .map(|issue| {
            // A removed line has no line in the new file; its old number is the best guess.
            let side_note = match issue.location.side {
                Side::New => "",
                Side::Old => " (removed line)",
            };
            let rule_or_category = issue.rule.clone().unwrap_or_else(|| issue.category.to_string());
            format!(
                "{}:{}:1: {} {}: {}{side_note}\n",
                path(&relative_path(&issue.location.file, folder)),
                issue.location.line_start,
                issue.severity,
                one_line(&rule_or_category),
                one_line(&issue.title),
            )
        })
        .collect()
}

/// A path from the repository root as seen from a folder of the repository.
pub fn relative_path(file: &str, folder: &str) -> String {
    let mut file_parts = file.split('/').peekable();
    let mut folders = folder.split('/').filter(|part| !part.is_empty()).peekable();
    while folders.peek().is_some() && folders.peek() == file_parts.peek() {
        folders.next();
        file_parts.next();
    }
    let up = folders.map(|_| "..");
    up.chain(file_parts).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_folder() {
        for (folder, expected) in [
            ("", "services/a/x.py"),
            ("services/a", "x.py"),
            ("services/b", "../a/x.py"),
            ("services/a/deep", "../x.py"),
            ("serv", "../services/a/x.py"),
        ] {
            assert_eq!(relative_path("services/a/x.py", folder), expected, "{folder}");
        }
    }
}
