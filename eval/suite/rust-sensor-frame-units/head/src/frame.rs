//! The binary frame. Numbers are big-endian.
//!
//! Version 1: version (1 byte), sensor (u16), count (u8), then `count` readings
//! (i16, tenths of a degree).
//!
//! Version 2: version (1 byte), sensor (u32), count (u16), then `count` readings
//! (i16, hundredths of a degree).

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The numbers of old and new sensors do not overlap.
    pub sensor: u32,
    /// Hundredths of a degree, whatever the version of the frame.
    pub readings: Vec<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    UnknownVersion(u8),
    WrongLength,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::UnknownVersion(v) => write!(f, "unknown frame version {v}"),
            FrameError::WrongLength => f.write_str("frame has the wrong length"),
        }
    }
}

impl std::error::Error for FrameError {}

const HEADER_V1: usize = 4;
const HEADER_V2: usize = 7;

pub fn parse(bytes: &[u8]) -> Result<Frame, FrameError> {
    match bytes.first() {
        Some(1) => parse_v1(bytes),
        Some(2) => parse_v2(bytes),
        Some(&other) => Err(FrameError::UnknownVersion(other)),
        None => Err(FrameError::WrongLength),
    }
}

fn parse_v1(bytes: &[u8]) -> Result<Frame, FrameError> {
    if bytes.len() < HEADER_V1 {
        return Err(FrameError::WrongLength);
    }
    let sensor = u16::from_be_bytes([bytes[1], bytes[2]]);
    let count = usize::from(bytes[3]);
    let tenths = parse_readings(&bytes[HEADER_V1..], count)?;
    Ok(Frame {
        sensor: u32::from(sensor),
        readings: tenths.map(|t| i32::from(t) * 10).collect(),
    })
}

fn parse_v2(bytes: &[u8]) -> Result<Frame, FrameError> {
    if bytes.len() < HEADER_V2 {
        return Err(FrameError::WrongLength);
    }
    let sensor = u32::from_be_bytes(bytes[1..5].try_into().unwrap());
    let count = u16::from_be_bytes(bytes[5..7].try_into().unwrap());
    let hundredths = parse_readings(&bytes[HEADER_V2..], usize::from(count))?;
    Ok(Frame {
        sensor,
        readings: hundredths.map(i32::from).collect(),
    })
}

/// The readings of a frame's body, which must hold exactly `count` of them.
fn parse_readings(
    body: &[u8],
    count: usize,
) -> Result<impl Iterator<Item = i16> + use<'_>, FrameError> {
    if body.len() != count * 2 {
        return Err(FrameError::WrongLength);
    }
    let pairs = body.chunks_exact(2);
    Ok(pairs.map(|pair| i16::from_be_bytes([pair[0], pair[1]])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_frame() {
        let frame = parse(&[1, 0x01, 0x02, 2, 0x00, 0xD7, 0xFF, 0xFB]).unwrap();
        assert_eq!(frame.sensor, 0x0102);
        assert_eq!(frame.readings, [2150, -50]);
    }

    #[test]
    fn reads_a_version_2_frame() {
        let bytes = [2, 0, 1, 0, 2, 0, 2, 0x08, 0x66, 0xFF, 0xFB];
        let frame = parse(&bytes).unwrap();
        assert_eq!(frame.sensor, 65_538);
        assert_eq!(frame.readings, [2150, -5]);
        for short in 0..bytes.len() {
            assert_eq!(parse(&bytes[..short]), Err(FrameError::WrongLength));
        }
    }

    #[test]
    fn coldest_version_1_reading_fits() {
        let frame = parse(&[1, 0, 9, 1, 0x80, 0x00]).unwrap();
        assert_eq!(frame.readings, [-327_680]);
    }

    #[test]
    fn refuses_a_short_frame() {
        assert_eq!(parse(&[1, 0, 9, 2, 0, 1]), Err(FrameError::WrongLength));
    }
}
