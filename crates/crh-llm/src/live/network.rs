//! Addresses, proxies and certificates: what has to be right before the first call.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use reqwest::Certificate;
use reqwest::NoProxy;
use reqwest::Proxy;
use reqwest::header::HeaderValue;
use reqwest::redirect;
use rustls::crypto::CryptoProvider;
use secrecy::ExposeSecret;
use secrecy::SecretString;
use thiserror::Error;

use crate::BaseUrl;
use crate::Network;
use crate::Wire;

/// The largest file of certificates that is read: the bundle of a whole system has about 250 kB.
const MAX_CA_FILE_BYTES: u64 = 4 << 20;

/// Why a model cannot be asked at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The key cannot stand in a header.
    #[error("the key holds characters that no key has; is there a line break in it?")]
    Key,
    /// The proxy's address is none. It may hold a password and is not repeated.
    #[error("the proxy for `{scheme}` is no address of a proxy")]
    Proxy {
        /// Which of the two.
        scheme: &'static str,
    },
    /// A file of certificates cannot be used.
    #[error("the certificates in `{}` cannot be used: {reason}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be set up; are the system's certificates installed?")]
    Client,
}

/// Refuses a key that no header can carry.
pub(super) fn checked(key: Option<&SecretString>) -> Result<(), SetupError> {
    match key {
        Some(key) => {
            HeaderValue::from_str(key.expose_secret()).map(|_| ()).map_err(|_| SetupError::Key)
        }
        None => Ok(()),
    }
}

/// The whole address of a call.
pub(super) fn address(wire: Wire, base: &BaseUrl, model: &str) -> String {
    let base = base.as_str();
    match wire {
        Wire::OpenAiChat => format!("{base}/chat/completions"),
        Wire::OpenAiResponses => format!("{base}/responses"),
        Wire::Anthropic => format!("{base}/messages"),
        Wire::Gemini => {
            format!("{base}/models/{}:streamGenerateContent?alt=sse", segment(model))
        }
    }
}

/// The HTTP client. Nothing is taken from the environment, and no redirect is followed: keys in headers of the
/// vendors' own would go along to wherever it points.
pub(super) fn client(network: &Network) -> Result<reqwest::Client, SetupError> {
    if CryptoProvider::get_default().is_none() {
        // An error means that another thread was faster, and one provider is as good as the other.
        match rustls::crypto::ring::default_provider().install_default() {
            Ok(()) | Err(_) => {}
        }
    }
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        // A compressed stream may be held back until a block is full.
        .no_gzip()
        .connect_timeout(network.timeouts.connect);
    let direct = || network.no_proxy.as_deref().and_then(NoProxy::from_string);
    if let Some(proxy) = &network.http_proxy {
        let proxy = Proxy::http(proxy).map_err(|_| SetupError::Proxy { scheme: "http" })?;
        builder = builder.proxy(proxy.no_proxy(direct()));
    }
    if let Some(proxy) = &network.https_proxy {
        let proxy = Proxy::https(proxy).map_err(|_| SetupError::Proxy { scheme: "https" })?;
        builder = builder.proxy(proxy.no_proxy(direct()));
    }
    for path in &network.ca_files {
        builder = builder.tls_certs_merge(certificates(path)?);
    }
    builder.build().map_err(|_| SetupError::Client)
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, SetupError> {
    let unusable = |reason: String| SetupError::CaFile { path: path.to_owned(), reason };
    let mut pem = Vec::new();
    // What is no file has no size to look at, and may have no end.
    let read =
        File::open(path).and_then(|file| file.take(MAX_CA_FILE_BYTES + 1).read_to_end(&mut pem));
    read.map_err(|error| unusable(error.to_string()))?;
    if pem.len() as u64 > MAX_CA_FILE_BYTES {
        return Err(unusable(format!("it is larger than {MAX_CA_FILE_BYTES} bytes")));
    }
    match Certificate::from_pem_bundle(&pem) {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) | Err(_) => Err(unusable("there is no PEM certificate in it".to_owned())),
    }
}

/// A model's name as part of a path. What could end the segment is encoded; `/` is not, since names have it.
fn segment(name: &str) -> String {
    let mut segment = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'/' | b':' | b'@' => {
                segment.push(char::from(byte));
            }
            other => segment.push_str(&format!("%{other:02X}")),
        }
    }
    segment
}

#[cfg(test)]
mod tests;
