//! HTTP with retries, shared by all forges.

pub(crate) mod message;
pub(crate) mod reply;
pub(crate) mod retry;
pub(crate) mod sender;
pub(crate) mod wait_notifier;
