//! Loads a cassette and answers from it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, fs, io};

use serde_json::Value;
use thiserror::Error;

use crate::cassette::piece::{PieceHasher, PieceId};
use crate::cassette::question::{QuestionKey, QuestionParts};
use crate::cassette::{
    CassetteHeader, CassetteLine, Exchange, RecordedAnswer, RecordedModel, VERSION, mismatch,
};
use crate::{ModelError, ModelFacts, ModelReply, ModelRequest, Redactor};

/// Maximum size of a cassette, because it is kept in memory. Reviews record a few megabytes.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// A recording that answers recorded questions.
pub struct Cassette {
    pieces: HashMap<PieceId, Value>,
    model: RecordedModel,
    /// Questions, in the order in which they were first recorded.
    questions: Vec<QuestionKey>,
    answers: HashMap<QuestionKey, AnswerQueue>,
    warning: Option<String>,
    prompts: Option<String>,
    unrecorded_count: AtomicUsize,
    hasher: PieceHasher,
    /// Redactor of error messages. It also masks text that only looks like a key.
    redactor: Redactor,
}

/// Answers to one question, in recorded order.
#[derive(Default)]
struct AnswerQueue {
    answers: Vec<RecordedAnswer>,
    served_count: AtomicUsize,
}

/// Why a cassette cannot be used.
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
#[derive(Debug, Error)]
pub enum CassetteError {
    #[error("cannot read the recording `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{}` is not a recording of crh", path.display())]
    NoCassette { path: PathBuf },
    #[error("the recording `{}` has format version {file_version}; crh reads version {VERSION}", path.display())]
    Version { path: PathBuf, file_version: u32 },
    #[error("line {line} of the recording `{}` is damaged: {problem}", path.display())]
    Damaged { path: PathBuf, line: usize, problem: String },
    #[error("the recording `{}` is empty", path.display())]
    Empty { path: PathBuf },
}

impl Cassette {
    /// Loads a cassette. The redactor should know the same keys as during the recording. Otherwise,
    /// questions that contain a key are not found.
    pub fn load(path: &Path, redactor: Redactor) -> Result<Self, CassetteError> {
        let bytes = read_bytes(path)
            .map_err(|source| CassetteError::Unreadable { path: path.to_owned(), source })?;
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
        let header = lines.next().and_then(|(_, line)| CassetteHeader::parse(line));
        let prompts = match header {
            Some(CassetteHeader { version: VERSION, prompts, .. }) => prompts,
            Some(CassetteHeader { version: file_version, .. }) => {
                return Err(CassetteError::Version { path: path.to_owned(), file_version });
            }
            None => return Err(CassetteError::NoCassette { path: path.to_owned() }),
        };
        let mut reader = CassetteReader::default();
        while let Some((index, line)) = lines.next() {
            // A complete file ends with a line break, so the last line is empty. After a crash, the
            // last line may be incomplete.
            let is_last = lines.peek().is_none_or(|(_, rest)| rest.is_empty());
            if line.is_empty() && lines.peek().is_none() {
                break;
            }
            match reader.add_line(line) {
                Ok(()) => {}
                Err(problem) if is_last => {
                    let line = index + 1;
                    reader.warning =
                        Some(format!("skipped the incomplete last line {line}: {problem}"));
                    break;
                }
                Err(problem) => {
                    let (path, line) = (path.to_owned(), index + 1);
                    return Err(CassetteError::Damaged { path, line, problem });
                }
            }
        }
        let Some(model) = reader.model else {
            return Err(CassetteError::Empty { path: path.to_owned() });
        };
        Ok(Self {
            pieces: reader.pieces,
            model,
            questions: reader.questions,
            answers: reader.answers,
            warning: reader.warning,
            prompts,
            unrecorded_count: AtomicUsize::new(0),
            hasher: PieceHasher::new(redactor.clone()),
            redactor,
        })
    }

