//! Runs the static checks on a change and converts their output to run records.

pub(crate) mod analysers;
mod baseline;
mod change_texts;
mod decoded_text;
mod fix_check;
mod options;
mod revision_project;
mod rules;
mod sarif;
mod suppress;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

pub(crate) use analysers::is_analyser;
pub use baseline::{BASELINE, Baseline, BaselineError};
pub use fix_check::{FixError, check_fix};
pub use options::{ChangeAuthor, ChangeOrigin, CheckOptions, IgnoredPaths, SuppressionOrigin};
use revision_project::RevisionProject;
use serde::de::DeserializeOwned;

use crate::assignment::{Assignment, DiffPart};
use crate::change_under_review::ChangeUnderReview;
use crate::runs::{RunEnd, RunRecord, milliseconds};
use crate::scope::{ScopeDecision, ScopeFile, SkipReason};
use crate::tools::ToolError;
use crate::workspace::{Workspace, WorkspaceComment, WorkspaceThread};
use crh_lint::{
    AddedLine, ChangeView, ChangedFile, Project, StaticFinding, StaticOutput, StaticRun, injection,
};
use crh_review::diff::{Content, Diff, FileChange, FileDiff, LineKind, RepoPath};
use crh_review::finding::{Member, Origin};
use crh_review::report::{CoverageState, DroppedFinding, Fate, FileCoverage};

/// Name of the check for instructions to the reviewer.
pub(crate) const INJECTION: &str = "injection";
/// Name of the check for credentials.
pub(crate) const SECRETS: &str = "secrets";
/// Why a file that static checks read only in part is not fully reviewed.
pub(crate) const NOT_ALL_CHECKS_RAN: &str = "not all static checks ran";
/// Checks that list or search the whole repository.
const REPOSITORY_CHECKS: [&str; 2] = ["references", "consistency"];

/// Maximum number of findings per check. More of them mostly come from generated code. The most
/// severe ones are kept.
const FINDINGS_MAX: usize = 50;

/// Git modes of regular files. Symlinks and submodules count as files without lines.
const FILE_MODES: [u32; 2] = [0o100_644, 0o100_755];

/// Runs all built-in checks and imports SARIF files. A failed check has a record too.
pub fn run_checks(subject: &ChangeUnderReview, options: &CheckOptions) -> Vec<RunRecord> {
    let CheckedFiles { in_scope, all: all_files } = checked_files(subject);
    let revisions = subject.tool_context.repository();
    let repository = revisions
        .as_ref()
        .ok()
        .map(|revisions| RevisionProject::new(revisions, subject.tool_context.stop()));
    let project = repository.as_ref().map(|repository| repository as &dyn Project);
    let change = ChangeView::new(&in_scope, &all_files, project);
    let round = subject.workspace().ok().and_then(|workspace| workspace.latest());
    let patterns = revisions
        .as_ref()
        .map(|revisions| rules::patterns_for_change(revisions, options.change_origin, round));
    let (patterns, rule_notes) = patterns.unwrap_or_default();
    let parts: Vec<DiffPart> = in_scope.iter().map(|file| DiffPart::whole(&file.path)).collect();
    let (runs, injection) = std::thread::scope(|scope| {
        let runs = scope.spawn(|| crh_lint::review(&change, &patterns));
        let injection = injection_run(subject, parts, &all_files);
        (runs.join(), injection)
    });
    // Each check catches its own panics. A panic that arrives here is a bug in the code that runs
    // the checks.
    let runs = runs.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let no_repository = match &revisions {
        Ok(_) => None,
        Err(ToolError::TellModel(why) | ToolError::Abort(why)) => Some(why),
    };
    let unread_files: BTreeMap<String, String> = match no_repository {
        None => runs.iter().flat_map(|run| run.skipped_files.iter().cloned()).collect(),
        Some(_) => BTreeMap::new(),
    };
    let mut records: Vec<RunRecord> =
        runs.into_iter().map(|run| record_from_run(run, no_repository)).collect();
    if let Some(why) = repository.as_ref().and_then(RevisionProject::failure) {
        records.iter_mut().for_each(|record| mark_repository_unread(record, why));
    }
    for record in records.iter_mut().filter(|record| record.assignment.name == "patterns") {
        record.notes.extend(rule_notes.iter().cloned());
    }
    let secrets = records.iter_mut().find(|record| record.assignment.name == SECRETS);
    secrets.into_iter().for_each(|record| scan_skipped_files(record, subject, &all_files, project));
    records.extend(sarif::records(&change, options));
    suppress::suppress(&mut records, &all_files, project, options);
    records.iter_mut().for_each(cap_findings);
    records.push(injection);
    records.iter_mut().for_each(|record| mark_partly_read(record, &unread_files));
    records
}

