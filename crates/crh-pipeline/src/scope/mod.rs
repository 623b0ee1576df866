//! Decides which files of a change are reviewed. A skipped file has a reason. Counts changed lines
//! by the role of the file.
//!
//! Invariants:
//!
//! - Every file of the diff appears exactly once, in the order of the diff.
//! - crh reviews a file that it does not know: unknown kinds of files count as code, and an
//!   unreadable file is not skipped because of its content.
//! - A change cannot hide existing files. A marker of generated code counts if the file is new or
//!   had one before. A renamed file is skipped for its path or attributes only if the same was true
//!   of the old path. Attributes come from a revision that the caller chooses (the base, for
//!   changes by others). Markers and names that crh ignores for this reason are listed in the notes
//!   of the file. A *new* file with a marker is skipped, and the report lists it.
//!
//! Precedence, strongest first: `paths`; `exclude`; nothing to read (submodule, binary, no changed
//! line); `include`; `generated`; attributes; name and folder; size; text. crh reads contents only
//! if necessary.

mod content;
mod file_source;
mod known_names;
mod links;
mod lock_file;
mod role;
mod runnable;
mod skip_effect;
mod skip_reason;

use std::collections::HashMap;

pub use file_source::{AttributeMark, DiffOnly, FileAttributes, FileSource, RepositoryFiles};
use links::{HeadLinks, LinkTarget};
pub(crate) use role::{FileKind, instructs_agents};
pub use role::{FileRole, LineCounts};
use serde::Serialize;
pub use skip_effect::SkipEffect;
pub(crate) use skip_reason::short_commit;
pub use skip_reason::{ScopeNote, SkipReason};

use crh_git::PathGlobs;
use crh_review::diff::{
    Content, Diff, DiffProblemKind, FileChange, FileDiff, FileStatus, LineKind, RepoPath,
};
use crh_review::finding::Side;
use crh_syntax::Language;

const MODE_SUBMODULE: u32 = 0o160_000;
pub(crate) const MODE_LINK: u32 = 0o120_000;
const MODE_EXECUTABLE: u32 = 0o100_755;

/// File rules from the settings.
#[derive(Debug, Clone)]
pub struct ScopeRules {
    /// Only these files are reviewed, if there is a pattern.
    pub paths: PathGlobs,
    /// Never reviewed.
    pub exclude: PathGlobs,
    /// Always reviewed, regardless of attributes, name, size and content.
    pub include: PathGlobs,
    /// Generated, regardless of attributes.
    pub generated: PathGlobs,
    /// Maximum size of a file, after the change or, for a deleted file, before it. Larger files are
    /// skipped.
    pub max_file_bytes: u64,
    /// Whether skipped files with the effect [`SkipEffect::Accepted`] make the review incomplete.
    pub strict: bool,
}

/// Files of a change, with the decision about each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// All files of the diff, in order.
    pub files: Vec<ScopeFile>,
    /// Sums over the files.
    pub totals: ScopeTotals,
    /// Paths that restrict the review. Empty if none do.
    #[serde(skip)]
    pub paths: PathGlobs,
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeFile {
    /// Path after the change, or the old path of a deleted file.
    pub path: RepoPath,
    /// Old path of a renamed or copied file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<RepoPath>,
    /// Kind of change.
    pub status: FileStatus,
    /// Language, if crh parses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<&'static str>,
    /// Role of the file.
    pub role: FileRole,
    /// Whether it is reviewed.
    pub decision: ScopeDecision,
    /// How unread content of the file affects the review.
    #[serde(skip_serializing_if = "SkipEffect::is_harmless")]
    pub effect: SkipEffect,
    /// Remarks about the decision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ScopeNote>,
    /// Added lines.
    pub added: LineCounts,
    /// Removed lines.
    pub removed: LineCounts,
}

/// Whether a file is reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub enum ScopeDecision {
    /// Reviewed.
    In,
    /// Skipped.
    Out(SkipReason),
}

/// Sums over the files of a scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeTotals {
    /// Reviewed files.
    pub files_in: u32,
    /// Skipped files.
    pub files_out: u32,
    /// Reviewed files of unknown kind. If there is one, the review must not be reduced for a small
    /// change.
    pub unknown_kind: u32,
    /// Added lines of reviewed files.
    pub added: LineCounts,
    /// Removed lines of reviewed files.
    pub removed: LineCounts,
    /// Changed lines of skipped files.
    pub left_out: u64,
}

