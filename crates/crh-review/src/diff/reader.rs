//! Parses a diff from top to bottom. The lengths in a hunk's header decide how many lines are
//! content, because a content line can look like a file header.

use std::ops::Range;

use super::path::{RepoPath, SideNames};
use super::{
    Content, DiffProblem, DiffProblemKind, FileChange, FileDiff, Hunk, LineKind, LineSpan, path,
};

/// Parses the whole input. Never fails.
pub(super) fn read(raw: &[u8]) -> (Vec<FileDiff>, Vec<DiffProblem>) {
    let mut reader = DiffReader {
        raw,
        position: 0,
        line: 1,
        files: Vec::new(),
        problems: Vec::new(),
        stray_run: None,
        expects_hunk: false,
    };
    while reader.position < raw.len() {
        reader.read_part();
    }
    reader.end_stray_run();
    reader.end_file();
    if !reader.files.is_empty() && !raw.ends_with(b"\n") {
        let line = reader.line.saturating_sub(1);
        reader.problems.push(DiffProblem { line, kind: DiffProblemKind::CutLine });
    }
    (reader.files, reader.problems)
}

/// The kind of a hunk line by its first byte; `None` if it cannot be part of a hunk.
pub(super) fn line_kind(line: &[u8]) -> Option<LineKind> {
    match line.first() {
        Some(b' ') => Some(LineKind::Context),
        Some(b'+') => Some(LineKind::Added),
        Some(b'-') => Some(LineKind::Removed),
        Some(b'\\') => Some(LineKind::Remark),
        // Mail programs and editors strip the space of an empty context line.
        Some(b'\n') | None => Some(LineKind::Context),
        Some(b'\r') if matches!(line, b"\r" | b"\r\n") => Some(LineKind::Context),
        Some(_) => None,
    }
}

struct DiffReader<'a> {
    raw: &'a [u8],
    position: usize,
    line: u32,
    files: Vec<FileDiff>,
    problems: Vec<DiffProblem>,
    // Start and length of the current run of stray lines, which belong to no file and no hunk.
    stray_run: Option<(u32, u32)>,
    // Whether the header of the last file announces changes.
    expects_hunk: bool,
}

/// The parsed lines of a file header.
#[derive(Default)]
struct FileHeader<'a> {
    /// Both names of the `diff --git` line.
    git_names: Option<&'a [u8]>,
    git_path: Option<RepoPath>,
    source: Option<RepoPath>,
    target: Option<RepoPath>,
    side_names: Option<SideNames>,
    change: Option<FileChange>,
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    content: Option<Content>,
    blob_changed: bool,
}

impl<'a> DiffReader<'a> {
    fn read_part(&mut self) {
        let line = self.peek();
        if let Some(names) = line.strip_prefix(b"diff --git ") {
            self.read_git_file(names);
        } else if let Some(name) =
            line.strip_prefix(b"diff --cc ").or(line.strip_prefix(b"diff --combined "))
        {
            self.skip_unsupported_file(path::from_header(name), DiffProblemKind::Combined);
        } else if let Some(name) = submodule_log_path(line) {
            self.skip_unsupported_file(RepoPath::new(name), DiffProblemKind::SubmoduleLog);
        } else if self.is_plain_file() {
            self.read_plain_file();
        } else if line.starts_with(b"@@ -") && !self.files.is_empty() {
            self.read_hunk();
        } else {
            self.read_stray_line();
        }
    }

    fn read_git_file(&mut self, names: &'a [u8]) {
        let start = self.start_part();
        let mut header = FileHeader {
            git_names: Some(names),
            git_path: path::from_git_line(names),
            ..FileHeader::default()
        };
        self.advance();
        while self.position < self.raw.len() && self.read_header_line(&mut header) {}
        self.finish_file(header, start);
    }

