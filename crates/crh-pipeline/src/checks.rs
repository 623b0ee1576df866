//! The reviewers that need no model, at work: what the change contains becomes values for them, and what they say becomes
//! runs like the others.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::time::Instant;

use crh_git::ReadError;
use crh_lint::AddedLine;
use crh_lint::ChangedFile;
use crh_lint::Returned;
use crh_lint::injection;
use crh_lint::injection::Text;
use crh_lint::secrets;
use crh_lint::syntax;
use crh_review::diff::Diff;
use crh_review::diff::FileChange;
use crh_review::diff::FileDiff;
use crh_review::diff::LineKind;
use crh_review::diff::RepoPath;
use crh_review::finding::Finding;
use crh_review::finding::Member;
use crh_review::finding::Origin;
use crh_review::report::CoverageState;
use crh_review::report::FileCoverage;
use crh_syntax::Language;
use memchr::memmem;
use serde::de::DeserializeOwned;

use crate::plan::Assignment;
use crate::plan::Part;
use crate::plan::STATIC;
use crate::revisions::Revisions;
use crate::runs::RunEnd;
use crate::runs::RunRecord;
use crate::runs::milliseconds;
use crate::subject::Subject;
use crate::tools::ToolError;
use crate::workspace::Ci;
use crate::workspace::Comment;
use crate::workspace::Commit;
use crate::workspace::LinkedIssue;
use crate::workspace::Thread;
use crate::workspace::Workspace;

const SECRETS: &str = STATIC[0];
const SYNTAX: &str = STATIC[1];
const INJECTION: &str = STATIC[2];

/// Git's modes of files that have lines; links and submodules have none.
const MODES_OF_FILES: [u32; 2] = [0o100_644, 0o100_755];

/// Runs every reviewer that needs no model. One that fails is a row like the others.
pub fn checks(subject: &Subject) -> Vec<RunRecord> {
    let in_scope: Vec<ChangedFile> =
        subject.files().map(|(_, file)| changed_file(&subject.diff, file)).collect();
    let all: Vec<Part> = in_scope.iter().map(|file| Part::whole(&file.path)).collect();
    vec![
        run(SECRETS, all.clone(), || secrets::review(&in_scope)),
        syntax_run(subject),
        injection_run(subject, all),
    ]
}

/// What cannot be looked at may address the reviewer: that is a failure, since a note would leave the change green.
fn injection_run(subject: &Subject, parts: Vec<Part>) -> RunRecord {
    let mut unread = Vec::new();
    let mut record = run(INJECTION, parts, || {
        let (texts, not_read) = texts(subject);
        unread = not_read;
        injection::review(&texts, &all_files(subject))
    });
    if record.ended == RunEnd::Completed && !unread.is_empty() {
        record.ended = RunEnd::Failed(format!("not looked at: {}", unread.join("; ")));
    }
    record
}

/// A diff without the credentials that it adds, as long as before, for those who show it.
pub fn masked(diff: &Diff) -> Diff {
    let files: Vec<ChangedFile> =
        diff.files().iter().map(|file| changed_file(diff, file)).collect();
    let mut raw = diff.raw().to_vec();
    for value in secrets::values(&files) {
        let found: Vec<usize> = memmem::find_iter(&raw, value.as_bytes()).collect();
        for at in found {
            raw[at..at + value.len()].fill(b'*');
        }
    }
    Diff::read(raw)
}

/// The credentials that the change adds, so that they can be masked wherever something is written.
pub fn secret_values(subject: &Subject) -> Vec<String> {
    // Also those in files that nobody reviews: a model may still quote them.
    secrets::values(&all_files(subject))
}

/// Carries one reviewer out.
fn run(name: &str, parts: Vec<Part>, review: impl FnOnce() -> Returned) -> RunRecord {
    let assignment = Assignment {
        name: name.to_owned(),
        reviewer: name.to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts,
    };
    let began = Instant::now();
    let mut record = match catch_unwind(AssertUnwindSafe(review)) {
        Ok(returned) => record(assignment, returned),
        Err(panic) => RunRecord::failed(assignment, format!("it crashed: {}", message(&*panic))),
    };
    record.took_ms = milliseconds(began.elapsed());
    record
}

