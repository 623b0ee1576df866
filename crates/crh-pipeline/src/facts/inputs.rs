//! What facts are told from: the files and lines of a change and the paths around them, as values.

use std::collections::{BTreeSet, HashMap};

use crate::agent_files::Tree;
use crate::checks;
use crate::context::{instructing_end, solutions, standards_for};
use crate::scope::{Decision, Kind, Lines, Note, Reason, Role, ScopeFile};
use crate::subject::Subject;
use crh_review::diff::{FileChange, LineKind};

/// A change with more lines that run than this was written by a program; the first ones tell what it is about.
const LINES_MAX: usize = 50_000;
/// No line of a person is longer; the rest of it is data.
const LINE_BYTES_MAX: usize = 500;
/// A `Gemfile` that is larger is none.
const GEMFILE_MAX: u64 = 64 << 10;
/// A repository has one application, or a few; each costs a look at its `Gemfile`.
const RAILS_FOLDERS_MAX: usize = 10;

/// What facts are told from.
#[derive(Debug, Default)]
pub(super) struct Seen<'a> {
    /// The added and removed lines that run, of files under review.
    pub(super) lines: Vec<SeenLine<'a>>,
    /// The paths of the repository after the change, sorted; empty if there is none.
    pub(super) tree: Vec<String>,
    /// How many comments people made.
    pub(super) comments: usize,
    /// The standards files that hold for changed files.
    pub(super) standards: Vec<String>,
    /// How many solutions of earlier problems there are.
    pub(super) solutions: usize,
    /// Folders with a `Gemfile` that asks for Rails, each with a slash behind it.
    pub(super) rails_gemfiles: BTreeSet<String>,
}

/// A file of a change.
#[derive(Debug, Clone)]
pub(super) struct SeenFile {
    pub(super) path: String,
    /// Where it was before, if that was elsewhere.
    pub(super) old_path: Option<String>,
    pub(super) change: FileChange,
    pub(super) role: Role,
    pub(super) language: Option<&'static str>,
    pub(super) added: Lines,
    pub(super) removed: Lines,
    /// Whether it is reviewed.
    pub(super) is_in: bool,
    /// Whether what it is for and what of it changed is all known.
    pub(super) is_plain: bool,
}

/// A line that runs.
#[derive(Debug, Clone)]
pub(super) struct SeenLine<'a> {
    pub(super) path: &'a str,
    pub(super) language: Option<&'static str>,
    pub(super) is_added: bool,
    pub(super) number: u32,
    pub(super) text: String,
}

impl SeenFile {
    /// How many lines that run it gained and lost.
    pub(super) fn executable(&self) -> u64 {
        self.added.executable + self.removed.executable
    }

    /// Its name without the folders, in lower case.
    pub(super) fn name(&self) -> String {
        self.path.rsplit('/').next().unwrap_or(&self.path).to_ascii_lowercase()
    }
}

impl SeenLine<'_> {
    /// Where it stands, as text.
    pub(super) fn place(&self) -> String {
        format!("line {} of `{}`", self.number, self.path)
    }
}

/// The files of a change that facts are told from: those under review, and those that only moved or that programs wrote.
pub(super) fn files(subject: &Subject) -> Vec<SeenFile> {
    let known = subject.scope.files.iter().zip(subject.diff.files()).filter_map(|(file, diff)| {
        let is_in = match &file.decision {
            Decision::In => true,
            Decision::Out(Reason::MoveOnly) => false,
            Decision::Out(reason) if reason.is_written_by_others() => false,
            Decision::Out(_) => return None,
        };
        Some(SeenFile {
            path: file.path.shown().into_owned(),
            old_path: diff.old_path.as_ref().map(|path| path.shown().into_owned()),
            change: diff.change,
            role: file.role,
            language: file.language,
            added: file.added,
            removed: file.removed,
            is_in,
            is_plain: is_plain(file),
        })
    });
    known.collect()
}

fn is_plain(file: &ScopeFile) -> bool {
    file.notes.iter().all(|note| !matches!(note, Note::UnknownKind | Note::LinesNotShown))
}

/// What facts are told from, for files that are known already.
pub(super) fn seen<'a>(subject: &Subject, files: &'a [SeenFile]) -> Seen<'a> {
    let mut seen = Seen { lines: lines(subject, files), ..Seen::default() };
    if let Ok(workspace) = subject.workspace() {
        // What cannot be read is said by those who need it.
        seen.comments = checks::comments(workspace, &mut Vec::new()).len();
    }
    seen.standards = standards_for(subject).into_iter().map(|it| it.path).collect();
    let Ok(revisions) = subject.bench.repository() else { return seen };
    let objects = revisions.objects();
    if let Some(head) = revisions.named(Some("head")) {
        let entries = objects.files(head).unwrap_or_default();
        let paths = entries.iter().filter_map(|entry| std::str::from_utf8(&entry.path).ok());
        seen.tree = paths.map(str::to_owned).collect();
        seen.rails_gemfiles = rails_gemfiles(&Tree { objects, revision: head }, files);
    }
    if let Some(revision) = revisions.named(Some(instructing_end(subject))) {
        seen.solutions = solutions::paths(&Tree { objects, revision }).len();
    }
    seen
}

/// The lines that run, as many as are looked at.
fn lines<'a>(subject: &Subject, files: &'a [SeenFile]) -> Vec<SeenLine<'a>> {
    let by_path: HashMap<&str, &SeenFile> = files
        .iter()
        .filter(|file| file.is_in && file.role == Role::Executable)
        .map(|file| (file.path.as_str(), file))
        .collect();
    let mut lines = Vec::new();
    for (scoped, diff) in subject.files() {
        let shown = scoped.path.shown();
        let Some(file) = by_path.get(&*shown) else { continue };
        let kind = Kind::of_path(&shown);
        for line in diff.hunks.iter().flat_map(|hunk| subject.diff.lines(hunk)) {
            let (is_added, number) = match line.kind {
                LineKind::Added => (true, line.new),
                LineKind::Removed => (false, line.old),
                LineKind::Context | LineKind::Remark => continue,
            };
            if kind.of_line(line.text()) != Some(Role::Executable) {
                continue;
            }
            if lines.len() == LINES_MAX {
                return lines;
            }
            let text = &line.text()[..line.text().len().min(LINE_BYTES_MAX)];
            lines.push(SeenLine {
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

/// The folders above changed Ruby files whose `Gemfile` asks for Rails.
fn rails_gemfiles(tree: &Tree<'_>, files: &[SeenFile]) -> BTreeSet<String> {
    let ruby = files.iter().filter(|file| file.language == Some("ruby"));
    let folders: BTreeSet<&str> = ruby.filter_map(|file| application(&file.path)).collect();
    let asks = |folder: &&&str| {
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
    let folders = folders.iter().take(RAILS_FOLDERS_MAX).filter(asks);
    folders.map(|folder| (*folder).to_owned()).collect()
}

/// The folder of the application that a Ruby file would belong to, if it is a Rails one; with a slash behind it.
pub(super) fn application(path: &str) -> Option<&str> {
    let mut start = 0;
    for part in path.split_inclusive('/') {
        if matches!(part, "app/" | "lib/" | "config/") {
            return path.get(..start);
        }
        start += part.len();
    }
    None
}
