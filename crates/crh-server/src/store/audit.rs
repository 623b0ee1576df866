//! The audit log: what people and workers changed, such as a posted review or a cancelled job.

use sqlx::{Any, Transaction};

use super::{Store, StoreResult, jobs::LONGEST_LIST, text, time};
use crate::{clock::UnixMillis, job::ChangeId};

/// A line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AuditEntry {
    /// Time. The store sets it.
    pub at: UnixMillis,
    /// Account of a person, or the name of a worker.
    pub who: String,
    /// Action, such as `post` or `retry`.
    pub action: String,
    /// Target of the action, such as `github.com/OWNER/NAME#12`.
    pub target: String,
    /// Anything else worth knowing. Never a secret.
    pub detail: String,
}

impl Store {
    /// Adds a line with the current time. Ignores [`AuditEntry::at`].
    pub async fn record(&self, entry: &AuditEntry) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        let AuditEntry { at: _, who, action, target, detail } = entry;
        insert(&mut transaction, self.now(), who, action, target, detail).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Records an action on a change.
    pub(crate) async fn record_action(
        &self,
        who: &str,
        action: &str,
        change: &ChangeId,
        detail: &str,
    ) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        insert(&mut transaction, self.now(), who, action, &change.to_string(), detail).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// The newest lines, newest first.
    pub async fn audit(&self, limit: u32) -> StoreResult<Vec<AuditEntry>> {
        let query = query!(
            "SELECT at, who, action, target, detail FROM audit ORDER BY id DESC LIMIT $1",
            [i64::from(limit.min(LONGEST_LIST))]
        );
        self.read_all(query, |row| {
            Ok(AuditEntry {
                at: time(row, "at")?,
                who: text(row, "who")?,
                action: text(row, "action")?,
                target: text(row, "target")?,
                detail: text(row, "detail")?,
            })
        })
        .await
    }
}

pub(super) async fn insert(
    transaction: &mut Transaction<'static, Any>,
    at: UnixMillis,
    who: &str,
    action: &str,
    target: &str,
    detail: &str,
) -> StoreResult<()> {
    query!(
        "INSERT INTO audit (at, who, action, target, detail) VALUES ($1, $2, $3, $4, $5)",
        [at.0, who, action, target, detail]
    )
    .execute(&mut **transaction)
    .await?;
    Ok(())
}
