//! All run folders in one place: which there are, which one is meant, which can go.
//!
//! Invariant: nothing is followed that is a link, and nothing is deleted that crh did not write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::Serialize;

use super::whole::DRAFT;
use super::{
    FIXES, FolderError, IGNORE, Lock, MARKDOWN, METADATA, Metadata, REPORT, REVIEWERS, ROUNDS,
    RunFolder, STAGES, Stamp, TELEMETRY, TRANSCRIPTS, WORKSPACE, lock,
};
use crh_review::finding::Severity;
use crh_review::identity::is_key;
use crh_review::report::Decimal;
use crh_review::verdict::Verdict;

/// The word for the newest run.
const LATEST: &str = "latest";
/// What may lie at the top of a run folder. One with anything else in it is somebody's own.
const OURS: [&str; 10] = [
    IGNORE,
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
/// No review takes that long: one that has not ended by then was cut off.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// As many names as one can choose from at a glance.
const NAMES_SHOWN: usize = 3;

/// The name of a run folder, taken apart. Later runs sort last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunName {
    stamp: Stamp,
    review_id: String,
    number: u32,
}

/// One run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The name of the run.
    pub run_id: String,
    /// When it began.
    pub started_at: String,
    /// When it ended; none if it was cut off or is still under way.
    pub completed_at: Option<String>,
    /// What it said; none if there is no report.
    pub verdict: Option<Verdict>,
    /// How many issues of each severity there are.
    pub issues: BTreeMap<Severity, usize>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<Decimal>,
    /// The title of the change.
    pub title: String,
    /// Why nothing more is known about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// How many of the newest runs stay in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// So many.
    Newest(usize),
    /// Their number does not matter.
    AnyNumber,
}

/// How old a run has to be to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Older than this.
    Over(Duration),
    /// Its age does not matter.
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
        let stamp = Stamp::parse(stamp)?;
        is_key(review_id).then(|| Self { stamp, review_id: review_id.to_owned(), number })
    }
}

/// The run that is meant by its name, the beginning of its name, or `latest`; the newest if nothing is said.
pub fn find(runs: &Path, wanted: Option<&str>) -> Result<RunFolder, FolderError> {
    let names = names(runs)?;
    let wanted = wanted.unwrap_or(LATEST);
    if wanted == LATEST {
        let newest = names.last().ok_or_else(|| FolderError::NoRuns(runs.to_owned()))?;
        return RunFolder::open(&runs.join(newest));
    }
    let matching: Vec<&String> = names.iter().filter(|name| name.starts_with(wanted)).collect();
    match matching.as_slice() {
        // A name may begin like others: `…-2` begins with the whole of the first one's.
        several if several.iter().any(|name| *name == wanted) => {
            RunFolder::open(&runs.join(wanted))
        }
        [one] if !wanted.is_empty() => RunFolder::open(&runs.join(one)),
        [] => Err(FolderError::Unknown { wanted: wanted.to_owned(), runs: runs.to_owned() }),
        // Every name begins with it: somebody's variable is not set.
        _ if wanted.is_empty() => {
            Err(FolderError::Unknown { wanted: wanted.to_owned(), runs: runs.to_owned() })
        }
        several => {
            let shown = several.iter().rev().take(NAMES_SHOWN).map(|name| format!("`{name}`"));
            Err(FolderError::Ambiguous { wanted: wanted.to_owned(), names: shown.collect() })
        }
    }
}

/// All runs, the newest first.
pub fn list(runs: &Path) -> Result<Vec<Row>, FolderError> {
    Ok(names(runs)?.iter().rev().map(|name| row(runs, name)).collect())
}

/// The runs that can go: those that are neither among the newest nor too young, the oldest first. One that is under
/// way stays, and one that is not done for a day: its machine may be another one.
pub fn prunable(
    runs: &Path,
    kept: Kept,
    age: Age,
    now: Stamp,
) -> Result<Vec<PathBuf>, FolderError> {
    let names = names(runs)?;
    let kept = match kept {
        Kept::Newest(count) => count,
        Kept::AnyNumber => 0,
    };
    let candidates = &names[..names.len().saturating_sub(kept)];
    let paths = candidates.iter().filter_map(|name| {
        let old = now.since(RunName::parse(name)?.stamp);
        let is_old = match age {
            Age::Over(limit) => old > limit,
            Age::Any => true,
        };
        let path = runs.join(name);
        let may_go = is_old && is_ours(&path) && (old > DAY || is_done(&path));
        (may_go && !is_under_way(&path)).then_some(path)
    });
    Ok(paths.collect())
}

/// Deletes the folder of a run, with all that is in it. A link in it is deleted, not what it leads to.
pub fn remove(path: &Path) -> io::Result<()> {
    match is_ours(path) {
        true => fs::remove_dir_all(path),
        false => Err(io::Error::other("it is not the folder of a run")),
    }
}

fn row(runs: &Path, name: &str) -> Row {
    let stamp = RunName::parse(name).map(|name| name.stamp.iso()).unwrap_or_default();
    let mut row = Row {
        run_id: name.to_owned(),
        started_at: stamp,
        completed_at: None,
        verdict: None,
        issues: BTreeMap::new(),
        cost_usd: None,
        title: String::new(),
        problem: None,
    };
    let read = RunFolder::open(&runs.join(name)).and_then(|folder| {
        let metadata: Metadata = folder.metadata()?;
        row.completed_at = metadata.completed_at;
        folder.report()
    });
    match read {
        Ok(report) => {
            row.verdict = Some(report.verdict);
            for issue in &report.issues {
                *row.issues.entry(issue.severity).or_default() += 1;
            }
            row.cost_usd = Some(report.stats.cost_usd);
            row.title = report.change.title;
        }
        Err(FolderError::Unfinished { .. }) => {}
        Err(error) => row.problem = Some(error.to_string()),
    }
    row
}

/// The names of all runs, the newest last.
fn names(runs: &Path) -> Result<Vec<String>, FolderError> {
    let failed = |why| FolderError::Disk { path: runs.to_owned(), why };
    let entries = match fs::read_dir(runs) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        // Of a link it says that it is one.
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        let name = entry.file_name().into_string().ok().filter(|_| is_folder);
        found.extend(name.and_then(|name| Some((RunName::parse(&name)?, name))));
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, name)| name).collect())
}

fn is_ours(path: &Path) -> bool {
    let has_name = path.file_name().and_then(|name| RunName::parse(name.to_str()?)).is_some();
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let Ok(entries) = fs::read_dir(path) else { return false };
    let is_known = |entry: io::Result<fs::DirEntry>| {
        let name = entry.ok().and_then(|entry| entry.file_name().into_string().ok());
        name.is_some_and(|name| {
            let name = name.as_str();
            OURS.contains(&name) || FIXES.contains(&name) || name.starts_with(DRAFT)
        })
    };
    has_name && is_folder && entries.into_iter().all(is_known)
}

fn is_under_way(path: &Path) -> bool {
    matches!(lock(path), Ok(Lock::Held))
}

fn is_done(path: &Path) -> bool {
    let metadata = RunFolder::open(path).and_then(|folder| folder.metadata());
    metadata.is_ok_and(|metadata| metadata.completed_at.is_some())
}
