//! Reads a diff from top to bottom. Hunk lengths, never prefixes alone, decide what is content.

use std::ops::Range;

use super::path::RepoPath;
use super::{Content, FileChange, FileDiff, Hunk, LineKind, LineSpan, Problem, ProblemKind, path};

/// Reads everything; never fails.
pub(super) fn read(raw: &[u8]) -> (Vec<FileDiff>, Vec<Problem>) {
    let mut reader = Reader {
        raw,
        at: 0,
        line: 1,
        files: Vec::new(),
        problems: Vec::new(),
        stray: None,
        announced: false,
    };
    while reader.at < raw.len() {
        reader.next_part();
    }
    reader.end_stray();
    reader.end_file();
    if !reader.files.is_empty() && !raw.ends_with(b"\n") {
        let line = reader.line.saturating_sub(1);
        reader.problems.push(Problem { line, kind: ProblemKind::CutLine });
    }
    (reader.files, reader.problems)
}

/// What a line of a hunk is by its first byte; `None` if it cannot be a line of a hunk.
pub(super) fn kind_of(line: &[u8]) -> Option<LineKind> {
    match line.first() {
        Some(b' ') => Some(LineKind::Context),
        Some(b'+') => Some(LineKind::Added),
        Some(b'-') => Some(LineKind::Removed),
        Some(b'\\') => Some(LineKind::Remark),
        // Mail programs and editors take the blank off an empty context line.
        Some(b'\n') | None => Some(LineKind::Context),
        Some(b'\r') if matches!(line, b"\r" | b"\r\n") => Some(LineKind::Context),
        Some(_) => None,
    }
}

struct Reader<'a> {
    raw: &'a [u8],
    at: usize,
    line: u32,
    files: Vec<FileDiff>,
    problems: Vec<Problem>,
    // A run of lines that belong to nothing: where it starts and how long it is.
    stray: Option<(u32, u32)>,
    // Whether the header of the last file announced lines.
    announced: bool,
}

/// What the lines of a file header said, before it is decided what they mean.
#[derive(Default)]
struct Header {
    names: Option<RepoPath>,
    from: Option<RepoPath>,
    to: Option<RepoPath>,
    sides: Option<(Option<RepoPath>, Option<RepoPath>)>,
    change: Option<FileChange>,
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    content: Option<Content>,
    is_other_blob: bool,
}

