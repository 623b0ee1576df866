//! Events, timing, storage and cancellation for all stages of a review.
//!
//! A disk error does not end a review. The journal warns about the first one at once. The report
//! names the first one and counts the others.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::time::Instant;

use crate::events::{ReviewEvent, Stage};
use crate::run_folder::{FileWriteError, RunFolder, StageTime};
use crate::runs::{RunRecord, milliseconds};
use crh_agent::{CancelToken, Transcript, TranscriptDetail};
use crh_llm::Redactor;
use crh_review::report::Report;

/// Journal of one review. Clones share it.
#[derive(Clone)]
pub struct ReviewJournal {
    inner: Arc<JournalState>,
}

struct JournalState {
    folder: Option<RunFolder>,
    listener: Box<dyn Fn(&ReviewEvent) + Send + Sync>,
    cancel: CancelToken,
    redactor: Redactor,
    transcript_detail: TranscriptDetail,
    completed_runs: Vec<RunRecord>,
    notes: Mutex<JournalNotes>,
}

#[derive(Default)]
struct JournalNotes {
    stages: Vec<StageTime>,
    transcripts: BTreeMap<String, Transcript>,
    /// Message of the first failure, and the number of further failures.
    failed_writes: Option<(String, usize)>,
}

impl ReviewJournal {
    /// Opens a journal. Without a folder, the journal stores nothing. `completed_runs` are the runs
    /// that an earlier attempt completed.
    pub fn open(
        folder: Option<RunFolder>,
        redactor: Redactor,
        transcript_detail: TranscriptDetail,
        completed_runs: Vec<RunRecord>,
        listener: impl Fn(&ReviewEvent) + Send + Sync + 'static,
    ) -> Self {
        let inner = JournalState {
            folder: folder.map(|folder| folder.with_redactor(redactor.clone())),
            listener: Box::new(listener),
            cancel: CancelToken::new(),
            redactor,
            transcript_detail,
            completed_runs,
            notes: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Runs a stage: emits its start and end, and stores its output.
    pub fn stage<T: Serialize>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let start = self.begin(stage);
        let output = work();
        self.end(stage, start, &output);
        output
    }

    /// Runs an async stage.
    pub async fn async_stage<T: Serialize>(
        &self,
        stage: Stage,
        work: impl Future<Output = T>,
    ) -> T {
        let start = self.begin(stage);
        let output = work.await;
        self.end(stage, start, &output);
        output
    }

    /// Sends an event to the listener.
    pub fn emit(&self, event: ReviewEvent) {
        (self.inner.listener)(&event);
    }

    /// Stores a value in the run folder, for example as `stages/terms.json`.
    pub fn store(&self, name: &str, value: &impl Serialize) {
        self.record_result(self.inner.folder.as_ref().map(|folder| folder.store(name, value)));
    }

    /// Stores a finished run.
    pub fn store_run(&self, record: &RunRecord) {
        self.record_result(self.inner.folder.as_ref().map(|folder| folder.store_run(record)));
    }

    /// Stores a finished run and emits its end.
    pub(crate) fn run_ended(&self, record: &RunRecord) {
        self.store_run(record);
        self.emit(ReviewEvent::RunEnded {
            run: record.assignment.name.clone(),
            failure: record.ended.failure().map(str::to_owned),
            limited: record.limited,
            findings: record.members.len(),
            took_ms: record.took_ms,
        });
    }

    /// Stores the results of the review. Failures are added to [`Self::write_problems`].
    pub fn finish(&self, report: &Report, records: &[RunRecord]) {
        let Some(folder) = &self.inner.folder else { return };
        for error in folder.finish(report, records, &self.stages()) {
            self.record_failure(&error);
        }
    }

    /// Runs that an earlier attempt completed. They are not repeated.
    pub fn completed_runs(&self) -> &[RunRecord] {
        &self.inner.completed_runs
    }

    /// Durations of the stages that have ended.
    pub fn stages(&self) -> Vec<StageTime> {
        self.notes().stages.clone()
    }

    /// Opens the transcript of a run. The same name gives the same file.
    pub fn transcript(&self, name: &str) -> Transcript {
        let Some(folder) = &self.inner.folder else { return Transcript::disabled() };
        let mut notes = self.notes();
        if let Some(transcript) = notes.transcripts.get(name) {
            return transcript.clone();
        }
        let transcript = folder.transcript(name).and_then(|path| {
            Transcript::append_to(&path, self.inner.redactor.clone(), self.inner.transcript_detail)
        });
        match transcript {
            Ok(transcript) => {
                notes.transcripts.insert(name.to_owned(), transcript.clone());
                transcript
            }
            Err(why) => {
                drop(notes);
                self.record_failure(&FileWriteError {
                    name: format!("transcripts/{name}.jsonl"),
                    why,
                });
                Transcript::disabled()
            }
        }
    }

    /// Failed writes so far, for the warnings of the report.
    pub fn write_problems(&self) -> Vec<String> {
        let notes = self.notes();
        let files = notes.failed_writes.as_ref().map(|(first, more)| match more {
            0 => first.clone(),
            1 => format!("{first}; and 1 more file"),
            more => format!("{first}; and {more} more files"),
        });
        let transcripts = notes.transcripts.iter().filter_map(|(name, transcript)| {
            let why = transcript.error()?;
            Some(format!("the transcript of `{name}` is incomplete: {why}"))
        });
        files.into_iter().chain(transcripts).collect()
    }

    /// Token that cancels the review.
    pub fn cancel(&self) -> &CancelToken {
        &self.inner.cancel
    }

    /// Redactor that masks known API keys.
    pub fn redactor(&self) -> &Redactor {
        &self.inner.redactor
    }

    /// Path of the run folder, if there is one.
    pub fn folder(&self) -> Option<PathBuf> {
        self.inner.folder.as_ref().map(|folder| folder.path().to_owned())
    }

    fn begin(&self, stage: Stage) -> Instant {
        self.emit(ReviewEvent::StageStarted { stage });
        Instant::now()
    }

    fn end(&self, stage: Stage, start: Instant, output: &impl Serialize) {
        let took_ms = milliseconds(start.elapsed());
        self.notes().stages.push(StageTime { stage, took_ms });
        let folder = self.inner.folder.as_ref();
        self.record_result(folder.map(|folder| folder.store_stage(stage.name(), output)));
        self.emit(ReviewEvent::StageEnded { stage, took_ms });
    }

    fn record_result(&self, result: Option<Result<(), FileWriteError>>) {
        if let Some(Err(error)) = result {
            self.record_failure(&error);
        }
    }

    /// Records a failed write. Warns only once, since a full disk fails often.
    fn record_failure(&self, error: &FileWriteError) {
        let text = error.to_string();
        let is_first = match &mut self.notes().failed_writes {
            Some((_, more)) => {
                *more += 1;
                false
            }
            failed_writes @ None => {
                *failed_writes = Some((text.clone(), 0));
                true
            }
        };
        if is_first {
            self.emit(ReviewEvent::Warning { text });
        }
    }

    fn notes(&self) -> MutexGuard<'_, JournalNotes> {
        // A panic leaves the state consistent.
        self.inner.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ReviewJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("folder", &self.inner.folder).finish_non_exhaustive()
    }
}
