//! Spending per day and month, and reservations before a review starts.
//!
//! A reservation counts in full until it is settled. The reservation of a lost attempt is settled
//! by the attempt that resumes its run, whose cost includes the lost one's. Otherwise it counts
//! until its UTC day is over.

use sqlx::{Any, Transaction};

use super::{LockScope, Store, StoreResult, count, integer, lock_name};
use crate::{
    clock::{UnixMillis, month_of},
    job::{InstallationId, JobId},
};

/// Millionths of a US dollar.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct MicroUsd(pub i64);

impl MicroUsd {
    /// Converts dollars, rounded up, so that no cost is lost. Negative and not finite amounts are
    /// 0.
    pub fn from_usd(usd: f64) -> Self {
        // A cast saturates, so a huge amount stays huge.
        if usd.is_finite() && usd > 0.0 { Self((usd * 1e6).ceil() as i64) } else { Self(0) }
    }

    /// Dollars.
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// Installation and repository whose limits apply to a cost.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BudgetScope {
    /// Host name of the forge.
    pub forge: String,
    /// Installation.
    pub installation: InstallationId,
    /// `OWNER/NAME`.
    pub repository: String,
}

/// Limits of a repository or an installation. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeLimits {
    /// Reviews that run at the same time.
    pub concurrent_reviews: Option<u32>,
    /// Reviews that start on one UTC day.
    pub reviews_per_day: Option<u32>,
    /// Money of one UTC day.
    pub usd_per_day: Option<MicroUsd>,
    /// Money of one calendar month in UTC.
    pub usd_per_month: Option<MicroUsd>,
}

/// All limits. They hold across workers, because the store checks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetLimits {
    /// Limits of each repository.
    pub repository: ScopeLimits,
    /// Limits of each installation.
    pub installation: ScopeLimits,
}

/// Request for money before an attempt.
#[derive(Debug, Clone, Copy)]
pub struct BudgetRequest<'a> {
    /// Job that spends it. Several attempts of a job on one day count as one review.
    pub job: JobId,
    /// Installation and repository that pay.
    pub scope: &'a BudgetScope,
    /// Highest possible cost.
    pub amount: MicroUsd,
    /// Limits of the installation and the repository.
    pub limits: &'a BudgetLimits,
    /// What the money is for.
    pub purpose: BudgetPurpose,
}

/// What money is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetPurpose {
    /// A review, which also counts for the limit of reviews per day.
    Review,
    /// An answer to a reply.
    Reply,
}

/// Money that is set aside for an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetReservation {
    id: i64,
}

/// Answer to a request for money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetDecision {
    /// The money is set aside.
    Granted(BudgetReservation),
    /// A limit is reached.
    Refused {
        /// One sentence that names the limit.
        reason: String,
        /// When the limit starts anew.
        until: UnixMillis,
    },
}

/// What was spent or is set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Spending {
    /// Money of the current UTC day.
    pub today: MicroUsd,
    /// Money of the current month.
    pub month: MicroUsd,
    /// Reviews of the current UTC day.
    pub reviews_today: u64,
}

/// Sums of a day and a month under a condition on the repository.
macro_rules! sums {
    ($condition:literal) => {
        concat!(
            "SELECT CAST(COALESCE(SUM(CASE WHEN day = $1 THEN micro_usd ELSE 0 END), 0) AS BIGINT) AS today, \
             CAST(COALESCE(SUM(CASE WHEN day = $1 THEN reviews ELSE 0 END), 0) AS BIGINT) AS reviews, \
             CAST(COALESCE(SUM(micro_usd), 0) AS BIGINT) AS month \
             FROM spending WHERE day >= $2 AND day < $3 AND forge = $4 AND installation = $5",
            $condition
        )
    };
}

impl Store {
    /// What a repository spent, with reservations that are not settled.
    pub async fn spending(&self, scope: &BudgetScope) -> StoreResult<Spending> {
        let mut connection = self.reader.acquire().await?;
        repository_spending(&mut connection, scope, self.now().day()).await
    }

