//! The reviewers that need no model, at work: what the change contains becomes values for them, and what they say becomes
//! runs like the others.

pub(crate) mod analysers;
mod baseline;
#[path = "fix_check.rs"]
mod fix;
#[path = "revision_project.rs"]
mod project;
mod rules;
mod sarif;
#[path = "suppress.rs"]
mod suppressed;
#[path = "options.rs"]
mod terms;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

pub(crate) use analysers::is_analyser;
pub use baseline::{BASELINE, Baseline, BaselineError};
pub use fix::{FixError, objections};
use project::Repository;
use serde::de::DeserializeOwned;
pub(crate) use suppressed::is_brought_along;
pub use terms::{CheckTerms, IgnoredPaths, Since, Work};

use crate::plan::{Assignment, Part};
use crate::runs::{RunEnd, RunRecord, milliseconds};
use crate::scope::Decision;
use crate::subject::Subject;
use crate::tools::ToolError;
use crate::workspace::{Ci, Comment, Commit, LinkedIssue, Thread, Workspace};
use crh_lint::injection::Text;
use crh_lint::{AddedLine, Change, ChangedFile, Project, Reported, Returned, Run, injection};
use crh_review::diff::{Diff, FileChange, FileDiff, LineKind, RepoPath};
use crh_review::finding::{Member, Origin};
use crh_review::report::{CoverageState, Dropped, Fate, FileCoverage};

const INJECTION: &str = "injection";
const SECRETS: &str = "secrets";

/// More text than people would look through for what somebody pasted into it. As much as a file under review may have.
const LEFT_OUT_BYTES_MAX: usize = 1_000_000;

/// A reviewer that says more than this about a change was set off by something that a program wrote; the worst ones tell.
const FINDINGS_MAX: usize = 50;

/// Git's modes of files that have lines; links and submodules have none.
const MODES_OF_FILES: [u32; 2] = [0o100_644, 0o100_755];

/// Runs every built-in reviewer that needs no model, and takes in what other tools have said. One that fails is a row like the others.
pub fn checks(subject: &Subject, terms: &CheckTerms) -> Vec<RunRecord> {
    let in_scope: Vec<ChangedFile> =
        subject.files().map(|(_, file)| changed_file(&subject.diff, file)).collect();
    let all = all_files(subject);
    let opened = subject.bench.repository();
    let repository = opened.as_ref().ok().map(|it| Repository::new(it, subject.bench.stop()));
    let project = repository.as_ref().map(|repository| repository as &dyn Project);
    let change = Change::new(&in_scope, &all, project);
    let round = subject.workspace().ok().and_then(|workspace| workspace.latest());
    let patterns = opened.as_ref().map(|it| rules::patterns(it, terms.work, round));
    let (patterns, about_rules) = patterns.unwrap_or_default();
    let parts: Vec<Part> = in_scope.iter().map(|file| Part::whole(&file.path)).collect();
    let (runs, injection) = std::thread::scope(|scope| {
        let runs = scope.spawn(|| crh_lint::review(&change, &patterns));
        let injection = injection_run(subject, parts, &all);
        (runs.join(), injection)
    });
    // Each reviewer is caught where it crashes; what is left is a bug of the frame around them.
    let runs = runs.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let no_repository = match &opened {
        Ok(_) => None,
        Err(ToolError::TellModel(why) | ToolError::Abort(why)) => Some(why),
    };
    let unread: BTreeMap<String, String> = match no_repository {
        None => runs.iter().flat_map(|run| run.unread.iter().cloned()).collect(),
        Some(_) => BTreeMap::new(),
    };
    let mut records: Vec<RunRecord> =
        runs.into_iter().map(|run| record_of(run, no_repository)).collect();
    for record in records.iter_mut().filter(|record| record.assignment.name == "patterns") {
        record.notes.extend(about_rules.iter().cloned());
    }
    let secrets = records.iter_mut().find(|record| record.assignment.name == SECRETS);
    secrets.into_iter().for_each(|record| look_into_what_is_left_out(record, subject));
    records.extend(sarif::records(&change, terms));
    suppressed::suppress(&mut records, &all, project, terms);
    records.iter_mut().for_each(capped);
    records.push(injection);
    records.iter_mut().for_each(|record| doubt(record, &unread));
    records
}

