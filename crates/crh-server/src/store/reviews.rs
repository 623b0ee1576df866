//! Finished reviews, and their totals.

use std::collections::BTreeSet;

use sqlx::{Any, Transaction, any::AnyRow};

use super::{
    MicroUsd, Store, StoreError, StoreResult, count, integer, jobs::LONGEST_LIST, text, time,
};
use crate::{
    clock::UnixMillis,
    job::{ChangeId, InstallationId, JobId, Lease},
};

/// Result of a review, when its job is done. Pull request, head and installation come from the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReview {
    /// Verdict of the report, such as `Ready to merge` or `Not ready`.
    pub verdict: String,
    /// Issues in the report.
    pub issues_shown: u32,
    /// Issues of the last review of this pull request that this one no longer has.
    pub issues_fixed: u32,
    /// Cost of the model calls.
    pub cost: MicroUsd,
    /// Input and output tokens of the model calls.
    pub tokens: u64,
    /// Start of the attempt.
    pub started_at: UnixMillis,
    /// Run folder, relative to the state folder of the worker.
    pub folder: String,
    /// Name of the worker.
    pub worker: String,
    /// Whether the review was posted.
    pub posted: bool,
    /// The report as JSON. `None` if it is too large to store.
    pub report: Option<String>,
}

/// A finished review.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StoredReview {
    /// Number.
    pub id: i64,
    /// Its job.
    pub job: JobId,
    /// The pull request.
    pub change: ChangeId,
    /// Reviewed commit.
    pub head: String,
    /// Installation.
    pub installation: InstallationId,
    /// Verdict of the report.
    pub verdict: String,
    /// Issues in the report.
    pub issues_shown: u64,
    /// Issues that people dismissed afterwards.
    pub issues_dismissed: u64,
    /// Issues of the previous review that this one no longer has.
    pub issues_fixed: u64,
    /// Cost.
    pub cost: MicroUsd,
    /// Input and output tokens.
    pub tokens: u64,
    /// Start of the attempt.
    pub started_at: UnixMillis,
    /// End of the attempt.
    pub ended_at: UnixMillis,
    /// Run folder, relative to the state folder of the worker.
    pub folder: String,
    /// Name of the worker.
    pub worker: String,
    /// Whether the review was posted.
    pub posted: bool,
}

/// Which reviews to list, newest first.
#[derive(Debug, Clone, Default)]
pub struct ReviewFilter {
    /// Only reviews of this forge and repository.
    pub repository: Option<(String, String)>,
    /// Only reviews of this pull request of `repository`.
    pub number: Option<String>,
    /// Only reviews of this installation. The name of a repository can belong to another account
    /// later.
    pub installation: Option<InstallationId>,
    /// Only reviews before this one, for the next page.
    pub before: Option<i64>,
    /// Longest list. The store returns at most 500.
    pub limit: u32,
}

impl ReviewFilter {
    /// The newest reviews of a change.
    pub(crate) fn newest_of(change: &ChangeId, installation: InstallationId, limit: u32) -> Self {
        Self {
            repository: Some((change.forge.clone(), change.repository.clone())),
            number: Some(change.number.clone()),
            installation: Some(installation),
            before: None,
            limit,
        }
    }
}

/// Sums of the reviews of a repository on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct TrendDay {
    /// Days since 1970 UTC.
    pub day: i64,
    /// Reviews that ended on this day.
    pub reviews: u64,
    /// Issues in their reports.
    pub issues_shown: u64,
    /// Issues that people dismissed.
    pub issues_dismissed: u64,
    /// Issues of previous reviews that these no longer have.
    pub issues_fixed: u64,
    /// Cost.
    pub cost: MicroUsd,
    /// Mean time from start to end, in milliseconds.
    pub mean_ms: i64,
    /// Longest time from start to end, in milliseconds.
    pub longest_ms: i64,
}

const LIST_REVIEWS: &str = "SELECT id, job, forge, repository, change_id, head, installation, verdict, issues_shown, \
     issues_dismissed, issues_fixed, micro_usd, tokens, started_at, ended_at, folder, worker, posted FROM reviews \
     WHERE id < $1 AND id >= $2 AND ($4 = '' OR (forge = $3 AND repository = $4)) AND ($5 = '' OR change_id = $5) \
     AND ($7 < 0 OR installation = $7) ORDER BY id DESC LIMIT $6";

impl Store {
    /// Reviews, newest first.
    pub async fn reviews(&self, filter: &ReviewFilter) -> StoreResult<Vec<StoredReview>> {
        let (forge, repository) = filter.repository.clone().unwrap_or_default();
        let query = query!(
            LIST_REVIEWS,
            [
                filter.before.unwrap_or(i64::MAX),
                0_i64,
                forge,
                repository,
                filter.number.clone().unwrap_or_default(),
                i64::from(filter.limit.min(LONGEST_LIST)),
                filter.installation.map_or(-1, |id| id.0),
            ]
        );
        self.read_all(query, review_from_row).await
    }

    /// One review.
    pub async fn review(&self, id: i64) -> StoreResult<StoredReview> {
        let row = query!(LIST_REVIEWS, [id.saturating_add(1), id, "", "", "", 1_i64, -1_i64])
            .fetch_optional(&self.reader)
            .await?
            .ok_or_else(|| StoreError::Missing(format!("review {id}")))?;
        review_from_row(&row)
    }

