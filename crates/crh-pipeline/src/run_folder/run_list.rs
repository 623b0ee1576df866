//! Lists, finds and prunes run folders.
//!
//! Invariant: crh follows no symlink here. It deletes only folders with the name and the entries of
//! a run folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::Serialize;

use super::atomic_write::TEMP_PREFIX;
use super::stamp::{STAMP, StampKey};
use super::{
    FIXES, FolderError, IGNORE, LockAttempt, MARKDOWN, METADATA, REPORT, REVIEWERS, ROUNDS,
    RunFolder, RunMetadata, STAGES, TELEMETRY, TRANSCRIPTS, Timestamp, WORKSPACE, lock,
};
use crh_review::finding::Severity;
use crh_review::identity::is_key;
use crh_review::report::{Decimal, Report};
use crh_review::verdict::{Verdict, is_marked_incomplete};

/// Name for the newest run.
const LATEST: &str = "latest";
/// Known entries at the top of a run folder. A folder with any other entry is not deleted.
const KNOWN_ENTRIES: [&str; 11] = [
    IGNORE,
    STAMP,
    REPORT,
    MARKDOWN,
    METADATA,
    TELEMETRY,
    REVIEWERS,
    TRANSCRIPTS,
    ROUNDS,
    STAGES,
    WORKSPACE,
];
/// crh assumes that a review that has not finished after a day was interrupted.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many matching names an error lists.
const SHOWN_NAMES_MAX: usize = 3;

/// Parsed name of a run folder. Sorts by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunName {
    stamp: Timestamp,
    review_id: String,
    number: u32,
}

/// One run of `crh runs list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// Name of the run.
    pub run_id: String,
    /// When the run began.
    pub started_at: String,
    /// When the run finished. `None` if it was interrupted or is in progress.
    pub completed_at: Option<String>,
    /// `None` if there is no report.
    pub verdict: Option<Verdict>,
    /// Whether the review is incomplete.
    pub is_incomplete: bool,
    /// Number of open issues by severity, shown or hidden.
    pub issues: BTreeMap<Severity, usize>,
    /// How many of these issues are hidden.
    pub hidden_issues: usize,
    /// Cost in US dollars.
    pub cost_usd: Option<Decimal>,
    /// Title of the change.
    pub title: String,
    /// Whether the run has no valid stamp. Then crh does not read its files for this summary.
    pub is_foreign: bool,
    /// Why the report cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A run that [`find_run`] found.
#[derive(Debug)]
pub struct LocatedRun {
    /// Its folder.
    pub folder: RunFolder,
    /// Why newer folders were skipped, if the caller asked for the newest run.
    pub skipped: Vec<FolderError>,
}

/// Which run folders are trusted.
#[derive(Debug, Clone, Copy)]
pub enum RunTrust<'k> {
    /// Those that this key has stamped.
    Stamped(&'k StampKey),
    /// All, because the user named the folder that contains them.
    Named,
    /// None, because there is no key yet.
    Nothing,
}

/// How many of the newest runs to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsToKeep {
    /// Keep at least this many.
    Newest(usize),
    /// Prune even the newest run.
    NoMinimum,
}

/// Which ages may be pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgeLimit {
    /// Only runs older than this.
    Over(Duration),
    /// Runs of any age.
    Any,
}

impl RunName {
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (stamp, rest) = name.split_once('_')?;
        let (review_id, number) = match rest.split_once('-') {
            None => (rest, 1),
            Some((id, number)) => {
                let is_number = !number.starts_with(['0', '+']);
                (id, number.parse().ok().filter(|number| is_number && *number > 1)?)
            }
        };
        let stamp = Timestamp::parse(stamp)?;
        is_key(review_id).then(|| Self { stamp, review_id: review_id.to_owned(), number })
    }
}

impl RunTrust<'_> {
    /// Opens a run folder if it is trusted.
    pub fn open(self, path: &Path) -> Result<RunFolder, FolderError> {
        match self {
            Self::Stamped(key) => RunFolder::open_stamped(path, key),
            Self::Named => RunFolder::open(path),
            Self::Nothing => {
                let folder = RunFolder::open(path)?;
                Err(FolderError::Unstamped(folder.run_id()))
            }
        }
    }
}

