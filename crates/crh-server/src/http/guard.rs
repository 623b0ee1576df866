//! Checks the host name and the origin of forms in every request to the page, and adds security
//! headers.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use super::Shared;

/// Scripts and styles only from this server, no frames, no plugins, forms only to this server.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Largest form, in bytes.
const FORM_MAX: usize = 64 << 10;

/// Headers of every page.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    // No referrer to other sites. With `no-referrer`, browsers would hide the origin of own forms.
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Refuses forged requests and adds headers that a handler did not set itself.
pub(super) async fn guard_page(
    State(state): State<Shared>,
    request: Request,
    next: Next,
) -> Response {
    let public_url = state.settings.public_url.as_deref();
    let mut response = if !is_own_host(request.headers(), state.settings.sign_in.is_configured()) {
        // Another name for this address may be an attack by DNS rebinding.
        refusal("this server has another name: set `--public-url`")
    } else if request.method() == Method::POST && !is_same_origin(request.headers(), public_url) {
        refusal("the form comes from another site")
    } else if request.method() == Method::POST {
        match with_whole_body(request, state.body_time).await {
            Ok(request) => next.run(request).await,
            Err(refusal) => refusal,
        }
    } else {
        next.run(request).await
    };
    let secure = public_url.is_some_and(|url| url.starts_with("https:"));
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if secure {
        let a_year = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, a_year);
    }
    response
}

/// Reads the form before its handler runs, so that a slow sender keeps no handler busy.
async fn with_whole_body(request: Request, time: Duration) -> Result<Request, Response> {
    let (parts, body) = request.into_parts();
    match timeout(time, to_bytes(body, FORM_MAX)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Ok(Err(_)) => {
            Err((StatusCode::PAYLOAD_TOO_LARGE, "the form is too large\n").into_response())
        }
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the form took too long\n").into_response()),
    }
}

fn refusal(message: &str) -> Response {
    (StatusCode::FORBIDDEN, format!("{message}\n")).into_response()
}

/// Whether crh serves the page under this host name. Without sign-in, it serves only loopback
/// names, so that no web site can read the page by DNS rebinding.
pub(super) fn is_own_host(headers: &HeaderMap, has_sign_in: bool) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else {
        return false;
    };
    has_sign_in || is_loopback_host(host)
}

/// Whether a program may use this name for the server: a loopback name, or the public one. Other
/// names may be an attack by DNS rebinding.
pub(super) fn is_known_host(headers: &HeaderMap, public_url: Option<&str>) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    host.is_some_and(|host| is_loopback_host(host) || public_url.and_then(host_of) == Some(host))
}

/// Whether the host of an address, with or without a port, is a name of this machine.
pub(crate) fn is_loopback_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

/// Whether an address leads to this machine only.
pub(super) fn is_loopback_url(url: &str) -> bool {
    host_of(url).is_some_and(is_loopback_host)
}

/// Whether a request does not come from another web site. Browsers send `Origin` with every form.
/// Other programs send neither `Origin` nor `Sec-Fetch-Site`.
pub(super) fn is_same_origin(headers: &HeaderMap, public_url: Option<&str>) -> bool {
    let get = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let site = get(HeaderName::from_static("sec-fetch-site"));
    if site.is_some_and(|site| site != "same-origin") {
        return false;
    }
    match (get(header::ORIGIN), get(header::HOST)) {
        (None, _) => true,
        (Some(origin), host) => {
            let origin_host = host_of(origin);
            origin_host.is_some()
                && (origin_host == host || origin_host == public_url.and_then(host_of))
        }
    }
}

/// Host and port of an address.
fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.split('/').next().filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        pairs.iter().map(|(name, text)| (HeaderName::from_static(name), value(text))).collect()
    }

    #[test]
    fn page_without_sign_in_is_served_only_under_loopback_names() {
        let own = |host: &str| is_own_host(&headers(&[("host", host)]), false);
        for host in ["localhost", "localhost:8780", "127.0.0.1:8780", "[::1]:8780", "[::1]"] {
            assert!(own(host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8780",
            "127.0.0.1.evil.example",
            "localhost.evil.example:1",
            "",
        ] {
            assert!(!own(host), "{host}");
        }
        let known =
            |host: &str| is_known_host(&headers(&[("host", host)]), Some("https://crh.example"));
        assert!(known("crh.example") && known("localhost:8780"));
        assert!(!known("evil.example") && !known("crh.example.evil") && !known("crh.example:1"));
        assert!(!is_own_host(&headers(&[]), true));
        assert!(is_own_host(&headers(&[("host", "any")]), true));
    }

    #[test]
    fn form_of_another_site_is_refused() {
        let same = |pairs: &[(&'static str, &str)]| {
            is_same_origin(&headers(pairs), Some("https://crh.example"))
        };
        assert!(same(&[("host", "box:1")]));
        assert!(same(&[
            ("host", "box:1"),
            ("origin", "http://box:1"),
            ("sec-fetch-site", "same-origin")
        ]));
        assert!(same(&[("host", "10.0.0.1"), ("origin", "https://crh.example")]));
        for origin in ["null", "https://evil.example", "http://box:2", "https://crh.example.evil"] {
            assert!(!same(&[("host", "box:1"), ("origin", origin)]), "{origin}");
        }
        for site in ["cross-site", "same-site", "none"] {
            assert!(!same(&[("host", "box:1"), ("sec-fetch-site", site)]), "{site}");
        }
    }
}
