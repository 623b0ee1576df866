//! A ring of samples. When it is full, a new sample replaces the oldest one.

pub struct Ring {
    data: Vec<i16>,
    /// Place of the next write.
    head: usize,
    /// Number of samples held, at most `data.len()`.
    len: usize,
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
            data: vec![0; capacity],
            head: 0,
            len: 0,
        }
    }

    pub fn push(&mut self, sample: i16) {
        self.data[self.head] = sample;
        self.head = (self.head + 1) % self.data.len();
        self.len = (self.len + 1).min(self.data.len());
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The samples, oldest first.
    pub fn to_vec(&self) -> Vec<i16> {
        let capacity = self.data.len();
        let start = (self.head + capacity - self.len) % capacity;
        (0..self.len)
            .map(|i| self.data[(start + i) % capacity])
            .collect()
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
}
