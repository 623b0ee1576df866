//! A UTC time with second precision, as in names of run folders: `20261115T123726Z`.

use std::fmt;
use std::time::{Duration, SystemTime};

const DAY: u64 = 24 * 60 * 60;
/// Last second of the year 9999. Later years have five digits and would sort wrongly.
const SECONDS_MAX: u64 = 253_402_300_799;

/// A UTC time with second precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    seconds: u64,
}

impl Timestamp {
    /// From seconds since the Unix epoch.
    pub fn from_unix(seconds: u64) -> Self {
        Self { seconds: seconds.min(SECONDS_MAX) }
    }

    /// From a system time. Times before 1970 become 1970.
    pub fn from_system_time(time: SystemTime) -> Self {
        let since_epoch = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self::from_unix(since_epoch.as_secs())
    }

    /// Parses `20261115T123726Z`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_suffix('Z')?;
        let (date, time) = digits.split_once('T')?;
        let is_digits = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !is_digits(date, 8) || !is_digits(time, 6) {
            return None;
        }
        let number = |text: &str| text.parse::<u64>().ok();
        let (year, month, day) = (number(&date[..4])?, number(&date[4..6])?, number(&date[6..])?);
        let (hour, minute, second) =
            (number(&time[..2])?, number(&time[2..4])?, number(&time[4..])?);
        if year < 1970 || !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = days_before(year, month) + day.checked_sub(1)?;
        let stamp = Self::from_unix(days * DAY + hour * 3600 + minute * 60 + second);
        // Rejects days that the month does not have.
        (stamp.to_string() == text).then_some(stamp)
    }

    /// Time since `earlier`, or zero.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_secs(self.seconds.saturating_sub(earlier.seconds))
    }

    /// ISO 8601: `2026-11-15T12:37:26Z`.
    pub fn iso(self) -> String {
        let [year, month, day, hour, minute, second] = self.parts();
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    fn parts(self) -> [u64; 6] {
        let (days, rest) = (self.seconds / DAY, self.seconds % DAY);
        // A year has at most 366 days, so the estimate is the right year or an earlier one.
        let mut year = 1970 + days / 366;
        while days_before(year + 1, 1) <= days {
            year += 1;
        }
        let mut month = 1;
        while month < 12 && days_before(year, month + 1) <= days {
            month += 1;
        }
        let day = days - days_before(year, month) + 1;
        [year, month, day, rest / 3600, rest / 60 % 60, rest % 60]
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [year, month, day, hour, minute, second] = self.parts();
        write!(f, "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
    }
}

/// Days from 1970-01-01 to the first day of a month.
fn days_before(year: u64, month: u64) -> u64 {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap_years = |year: u64| year / 4 - year / 100 + year / 400;
    let is_leap = leap_years(year) > leap_years(year - 1);
    let days_before_month = BEFORE.get(month as usize - 1).copied().unwrap_or_default();
    let leap_day = u64::from(is_leap && month > 2);
    (year - 1970) * 365 + leap_years(year - 1) - leap_years(1969) + days_before_month + leap_day
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn timestamp_formats_calendar_dates() {
        // date -u -d @SECONDS +%Y%m%dT%H%M%SZ
        for (seconds, written) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_800, "20000301T000000Z"),
            (1_794_746_246, "20261115T123726Z"),
            (4_107_542_399, "21000228T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
            (SECONDS_MAX, "99991231T235959Z"),
            (u64::MAX, "99991231T235959Z"),
        ] {
            assert_eq!(Timestamp::from_unix(seconds).to_string(), written);
        }
        assert_eq!(Timestamp::from_unix(1_794_746_246).iso(), "2026-11-15T12:37:26Z");
    }

    #[test]
    fn invalid_timestamps_are_rejected() {
        for wrong in [
            "",
            "20261115T123726",
            "20261115 123726Z",
            "20261315T123726Z",
            "20260010T123726Z",
            "20260100T123726Z",
            "20260229T123726Z",
            "20260431T123726Z",
            "20261115T243726Z",
            "20261115T126026Z",
            "20261115T123760Z",
            "19691231T235959Z",
            "2026111é123726Z",
            "+0261115T123726Z",
        ] {
            assert_eq!(Timestamp::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn timestamp_round_trips(seconds in 0..=SECONDS_MAX) {
            let stamp = Timestamp::from_unix(seconds);
            prop_assert_eq!(Timestamp::parse(&stamp.to_string()), Some(stamp));
        }
    }
}
