//! `crh merge`: what reviewers returned, merged into one report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Deserializer, Value};

use super::render::show;
use crate::cli::{DialectArg, MergeArgs};
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crate::{input, ui};
use crh_pipeline::assemble::mask;
use crh_pipeline::credentials::Credentials;
use crh_review::diff::{Content, Diff};
use crh_review::finding::{Member, Origin, Side};
use crh_review::identity::{ReviewKey, content_id, review_id};
use crh_review::report::{
    CoverageState, Fate, FileCoverage, Report, ReviewerRow, RunOutcome, SCHEMA_VERSION, Scope,
    Status,
};
use crh_review::verdict::Asked;
use crh_review::{
    Dialect, Judgement, Parsed, Remembered, Sources, Strict, conclude, consolidate, into_report,
    read_return,
};

const FOLDERS_HINT: &str = "`--new` and `--old` take folders that hold the files of the change";

/// After so many malformed findings of one reviewer, the next one tells a person nothing new.
const MALFORMED_SAID: usize = 10;

/// What a model answered to the questions of an earlier merge.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Answers {
    same: BTreeSet<String>,
    judgements: BTreeMap<String, Judgement>,
}

pub(crate) fn run(args: MergeArgs, environment: &Environment) -> Result<(), Failure> {
    let inputs = args.returns.iter().chain([&args.diff]).chain(&args.answers);
    if inputs.filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::usage("standard input can be read only once")
            .hint("give the diff or the returns as files"));
    }
    let answers = answers(args.answers.as_deref())?;
    let diff = input::diff(&args.diff)?;
    if diff.files().is_empty() {
        return Err(Failure::usage(format!(
            "there is nothing to review in {}",
            input::name(&args.diff)
        ))
        .hint("`git diff` printed nothing: check what it compared"));
    }
    // What a run folder has of a return was stored without them.
    let credentials = Credentials::of(&diff);
    let mut report = started(&diff);
    let mut members = Vec::new();
    for path in &args.returns {
        for parsed in returns(path, &credentials, &args)? {
            members.extend(take_in(&mut report, parsed));
        }
    }
    if report.reviewers.iter().all(|row| row.outcome == RunOutcome::Failed) {
        report.status = Status::Error;
    }
    // The order in which files are named is of no consequence.
    report.reviewers.sort_by(|a, b| (&a.name, &a.note).cmp(&(&b.name, &b.note)));
    report.residual_risks.sort();
    report.testing_gaps.sort();
    let sources = sources(diff, &members, &args)?;
    let merged = consolidate(members, &sources, &Remembered::default(), &answers.same);
    if merged.unlisted_pairs > 0 {
        let more = merged.unlisted_pairs;
        report.warnings.push(format!("{more} more pairs of issues may be one; they stay apart"));
    }
    for key in answers.judgements.keys() {
        if !merged.issues.iter().any(|issue| issue.dedupe_key == *key) {
            ui::warn(&format!("the answers judge `{key}`, which is no issue of this merge"));
        }
    }
    for pair in &merged.candidate_pairs {
        ui::note(&format!(
            "pair {}: \"{}\" and \"{}\" in `{}` may be one issue; `--answers` joins them",
            pair.id, pair.left.title, pair.right.title, pair.file
        ));
    }
    let merged = conclude(merged, &answers.judgements);
    let report = into_report(report, merged, Asked::Review, args.max_issues);
    let report = mask(report, &credentials);
    show(&report, Some(sources.diff()), args.shown, environment)
}

fn answers(path: Option<&Path>) -> Result<Answers, Failure> {
    let Some(path) = path else { return Ok(Answers::default()) };
    input::json(path, "a file of answers").map_err(|failure| {
        failure.hint("`crh merge --help` shows the form; ids are in the report of `crh merge`")
    })
}

