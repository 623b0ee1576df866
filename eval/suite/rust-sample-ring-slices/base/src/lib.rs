//! Keeps the latest samples of a vibration sensor and summarises them.

pub mod ring;
pub mod summary;
