//! Migrations: a numbered list of SQL texts, applied once each, in one transaction under a lock.

use super::{Dialect, LockScope, Store, StoreError, StoreResult, integer};

/// One text per version, the first is version 1. Never edit one that was released: add another.
const MIGRATIONS: [&str; 5] = [
    include_str!("../../migrations/0001-start.sql"),
    include_str!("../../migrations/0002-comments.sql"),
    include_str!("../../migrations/0003-agents.sql"),
    include_str!("../../migrations/0004-outcomes.sql"),
    include_str!("../../migrations/0005-answers.sql"),
];

impl Store {
    pub(super) async fn migrate(&self) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        self.lock(&mut transaction, LockScope::Migration, 0).await?;
        sqlx::query("CREATE TABLE IF NOT EXISTS crh_schema (version BIGINT NOT NULL)")
            .execute(&mut *transaction)
            .await?;
        let row = sqlx::query(
            "SELECT CAST(COALESCE(MAX(version), 0) AS BIGINT) AS version FROM crh_schema",
        )
        .fetch_one(&mut *transaction)
        .await?;
        let found = integer(&row, "version")?;
        let known = MIGRATIONS.len() as i64;
        if found > known {
            return Err(StoreError::NewerSchema { found, known });
        }
        let serial = match self.dialect {
            Dialect::Sqlite => "INTEGER PRIMARY KEY AUTOINCREMENT",
            Dialect::Postgres => "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        };
        for (version, text) in (1..).zip(MIGRATIONS).filter(|(version, _)| *version > found) {
            let sql = text.replace("{serial}", serial);
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *transaction).await?;
            query!("INSERT INTO crh_schema (version) VALUES ($1)", [version])
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(())
    }
}
