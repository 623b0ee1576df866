//! The database: one API over SQLite and PostgreSQL.
//!
//! Every write is one transaction. SQLite serialises all writers with `BEGIN IMMEDIATE`. PostgreSQL
//! serialises those that take the same advisory lock, which ends with the transaction.
//! Both run the same SQL; the few differences go through `Dialect`.

/// A query with the values of its parameters.
macro_rules! query {
    ($sql:expr, [$($value:expr),+ $(,)?]) => {
        sqlx::query($sql)$(.bind($value))+
    };
}

mod accounts;
mod agent_tokens;
mod answers;
mod audit;
mod batch;
mod database_url;
mod dismissals;
mod health;
mod jobs;
mod leases;
mod outcomes;
mod page_queries;
mod retention;
mod reviews;
mod schema;
mod spending;
mod workers;

use sqlx::{
    Any, AnyPool, ConnectOptions as _, Connection as _, Transaction,
    any::{AnyArguments, AnyPoolOptions, AnyRow},
    query::Query,
};
use std::{path::Path, sync::Arc, time::Duration};

use crate::clock::{Clock, UnixMillis};

pub use accounts::{Installation, InstalledRepository};
pub use agent_tokens::{AgentTokenRow, NewAgentToken};
pub use audit::AuditEntry;
use batch::AcceptBatch;
pub use database_url::DatabaseUrl;
pub use dismissals::NewDismissal;
use health::StoreHealth;
pub use jobs::{Acceptance, Delivery, JobFilter, QueueCounts};
pub use leases::{ClaimRequest, Deferral, LeaseEnd};
pub use outcomes::{IssueOutcome, OutcomeSum};
pub use page_queries::QueueTotals;
pub use retention::RemovedRows;
pub use reviews::{NewReview, ReviewFilter, StoredReview, TrendDay};
pub use spending::{
    BudgetDecision, BudgetLimits, BudgetPurpose, BudgetRequest, BudgetReservation, BudgetScope,
    MicroUsd, ScopeLimits, Spending,
};
pub use workers::WorkerRow;

/// Maximum connections of one process to PostgreSQL, and maximum readers of SQLite. A few are
/// enough, because workers mostly wait for children.
const CONNECTIONS: u32 = 6;

/// Longest wait for a connection, also while the database is down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A database that holds jobs, reviews, spending and the audit log. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Store {
    writer: AnyPool,
    reader: AnyPool,
    dialect: Dialect,
    clock: Clock,
    batch: Arc<AcceptBatch>,
    health: Arc<StoreHealth>,
}

/// Why a request to the store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is down, busy, or its disk is full. Trying again later can help.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// The lease expired, or another worker took the job.
    #[error("the lease of this job was lost")]
    StaleLease,
    /// The store has no such row.
    #[error("{0} does not exist")]
    Missing(String),
    /// The state of the row does not permit the request.
    #[error("{0}")]
    Refused(String),
    /// The address of the database is wrong.
    #[error("{0}")]
    Address(String),
    /// A newer crh migrated this database.
    #[error("the database has schema {found}, but this crh knows only {known}: update crh")]
    NewerSchema {
        /// Version in the database.
        found: i64,
        /// Newest version that this program knows.
        known: i64,
    },
    /// The database has content that this program cannot read.
    #[error("the database has unexpected content: {0}")]
    Content(String),
}

/// Result of a method of the store.
pub type StoreResult<T> = Result<T, StoreError>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Sqlite,
    Postgres,
}

/// Kinds of advisory locks: the first number of PostgreSQL's lock. The second number is a hash of
/// what is locked.
#[derive(Debug, Clone, Copy)]
enum LockScope {
    Migration = 1,
    Claim = 2,
    Change = 3,
    Budget = 4,
}

impl Store {
    /// Opens a database, creates it if it is a missing SQLite file, and brings its schema up to
    /// date. Several processes may open the same database at once: one migrates, the others wait.
    pub async fn open(url: &DatabaseUrl) -> StoreResult<Self> {
        Self::open_with_clock(url, Clock::system()).await
    }

    /// Like [`Store::open`], with a given clock. Tests pass a fixed one.
    pub async fn open_with_clock(url: &DatabaseUrl, clock: Clock) -> StoreResult<Self> {
        sqlx::any::install_default_drivers();
        let (dialect, writers) = match url {
            DatabaseUrl::Sqlite(_) => (Dialect::Sqlite, 1),
            DatabaseUrl::Postgres(_) => (Dialect::Postgres, CONNECTIONS),
        };
        if let DatabaseUrl::Sqlite(path) = url {
            create_file(path)?;
        }
        // Connects once without a pool, because that error has the reason. A pool would only report
        // a timeout.
        url.connect_options()?.connect().await?.close().await?;
        let writer = pool(url, dialect, writers).await?;
        let reader = match dialect {
            Dialect::Sqlite => pool(url, dialect, CONNECTIONS).await?,
            Dialect::Postgres => writer.clone(),
        };
        let batch = Arc::new(AcceptBatch::default());
        let store = Self { writer, reader, dialect, clock, batch, health: Arc::default() };
        store.migrate().await?;
        if let DatabaseUrl::Sqlite(path) = url {
            protect_file(path);
        }
        store.sync_clock().await?;
        Ok(store)
    }