/// Marks files as partly reviewed in the record of a check that lists or searches the repository.
/// Call it if listing or searching failed.
fn mark_repository_unread(record: &mut RunRecord, why: &str) {
    if !REPOSITORY_CHECKS.contains(&record.assignment.name.as_str()) {
        return;
    }
    for file in &mut record.coverage {
        if file.state == CoverageState::Reviewed {
            file.state = CoverageState::Truncated;
            file.reason = format!("{NOT_ALL_CHECKS_RAN}: {why}");
        }
    }
}

/// Marks files in a record as partly reviewed if any check could not read them.
fn mark_partly_read(record: &mut RunRecord, unread_files: &BTreeMap<String, String>) {
    for file in &mut record.coverage {
        if let (CoverageState::Reviewed, Some(why)) = (file.state, unread_files.get(&file.path)) {
            file.state = CoverageState::Truncated;
            file.reason.clone_from(why);
        }
    }
}

/// Searches skipped files for credentials, since credentials leak from such files too. That includes
/// files that a setting excludes: the setting may be part of the change, or not be committed. Files
/// that an earlier review covered are not searched.
fn scan_skipped_files(
    record: &mut RunRecord,
    subject: &ChangeUnderReview,
    all: &[ChangedFile],
    project: Option<&dyn Project>,
) {
    let is_scanned = |file: &ScopeFile| match &file.decision {
        ScopeDecision::Out(SkipReason::ReviewedBefore { .. }) => false,
        ScopeDecision::In | ScopeDecision::Out(_) => !file.is_checked(),
    };
    let scoped = subject.scope.files.iter().zip(all).filter(|(scoped, _)| is_scanned(scoped));
    let files: Vec<ChangedFile> = scoped.map(|(_, file)| file.clone()).collect();
    if record.ended != RunEnd::Completed || files.is_empty() {
        return;
    }
    let skipped_files_run =
        run_check(SECRETS, Vec::new(), || crh_lint::secrets::review_excluded(&files, project));
    record.members.extend(skipped_files_run.members);
    record.notes.extend(skipped_files_run.notes);
    if let Some(why) = skipped_files_run.ended.failure() {
        record.ended = RunEnd::Failed(why.to_owned());
    }
    record.took_ms += skipped_files_run.took_ms;
}

/// Runs the installed analysers. They may take long, so the other checks do not wait for them.
pub(crate) fn run_analysers(subject: &ChangeUnderReview, options: &CheckOptions) -> Vec<RunRecord> {
    let Ok(revisions) = subject.tool_context.repository() else { return Vec::new() };
    let CheckedFiles { in_scope, all: all_files } = checked_files(subject);
    let repository = RevisionProject::new(revisions, subject.tool_context.stop());
    let change = ChangeView::new(&in_scope, &all_files, Some(&repository));
    let mut records = analysers::run_planned(options.analysers.as_deref(), &change);
    suppress::suppress(&mut records, &all_files, Some(&repository), options);
    records.iter_mut().for_each(cap_findings);
    records
}

/// Drops surplus findings after suppression. The most severe findings stay, since the verdict
/// depends on them.
fn cap_findings(record: &mut RunRecord) {
    let surplus_count = record.members.len().saturating_sub(FINDINGS_MAX);
    if surplus_count == 0 {
        return;
    }
    record.members.sort_by_key(|member| member.finding.severity);
    let surplus = record.members.split_off(FINDINGS_MAX);
    record.dropped.extend(surplus.into_iter().map(|member| {
        DroppedFinding::new(
            member,
            Fate::OverCap,
            format!("over the limit of {FINDINGS_MAX} findings per reviewer"),
        )
    }));
    let s = if surplus_count == 1 { "" } else { "s" };
    record.notes.push(format!("{surplus_count} more finding{s} over the limit of {FINDINGS_MAX}"));
}