/// Of a file that one reviewer could not look at, what the others saw is no more than a part.
fn doubt(record: &mut RunRecord, unread: &BTreeMap<String, String>) {
    for file in &mut record.coverage {
        if let (CoverageState::Reviewed, Some(why)) = (file.state, unread.get(&file.path)) {
            file.state = CoverageState::Truncated;
            file.reason.clone_from(why);
        }
    }
}

/// A credential is no less leaked in a file that programs or others wrote. What the user excludes stays out.
fn look_into_what_is_left_out(record: &mut RunRecord, subject: &Subject) {
    let mut files = Vec::new();
    for (scoped, file) in subject.scope.files.iter().zip(subject.diff.files()) {
        let is_looked_into = match &scoped.decision {
            Decision::In => false,
            Decision::Out(reason) => reason.is_written_by_others(),
        };
        if !is_looked_into {
            continue;
        }
        let file = changed_file(&subject.diff, file);
        let bytes: usize = file.added.iter().map(|line| line.text.len()).sum();
        if bytes > LEFT_OUT_BYTES_MAX {
            record.notes.push(format!(
                "`{}` was not searched for credentials: it gains {bytes} bytes, more than {LEFT_OUT_BYTES_MAX}",
                file.path
            ));
        } else {
            files.push(file);
        }
    }
    if record.ended != RunEnd::Completed || files.is_empty() {
        return;
    }
    let found = run(SECRETS, Vec::new(), || crh_lint::secrets::review_left_out(&files));
    record.members.extend(found.members);
    record.notes.extend(found.notes);
    if let Some(why) = found.ended.failure() {
        record.ended = RunEnd::Failed(why.to_owned());
    }
    record.took_ms += found.took_ms;
}

/// Runs the analysers that are installed. They take as long as they like, so that nobody else waits for them.
pub(crate) fn external(subject: &Subject, terms: &CheckTerms) -> Vec<RunRecord> {
    let Ok(revisions) = subject.bench.repository() else { return Vec::new() };
    let in_scope: Vec<ChangedFile> =
        subject.files().map(|(_, file)| changed_file(&subject.diff, file)).collect();
    let all = all_files(subject);
    let repository = Repository::new(revisions, subject.bench.stop());
    let change = Change::new(&in_scope, &all, Some(&repository));
    let mut records = analysers::runs(terms.analysers.as_deref(), &change);
    suppressed::suppress(&mut records, &all, Some(&repository), terms);
    records.iter_mut().for_each(capped);
    records
}

/// Sets aside what is too much, once it is known what is silenced: the worst ones stay, so that nothing turns better by it.
fn capped(record: &mut RunRecord) {
    let over = record.members.len().saturating_sub(FINDINGS_MAX);
    if over == 0 {
        return;
    }
    record.members.sort_by_key(|member| member.finding.severity);
    let cut = record.members.split_off(FINDINGS_MAX);
    record.set_aside.extend(cut.into_iter().map(|member| Dropped {
        fate: Fate::OverCap,
        reason: format!("beyond the {FINDINGS_MAX} of a reviewer"),
        into: None,
        reviewer: member.reviewer.clone(),
        member: Some(member),
        raw: None,
    }));
    let s = if over == 1 { "" } else { "s" };
    record.notes.push(format!("{over} more finding{s} beyond the limit of {FINDINGS_MAX}"));
}

/// What cannot be looked at may address the reviewer: that is a failure, since a note would leave the change green.
fn injection_run(subject: &Subject, parts: Vec<Part>, files: &[ChangedFile]) -> RunRecord {
    let mut unread = Vec::new();
    let mut record = run(INJECTION, parts, || {
        let (texts, not_read) = texts(subject);
        unread = not_read;
        injection::review(&texts, files)
    });
    if record.ended == RunEnd::Completed && !unread.is_empty() {
        record.ended = RunEnd::Failed(format!("not looked at: {}", unread.join("; ")));
    }
    record
}