    /// Parses one line of a git file header. Returns whether it was one.
    fn read_header_line(&mut self, header: &mut FileHeader<'_>) -> bool {
        let line = self.peek();
        if line.starts_with(b"--- ") {
            return self.read_side_lines(header);
        }
        if let Some(mode) = line.strip_prefix(b"old mode ") {
            header.old_mode = parse_octal(mode);
        } else if let Some(mode) = line.strip_prefix(b"new mode ") {
            header.new_mode = parse_octal(mode);
        } else if let Some(mode) = line.strip_prefix(b"new file mode ") {
            header.change = Some(FileChange::Added);
            header.new_mode = parse_octal(mode);
        } else if let Some(mode) = line.strip_prefix(b"deleted file mode ") {
            header.change = Some(FileChange::Deleted);
            header.old_mode = parse_octal(mode);
        } else if let Some(name) = line.strip_prefix(b"rename from ") {
            header.change = Some(FileChange::Renamed);
            header.source = Some(path::from_header(name));
        } else if let Some(name) = line.strip_prefix(b"copy from ") {
            header.change = Some(FileChange::Copied);
            header.source = Some(path::from_header(name));
        } else if let Some(name) = line.strip_prefix(b"rename to ") {
            header.target = Some(path::from_header(name));
        } else if let Some(name) = line.strip_prefix(b"copy to ") {
            header.target = Some(path::from_header(name));
        } else if let Some(ids) = line.strip_prefix(b"index ") {
            header.blob_changed = blob_ids_differ(ids);
            // `index OLD..NEW MODE` has the mode if it did not change.
            if let Some(offset) = memchr::memchr(b' ', ids) {
                header.old_mode = parse_octal(&ids[offset + 1..]);
                header.new_mode = header.old_mode;
            }
        } else if line.starts_with(b"Binary files ") {
            header.content = Some(Content::Binary);
        } else if line == b"GIT binary patch" {
            header.content = Some(Content::Binary);
            self.skip_binary_patch();
            return true;
        } else if !line.starts_with(b"similarity index ")
            && !line.starts_with(b"dissimilarity index ")
        {
            return false;
        }
        self.advance();
        true
    }

    /// Parses a `---` line and the `+++` line after it.
    fn read_side_lines(&mut self, header: &mut FileHeader<'_>) -> bool {
        let Some(new) = self.peek_at(1).and_then(|line| line.strip_prefix(b"+++ ")) else {
            return false;
        };
        let old = &self.peek()[b"--- ".len()..];
        header.side_names = Some(SideNames::parse(old, new));
        self.advance();
        self.advance();
        true
    }

    /// Skips the base-85 blocks of a binary patch. Each ends with an empty line; only the first
    /// line of a block contains a space.
    fn skip_binary_patch(&mut self) {
        self.advance();
        while self.position < self.raw.len() {
            let line = self.peek();
            let starts_block = line.starts_with(b"literal ") || line.starts_with(b"delta ");
            if !starts_block && memchr::memchr(b' ', line).is_some() {
                break;
            }
            self.advance();
        }
    }

    /// A `---`/`+++`/`@@` triple without a `diff --git` line, as printed by `diff -u`. `diff -r`
    /// prints its command before each.
    fn is_plain_file(&self) -> bool {
        let first = usize::from(self.peek().starts_with(b"diff "));
        let starts_with = |line: usize, start: &[u8]| {
            self.peek_at(first + line).is_some_and(|text| text.starts_with(start))
        };
        starts_with(0, b"--- ") && starts_with(1, b"+++ ") && starts_with(2, b"@@ -")
    }

    fn read_plain_file(&mut self) {
        let start = self.start_part();
        if self.peek().starts_with(b"diff ") {
            self.advance();
        }
        let [old_is_epoch, new_is_epoch] =
            [self.peek(), self.peek_at(1).unwrap_or_default()].map(path::has_epoch_time);
        let mut header = FileHeader::default();
        self.read_side_lines(&mut header);
        // `diff -N` prints an empty span and the time 0 for a missing file. Only both together are
        // sure signs: archives set the time 0, and `-U0` prints empty spans.
        if let (Some(names), Some((old, new))) =
            (&mut header.side_names, parse_hunk_header(self.peek()))
        {
            let nothing = LineSpan { start: 0, len: 0 };
            if old_is_epoch && old == nothing {
                names.old = None;
            }
            if new_is_epoch && new == nothing {
                names.new = None;
            }
        }
        self.finish_file(header, start);
    }

    fn skip_unsupported_file(&mut self, path: RepoPath, problem: DiffProblemKind) {
        let start = self.start_part();
        self.problems.push(DiffProblem { line: start.1, kind: problem });
        self.advance();
        // Lines of a combined hunk start with a sign or a space, so this stops only between files.
        while self.position < self.raw.len() {
            let line = self.peek();
            if line.starts_with(b"diff --") || submodule_log_path(line).is_some() {
                break;
            }
            self.advance();
        }
        let header = FileHeader {
            git_path: Some(path),
            content: Some(Content::Unsupported),
            ..FileHeader::default()
        };
        self.finish_file(header, start);
    }

