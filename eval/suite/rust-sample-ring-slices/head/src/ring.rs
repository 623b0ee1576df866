//! A ring of samples. When it is full, a new sample replaces the oldest one.

pub struct Ring {
    /// Its length is a power of two, so that a mask can replace the division.
    data: Vec<i16>,
    /// Samples pushed so far, wrapping. Its low bits are the place of the next write.
    pushed: usize,
    /// Number of samples held, at most `capacity`.
    len: usize,
    capacity: usize,
}

impl Ring {
    /// A ring for `capacity` samples.
    ///
    /// # Panics
    ///
    /// If `capacity` is 0.
    pub fn new(capacity: usize) -> Ring {
        assert!(capacity > 0, "a ring needs room for a sample");
        Ring {
            data: vec![0; capacity.next_power_of_two()],
            pushed: 0,
            len: 0,
            capacity,
        }
    }

    pub fn push(&mut self, sample: i16) {
        let at = self.pushed & self.mask();
        self.data[at] = sample;
        self.pushed = self.pushed.wrapping_add(1);
        self.len = (self.len + 1).min(self.capacity);
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The samples, oldest first, as two runs without copying. The second one
    /// is empty unless the samples go over the end of the buffer.
    pub fn as_slices(&self) -> (&[i16], &[i16]) {
        let start = self.pushed.wrapping_sub(self.len) & self.mask();
        let end = start + self.len;
        match end.checked_sub(self.data.len()) {
            Some(wrapped) => (&self.data[start..], &self.data[..wrapped]),
            None => (&self.data[start..end], &[]),
        }
    }

    /// The samples, oldest first.
    pub fn to_vec(&self) -> Vec<i16> {
        let (older, newer) = self.as_slices();
        [older, newer].concat()
    }

    fn mask(&self) -> usize {
        self.data.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_oldest() {
        let mut ring = Ring::new(3);
        for sample in 1..=5 {
            ring.push(sample);
        }
        assert_eq!(ring.to_vec(), [3, 4, 5]);
    }

    #[test]
    fn same_as_a_plain_list() {
        for capacity in 1..10 {
            let mut ring = Ring::new(capacity);
            let mut plain = Vec::new();
            for sample in 0..40 {
                ring.push(sample);
                plain.push(sample);
                let from = plain.len().saturating_sub(capacity);
                assert_eq!(ring.to_vec(), plain[from..]);
                assert_eq!(ring.len(), plain.len() - from);
            }
        }
    }

    #[test]
    fn counter_may_wrap() {
        let mut ring = Ring::new(3);
        ring.pushed = usize::MAX;
        ring.push(1);
        ring.push(2);
        assert_eq!(ring.to_vec(), [1, 2]);
    }
}
