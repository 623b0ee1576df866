//! Cassettes: recorded model requests and replies, for replay without a model.
//!
//! A cassette is a JSON Lines file. The first line is a header. System prompts, messages, tool
//! lists, settings and model descriptions are stored once, as pieces identified by the hash of
//! their content. An exchange refers to the pieces of its question and holds the answer. This keeps
//! the files of long runs small. A question is found by its content, whichever caller asks it.
//! Known secrets are masked before writing. Everything else is stored unchanged, including the
//! reviewed code and text that only looks like a key.

mod file;
mod mismatch;
mod piece;
mod player;
mod question;
mod recorder;

use piece::PieceId;
pub use player::{Cassette, CassetteError};
use question::QuestionKey;
pub use recorder::Recorder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ModelError, ModelFacts, ModelReply};

/// Format name in the header.
const FORMAT: &str = "crh-cassette";

/// The only supported version of the format.
const VERSION: u32 = 1;

/// First line of the file.
#[derive(Serialize, Deserialize)]
struct CassetteHeader {
    format: String,
    version: u32,
    /// Hash of the prompts behind the questions, if the caller gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompts: Option<String>,
}

/// Any line after the header.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CassetteLine {
    Piece { id: PieceId, value: Value },
    Exchange(Exchange),
}

/// A question and its answer.
#[derive(Serialize, Deserialize)]
struct Exchange {
    /// Id of the piece that holds the `RecordedModel`.
    model: PieceId,
    question: QuestionKey,
    answer: RecordedAnswer,
}

/// The model that answered. The recording contains its facts, so that a replay trims conversations
/// and computes costs like the original run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RecordedModel {
    name: String,
    facts: ModelFacts,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordedAnswer {
    Reply(ModelReply),
    Error(ModelError),
}

impl CassetteHeader {
    fn current(prompts: Option<&str>) -> Self {
        let prompts = prompts.map(str::to_owned);
        Self { format: FORMAT.to_owned(), version: VERSION, prompts }
    }

    fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok().filter(|header: &Self| header.format == FORMAT)
    }
}

#[cfg(test)]
mod tests;
