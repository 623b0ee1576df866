//! Inputs for the facts of a change: its files and lines, and paths of the repository.

use std::collections::{BTreeSet, HashMap};

use crate::agent_files::RevisionTree;
use crate::change_under_review::ChangeUnderReview;
use crate::checks;
use crate::context::solutions;
use crate::context::standards::standards_for;
use crate::scope::{
    FileKind, FileRole, LineCounts, ScopeDecision, ScopeFile, ScopeNote, SkipReason,
};
use crh_review::diff::{FileChange, LineKind};

/// Maximum number of executable lines that are read. Larger changes are mostly generated, and their
/// first lines show the facts.
const LINES_MAX: usize = 50_000;
/// Maximum bytes of a line that are read. The rest of a longer line is mostly data, not code.
const LINE_BYTES_MAX: usize = 500;
/// Maximum size of a `Gemfile`.
const GEMFILE_MAX: u64 = 64 << 10;
/// Maximum number of `Gemfile`s to read.
const RAILS_FOLDERS_MAX: usize = 10;

/// Inputs of the rules in `rules.rs`.
#[derive(Debug, Default)]
pub(super) struct FactInputs<'a> {
    /// Added and removed executable lines of files under review.
    pub(super) lines: Vec<InputLine<'a>>,
    /// Paths of the repository at head, sorted. Empty without a repository.
    pub(super) tree: Vec<String>,
    /// Number of comments.
    pub(super) comments: usize,
    /// Standards files that apply to changed files.
    pub(super) standards: Vec<String>,
    /// Number of solutions of earlier problems.
    pub(super) solutions: usize,
    /// Folders whose `Gemfile` requires Rails, with a trailing slash.
    pub(super) rails_gemfiles: BTreeSet<String>,
}

/// A changed file.
#[derive(Debug, Clone)]
pub(super) struct InputFile {
    pub(super) path: String,
    /// The old path, if it differs.
    pub(super) old_path: Option<String>,
    pub(super) change: FileChange,
    pub(super) role: FileRole,
    pub(super) language: Option<&'static str>,
    pub(super) added: LineCounts,
    pub(super) removed: LineCounts,
    pub(super) is_in_scope: bool,
    /// Whether crh knows the role of the file and all of its changed lines.
    pub(super) is_fully_known: bool,
}

/// An executable line.
#[derive(Debug, Clone)]
pub(super) struct InputLine<'a> {
    pub(super) path: &'a str,
    pub(super) language: Option<&'static str>,
    pub(super) is_added: bool,
    pub(super) number: u32,
    pub(super) text: String,
}

impl InputFile {
    /// Number of added and removed executable lines.
    pub(super) fn executable(&self) -> u64 {
        self.added.executable + self.removed.executable
    }

    /// File name in lower case.
    pub(super) fn name(&self) -> String {
        self.path.rsplit('/').next().unwrap_or(&self.path).to_ascii_lowercase()
    }
}

impl InputLine<'_> {
    /// Line number and path, as text.
    pub(super) fn place(&self) -> String {
        format!("line {} of `{}`", self.number, self.path)
    }
}

/// The files that facts are derived from: files in scope, moved files and generated ones.
pub(super) fn input_files(change: &ChangeUnderReview) -> Vec<InputFile> {
    let inputs = change.scope.files.iter().zip(change.diff.files()).filter_map(|(file, diff)| {
        let is_in_scope = match &file.decision {
            ScopeDecision::In => true,
            ScopeDecision::Out(SkipReason::MoveOnly) => false,
            ScopeDecision::Out(reason) if reason.is_written_by_others() => false,
            ScopeDecision::Out(_) => return None,
        };
        Some(InputFile {
            path: file.path.shown().into_owned(),
            old_path: diff.old_path.as_ref().map(|path| path.shown().into_owned()),
            change: diff.change,
            role: file.role,
            language: file.language,
            added: file.added,
            removed: file.removed,
            is_in_scope,
            is_fully_known: is_fully_known(file),
        })
    });
    inputs.collect()
}

fn is_fully_known(file: &ScopeFile) -> bool {
    file.notes.iter().all(|note| {
        !matches!(note, ScopeNote::UnknownKind | ScopeNote::LinesNotShown | ScopeNote::ComesIntoUse)
    })
}

