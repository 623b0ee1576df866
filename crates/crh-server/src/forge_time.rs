//! Times as forges write them, and as the page shows them.

use crate::clock::UnixMillis;

/// Days of an era of 400 years in the Gregorian calendar.
const ERA_DAYS: i64 = 146_097;

/// Days from the start of the eras, 0000-03-01, to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// Reads a time such as `2026-11-17T20:30:00Z`.
pub fn parse_forge_time(text: &str) -> Option<UnixMillis> {
    let bytes = text.as_bytes();
    let is_separator = |index: usize, sign: u8| bytes.get(index) == Some(&sign);
    if bytes.len() != 20
        || !(is_separator(4, b'-') && is_separator(7, b'-') && is_separator(10, b'T'))
        || !(is_separator(13, b':') && is_separator(16, b':') && is_separator(19, b'Z'))
    {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok().map(i64::from);
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let seconds = days_of(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(UnixMillis(seconds * 1_000))
}

/// A time for people: `2026-11-17 20:30 UTC`.
pub fn format_time(time: UnixMillis) -> String {
    let minutes = time.0.div_euclid(60_000);
    let minute_of_day = minutes.rem_euclid(1_440);
    format!("{} {:02}:{:02} UTC", format_day(time.day()), minute_of_day / 60, minute_of_day % 60)
}

/// A day for people: `2026-11-17`. Takes days since 1970.
pub fn format_day(day: i64) -> String {
    let shifted = day + EPOCH_DAYS;
    let (era, day_of_era) = (shifted.div_euclid(ERA_DAYS), shifted.rem_euclid(ERA_DAYS));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}")
}

/// A span for people: `40 s`, `3 min`, `2 h`, `5 d`.
pub fn format_span(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    match seconds {
        ..100 => format!("{seconds} s"),
        100..6_000 => format!("{} min", seconds / 60),
        6_000..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    era * ERA_DAYS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year
        - EPOCH_DAYS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_read_and_shown() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-11-17T20:30:00Z", 1_794_947_400),
        ] {
            let time = parse_forge_time(text).unwrap();
            assert_eq!(time, UnixMillis(seconds * 1_000), "{text}");
            assert_eq!(format_time(time), format!("{} {} UTC", &text[..10], &text[11..16]));
        }
        for text in [
            "",
            "2026-11-17",
            "2026-13-17T20:30:00Z",
            "2026-11-17T20:30:00+01:00",
            "é026-11-17T20:30:00Z",
        ] {
            assert_eq!(parse_forge_time(text), None, "{text}");
        }
    }

    #[test]
    fn span_has_one_unit() {
        let spans = [-5, 99_999, 100_000, 5_999_000, 6_000_000, 172_800_000];
        assert_eq!(spans.map(format_span), ["0 s", "99 s", "1 min", "99 min", "1 h", "2 d"]);
    }
}
