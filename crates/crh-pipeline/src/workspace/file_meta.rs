//! Writes a file's `meta.json` directly to a buffer, since a large change has a million mapped
//! lines.
//!
//! Invariant: the bytes equal `stable_json` of `FileMeta` (tested below).

use crh_review::diff::{Diff, FileDiff, LineKind, write_number};
use crh_review::schema::FileRow;
use crh_review::stable_json;

/// Appends the `meta.json` of a file.
pub(super) fn write_meta(
    diff: &Diff,
    file: &FileDiff,
    out: &mut Vec<u8>,
) -> serde_json::Result<()> {
    let row = FileRow::from_file(file);
    out.extend_from_slice(b"{\n  \"additions\": ");
    write_number(out, row.additions);
    out.extend_from_slice(b",\n  \"deletions\": ");
    write_number(out, row.deletions);
    out.extend_from_slice(b",\n  \"lineMap\": {");
    let start = out.len();
    for line in file.hunks.iter().flat_map(|hunk| diff.lines(hunk)) {
        let (side, file_line) = match line.kind {
            LineKind::Remark => continue,
            LineKind::Removed => ("before", line.old),
            LineKind::Added => ("after", line.new),
            LineKind::Context => ("context", line.new),
        };
        out.extend_from_slice(if out.len() == start { b"\n    \"" } else { b",\n    \"" });
        write_number(out, line.number);
        out.extend_from_slice(b"\": {\n      \"fileLine\": ");
        write_number(out, file_line);
        out.extend_from_slice(b",\n      \"side\": \"");
        out.extend_from_slice(side.as_bytes());
        out.extend_from_slice(b"\"\n    }");
    }
    if out.len() > start {
        out.extend_from_slice(b"\n  ");
    }
    out.extend_from_slice(b"},\n  \"oldPath\": ");
    out.extend_from_slice(stable_json(&row.old_path)?.trim_end().as_bytes());
    out.extend_from_slice(b",\n  \"path\": ");
    out.extend_from_slice(stable_json(&row.path)?.trim_end().as_bytes());
    out.extend_from_slice(b",\n  \"status\": ");
    out.extend_from_slice(stable_json(&row.status)?.trim_end().as_bytes());
    out.extend_from_slice(b"\n}\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_review::schema::FileMeta;

    #[test]
    fn meta_bytes_equal_stable_json() {
        let text = include_bytes!("../../../crh-review/tests/data/edge.diff");
        let odd = b"diff --git \"a/\\001\\342\\200\\256\\\"\" \"b/\\001\\342\\200\\256\\\"\"\nnew file mode 100644\n";
        let diff = Diff::read([text.as_slice(), odd].concat());
        assert!(diff.files().len() > 10);
        for file in diff.files() {
            let meta = FileMeta { row: FileRow::from_file(file), line_map: diff.line_map(file) };
            let mut bytes = Vec::new();
            write_meta(&diff, file, &mut bytes).unwrap();
            assert_eq!(String::from_utf8(bytes).unwrap(), stable_json(&meta).unwrap());
        }
    }

    #[test]
    fn write_number_handles_every_length() {
        for number in [0, 7, 10, 4_294_967_295] {
            let mut out = Vec::new();
            write_number(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }
}
