//! The journal of one review: events, timing, storing and cancelling, for all stages alike.
//!
//! A disk that fails does not end a review: what could not be written is remembered, told once, and a warning in the
//! end.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::time::Instant;

use crate::events::{Event, Stage};
use crate::run_folder::{Completion, NotWritten, RunFolder, StageTime};
use crate::runs::{RunRecord, milliseconds};
use crh_agent::{Cancel, Contents, Transcript};
use crh_llm::Redactor;
use crh_review::report::Report;

/// Where a review writes down what happens. Clones write to the same one.
#[derive(Clone)]
pub struct Journal {
    inner: Arc<Inner>,
}

struct Inner {
    folder: Option<RunFolder>,
    listener: Box<dyn Fn(&Event) + Send + Sync>,
    cancel: Cancel,
    redactor: Redactor,
    contents: Contents,
    earlier: Vec<RunRecord>,
    notes: Mutex<Notes>,
}

/// What the journal keeps in mind.
#[derive(Default)]
struct Notes {
    stages: Vec<StageTime>,
    transcripts: BTreeMap<String, Transcript>,
    /// What could not be written first, and how many more files.
    lost: Option<(String, usize)>,
}

impl Journal {
    /// Opens the journal. Without a folder nothing is kept. `earlier` are the runs that an earlier attempt completed.
    pub fn open(
        folder: Option<RunFolder>,
        redactor: Redactor,
        contents: Contents,
        earlier: Vec<RunRecord>,
        listener: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Self {
        let inner = Inner {
            folder: folder.map(|folder| folder.redacting(redactor.clone())),
            listener: Box::new(listener),
            cancel: Cancel::new(),
            redactor,
            contents,
            earlier,
            notes: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Does the work of a stage: says when it begins and ends, and stores what it brought.
    pub fn stage<T: Serialize>(&self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let start = self.begin(stage);
        let output = work();
        self.end(stage, start, &output);
        output
    }

    /// The same for a stage that waits.
    pub async fn waiting_stage<T: Serialize>(
        &self,
        stage: Stage,
        work: impl Future<Output = T>,
    ) -> T {
        let start = self.begin(stage);
        let output = work.await;
        self.end(stage, start, &output);
        output
    }

    /// Tells whoever listens.
    pub fn tell(&self, event: Event) {
        (self.inner.listener)(&event);
    }

    /// Stores something under a name in the run folder, such as `stages/terms.json`.
    pub fn store(&self, name: &str, value: &impl Serialize) {
        self.written(self.inner.folder.as_ref().map(|folder| folder.store(name, value)));
    }

    /// Stores a run that has ended.
    pub fn keep(&self, record: &RunRecord) {
        self.written(self.inner.folder.as_ref().map(|folder| folder.keep(record)));
    }

    /// Stores a run that has ended, and tells of it.
    pub(crate) fn ended(&self, record: &RunRecord) {
        self.keep(record);
        self.tell(Event::RunEnded {
            run: record.assignment.name.clone(),
            failure: record.ended.failure().map(str::to_owned),
            limited: record.limited,
            findings: record.members.len(),
            took_ms: record.took_ms,
        });
    }

    /// Stores what came of the review. What cannot be written is among the `problems` afterwards.
    pub fn finish(&self, report: &Report, records: &[RunRecord], completion: Completion) {
        let Some(folder) = &self.inner.folder else { return };
        for not_written in folder.finish(report, records, &self.stages(), completion) {
            self.lose(&not_written);
        }
    }

    /// The runs that an earlier attempt at this review completed: nobody pays for them again.
    pub fn earlier(&self) -> &[RunRecord] {
        &self.inner.earlier
    }

    /// How long the stages took that have ended.
    pub fn stages(&self) -> Vec<StageTime> {
        self.notes().stages.clone()
    }

    /// Where a run writes down what happens in it. The same name gives the same file.
    pub fn transcript(&self, name: &str) -> Transcript {
        let Some(folder) = &self.inner.folder else { return Transcript::none() };
        let mut notes = self.notes();
        if let Some(transcript) = notes.transcripts.get(name) {
            return transcript.clone();
        }
        let opened = folder.transcript(name).and_then(|path| {
            Transcript::to(&path, self.inner.redactor.clone(), self.inner.contents)
        });
        match opened {
            Ok(transcript) => {
                notes.transcripts.insert(name.to_owned(), transcript.clone());
                transcript
            }
            Err(why) => {
                drop(notes);
                self.lose(&NotWritten { name: format!("transcripts/{name}.jsonl"), why });
                Transcript::none()
            }
        }
    }

    /// What could not be written so far, for the warnings of the report.
    pub fn problems(&self) -> Vec<String> {
        let notes = self.notes();
        let files = notes.lost.as_ref().map(|(first, more)| match more {
            0 => first.clone(),
            1 => format!("{first}; and one more file"),
            more => format!("{first}; and {more} more files"),
        });
        let transcripts = notes.transcripts.iter().filter_map(|(name, transcript)| {
            let why = transcript.error()?;
            Some(format!("the transcript of `{name}` is incomplete: {why}"))
        });
        files.into_iter().chain(transcripts).collect()
    }

    /// Stops everything.
    pub fn cancel(&self) -> &Cancel {
        &self.inner.cancel
    }

    /// What masks the keys that are known.
    pub fn redactor(&self) -> &Redactor {
        &self.inner.redactor
    }

    /// The run folder, if there is one.
    pub fn folder(&self) -> Option<PathBuf> {
        self.inner.folder.as_ref().map(|folder| folder.path().to_owned())
    }

    fn begin(&self, stage: Stage) -> Instant {
        self.tell(Event::StageStarted { stage });
        Instant::now()
    }

    fn end(&self, stage: Stage, start: Instant, output: &impl Serialize) {
        let took_ms = milliseconds(start.elapsed());
        self.notes().stages.push(StageTime { stage, took_ms });
        let folder = self.inner.folder.as_ref();
        self.written(folder.map(|folder| folder.stage(stage.name(), output)));
        self.tell(Event::StageEnded { stage, took_ms });
    }

    fn written(&self, written: Option<Result<(), NotWritten>>) {
        if let Some(Err(not_written)) = written {
            self.lose(&not_written);
        }
    }

    /// Remembers that something could not be written, and says it the first time: a full disk would say it often.
    fn lose(&self, not_written: &NotWritten) {
        let text = not_written.to_string();
        let is_first = match &mut self.notes().lost {
            Some((_, more)) => {
                *more += 1;
                false
            }
            lost @ None => {
                *lost = Some((text.clone(), 0));
                true
            }
        };
        if is_first {
            self.tell(Event::Warning { text });
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // Nothing in them is half done between two statements.
        self.inner.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("folder", &self.inner.folder).finish_non_exhaustive()
    }
}
