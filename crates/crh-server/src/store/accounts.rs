//! Installations, their repositories, and paused pull requests.

use super::{
    LockScope, Store, StoreError, StoreResult, audit, integer, jobs, lock_name, text, time,
};
use crate::{
    clock::UnixMillis,
    job::{ChangeId, InstallationId, JobState},
};

/// A GitHub App's installation in an account.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Installation {
    /// Host name of the forge.
    pub forge: String,
    /// The forge's number.
    pub id: InstallationId,
    /// Name of the account.
    pub account: String,
    /// Whether the account's owner suspended it.
    pub suspended: bool,
    /// Time at which the store first saw the installation. Only the store sets this time.
    pub created_at: UnixMillis,
}

/// A repository that an installation may use.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct InstalledRepository {
    /// `OWNER/NAME`.
    pub name: String,
    /// Whether it is private.
    pub private: bool,
    /// Settings as last read from the base branch, as text. Empty if unknown.
    pub settings: String,
}

/// Reason of running jobs of a removed installation. Their rows are deleted when they end.
pub(super) const UNINSTALLED: &str = "the installation was removed";

impl Store {
    /// Adds or updates an installation. If it is suspended, its waiting jobs are cancelled and
    /// running ones stop.
    pub async fn save_installation(&self, installation: &Installation) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        query!(
            "INSERT INTO installations (forge, id, account, suspended, created_at) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (forge, id) DO UPDATE SET account = excluded.account, suspended = excluded.suspended",
            [
                &installation.forge, installation.id.0, &installation.account,
                i64::from(installation.suspended), self.now().0,
            ]
        )
        .execute(&mut *transaction)
        .await?;
        if installation.suspended {
            let reason = "the installation is suspended";
            self.stop_installation(&mut transaction, &installation.forge, installation.id, reason)
                .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// All installations.
    pub async fn installations(&self) -> StoreResult<Vec<Installation>> {
        let query = sqlx::query(
            "SELECT forge, id, account, suspended, created_at FROM installations ORDER BY forge, id",
        );
        self.read_all(query, |row| {
            Ok(Installation {
                forge: text(row, "forge")?,
                id: InstallationId(integer(row, "id")?),
                account: text(row, "account")?,
                suspended: integer(row, "suspended")? != 0,
                created_at: time(row, "created_at")?,
            })
        })
        .await
    }

    /// Whether the store knows an installation.
    pub async fn is_installed(
        &self,
        forge: &str,
        installation: InstallationId,
    ) -> StoreResult<bool> {
        let row = query!(
            "SELECT 1 AS found FROM installations WHERE forge = $1 AND id = $2",
            [forge, installation.0]
        )
        .fetch_optional(&self.reader)
        .await?;
        Ok(row.is_some())
    }

    /// Whether any job belongs to an installation with this number, at any forge.
    pub async fn has_jobs(&self, installation: InstallationId) -> StoreResult<bool> {
        let row =
            query!("SELECT 1 AS found FROM jobs WHERE installation = $1 LIMIT 1", [installation.0])
                .fetch_optional(&self.reader)
                .await?;
        Ok(row.is_some())
    }

    /// Adds some repositories of an installation and removes others. Settings of a known repository
    /// are kept.
    pub async fn change_repositories(
        &self,
        forge: &str,
        installation: InstallationId,
        added: &[InstalledRepository],
        removed: &[String],
    ) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        let lock = lock_name(&[forge, &installation.to_string(), "repositories"]);
        self.lock(&mut transaction, LockScope::Change, lock).await?;
        for repository in added {
            query!(
                "INSERT INTO repositories (forge, name, installation, private, settings) VALUES ($1, $2, $3, $4, $5) \
                 ON CONFLICT (forge, name) DO UPDATE SET installation = excluded.installation, \
                 private = excluded.private",
                [
                    forge, &repository.name, installation.0,
                    i64::from(repository.private), &repository.settings,
                ]
            )
            .execute(&mut *transaction)
            .await?;
        }
        for name in removed {
            query!(
                "DELETE FROM repositories WHERE forge = $1 AND installation = $2 AND name = $3",
                [forge, installation.0, name]
            )
            .execute(&mut *transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Repositories of an installation, by name.
    pub async fn repositories_of(
        &self,
        forge: &str,
        installation: InstallationId,
    ) -> StoreResult<Vec<InstalledRepository>> {
        let query = query!(
            "SELECT name, private, settings FROM repositories WHERE forge = $1 AND installation = $2 ORDER BY name",
            [forge, installation.0]
        );
        self.read_all(query, |row| {
            Ok(InstalledRepository {
                name: text(row, "name")?,
                private: integer(row, "private")? != 0,
                settings: text(row, "settings")?,
            })
        })
        .await
    }

    /// The installation that may use a repository.
    pub async fn installation_of(
        &self,
        forge: &str,
        repository: &str,
    ) -> StoreResult<InstallationId> {
        let row = query!(
            "SELECT installation FROM repositories WHERE forge = $1 AND name = $2",
            [forge, repository]
        )
        .fetch_optional(&self.reader)
        .await?
        .ok_or_else(|| StoreError::Missing(format!("repository {repository}")))?;
        integer(&row, "installation").map(InstallationId)
    }

    /// Keeps the settings of a repository as read from its base branch, for the page.
    pub async fn save_settings(
        &self,
        forge: &str,
        repository: &str,
        settings: &str,
    ) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        query!(
            "UPDATE repositories SET settings = $3 WHERE forge = $1 AND name = $2",
            [forge, repository, settings]
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Deletes an installation after an uninstall: its repositories with their pauses, dismissals,
    /// outcomes and answers, its reviews, and its jobs except for running ones, which stop and are
    /// deleted when they end. Spending and the audit log stay. Workers remove its folders.
    pub async fn remove_installation(
        &self,
        forge: &str,
        installation: InstallationId,
        who: &str,
    ) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        self.stop_installation(&mut transaction, forge, installation, UNINSTALLED).await?;
        for sql in [
            "DELETE FROM pauses WHERE forge = $1 AND repository IN \
             (SELECT name FROM repositories WHERE forge = $1 AND installation = $2)",
            "DELETE FROM last_issues WHERE forge = $1 AND repository IN \
             (SELECT name FROM repositories WHERE forge = $1 AND installation = $2)",
            "DELETE FROM dismissals WHERE forge = $1 AND repository IN \
             (SELECT name FROM repositories WHERE forge = $1 AND installation = $2)",
            "DELETE FROM outcomes WHERE forge = $1 AND repository IN \
             (SELECT name FROM repositories WHERE forge = $1 AND installation = $2)",
            "DELETE FROM answers WHERE forge = $1 AND repository IN \
             (SELECT name FROM repositories WHERE forge = $1 AND installation = $2)",
            "DELETE FROM repositories WHERE forge = $1 AND installation = $2",
            "DELETE FROM reports WHERE review IN (SELECT id FROM reviews WHERE forge = $1 AND installation = $2)",
            "DELETE FROM reviews WHERE forge = $1 AND installation = $2",
            "DELETE FROM jobs WHERE forge = $1 AND installation = $2 AND state <> 'running'",
            "DELETE FROM installations WHERE forge = $1 AND id = $2",
        ] {
            query!(sql, [forge, installation.0]).execute(&mut *transaction).await?;
        }
        let target = format!("installation {installation} of {forge}");
        audit::insert(&mut transaction, self.now(), who, "uninstall", &target, "").await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Stops automatic reviews of a pull request. Waiting reviews end, and a running one stops.
    pub async fn pause(&self, change: &ChangeId, who: &str) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        self.lock(&mut transaction, LockScope::Change, jobs::change_lock(change)).await?;
        let now = self.now();
        let reason = "the pull request is paused";
        jobs::stop_reviews(&mut transaction, change, "", JobState::Superseded, reason, now).await?;
        query!(
            "INSERT INTO pauses (forge, repository, change_id, who, at) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (forge, repository, change_id) DO NOTHING",
            [&change.forge, &change.repository, &change.number, who, now.0]
        )
        .execute(&mut *transaction)
        .await?;
        audit::insert(&mut transaction, now, who, "pause", &change.to_string(), "").await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Allows automatic reviews of a pull request again. The caller adds a review of the current
    /// head.
    pub async fn resume(&self, change: &ChangeId, who: &str) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        query!(
            "DELETE FROM pauses WHERE forge = $1 AND repository = $2 AND change_id = $3",
            [&change.forge, &change.repository, &change.number]
        )
        .execute(&mut *transaction)
        .await?;
        audit::insert(&mut transaction, self.now(), who, "resume", &change.to_string(), "").await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Whether a pull request is paused.
    pub async fn is_paused(&self, change: &ChangeId) -> StoreResult<bool> {
        let mut connection = self.reader.acquire().await?;
        jobs::is_paused_in(&mut connection, change).await
    }

    async fn stop_installation(
        &self,
        connection: &mut sqlx::AnyConnection,
        forge: &str,
        installation: InstallationId,
        reason: &str,
    ) -> StoreResult<()> {
        query!(
            "UPDATE jobs SET \
             state = CASE WHEN state = 'waiting' THEN 'cancelled' ELSE state END, \
             stop = CASE WHEN state = 'running' THEN 'cancelled' ELSE stop END, \
             reason = $3, changed_at = $4 \
             WHERE forge = $1 AND installation = $2 AND state IN ('waiting', 'running')",
            [forge, installation.0, reason, self.now().0]
        )
        .execute(connection)
        .await?;
        Ok(())
    }
}
