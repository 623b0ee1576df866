//! `crh merge`: merges the output of reviewers into one report. The JSON output of one reviewer is
//! called its return.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Deserializer, Value};

use super::render::print_report;
use crate::cli::{DialectArg, MergeArgs};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{input, ui};
use crh_os::names::canonical;
use crh_pipeline::assemble::mask;
use crh_pipeline::change_secrets::ChangeSecrets;
use crh_review::diff::{Content, Diff};
use crh_review::finding::{Member, Origin, Side};
use crh_review::identity::{ReviewKey, content_id, review_id};
use crh_review::report::{
    CoverageState, Fate, FileCoverage, Report, ReviewerRow, RunOutcome, SCHEMA_VERSION, Scope,
    Status,
};
use crh_review::verdict::CommandKind;
use crh_review::{
    Dialect, Judgement, PastDecisions, ReviewerReturn, Sources, StrictJson, apply_judgements,
    consolidate, drop_diff_prefixes, into_report, json_problem, parse_return_value,
};

const FOLDERS_HINT: &str = "`--new` and `--old` must be folders with the files of the change";

/// Maximum malformed findings to list per reviewer.
const MALFORMED_SHOWN: usize = 10;

/// Answers of a model to the questions of an earlier merge.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MergeAnswers {
    same: BTreeSet<String>,
    judgements: BTreeMap<String, Judgement>,
}

pub(crate) fn run(args: MergeArgs, environment: &Environment) -> Result<(), Failure> {
    let inputs = args.returns.iter().chain([&args.diff]).chain(&args.answers);
    if inputs.filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::usage("standard input can be read only once")
            .hint("pass the diff or the reviewer output as a file"));
    }
    let answers = read_answers(args.answers.as_deref())?;
    let diff = input::diff(&args.diff)?;
    if diff.files().is_empty() {
        return Err(Failure::usage(format!(
            "nothing to review in {}",
            input::display_name(&args.diff)
        ))
        .hint("`git diff` printed nothing; check which revisions it compared"));
    }
    // Stored returns contain numbered placeholders instead of secrets. The secrets of the diff
    // restore the text before the merge and mask the report afterwards.
    let credentials = ChangeSecrets::from_diff(&diff);
    let mut report = initial_report(&diff);
    let mut members = Vec::new();
    for path in &args.returns {
        for parsed in read_returns(path, &diff, &credentials, &args)? {
            members.extend(add_return(&mut report, parsed));
        }
    }
    if report.reviewers.iter().all(|reviewer| reviewer.outcome == RunOutcome::Failed) {
        report.status = Status::Error;
        mark_not_reviewed(&mut report);
    }
    // The result must not depend on the order of the files.
    report.reviewers.sort_by(|a, b| (&a.name, &a.note).cmp(&(&b.name, &b.note)));
    report.residual_risks.sort();
    report.testing_gaps.sort();
    drop_diff_prefixes(&mut members, &diff, |path| {
        [&args.old, &args.new].into_iter().flatten().any(|folder| folder.join(path).is_file())
    });
    let sources = load_sources(diff, &members, &args)?;
    let merged = consolidate(members, &sources, &PastDecisions::default(), &answers.same);
    if merged.unlisted_pairs > 0 {
        let count = merged.unlisted_pairs;
        report
            .warnings
            .push(format!("{count} more pairs of issues may be duplicates; they are not merged"));
    }
    for key in answers.judgements.keys() {
        if !merged.issues.iter().any(|issue| issue.dedupe_key == *key) {
            ui::warn(&format!(
                "`--answers` has a judgement on `{key}`, which is not the `dedupe_key` of an issue here"
            ));
        }
    }
    for pair in &merged.candidate_pairs {
        ui::note(&format!(
            "pair {}: \"{}\" and \"{}\" in `{}` may be duplicates; merge them with `--answers`",
            pair.id, pair.left.title, pair.right.title, pair.file
        ));
    }
    let merged = apply_judgements(merged, &answers.judgements);
    let report = into_report(report, merged, CommandKind::Review, args.max_issues);
    let report = mask(report, &credentials);
    print_report(&report, Some(sources.diff()), args.output, environment)
}

