//! The binary frame. Numbers are big-endian.
//!
//! Version 1: version (1 byte), sensor (u16), count (u8), then `count` readings
//! (i16, tenths of a degree).

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub sensor: u16,
    /// Tenths of a degree.
    pub readings: Vec<i16>,
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

pub fn parse(bytes: &[u8]) -> Result<Frame, FrameError> {
    match bytes.first() {
        Some(1) => parse_v1(bytes),
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
    let body = &bytes[HEADER_V1..];
    if body.len() != count * 2 {
        return Err(FrameError::WrongLength);
    }
    let readings = body
        .chunks_exact(2)
        .map(|pair| i16::from_be_bytes([pair[0], pair[1]]))
        .collect();
    Ok(Frame { sensor, readings })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_frame() {
        let frame = parse(&[1, 0x01, 0x02, 2, 0x00, 0xD7, 0xFF, 0xFB]).unwrap();
        assert_eq!(frame.sensor, 0x0102);
        assert_eq!(frame.readings, [215, -5]);
    }

    #[test]
    fn refuses_a_short_frame() {
        assert_eq!(parse(&[1, 0, 9, 2, 0, 1]), Err(FrameError::WrongLength));
    }
}
