//! Writes exchanges to a cassette, from as many callers as there are, each in one piece.

use std::fmt;
#[cfg(test)]
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::cassette::piece::{Naming, PieceId};
use crate::cassette::question::Parts;
use crate::cassette::tape::Tape;
use crate::cassette::{Answer, Exchange, RecordedModel};
use crate::{ModelError, ModelFacts, Redactor, Reply, Request};

/// Writes a cassette. Each exchange is one write, so that a crash loses at most the one in flight.
pub struct Recorder {
    naming: Naming,
    tape: Mutex<Tape>,
}

impl Recorder {
    /// A new, empty cassette. A cassette that stands there already is replaced when the first answer comes; without one it
    /// stays as it was. One that someone is still recording to, or of another version of the format, is refused. Any other
    /// file is left alone, and so is what is no file: a pipe that nobody reads would hold up every answer.
    /// The secrets that the redactor knows are masked, and nothing else is.
    pub fn create(path: &Path, redactor: Redactor) -> io::Result<Self> {
        let tape = Mutex::new(Tape::create(path)?);
        Ok(Self { naming: Naming::new(redactor), tape })
    }

    /// Writes down an exchange. A failure does not reach the one who asked, who has an answer: `finish` tells it. That
    /// another recording had no answer is not written down, or it would be taken for one.
    pub(crate) fn record(
        &self,
        name: &str,
        facts: &ModelFacts,
        request: &Request,
        answer: &Result<Reply, ModelError>,
    ) {
        if matches!(answer, Err(ModelError::NotRecorded { .. })) {
            return;
        }
        if let Err(error) = self.recorded(name, facts, request, answer) {
            self.tape().fail(error);
        }
    }

    /// How many exchanges stand in the cassette, or why not all of them do. None do as long as an older cassette waits
    /// for the first answer.
    pub fn finish(&self) -> io::Result<u64> {
        self.tape().standing()
    }

    fn recorded(
        &self,
        name: &str,
        facts: &ModelFacts,
        request: &Request,
        answer: &Result<Reply, ModelError>,
    ) -> io::Result<()> {
        let model = RecordedModel { name: name.to_owned(), facts: facts.clone() };
        let model = serde_json::to_value(model)?;
        let parts = Parts::of(request)?;
        let (model_id, question) = (self.naming.name(&model), parts.named(&self.naming));
        let pieces = [(&model_id, &model)].into_iter().chain(question.iter().zip(parts.iter()));
        let unwritten: Vec<(PieceId, &Value)> = {
            let tape = self.tape();
            let unwritten = pieces.filter(|(id, _)| !tape.has(id));
            unwritten.map(|(id, value)| (id.clone(), value)).collect()
        };
        // Redacting takes time and needs no lock; that two callers may do it for the same piece costs less.
        let redacted = unwritten.into_iter().map(|(id, value)| (id, self.naming.redacted(value)));
        let redacted = redacted.collect();
        let answer = match answer {
            Ok(reply) => Answer::Reply(reply.clone()),
            Err(error) => Answer::Error(error.clone()),
        };
        let answer = self.naming.redacted(&serde_json::to_value(answer)?);
        let answer = serde_json::from_value(answer)?;
        self.tape().write(redacted, Exchange { model: model_id, question, answer })
    }

    /// Records to another file from now on, so that a test can see it fail.
    #[cfg(test)]
    pub(crate) fn replace_file(&mut self, file: File) {
        self.tape().replace_file(file);
    }

    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