fn read_answers(path: Option<&Path>) -> Result<MergeAnswers, Failure> {
    let Some(path) = path else { return Ok(MergeAnswers::default()) };
    input::json(path, "an answers file").map_err(|failure| {
        failure
            .hint("`crh merge --help` shows the format; the report of `crh merge` contains the ids")
    })
}

/// Marks all files that count as reviewed as not reviewed, because all reviewers failed.
fn mark_not_reviewed(report: &mut Report) {
    report.files_reviewed.clear();
    for file in report.coverage.iter_mut().filter(|file| file.state == CoverageState::Reviewed) {
        file.state = CoverageState::NotReviewed;
        file.reason = "all reviewers failed".to_owned();
    }
}

/// The report before merging, from the diff alone.
fn initial_report(diff: &Diff) -> Report {
    let head_sha = content_id(diff.raw());
    let review_id = review_id(&ReviewKey { head_sha: &head_sha, ..ReviewKey::default() });
    let unreadable: BTreeSet<usize> =
        diff.problems().iter().filter_map(|problem| diff.file_at(problem.line)).collect();
    let coverage: Vec<FileCoverage> = diff
        .files()
        .iter()
        .enumerate()
        .map(|(index, file)| {
            let (state, reason) = match file.content {
                Content::Binary => (CoverageState::OutOfScope, "binary"),
                Content::Unsupported => (CoverageState::NotReviewed, "unsupported diff format"),
                Content::Text if unreadable.contains(&index) => {
                    (CoverageState::Truncated, "part of its diff cannot be parsed")
                }
                Content::Text => (CoverageState::Reviewed, ""),
            };
            let path = file.path.shown().into_owned();
            FileCoverage { path, state, reason: reason.to_owned() }
        })
        .collect();
    let reviewed_paths: BTreeSet<String> = coverage
        .iter()
        .filter(|file| file.state == CoverageState::Reviewed)
        .map(|file| file.path.clone())
        .collect();
    let problem = |problem: &crh_review::diff::DiffProblem| format!("in the diff, {problem}");
    // A problem before the first file belongs to no file.
    let has_problem_outside_files =
        diff.problems().iter().any(|problem| diff.file_at(problem.line).is_none());
    Report {
        schema_version: SCHEMA_VERSION,
        status: if has_problem_outside_files { Status::Truncated } else { Status::Ok },
        run_id: review_id.clone(),
        review_id,
        scope: Scope {
            files: u32::try_from(diff.files().len()).unwrap_or(u32::MAX),
            additions: diff.files().iter().map(|file| file.additions).sum(),
            deletions: diff.files().iter().map(|file| file.deletions).sum(),
            ..Scope::default()
        },
        warnings: diff.problems().iter().map(problem).collect(),
        files_reviewed: reviewed_paths.into_iter().collect(),
        coverage,
        ..Report::default()
    }
}

/// A parsed return, or the row of a reviewer whose return cannot be read.
type ReturnResult = Result<ReviewerReturn, ReviewerRow>;

/// Reads the returns of a file: one JSON value, an array, or JSON Lines.
fn read_returns(
    path: &Path,
    diff: &Diff,
    credentials: &ChangeSecrets,
    args: &MergeArgs,
) -> Result<Vec<ReturnResult>, Failure> {
    let bytes = input::bytes(path)?;
    let reviewer =
        args.reviewer.clone().unwrap_or_else(|| reviewer_name_from_file(path, &args.returns));
    let mut returns = Vec::new();
    for value in Deserializer::from_slice(&bytes).into_iter::<StrictJson>() {
        match value {
            Ok(StrictJson(Value::Array(values))) => returns.extend(values.into_iter().map(Ok)),
            Ok(StrictJson(value)) => returns.push(Ok(value)),
            Err(error) => returns.push(Err(format!("invalid JSON: {}", json_problem(&error)))),
        }
    }
    if returns.is_empty() {
        returns.push(Err("no reviewer output in it".to_owned()));
    }
    returns
        .into_iter()
        .map(|value| {
            let parsed = value.and_then(|value| {
                let mut value = credentials.restore_if_numbered(value);
                match args.dialect {
                    DialectArg::Crh => add_missing_paths(&mut value, diff),
                    DialectArg::Native | DialectArg::Agent | DialectArg::Ce => {}
                }
                parse_return_value(value, dialect(args.dialect), &reviewer).map_err(|e| e.to_string())
            });
            match parsed {
                Ok(parsed) => Ok(Ok(with_reviewer_name(parsed, args.reviewer.as_deref()))),
                Err(note) if args.keep_going => Ok(Err(failed_reviewer(&reviewer, note))),
                Err(note) => {
                    Err(Failure::usage(format!("{}: {note}", input::display_name(path))).hint(format!(
                        "`crh schema {}` prints the format; `--dialect` selects another format; `--keep-going` counts this file as a failed reviewer and continues",
                        schema_name(args.dialect)
                    )))
                }
            }
        })
        .collect()
}

