//! Reads a cassette and answers from it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fmt, fs, io};

use serde_json::Value;
use thiserror::Error;

use crate::cassette::piece::{Naming, PieceId};
use crate::cassette::question::{Parts, Question};
use crate::cassette::{Answer, Exchange, Header, Line, RecordedModel, VERSION, difference};
use crate::{ModelError, ModelFacts, Redactor, Reply, Request};

/// A cassette is held in memory while it is played. Reviews record some megabytes; a file of this size is no
/// recording of one.
const BYTES_MAX: u64 = 512 * 1024 * 1024;

/// A recording that answers questions it has heard before.
pub struct Cassette {
    pieces: HashMap<PieceId, Value>,
    model: RecordedModel,
    /// In the order in which they were first asked.
    questions: Vec<Question>,
    answers: HashMap<Question, Answers>,
    note: Option<String>,
    naming: Naming,
    /// For what is shown.
    redactor: Redactor,
}

/// The answers to one question, in the order in which they were given.
#[derive(Default)]
struct Answers {
    given: Vec<Answer>,
    served: AtomicUsize,
}

/// Why a cassette cannot be played.
#[derive(Debug, Error)]
pub enum CassetteError {
    /// The file cannot be read.
    #[error("the cassette `{}` cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is some other file.
    #[error("`{}` is no cassette", path.display())]
    NoCassette {
        /// The file.
        path: PathBuf,
    },
    /// A later version of this program wrote it.
    #[error("the cassette `{}` has version {found} of the format; version {VERSION} can be read", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// It is damaged in the middle.
    #[error("line {line} of the cassette `{}` is damaged: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// Nothing was recorded.
    #[error("the cassette `{}` has no exchange in it", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl Cassette {
    /// Reads a cassette. Questions are redacted as they were when it was made, by value alone, so the redactor should
    /// know the same keys; without them, questions that contain a key are not found.
    pub fn read(path: &Path, redactor: Redactor) -> Result<Self, CassetteError> {
        let bytes = bytes(path)
            .map_err(|source| CassetteError::Unreadable { path: path.to_owned(), source })?;
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
        let header = lines.next().and_then(|(_, line)| Header::read(line));
        match header.map(|header| header.version) {
            Some(VERSION) => {}
            Some(found) => return Err(CassetteError::Version { path: path.to_owned(), found }),
            None => return Err(CassetteError::NoCassette { path: path.to_owned() }),
        }
        let mut reading = Reading::default();
        while let Some((index, line)) = lines.next() {
            // What ends a file is an empty line, or the rest of one that was being written.
            let last = lines.peek().is_none_or(|(_, rest)| rest.is_empty());
            if line.is_empty() && lines.peek().is_none() {
                break;
            }
            match reading.take(line) {
                Ok(()) => {}
                Err(problem) if last => {
                    let line = index + 1;
                    reading.note =
                        Some(format!("line {line}, the last one, is left out: {problem}"));
                    break;
                }
                Err(problem) => {
                    let (path, line) = (path.to_owned(), index + 1);
                    return Err(CassetteError::Damaged { path, line, problem });
                }
            }
        }
        let Some(model) = reading.model else {
            return Err(CassetteError::Empty { path: path.to_owned() });
        };
        Ok(Self {
            pieces: reading.pieces,
            model,
            questions: reading.questions,
            answers: reading.answers,
            note: reading.note,
            naming: Naming::new(redactor.clone()),
            redactor,
        })
    }

    /// What was wrong with the recording and could be done without: a last line that was cut off.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The name and the facts of the model that was recorded first.
    pub(crate) fn model(&self) -> (&str, &ModelFacts) {
        (&self.model.name, &self.model.facts)
    }

    /// The recorded answer to a question. Several are given in their order, the last one again when they are used up.
    pub(crate) fn answer(&self, request: &Request) -> Result<Reply, ModelError> {
        let unreadable = |error: serde_json::Error| ModelError::NotRecorded {
            message: format!("the question cannot be compared with the recorded ones: {error}"),
        };
        let parts = Parts::of(request).map_err(unreadable)?;
        let question = parts.named(&self.naming);
        let answer = self.answers.get(&question).and_then(|answers| {
            let served = answers.served.fetch_add(1, Ordering::Relaxed);
            answers.given.get(served).or(answers.given.last())
        });
        match answer {
            Some(Answer::Reply(reply)) => Ok(reply.clone()),
            Some(Answer::Error(error)) => Err(error.clone()),
            None => {
                let asked = parts.map(|value| self.naming.redacted(value));
                let recorded = self.questions.iter();
                let recorded = recorded.map(|question| (question, self.values(question)));
                let message = difference::from_nearest(recorded, &question, &asked, &self.redactor);
                Err(ModelError::NotRecorded { message })
            }
        }
    }

    fn values(&self, question: &Question) -> Parts<&Value> {
        // Reading has checked that every piece is there.
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

/// What has been read so far.
#[derive(Default)]
struct Reading {
    pieces: HashMap<PieceId, Value>,
    model: Option<RecordedModel>,
    questions: Vec<Question>,
    answers: HashMap<Question, Answers>,
    note: Option<String>,
}

impl Reading {
    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        match serde_json::from_slice(line) {
            Ok(Line::Piece { id, value }) if PieceId::of(&value) == id => {
                self.pieces.insert(id, value);
                Ok(())
            }
            Ok(Line::Piece { .. }) => Err("its content has been changed".to_owned()),
            Ok(Line::Exchange(exchange)) => self.take_exchange(exchange),
            Err(error) => Err(format!("it cannot be read as JSON of the format: {error}")),
        }
    }

    fn take_exchange(&mut self, exchange: Exchange) -> Result<(), String> {
        let Exchange { model, question, answer } = exchange;
        if question.iter().any(|id| !self.pieces.contains_key(id)) {
            return Err("it names a piece that does not stand before it".to_owned());
        }
        let model = self.pieces.get(&model).cloned().map(serde_json::from_value);
        let Some(Ok(model)) = model else {
            return Err("it names no model that stands before it".to_owned());
        };
        self.model.get_or_insert(model);
        let answers = self.answers.entry(question.clone()).or_insert_with(|| {
            self.questions.push(question);
            Answers::default()
        });
        answers.given.push(answer);
        Ok(())
    }
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Before it is opened: a pipe that nobody writes to would wait for ever.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it has more than 512 MiB"));
    }
    Ok(bytes)
}
