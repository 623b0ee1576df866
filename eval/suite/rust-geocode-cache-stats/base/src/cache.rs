//! Remembers the coordinates of addresses that were looked up before.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::provider::{LookupError, Point, Provider};

pub struct CachedGeocoder<P> {
    provider: P,
    known: Mutex<HashMap<String, Point>>,
}

impl<P: Provider> CachedGeocoder<P> {
    pub fn new(provider: P) -> Self {
        Self {
            provider,
            known: Mutex::new(HashMap::new()),
        }
    }

    /// The coordinates of an address. Two threads may ask the provider for the
    /// same address at the same time; both get the same answer.
    pub fn locate(&self, address: &str) -> Result<Point, LookupError> {
        let key = normalise(address);
        if let Some(point) = self.known.lock().unwrap().get(&key).copied() {
            return Ok(point);
        }
        let point = self.provider.lookup(&key)?;
        self.known.lock().unwrap().insert(key, point);
        Ok(point)
    }

    /// Forgets everything, for example after a new map release.
    pub fn clear(&self) {
        self.known.lock().unwrap().clear();
    }
}

/// Lower case, single spaces.
fn normalise(address: &str) -> String {
    let lower = address.to_lowercase();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalises_spaces_and_case() {
        assert_eq!(normalise("  Long  Lane 4"), "long lane 4");
    }
}