/// Decides about every file of a diff. `files` supplies what the diff does not contain.
pub fn decide_scope(diff: &Diff, files: &impl FileSource, rules: &ScopeRules) -> Scope {
    let mut first_problems = HashMap::new();
    for problem in diff.problems() {
        if let Some(file_index) = diff.file_at(problem.line) {
            first_problems.entry(file_index).or_insert(&problem.kind);
        }
    }
    let links = HeadLinks::new(diff, files);
    let paths = rules.paths.clone();
    let mut scope = Scope { files: Vec::new(), totals: ScopeTotals::default(), paths };
    for (file_index, file) in diff.files().iter().enumerate() {
        let problem = first_problems.get(&file_index).copied();
        let case = FileCase { diff, file, files, links: &links, rules, problem, notes: Vec::new() };
        let file = case.decide();
        scope.totals.add(&file);
        scope.files.push(file);
    }
    scope
}

/// Role of a file, by its path alone.
pub(crate) fn role_of_path(path: &str) -> FileRole {
    role::kind_of_path(path, false).role
}

impl ScopeDecision {
    /// Whether the file is reviewed.
    pub fn is_in(&self) -> bool {
        match self {
            Self::In => true,
            Self::Out(_) => false,
        }
    }
}

impl ScopeFile {
    /// Whether the change brings the file into use, so that its unchanged lines are new, too.
    pub(crate) fn comes_into_use(&self) -> bool {
        self.notes.contains(&ScopeNote::ComesIntoUse)
    }

    /// Whether static checks read the file: it is reviewed, or its unchanged lines come into use.
    pub(crate) fn is_checked(&self) -> bool {
        match &self.decision {
            ScopeDecision::In => true,
            ScopeDecision::Out(SkipReason::MoveOnly | SkipReason::ModeOnly { .. }) => {
                self.comes_into_use()
            }
            ScopeDecision::Out(_) => false,
        }
    }
}

impl Scope {
    /// Whether a file, changed or not, is outside the paths that restrict the review. The old path
    /// of a renamed file is outside only if its new path is.
    pub fn is_outside_paths(&self, path: &str) -> bool {
        if self.paths.patterns().is_empty() {
            return false;
        }
        let has_path = |file: &&ScopeFile| {
            let old_path = file.old_path.as_ref();
            file.path.shown() == path || old_path.is_some_and(|old| old.shown() == path)
        };
        let mut changed_files = self.files.iter().filter(has_path).peekable();
        match changed_files.peek() {
            Some(_) => changed_files
                .all(|file| file.decision == ScopeDecision::Out(SkipReason::OutsidePaths)),
            None => !self.paths.is_match(path.as_bytes()),
        }
    }

    /// Skips files that an earlier review has covered up to a commit. Keeps a file that makes the
    /// review incomplete. The file did not do so in the earlier review, so a change of another file
    /// must have changed its effect.
    #[must_use]
    pub fn without_reviewed(mut self, commit: &str, was_reviewed: impl Fn(&str) -> bool) -> Self {
        self.totals = ScopeTotals::default();
        for file in &mut self.files {
            let is_complete = file.effect != SkipEffect::Incomplete;
            if file.decision.is_in() && is_complete && was_reviewed(&file.path.shown()) {
                file.effect = SkipEffect::Harmless;
                file.decision =
                    ScopeDecision::Out(SkipReason::ReviewedBefore { commit: commit.to_owned() });
            }
            self.totals.add(file);
        }
        self
    }
}

impl ScopeTotals {
    fn add(&mut self, file: &ScopeFile) {
        match file.decision {
            ScopeDecision::In => {
                self.files_in += 1;
                self.unknown_kind += u32::from(file.notes.contains(&ScopeNote::UnknownKind));
                self.added.add(&file.added);
                self.removed.add(&file.removed);
            }
            ScopeDecision::Out(_) => {
                self.files_out += 1;
                self.left_out += file.added.total() + file.removed.total();
            }
        }
    }
}

struct FileCase<'a, F> {
    diff: &'a Diff,
    file: &'a FileDiff,
    files: &'a F,
    links: &'a HeadLinks<'a, F>,
    rules: &'a ScopeRules,
    problem: Option<&'a DiffProblemKind>,
    notes: Vec<ScopeNote>,
}

