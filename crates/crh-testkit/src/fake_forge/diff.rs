//! Diffs of a proposed change: which lines a forge shows, and where they move after a push.

/// A changed file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileDiff {
    pub(super) old_path: String,
    pub(super) new_path: String,
    pub(super) is_new: bool,
    pub(super) is_deleted: bool,
    pub(super) is_renamed: bool,
    /// Hunks, as in the diff.
    pub(super) text: String,
    pub(super) lines: Vec<FileLine>,
}

/// A line that a diff shows, with its numbers in both files. A number of 0 means that the file does
/// not have the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileLine {
    pub(super) old: u32,
    pub(super) new: u32,
}

/// Parses the output of `git diff`.
pub(super) fn parse(diff: &[u8]) -> Vec<FileDiff> {
    let text = String::from_utf8_lossy(diff);
    let mut files: Vec<FileDiff> = Vec::new();
    let (mut old, mut new, mut in_hunk) = (0, 0, false);
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("diff --git a/") {
            let (old_path, new_path) = names.split_once(" b/").unwrap_or((names, names));
            let (old_path, new_path) = (old_path.to_owned(), new_path.to_owned());
            files.push(FileDiff { old_path, new_path, ..FileDiff::default() });
            in_hunk = false;
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        if let Some(header) = line.strip_prefix("@@ -") {
            let start =
                |text: &str| text.split([',', ' ']).next().and_then(|text| text.parse().ok());
            old = start(header).unwrap_or(0);
            new = header.split_once('+').and_then(|(_, text)| start(text)).unwrap_or(0);
            in_hunk = true;
        } else if !in_hunk {
            file.is_new |= line.starts_with("new file");
            file.is_deleted |= line.starts_with("deleted file");
            file.is_renamed |= line.starts_with("rename from");
            continue;
        } else {
            match line.chars().next() {
                Some('+') => {
                    file.lines.push(FileLine { old: 0, new });
                    new += 1;
                }
                Some('-') => {
                    file.lines.push(FileLine { old, new: 0 });
                    old += 1;
                }
                Some('\\') => {}
                Some(_) | None => {
                    file.lines.push(FileLine { old, new });
                    (old, new) = (old + 1, new + 1);
                }
            }
        }
        file.text.push_str(line);
        file.text.push('\n');
    }
    files
}

/// New number of a line of a file after a push, by the diff of the two heads; `None` if the push
/// changed the line.
pub(super) fn moved_line(push: &[FileDiff], path: &str, line: u32) -> Option<u32> {
    let Some(file) = push.iter().find(|file| file.old_path == path) else { return Some(line) };
    let mut shift: i64 = 0;
    for shown in &file.lines {
        match (shown.old, shown.new) {
            (old, 0) if old == line => return None,
            (old, new) if old == line => return Some(new),
            (old, _) if old > line => break,
            (_, 0) => shift -= 1,
            (0, _) => shift += 1,
            (_, _) => {}
        }
    }
    u32::try_from(i64::from(line) + shift).ok()
}
