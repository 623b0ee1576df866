//! What the head of an answer says about limits, pages and what went wrong. Pure.

use std::num::IntErrorKind;
use std::time::{Duration, SystemTime};

use crate::asking::retry::Trouble;

/// The head of an answer, as far as it matters here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) etag: Option<String>,
    pub(super) link: Option<String>,
    pub(super) location: Option<String>,
    /// The permissions that would have been enough.
    pub(super) accepted: Option<String>,
    /// In seconds; a date is not written there by GitHub.
    pub(super) retry_after: Option<Duration>,
    pub(super) limit: Option<Limit>,
    /// The host's own time: what it writes about times is held against it, so that a wrong clock here does no harm.
    pub(super) date: Option<SystemTime>,
}

/// What is left of a limit on requests, as the host said it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// What is limited: `core`, `graphql`.
    pub resource: String,
    /// How many requests (for GraphQL: points) there are in an hour.
    pub limit: u64,
    /// How many are left.
    pub remaining: u64,
    /// When the next hour begins, in seconds since 1970.
    pub reset: u64,
}

impl Head {
    /// Reads what is known; `get` gives the value of a header.
    pub(super) fn read<'h>(status: u16, get: impl Fn(&str) -> Option<&'h str>) -> Self {
        let number = |name: &str| get(name).and_then(number);
        let text = |name: &str| get(name).map(str::to_owned);
        let limit = match (
            number("x-ratelimit-limit"),
            number("x-ratelimit-remaining"),
            number("x-ratelimit-reset"),
        ) {
            (Some(limit), Some(remaining), Some(reset)) => {
                let resource = text("x-ratelimit-resource").unwrap_or_else(|| "core".to_owned());
                Some(Limit { resource, limit, remaining, reset })
            }
            (_, _, _) => None,
        };
        Self {
            status,
            etag: text("etag"),
            link: text("link"),
            location: text("location"),
            accepted: text("x-accepted-github-permissions"),
            retry_after: number("retry-after").map(Duration::from_secs),
            limit,
            date: get("date").and_then(|date| httpdate::parse_http_date(date).ok()),
        }
    }

    /// How long until the limit ends that is used up; none if it is not. `now` stands in for a date that the host does not give.
    fn exhausted(&self, now: SystemTime) -> Option<Duration> {
        let limit = self.limit.as_ref().filter(|limit| limit.remaining == 0)?;
        let end = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(limit.reset));
        // What ends after the last time that there is ends never.
        let left = end.map(|end| end.duration_since(self.date.unwrap_or(now)).unwrap_or_default());
        Some(left.unwrap_or(Duration::MAX))
    }

    /// What kind of trouble an answer is that was no success. `message` is what the host says about it.
    pub(super) fn trouble(&self, message: &str, now: SystemTime) -> Trouble {
        match self.status {
            403 | 429 => {
                let named = names_limit(message);
                match (self.retry_after, self.exhausted(now)) {
                    (Some(wait), _) => Trouble::Limited(Some(wait)),
                    (None, Some(wait)) if named || self.status == 429 => {
                        Trouble::Limited(Some(wait))
                    }
                    (None, None) if named || self.status == 429 => Trouble::Limited(None),
                    (None, Some(_) | None) => Trouble::Refused,
                }
            }
            // "Not modified" to somebody who knows nothing is a fault of something in between.
            304 | 408 | 500.. => Trouble::Failing(self.retry_after),
            _ => Trouble::Refused,
        }
    }

    /// The same for the limits that GraphQL tells with status 200.
    pub(super) fn limited(&self, now: SystemTime) -> Trouble {
        Trouble::Limited(self.retry_after.or_else(|| self.exhausted(now)))
    }
}

/// A number of a header. One that is too large is the largest: nobody may take an endless wait for none.
fn number(value: &str) -> Option<u64> {
    match value.trim().parse::<u64>() {
        Ok(number) => Some(number),
        Err(error) => (*error.kind() == IntErrorKind::PosOverflow).then_some(u64::MAX),
    }
}

/// Whether a host says in words that too much was asked.
pub(super) fn names_limit(message: &str) -> bool {
    let said = message.to_ascii_lowercase();
    said.contains("rate limit") || said.contains("abuse")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(status: u16, headers: &[(&str, &'static str)]) -> Head {
        Head::read(status, |name| headers.iter().find(|(known, _)| *known == name).map(|one| one.1))
    }

    const USED_UP: [(&str, &str); 4] = [
        ("x-ratelimit-limit", "5000"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1700000100"),
        ("date", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ];

    fn check(head: &Head, message: &str, expected: Trouble) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_090);
        assert_eq!(head.trouble(message, now), expected, "{head:?} {message}");
    }

    #[test]
    fn limits_are_told_from_what_is_forbidden() {
        let seconds = |count| Trouble::Limited(Some(Duration::from_secs(count)));
        let secondary = "You have exceeded a secondary rate limit.";
        let primary = "API rate limit exceeded for user ID 1.";
        for status in [403, 429] {
            check(&head(status, &[("retry-after", "7")]), "", seconds(7));
            check(&head(status, &[]), secondary, Trouble::Limited(None));
            // The host's clock counts where it gives one, and ours otherwise.
            check(&head(status, &USED_UP), primary, seconds(100));
            check(&head(status, &USED_UP[..3]), primary, seconds(10));
        }
        check(&head(429, &[]), "", Trouble::Limited(None));
        check(&head(403, &[]), "Resource not accessible by integration", Trouble::Refused);
        // The last request of the hour may also be one that is forbidden.
        check(&head(403, &USED_UP), "Must have admin rights", Trouble::Refused);
    }

    #[test]
    fn a_limit_that_never_ends_is_not_taken_for_one_without_an_end() {
        let never = Trouble::Limited(Some(Duration::MAX));
        for reset in ["18446744073709551615", "99999999999999999999999"] {
            let mut headers = USED_UP;
            headers[2].1 = reset;
            check(&head(403, &headers), "API rate limit exceeded", never);
        }
        let after = [("retry-after", "99999999999999999999999")];
        let longest = Trouble::Limited(Some(Duration::from_secs(u64::MAX)));
        check(&head(429, &after), "", longest);
    }

    #[test]
    fn only_a_failing_server_may_do_better_next_time() {
        for status in [304, 408, 500, 502, 503, 504] {
            check(&head(status, &[]), "", Trouble::Failing(None));
        }
        let wait = Some(Duration::from_secs(3));
        check(&head(503, &[("retry-after", "3")]), "", Trouble::Failing(wait));
        for status in [300, 400, 401, 404, 410, 422, 451] {
            check(&head(status, &[("retry-after", "3")]), "rate limit", Trouble::Refused);
        }
    }

    #[test]
    fn what_is_no_number_is_as_if_it_were_not_there() {
        let odd = head(403, &[("retry-after", "soon"), ("x-ratelimit-limit", "-1"), ("date", "x")]);
        assert_eq!(odd, Head { status: 403, ..Head::default() });
    }
}
