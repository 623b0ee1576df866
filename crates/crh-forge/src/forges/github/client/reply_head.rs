//! Parses reply headers: rate limits, pages, errors.

use std::num::IntErrorKind;
use std::time::{Duration, SystemTime};

use crate::http::retry::RequestFailure;

/// Status and relevant headers of a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReplyHead {
    pub(super) status: u16,
    pub(super) etag: Option<String>,
    pub(super) link: Option<String>,
    pub(super) location: Option<String>,
    /// Permissions that GitHub names as sufficient for the request.
    pub(super) accepted_permissions: Option<String>,
    /// The header `Retry-After`. GitHub sends seconds, never a date.
    pub(super) retry_after: Option<Duration>,
    pub(super) limit: Option<RateLimit>,
    /// Time of the host. crh compares rate limit resets with this time, because the local clock may
    /// be wrong.
    pub(super) date: Option<SystemTime>,
}

/// Latest known state of a rate limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimit {
    /// Limited resource, such as `core` or `graphql`.
    pub resource: String,
    /// Requests (for GraphQL: points) per hour.
    pub limit: u64,
    /// Remaining requests.
    pub remaining: u64,
    /// Time at which the limit resets, in seconds since 1970.
    pub reset: u64,
}

impl ReplyHead {
    /// `get` returns the value of a header.
    pub(super) fn parse<'h>(status: u16, get: impl Fn(&str) -> Option<&'h str>) -> Self {
        let number = |name: &str| get(name).and_then(parse_number);
        let text = |name: &str| get(name).map(str::to_owned);
        let limit = match (
            number("x-ratelimit-limit"),
            number("x-ratelimit-remaining"),
            number("x-ratelimit-reset"),
        ) {
            (Some(limit), Some(remaining), Some(reset)) => {
                let resource = text("x-ratelimit-resource").unwrap_or_else(|| "core".to_owned());
                Some(RateLimit { resource, limit, remaining, reset })
            }
            (_, _, _) => None,
        };
        Self {
            status,
            etag: text("etag"),
            link: text("link"),
            location: text("location"),
            accepted_permissions: text("x-accepted-github-permissions"),
            retry_after: number("retry-after").map(Duration::from_secs),
            limit,
            date: get("date").and_then(|date| httpdate::parse_http_date(date).ok()),
        }
    }

    /// Time until an exhausted limit resets. `now` replaces a missing `Date` header.
    fn limit_reset_wait(&self, now: SystemTime) -> Option<Duration> {
        let limit = self.limit.as_ref().filter(|limit| limit.remaining == 0)?;
        let end = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(limit.reset));
        // A reset time beyond the clock's range never comes.
        let wait = end.map(|end| end.duration_since(self.date.unwrap_or(now)).unwrap_or_default());
        Some(wait.unwrap_or(Duration::MAX))
    }

    /// Classifies an error reply. `message` is the host's text.
    pub(super) fn failure(&self, message: &str, now: SystemTime) -> RequestFailure {
        match self.status {
            403 | 429 => {
                let mentions_limit = mentions_rate_limit(message);
                match (self.retry_after, self.limit_reset_wait(now)) {
                    (Some(wait), _) => RequestFailure::RateLimited(Some(wait)),
                    (None, Some(wait)) if mentions_limit || self.status == 429 => {
                        RequestFailure::RateLimited(Some(wait))
                    }
                    (None, None) if mentions_limit || self.status == 429 => {
                        RequestFailure::RateLimited(None)
                    }
                    (None, Some(_) | None) => RequestFailure::Refused,
                }
            }
            // A 304 here comes from a faulty proxy: GitHub sends it only if crh sent an `ETag`,
            // and that case is handled before.
            304 | 408 | 500.. => RequestFailure::ServerError(self.retry_after),
            _ => RequestFailure::Refused,
        }
    }

    /// Failure for rate limits that GraphQL reports with status 200.
    pub(super) fn rate_limited(&self, now: SystemTime) -> RequestFailure {
        RequestFailure::RateLimited(self.retry_after.or_else(|| self.limit_reset_wait(now)))
    }
}

/// Parses a number. Too large numbers become the largest one, so that crh gives up instead of
/// retrying too early.
fn parse_number(value: &str) -> Option<u64> {
    match value.trim().parse::<u64>() {
        Ok(number) => Some(number),
        Err(error) => (*error.kind() == IntErrorKind::PosOverflow).then_some(u64::MAX),
    }
}

/// Whether the message mentions a rate limit.
pub(super) fn mentions_rate_limit(message: &str) -> bool {
    let lowercase = message.to_ascii_lowercase();
    lowercase.contains("rate limit") || lowercase.contains("abuse")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(status: u16, headers: &[(&str, &'static str)]) -> ReplyHead {
        ReplyHead::parse(status, |name| {
            headers.iter().find(|(header_name, _)| *header_name == name).map(|header| header.1)
        })
    }

    const USED_UP: [(&str, &str); 4] = [
        ("x-ratelimit-limit", "5000"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1700000100"),
        ("date", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ];

    fn check(head: &ReplyHead, message: &str, expected: RequestFailure) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_090);
        assert_eq!(head.failure(message, now), expected, "{head:?} {message}");
    }

    #[test]
    fn rate_limit_and_forbidden_are_distinguished() {
        let seconds = |count| RequestFailure::RateLimited(Some(Duration::from_secs(count)));
        let secondary = "You have exceeded a secondary rate limit.";
        let primary = "API rate limit exceeded for user ID 1.";
        for status in [403, 429] {
            check(&head(status, &[("retry-after", "7")]), "", seconds(7));
            check(&head(status, &[]), secondary, RequestFailure::RateLimited(None));
            // The host's clock takes precedence over the local one.
            check(&head(status, &USED_UP), primary, seconds(100));
            check(&head(status, &USED_UP[..3]), primary, seconds(10));
        }
        check(&head(429, &[]), "", RequestFailure::RateLimited(None));
        check(&head(403, &[]), "Resource not accessible by integration", RequestFailure::Refused);
        // The last request of the hour may be forbidden, too.
        check(&head(403, &USED_UP), "Must have admin rights", RequestFailure::Refused);
    }

    #[test]
    fn huge_reset_time_ends_the_retries() {
        let endless_wait = RequestFailure::RateLimited(Some(Duration::MAX));
        for reset in ["18446744073709551615", "99999999999999999999999"] {
            let mut headers = USED_UP;
            headers[2].1 = reset;
            check(&head(403, &headers), "API rate limit exceeded", endless_wait);
        }
        let after = [("retry-after", "99999999999999999999999")];
        let longest = RequestFailure::RateLimited(Some(Duration::from_secs(u64::MAX)));
        check(&head(429, &after), "", longest);
    }

    #[test]
    fn temporary_failures_are_told_from_refusals() {
        for status in [304, 408, 500, 502, 503, 504] {
            check(&head(status, &[]), "", RequestFailure::ServerError(None));
        }
        let wait = Some(Duration::from_secs(3));
        check(&head(503, &[("retry-after", "3")]), "", RequestFailure::ServerError(wait));
        for status in [300, 400, 401, 404, 410, 422, 451] {
            check(&head(status, &[("retry-after", "3")]), "rate limit", RequestFailure::Refused);
        }
    }

    #[test]
    fn invalid_numbers_in_headers_are_ignored() {
        let parsed_head =
            head(403, &[("retry-after", "soon"), ("x-ratelimit-limit", "-1"), ("date", "x")]);
        assert_eq!(parsed_head, ReplyHead { status: 403, ..ReplyHead::default() });
    }
}