    /// What all repositories of an installation spent.
    pub async fn installation_spending(
        &self,
        forge: &str,
        installation: InstallationId,
    ) -> StoreResult<Spending> {
        let mut connection = self.reader.acquire().await?;
        installation_spending(&mut connection, forge, installation, self.now().day()).await
    }

    /// Sets money aside, if all limits allow it.
    pub async fn reserve(&self, request: &BudgetRequest<'_>) -> StoreResult<BudgetDecision> {
        let scope = request.scope;
        let mut transaction = self.write().await?;
        let name = lock_name(&[&scope.forge, &scope.installation.to_string()]);
        self.lock(&mut transaction, LockScope::Budget, name).await?;
        let now = self.now();
        let day = now.day();
        // If true, the reservation adds nothing to the number of reviews of the day.
        let counted = match request.purpose {
            BudgetPurpose::Review => is_counted(&mut transaction, request.job, day).await?,
            BudgetPurpose::Reply => true,
        };
        let repository = repository_spending(&mut transaction, scope, day).await?;
        let installation =
            installation_spending(&mut transaction, &scope.forge, scope.installation, day).await?;
        for (owner, limits, spending) in [
            (format!("repository {}", scope.repository), &request.limits.repository, repository),
            ("this installation".to_owned(), &request.limits.installation, installation),
        ] {
            if let Some((reason, until)) =
                exceeded(&owner, limits, &spending, request, counted, day)
            {
                return Ok(BudgetDecision::Refused { reason, until });
            }
        }
        let reservation = insert_reservation(&mut transaction, request, day).await?;
        let reviews = i64::from(!counted);
        add_spending(&mut transaction, scope, day, request.amount.0, reviews).await?;
        transaction.commit().await?;
        Ok(BudgetDecision::Granted(reservation))
    }

    /// Replaces a reservation by the real cost. Doing it twice changes nothing.
    pub async fn settle(&self, reservation: BudgetReservation, spent: MicroUsd) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        settle_in(&mut transaction, reservation.id, spent).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Like [`Store::settle`], for a run that resumed an earlier one: its cost includes what lost
    /// attempts of the job spent, so their reservations are released.
    pub async fn settle_resumed(
        &self,
        job: JobId,
        reservation: BudgetReservation,
        spent: MicroUsd,
    ) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        let lost = query!(
            "SELECT id FROM reservations WHERE job = $1 AND settled = 0 AND id < $2",
            [job.0, reservation.id]
        )
        .fetch_all(&mut *transaction)
        .await?;
        for row in &lost {
            settle_in(&mut transaction, integer(row, "id")?, MicroUsd(0)).await?;
        }
        settle_in(&mut transaction, reservation.id, spent).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Releases the reservations of lost attempts from before this UTC day. Returns how many there
    /// were.
    pub async fn release_lost(&self) -> StoreResult<u64> {
        let mut transaction = self.write().await?;
        let lost = query!(
            "SELECT id FROM reservations WHERE settled = 0 AND day < $1 \
             AND job NOT IN (SELECT id FROM jobs WHERE state = 'running')",
            [self.now().day()]
        )
        .fetch_all(&mut *transaction)
        .await?;
        for row in &lost {
            settle_in(&mut transaction, integer(row, "id")?, MicroUsd(0)).await?;
        }
        transaction.commit().await?;
        Ok(lost.len() as u64)
    }
}

async fn settle_in(
    transaction: &mut Transaction<'static, Any>,
    reservation: i64,
    spent: MicroUsd,
) -> StoreResult<()> {
    let rows = query!(
        "UPDATE reservations SET settled = 1 WHERE id = $1 AND settled = 0 \
         RETURNING forge, installation, repository, day, micro_usd",
        [reservation]
    )
    .fetch_all(&mut **transaction)
    .await?;
    let Some(row) = rows.first() else { return Ok(()) };
    let scope = BudgetScope {
        forge: super::text(row, "forge")?,
        installation: InstallationId(integer(row, "installation")?),
        repository: super::text(row, "repository")?,
    };
    let difference = spent.0.saturating_sub(integer(row, "micro_usd")?);
    add_spending(transaction, &scope, integer(row, "day")?, difference, 0).await
}

