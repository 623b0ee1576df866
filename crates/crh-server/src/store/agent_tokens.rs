//! Tokens of coding agents, by their hash.

use super::{Store, StoreError, StoreResult, audit, integer, text, time};
use crate::clock::UnixMillis;

/// Lifetime of a token.
const TOKEN_MS: i64 = 30 * 24 * 3_600_000;

/// Maximum tokens of a person.
const TOKENS_MAX: i64 = 20;

/// A token that a person creates.
#[derive(Debug, Clone, Copy)]
pub struct NewAgentToken<'a> {
    /// Hash of the token.
    pub hash: &'a str,
    /// Login of the person.
    pub who: &'a str,
    /// What the person calls it.
    pub name: &'a str,
    /// The person's GitHub token, encrypted with the agent's token.
    pub sealed: &'a str,
}

/// A stored token, for the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTokenRow {
    /// Number.
    pub id: i64,
    /// Hash of the token.
    pub hash: String,
    /// Login of the person.
    pub who: String,
    /// What the person calls it.
    pub name: String,
    /// Time of creation.
    pub created_at: UnixMillis,
    /// Time after which it is not accepted.
    pub expires_at: UnixMillis,
}

impl Store {
    /// Deletes expired tokens and stores a new one, unless the person has the maximum.
    pub async fn add_agent_token(&self, token: &NewAgentToken<'_>) -> StoreResult<()> {
        let NewAgentToken { hash, who, name, sealed } = token;
        let mut transaction = self.write().await?;
        let now = self.now();
        query!("DELETE FROM agent_tokens WHERE expires_at <= $1", [now.0])
            .execute(&mut *transaction)
            .await?;
        let row = query!("SELECT COUNT(*) AS count FROM agent_tokens WHERE who = $1", [*who])
            .fetch_one(&mut *transaction)
            .await?;
        if integer(&row, "count")? >= TOKENS_MAX {
            let message = format!("you have {TOKENS_MAX} tokens: revoke one first");
            return Err(StoreError::Refused(message));
        }
        query!(
            "INSERT INTO agent_tokens (hash, who, name, sealed, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6)",
            [*hash, *who, *name, *sealed, now.0, now.plus_ms(TOKEN_MS).0]
        )
        .execute(&mut *transaction)
        .await?;
        audit::insert(&mut transaction, now, who, "create agent token", name, "").await?;
        transaction.commit().await?;
        Ok(())
    }

    /// The encrypted GitHub token that belongs to a valid agent token.
    pub async fn sealed_by(&self, hash: &str) -> StoreResult<Option<String>> {
        let row = query!(
            "SELECT sealed FROM agent_tokens WHERE hash = $1 AND expires_at > $2",
            [hash, self.now().0]
        )
        .fetch_optional(&self.reader)
        .await?;
        row.map(|row| text(&row, "sealed")).transpose()
    }

    /// Valid tokens of a person, or of all people, newest first.
    pub async fn agent_tokens(&self, who: Option<&str>) -> StoreResult<Vec<AgentTokenRow>> {
        let query = query!(
            "SELECT id, hash, who, name, created_at, expires_at FROM agent_tokens \
             WHERE expires_at > $1 AND ($2 = '' OR who = $2) ORDER BY id DESC",
            [self.now().0, who.unwrap_or_default()]
        );
        self.read_all(query, |row| {
            Ok(AgentTokenRow {
                id: integer(row, "id")?,
                hash: text(row, "hash")?,
                who: text(row, "who")?,
                name: text(row, "name")?,
                created_at: time(row, "created_at")?,
                expires_at: time(row, "expires_at")?,
            })
        })
        .await
    }

    /// Deletes a token. `who` is the person who does it.
    pub async fn revoke_agent_token(&self, token: &AgentTokenRow, who: &str) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        query!("DELETE FROM agent_tokens WHERE id = $1", [token.id])
            .execute(&mut *transaction)
            .await?;
        let (now, owner) = (self.now(), format!("of {}", token.who));
        audit::insert(&mut transaction, now, who, "revoke agent token", &token.name, &owner)
            .await?;
        transaction.commit().await?;
        Ok(())
    }
}
