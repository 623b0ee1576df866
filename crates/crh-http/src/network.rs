//! How the network is reached: explicit values, nothing is looked up.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How the network is reached.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Network {
    /// The proxy for `http` addresses.
    pub http_proxy: Option<String>,
    /// The proxy for `https` addresses.
    pub https_proxy: Option<String>,
    /// The hosts that are reached without a proxy, written as in the variable `NO_PROXY`.
    pub no_proxy: Option<String>,
    /// PEM files with certificates that are trusted beside the system's.
    pub ca_files: Vec<PathBuf>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
}

/// How long to wait for what. There is no limit on a whole answer: that is the caller's, who drops the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// From the connection to the first event of the answer: reading a long prompt takes time.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
}

impl fmt::Debug for Network {
    /// Whether there are proxies, never their addresses: those may hold a password.
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
    /// A connection stands within seconds or not at all; models on a laptop read a long prompt for minutes; hosted
    /// models that think send a sign of life at least every minute.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
        }
    }
}