impl<'a> Reader<'a> {
    fn next_part(&mut self) {
        let line = self.peek();
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            self.git_file(names);
        } else if let Some(name) =
            line.strip_prefix(b"diff --cc ").or(line.strip_prefix(b"diff --combined "))
        {
            self.unsupported_file(path::from_header(name), ProblemKind::Combined);
        } else if let Some(name) = submodule_log(line) {
            self.unsupported_file(RepoPath::new(name), ProblemKind::SubmoduleLog);
        } else if self.at_plain_file() {
            self.plain_file();
        } else if line.starts_with(b"@@ -") && !self.files.is_empty() {
            self.hunk();
        } else {
            self.stray_line();
        }
    }

    fn git_file(&mut self, names: &'a [u8]) {
        let start = self.start_part();
        let mut header = Header { names: path::from_git_line(names), ..Header::default() };
        self.advance();
        while self.at < self.raw.len() && self.header_line(&mut header) {}
        self.finish_file(header, start);
    }

    /// Takes in one line of a git file header. Returns whether it was one.
    fn header_line(&mut self, header: &mut Header) -> bool {
        let line = self.peek();
        if line.starts_with(b"--- ") {
            return self.side_lines(header);
        }
        if let Some(mode) = line.strip_prefix(b"old mode ") {
            header.old_mode = octal(mode);
        } else if let Some(mode) = line.strip_prefix(b"new mode ") {
            header.new_mode = octal(mode);
        } else if let Some(mode) = line.strip_prefix(b"new file mode ") {
            header.change = Some(FileChange::Added);
            header.new_mode = octal(mode);
        } else if let Some(mode) = line.strip_prefix(b"deleted file mode ") {
            header.change = Some(FileChange::Deleted);
            header.old_mode = octal(mode);
        } else if let Some(name) = line.strip_prefix(b"rename from ") {
            header.change = Some(FileChange::Renamed);
            header.from = Some(path::from_header(name));
        } else if let Some(name) = line.strip_prefix(b"copy from ") {
            header.change = Some(FileChange::Copied);
            header.from = Some(path::from_header(name));
        } else if let Some(name) = line.strip_prefix(b"rename to ") {
            header.to = Some(path::from_header(name));
        } else if let Some(name) = line.strip_prefix(b"copy to ") {
            header.to = Some(path::from_header(name));
        } else if let Some(ids) = line.strip_prefix(b"index ") {
            header.is_other_blob = is_other_blob(ids);
            // `index OLD..NEW MODE`: the mode stands here when it did not change.
            if let Some(at) = memchr::memchr(b' ', ids) {
                header.old_mode = octal(&ids[at + 1..]);
                header.new_mode = header.old_mode;
            }
        } else if line.starts_with(b"Binary files ") {
            header.content = Some(Content::Binary);
        } else if line == b"GIT binary patch" {
            header.content = Some(Content::Binary);
            self.binary_patch();
            return true;
        } else if !line.starts_with(b"similarity index ")
            && !line.starts_with(b"dissimilarity index ")
        {
            return false;
        }
        self.advance();
        true
    }

    /// Takes in a `---` line and the `+++` line after it.
    fn side_lines(&mut self, header: &mut Header) -> bool {
        let Some(new) = self.peek_at(1).and_then(|line| line.strip_prefix(b"+++ ")) else {
            return false;
        };
        let old = &self.peek()[b"--- ".len()..];
        header.sides =
            Some(path::from_side_lines(path::from_side_line(old), path::from_side_line(new)));
        self.advance();
        self.advance();
        true
    }

    /// Passes over the base-85 blocks of a binary patch. Each ends with an empty line; none of their
    /// lines has a space, but for the one that starts the block.
    fn binary_patch(&mut self) {
        self.advance();
        while self.at < self.raw.len() {
            let line = self.peek();
            let starts_block = line.starts_with(b"literal ") || line.starts_with(b"delta ");
            if !starts_block && memchr::memchr(b' ', line).is_some() {
                break;
            }
            self.advance();
        }
    }

    /// A `---`/`+++`/`@@` triple without a `diff --git` line, as plain `diff -u` prints it.
    fn at_plain_file(&self) -> bool {
        self.peek().starts_with(b"--- ")
            && self.peek_at(1).is_some_and(|line| line.starts_with(b"+++ "))
            && self.peek_at(2).is_some_and(|line| line.starts_with(b"@@ -"))
    }

    fn plain_file(&mut self) {
        let start = self.start_part();
        let mut header = Header::default();
        self.side_lines(&mut header);
        self.finish_file(header, start);
    }

    fn unsupported_file(&mut self, path: RepoPath, problem: ProblemKind) {
        let start = self.start_part();
        self.problems.push(Problem { line: start.1, kind: problem });
        self.advance();
        // Every line of a combined hunk starts with a sign or a blank, so this cannot cut into one.
        while self.at < self.raw.len() {
            let line = self.peek();
            if line.starts_with(b"diff --") || submodule_log(line).is_some() {
                break;
            }
            self.advance();
        }
        let header =
            Header { names: Some(path), content: Some(Content::Unsupported), ..Header::default() };
        self.finish_file(header, start);
    }

    fn finish_file(&mut self, header: Header, (start, first_line): (usize, u32)) {
        let side_change = match &header.sides {
            Some((None, Some(_))) => FileChange::Added,
            Some((Some(_), None)) => FileChange::Deleted,
            Some((Some(_), Some(_)) | (None, None)) | None => FileChange::Modified,
        };
        let change = header.change.unwrap_or(side_change);
        let header_has_sides = header.sides.is_some();
        let (old_side, new_side) = header.sides.unwrap_or_default();
        let path = header.to.or(header.names).or(new_side).or(old_side.clone());
        if path.is_none() {
            self.problems.push(Problem { line: first_line, kind: ProblemKind::Path });
        }
        let old_path = match change {
            FileChange::Renamed | FileChange::Copied => header.from.or(old_side),
            FileChange::Added | FileChange::Deleted | FileChange::Modified => None,
        };
        self.end_file();
        let is_text = header.content.is_none();
        let has_new_mode = header.old_mode.is_some() && header.old_mode != header.new_mode;
        // A file that stays must have changed somehow; one that comes, goes or moves may have no lines.
        let must_have_lines = match change {
            FileChange::Modified => header.is_other_blob || !has_new_mode,
            FileChange::Renamed | FileChange::Copied => header.is_other_blob,
            FileChange::Added | FileChange::Deleted => false,
        };
        self.announced = is_text && (header_has_sides || must_have_lines);
        self.files.push(FileDiff {
            path: path.unwrap_or_else(|| RepoPath::new("")),
            old_path,
            change,
            content: header.content.unwrap_or(Content::Text),
            old_mode: header.old_mode,
            new_mode: header.new_mode,
            hunks: Vec::new(),
            additions: 0,
            deletions: 0,
            header: start..self.at,
            first_line,
        });
    }

    fn hunk(&mut self) {
        let line = self.peek();
        let Some((old, new)) = hunk_spans(line) else {
            self.problems.push(Problem { line: self.line, kind: ProblemKind::HunkHeader });
            self.stray_line();
            return;
        };
        let (start, first_line) = self.start_part();
        self.advance();
        let body = self.at;
        let (added, removed) = self.hunk_body(old.len, new.len, first_line);
        let bytes: Range<usize> = start..self.at;
        if let Some(file) = self.files.last_mut() {
            file.additions = file.additions.saturating_add(added);
            file.deletions = file.deletions.saturating_add(removed);
            file.hunks.push(Hunk { old, new, first_line, bytes, body });
        }
    }

    /// Takes in the lines of a hunk until its lengths are used up. Returns how many were added and
    /// how many removed.
    fn hunk_body(&mut self, mut old: u32, mut new: u32, first_line: u32) -> (u32, u32) {
        let (mut added, mut removed) = (0, 0);
        while self.at < self.raw.len() {
            let kind = kind_of(self.peek_raw());
            match kind {
                Some(LineKind::Context) if old > 0 && new > 0 => (old, new) = (old - 1, new - 1),
                Some(LineKind::Removed) if old > 0 => (old, removed) = (old - 1, removed + 1),
                Some(LineKind::Added) if new > 0 => (new, added) = (new - 1, added + 1),
                // The remark that a file's last line has no newline may follow the last line.
                Some(LineKind::Remark) => {}
                Some(LineKind::Context | LineKind::Removed | LineKind::Added) | None => break,
            }
            self.advance();
        }
        if old > 0 || new > 0 {
            let missing = u64::from(old) + u64::from(new);
            let kind = ProblemKind::ShortHunk { missing };
            self.problems.push(Problem { line: first_line, kind });
        }
        (added, removed)
    }

    fn stray_line(&mut self) {
        let line = self.peek();
        if line == b"-- " {
            self.mail_signature();
            return;
        }
        // What stands before the first file is a commit message or a mail: no problem, unless it has hunks.
        if !self.files.is_empty() || self.stray.is_some() || hunk_spans(line).is_some() {
            let (start, lines) = self.stray.unwrap_or((self.line, 0));
            self.stray = Some((start, lines.saturating_add(1)));
        }
        self.advance();
    }

    /// Passes over what git puts below a mail: `-- `, its version, and an empty line.
    fn mail_signature(&mut self) {
        self.advance();
        let is_version = |line: &[u8]| line.first().is_some_and(u8::is_ascii_digit);
        if self.at < self.raw.len() && is_version(self.peek()) {
            self.advance();
        }
        while self.at < self.raw.len() && self.peek().is_empty() {
            self.advance();
        }
    }

    /// Says so if the last file announced lines and has none.
    fn end_file(&mut self) {
        if let Some(file) = self.files.last()
            && self.announced
            && file.hunks.is_empty()
        {
            let line = file.first_line;
            self.problems.push(Problem { line, kind: ProblemKind::NoHunk });
        }
        self.announced = false;
    }

    fn end_stray(&mut self) {
        if let Some((line, lines)) = self.stray.take() {
            self.problems.push(Problem { line, kind: ProblemKind::Stray { lines } });
        }
    }

    /// The byte and the line at which a part starts; whatever was stray before it is over.
    fn start_part(&mut self) -> (usize, u32) {
        self.end_stray();
        (self.at, self.line)
    }

    /// The current line with its newline.
    fn peek_raw(&self) -> &'a [u8] {
        let rest = &self.raw[self.at..];
        &rest[..line_len(rest)]
    }

    /// The current line without its line ending. A header never ends in a carriage return of its own:
    /// git quotes such a path.
    fn peek(&self) -> &'a [u8] {
        without_ending(self.peek_raw())
    }

    /// The line `ahead` lines further down, without its line ending.
    fn peek_at(&self, ahead: usize) -> Option<&'a [u8]> {
        let mut rest = &self.raw[self.at..];
        for _ in 0..ahead {
            rest = &rest[line_len(rest)..];
        }
        (!rest.is_empty()).then(|| without_ending(&rest[..line_len(rest)]))
    }

    fn advance(&mut self) {
        self.at += line_len(&self.raw[self.at..]);
        self.line = self.line.saturating_add(1);
    }
}