    fn finish_file(&mut self, header: FileHeader<'_>, (start, first_line): (usize, u32)) {
        let header_has_sides = header.side_names.is_some();
        let side_names = header.side_names.unwrap_or_default();
        let [old_side, new_side] = side_names.paths();
        let side_change = match (&old_side, &new_side) {
            (None, Some(_)) => FileChange::Added,
            (Some(_), None) => FileChange::Deleted,
            (Some(_), Some(_)) | (None, None) => FileChange::Modified,
        };
        let change = header.change.unwrap_or(side_change);
        let path = header.target.or(header.git_path).or(new_side).or(old_side.clone());
        if path.is_none() {
            self.problems.push(DiffProblem { line: first_line, kind: DiffProblemKind::Path });
        }
        let old_path = match change {
            FileChange::Renamed | FileChange::Copied => header.source.or(old_side),
            FileChange::Added | FileChange::Deleted | FileChange::Modified => None,
        };
        let path = path.unwrap_or_else(|| RepoPath::new(""));
        let strip = match header.git_names {
            Some(names) => {
                usize::from(!path::lacks_prefixes(names, old_path.as_ref().unwrap_or(&path)))
            }
            None => side_names.strip,
        };
        let plain_name = match header.git_names {
            Some(_) => None,
            None => side_names.new.or(side_names.old),
        };
        self.end_file();
        let is_text = header.content.is_none();
        let has_new_mode = header.old_mode.is_some() && header.old_mode != header.new_mode;
        // A modified file must have changed lines, unless only its mode changed. A renamed file
        // must have them if its blob ids differ. An added or deleted file may have none.
        let must_have_lines = match change {
            FileChange::Modified => header.blob_changed || !has_new_mode,
            FileChange::Renamed | FileChange::Copied => header.blob_changed,
            FileChange::Added | FileChange::Deleted => false,
        };
        self.expects_hunk = is_text && (header_has_sides || must_have_lines);
        self.files.push(FileDiff {
            path,
            old_path,
            change,
            content: header.content.unwrap_or(Content::Text),
            old_mode: header.old_mode,
            new_mode: header.new_mode,
            hunks: Vec::new(),
            additions: 0,
            deletions: 0,
            header: start..self.position,
            first_line,
            strip,
            plain_name,
        });
    }

    fn read_hunk(&mut self) {
        let line = self.peek();
        let Some((old, new)) = parse_hunk_header(line) else {
            self.problems.push(DiffProblem { line: self.line, kind: DiffProblemKind::HunkHeader });
            self.read_stray_line();
            return;
        };
        let (start, first_line) = self.start_part();
        self.advance();
        let body = self.position;
        let (added, removed) = self.read_hunk_body(old.len, new.len, first_line);
        let bytes: Range<usize> = start..self.position;
        if let Some(file) = self.files.last_mut() {
            file.additions = file.additions.saturating_add(added);
            file.deletions = file.deletions.saturating_add(removed);
            file.hunks.push(Hunk { old, new, first_line, bytes, body });
        }
    }

    /// Parses the lines of a hunk until its lengths are used up. Returns the numbers of added and
    /// removed lines.
    fn read_hunk_body(&mut self, mut old: u32, mut new: u32, first_line: u32) -> (u32, u32) {
        let (mut added, mut removed) = (0, 0);
        while self.position < self.raw.len() {
            let kind = line_kind(self.peek_raw());
            match kind {
                Some(LineKind::Context) if old > 0 && new > 0 => (old, new) = (old - 1, new - 1),
                Some(LineKind::Removed) if old > 0 => (old, removed) = (old - 1, removed + 1),
                Some(LineKind::Added) if new > 0 => (new, added) = (new - 1, added + 1),
                // The "no newline" remark may follow the last line.
                Some(LineKind::Remark) => {}
                Some(LineKind::Context | LineKind::Removed | LineKind::Added) | None => break,
            }
            self.advance();
        }
        if old > 0 || new > 0 {
            let missing = u64::from(old) + u64::from(new);
            let kind = DiffProblemKind::ShortHunk { missing };
            self.problems.push(DiffProblem { line: first_line, kind });
        }
        (added, removed)
    }

    fn read_stray_line(&mut self) {
        let line = self.peek();
        if line == b"-- " {
            self.skip_mail_signature();
            return;
        }
        // Text before the first file is a commit message or a mail: not a problem, unless it has
        // hunks. `patch` also applies indented hunks and context diffs.
        let is_hunk = parse_hunk_header(line.trim_ascii_start()).is_some()
            || line.trim_ascii_start().starts_with(b"***************");
        if !self.files.is_empty() || self.stray_run.is_some() || is_hunk {
            let (start, lines) = self.stray_run.unwrap_or((self.line, 0));
            self.stray_run = Some((start, lines.saturating_add(1)));
        }
        self.advance();
    }