/// Searches files and texts for prompt injection. If a text cannot be read, it may contain an
/// injection. The run then fails, since with only a note the review could still pass.
fn injection_run(
    subject: &ChangeUnderReview,
    parts: Vec<DiffPart>,
    files: &[ChangedFile],
) -> RunRecord {
    let mut read_errors = Vec::new();
    let mut record = run_check(INJECTION, parts, || {
        let (texts, errors) = match subject.workspace() {
            Ok(workspace) => change_texts::change_texts(workspace, &subject.untracked),
            Err(ToolError::TellModel(why) | ToolError::Abort(why)) => (Vec::new(), vec![why]),
        };
        read_errors = errors;
        injection::review_until(&texts, files, &|| subject.tool_context.check_stopped().is_err())
    });
    if record.ended == RunEnd::Completed && !read_errors.is_empty() {
        record.ended = RunEnd::Failed(format!("unreadable: {}", read_errors.join("; ")));
    }
    record
}

/// Runs one check and catches its panics.
fn run_check(name: &str, parts: Vec<DiffPart>, review: impl FnOnce() -> StaticOutput) -> RunRecord {
    let began = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(review));
    let mut record = match outcome {
        Ok(output) => new_record(assignment(name, parts), output),
        Err(_) => RunRecord::failed(assignment(name, parts), "it crashed"),
    };
    record.took_ms = milliseconds(began.elapsed());
    record
}

/// Converts a run of a built-in check or an analyser. Without a repository, all skipped files have
/// the same reason.
fn record_from_run(run: StaticRun, no_repository: Option<&String>) -> RunRecord {
    let assignment = assignment(run.name, run.files.iter().map(DiffPart::whole).collect());
    let mut record = match run.outcome {
        Ok(output) => new_record(assignment, output),
        Err(why) => RunRecord::failed(assignment, why),
    };
    let skipped_files = run.skipped_files.into_iter();
    let reasons: BTreeMap<String, String> =
        skipped_files.map(|(path, why)| (path, no_repository.cloned().unwrap_or(why))).collect();
    let parse_failures: BTreeMap<String, String> = run.partly_checked_files.into_iter().collect();
    for file in &mut record.coverage {
        if let Some(why) = parse_failures.get(&file.path) {
            file.state = CoverageState::Truncated;
            file.reason = format!("{NOT_ALL_CHECKS_RAN}: {why}");
        }
        if let Some(why) = reasons.get(&file.path) {
            file.state = CoverageState::NotReviewed;
            file.reason.clone_from(why);
        }
    }
    let is_unread = |file: &FileCoverage| file.state == CoverageState::NotReviewed;
    let has_run = record.ended != RunEnd::Completed
        || record.coverage.is_empty()
        || !record.coverage.iter().all(is_unread);
    record.not_run = no_repository.filter(|_| !has_run).cloned();
    if record.not_run.is_none() {
        let notes = reasons.iter().map(|(path, why)| format!("`{path}` was not checked: {why}"));
        record.notes.extend(notes);
    }
    record.took_ms = milliseconds(run.duration);
    record
}

fn assignment(name: &str, parts: Vec<DiffPart>) -> Assignment {
    Assignment {
        name: name.to_owned(),
        reviewer: name.to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts,
    }
}

fn new_record(assignment: Assignment, output: StaticOutput) -> RunRecord {
    let coverage = assignment.parts.iter().map(|part| FileCoverage {
        path: part.path.clone(),
        state: CoverageState::Reviewed,
        reason: String::new(),
    });
    let coverage = coverage.collect();
    let member = |StaticFinding { rule, finding }: StaticFinding| Member {
        origin: Origin::Code,
        rule: Some(rule),
        ..Member::new(&assignment.name, finding)
    };
    let members = output.findings.into_iter().map(member).collect();
    RunRecord { members, coverage, notes: output.notes, ..RunRecord::new(assignment) }
}

/// Files of a change for static checks.
#[derive(Default)]
struct CheckedFiles {
    in_scope: Vec<ChangedFile>,
    /// All files of the diff, in its order.
    all: Vec<ChangedFile>,
}

