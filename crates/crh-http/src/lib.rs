//! How other hosts are reached: addresses, proxies, certificates, times. Knows nothing of what is said to them.

mod base_url;
mod client;
mod network;

pub use base_url::{BadUrl, BaseUrl};
pub use client::{SetupError, client};
pub use network::{Network, Timeouts};
