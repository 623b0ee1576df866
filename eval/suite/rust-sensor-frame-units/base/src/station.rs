//! Collects the latest temperature per sensor.

use std::collections::BTreeMap;

use crate::frame::{self, FrameError};

#[derive(Default)]
pub struct Station {
    /// Tenths of a degree.
    latest: BTreeMap<u16, i16>,
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
    pub fn temperature(&self, sensor: u16) -> Option<f64> {
        self.latest.get(&sensor).map(|&t| f64::from(t) / 10.0)
    }
}
