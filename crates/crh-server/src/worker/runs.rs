//! Reads the run folders that `crh review` wrote.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::folders::JobFolder;
use crate::store::MicroUsd;

/// A run folder of a job.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StoredRun {
    /// The review is complete.
    Finished(FinishedRun),
    /// The review was interrupted. `crh review --resume` continues it.
    Unfinished(PathBuf),
}

/// What the server shows of a finished review.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FinishedRun {
    pub(super) folder: PathBuf,
    pub(super) verdict: String,
    pub(super) issues: u32,
    /// Keys of the issues, the same in the next review of the pull request.
    pub(super) issue_keys: BTreeSet<String>,
    pub(super) cost: MicroUsd,
    pub(super) tokens: u64,
}

impl StoredRun {
    /// The run folder.
    pub(super) fn folder(&self) -> &Path {
        match self {
            Self::Finished(run) => &run.folder,
            Self::Unfinished(folder) => folder,
        }
    }

    /// Cost of a finished review.
    pub(super) fn cost(&self) -> Option<MicroUsd> {
        match self {
            Self::Finished(run) => Some(run.cost),
            Self::Unfinished(_) => None,
        }
    }
}

#[derive(Deserialize)]
struct Metadata {
    completed_at: Option<String>,
}

#[derive(Deserialize)]
struct RunReport {
    status: String,
    verdict: String,
    #[serde(default)]
    issues: Vec<ReportedIssue>,
    stats: RunStats,
    #[serde(default)]
    reviewers: Vec<ReviewerOutcome>,
}

#[derive(Deserialize)]
struct ReviewerOutcome {
    name: String,
    outcome: String,
    #[serde(default)]
    note: String,
}

#[derive(Deserialize)]
struct ReportedIssue {
    #[serde(default)]
    dedupe_key: String,
}

#[derive(Deserialize)]
struct RunStats {
    #[serde(default)]
    cost_usd: f64,
    #[serde(default)]
    tokens_used: TokenCounts,
}

#[derive(Deserialize, Default)]
struct TokenCounts {
    #[serde(default, rename = "in")]
    input: u64,
    #[serde(default, rename = "out")]
    output: u64,
}

/// The newest run of a job whose review is not marked as posted. A run that reviewed nothing does
/// not count.
pub(super) fn find_run(job: &JobFolder) -> Option<StoredRun> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(job.runs())
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir() && !job.posted_mark(path).exists())
        .collect();
    // Names begin with the time.
    folders.sort();
    folders.into_iter().rev().find_map(read_run)
}

/// Why the newest run of a job reviewed nothing: the note of its first reviewer that did not
/// complete, such as the answer of a model's provider to a revoked key.
pub(super) fn failed_run_reason(job: &JobFolder) -> Option<String> {
    let runs = std::fs::read_dir(job.runs()).ok()?;
    let newest = runs.filter_map(|entry| Some(entry.ok()?.path())).max()?;
    let report = read_json::<RunReport>(&newest.join("review.json"))?;
    let mut reviewers = report.reviewers.into_iter();
    let failed = reviewers.find(|reviewer| reviewer.outcome != "completed")?;
    (!failed.note.is_empty()).then(|| format!("reviewer {}: {}", failed.name, failed.note))
}

fn read_run(folder: PathBuf) -> Option<StoredRun> {
    let Some(metadata) = read_json::<Metadata>(&folder.join("metadata.json")) else {
        // Without the options of the review there is nothing to resume.
        let options = folder.join("stages/terms.json").exists();
        return options.then_some(StoredRun::Unfinished(folder));
    };
    if metadata.completed_at.is_none() {
        return Some(StoredRun::Unfinished(folder));
    }
    let report = read_json::<RunReport>(&folder.join("review.json"))?;
    if report.status == "error" {
        return None;
    }
    Some(StoredRun::Finished(FinishedRun {
        folder,
        verdict: report.verdict,
        issues: u32::try_from(report.issues.len()).unwrap_or(u32::MAX),
        issue_keys: report.issues.into_iter().map(|issue| issue.dedupe_key).collect(),
        cost: MicroUsd::from_usd(report.stats.cost_usd),
        tokens: report.stats.tokens_used.input.saturating_add(report.stats.tokens_used.output),
    }))
}

fn read_json<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}