    /// The current time, as the database sees it.
    pub fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// Makes the clock follow PostgreSQL's clock. Workers call it with each sign of life.
    pub async fn sync_clock(&self) -> StoreResult<()> {
        if self.dialect == Dialect::Postgres {
            let row = sqlx::query(
                "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now",
            )
            .fetch_one(&self.reader)
            .await?;
            self.clock.follow(UnixMillis(integer(&row, "now")?));
        }
        Ok(())
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.writer.close().await;
        self.reader.close().await;
    }

    async fn write(&self) -> StoreResult<Transaction<'static, Any>> {
        Ok(match self.dialect {
            Dialect::Sqlite => self.writer.begin_with("BEGIN IMMEDIATE").await?,
            Dialect::Postgres => self.writer.begin().await?,
        })
    }

    /// What `read` makes of the rows of a query.
    async fn read_all<T, C: FromIterator<T>>(
        &self,
        query: Query<'_, Any, AnyArguments>,
        read: impl Fn(&AnyRow) -> StoreResult<T>,
    ) -> StoreResult<C> {
        query.fetch_all(&self.reader).await?.iter().map(read).collect()
    }

    /// Waits for an advisory lock that ends with the transaction. Does nothing with SQLite, which
    /// has one writer at a time.
    async fn lock(
        &self,
        transaction: &mut Transaction<'static, Any>,
        scope: LockScope,
        name: i32,
    ) -> StoreResult<()> {
        if self.dialect == Dialect::Postgres {
            query!("SELECT pg_advisory_xact_lock($1, $2)", [scope as i32, name])
                .execute(&mut **transaction)
                .await?;
        }
        Ok(())
    }
}

async fn pool(url: &DatabaseUrl, dialect: Dialect, connections: u32) -> StoreResult<AnyPool> {
    let options = AnyPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(CONNECT_TIMEOUT)
        // A full disk can end a transaction in a way that its connection does not notice.
        .before_acquire(|connection, _| {
            Box::pin(async move { Ok(!connection.is_in_transaction()) })
        })
        .after_connect(move |connection, _| {
            Box::pin(async move {
                if dialect == Dialect::Sqlite {
                    // FULL: an accepted delivery survives a power failure too.
                    for pragma in [
                        "PRAGMA busy_timeout = 10000",
                        "PRAGMA journal_mode = WAL",
                        "PRAGMA synchronous = FULL",
                    ] {
                        sqlx::query(pragma).execute(&mut *connection).await?;
                    }
                }
                Ok(())
            })
        });
    Ok(options.connect_with(url.connect_options()?).await?)
}

/// Creates the file of a new database for this user alone. SQLite gives its other files the same
/// mode.
fn create_file(path: &Path) -> StoreResult<()> {
    use std::io::ErrorKind;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    match options.create_new(true).write(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => {
            let reason = format!("cannot create `{}`: {error}", path.display());
            Err(StoreError::Unavailable(reason))
        }
    }
}

/// Removes other users' access to an existing database.
fn protect_file(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for suffix in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        let private = std::fs::Permissions::from_mode(0o600);
        match std::fs::set_permissions(&file, private) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            // The file may belong to another user who lets this one write.
            Err(error) => {
                tracing::warn!(%error, "cannot keep other users from reading the database");
            }
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Configuration(reason) => Self::Address(reason.to_string()),
            sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::Decode(_)
            | sqlx::Error::Encode(_)
            | sqlx::Error::AnyDriverError(_) => Self::Content(error.to_string()),
            sqlx::Error::PoolTimedOut => {
                let seconds = CONNECT_TIMEOUT.as_secs();
                Self::Unavailable(format!("it gave no connection within {seconds} seconds"))
            }
            sqlx::Error::PoolClosed => Self::Unavailable("the server stops".to_owned()),
            sqlx::Error::Io(error) => Self::Unavailable(error.to_string()),
            sqlx::Error::Database(error) => {
                let message = error.message().to_owned();
                // PostgreSQL's codes of a wrong login and of a missing database.
                let is_setting = |code: &str| code.starts_with("28") || code == "3D000";
                if error.code().is_some_and(|code| is_setting(&code)) {
                    Self::Address(format!("the database refuses the login: {message}"))
                } else {
                    Self::Unavailable(message)
                }
            }
            other => Self::Unavailable(other.to_string()),
        }
    }
}

/// A 32-bit hash for advisory locks. A collision only makes a transaction wait for another one.
fn lock_name(parts: &[&str]) -> i32 {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digest = hash.finalize();
    i32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

fn integer(row: &AnyRow, column: &str) -> StoreResult<i64> {
    use sqlx::Row;
    Ok(row.try_get::<i64, _>(column)?)
}

fn text(row: &AnyRow, column: &str) -> StoreResult<String> {
    use sqlx::Row;
    Ok(row.try_get::<String, _>(column)?)
}

fn time(row: &AnyRow, column: &str) -> StoreResult<UnixMillis> {
    integer(row, column).map(UnixMillis)
}

fn count(row: &AnyRow, column: &str) -> StoreResult<u64> {
    u64::try_from(integer(row, column)?)
        .map_err(|_| StoreError::Content(format!("`{column}` is negative")))
}
