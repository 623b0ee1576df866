//! Outcomes of the issues of a closed pull request: `crh stats` decides them, and the database
//! stores them for the page.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{
    attempt::{Attempt, ChildAccess},
    child::ChildEnd,
};
use crate::{
    forge_access::{ForgeAccess, ForgeFailure},
    job::AttemptFailure,
    store::{IssueOutcome, LeaseEnd, ReviewFilter, StoreResult},
};

/// Maximum reviews of a pull request that count: the newest ones.
const REPORTS_MAX: u32 = 50;

/// Output of `crh stats --export`, as far as the page needs it.
#[derive(Deserialize)]
struct StatsExport {
    repositories: Vec<RepositoryExport>,
}

#[derive(Deserialize)]
struct RepositoryExport {
    reviews: Vec<ReviewExport>,
    outcomes: Vec<OutcomeExport>,
}

#[derive(Deserialize)]
struct ReviewExport {
    at: String,
    issues: Vec<IssueExport>,
}

#[derive(Deserialize)]
struct IssueExport {
    key: String,
    severity: String,
    category: String,
}

#[derive(Deserialize)]
struct OutcomeExport {
    key: String,
    kind: String,
    reception: String,
}

/// Decides and stores the outcomes of a pull request.
pub(super) async fn run_outcomes(
    attempt: &Attempt<'_>,
    forge: &impl ForgeAccess,
) -> StoreResult<LeaseEnd> {
    let job = attempt.job();
    let change = &job.key.change;
    let failed = |reason: String| Ok(LeaseEnd::Failed(AttemptFailure::retried(reason)));
    match forge.open_change(job.installation, change).await {
        Ok(None) => {}
        // A draft, a reopened pull request, or one that the reconciliation's list did not have.
        Ok(Some(_)) => return Ok(LeaseEnd::Skipped("the pull request is open".to_owned())),
        Err(error @ ForgeFailure::Gone(_)) => return Ok(LeaseEnd::Skipped(error.to_string())),
        Err(error) => return Ok(LeaseEnd::Failed(error.into())),
    }
    if let Err(error) = attempt.create_folders() {
        return failed(format!("cannot create the folders of the job: {error}"));
    }
    let token = match forge.token(&change.forge, job.installation, &change.repository).await {
        Ok(token) => token,
        Err(error) => return Ok(LeaseEnd::Failed(error.into())),
    };
    attempt.begin_step("stats").await?;
    let posted = write_reports(attempt).await?;
    let arguments = [
        "stats",
        "--refresh",
        "--repo",
        &change.repository,
        "--pr",
        &change.number,
        "--export",
        "-",
    ];
    let mut arguments: Vec<String> = arguments.map(str::to_owned).into();
    arguments.extend(posted);
    let timeout = attempt.settings.timeouts.post;
    match attempt.run_crh(arguments, ChildAccess::Forge(token), timeout).await {
        ChildEnd::Exited { code: 0, stdout, .. } => match read_outcomes(&stdout) {
            Ok(outcomes) => {
                attempt.store.save_outcomes(change, &outcomes).await?;
                Ok(LeaseEnd::Done(None))
            }
            Err(error) => failed(format!("stats: crh printed no outcomes: {error}")),
        },
        ChildEnd::Exited { code, .. } => failed(format!("stats: exit code {code}")),
        ChildEnd::Killed => failed("stats: a signal ended the process".to_owned()),
        ChildEnd::TimedOut => failed("stats: the time limit is reached".to_owned()),
        ChildEnd::NotStarted(error) => failed(format!("stats: {error}")),
        ChildEnd::Stopped => Ok(attempt.stopped_end()),
    }
}

/// Writes the posted reports of the pull request, which another machine may have posted, and
/// returns the arguments that name them. Oldest first.
async fn write_reports(attempt: &Attempt<'_>) -> StoreResult<Vec<String>> {
    let change = &attempt.job().key.change;
    let filter = ReviewFilter::newest_of(change, attempt.job().installation, REPORTS_MAX);
    let reviews = attempt.store.reviews(&filter).await?;
    let mut arguments = Vec::new();
    for review in reviews.iter().rev().filter(|review| review.posted) {
        let Some(report) = attempt.store.report(review.id).await? else { continue };
        let file = attempt.folder().root.join(format!("posted-{}.json", review.id));
        match std::fs::write(&file, report) {
            Ok(()) => {
                let file = file.to_string_lossy().into_owned();
                arguments.extend(["--posted".to_owned(), file]);
            }
            Err(error) => tracing::warn!(%error, "cannot write a posted report"),
        }
    }
    Ok(arguments)
}

/// Every posted issue once, with its outcome, or `open` if there is none.
fn read_outcomes(stdout: &str) -> Result<Vec<IssueOutcome>, serde_json::Error> {
    let export: StatsExport = serde_json::from_str(stdout)?;
    let mut outcomes = Vec::new();
    for RepositoryExport { reviews, outcomes: decided } in export.repositories {
        let decided: BTreeMap<String, OutcomeExport> =
            decided.into_iter().map(|outcome| (outcome.key.clone(), outcome)).collect();
        let mut known = BTreeSet::new();
        for ReviewExport { at, issues } in reviews {
            for IssueExport { key, severity, category } in issues {
                if !known.insert(key.clone()) {
                    continue;
                }
                let (outcome, reception) = decided
                    .get(&key)
                    .map_or(("open", "undecided"), |it| (it.kind.as_str(), it.reception.as_str()));
                outcomes.push(IssueOutcome {
                    severity,
                    category,
                    month: at.chars().take(7).collect(),
                    outcome: outcome.to_owned(),
                    reception: reception.to_owned(),
                    issue_key: key,
                });
            }
        }
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_counts_once_with_its_outcome() {
        let issue = r#"{"key": "k", "severity": "P1", "category": "bug", "file": "a.rs"}"#;
        let export = format!(
            r#"{{"version": 1, "repositories": [{{
                "reviews": [{{"at": "2026-10-31T01:00:00Z", "issues": [{issue}]}},
                            {{"at": "2026-11-01T01:00:00Z", "issues": [{issue}, {}]}}],
                "outcomes": [{{"key": "k", "kind": "ignored", "reception": "left_alone"}}]}}]}}"#,
            issue.replace("\"k\"", "\"l\"")
        );
        let outcomes = read_outcomes(&export).unwrap();
        let shown: Vec<String> = outcomes
            .iter()
            .map(|it| format!("{} {} {} {}", it.issue_key, it.month, it.outcome, it.reception))
            .collect();
        assert_eq!(shown, ["k 2026-10 ignored left_alone", "l 2026-11 open undecided"]);
        assert!(read_outcomes("").is_err());
    }
}