    /// Replaces the issues of the last review of a pull request by those of this one, and counts
    /// how many are gone.
    pub async fn replace_issues(
        &self,
        change: &ChangeId,
        keys: &BTreeSet<String>,
    ) -> StoreResult<u32> {
        let mut transaction = self.write().await?;
        let row = query!(
            "SELECT issue_keys FROM last_issues WHERE forge = $1 AND repository = $2 AND change_id = $3",
            [&change.forge, &change.repository, &change.number]
        )
        .fetch_optional(&mut *transaction)
        .await?;
        let before: BTreeSet<String> = match row {
            Some(row) => serde_json::from_str(&text(&row, "issue_keys")?)
                .map_err(|error| StoreError::Content(format!("issue keys: {error}")))?,
            None => BTreeSet::new(),
        };
        query!(
            "INSERT INTO last_issues (forge, repository, change_id, issue_keys, at) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (forge, repository, change_id) DO UPDATE SET \
             issue_keys = excluded.issue_keys, at = excluded.at",
            [
                &change.forge, &change.repository, &change.number,
                serde_json::json!(keys).to_string(), self.now().0,
            ]
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(u32::try_from(before.difference(keys).count()).unwrap_or(u32::MAX))
    }

    /// The stored report of a review as JSON. `None` if it was too large to store.
    pub async fn report(&self, review: i64) -> StoreResult<Option<String>> {
        let row = query!("SELECT content FROM reports WHERE review = $1", [review])
            .fetch_optional(&self.reader)
            .await?;
        row.map(|row| text(&row, "content")).transpose()
    }

    /// Sums of a repository per day, oldest first, of at most the last `days` days.
    pub async fn trends(
        &self,
        forge: &str,
        installation: InstallationId,
        repository: &str,
        days: u32,
    ) -> StoreResult<Vec<TrendDay>> {
        let since = UnixMillis::from_day(self.now().day() + 1 - i64::from(days));
        let query = query!(
            "SELECT ended_at / 86400000 AS day, COUNT(*) AS reviews, \
             CAST(SUM(issues_shown) AS BIGINT) AS shown, CAST(SUM(issues_dismissed) AS BIGINT) AS dismissed, \
             CAST(SUM(issues_fixed) AS BIGINT) AS fixed, CAST(SUM(micro_usd) AS BIGINT) AS cost, \
             CAST(AVG(ended_at - started_at) AS BIGINT) AS mean, MAX(ended_at - started_at) AS longest \
             FROM reviews WHERE forge = $1 AND repository = $2 AND ended_at >= $3 AND installation = $4 \
             GROUP BY ended_at / 86400000 ORDER BY 1",
            [forge, repository, since.0, installation.0]
        );
        self.read_all(query, |row| {
            Ok(TrendDay {
                day: integer(row, "day")?,
                reviews: count(row, "reviews")?,
                issues_shown: count(row, "shown")?,
                issues_dismissed: count(row, "dismissed")?,
                issues_fixed: count(row, "fixed")?,
                cost: MicroUsd(integer(row, "cost")?),
                mean_ms: integer(row, "mean")?,
                longest_ms: integer(row, "longest")?,
            })
        })
        .await
    }
}

pub(super) async fn insert(
    transaction: &mut Transaction<'static, Any>,
    lease: &Lease,
    review: &NewReview,
    now: UnixMillis,
) -> StoreResult<()> {
    let rows = query!(
        "INSERT INTO reviews (job, forge, repository, change_id, head, installation, verdict, issues_shown, \
         issues_dismissed, issues_fixed, micro_usd, tokens, started_at, ended_at, folder, worker, posted) \
         SELECT id, forge, repository, change_id, head, installation, $2, $3, 0, $4, $5, $6, $7, $8, $9, $10, $11 \
         FROM jobs WHERE id = $1 RETURNING id",
        [
            lease.job.0, &review.verdict, i64::from(review.issues_shown),
            i64::from(review.issues_fixed), review.cost.0,
            i64::try_from(review.tokens).unwrap_or(i64::MAX), review.started_at.0, now.0,
            &review.folder, &review.worker, i64::from(review.posted),
        ]
    )
    .fetch_all(&mut **transaction)
    .await?;
    if let (Some(row), Some(report)) = (rows.first(), &review.report) {
        query!(
            "INSERT INTO reports (review, content) VALUES ($1, $2)",
            [integer(row, "id")?, report]
        )
        .execute(&mut **transaction)
        .await?;
    }
    Ok(())
}

fn review_from_row(row: &AnyRow) -> StoreResult<StoredReview> {
    Ok(StoredReview {
        id: integer(row, "id")?,
        job: JobId(integer(row, "job")?),
        change: ChangeId {
            forge: text(row, "forge")?,
            repository: text(row, "repository")?,
            number: text(row, "change_id")?,
        },
        head: text(row, "head")?,
        installation: InstallationId(integer(row, "installation")?),
        verdict: text(row, "verdict")?,
        issues_shown: count(row, "issues_shown")?,
        issues_dismissed: count(row, "issues_dismissed")?,
        issues_fixed: count(row, "issues_fixed")?,
        cost: MicroUsd(integer(row, "micro_usd")?),
        tokens: count(row, "tokens")?,
        started_at: time(row, "started_at")?,
        ended_at: time(row, "ended_at")?,
        folder: text(row, "folder")?,
        worker: text(row, "worker")?,
        posted: integer(row, "posted")? != 0,
    })
}
