//! Dismissed issues of a repository. Every review of the repository gets them, on whichever machine
//! it runs.

use std::collections::BTreeMap;

use super::{Store, StoreResult, text};
use crate::job::ChangeId;

/// Maximum dismissals that a review gets: the newest ones.
const DISMISSALS_MAX: i64 = 10_000;

/// An issue that a person dismissed, or that crh withdrew after a person disputed it.
#[derive(Debug, Clone, Copy)]
pub struct NewDismissal<'a> {
    /// Pull request of the comment. The dismissal holds for its whole repository.
    pub change: &'a ChangeId,
    /// Key of the issue, the same in all reviews.
    pub issue_key: &'a str,
    /// Why. May be empty.
    pub reason: &'a str,
    /// Account of the person.
    pub who: &'a str,
    /// The review whose report has the issue.
    pub review: i64,
}

impl Store {
    /// Stores a dismissal, and counts it in the review that has the issue. Repeating it changes
    /// only the reason, and only if there is a new one.
    pub async fn dismiss(&self, dismissal: &NewDismissal<'_>) -> StoreResult<()> {
        let NewDismissal { change, issue_key, reason, who, review } = dismissal;
        let mut transaction = self.write().await?;
        let now = self.now();
        let added = query!(
            "INSERT INTO dismissals (forge, repository, issue_key, reason, who, at) VALUES ($1, $2, $3, $4, $5, $6) \
             ON CONFLICT (forge, repository, issue_key) DO NOTHING",
            [&change.forge, &change.repository, *issue_key, *reason, *who, now.0]
        )
        .execute(&mut *transaction)
        .await?
        .rows_affected();
        if added > 0 {
            query!(
                "UPDATE reviews SET issues_dismissed = issues_dismissed + 1 WHERE id = $1",
                [*review]
            )
            .execute(&mut *transaction)
            .await?;
        } else if !reason.is_empty() {
            query!(
                "UPDATE dismissals SET reason = $4 WHERE forge = $1 AND repository = $2 AND issue_key = $3",
                [&change.forge, &change.repository, *issue_key, *reason]
            )
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Dismissed issues of a repository: keys and reasons.
    pub async fn dismissals(
        &self,
        forge: &str,
        repository: &str,
    ) -> StoreResult<BTreeMap<String, String>> {
        let query = query!(
            "SELECT issue_key, reason, who FROM dismissals WHERE forge = $1 AND repository = $2 \
             ORDER BY at DESC, issue_key LIMIT $3",
            [forge, repository, DISMISSALS_MAX]
        );
        self.read_all(query, |row| {
            let (reason, who) = (text(row, "reason")?, text(row, "who")?);
            let reason = match reason.as_str() {
                "" => format!("dismissed by {who}"),
                _ => format!("dismissed by {who}: {reason}"),
            };
            Ok((text(row, "issue_key")?, reason))
        })
        .await
    }
}
