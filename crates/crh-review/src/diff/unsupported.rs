//! Recognises texts that are not the diff of one change, so that the user learns what to pass.

use std::collections::HashMap;
use std::ops::Range;

use super::{Content, Diff, DiffProblemKind, FileChange, FileDiff, split_lines};

/// Start of a file that a program of Windows wrote as UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Digits of the shortest commit id that git prints.
const COMMIT_ID_MIN: usize = 7;

/// Why a text is not the diff of one change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedDiff {
    /// Neither a git diff nor a unified diff.
    #[error("the text contains no git diff and no unified diff")]
    NoDiff,
    /// With the escape sequences of a terminal.
    #[error("the diff is coloured: its lines start with escape sequences of a terminal")]
    Coloured,
    /// With a byte order mark of UTF-16.
    #[error("the diff is encoded as UTF-16, which crh does not read")]
    Utf16,
    /// Output of `git log -p`, or several patches of `git format-patch`.
    #[error("the text has the diffs of several commits: another one starts in line {0}")]
    SeveralCommits(u32),
    /// Several diffs, one after another.
    #[error("the text has two diffs of `{file}`, in line {first} and in line {second}")]
    RepeatedFile {
        /// Path.
        file: String,
        /// Line of the first header.
        first: u32,
        /// Line of the second header.
        second: u32,
    },
}

impl UnsupportedDiff {
    /// What the user can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoDiff => "pass the output of `git diff`, `git show` or `diff -u`",
            Self::Coloured => "write the diff with `git diff --no-color`",
            Self::Utf16 => "in PowerShell, replace `git diff > FILE` by `git diff --output=FILE`",
            Self::SeveralCommits(_) | Self::RepeatedFile { .. } => {
                "pass one diff of the whole change: `git diff A..B`, or the `.diff` of a pull request"
            }
        }
    }
}

impl Diff {
    /// Parses a text that the user passes. Rejects a text that is not the diff of one change.
    pub fn read_supported(mut raw: Vec<u8>) -> Result<Self, UnsupportedDiff> {
        // It would hide the first line, and so a first file without hunks.
        if raw.starts_with(BYTE_ORDER_MARK) {
            raw.drain(..BYTE_ORDER_MARK.len());
        }
        strip_added_crs(&mut raw);
        let diff = Self::read(raw);
        diff.check_supported()?;
        Ok(diff)
    }