impl<F: FileSource> FileCase<'_, F> {
    fn decide(mut self) -> ScopeFile {
        let name = String::from_utf8_lossy(self.file.path.as_bytes()).into_owned();
        let kind = role::kind_of_path(&name, self.has_mode(MODE_LINK));
        if self.file.change == FileChange::Deleted {
            self.notes.push(ScopeNote::Deleted);
        }
        if self.has_mode(MODE_LINK) {
            self.notes.push(ScopeNote::Link);
            if self.links.target(self.file.path.as_bytes()) == LinkTarget::Loop {
                self.notes.push(ScopeNote::LinkLoop);
            }
        }
        let decision = self.reason(&name).map_or(ScopeDecision::In, ScopeDecision::Out);
        if self.comes_into_use(&name) {
            self.notes.push(ScopeNote::ComesIntoUse);
        }
        if !kind.is_known && decision.is_in() {
            self.notes.push(ScopeNote::UnknownKind);
        }
        let effect = match self.effect(&name, &decision) {
            SkipEffect::Accepted if self.rules.strict => SkipEffect::Incomplete,
            effect => effect,
        };
        let [added, removed] = role::count_changed_lines(&kind, self.diff, self.file);
        ScopeFile {
            path: self.file.path.clone(),
            old_path: self.file.old_path.clone(),
            status: self.file.status(),
            language: Language::from_path(&name).map(Language::name),
            role: kind.role,
            decision,
            effect,
            notes: self.notes,
            added,
            removed,
        }
    }

    /// Reason to skip the file, if any.
    fn reason(&mut self, name: &str) -> Option<SkipReason> {
        let path = &self.file.path;
        let first_glob = |globs: &PathGlobs| globs.first_match(path.as_bytes()).map(str::to_owned);
        let paths = &self.rules.paths;
        if !paths.patterns().is_empty() && !paths.is_match(path.as_bytes()) {
            return Some(SkipReason::OutsidePaths);
        }
        if let Some(glob) = first_glob(&self.rules.exclude) {
            return Some(SkipReason::Excluded { glob });
        }
        if let Some(reason) = self.reason_without_lines() {
            return Some(reason);
        }
        if let Some(glob) = first_glob(&self.rules.include) {
            self.notes.push(ScopeNote::Included { glob });
            return None;
        }
        if let Some(glob) = first_glob(&self.rules.generated) {
            return Some(SkipReason::GeneratedRule { glob });
        }
        let attributes = self.files.attributes(path);
        if let Some(reason) = skip_reason_by_name(name, &attributes) {
            if self.had_reason_before_move() && self.fits_content(&reason) {
                return Some(reason);
            }
            self.notes.push(ScopeNote::IgnoredClaim { reason });
        }
        let bytes = self.size();
        let limit = self.rules.max_file_bytes;
        if bytes > limit {
            return Some(SkipReason::TooLarge { bytes, limit });
        }
        match attributes.generated {
            AttributeMark::Unmarked => None,
            AttributeMark::Unspecified | AttributeMark::Marked(_) => self.reason_in_text(name),
        }
    }

    /// Reason why there is no line to read, if any.
    fn reason_without_lines(&mut self) -> Option<SkipReason> {
        if self.has_mode(MODE_SUBMODULE) || self.problem == Some(&DiffProblemKind::SubmoduleLog) {
            return Some(SkipReason::Submodule);
        }
        match self.file.content {
            Content::Binary => return Some(SkipReason::Binary),
            Content::Unsupported => {
                self.notes.push(ScopeNote::LinesNotShown);
                return None;
            }
            Content::Text => {}
        }
        if content::is_lfs_pointer(self.diff, self.file) {
            return Some(SkipReason::LfsPointer);
        }
        if !self.file.hunks.is_empty() {
            return None;
        }
        // The diff of this file is damaged, so lines may be missing.
        if self.problem.is_some() {
            self.notes.push(ScopeNote::LinesNotShown);
            return None;
        }
        match self.file.change {
            FileChange::Renamed | FileChange::Copied => Some(SkipReason::MoveOnly),
            FileChange::Added | FileChange::Deleted => Some(SkipReason::Empty),
            FileChange::Modified => match (self.file.old_mode, self.file.new_mode) {
                (Some(old), Some(new)) if old != new => Some(SkipReason::ModeOnly {
                    old: format!("{old:06o}"),
                    new: format!("{new:06o}"),
                }),
                _ => {
                    self.notes.push(ScopeNote::LinesNotShown);
                    None
                }
            },
        }
    }

    /// Whether the old path of a renamed file would be skipped too. True for other files; a copy is
    /// a new file.
    fn had_reason_before_move(&self) -> bool {
        match (self.file.change, &self.file.old_path) {
            (FileChange::Renamed, Some(old)) => skip_reason_by_name(
                &String::from_utf8_lossy(old.as_bytes()),
                &self.files.attributes(old),
            )
            .is_some(),
            _ => true,
        }
    }

    /// Whether the lines of a lock file fit its name, as far as the diff shows them.
    fn fits_content(&self, reason: &SkipReason) -> bool {
        let SkipReason::LockFile { name } = reason else { return true };
        let side = match self.file.change {
            FileChange::Deleted => LineKind::Removed,
            FileChange::Added | FileChange::Modified | FileChange::Renamed | FileChange::Copied => {
                LineKind::Added
            }
        };
        lock_file::has_lock_content(name, self.shown_lines(side))
    }

    fn has_mode(&self, mode: u32) -> bool {
        [self.file.old_mode, self.file.new_mode].contains(&Some(mode))
    }

    /// Size of the file. If unknown, the size of the lines in the diff.
    fn size(&self) -> u64 {
        let side = match self.file.change {
            FileChange::Deleted => Side::Old,
            FileChange::Added | FileChange::Modified | FileChange::Renamed | FileChange::Copied => {
                Side::New
            }
        };
        let is_on_side = |kind: LineKind| match side {
            Side::Old => kind.in_old(),
            Side::New => kind.in_new(),
        };
        let size_in_diff = || {
            let lines = self.file.hunks.iter().flat_map(|hunk| self.diff.lines(hunk));
            let lines = lines.filter(|line| is_on_side(line.kind));
            lines.map(|line| line.text().len() as u64 + 1).sum()
        };
        self.files.size(side, &self.file.path).unwrap_or_else(size_in_diff)
    }

    /// Reason to skip the file because of its text.
    fn reason_in_text(&mut self, name: &str) -> Option<SkipReason> {
        if self.has_mode(MODE_LINK) {
            return None;
        }
        match self.file.change {
            // The diff contains the whole file.
            FileChange::Added => content::reason(name, || self.shown_lines(LineKind::Added)),
            FileChange::Deleted => content::reason(name, || self.shown_lines(LineKind::Removed)),
            FileChange::Copied => self.reason_in_side(name, Side::New),
            FileChange::Modified | FileChange::Renamed => {
                // Reading files is slow; the diff often shows enough.
                let has_no_marker = content::has_no_marker(name, self.shown_old_top());
                if !has_no_marker && self.reason_in_side(name, Side::Old).is_some() {
                    return self.reason_in_side(name, Side::New);
                }
                let added_marker = content::added_marker(self.diff, self.file);
                self.notes.extend(added_marker.map(|reason| ScopeNote::IgnoredClaim { reason }));
                None
            }
        }
    }

    fn reason_in_side(&mut self, name: &str, side: Side) -> Option<SkipReason> {
        let path = match side {
            Side::Old => self.file.old_path.as_ref().unwrap_or(&self.file.path),
            Side::New => &self.file.path,
        };
        match self.files.content(side, path) {
            Ok(content) => {
                let content = content?;
                let content = content.strip_suffix(b"\n").unwrap_or(&content);
                content::reason(name, || content.split(|byte| *byte == b'\n'))
            }
            Err(error) => {
                self.notes.push(ScopeNote::Unread { message: error.to_string() });
                None
            }
        }
    }

    /// First lines of the old file, as far as the diff shows them.
    fn shown_old_top(&self) -> impl Iterator<Item = &[u8]> {
        let top = self.file.hunks.first().filter(|hunk| hunk.old.start == 1);
        let lines = top.into_iter().flat_map(|hunk| self.diff.lines(hunk));
        lines.filter(|line| line.kind.in_old()).map(|line| line.text())
    }

    fn shown_lines(&self, kind: LineKind) -> impl Iterator<Item = &[u8]> {
        let lines = self.file.hunks.iter().flat_map(|hunk| self.diff.lines(hunk));
        lines.filter(move |line| line.kind == kind).map(|line| line.text())
    }
}