    /// Skips git's mail signature: `-- `, the version, and an empty line.
    fn skip_mail_signature(&mut self) {
        self.advance();
        let is_version = |line: &[u8]| line.first().is_some_and(u8::is_ascii_digit);
        if self.position < self.raw.len() && is_version(self.peek()) {
            self.advance();
        }
        while self.position < self.raw.len() && self.peek().is_empty() {
            self.advance();
        }
    }

    /// Reports a problem if the last file announces changes but has no hunk.
    fn end_file(&mut self) {
        if let Some(file) = self.files.last()
            && self.expects_hunk
            && file.hunks.is_empty()
        {
            let line = file.first_line;
            self.problems.push(DiffProblem { line, kind: DiffProblemKind::NoHunk });
        }
        self.expects_hunk = false;
    }

    fn end_stray_run(&mut self) {
        if let Some((line, lines)) = self.stray_run.take() {
            self.problems.push(DiffProblem { line, kind: DiffProblemKind::Stray { lines } });
        }
    }

    /// Ends the current run of stray lines and returns the byte and line where a part starts.
    fn start_part(&mut self) -> (usize, u32) {
        self.end_stray_run();
        (self.position, self.line)
    }

    /// The current line with its newline.
    fn peek_raw(&self) -> &'a [u8] {
        let rest = &self.raw[self.position..];
        &rest[..line_len(rest)]
    }

    /// The current line without its line ending. Headers never end with a carriage return of their
    /// own, because git quotes such paths.
    fn peek(&self) -> &'a [u8] {
        strip_line_ending(self.peek_raw())
    }

    /// The line `lines_ahead` lines below, without its line ending.
    fn peek_at(&self, lines_ahead: usize) -> Option<&'a [u8]> {
        let mut rest = &self.raw[self.position..];
        for _ in 0..lines_ahead {
            rest = &rest[line_len(rest)..];
        }
        (!rest.is_empty()).then(|| strip_line_ending(&rest[..line_len(rest)]))
    }

    fn advance(&mut self) {
        self.position += line_len(&self.raw[self.position..]);
        self.line = self.line.saturating_add(1);
    }
}

fn line_len(rest: &[u8]) -> usize {
    memchr::memchr(b'\n', rest).map_or(rest.len(), |offset| offset + 1)
}

fn strip_line_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Whether `OLD..NEW MODE` has two different blob ids.
fn blob_ids_differ(ids: &[u8]) -> bool {
    let ids = ids.split(|byte| *byte == b' ').next().unwrap_or_default();
    memchr::memmem::find(ids, b"..").is_some_and(|offset| ids[..offset] != ids[offset + 2..])
}

fn parse_octal(digits: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// The path of a line such as `Submodule PATH OLD..NEW:` or `Submodule PATH OLD...NEW (new
/// submodule)`, as printed by `--submodule=log`.
fn submodule_log_path(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"Submodule ")?;
    let content = [&b" contains untracked content"[..], b" contains modified content"];
    if let Some(path) = content.iter().find_map(|suffix| rest.strip_suffix(*suffix)) {
        return Some(path);
    }
    let rest = rest.strip_suffix(b":").unwrap_or(rest);
    let rest = match memchr::memmem::rfind(rest, b" (") {
        Some(offset) if rest.ends_with(b")") => &rest[..offset],
        Some(_) | None => rest,
    };
    let (path, range) = rest.split_at(memchr::memrchr(b' ', rest)?);
    let hex_or_dots = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'.';
    let is_range =
        memchr::memmem::find(range, b"..").is_some() && range[1..].iter().all(hex_or_dots);
    is_range.then_some(path)
}

/// The two spans of `@@ -OLD[,LEN] +NEW[,LEN] @@…`.
fn parse_hunk_header(line: &[u8]) -> Option<(LineSpan, LineSpan)> {
    let rest = line.strip_prefix(b"@@ -")?;
    let middle = memchr::memmem::find(rest, b" +")?;
    let new = &rest[middle + 2..];
    let end = memchr::memmem::find(new, b" @@")?;
    Some((parse_span(&rest[..middle])?, parse_span(&new[..end])?))
}

fn parse_span(text: &[u8]) -> Option<LineSpan> {
    let text = std::str::from_utf8(text).ok()?;
    let (start, len) = text.split_once(',').unwrap_or((text, "1"));
    let number = |digits: &str| {
        // `parse` would also accept a sign.
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u32>().ok())?
    };
    let (start, len) = (number(start)?, number(len)?);
    // A span that starts at 0 must be empty, and line numbers must not overflow.
    (start.checked_add(len).is_some() && (start > 0 || len == 0)).then_some(LineSpan { start, len })
}