    fn check_supported(&self) -> Result<(), UnsupportedDiff> {
        let has_no_file = self.files.is_empty();
        // PowerShell writes a byte order mark.
        if has_no_file && matches!(self.raw.as_slice(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            return Err(UnsupportedDiff::Utf16);
        }
        // Git's settings may colour hunks alone. Lines of a readable hunk start with their sign.
        let is_unread = has_no_file || !self.problems.is_empty();
        if is_unread && split_lines(&self.raw).any(is_coloured_header) {
            return Err(UnsupportedDiff::Coloured);
        }
        if has_no_file {
            return Err(UnsupportedDiff::NoDiff);
        }
        if let Some(line) = self.second_commit() {
            return Err(UnsupportedDiff::SeveralCommits(line));
        }
        self.repeated_file().map_or(Ok(()), Err)
    }

    /// The line in which another commit starts: below the first file and above the last one. A
    /// quoted mail or a commit without a diff may follow the last file.
    fn second_commit(&self) -> Option<u32> {
        let last_file = self.files.last()?.first_line;
        let stray = self.problems.iter().filter_map(|problem| {
            let DiffProblemKind::Stray { lines } = problem.kind else { return None };
            Some(problem.line..problem.line.saturating_add(lines))
        });
        let stray: Vec<Range<u32>> = stray.collect();
        let is_stray = |number: u32| stray.iter().any(|lines| lines.contains(&number));
        let mut lines = self.numbered_lines().take_while(|(number, _)| *number < last_file);
        lines
            .find(|(number, line)| is_commit_header(line) && is_stray(*number))
            .map(|(number, _)| number)
    }

    /// The first file that occurs twice.
    fn repeated_file(&self) -> Option<UnsupportedDiff> {
        let mut seen: HashMap<&[u8], &FileDiff> = HashMap::new();
        // The log of a submodule has several lines, each of which counts as a file.
        let is_named = |file: &&FileDiff| {
            file.content != Content::Unsupported && !file.path.as_bytes().is_empty()
        };
        for file in self.files.iter().filter(is_named) {
            // The path of a plain diff is a guess, which two files may share.
            let name = file.plain_name.as_deref().unwrap_or_else(|| file.path.as_bytes());
            let Some(first) = seen.insert(name, file) else { continue };
            // Git prints a file that changes its type as a deleted and an added one.
            if (first.change, file.change) != (FileChange::Deleted, FileChange::Added) {
                let (first, second) = (first.first_line, file.first_line);
                let file = file.path.shown().into_owned();
                return Some(UnsupportedDiff::RepeatedFile { file, first, second });
            }
        }
        None
    }
}

/// Removes one CR per line if all lines end with CR LF, headers included. Pipes of PowerShell add
/// such a CR. Git ends headers with LF, also in the diff of a file whose lines end with CR LF.
fn strip_added_crs(bytes: &mut Vec<u8>) {
    let is_line_feed = |byte: &u8| *byte == b'\n';
    if bytes.split_inclusive(is_line_feed).all(|line| line.ends_with(b"\r\n")) {
        let lines = bytes.split_inclusive(is_line_feed);
        let lines = lines.map(|line| line.strip_suffix(b"\r\n").unwrap_or(line));
        *bytes = lines.flat_map(|line| line.iter().chain(b"\n")).copied().collect();
    }
}

/// Whether `git log` or `git format-patch` prints such a line before each commit.
fn is_commit_header(line: &[u8]) -> bool {
    let id = line.strip_prefix(b"commit ").or_else(|| line.strip_prefix(b"From "));
    id.is_some_and(|id| {
        let length = id.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        length >= COMMIT_ID_MIN && id.get(length).is_none_or(u8::is_ascii_whitespace)
    })
}

/// Whether the line is a header of a diff after escape sequences for colours.
fn is_coloured_header(line: &[u8]) -> bool {
    let mut rest = line;
    while let Some(sequence) = rest.strip_prefix(b"\x1b[") {
        let is_end = |byte: &u8| !byte.is_ascii_digit() && *byte != b';';
        match sequence.iter().position(is_end) {
            Some(end) if sequence[end] == b'm' => rest = &sequence[end + 1..],
            Some(_) | None => return false,
        }
    }
    let is_header = [&b"diff "[..], b"--- ", b"@@ -"].iter().any(|start| rest.starts_with(start));
    rest.len() < line.len() && is_header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coloured_or_utf16_diff_is_rejected() {
        let plain = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\x1b[1mdiff \n+2\n";
        let coloured =
            plain.replace("diff --git", "\x1b[1mdiff --git").replace("@@ -", "\x1b[36m@@ -");
        let hunks_coloured = plain.replace("@@ -", "\x1b[0;36m@@ -");
        let utf16 = |order: fn(u16) -> [u8; 2]| {
            format!("\u{feff}{plain}").encode_utf16().flat_map(order).collect::<Vec<u8>>()
        };
        for (text, expected) in [
            (plain.as_bytes().to_vec(), Ok(())),
            (coloured.into_bytes(), Err(UnsupportedDiff::Coloured)),
            (hunks_coloured.into_bytes(), Err(UnsupportedDiff::Coloured)),
            (utf16(u16::to_le_bytes), Err(UnsupportedDiff::Utf16)),
            (utf16(u16::to_be_bytes), Err(UnsupportedDiff::Utf16)),
            (b"hello\n".to_vec(), Err(UnsupportedDiff::NoDiff)),
        ] {
            let result = Diff::read_supported(text.clone()).map(|_| ());
            assert_eq!(result, expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn byte_order_mark_hides_no_file() {
        let rename = "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n";
        let diff = Diff::read_supported(format!("\u{feff}{rename}").into_bytes()).unwrap();
        assert_eq!((diff.raw(), diff.files().len()), (rename.as_bytes(), 1));
    }

    #[test]
    fn cr_of_every_line_is_removed_once() {
        let diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-1\r\n+2\r\n";
        let piped = diff.replace('\n', "\r\n");
        assert!(piped.contains("+2\r\r\n"));
        for text in [diff, piped.as_str()] {
            assert_eq!(Diff::read_supported(text.into()).unwrap().raw(), diff.as_bytes());
        }
    }

    #[test]
    fn joined_diffs_are_rejected() {
        let part = |path: &str| {
            format!(
                "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-1\n+2\n"
            )
        };
        let (x, y) = (part("x"), part("y"));
        let plain =
            |folder: &str| format!("--- old{folder}/x\n+++ new{folder}/x\n@@ -1 +1 @@\n-1\n+2\n");
        let log = "commit 1234567 (HEAD)\nAuthor: a\n\n    Title\n\n";
        let mail = "From 1234567 Mon Sep 17 00:00:00 2001\nSubject: Title\n\n---\n x | 2 +-\n\n";
        let retyped = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n\
                       @@ -1 +0,0 @@\n-1\ndiff --git a/x b/x\nnew file mode 120000\n\
                       --- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+2\n";
        let repeated = UnsupportedDiff::RepeatedFile { file: "x".to_owned(), first: 1, second: 13 };
        for (text, expected) in [
            (format!("{x}{y}"), Ok(())),
            (format!("{log}{x}{y}"), Ok(())),
            (format!("{mail}{x}-- \n2.43.0\n\n"), Ok(())),
            (format!("{x}{y}\n{log}"), Ok(())),
            (retyped.to_owned(), Ok(())),
            (format!("{}{}", plain("1"), plain("2")), Ok(())),
            (format!("{log}{x}\n{log}{y}"), Err(UnsupportedDiff::SeveralCommits(13))),
            (
                format!("{mail}{x}-- \n2.43.0\n\n{mail}{y}"),
                Err(UnsupportedDiff::SeveralCommits(16)),
            ),
            (format!("{x}{y}{x}"), Err(repeated)),
        ] {
            let result = Diff::read_supported(text.clone().into_bytes()).map(|_| ());
            assert_eq!(result, expected, "{text}");
        }
    }
}
