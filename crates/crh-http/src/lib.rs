//! Network access: base URLs, proxies, certificates and timeouts. It knows nothing about the
//! protocols used.

mod base_url;
mod client;
mod network;

pub use base_url::{BaseUrl, BaseUrlError};
pub use client::{ClientSetupError, build_client};
pub use network::{NetworkSettings, Timeouts};
