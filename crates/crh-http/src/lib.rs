//! How other hosts are reached: addresses, proxies, certificates, times. Knows nothing of what is said to them.

mod base_url;
mod client;
mod network;

pub use base_url::BadUrl;
pub use base_url::BaseUrl;
pub use client::SetupError;
pub use client::client;
pub use network::Network;
pub use network::Timeouts;
