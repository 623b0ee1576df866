//! The HTTP client, with everything that has to be right before the first call.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use reqwest::{Certificate, NoProxy, Proxy, redirect};
use rustls::crypto::CryptoProvider;
use thiserror::Error;

use crate::Network;

/// The largest file of certificates that is read: the bundle of a whole system has about 250 kB.
const MAX_CA_FILE_BYTES: u64 = 4 << 20;

/// Why no host can be reached at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetupError {
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

/// The HTTP client. Nothing is taken from the environment, and no redirect is followed: keys in headers of a
/// host's own would go along to wherever it points.
pub fn client(network: &Network) -> Result<reqwest::Client, SetupError> {
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