/// Syntax needs whole files, so that it depends on what can be read.
fn syntax_run(subject: &Subject) -> RunRecord {
    let repository = match subject.bench.repository() {
        Ok(repository) => repository,
        Err(ToolError::TellModel(why) | ToolError::Abort(why)) => {
            let notes = vec![format!("nothing was checked: {why}")];
            return run(SYNTAX, Vec::new(), || Returned { notes, ..Returned::default() });
        }
    };
    let files = subject.files().map(|(_, file)| file);
    let files: Vec<&FileDiff> = files.filter(|file| is_parsed(file)).collect();
    let parts = files.iter().map(|file| Part::whole(file.path.shown())).collect();
    let mut unread = Vec::new();
    let mut record = run(SYNTAX, parts, || {
        syntax::review(files.iter().filter_map(|file| {
            let read = with_texts(repository, &subject.diff, file);
            read.map_err(|why| unread.push((file.path.shown().into_owned(), why))).ok()
        }))
    });
    for (path, why) in unread {
        for file in record.coverage.iter_mut().filter(|file| file.path == path) {
            file.state = CoverageState::NotReviewed;
            file.reason = why.to_string();
        }
        record.notes.push(format!("the syntax of `{path}` was not checked: {why}"));
    }
    record
}

/// Whether there is a file after the change that is parsed.
fn is_parsed(file: &FileDiff) -> bool {
    new_path(file).is_some_and(|path| Language::of_path(&path.shown()).is_some())
}

