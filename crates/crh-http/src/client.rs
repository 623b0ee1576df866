//! Creates the HTTP client.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use reqwest::{Certificate, NoProxy, Proxy, redirect};
use rustls::crypto::CryptoProvider;
use thiserror::Error;

use crate::NetworkSettings;

/// Maximum size of a certificate file. A system bundle has about 250 kB.
const MAX_CA_FILE_BYTES: u64 = 4 << 20;

/// Why the HTTP client cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClientSetupError {
    /// Invalid proxy URL. The error does not repeat the URL, which may contain a password.
    #[error("the proxy for `{scheme}` is not a valid proxy URL")]
    Proxy {
        /// `http` or `https`.
        scheme: &'static str,
    },
    /// Unusable certificate file.
    #[error("cannot use the certificates in `{}`: {reason}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// Cause.
        reason: String,
    },
    /// The TLS or HTTP stack failed to initialise.
    #[error("cannot initialise the HTTP client; are the system's certificates installed?")]
    Client,
}

/// Creates the HTTP client. The client ignores environment variables. It follows no redirects,
/// because the target would receive the headers with the key.
pub fn build_client(network: &NetworkSettings) -> Result<reqwest::Client, ClientSetupError> {
    if CryptoProvider::get_default().is_none() {
        // An error means that another thread installed a provider first.
        match rustls::crypto::ring::default_provider().install_default() {
            Ok(()) | Err(_) => {}
        }
    }
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        // Compression could delay stream events.
        .no_gzip()
        .connect_timeout(network.timeouts.connect);
    let bypassed_hosts = || network.no_proxy.as_deref().and_then(NoProxy::from_string);
    if let Some(proxy) = &network.http_proxy {
        let proxy = Proxy::http(proxy).map_err(|_| ClientSetupError::Proxy { scheme: "http" })?;
        builder = builder.proxy(proxy.no_proxy(bypassed_hosts()));
    }
    if let Some(proxy) = &network.https_proxy {
        let proxy = Proxy::https(proxy).map_err(|_| ClientSetupError::Proxy { scheme: "https" })?;
        builder = builder.proxy(proxy.no_proxy(bypassed_hosts()));
    }
    for path in &network.ca_files {
        builder = builder.tls_certs_merge(load_certificates(path)?);
    }
    builder.build().map_err(|_| ClientSetupError::Client)
}

fn load_certificates(path: &Path) -> Result<Vec<Certificate>, ClientSetupError> {
    let ca_file_error = |reason: String| ClientSetupError::CaFile { path: path.to_owned(), reason };
    let mut pem = Vec::new();
    // Limit the read, because special files have no size and may be endless.
    let result =
        File::open(path).and_then(|file| file.take(MAX_CA_FILE_BYTES + 1).read_to_end(&mut pem));
    result.map_err(|error| ca_file_error(error.to_string()))?;
    if pem.len() as u64 > MAX_CA_FILE_BYTES {
        return Err(ca_file_error(format!("it is larger than {MAX_CA_FILE_BYTES} bytes")));
    }
    match Certificate::from_pem_bundle(&pem) {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) | Err(_) => Err(ca_file_error("it contains no PEM certificate".to_owned())),
    }
}
