//! What became of posted issues, for the page.

use super::{Store, StoreResult, count, integer, jobs::LONGEST_LIST, text};
use crate::job::{ChangeId, OUTCOMES_HEAD, ReviewedPull};

/// What became of a posted issue, with the names of `crh stats --export`.
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
    /// Pull requests of a repository that have no outcomes job for their last posted review, the
    /// newest review first. A skipped job does not count, because the pull request was open then.
    /// An empty `number` stands for all pull requests.
    pub async fn undecided_pulls(
        &self,
        forge: &str,
        repository: &str,
        number: &str,
    ) -> StoreResult<Vec<ReviewedPull>> {
        let query = query!(
            "SELECT change_id, last_review FROM ( \
             SELECT change_id, MAX(id) AS last_review FROM reviews \
             WHERE forge = $1 AND repository = $2 AND posted = 1 AND ($3 = '' OR change_id = $3) \
             GROUP BY change_id) AS reviewed \
             WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.forge = $1 AND jobs.repository = $2 \
             AND jobs.change_id = reviewed.change_id AND jobs.kind = 'outcomes' AND jobs.state <> 'skipped' \
             AND jobs.head = $4 || CAST(last_review AS TEXT)) \
             ORDER BY last_review DESC LIMIT $5",
            [forge, repository, number, OUTCOMES_HEAD, i64::from(LONGEST_LIST)]
        );
        self.read_all(query, |row| {
            let (forge, repository) = (forge.to_owned(), repository.to_owned());
            Ok(ReviewedPull {
                change: ChangeId { forge, repository, number: text(row, "change_id")? },
                last_review: integer(row, "last_review")?,
            })
        })
        .await
    }

    /// Stores the outcomes of a pull request. Later outcomes replace earlier ones.
    pub async fn save_outcomes(
        &self,
        change: &ChangeId,
        outcomes: &[IssueOutcome],
    ) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        let now = self.now();
        for outcome in outcomes {
            query!(
                "INSERT INTO outcomes (forge, repository, change_id, issue_key, severity, category, month, outcome, \
                 reception, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
                 ON CONFLICT (forge, repository, change_id, issue_key) DO UPDATE SET \
                 outcome = excluded.outcome, reception = excluded.reception, at = excluded.at",
                [
                    &change.forge, &change.repository, &change.number,
                    &outcome.issue_key, &outcome.severity, &outcome.category,
                    &outcome.month, &outcome.outcome, &outcome.reception, now.0,
                ]
            )
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Outcomes of a repository, the newest month first. An issue that the store has as dismissed
    /// counts as dismissed, unless people acted on it.
    pub async fn outcome_sums(
        &self,
        forge: &str,
        repository: &str,
    ) -> StoreResult<Vec<OutcomeSum>> {
        let query = query!(
            "SELECT month, category, outcome, reception, COUNT(*) AS issues FROM ( \
             SELECT o.month AS month, o.category AS category, \
             CASE WHEN d.issue_key IS NULL OR o.reception = 'acted_on' THEN o.outcome ELSE 'dismissed' END AS outcome, \
             CASE WHEN d.issue_key IS NULL OR o.reception = 'acted_on' THEN o.reception ELSE 'rejected' END \
             AS reception \
             FROM outcomes o LEFT JOIN dismissals d \
             ON d.forge = o.forge AND d.repository = o.repository AND d.issue_key = o.issue_key \
             WHERE o.forge = $1 AND o.repository = $2) AS decided \
             GROUP BY month, category, outcome, reception ORDER BY month DESC, category, outcome",
            [forge, repository]
        );
        self.read_all(query, |row| {
            Ok(OutcomeSum {
                month: text(row, "month")?,
                category: text(row, "category")?,
                outcome: text(row, "outcome")?,
                reception: text(row, "reception")?,
                issues: count(row, "issues")?,
            })
        })
        .await
    }
}
