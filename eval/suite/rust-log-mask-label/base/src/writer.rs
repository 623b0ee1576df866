//! The masking layer between the logger and the log file.

use std::io::{self, Write};

use crate::mask::mask_tokens;

/// Masks what passes through it. Expects whole lines: a token that is
/// split over two calls is not recognised.
pub struct MaskingWriter<W> {
    inner: W,
}

impl<W: Write> MaskingWriter<W> {
    pub fn new(inner: W) -> Self {
        Self { inner }
    }

    pub fn into_inner(self) -> W {
        self.inner
    }
}

impl<W: Write> Write for MaskingWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let masked = mask_tokens(buf);
        self.inner.write_all(&masked)?;
        Ok(masked.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
