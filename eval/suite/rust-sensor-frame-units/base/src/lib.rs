//! Frames of the soil sensors, as they come in over the radio link.

pub mod frame;
pub mod station;
