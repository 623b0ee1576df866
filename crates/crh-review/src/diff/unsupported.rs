//! Recognises texts that are not the diff of one change, so that the user learns what to pass.

use super::{Diff, split_lines};

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
}

impl UnsupportedDiff {
    /// What the user can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoDiff => "pass the output of `git diff`, `git show` or `diff -u`",
            Self::Coloured => "write the diff with `git diff --no-color`",
            Self::Utf16 => "in PowerShell, replace `git diff > FILE` by `git diff --output=FILE`",
        }
    }
}

impl Diff {
    /// Rejects a text that is not the diff of one change.
    pub fn check_supported(&self) -> Result<(), UnsupportedDiff> {
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
        if has_no_file { Err(UnsupportedDiff::NoDiff) } else { Ok(()) }
    }
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
            assert_eq!(
                Diff::read(text.clone()).check_supported(),
                expected,
                "{}",
                text.escape_ascii()
            );
        }
    }
}
