//! Address lookup with a cache in front of the slow provider.

pub mod cache;
pub mod provider;
