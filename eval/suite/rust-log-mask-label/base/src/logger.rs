//! Formats log lines and hands each of them over in one piece.

use std::fmt;
use std::io::{self, Write};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Info,
    Warn,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Info => "INFO",
            Level::Warn => "WARN",
        })
    }
}

pub struct Logger<W> {
    out: W,
}

impl<W: Write> Logger<W> {
    pub fn new(out: W) -> Self {
        Self { out }
    }

    pub fn log(&mut self, level: Level, message: &str) -> io::Result<()> {
        let line = format!("{level} {message}\n");
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }

    pub fn into_inner(self) -> W {
        self.out
    }
}