/// The report before anything was merged: what is known from the diff alone.
fn started(diff: &Diff) -> Report {
    let head_sha = content_id(diff.raw());
    let review_id = review_id(&ReviewKey { head_sha: &head_sha, ..ReviewKey::default() });
    let unreadable: BTreeSet<usize> =
        diff.problems().iter().filter_map(|problem| diff.file_at(problem.line)).collect();
    let coverage: Vec<FileCoverage> = diff
        .files()
        .iter()
        .enumerate()
        .map(|(at, file)| {
            let (state, reason) = match file.content {
                Content::Binary => (CoverageState::OutOfScope, "binary"),
                Content::Unsupported => {
                    (CoverageState::NotReviewed, "this form of diff cannot be read")
                }
                Content::Text if unreadable.contains(&at) => {
                    (CoverageState::Truncated, "a part of its diff cannot be read")
                }
                Content::Text => (CoverageState::Reviewed, ""),
            };
            let path = file.path.shown().into_owned();
            FileCoverage { path, state, reason: reason.to_owned() }
        })
        .collect();
    let reviewed: BTreeSet<String> = coverage
        .iter()
        .filter(|file| file.state == CoverageState::Reviewed)
        .map(|file| file.path.clone())
        .collect();
    let problem = |problem: &crh_review::diff::Problem| format!("the diff, {problem}");
    // Something unreadable before the first file is nobody's but the review's.
    let is_cut = diff.problems().iter().any(|problem| diff.file_at(problem.line).is_none());
    Report {
        schema_version: SCHEMA_VERSION,
        status: if is_cut { Status::Truncated } else { Status::Ok },
        run_id: review_id.clone(),
        review_id,
        scope: Scope {
            files: u32::try_from(diff.files().len()).unwrap_or(u32::MAX),
            additions: diff.files().iter().map(|file| file.additions).sum(),
            deletions: diff.files().iter().map(|file| file.deletions).sum(),
            ..Scope::default()
        },
        warnings: diff.problems().iter().map(problem).collect(),
        files_reviewed: reviewed.into_iter().collect(),
        coverage,
        ..Report::default()
    }
}

/// A return that was read, or the row of a reviewer whose return could not be.
type Taken = Result<Parsed, ReviewerRow>;

/// The returns in a file: one JSON value, an array of them, or one a line.
fn returns(
    path: &Path,
    credentials: &Credentials,
    args: &MergeArgs,
) -> Result<Vec<Taken>, Failure> {
    let bytes = input::bytes(path)?;
    let reviewer = args.reviewer.clone().unwrap_or_else(|| name_by_file(path, &args.returns));
    let mut returns = Vec::new();
    for value in Deserializer::from_slice(&bytes).into_iter::<Strict>() {
        match value {
            Ok(Strict(Value::Array(values))) => returns.extend(values.into_iter().map(Ok)),
            Ok(Strict(value)) => returns.push(Ok(value)),
            Err(error) => returns.push(Err(format!("this is not JSON: {error}"))),
        }
    }
    if returns.is_empty() {
        returns.push(Err("this is empty".to_owned()));
    }
    returns
        .into_iter()
        .map(|value| {
            let parsed = value.and_then(|value| {
                let value = credentials.restored_if_numbered(value);
                read_return(value, dialect(args.dialect), &reviewer).map_err(|e| e.to_string())
            });
            match parsed {
                Ok(parsed) => Ok(Ok(named(parsed, args.reviewer.as_deref()))),
                Err(note) if args.keep_going => Ok(Err(failed(&reviewer, note))),
                Err(note) => {
                    Err(Failure::usage(format!("{}: {note}", input::name(path))).hint(format!(
                        "`crh schema {}` prints the shape; `--dialect` reads others; \
                         `--keep-going` counts it as a failed reviewer",
                        schema_name(args.dialect)
                    )))
                }
            }
        })
        .collect()
}

/// The name of a reviewer whose return does not say it: the file's, or its whole path if two files share a name.
fn name_by_file(path: &Path, all: &[PathBuf]) -> String {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let own = stem(path).filter(|name| name != "-").unwrap_or_else(|| "reviewer".to_owned());
    let namesakes = all.iter().filter(|other| stem(other).as_ref() == Some(&own)).count();
    if namesakes > 1 { path.display().to_string() } else { own }
}

fn schema_name(dialect: DialectArg) -> &'static str {
    match dialect {
        DialectArg::Native => "return",
        DialectArg::Crh => "return-crh",
        DialectArg::Agent => "return-agent",
        DialectArg::Ce => "return-ce",
    }
}

/// A return under the name the user gave, which counts for more than the one it gives itself.
fn named(mut parsed: Parsed, reviewer: Option<&str>) -> Parsed {
    if let Some(name) = reviewer {
        name.clone_into(&mut parsed.reviewer);
        parsed.members.iter_mut().for_each(|member| name.clone_into(&mut member.reviewer));
        parsed.set_aside.iter_mut().for_each(|dropped| name.clone_into(&mut dropped.reviewer));
    }
    parsed
}

