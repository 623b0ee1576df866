//! Figures over the samples in a ring.

use crate::ring::Ring;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    pub mean: i16,
    pub peak: i16,
}

/// `None` for an empty ring.
pub fn summarise(ring: &Ring) -> Option<Summary> {
    let (older, newer) = ring.as_slices();
    let peak = older.iter().chain(newer).copied().max()?;
    let sum: i64 = total(older) + total(newer);
    Some(Summary {
        mean: (sum / ring.len() as i64) as i16,
        peak,
    })
}

fn total(samples: &[i16]) -> i64 {
    samples.iter().map(|&s| i64::from(s)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_a_wrapped_ring() {
        let mut ring = Ring::new(4);
        for sample in [900, 10, 20, 30, 40] {
            ring.push(sample);
        }
        assert_eq!(summarise(&ring), Some(Summary { mean: 25, peak: 40 }));
    }

    #[test]
    fn extremes_do_not_wrap_around() {
        let mut ring = Ring::new(4);
        for _ in 0..6 {
            ring.push(i16::MIN);
        }
        let summary = summarise(&ring).unwrap();
        assert_eq!((summary.mean, summary.peak), (i16::MIN, i16::MIN));
    }

    #[test]
    fn nothing_to_summarise() {
        assert_eq!(summarise(&Ring::new(4)), None);
    }
}
