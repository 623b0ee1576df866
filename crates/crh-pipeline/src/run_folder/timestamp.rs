//! A moment to the second, in UTC, as the names of run folders carry it: `20261115T123726Z`.

use std::fmt;
use std::time::{Duration, SystemTime};

const DAY: u64 = 24 * 60 * 60;
/// The last second of the year 9999: later ones have a name of another length, which sorts wrongly.
const LAST: u64 = 253_402_300_799;

/// A moment to the second, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    seconds: u64,
}

impl Stamp {
    /// So many seconds after the beginning of 1970.
    pub fn from_unix(seconds: u64) -> Self {
        Self { seconds: seconds.min(LAST) }
    }

    /// The moment of a clock's time. A clock that stands before 1970 counts as 1970.
    pub fn of(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self::from_unix(since.as_secs())
    }

    /// The moment that is written like this: `20261115T123726Z`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_suffix('Z')?;
        let (date, time) = digits.split_once('T')?;
        let has_form = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !has_form(date, 8) || !has_form(time, 6) {
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
        // The 31st of a month that has none would be a day of the next.
        (stamp.to_string() == text).then_some(stamp)
    }

    /// How much later it is than another; nothing if it is earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_secs(self.seconds.saturating_sub(earlier.seconds))
    }

    /// As JSON has it: `2026-11-15T12:37:26Z`.
    pub fn iso(self) -> String {
        let [year, month, day, hour, minute, second] = self.parts();
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    fn parts(self) -> [u64; 6] {
        let (days, rest) = (self.seconds / DAY, self.seconds % DAY);
        // A year has at most 366 days, so this is that year or one of the few before it.
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

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [year, month, day, hour, minute, second] = self.parts();
        write!(f, "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
    }
}

/// The days from the beginning of 1970 to that of a month, in the calendar that is in use.
fn days_before(year: u64, month: u64) -> u64 {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap_years = |year: u64| year / 4 - year / 100 + year / 400;
    let is_leap = leap_years(year) > leap_years(year - 1);
    let in_year = BEFORE.get(month as usize - 1).copied().unwrap_or_default();
    let leap_day = u64::from(is_leap && month > 2);
    (year - 1970) * 365 + leap_years(year - 1) - leap_years(1969) + in_year + leap_day
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_moment_is_written_as_the_calendar_has_it() {
        // date -u -d @SECONDS +%Y%m%dT%H%M%SZ
        for (seconds, written) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_800, "20000301T000000Z"),
            (1_794_746_246, "20261115T123726Z"),
            (4_107_542_399, "21000228T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
            (LAST, "99991231T235959Z"),
            (u64::MAX, "99991231T235959Z"),
        ] {
            assert_eq!(Stamp::from_unix(seconds).to_string(), written);
        }
        assert_eq!(Stamp::from_unix(1_794_746_246).iso(), "2026-11-15T12:37:26Z");
    }

    #[test]
    fn what_no_calendar_has_is_no_moment() {
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
            assert_eq!(Stamp::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_the_same_moment(seconds in 0..=LAST) {
            let stamp = Stamp::from_unix(seconds);
            prop_assert_eq!(Stamp::parse(&stamp.to_string()), Some(stamp));
        }
    }
}