/// Adds the path to findings that only cite a line of the numbered diff.
fn add_missing_paths(value: &mut Value, diff: &Diff) {
    let findings = value.get_mut("findings").and_then(Value::as_array_mut);
    for finding in findings.into_iter().flatten().filter_map(Value::as_object_mut) {
        let line = finding.get("line").and_then(Value::as_u64);
        let line = line.and_then(|line| u32::try_from(line).ok());
        let located = line.and_then(|line| diff.locate(line));
        if let (Some((file, _)), false) = (located, finding.contains_key("path")) {
            finding.insert("path".to_owned(), file.path.shown().into());
        }
    }
}

/// Reviewer name for a return without one: the file name, or the path if several files share the
/// name.
fn reviewer_name_from_file(path: &Path, all_paths: &[PathBuf]) -> String {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = stem(path).filter(|name| name != "-").unwrap_or_else(|| "reviewer".to_owned());
    let files_with_name =
        all_paths.iter().filter(|other| stem(other).as_ref() == Some(&name)).count();
    if files_with_name > 1 { path.display().to_string() } else { name }
}

fn schema_name(dialect: DialectArg) -> &'static str {
    match dialect {
        DialectArg::Native => "return",
        DialectArg::Crh => "return-crh",
        DialectArg::Agent => "return-agent",
        DialectArg::Ce => "return-ce",
    }
}

/// Applies `--reviewer`, which overrides the name in the return.
fn with_reviewer_name(mut parsed: ReviewerReturn, reviewer: Option<&str>) -> ReviewerReturn {
    if let Some(name) = reviewer {
        name.clone_into(&mut parsed.reviewer);
        parsed.members.iter_mut().for_each(|member| name.clone_into(&mut member.reviewer));
        parsed.dropped.iter_mut().for_each(|dropped| name.clone_into(&mut dropped.reviewer));
    }
    parsed
}

fn failed_reviewer(reviewer: &str, note: String) -> ReviewerRow {
    let (name, why) = (reviewer.to_owned(), String::new());
    ReviewerRow { name, origin: Origin::Model, why, outcome: RunOutcome::Failed, note }
}

fn dialect(dialect: DialectArg) -> Dialect {
    match dialect {
        DialectArg::Native => Dialect::Native,
        DialectArg::Crh => Dialect::Crh,
        DialectArg::Agent => Dialect::Agent,
        DialectArg::Ce => Dialect::Ce,
    }
}

