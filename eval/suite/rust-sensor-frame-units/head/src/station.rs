//! Collects the latest temperature per sensor.

use std::collections::BTreeMap;

use crate::frame::{self, FrameError};

#[derive(Default)]
pub struct Station {
    /// Hundredths of a degree.
    latest: BTreeMap<u32, i32>,
}

impl Station {
    /// Takes in one frame; its last reading is the newest.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        let frame = frame::parse(bytes)?;
        if let Some(&newest) = frame.readings.last() {
            self.latest.insert(frame.sensor, newest);
        }
        Ok(())
    }

    /// Degrees, if the sensor was heard.
    pub fn temperature(&self, sensor: u32) -> Option<f64> {
        self.latest.get(&sensor).map(|&t| f64::from(t) / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_give_degrees() {
        let mut station = Station::default();
        station.receive(&[1, 0, 9, 1, 0x00, 0xD7]).unwrap();
        station
            .receive(&[2, 0, 0, 0, 10, 0, 1, 0x08, 0x66])
            .unwrap();
        assert_eq!(station.temperature(9), Some(21.5));
        assert_eq!(station.temperature(10), Some(21.5));
    }
}