fn record(assignment: Assignment, returned: Returned) -> RunRecord {
    let coverage = assignment.parts.iter().map(|part| FileCoverage {
        path: part.path.clone(),
        state: CoverageState::Reviewed,
        reason: String::new(),
    });
    let coverage = coverage.collect();
    let member = |finding: Finding| Member {
        origin: Origin::Code,
        ..Member::new(&assignment.name, finding)
    };
    let members = returned.findings.into_iter().map(member).collect();
    RunRecord { members, coverage, notes: returned.notes, ..RunRecord::begun(assignment) }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// A file with its texts before and after.
fn with_texts(
    repository: &Revisions,
    diff: &Diff,
    file: &FileDiff,
) -> Result<ChangedFile, ReadError> {
    let text = |end: &str, path: Option<&RepoPath>| {
        let at = repository.named(Some(end)).zip(path);
        at.map(|(revision, path)| repository.objects().file(revision, path.as_bytes())).transpose()
    };
    let (old, new) = (text("base", old_path(file))?, text("head", new_path(file))?);
    Ok(ChangedFile { old, new, ..changed_file(diff, file) })
}

fn all_files(subject: &Subject) -> Vec<ChangedFile> {
    subject.diff.files().iter().map(|file| changed_file(&subject.diff, file)).collect()
}

/// A file as the diff alone tells it.
fn changed_file(diff: &Diff, file: &FileDiff) -> ChangedFile {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for line in file.hunks.iter().flat_map(|hunk| diff.lines(hunk)) {
        match line.kind {
            LineKind::Added => {
                added.push(AddedLine { number: line.new, text: line.text().to_vec() });
            }
            LineKind::Removed => removed.push(line.text().to_vec()),
            LineKind::Context | LineKind::Remark => {}
        }
    }
    ChangedFile { path: file.path.shown().into_owned(), old: None, new: None, added, removed }
}

/// Where the file stood before, if it has lines there.
fn old_path(file: &FileDiff) -> Option<&RepoPath> {
    let was_there = match file.change {
        FileChange::Added => false,
        FileChange::Deleted | FileChange::Modified | FileChange::Renamed | FileChange::Copied => {
            true
        }
    };
    let path = file.old_path.as_ref().unwrap_or(&file.path);
    Some(path).filter(|_| was_there && has_lines(file.old_mode))
}

/// Where it stands after, if it has lines there.
fn new_path(file: &FileDiff) -> Option<&RepoPath> {
    let is_there = match file.change {
        FileChange::Deleted => false,
        FileChange::Added | FileChange::Modified | FileChange::Renamed | FileChange::Copied => true,
    };
    Some(&file.path).filter(|_| is_there && has_lines(file.new_mode))
}

fn has_lines(mode: Option<u32>) -> bool {
    mode.is_none_or(|mode| MODES_OF_FILES.contains(&mode))
}

/// What people wrote about the change, and what of it could not be read.
fn texts(subject: &Subject) -> (Vec<Text>, Vec<String>) {
    let workspace = match subject.workspace() {
        Ok(workspace) => workspace,
        Err(ToolError::TellModel(why) | ToolError::Abort(why)) => return (Vec::new(), vec![why]),
    };
    let metadata = workspace.metadata();
    let mut texts = vec![Text::title(&metadata.title), Text::description(&metadata.body)];
    texts.extend(metadata.source_git_path.iter().map(|branch| Text::other("branch", branch)));
    texts.push(Text::other("labels", metadata.labels.join("\n")));
    let mut notes = Vec::new();
    let commits: Vec<Commit> = rows(workspace, "commits.json", &mut notes);
    texts.extend(
        commits.iter().map(|commit| {
            Text::commit(&commit.id, format!("{}\n\n{}", commit.subject, commit.body))
        }),
    );
    let issues: Vec<LinkedIssue> = rows(workspace, "linked-issues.json", &mut notes);
    texts.extend(issues.iter().map(|issue| {
        Text::other(
            &format!("linked issue {}", issue.id),
            format!("{}\n\n{}", issue.title, issue.body),
        )
    }));
    let ci: Ci = rows(workspace, "ci.json", &mut notes);
    texts.extend(ci.checks.iter().map(|check| {
        let summary = check.summary.as_deref().unwrap_or_default();
        Text::other("checks", format!("{}\n\n{summary}", check.name))
    }));
    let comments = comments(workspace, &mut notes);
    texts.extend(comments.iter().map(|comment| Text::comment(&comment.id, &comment.content)));
    (texts, notes)
}

/// The comments of the latest round, each once.
fn comments(workspace: &Workspace, notes: &mut Vec<String>) -> Vec<Comment> {
    let Some(round) = workspace.latest() else { return Vec::new() };
    let general: Vec<Comment> =
        rows(workspace, &format!("preview-diffs/{}/comments/general.json", round.id), notes);
    let threads: Vec<Thread> =
        rows(workspace, &format!("preview-diffs/{}/comments/threads.json", round.id), notes);
    let inline = workspace.inline_comments(&round.id).unwrap_or_else(|why| {
        notes.push(why.to_string());
        Default::default()
    });
    let replies = threads.into_iter().flat_map(|thread| thread.replies);
    let mut seen = BTreeSet::new();
    let all = general.into_iter().chain(inline.into_values().flatten()).chain(replies);
    all.filter(|comment| seen.insert((comment.id.clone(), comment.content.clone()))).collect()
}

/// A file of the workspace; nothing and a note if it cannot be read.
fn rows<T: DeserializeOwned + Default>(
    workspace: &Workspace,
    path: &str,
    notes: &mut Vec<String>,
) -> T {
    let read = workspace.bytes(path).map_err(|why| why.to_string());
    let read = read
        .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|why| format!("`{path}`: {why}")));
    read.unwrap_or_else(|why| {
        notes.push(why);
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::RunEnd;

    #[test]
    fn a_reviewer_that_crashes_is_a_row_and_covers_nothing() {
        let record = run(SYNTAX, vec![Part::whole("a.py")], || panic!("out of bounds"));
        assert_eq!(record.ended, RunEnd::Failed("it crashed: out of bounds".to_owned()));
        assert_eq!(record.coverage[0].state, CoverageState::NotReviewed);
    }
}