fn line_len(rest: &[u8]) -> usize {
    memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1)
}

fn without_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Whether `OLD..NEW MODE` names two different contents.
fn is_other_blob(ids: &[u8]) -> bool {
    let ids = ids.split(|byte| *byte == b' ').next().unwrap_or_default();
    memchr::memmem::find(ids, b"..").is_some_and(|at| ids[..at] != ids[at + 2..])
}

fn octal(digits: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// The path of a line like `Submodule PATH OLD..NEW:` or `Submodule PATH OLD...NEW (new submodule)`, as
/// `--submodule=log` prints it.
fn submodule_log(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"Submodule ")?;
    let content = [&b" contains untracked content"[..], b" contains modified content"];
    if let Some(path) = content.iter().find_map(|end| rest.strip_suffix(*end)) {
        return Some(path);
    }
    let rest = rest.strip_suffix(b":").unwrap_or(rest);
    let rest = match memchr::memmem::rfind(rest, b" (") {
        Some(at) if rest.ends_with(b")") => &rest[..at],
        Some(_) | None => rest,
    };
    let (path, range) = rest.split_at(memchr::memrchr(b' ', rest)?);
    let hex_or_dots = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'.';
    let is_range =
        memchr::memmem::find(range, b"..").is_some() && range[1..].iter().all(hex_or_dots);
    is_range.then_some(path)
}

/// The two spans of `@@ -OLD[,LEN] +NEW[,LEN] @@…`.
fn hunk_spans(line: &[u8]) -> Option<(LineSpan, LineSpan)> {
    let rest = line.strip_prefix(b"@@ -")?;
    let middle = memchr::memmem::find(rest, b" +")?;
    let new = &rest[middle + 2..];
    let end = memchr::memmem::find(new, b" @@")?;
    Some((span(&rest[..middle])?, span(&new[..end])?))
}

fn span(text: &[u8]) -> Option<LineSpan> {
    let text = std::str::from_utf8(text).ok()?;
    let (start, len) = text.split_once(',').unwrap_or((text, "1"));
    let number = |digits: &str| {
        // `parse` would also take a sign.
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u32>().ok())?
    };
    let (start, len) = (number(start)?, number(len)?);
    // A span that starts at 0 is empty, and no line number may overflow.
    (start.checked_add(len).is_some() && (start > 0 || len == 0)).then_some(LineSpan { start, len })
}