/// Adds a reviewer's return to the report, except for its usable findings. Returns those.
fn add_return(report: &mut Report, result: ReturnResult) -> Vec<Member> {
    let parsed = match result {
        Ok(parsed) => parsed,
        Err(row) => {
            ui::warn(&format!("reviewer {} failed: {}", row.name, row.note));
            report.status = Status::Degraded;
            report.reviewers.push(row);
            return Vec::new();
        }
    };
    let add = |list: &mut Vec<String>, items: Vec<String>| {
        for item in items {
            if !list.contains(&item) {
                list.push(item);
            }
        }
    };
    add(&mut report.residual_risks, parsed.residual_risks);
    add(&mut report.testing_gaps, parsed.testing_gaps);
    let malformed = parsed.dropped.iter().filter(|dropped| dropped.fate == Fate::Malformed);
    let (listed, rest): (Vec<_>, Vec<_>) =
        malformed.enumerate().partition(|(index, _)| *index < MALFORMED_SHOWN);
    for (_, dropped) in listed {
        let (reviewer, reason) = (&dropped.reviewer, &dropped.reason);
        ui::warn(&format!("reviewer {reviewer}: {reason}; crh leaves this finding out"));
    }
    if !rest.is_empty() {
        ui::warn(&format!("reviewer {}: {} more findings like these", parsed.reviewer, rest.len()));
    }
    report.suppressed.extend(parsed.dropped);
    report.reviewers.push(ReviewerRow {
        name: parsed.reviewer,
        origin: Origin::Model,
        why: String::new(),
        outcome: RunOutcome::Completed,
        note: parsed.summary,
    });
    parsed.members
}

/// The diff, and the cited files that can be read from `--new` and `--old`.
fn load_sources(diff: Diff, members: &[Member], args: &MergeArgs) -> Result<Sources, Failure> {
    let mut sources = Sources::new(diff);
    let mut cited_paths: BTreeSet<String> = BTreeSet::new();
    for Member { finding, .. } in members {
        let quoted_paths = finding.evidence.iter().filter_map(|piece| piece.file.as_deref());
        cited_paths.extend(
            quoted_paths.chain([finding.file.as_str()]).map(|path| sources.current_path(path)),
        );
    }
    for (side, folder) in [(Side::Old, &args.old), (Side::New, &args.new)] {
        let Some(folder) = folder else { continue };
        let root = canonical(folder)
            .with_context(|| format!("cannot open the folder `{}`", folder.display()))
            .or_fail(FailureKind::Usage)
            .map_err(|failure| failure.hint(FOLDERS_HINT))?;
        if !root.is_dir() {
            let message = format!("`{}` is not a folder", folder.display());
            return Err(Failure::usage(message).hint(FOLDERS_HINT));
        }
        for path in &cited_paths {
            let Some(text) = file_within(&root, &path_on_side(side, path, sources.diff())) else {
                continue;
            };
            match first_difference(sources.diff(), side, path, &text) {
                None => sources = sources.with_file(side, path, text),
                Some(line) => ui::warn(&format!(
                    "ignoring `{path}` in `{}`: line {line} differs from the diff",
                    folder.display()
                )),
            }
        }
    }
    Ok(sources)
}

/// Path of a file on one side; a renamed file has another old path.
fn path_on_side(side: Side, path: &str, diff: &Diff) -> String {
    let file = diff.files().iter().find(|file| file.path.shown() == path);
    let old_path = file.and_then(|file| file.old_path.as_ref());
    match (side, old_path) {
        (Side::Old, Some(old)) => old.shown().into_owned(),
        (Side::Old | Side::New, _) => path.to_owned(),
    }
}

/// Reads a file inside a folder, if possible. The path comes from a reviewer, so paths and symlinks
/// that leave the folder are rejected.
fn file_within(root: &Path, path: &str) -> Option<Vec<u8>> {
    let file = canonical(root.join(path)).ok()?;
    let is_inside = file.starts_with(root) && file.is_file();
    is_inside.then(|| input::bytes(&file)).and_then(Result::ok)
}

/// The first line of a file that differs from the diff.
fn first_difference(diff: &Diff, side: Side, path: &str, text: &[u8]) -> Option<u32> {
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let files = diff.files().iter().filter(|file| file.path.shown() == path);
    let diff_lines = files.flat_map(|file| &file.hunks).flat_map(|hunk| diff.lines(hunk));
    let differs = |number: u32, expected: &[u8]| {
        let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        index.and_then(|index| lines.get(index)).is_none_or(|line| *line != expected)
    };
    diff_lines
        .map(|line| (if side == Side::New { line.new } else { line.old }, line.text()))
        .find(|(number, text)| *number > 0 && differs(*number, text))
        .map(|(number, _)| number)
}
