//! Network settings as explicit values.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Network settings.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NetworkSettings {
    /// Proxy for `http` URLs.
    pub http_proxy: Option<String>,
    /// Proxy for `https` URLs.
    pub https_proxy: Option<String>,
    /// Hosts without a proxy, in the syntax of `NO_PROXY`.
    pub no_proxy: Option<String>,
    /// PEM files with additional trusted certificates.
    pub ca_files: Vec<PathBuf>,
    /// Timeouts.
    pub timeouts: Timeouts,
}

/// Timeouts of a request. The HTTP client enforces `connect`, its callers enforce the others. There
/// is no timeout for the whole response: a caller that stops waiting drops the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Connection timeout.
    pub connect: Duration,
    /// Time from the connection to the first part of a response. A model needs time to read a long
    /// prompt.
    pub first_byte: Duration,
    /// Time between two parts of a response.
    pub idle: Duration,
}

impl fmt::Debug for NetworkSettings {
    /// Shows whether proxies are set, never their URLs, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("has_http_proxy", &self.http_proxy.is_some())
            .field("has_https_proxy", &self.https_proxy.is_some())
            .field("no_proxy", &self.no_proxy)
            .field("ca_files", &self.ca_files)
            .field("timeouts", &self.timeouts)
            .finish()
    }
}

impl Default for Timeouts {
    /// Local models may read a long prompt for minutes. Hosted reasoning models send a keep-alive
    /// at least once a minute, so two minutes without data mean a lost connection.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
        }
    }
}
