//! Turns a patch of `crh fix --dry-run` into edits of an editor. Pure.

use tower_lsp_server::ls_types::{Range, TextEdit};

use super::place::{ColumnUnit, position};
use crh_review::diff::{Diff, FileDiff};

/// The edit that applies the patch of one file to its text, or `None` if the text is not the one
/// that the patch was made for.
pub(super) fn text_edit(diff: &Diff, file: &FileDiff, old: &str) -> Option<TextEdit> {
    let new = String::from_utf8(diff.apply(file, old.as_bytes()).ok()?).ok()?;
    let (old_lines, new_lines) = (lines(old), lines(&new));
    let pairs = || old_lines.iter().zip(&new_lines);
    let same_before = pairs().take_while(|(old, new)| old == new).count();
    let ends = old_lines[same_before..].iter().rev().zip(new_lines[same_before..].iter().rev());
    let same_after = ends.take_while(|(old, new)| old == new).count();
    // If the last line changes and has no newline, the edit ends in that line.
    let end = old_lines.len() - same_after;
    let end = match old_lines.last() {
        Some(last) if same_after == 0 && !last.ends_with('\n') => {
            // The UTF-8 length is at least the length in every other column unit. Editors reduce
            // a column after the end of a line.
            position(end - 1, ColumnUnit::Utf8.length(last))
        }
        Some(_) | None => position(end, 0),
    };
    let new_text = new_lines[same_before..new_lines.len() - same_after].concat();
    Some(TextEdit { range: Range { start: position(same_before, 0), end }, new_text })
}

/// Lines with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patch: &str, old: &str, expected: Option<(u32, u32, u32, &str)>) {
        let diff = Diff::read(patch);
        let edit = text_edit(&diff, &diff.files()[0], old);
        let edit = edit.map(|edit| {
            let Range { start, end } = edit.range;
            (start.line, end.line, end.character, edit.new_text)
        });
        let expected =
            expected.map(|(start, end, column, text)| (start, end, column, text.to_owned()));
        assert_eq!(edit, expected);
    }

    #[test]
    fn patch_becomes_one_edit_of_the_changed_lines() {
        let patch =
            "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n";
        check(patch, "one\ntwo\nthree\n", Some((1, 2, 0, "zwei\n")));
        check(patch, "one\ntwo!\nthree\n", None);
    }

    #[test]
    fn last_line_without_newline_is_replaced() {
        let patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+zwei\n\\ No newline at end of file\n";
        check(patch, "one\ntwo", Some((1, 1, 3, "zwei")));
    }
}
