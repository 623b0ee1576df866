//! Applying a diff to the file it was made from. Nothing is guessed: every line that the diff shows of the old file must
//! stand where it says.

use super::{Content, Diff, FileDiff, LineKind, split_lines};

/// Why a diff cannot be applied to a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The diff does not show what the file becomes.
    #[error("its lines are not in the diff")]
    NotText,
    /// The file is another one.
    #[error("line {0} of the old file is not what the diff shows")]
    OtherLine(u32),
    /// Its hunks are not in the order of the file.
    #[error("the hunk at line {0} of the diff begins before the end of the one above")]
    Order(u32),
}

impl Diff {
    /// What a file becomes. For one that is added, `old` is empty; one that is deleted becomes empty.
    pub fn applied(&self, file: &FileDiff, old: &[u8]) -> Result<Vec<u8>, ApplyError> {
        match file.content {
            Content::Text => {}
            Content::Binary | Content::Unsupported => return Err(ApplyError::NotText),
        }
        let mut old_lines = (1_u32..).zip(split_lines(old)).peekable();
        let mut new = Vec::with_capacity(old.len());
        for hunk in &file.hunks {
            // An empty side begins behind the line that it names.
            let first =
                if hunk.old.len == 0 { hunk.old.start.saturating_add(1) } else { hunk.old.start };
            while let Some((_, line)) = old_lines.next_if(|(number, _)| *number < first) {
                new.extend_from_slice(line);
            }
            if old_lines.peek().is_some_and(|(number, _)| *number > first) {
                return Err(ApplyError::Order(hunk.first_line));
            }
            let lines: Vec<_> = self.lines(hunk).collect();
            for (at, line) in lines.iter().enumerate() {
                let has_end = lines.get(at + 1).is_none_or(|next| next.kind != LineKind::Remark);
                let mut text = line.text().to_vec();
                if has_end {
                    text.push(b'\n');
                }
                if line.kind.in_old() && old_lines.next().is_none_or(|(_, old)| old != text) {
                    return Err(ApplyError::OtherLine(line.old));
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
        let new = diff.applied(&diff.files()[0], old.as_bytes());
        assert_eq!(new, expected.map(|text| text.as_bytes().to_vec()), "{diff:?}");
    }

    #[test]
    fn hunks_replace_what_they_show_and_leave_the_rest() {
        let old = "a\nb\nc\nd\ne\nf\n";
        check(old, "@@ -2,2 +2,3 @@\n b\n-c\n+C\n+CC\n", Ok("a\nb\nC\nCC\nd\ne\nf\n"));
        check(old, "@@ -1 +0,0 @@\n-a\n@@ -6 +5 @@\n-f\n+F\n", Ok("b\nc\nd\ne\nF\n"));
        check(old, "@@ -3,0 +4,1 @@\n+x\n", Ok("a\nb\nc\nx\nd\ne\nf\n"));
        check("", "@@ -0,0 +1,2 @@\n+a\n+b\n", Ok("a\nb\n"));
        check("a\nb\n", "@@ -1,2 +0,0 @@\n-a\n-b\n", Ok(""));
    }

    #[test]
    fn the_end_of_the_last_line_is_as_the_diff_says() {
        let none = "\\ No newline at end of file\n";
        check("a\nb", &format!("@@ -2 +2 @@\n-b\n{none}+b\n"), Ok("a\nb\n"));
        check("a\nb\n", &format!("@@ -2 +2 @@\n-b\n+c\n{none}"), Ok("a\nc"));
        check("a\r\nb\r\n", "@@ -1 +1 @@\n-a\r\n+c\r\n", Ok("c\r\nb\r\n"));
    }

    #[test]
    fn another_file_is_refused() {
        check("a\n", "@@ -1 +1 @@\n-b\n+c\n", Err(ApplyError::OtherLine(1)));
        check("a\n", "@@ -1,2 +1 @@\n a\n-b\n", Err(ApplyError::OtherLine(2)));
        check(
            "a\n",
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
            Err(ApplyError::OtherLine(1)),
        );
        check(
            "a\nb\n",
            "@@ -2 +2 @@\n-b\n+c\n@@ -1 +1 @@\n-a\n+x\n",
            Err(ApplyError::OtherLine(1)),
        );
        let binary =
            Diff::read("diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n");
        assert_eq!(binary.applied(&binary.files()[0], b""), Err(ApplyError::NotText));
    }
}
