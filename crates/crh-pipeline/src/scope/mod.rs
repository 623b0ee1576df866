//! What of a change is reviewed: every file is in, or out with a reason and the witness for it, and its
//! lines are counted by what they are for.
//!
//! Invariants:
//! - every file of the diff appears exactly once, in the order of the diff;
//! - what is not known is in: an unknown kind of file counts as executable, unread content hides nothing;
//! - a change cannot hide what was there before. A marker of generated code counts if the file is new or had
//!   one before; a moved file is left out for its place or its attributes only if it was so where it came
//!   from; attributes come from a revision that the caller chooses (the base, for changes by others). What
//!   was not believed is in the file's notes. A *new* file with a marker is left out: that is what such
//!   markers are for, and the list of files left out is there for people to read.
//!
//! The strongest word comes first: the user's `exclude`; that there is nothing to read (submodule, binary, no
//! line changed), which nobody can change; the user's `include`, then `generated`; attributes; what a file's
//! name and place tell; its size; what its text tells. Content is read only when it comes to that.

#[path = "file_source.rs"]
mod files;
#[path = "known_names.rs"]
mod known;
#[path = "skip_reason.rs"]
mod reason;
mod role;
#[path = "content.rs"]
mod text;

use std::collections::HashMap;

pub use files::{DiffAlone, Files, Mark, Marks, RepositoryFiles};
pub(crate) use reason::short;
pub use reason::{Note, Reason};
pub(crate) use role::Kind;
pub use role::{Lines, Role};
use serde::Serialize;

use crh_git::Globs;
use crh_review::diff::{
    Content, Diff, FileChange, FileDiff, FileStatus, LineKind, ProblemKind, RepoPath,
};
use crh_review::finding::Side;
use crh_syntax::Language;

/// Git's mode of a submodule.
const MODE_SUBMODULE: u32 = 0o160_000;
/// Git's mode of a symbolic link.
const MODE_LINK: u32 = 0o120_000;

/// What the user said about files.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Never reviewed.
    pub exclude: Globs,
    /// Always reviewed, whatever attributes, names, size or content tell.
    pub include: Globs,
    /// Generated, whatever attributes tell.
    pub generated: Globs,
    /// A larger file is left out. Measured after the change; before it, for a deleted file.
    pub max_file_bytes: u64,
}

/// What of a change is reviewed, and what is not and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// All files of the diff, in its order.
    pub files: Vec<ScopeFile>,
    /// What the files add up to.
    pub totals: Totals,
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeFile {
    /// Its path after the change; for a deleted file, the path it had.
    pub path: RepoPath,
    /// Its path before, for renamed and copied files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<RepoPath>,
    /// What happened to it.
    pub status: FileStatus,
    /// Its language, if it is one that is parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<&'static str>,
    /// What it is for.
    pub role: Role,
    /// Whether it is reviewed.
    pub decision: Decision,
    /// What a reader of the decision should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The lines it gained.
    pub added: Lines,
    /// The lines it lost.
    pub removed: Lines,
}

/// Whether a file is reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub enum Decision {
    /// It is.
    In,
    /// It is not.
    Out(Reason),
}

/// What the files of a scope add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// How many files are in.
    pub files_in: u32,
    /// How many files are out.
    pub files_out: u32,
    /// How many of those that are in are of no known kind: whoever makes a review smaller for a small change
    /// should not if there is one.
    pub unknown_kind: u32,
    /// The lines that the files in scope gained.
    pub added: Lines,
    /// The lines that the files in scope lost.
    pub removed: Lines,
    /// The lines gained and lost by files that are out.
    pub left_out: u64,
}

/// Decides about every file of a diff. What the diff does not tell is asked of `files`.
pub fn scope(diff: &Diff, files: &impl Files, rules: &Rules) -> Scope {
    let mut flaws = HashMap::new();
    for problem in diff.problems() {
        if let Some(at) = diff.file_at(problem.line) {
            flaws.entry(at).or_insert(&problem.kind);
        }
    }
    let mut scope = Scope { files: Vec::new(), totals: Totals::default() };
    for (at, file) in diff.files().iter().enumerate() {
        let flaw = flaws.get(&at).copied();
        let file = Case { diff, file, files, rules, flaw, notes: Vec::new() }.decide();
        scope.totals.add(&file);
        scope.files.push(file);
    }
    scope
}

/// What a file is for, by its path alone.
pub(crate) fn role_of(path: &str) -> Role {
    role::kind(path, false).role
}

impl Decision {
    /// Whether the file is reviewed.
    pub fn is_in(&self) -> bool {
        match self {
            Self::In => true,
            Self::Out(_) => false,
        }
    }
}

