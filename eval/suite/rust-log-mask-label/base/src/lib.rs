//! A line logger that never lets session tokens reach the log.

pub mod logger;
pub mod mask;
pub mod writer;
