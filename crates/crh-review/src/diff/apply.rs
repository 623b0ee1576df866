//! Applies a diff to the old version of a file. There is no fuzz: every old line in the diff must
//! match exactly.

use super::{Content, Diff, FileDiff, LineKind, split_lines};

/// Why a diff cannot be applied to a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The diff does not contain the text of the file.
    #[error("the diff does not contain the text of the file")]
    NotText,
    /// A line of the old file differs from the diff.
    #[error("line {0} of the old file does not match the diff")]
    LineMismatch(u32),
    /// The hunks are out of order.
    #[error("the hunk at line {0} of the diff starts before the previous hunk ends")]
    HunkOrder(u32),
}

impl Diff {
    /// The new version of a file. Pass an empty `old` for an added file; a deleted file becomes
    /// empty.
    pub fn apply(&self, file: &FileDiff, old: &[u8]) -> Result<Vec<u8>, ApplyError> {
        match file.content {
            Content::Text => {}
            Content::Binary | Content::Unsupported => return Err(ApplyError::NotText),
        }
        let mut old_lines = (1_u32..).zip(split_lines(old)).peekable();
        let mut new = Vec::with_capacity(old.len());
        for hunk in &file.hunks {
            // A span of length 0 starts after the line that it names.
            let first_line =
                if hunk.old.len == 0 { hunk.old.start.saturating_add(1) } else { hunk.old.start };
            while let Some((_, line)) = old_lines.next_if(|(number, _)| *number < first_line) {
                new.extend_from_slice(line);
            }
            if old_lines.peek().is_some_and(|(number, _)| *number > first_line) {
                return Err(ApplyError::HunkOrder(hunk.first_line));
            }
            let lines: Vec<_> = self.lines(hunk).collect();
            for (index, line) in lines.iter().enumerate() {
                let has_newline =
                    lines.get(index + 1).is_none_or(|next| next.kind != LineKind::Remark);
                let mut text = line.text().to_vec();
                if has_newline {
                    text.push(b'\n');
                }
                if line.kind.in_old() && old_lines.next().is_none_or(|(_, old)| old != text) {
                    return Err(ApplyError::LineMismatch(line.old));
                }
                if line.kind.in_new() {
                    new.extend_from_slice(&text);
                }
            }
        }
        old_lines.for_each(|(_, line)| new.extend_from_slice(line));
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, diff: &str, expected: Result<&str, ApplyError>) {
        let diff = Diff::read(format!("--- a/f\n+++ b/f\n{diff}"));
        assert_eq!(diff.problems(), []);
        let new = diff.apply(&diff.files()[0], old.as_bytes());
        assert_eq!(new, expected.map(|text| text.as_bytes().to_vec()), "{diff:?}");
    }

    #[test]
    fn hunks_change_only_their_own_lines() {
        let old = "a\nb\nc\nd\ne\nf\n";
        check(old, "@@ -2,2 +2,3 @@\n b\n-c\n+C\n+CC\n", Ok("a\nb\nC\nCC\nd\ne\nf\n"));
        check(old, "@@ -1 +0,0 @@\n-a\n@@ -6 +5 @@\n-f\n+F\n", Ok("b\nc\nd\ne\nF\n"));
        check(old, "@@ -3,0 +4,1 @@\n+x\n", Ok("a\nb\nc\nx\nd\ne\nf\n"));
        check("", "@@ -0,0 +1,2 @@\n+a\n+b\n", Ok("a\nb\n"));
        check("a\nb\n", "@@ -1,2 +0,0 @@\n-a\n-b\n", Ok(""));
    }

    #[test]
    fn final_newline_follows_the_diff() {
        let no_newline = "\\ No newline at end of file\n";
        check("a\nb", &format!("@@ -2 +2 @@\n-b\n{no_newline}+b\n"), Ok("a\nb\n"));
        check("a\nb\n", &format!("@@ -2 +2 @@\n-b\n+c\n{no_newline}"), Ok("a\nc"));
        check("a\r\nb\r\n", "@@ -1 +1 @@\n-a\r\n+c\r\n", Ok("c\r\nb\r\n"));
    }

    #[test]
    fn mismatching_file_is_rejected() {
        check("a\n", "@@ -1 +1 @@\n-b\n+c\n", Err(ApplyError::LineMismatch(1)));
        check("a\n", "@@ -1,2 +1 @@\n a\n-b\n", Err(ApplyError::LineMismatch(2)));
        check(
            "a\n",
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
            Err(ApplyError::LineMismatch(1)),
        );
        check(
            "a\nb\n",
            "@@ -2 +2 @@\n-b\n+c\n@@ -1 +1 @@\n-a\n+x\n",
            Err(ApplyError::LineMismatch(1)),
        );
        let binary =
            Diff::read("diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n");
        assert_eq!(binary.apply(&binary.files()[0], b""), Err(ApplyError::NotText));
    }
}
