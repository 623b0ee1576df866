//! What became of posted issues, for the page.

use super::{Store, StoreResult, count, text};
use crate::job::ChangeId;

/// What became of a posted issue, in the words of `crh stats --export`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueOutcome {
    /// Key of the issue, the same in all reviews.
    pub issue_key: String,
    /// Severity.
    pub severity: String,
    /// Category.
    pub category: String,
    /// Month in which it was posted, `YYYY-MM`.
    pub month: String,
    /// What became of it, such as `fixed_in_place`.
    pub outcome: String,
    /// Whether people acted on it, such as `acted_on`.
    pub reception: String,
}

/// Number of issues with the same month, category and outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeSum {
    /// Month in which they were posted, `YYYY-MM`.
    pub month: String,
    /// Category.
    pub category: String,
    /// What became of them.
    pub outcome: String,
    /// Whether people acted on them.
    pub reception: String,
    /// Their number.
    pub issues: u64,
}

impl Store {
    /// Stores the outcomes of a pull request. Later outcomes replace earlier ones.
    pub async fn save_outcomes(
        &self,
        change: &ChangeId,
        outcomes: &[IssueOutcome],
    ) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        let now = self.now();
        for outcome in outcomes {
            sqlx::query(
                "INSERT INTO outcomes (forge, repository, change_id, issue_key, severity, category, month, outcome, \
                 reception, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
                 ON CONFLICT (forge, repository, change_id, issue_key) DO UPDATE SET \
                 outcome = excluded.outcome, reception = excluded.reception, at = excluded.at",
            )
            .bind(&change.forge)
            .bind(&change.repository)
            .bind(&change.number)
            .bind(&outcome.issue_key)
            .bind(&outcome.severity)
            .bind(&outcome.category)
            .bind(&outcome.month)
            .bind(&outcome.outcome)
            .bind(&outcome.reception)
            .bind(now.0)
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Outcomes of a repository, the newest month first. An issue that a person dismissed with a command counts as
    /// dismissed, unless it was fixed.
    pub async fn outcome_sums(
        &self,
        forge: &str,
        repository: &str,
    ) -> StoreResult<Vec<OutcomeSum>> {
        sqlx::query(
            "SELECT month, category, outcome, reception, COUNT(*) AS issues FROM ( \
             SELECT o.month AS month, o.category AS category, \
             CASE WHEN d.issue_key IS NULL OR o.reception = 'acted_on' THEN o.outcome ELSE 'dismissed' END AS outcome, \
             CASE WHEN d.issue_key IS NULL OR o.reception = 'acted_on' THEN o.reception ELSE 'rejected' END \
             AS reception \
             FROM outcomes o LEFT JOIN dismissals d \
             ON d.forge = o.forge AND d.repository = o.repository AND d.issue_key = o.issue_key \
             WHERE o.forge = $1 AND o.repository = $2) AS decided \
             GROUP BY month, category, outcome, reception ORDER BY month DESC, category, outcome",
        )
        .bind(forge)
        .bind(repository)
        .fetch_all(&self.reader)
        .await?
        .iter()
        .map(|row| {
            Ok(OutcomeSum {
                month: text(row, "month")?,
                category: text(row, "category")?,
                outcome: text(row, "outcome")?,
                reception: text(row, "reception")?,
                issues: count(row, "issues")?,
            })
        })
        .collect()
    }
}
