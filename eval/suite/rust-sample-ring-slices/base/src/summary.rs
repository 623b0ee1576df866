//! Figures over the samples in a ring.

use crate::ring::Ring;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    pub mean: i16,
    pub peak: i16,
}

/// `None` for an empty ring.
pub fn summarise(ring: &Ring) -> Option<Summary> {
    let samples = ring.to_vec();
    let peak = samples.iter().copied().max()?;
    let sum: i64 = samples.iter().map(|&s| i64::from(s)).sum();
    Some(Summary {
        mean: (sum / samples.len() as i64) as i16,
        peak,
    })
}
