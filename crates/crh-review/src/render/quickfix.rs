//! Quickfix list for editors: `file:line:col: text`, one line per issue.

use crate::diff::{Diff, DiffLine};
use crate::finding::Side;
use crate::place::Location;
use crate::report::Report;
use crate::sanitise::{one_line, path};

/// The open issues as a quickfix list, without pre-existing ones. Editors resolve paths from their
/// current folder, so paths are relative to `folder`, which is relative to the repository root. With
/// the diff, an issue about a removed line gets the line that follows it now.
pub fn quickfix(report: &Report, diff: Option<&Diff>, folder: &str) -> String {
    report
        .shown_open_issues()
        .map(|issue| {
            let side_note = match issue.location.side {
                Side::New => "",
                Side::Old => " (removed line)",
            };
            let rule_or_category = issue.rule.clone().unwrap_or_else(|| issue.category.to_string());
            format!(
                "{}:{}:1: {} {}: {}{side_note}\n",
                path(&relative_path(&issue.location.file, folder)),
                line_now(&issue.location, diff).unwrap_or(issue.location.line_start),
                issue.severity,
                one_line(&rule_or_category),
                one_line(&issue.title),
            )
        })
        .collect()
}

/// The line of the new file that follows a removed line. `None` if the line is not removed, or if
/// the diff does not show it.
fn line_now(location: &Location, diff: Option<&Diff>) -> Option<u32> {
    let diff = diff.filter(|_| location.side == Side::Old)?;
    let file = diff.files().iter().find(|file| file.path.shown() == location.file)?;
    file.hunks.iter().find_map(|hunk| {
        let is_cited = |line: &DiffLine<'_>| line.kind.in_old() && line.old == location.line_start;
        let lines: Vec<DiffLine<'_>> = diff.lines(hunk).collect();
        let (before, _) = lines.split_at(lines.iter().position(is_cited)?);
        let last_new = before.iter().rev().find(|line| line.kind.in_new());
        Some(last_new.map_or(hunk.new.start, |line| line.new + 1).max(1))
    })
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
    fn removed_line_gets_the_line_that_follows_it_now() {
        let diff = Diff::read(
            "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -3,5 +3,4 @@\n a\n+b\n-c\n-d\n e\n f\n",
        );
        let line = |side, line_start| {
            let location =
                Location { file: "x.py".to_owned(), side, line_start, line_end: line_start };
            line_now(&location, Some(&diff))
        };
        assert_eq!([4, 5, 6].map(|number| line(Side::Old, number)), [Some(5), Some(5), Some(5)]);
        assert_eq!([line(Side::Old, 20), line(Side::New, 4)], [None, None]);
    }

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