impl Scope {
    /// The same without those of its files that an earlier review has looked at, up to a commit.
    #[must_use]
    pub fn without_reviewed(mut self, commit: &str, was_reviewed: impl Fn(&str) -> bool) -> Self {
        self.totals = Totals::default();
        for file in &mut self.files {
            if file.decision.is_in() && was_reviewed(&file.path.shown()) {
                file.decision = Decision::Out(Reason::ReviewedBefore { commit: commit.to_owned() });
            }
            self.totals.add(file);
        }
        self
    }
}

impl Totals {
    fn add(&mut self, file: &ScopeFile) {
        match file.decision {
            Decision::In => {
                self.files_in += 1;
                self.unknown_kind += u32::from(file.notes.contains(&Note::UnknownKind));
                self.added.add(&file.added);
                self.removed.add(&file.removed);
            }
            Decision::Out(_) => {
                self.files_out += 1;
                self.left_out += file.added.total() + file.removed.total();
            }
        }
    }
}

/// One file about which to decide.
struct Case<'a, F> {
    diff: &'a Diff,
    file: &'a FileDiff,
    files: &'a F,
    rules: &'a Rules,
    flaw: Option<&'a ProblemKind>,
    notes: Vec<Note>,
}

impl<F: Files> Case<'_, F> {
    fn decide(mut self) -> ScopeFile {
        let name = String::from_utf8_lossy(self.file.path.as_bytes()).into_owned();
        let kind = role::kind(&name, self.has_mode(MODE_LINK));
        if self.file.change == FileChange::Deleted {
            self.notes.push(Note::Deleted);
        }
        if self.has_mode(MODE_LINK) {
            self.notes.push(Note::Link);
        }
        let decision = self.reason(&name).map_or(Decision::In, Decision::Out);
        if !kind.is_known && decision.is_in() {
            self.notes.push(Note::UnknownKind);
        }
        let [added, removed] = role::counted(&kind, self.diff, self.file);
        ScopeFile {
            path: self.file.path.clone(),
            old_path: self.file.old_path.clone(),
            status: self.file.status(),
            language: Language::of_path(&name).map(Language::name),
            role: kind.role,
            decision,
            notes: self.notes,
            added,
            removed,
        }
    }

    /// Why the file is out, if it is.
    fn reason(&mut self, name: &str) -> Option<Reason> {
        let path = &self.file.path;
        let first = |globs: &Globs| globs.first_match(path.as_bytes()).map(str::to_owned);
        if let Some(glob) = first(&self.rules.exclude) {
            return Some(Reason::Excluded { glob });
        }
        if let Some(reason) = self.nothing_to_read() {
            return Some(reason);
        }
        if let Some(glob) = first(&self.rules.include) {
            self.notes.push(Note::Included { glob });
            return None;
        }
        if let Some(glob) = first(&self.rules.generated) {
            return Some(Reason::GeneratedRule { glob });
        }
        let marks = self.files.marks(path);
        if let Some(reason) = told(name, &marks) {
            if self.was_told() {
                return Some(reason);
            }
            self.notes.push(Note::NotBelieved { reason });
        }
        let bytes = self.size();
        let limit = self.rules.max_file_bytes;
        if bytes > limit {
            return Some(Reason::TooLarge { bytes, limit });
        }
        match marks.generated {
            Mark::Unmarked => None,
            Mark::Unspecified | Mark::Marked(_) => self.reason_in_text(name),
        }
    }

    /// Why there is no line to read, if there is none.
    fn nothing_to_read(&mut self) -> Option<Reason> {
        if self.has_mode(MODE_SUBMODULE) || self.flaw == Some(&ProblemKind::SubmoduleLog) {
            return Some(Reason::Submodule);
        }
        match self.file.content {
            Content::Binary => return Some(Reason::Binary),
            Content::Unsupported => {
                self.notes.push(Note::LinesNotShown);
                return None;
            }
            Content::Text => {}
        }
        if !self.file.hunks.is_empty() {
            return None;
        }
        // Lines that were announced and are missing are not lines that are not there.
        if self.flaw.is_some() {
            self.notes.push(Note::LinesNotShown);
            return None;
        }
        match self.file.change {
            FileChange::Renamed | FileChange::Copied => Some(Reason::MoveOnly),
            FileChange::Added | FileChange::Deleted => Some(Reason::Empty),
            FileChange::Modified => match (self.file.old_mode, self.file.new_mode) {
                (Some(old), Some(new)) if old != new => {
                    Some(Reason::ModeOnly { old: format!("{old:06o}"), new: format!("{new:06o}") })
                }
                _ => {
                    self.notes.push(Note::LinesNotShown);
                    None
                }
            },
        }
    }

    /// Whether what is told of the file's place could be told before it moved there. A copy is a new file.
    fn was_told(&self) -> bool {
        match (self.file.change, &self.file.old_path) {
            (FileChange::Renamed, Some(old)) => {
                told(&String::from_utf8_lossy(old.as_bytes()), &self.files.marks(old)).is_some()
            }
            _ => true,
        }
    }

    fn has_mode(&self, mode: u32) -> bool {
        [self.file.old_mode, self.file.new_mode].contains(&Some(mode))
    }

    /// The file's size; if nobody knows it, that of the lines which the diff shows of it.
    fn size(&self) -> u64 {
        let side = match self.file.change {
            FileChange::Deleted => Side::Old,
            FileChange::Added | FileChange::Modified | FileChange::Renamed | FileChange::Copied => {
                Side::New
            }
        };
        let is_there = |kind: LineKind| match side {
            Side::Old => kind.in_old(),
            Side::New => kind.in_new(),
        };
        let shown = || {
            let lines = self.file.hunks.iter().flat_map(|hunk| self.diff.lines(hunk));
            let lines = lines.filter(|line| is_there(line.kind));
            lines.map(|line| line.text().len() as u64 + 1).sum()
        };
        self.files.size(side, &self.file.path).unwrap_or_else(shown)
    }

    /// Why the file's text leaves it out, if it does.
    fn reason_in_text(&mut self, name: &str) -> Option<Reason> {
        if self.has_mode(MODE_LINK) {
            return None;
        }
        match self.file.change {
            // The diff shows all of these.
            FileChange::Added => text::reason(name, || self.shown(LineKind::Added)),
            FileChange::Deleted => text::reason(name, || self.shown(LineKind::Removed)),
            FileChange::Copied => self.reason_in_side(name, Side::New),
            FileChange::Modified | FileChange::Renamed => {
                // Reading the file is what takes longest, so it is read only if the diff does not show enough of it.
                let is_plain = text::is_plain(name, self.shown_old_top());
                if !is_plain && self.reason_in_side(name, Side::Old).is_some() {
                    return self.reason_in_side(name, Side::New);
                }
                let added = text::added_marker(self.diff, self.file);
                self.notes.extend(added.map(|reason| Note::NotBelieved { reason }));
                None
            }
        }
    }

    fn reason_in_side(&mut self, name: &str, side: Side) -> Option<Reason> {
        let path = match side {
            Side::Old => self.file.old_path.as_ref().unwrap_or(&self.file.path),
            Side::New => &self.file.path,
        };
        match self.files.content(side, path) {
            Ok(content) => {
                let content = content?;
                let content = content.strip_suffix(b"\n").unwrap_or(&content);
                text::reason(name, || content.split(|byte| *byte == b'\n'))
            }
            Err(error) => {
                self.notes.push(Note::Unread { message: error.to_string() });
                None
            }
        }
    }

    /// The first lines of the old file, as far as the diff shows them.
    fn shown_old_top(&self) -> impl Iterator<Item = &[u8]> {
        let top = self.file.hunks.first().filter(|hunk| hunk.old.start == 1);
        let lines = top.into_iter().flat_map(|hunk| self.diff.lines(hunk));
        lines.filter(|line| line.kind.in_old()).map(|line| line.text())
    }

    fn shown(&self, kind: LineKind) -> impl Iterator<Item = &[u8]> {
        let lines = self.file.hunks.iter().flat_map(|hunk| self.diff.lines(hunk));
        lines.filter(move |line| line.kind == kind).map(|line| line.text())
    }
}

/// Why attributes, or a file's name and place, leave it out. An attribute that says the contrary is stronger
/// than a name; lock files are generated, as those who wrote that attribute see it.
fn told(name: &str, marks: &Marks) -> Option<Reason> {
    if let Mark::Marked(attribute) = &marks.generated {
        return Some(Reason::GeneratedAttribute { attribute: attribute.clone() });
    }
    if let Mark::Marked(attribute) = &marks.vendored {
        return Some(Reason::VendoredAttribute { attribute: attribute.clone() });
    }
    let generated = || match marks.generated {
        Mark::Unmarked => None,
        Mark::Unspecified | Mark::Marked(_) => {
            known::lock_file(name).map(|name| Reason::LockFile { name }).or_else(|| {
                known::generated_ending(name).map(|ending| Reason::GeneratedName { ending })
            })
        }
    };
    let vendored = || match marks.vendored {
        Mark::Unmarked => None,
        Mark::Unspecified | Mark::Marked(_) => {
            known::vendored_folder(name).map(|folder| Reason::VendoredFolder { folder })
        }
    };
    generated().or_else(vendored)
}

#[cfg(test)]
mod tests;