/// The first limit that a request would exceed, and when it starts anew.
fn exceeded(
    owner: &str,
    limits: &ScopeLimits,
    spending: &Spending,
    request: &BudgetRequest<'_>,
    counted: bool,
    day: i64,
) -> Option<(String, UnixMillis)> {
    let amount = request.amount;
    let work = match request.purpose {
        BudgetPurpose::Review => "a review",
        BudgetPurpose::Reply => "an answer",
    };
    let tomorrow = UnixMillis::from_day(day + 1);
    if let Some(limit) = limits.reviews_per_day
        && !counted
        && spending.reviews_today >= u64::from(limit)
    {
        return Some((format!("the limit of {owner} is {limit} reviews per day"), tomorrow));
    }
    let next_month = UnixMillis::from_day(month_of(day).1);
    for (limit, spent, period, until) in [
        (limits.usd_per_day, spending.today, "day", tomorrow),
        (limits.usd_per_month, spending.month, "month", next_month),
    ] {
        if let Some(limit) = limit
            && spent.0.saturating_add(amount.0) > limit.0
        {
            let reason = format!(
                "the limit of {owner} is {:.2} USD per {period}: {:.2} USD are spent or reserved, \
                 and {work} may cost {:.2} USD",
                limit.as_usd(),
                spent.as_usd(),
                amount.as_usd(),
            );
            return Some((reason, until));
        }
    }
    None
}

async fn is_counted(
    transaction: &mut Transaction<'static, Any>,
    job: JobId,
    day: i64,
) -> StoreResult<bool> {
    let row = query!(
        "SELECT 1 AS found FROM reservations WHERE job = $1 AND day = $2 LIMIT 1",
        [job.0, day]
    )
    .fetch_optional(&mut **transaction)
    .await?;
    Ok(row.is_some())
}

async fn insert_reservation(
    transaction: &mut Transaction<'static, Any>,
    request: &BudgetRequest<'_>,
    day: i64,
) -> StoreResult<BudgetReservation> {
    let rows = query!(
        "INSERT INTO reservations (job, forge, installation, repository, day, micro_usd, settled) \
         VALUES ($1, $2, $3, $4, $5, $6, 0) RETURNING id",
        [
            request.job.0,
            &request.scope.forge,
            request.scope.installation.0,
            &request.scope.repository,
            day,
            request.amount.0,
        ]
    )
    .fetch_all(&mut **transaction)
    .await?;
    let row =
        rows.first().ok_or_else(|| super::StoreError::Content("no new reservation".to_owned()))?;
    Ok(BudgetReservation { id: integer(row, "id")? })
}

async fn add_spending(
    transaction: &mut Transaction<'static, Any>,
    scope: &BudgetScope,
    day: i64,
    micro_usd: i64,
    reviews: i64,
) -> StoreResult<()> {
    query!(
        "INSERT INTO spending (forge, installation, repository, day, micro_usd, reviews) \
         VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (forge, installation, repository, day) DO UPDATE SET \
         micro_usd = spending.micro_usd + excluded.micro_usd, reviews = spending.reviews + excluded.reviews",
        [&scope.forge, scope.installation.0, &scope.repository, day, micro_usd, reviews]
    )
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

async fn repository_spending(
    connection: &mut sqlx::AnyConnection,
    scope: &BudgetScope,
    day: i64,
) -> StoreResult<Spending> {
    let (first, next) = month_of(day);
    let row = query!(
        sums!(" AND repository = $6"),
        [day, first, next, &scope.forge, scope.installation.0, &scope.repository]
    )
    .fetch_one(connection)
    .await?;
    spending_from_row(&row)
}

async fn installation_spending(
    connection: &mut sqlx::AnyConnection,
    forge: &str,
    installation: InstallationId,
    day: i64,
) -> StoreResult<Spending> {
    let (first, next) = month_of(day);
    let row =
        query!(sums!(""), [day, first, next, forge, installation.0]).fetch_one(connection).await?;
    spending_from_row(&row)
}

fn spending_from_row(row: &sqlx::any::AnyRow) -> StoreResult<Spending> {
    Ok(Spending {
        today: MicroUsd(integer(row, "today")?),
        month: MicroUsd(integer(row, "month")?),
        reviews_today: count(row, "reviews")?,
    })
}