    /// Warning about an incomplete last line that was skipped.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Hash of the prompts behind the recorded questions, if the recording has one.
    pub(crate) fn prompts(&self) -> Option<&str> {
        self.prompts.as_deref()
    }

    /// Number of questions that the recording could not answer.
    pub(crate) fn unrecorded_count(&self) -> usize {
        self.unrecorded_count.load(Ordering::Relaxed)
    }

    /// Name and facts of the first recorded model.
    pub(crate) fn model(&self) -> (&str, &ModelFacts) {
        (&self.model.name, &self.model.facts)
    }

    /// The recorded answer to a request. Several answers are returned in order; the last one
    /// repeats.
    pub(crate) fn answer(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let unreadable = |error: serde_json::Error| ModelError::NotRecorded {
            message: format!("the question cannot be compared with the recorded ones: {error}"),
        };
        let parts = QuestionParts::from_request(request).map_err(unreadable)?;
        let question = parts.to_key(&self.hasher);
        let answer = self.answers.get(&question).and_then(|answers| {
            let index = answers.served_count.fetch_add(1, Ordering::Relaxed);
            answers.answers.get(index).or(answers.answers.last())
        });
        match answer {
            Some(RecordedAnswer::Reply(reply)) => Ok(reply.clone()),
            Some(RecordedAnswer::Error(error)) => Err(error.clone()),
            None => {
                self.unrecorded_count.fetch_add(1, Ordering::Relaxed);
                let redacted_parts = parts.map(|value| self.hasher.redact(value));
                let recorded_questions = self.questions.iter();
                let recorded_questions =
                    recorded_questions.map(|question| (question, self.piece_values(question)));
                let message = mismatch::describe_mismatch(
                    recorded_questions,
                    &question,
                    &redacted_parts,
                    &self.redactor,
                );
                Err(ModelError::NotRecorded { message })
            }
        }
    }

    fn piece_values(&self, question: &QuestionKey) -> QuestionParts<&Value> {
        // `load` has checked that all pieces exist.
        question.map(|id| self.pieces.get(id).unwrap_or(&Value::Null))
    }
}

impl fmt::Debug for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cassette")
            .field("model", &self.model.name)
            .field("questions", &self.questions.len())
            .finish_non_exhaustive()
    }
}

/// State while loading.
#[derive(Default)]
struct CassetteReader {
    pieces: HashMap<PieceId, Value>,
    model: Option<RecordedModel>,
    questions: Vec<QuestionKey>,
    answers: HashMap<QuestionKey, AnswerQueue>,
    warning: Option<String>,
}

impl CassetteReader {
    fn add_line(&mut self, line: &[u8]) -> Result<(), String> {
        match serde_json::from_slice(line) {
            Ok(CassetteLine::Piece { id, value }) if PieceId::from_value(&value) == id => {
                self.pieces.insert(id, value);
                Ok(())
            }
            Ok(CassetteLine::Piece { .. }) => Err("its content was modified".to_owned()),
            Ok(CassetteLine::Exchange(exchange)) => self.add_exchange(exchange),
            Err(error) => Err(format!("it is not a valid cassette line: {error}")),
        }
    }

    fn add_exchange(&mut self, exchange: Exchange) -> Result<(), String> {
        let Exchange { model, question, answer } = exchange;
        if question.iter().any(|id| !self.pieces.contains_key(id)) {
            return Err("it refers to a missing piece".to_owned());
        }
        let model = self.pieces.get(&model).cloned().map(serde_json::from_value);
        let Some(Ok(model)) = model else {
            return Err("it refers to a missing model".to_owned());
        };
        self.model.get_or_insert(model);
        let answers = self.answers.entry(question.clone()).or_insert_with(|| {
            self.questions.push(question);
            AnswerQueue::default()
        });
        answers.answers.push(answer);
        Ok(())
    }
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Check before opening, because opening a named pipe would block.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 512 MiB"));
    }
    Ok(bytes)
}