pub(super) fn collect_inputs<'a>(
    change: &ChangeUnderReview,
    files: &'a [InputFile],
) -> FactInputs<'a> {
    let mut inputs = FactInputs { lines: input_lines(change, files), ..FactInputs::default() };
    if let Ok(workspace) = change.workspace() {
        // The static checks report unreadable comments.
        inputs.comments = checks::comments(workspace, &mut Vec::new()).len();
    }
    inputs.standards = standards_for(change).into_iter().map(|file| file.path).collect();
    let Ok(revisions) = change.tool_context.repository() else { return inputs };
    let objects = revisions.objects();
    if let Some(head) = revisions.resolve(Some("head")) {
        let entries = objects.files(head).unwrap_or_default();
        let paths = entries.iter().filter_map(|entry| std::str::from_utf8(&entry.path).ok());
        inputs.tree = paths.map(str::to_owned).collect();
        inputs.rails_gemfiles = rails_gemfiles(&RevisionTree { objects, revision: head }, files);
    }
    if let Some(revision) = revisions.resolve(Some(change.instructions_revision())) {
        inputs.solutions = solutions::paths(&RevisionTree { objects, revision }).len();
    }
    inputs
}

/// Executable lines, at most [`LINES_MAX`].
fn input_lines<'a>(change: &ChangeUnderReview, files: &'a [InputFile]) -> Vec<InputLine<'a>> {
    let by_path: HashMap<&str, &InputFile> = files
        .iter()
        .filter(|file| file.is_in_scope && file.role == FileRole::Executable)
        .map(|file| (file.path.as_str(), file))
        .collect();
    let mut lines = Vec::new();
    for (scoped, diff) in change.files() {
        let path = scoped.path.shown();
        let Some(file) = by_path.get(&*path) else { continue };
        let kind = FileKind::of_path(&path);
        for line in diff.hunks.iter().flat_map(|hunk| change.diff.lines(hunk)) {
            let (is_added, number) = match line.kind {
                LineKind::Added => (true, line.new),
                LineKind::Removed => (false, line.old),
                LineKind::Context | LineKind::Remark => continue,
            };
            if kind.of_line(line.text()) != Some(FileRole::Executable) {
                continue;
            }
            if lines.len() == LINES_MAX {
                return lines;
            }
            let text = &line.text()[..line.text().len().min(LINE_BYTES_MAX)];
            lines.push(InputLine {
                path: &file.path,
                language: file.language,
                is_added,
                number,
                text: String::from_utf8_lossy(text).into_owned(),
            });
        }
    }
    lines
}

/// Folders above changed Ruby files whose `Gemfile` requires Rails.
fn rails_gemfiles(tree: &RevisionTree<'_>, files: &[InputFile]) -> BTreeSet<String> {
    let ruby = files.iter().filter(|file| file.language == Some("ruby"));
    let folders: BTreeSet<&str> = ruby.filter_map(|file| rails_root(&file.path)).collect();
    let requires_rails = |folder: &&&str| {
        let path = format!("{folder}Gemfile");
        let size = tree.stat(path.as_bytes()).ok().flatten().map_or(u64::MAX, |(_, size)| size);
        let text = Some(path).filter(|_| size <= GEMFILE_MAX);
        let text = text.and_then(|path| tree.objects.file(tree.revision, path).ok());
        let text = text.unwrap_or_default();
        String::from_utf8_lossy(&text).lines().any(|line| {
            let line = line.trim_start().replace('\'', "\"");
            line.starts_with("gem \"rails\"")
        })
    };
    let folders = folders.iter().take(RAILS_FOLDERS_MAX).filter(requires_rails);
    folders.map(|folder| (*folder).to_owned()).collect()
}

/// The folder of the application that a Ruby file would belong to, with a trailing slash.
pub(super) fn rails_root(path: &str) -> Option<&str> {
    let mut start = 0;
    for part in path.split_inclusive('/') {
        if matches!(part, "app/" | "lib/" | "config/") {
            return path.get(..start);
        }
        start += part.len();
    }
    None
}