fn failed(reviewer: &str, note: String) -> ReviewerRow {
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

/// Puts what is not a finding into the report; returns the findings.
fn take_in(report: &mut Report, taken: Taken) -> Vec<Member> {
    let parsed = match taken {
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
    let malformed = parsed.set_aside.iter().filter(|dropped| dropped.fate == Fate::Malformed);
    let (said, rest): (Vec<_>, Vec<_>) =
        malformed.enumerate().partition(|(at, _)| *at < MALFORMED_SAID);
    for (_, dropped) in said {
        ui::warn(&format!("reviewer {}: {}", dropped.reviewer, dropped.reason));
    }
    if !rest.is_empty() {
        ui::warn(&format!("reviewer {}: {} more like these", parsed.reviewer, rest.len()));
    }
    report.suppressed.extend(parsed.set_aside);
    report.reviewers.push(ReviewerRow {
        name: parsed.reviewer,
        origin: Origin::Model,
        why: String::new(),
        outcome: RunOutcome::Completed,
        note: parsed.summary,
    });
    parsed.members
}

/// The diff, and the text of every file that a finding cites, as far as there are folders to read from.
fn sources(diff: Diff, members: &[Member], args: &MergeArgs) -> Result<Sources, Failure> {
    let mut sources = Sources::new(diff);
    let mut cited: BTreeSet<String> = BTreeSet::new();
    for Member { finding, .. } in members {
        let quoted = finding.evidence.iter().filter_map(|piece| piece.file.as_deref());
        cited.extend(quoted.chain([finding.file.as_str()]).map(|path| sources.current_path(path)));
    }
    for (side, folder) in [(Side::Old, &args.old), (Side::New, &args.new)] {
        let Some(folder) = folder else { continue };
        let root = folder
            .canonicalize()
            .with_context(|| format!("opening the folder `{}`", folder.display()))
            .or_fail(Kind::Usage)
            .map_err(|failure| failure.hint(FOLDERS_HINT))?;
        if !root.is_dir() {
            let message = format!("`{}` is not a folder", folder.display());
            return Err(Failure::usage(message).hint(FOLDERS_HINT));
        }
        for path in &cited {
            let Some(text) = file_within(&root, &path_on(side, path, sources.diff())) else {
                continue;
            };
            match first_difference(sources.diff(), side, path, &text) {
                None => sources = sources.with_file(side, path, text),
                Some(line) => ui::warn(&format!(
                    "line {line} of `{path}` in `{}` is not the diff's: the file is not used",
                    folder.display()
                )),
            }
        }
    }
    Ok(sources)
}

/// Where a file stands on one side: a renamed one had another path before.
fn path_on(side: Side, path: &str, diff: &Diff) -> String {
    let file = diff.files().iter().find(|file| file.path.shown() == path);
    let old = file.and_then(|file| file.old_path.as_ref());
    match (side, old) {
        (Side::Old, Some(old)) => old.shown().into_owned(),
        (Side::Old | Side::New, _) => path.to_owned(),
    }
}

/// The text of a file, if there is one that can be read. A reviewer chose the path, so it may name nothing outside
/// the folder, not even through a link, and a file that cannot be read is only one that cannot be quoted.
fn file_within(root: &Path, path: &str) -> Option<Vec<u8>> {
    let file = root.join(path).canonicalize().ok()?;
    let is_inside = file.starts_with(root) && file.is_file();
    is_inside.then(|| input::bytes(&file)).and_then(Result::ok)
}

/// The first line of a file that the diff shows otherwise.
fn first_difference(diff: &Diff, side: Side, path: &str, text: &[u8]) -> Option<u32> {
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let files = diff.files().iter().filter(|file| file.path.shown() == path);
    let shown = files.flat_map(|file| &file.hunks).flat_map(|hunk| diff.lines(hunk));
    let differs = |number: u32, shown: &[u8]| {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        at.and_then(|at| lines.get(at)).is_none_or(|line| *line != shown)
    };
    shown
        .map(|line| (if side == Side::New { line.new } else { line.old }, line.text()))
        .find(|(number, text)| *number > 0 && differs(*number, text))
        .map(|(number, _)| number)
}