/// The lines of a file that git calls binary come from its decoded text. A file that comes into use
/// (its new path or mode lets it run) counts as new: all of its lines are added.
fn checked_files(subject: &ChangeUnderReview) -> CheckedFiles {
    let repository = subject.tool_context.repository().ok();
    let project =
        repository.map(|revisions| RevisionProject::new(revisions, subject.tool_context.stop()));
    let mut files = CheckedFiles::default();
    for (scoped, file) in subject.scope.files.iter().zip(subject.diff.files()) {
        let mut changed = changed_file(&subject.diff, file);
        if let (Content::Binary, Some(project)) = (file.content, &project) {
            changed.added = decoded_text::added_lines(project, &changed);
        }
        if project.is_some() {
            // Checks read unchanged lines from the repository.
            changed.unchanged = Vec::new();
        }
        let project = project.as_ref().filter(|_| scoped.comes_into_use());
        if let Some(added) = project.and_then(|project| decoded_text::all_lines(project, &changed))
        {
            changed = ChangedFile {
                path: changed.path.clone(),
                has_lines: true,
                added,
                in_diff: Some(Box::new(changed)),
                ..ChangedFile::default()
            };
        }
        files.in_scope.extend(scoped.is_checked().then(|| changed.clone()));
        files.all.push(changed);
    }
    files
}

/// A file with the lines that the diff shows.
fn changed_file(diff: &Diff, file: &FileDiff) -> ChangedFile {
    let (mut added, mut unchanged) = (Vec::new(), Vec::new());
    let (mut removed, mut removed_numbers) = (Vec::new(), Vec::new());
    for line in file.hunks.iter().flat_map(|hunk| diff.lines(hunk)) {
        match line.kind {
            LineKind::Added => {
                added.push(AddedLine { number: line.new, text: line.text().to_vec() });
            }
            LineKind::Removed => {
                removed.push(line.text().to_vec());
                removed_numbers.push(line.old);
            }
            LineKind::Context => {
                unchanged.push(AddedLine { number: line.new, text: line.text().to_vec() });
            }
            LineKind::Remark => {}
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
        old_path: old_path(file).map(|path| path.shown().into_owned()),
        is_deleted,
        has_lines,
        added,
        unchanged,
        removed,
        removed_line_numbers: removed_numbers,
        in_diff: None,
    }
}

/// Old path of the file, if it was a regular file before the change.
fn old_path(file: &FileDiff) -> Option<&RepoPath> {
    let existed = match file.change {
        FileChange::Added => false,
        FileChange::Deleted | FileChange::Modified | FileChange::Renamed | FileChange::Copied => {
            true
        }
    };
    let path = file.old_path.as_ref().unwrap_or(&file.path);
    Some(path).filter(|_| existed && has_lines(file.old_mode))
}

fn has_lines(mode: Option<u32>) -> bool {
    mode.is_none_or(|mode| FILE_MODES.contains(&mode))
}

/// Comments on all versions of the change, without repetitions.
pub(crate) fn comments(workspace: &Workspace, notes: &mut Vec<String>) -> Vec<WorkspaceComment> {
    let mut comments: Vec<WorkspaceComment> = Vec::new();
    for round in workspace.rounds() {
        let folder = format!("preview-diffs/{}/comments", round.id);
        let general: Vec<WorkspaceComment> =
            read_json(workspace, &format!("{folder}/general.json"), notes);
        let threads: Vec<WorkspaceThread> =
            read_json(workspace, &format!("{folder}/threads.json"), notes);
        let inline = workspace.inline_comments(&round.id).unwrap_or_else(|why| {
            notes.push(why.to_string());
            Default::default()
        });
        comments.extend(general);
        comments.extend(inline.into_values().flatten());
        comments.extend(threads.into_iter().flat_map(|thread| thread.replies));
    }
    let mut seen = BTreeSet::new();
    comments.retain(|comment| seen.insert((comment.id.clone(), comment.content.clone())));
    comments
}

/// Reads a JSON file of the workspace. On an error, adds a note and returns the default.
fn read_json<T: DeserializeOwned + Default>(
    workspace: &Workspace,
    path: &str,
    notes: &mut Vec<String>,
) -> T {
    let bytes = workspace.bytes(path).map_err(|why| why.to_string());
    let parsed = bytes
        .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|why| format!("`{path}`: {why}")));
    parsed.unwrap_or_else(|why| {
        notes.push(why);
        T::default()
    })
}
