//! Times as values. [`Clock`] is the only code of the server that reads the system's time.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970 UTC.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct UnixMillis(pub i64);

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

impl UnixMillis {
    /// This time plus a number of milliseconds.
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Days since 1970 UTC.
    pub fn day(self) -> i64 {
        self.0.div_euclid(DAY_MS)
    }

    /// The first moment of a day, given in days since 1970 UTC.
    pub fn from_day(day: i64) -> Self {
        Self(day * DAY_MS)
    }
}

/// The first day of the month of `day`, and the first day of the next month. All are days since
/// 1970 UTC.
pub fn month_of(day: i64) -> (i64, i64) {
    let day_of_month = civil_day_of_month(day);
    let first = day - (day_of_month - 1);
    // The 1st plus 31 days lies in the next month, at most three days after its first.
    let within_next = first + 31;
    (first, within_next - (civil_day_of_month(within_next) - 1))
}

/// Day of the month in the Gregorian calendar, from 1, of a day since 1970.
/// Counts in eras of 400 years that start on 1 March.
fn civil_day_of_month(day: i64) -> i64 {
    let day_of_era = (day + 719_468).rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    day_of_year - (153 * month + 2) / 5 + 1
}

/// Source of the current time.
///
/// The clock of a PostgreSQL store follows the database's clock, so that workers with different
/// clocks agree on leases. A fixed clock moves only when a test moves it.
#[derive(Debug, Clone)]
pub struct Clock {
    kind: ClockKind,
    /// Offset from the system clock, or the fixed time, in milliseconds.
    value: Arc<AtomicI64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClockKind {
    System,
    Fixed,
}

impl Clock {
    /// The clock of this machine, until the store corrects it.
    pub fn system() -> Self {
        Self { kind: ClockKind::System, value: Arc::new(AtomicI64::new(0)) }
    }

    /// A clock that stands still.
    pub fn fixed(at: UnixMillis) -> Self {
        Self { kind: ClockKind::Fixed, value: Arc::new(AtomicI64::new(at.0)) }
    }

    /// The current time.
    pub fn now(&self) -> UnixMillis {
        let value = self.value.load(Ordering::Relaxed);
        match self.kind {
            ClockKind::System => UnixMillis(system_ms().saturating_add(value)),
            ClockKind::Fixed => UnixMillis(value),
        }
    }

    /// Moves a fixed clock forward. Does nothing to a system clock.
    pub fn advance_ms(&self, ms: i64) {
        if self.kind == ClockKind::Fixed {
            self.value.fetch_add(ms, Ordering::Relaxed);
        }
    }

    /// Makes a system clock follow another clock that shows `reference` now.
    pub(crate) fn follow(&self, reference: UnixMillis) {
        if self.kind == ClockKind::System {
            self.value.store(reference.0.saturating_sub(system_ms()), Ordering::Relaxed);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place of the server that reads the time")]
fn system_ms() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .ok()
        .and_then(|elapsed| i64::try_from(elapsed.as_millis()).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_start_and_end_where_the_calendar_says() {
        // 2024-02-29, 2023-02-01, 2026-12-31, 1970-01-01, 2000-03-01
        for (day, month) in [
            (19_782, (19_754, 19_783)),
            (19_389, (19_389, 19_417)),
            (20_818, (20_788, 20_819)),
            (0, (0, 31)),
            (11_017, (11_017, 11_048)),
        ] {
            assert_eq!(month_of(day), month, "day {day}");
        }
    }
}
