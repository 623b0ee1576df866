//! Records exchanges from parallel callers.

use std::fmt;
#[cfg(test)]
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::cassette::file::CassetteFile;
use crate::cassette::piece::{PieceHasher, PieceId};
use crate::cassette::question::QuestionParts;
use crate::cassette::{Exchange, RecordedAnswer, RecordedModel};
use crate::{ModelError, ModelFacts, ModelReply, ModelRequest, Redactor};

/// Writes a cassette. Each exchange is one write, so a crash leaves at most the last exchange
/// incomplete.
pub struct Recorder {
    hasher: PieceHasher,
    file: Mutex<CassetteFile>,
}

impl Recorder {
    /// Creates a cassette. An existing cassette is replaced at the first reply, and kept if there
    /// is no reply. Fails if another process records to the file, if it is a cassette with an
    /// unsupported version, not a cassette, or not a regular file. Only secrets known to the
    /// redactor are masked.
    pub fn create(path: &Path, redactor: Redactor) -> io::Result<Self> {
        Self::create_for(path, redactor, None)
    }

    /// Like [`create`](Self::create), and stores the hash of the prompts, so that a reader can tell
    /// whether the recording is out of date.
    pub fn create_for(path: &Path, redactor: Redactor, prompts: Option<&str>) -> io::Result<Self> {
        let file = Mutex::new(CassetteFile::create(path, prompts)?);
        Ok(Self { hasher: PieceHasher::new(redactor), file })
    }

    /// Records an exchange. The caller has its answer already, so a write error is not returned
    /// here but by `finish`. `NotRecorded` errors are not recorded.
    pub(crate) fn record(
        &self,
        name: &str,
        facts: &ModelFacts,
        request: &ModelRequest,
        answer: &Result<ModelReply, ModelError>,
    ) {
        if matches!(answer, Err(ModelError::NotRecorded { .. })) {
            return;
        }
        if let Err(error) = self.try_record(name, facts, request, answer) {
            self.lock_file().fail(error);
        }
    }

    /// Number of recorded exchanges, or an error if the recording is incomplete or at another path.
    /// The number is zero until the new cassette replaces an old one.
    pub fn finish(&self) -> io::Result<u64> {
        self.lock_file().exchange_count()
    }

    fn try_record(
        &self,
        name: &str,
        facts: &ModelFacts,
        request: &ModelRequest,
        answer: &Result<ModelReply, ModelError>,
    ) -> io::Result<()> {
        let model = RecordedModel { name: name.to_owned(), facts: facts.clone() };
        let model = serde_json::to_value(model)?;
        let parts = QuestionParts::from_request(request)?;
        let (model_id, question) = (self.hasher.piece_id(&model), parts.to_key(&self.hasher));
        let pieces = [(&model_id, &model)].into_iter().chain(question.iter().zip(parts.iter()));
        let new_pieces: Vec<(PieceId, &Value)> = {
            let file = self.lock_file();
            let new_pieces = pieces.filter(|(id, _)| !file.has(id));
            new_pieces.map(|(id, value)| (id.clone(), value)).collect()
        };
        // Redact without holding the lock, even if two callers then redact the same piece.
        let redacted_pieces =
            new_pieces.into_iter().map(|(id, value)| (id, self.hasher.redact(value)));
        let redacted_pieces = redacted_pieces.collect();
        let answer = match answer {
            Ok(reply) => RecordedAnswer::Reply(reply.clone()),
            Err(error) => RecordedAnswer::Error(error.clone()),
        };
        let answer = self.hasher.redact(&serde_json::to_value(answer)?);
        let answer = serde_json::from_value(answer)?;
        self.lock_file().write(redacted_pieces, Exchange { model: model_id, question, answer })
    }

    /// Redirects writes, so that a test can make them fail.
    #[cfg(test)]
    pub(crate) fn replace_file(&mut self, file: File) {
        self.lock_file().replace_file(file);
    }

    fn lock_file(&self) -> MutexGuard<'_, CassetteFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