/// Reason to skip a file because of attributes, name or folder. An attribute that says the opposite
/// overrides a name. Lock files count as generated, as on GitHub.
fn skip_reason_by_name(name: &str, attributes: &FileAttributes) -> Option<SkipReason> {
    if let AttributeMark::Marked(attribute) = &attributes.generated {
        return Some(SkipReason::GeneratedAttribute { attribute: attribute.clone() });
    }
    if let AttributeMark::Marked(attribute) = &attributes.vendored {
        return Some(SkipReason::VendoredAttribute { attribute: attribute.clone() });
    }
    let generated = || match attributes.generated {
        AttributeMark::Unmarked => None,
        AttributeMark::Unspecified | AttributeMark::Marked(_) => {
            known_names::lock_file(name).map(|name| SkipReason::LockFile { name }).or_else(|| {
                known_names::generated_ending(name)
                    .map(|ending| SkipReason::GeneratedName { ending })
            })
        }
    };
    let vendored = || match attributes.vendored {
        AttributeMark::Unmarked => None,
        AttributeMark::Unspecified | AttributeMark::Marked(_) => {
            known_names::vendored_folder(name).map(|folder| SkipReason::VendoredFolder { folder })
        }
    };
    generated().or_else(vendored)
}

#[cfg(test)]
mod tests;