/// Finds a run by its name, a prefix of its name, or `latest`. Without a name, returns the newest.
pub fn find_run(
    runs: &Path,
    wanted: Option<&str>,
    trust: RunTrust<'_>,
    now: Timestamp,
) -> Result<LocatedRun, FolderError> {
    let names = run_names(runs)?;
    let wanted = wanted.unwrap_or(LATEST);
    if wanted == LATEST {
        return newest_run(runs, names, trust, now);
    }
    // Every name matches an empty prefix. The user probably passed an unset shell variable.
    if wanted.is_empty() {
        return Err(FolderError::EmptyName);
    }
    let matching: Vec<&String> = names.iter().filter(|name| name.starts_with(wanted)).collect();
    let folder = match matching.as_slice() {
        // An exact match wins, since the name of a first run is a prefix of the name with `-2`.
        several if several.iter().any(|name| *name == wanted) => trust.open(&runs.join(wanted)),
        [name] => trust.open(&runs.join(name)),
        [] => Err(FolderError::Unknown { wanted: wanted.to_owned(), runs: runs.to_owned() }),
        several => {
            let names = several.iter().rev().take(SHOWN_NAMES_MAX).map(|name| format!("`{name}`"));
            let others = match several.len().saturating_sub(SHOWN_NAMES_MAX) {
                0 => None,
                1 => Some("1 other".to_owned()),
                more => Some(format!("{more} others")),
            };
            let names = names.chain(others).collect();
            Err(FolderError::Ambiguous { wanted: wanted.to_owned(), names })
        }
    };
    folder.map(|folder| LocatedRun { folder, skipped: Vec::new() })
}

