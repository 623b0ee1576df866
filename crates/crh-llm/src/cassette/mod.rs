//! Recordings of what models were asked and what they answered, to be served again without them.
//!
//! A cassette is a file of JSON lines. The first line names the format. Every system prompt, message, list of tools and
//! description of a model stands in it once, as a piece under the hash of its content; an exchange names the pieces of
//! its question and holds the answer. So a run whose every question begins like the one before stays small, and a
//! question is found again by its content, whoever asks it and in whatever order. Nothing is written before known secrets
//! are masked in it; everything else, the code under review and what looks like a key in it, stands there as it was.

#[path = "mismatch.rs"]
mod difference;
mod piece;
mod player;
mod question;
mod recorder;
#[path = "file.rs"]
mod tape;

use piece::PieceId;
pub use player::{Cassette, CassetteError};
use question::Question;
pub use recorder::Recorder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ModelError, ModelFacts, Reply};

/// What the first line calls the format.
const FORMAT: &str = "crh-cassette";

/// The version of the format that is written, and the only one that is read.
const VERSION: u32 = 1;

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
}

/// Any other line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Piece { id: PieceId, value: Value },
    Exchange(Exchange),
}

/// A question and its answer.
#[derive(Serialize, Deserialize)]
struct Exchange {
    /// The piece with the `RecordedModel`.
    model: PieceId,
    question: Question,
    answer: Answer,
}

/// Who answered. The facts go with the recording, so that a replay trims and prices alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RecordedModel {
    name: String,
    facts: ModelFacts,
}

/// How a question was answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Reply(Reply),
    Error(ModelError),
}

impl Header {
    fn ours() -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION }
    }

    /// The header in a line, if it is one.
    fn read(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok().filter(|header: &Self| header.format == FORMAT)
    }
}

#[cfg(test)]
mod tests;