/// Carries one reviewer out.
fn run(name: &str, parts: Vec<Part>, review: impl FnOnce() -> Returned) -> RunRecord {
    let began = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(review));
    let mut record = match outcome {
        Ok(returned) => record(assignment(name, parts), returned),
        Err(_) => RunRecord::failed(assignment(name, parts), "it crashed"),
    };
    record.took_ms = milliseconds(began.elapsed());
    record
}

/// A run of the built-in reviewers as a record. Without a repository there is one reason why nothing was read.
fn record_of(run: Run, no_repository: Option<&String>) -> RunRecord {
    let assignment = assignment(run.name, run.files.iter().map(Part::whole).collect());
    let mut record = match run.outcome {
        Ok(returned) => record(assignment, returned),
        Err(why) => RunRecord::failed(assignment, why),
    };
    let nothing_was_read = no_repository.filter(|_| !run.unread.is_empty());
    let unread = run.unread.into_iter();
    let unread: BTreeMap<String, String> =
        unread.map(|(path, why)| (path, no_repository.cloned().unwrap_or(why))).collect();
    for file in &mut record.coverage {
        if let Some(why) = unread.get(&file.path) {
            file.state = CoverageState::NotReviewed;
            file.reason.clone_from(why);
        }
    }
    if nothing_was_read.is_none() {
        let notes = unread.iter().map(|(path, why)| format!("`{path}` was not checked: {why}"));
        record.notes.extend(notes);
    }
    record.notes.extend(nothing_was_read.map(|why| format!("nothing was checked: {why}")));
    record.took_ms = milliseconds(run.took);
    record
}

fn assignment(name: &str, parts: Vec<Part>) -> Assignment {
    Assignment {
        name: name.to_owned(),
        reviewer: name.to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts,
    }
}

fn record(assignment: Assignment, returned: Returned) -> RunRecord {
    let coverage = assignment.parts.iter().map(|part| FileCoverage {
        path: part.path.clone(),
        state: CoverageState::Reviewed,
        reason: String::new(),
    });
    let coverage = coverage.collect();
    let member = |Reported { rule, finding }: Reported| Member {
        origin: Origin::Code,
        rule: Some(rule),
        ..Member::new(&assignment.name, finding)
    };
    let members = returned.findings.into_iter().map(member).collect();
    RunRecord { members, coverage, notes: returned.notes, ..RunRecord::begun(assignment) }
}

fn all_files(subject: &Subject) -> Vec<ChangedFile> {
    subject.diff.files().iter().map(|file| changed_file(&subject.diff, file)).collect()
}

/// A file as the diff alone tells it.
fn changed_file(diff: &Diff, file: &FileDiff) -> ChangedFile {
    let (mut added, mut removed, mut removed_at) = (Vec::new(), Vec::new(), Vec::new());
    for line in file.hunks.iter().flat_map(|hunk| diff.lines(hunk)) {
        match line.kind {
            LineKind::Added => {
                added.push(AddedLine { number: line.new, text: line.text().to_vec() });
            }
            LineKind::Removed => {
                removed.push(line.text().to_vec());
                removed_at.push(line.old);
            }
            LineKind::Context | LineKind::Remark => {}
        }
    }
    let (is_deleted, has_lines) = match file.change {
        FileChange::Deleted => (true, has_lines(file.old_mode)),
        FileChange::Added | FileChange::Modified | FileChange::Renamed | FileChange::Copied => {
            (false, has_lines(file.new_mode))
        }
    };
    ChangedFile {
        path: file.path.shown().into_owned(),
        before: old_path(file).map(|path| path.shown().into_owned()),
        is_deleted,
        has_lines,
        added,
        removed,
        removed_at,
    }
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
pub(crate) fn comments(workspace: &Workspace, notes: &mut Vec<String>) -> Vec<Comment> {
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
