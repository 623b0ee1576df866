//! Where coordinates come from.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub lat: f64,
    pub lon: f64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupError {
    NotFound,
    Unavailable(String),
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LookupError::NotFound => f.write_str("address not found"),
            LookupError::Unavailable(why) => write!(f, "provider unavailable: {why}"),
        }
    }
}

impl std::error::Error for LookupError {}

/// Asks a geocoding service. One call can take seconds.
pub trait Provider: Send + Sync {
    fn lookup(&self, address: &str) -> Result<Point, LookupError>;
}