/// The newest run that is trusted and has begun. A run whose name has a future time is used only if
/// there is no other run: the clock was wrong when the run was created. If no run is trusted and
/// has begun, returns the error of the newest folder.
fn newest_run(
    runs: &Path,
    names: Vec<String>,
    trust: RunTrust<'_>,
    now: Timestamp,
) -> Result<LocatedRun, FolderError> {
    let mut skipped = Vec::new();
    for name in oldest_first(names, now).iter().rev() {
        match trust.open(&runs.join(name)) {
            Ok(folder) => return Ok(LocatedRun { folder, skipped }),
            // A process that was killed before the review began leaves a folder without metadata or
            // stamp.
            Err(error @ (FolderError::Foreign { .. } | FolderError::Unstamped(_))) => {
                skipped.push(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(skipped.into_iter().next().unwrap_or_else(|| FolderError::NoRuns(runs.to_owned())))
}

/// Names by age. Names with a future time come first.
fn oldest_first(names: Vec<String>, now: Timestamp) -> Vec<String> {
    let is_in_future = |name: &String| RunName::parse(name).is_some_and(|name| name.stamp > now);
    let (mut ordered, past): (Vec<_>, Vec<_>) = names.into_iter().partition(is_in_future);
    ordered.extend(past);
    ordered
}

/// Lists all runs, newest first. `update` changes each stored report to its present state, such as
/// after dismissals.
pub fn list_runs(
    runs: &Path,
    trust: RunTrust<'_>,
    update: &mut dyn FnMut(&mut Report),
) -> Result<Vec<RunSummary>, FolderError> {
    let names = run_names(runs)?;
    Ok(names.iter().rev().map(|name| summarize_run(runs, name, trust, update)).collect())
}

/// Runs that may be pruned, oldest first. Runs in progress are kept. Unfinished runs are kept for a
/// day, since another machine may be working on them.
pub fn prunable(
    runs: &Path,
    runs_to_keep: RunsToKeep,
    age: AgeLimit,
    now: Timestamp,
) -> Result<Vec<PathBuf>, FolderError> {
    let names = oldest_first(run_names(runs)?, now);
    let keep_count = match runs_to_keep {
        RunsToKeep::Newest(count) => count,
        RunsToKeep::NoMinimum => 0,
    };
    let candidates = &names[..names.len().saturating_sub(keep_count)];
    let paths = candidates.iter().filter_map(|name| {
        let age_of_run = now.since(RunName::parse(name)?.stamp);
        let is_over_limit = match age {
            AgeLimit::Over(limit) => age_of_run > limit,
            AgeLimit::Any => true,
        };
        let path = runs.join(name);
        let is_prunable =
            is_over_limit && is_run_folder(&path) && (age_of_run > DAY || is_complete(&path));
        (is_prunable && !is_locked(&path)).then_some(path)
    });
    Ok(paths.collect())
}

/// Deletes a run folder. Symlinks in it are deleted, not their targets.
pub fn remove_run(path: &Path) -> io::Result<()> {
    match is_run_folder(path) {
        true => fs::remove_dir_all(path),
        false => Err(io::Error::other("it is not a run folder")),
    }
}

fn summarize_run(
    runs: &Path,
    name: &str,
    trust: RunTrust<'_>,
    update: &mut dyn FnMut(&mut Report),
) -> RunSummary {
    let stamp = RunName::parse(name).map(|name| name.stamp.iso()).unwrap_or_default();
    let mut summary = RunSummary {
        run_id: name.to_owned(),
        started_at: stamp,
        completed_at: None,
        verdict: None,
        is_incomplete: false,
        issues: BTreeMap::new(),
        hidden_issues: 0,
        cost_usd: None,
        title: String::new(),
        is_foreign: false,
        problem: None,
    };
    let report = trust.open(&runs.join(name)).and_then(|folder| {
        let metadata: RunMetadata = folder.metadata()?;
        summary.completed_at = metadata.completed_at;
        folder.report()
    });
    match report {
        Ok(mut report) => {
            update(&mut report);
            summary.verdict = Some(report.verdict);
            summary.is_incomplete = is_marked_incomplete(&report);
            for severity in report.open_severities() {
                *summary.issues.entry(severity).or_default() += 1;
            }
            let open_count: usize = summary.issues.values().sum();
            summary.hidden_issues = open_count - report.shown_open_issues().count();
            summary.cost_usd = Some(report.stats.cost_usd);
            summary.title = report.change.title;
        }
        Err(FolderError::Unfinished { .. }) => {}
        Err(FolderError::Unstamped(_)) => summary.is_foreign = true,
        Err(error) => summary.problem = Some(error.to_string()),
    }
    summary
}

/// Names of all runs, newest last.
fn run_names(runs: &Path) -> Result<Vec<String>, FolderError> {
    let disk_error = |why| FolderError::Disk { path: runs.to_owned(), why };
    let entries = match fs::read_dir(runs) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(disk_error(error)),
    };
    let mut named_runs = Vec::new();
    for entry in entries {
        let entry = entry.map_err(disk_error)?;
        // `file_type` does not follow symlinks.
        let is_folder = entry.file_type().map_err(disk_error)?.is_dir();
        let name = entry.file_name().into_string().ok().filter(|_| is_folder);
        named_runs.extend(name.and_then(|name| Some((RunName::parse(&name)?, name))));
    }
    named_runs.sort_unstable();
    Ok(named_runs.into_iter().map(|(_, name)| name).collect())
}

fn is_run_folder(path: &Path) -> bool {
    let has_name = path.file_name().and_then(|name| RunName::parse(name.to_str()?)).is_some();
    let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let Ok(entries) = fs::read_dir(path) else { return false };
    let is_known = |entry: io::Result<fs::DirEntry>| {
        let name = entry.ok().and_then(|entry| entry.file_name().into_string().ok());
        name.is_some_and(|name| {
            let name = name.as_str();
            KNOWN_ENTRIES.contains(&name) || FIXES.contains(&name) || name.starts_with(TEMP_PREFIX)
        })
    };
    has_name && is_folder && entries.into_iter().all(is_known)
}

fn is_locked(path: &Path) -> bool {
    matches!(lock(path), Ok(LockAttempt::Held))
}

fn is_complete(path: &Path) -> bool {
    let metadata = RunFolder::open(path).and_then(|folder| folder.metadata());
    metadata.is_ok_and(|metadata| metadata.completed_at.is_some())
}
