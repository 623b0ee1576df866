//! Network access: base URLs, proxies, certificates and timeouts. It does not know which APIs crh
//! calls.

mod base_url;
mod client;
mod network;

pub use base_url::{BaseUrl, BaseUrlError};
pub use client::{ClientSetupError, build_client};
pub use network::{NetworkSettings, Timeouts};
