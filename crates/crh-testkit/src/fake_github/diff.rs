//! The diff of a pull request as GitHub shows it, with three lines of context.

use std::ops::Range;

/// Maximum lines of a patch. Like GitHub, the fake shows no patch for files with more lines.
const MAX_PATCH_LINES: usize = 3_000;

/// A side of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Old side.
    Left,
    /// New side.
    Right,
}

impl Side {
    /// GitHub's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        match word {
            "LEFT" => Some(Self::Left),
            "RIGHT" => Some(Self::Right),
            _ => None,
        }
    }
}

/// What changed between two commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Diff {
    pub(super) files: Vec<FileDiff>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileDiff {
    pub(super) path: String,
    pub(super) previous: Option<String>,
    pub(super) status: &'static str,
    pub(super) blob: String,
    pub(super) additions: u64,
    pub(super) deletions: u64,
    pub(super) hunks: Vec<Hunk>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old: Range<u32>,
    pub(super) new: Range<u32>,
    /// The lines with the header, without a newline at the end.
    pub(super) text: String,
}

/// A visible line: index of its hunk, and row below the hunk header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DiffRow {
    pub(super) hunk: usize,
    pub(super) row: usize,
}

impl Diff {
    /// Parses git's output of `--raw -z`, `--numstat -z` and `--patch` for the same commits.
    pub(super) fn parse(raw: &str, numstat: &str, patch: &str) -> Self {
        let mut sections = sections(patch).into_iter();
        let mut counts = counts(numstat).into_iter();
        let mut files = Vec::new();
        let mut words = raw.split('\0');
        while let Some(head) = words.next().filter(|head| head.starts_with(':')) {
            let fields: Vec<&str> = head.split(' ').collect();
            let (Some(letter), Some(path)) = (fields.get(4), words.next()) else { break };
            let renamed = letter.starts_with('R').then(|| words.next().unwrap_or_default());
            let mut hunks = sections.next().unwrap_or_default();
            if letter.starts_with('T') {
                // A file that becomes a symlink has two sections: one removed, one added.
                hunks.extend(sections.next().unwrap_or_default());
            }
            let (additions, deletions) = counts.next().unwrap_or_default();
            let blob = if letter.starts_with('D') { fields[2] } else { fields[3] };
            files.push(FileDiff {
                path: renamed.unwrap_or(path).to_owned(),
                previous: renamed.map(|_| path.to_owned()),
                status: status(letter),
                blob: blob.to_owned(),
                additions,
                deletions,
                hunks,
            });
        }
        Self { files }
    }

    pub(super) fn file(&self, path: &str) -> Option<&FileDiff> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl FileDiff {
    /// Hunks in GitHub's format; `None` if there are none, or if they have too many lines.
    pub(super) fn patch(&self) -> Option<String> {
        let texts: Vec<&str> = self.hunks.iter().map(|hunk| hunk.text.as_str()).collect();
        let lines: usize = texts.iter().map(|text| text.lines().count()).sum();
        (lines > 0 && lines <= MAX_PATCH_LINES).then(|| texts.join("\n"))
    }

    /// Position of a visible line.
    pub(super) fn find_row(&self, side: Side, line: u32) -> Option<DiffRow> {
        let lines = |hunk: &Hunk| match side {
            Side::Left => hunk.old.clone(),
            Side::Right => hunk.new.clone(),
        };
        let hunk = self.hunks.iter().position(|hunk| lines(hunk).contains(&line))?;
        let mut remaining = line - lines(&self.hunks[hunk]).start;
        for (index, text) in self.hunks[hunk].text.lines().enumerate().skip(1) {
            let counts = match side {
                Side::Left => text.starts_with(' ') || text.starts_with('-') || text.is_empty(),
                Side::Right => text.starts_with(' ') || text.starts_with('+') || text.is_empty(),
            };
            if counts && remaining == 0 {
                return Some(DiffRow { hunk, row: index });
            }
            remaining -= u32::from(counts);
        }
        None
    }

    /// Distance from the first hunk header of the file, in lines.
    pub(super) fn position(&self, row: DiffRow) -> usize {
        let earlier_lines = self.hunks[..row.hunk].iter().map(|hunk| hunk.text.lines().count());
        earlier_lines.sum::<usize>() + row.row
    }

    /// The hunk down to a line.
    pub(super) fn hunk_down_to(&self, row: DiffRow) -> String {
        let lines = self.hunks[row.hunk].text.lines().take(row.row + 1);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The new number of an old line; `None` if the line changed. Only for diffs without context.
    pub(super) fn map_line(&self, line: u32) -> Option<u32> {
        let mut moved = i64::from(line);
        for hunk in &self.hunks {
            if hunk.old.contains(&line) {
                return None;
            }
            if hunk.old.end <= line {
                moved +=
                    i64::try_from(hunk.new.len()).ok()? - i64::try_from(hunk.old.len()).ok()?;
            }
        }
        u32::try_from(moved).ok()
    }
}

fn status(letter: &str) -> &'static str {
    match letter.as_bytes().first() {
        Some(b'A') => "added",
        Some(b'D') => "removed",
        Some(b'R') => "renamed",
        Some(b'T') => "changed",
        _ => "modified",
    }
}

/// Added and deleted lines per file; zero for binary files.
fn counts(numstat: &str) -> Vec<(u64, u64)> {
    let mut counts = Vec::new();
    let mut words = numstat.split('\0');
    while let Some(word) = words.next().filter(|word| !word.is_empty()) {
        let mut fields = word.splitn(3, '\t');
        let mut number = || fields.next().and_then(|field| field.parse().ok()).unwrap_or_default();
        counts.push((number(), number()));
        if fields.next().is_none_or(str::is_empty) {
            // A rename: two paths follow.
            words.next();
            words.next();
        }
    }
    counts
}

/// The hunks of each file.
fn sections(patch: &str) -> Vec<Vec<Hunk>> {
    let mut sections: Vec<Vec<Hunk>> = Vec::new();
    for line in patch.split_inclusive('\n') {
        if line.starts_with("diff --git ") {
            sections.push(Vec::new());
        } else if let Some(section) = sections.last_mut() {
            if let Some((old, new)) = header(line) {
                section.push(Hunk { old, new, text: line.to_owned() });
            } else if let Some(hunk) = section.last_mut() {
                hunk.text.push_str(line);
            }
        }
    }
    for hunk in sections.iter_mut().flatten() {
        hunk.text.truncate(hunk.text.trim_end_matches('\n').len());
    }
    sections
}

/// Ranges of a hunk header. An empty range follows the line that it names.
fn header(line: &str) -> Option<(Range<u32>, Range<u32>)> {
    let mut words = line.strip_prefix("@@ -")?.split(' ');
    let range = |word: &str| {
        let (start, length) = word.split_once(',').unwrap_or((word, "1"));
        let (start, length): (u32, u32) = (start.parse().ok()?, length.parse().ok()?);
        let start = if length == 0 { start + 1 } else { start };
        Some(start..start + length)
    };
    let old = range(words.next()?)?;
    let new = range(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
}
