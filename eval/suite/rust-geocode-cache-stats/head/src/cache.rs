//! Remembers the coordinates of addresses that were looked up before.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::provider::{LookupError, Point, Provider};

/// How often the cache could answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    pub hits: u64,
    pub misses: u64,
}

pub struct CachedGeocoder<P> {
    provider: P,
    known: Mutex<HashMap<String, Point>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl<P: Provider> CachedGeocoder<P> {
    pub fn new(provider: P) -> Self {
        Self {
            provider,
            known: Mutex::new(HashMap::new()),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The coordinates of an address. Two threads may ask the provider for the
    /// same address at the same time; both get the same answer.
    pub fn locate(&self, address: &str) -> Result<Point, LookupError> {
        let key = normalise(address);
        match self.known.lock().unwrap().get(&key).copied() {
            Some(point) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                Ok(point)
            }
            None => {
                self.misses.fetch_add(1, Ordering::Relaxed);
                let point = self.provider.lookup(&key)?;
                self.known.lock().unwrap().insert(key, point);
                Ok(point)
            }
        }
    }

    /// The counts since the start; `clear` does not reset them.
    pub fn stats(&self) -> Stats {
        Stats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
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

    struct Nowhere;

    impl Provider for Nowhere {
        fn lookup(&self, _: &str) -> Result<Point, LookupError> {
            Err(LookupError::NotFound)
        }
    }

    #[test]
    fn counts_misses() {
        let geocoder = CachedGeocoder::new(Nowhere);
        assert_eq!(geocoder.locate("x"), Err(LookupError::NotFound));
        assert_eq!(geocoder.stats(), Stats { hits: 0, misses: 1 });
    }

    #[test]
    fn normalises_spaces_and_case() {
        assert_eq!(normalise("  Long  Lane 4"), "long lane 4");
    }
}
