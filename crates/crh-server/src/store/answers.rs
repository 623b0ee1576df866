//! Answers to replies, counted per conversation.

use super::{LockScope, Store, StoreResult, jobs, text};
use crate::job::ChangeId;

impl Store {
    /// Counts the answer to a comment before it is written. Returns how many answers the
    /// conversation has then, or `None` if it already has `max`. A comment counts once.
    pub async fn count_answer(
        &self,
        change: &ChangeId,
        conversation: u64,
        comment: u64,
        max: usize,
    ) -> StoreResult<Option<usize>> {
        let mut transaction = self.write().await?;
        self.lock(&mut transaction, LockScope::Change, jobs::change_lock(change)).await?;
        let answered: StoreResult<Vec<String>> = query!(
            "SELECT comment FROM answers \
             WHERE forge = $1 AND repository = $2 AND change_id = $3 AND conversation = $4",
            [&change.forge, &change.repository, &change.number, conversation.to_string()]
        )
        .fetch_all(&mut *transaction)
        .await?
        .iter()
        .map(|row| text(row, "comment"))
        .collect();
        let answered = answered?;
        if answered.contains(&comment.to_string()) {
            return Ok(Some(answered.len()));
        }
        if answered.len() >= max {
            return Ok(None);
        }
        query!(
            "INSERT INTO answers (forge, repository, change_id, conversation, comment, at) \
             VALUES ($1, $2, $3, $4, $5, $6)",
            [
                &change.forge,
                &change.repository,
                &change.number,
                conversation.to_string(),
                comment.to_string(),
                self.now().0,
            ]
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(Some(answered.len() + 1))
    }
}
