//! The run folder: everything that is kept of one review, where it lies, and how it is read again.
//!
//! Invariant: a file in it is whole or not there, but for transcripts, which grow. Keys that are known are in none of
//! them. The folder is its owner's alone, since the code under review is in it.

mod error;
#[path = "run_folder/run_list.rs"]
mod shelf;
#[path = "run_folder/timestamp.rs"]
mod stamp;
#[path = "run_folder/checkout_state.rs"]
mod standpoint;
mod telemetry;
#[path = "run_folder/atomic_write.rs"]
mod whole;

#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

pub use error::{FolderError, NotWritten};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
pub use shelf::{Age, Kept, Row, find, list, prunable, remove};
pub use stamp::Stamp;
pub use standpoint::Standpoint;
pub use telemetry::{RunCalls, StageTime, Telemetry, calls};
use whole::write_lasting;
pub use whole::{remove_drafts, write_whole};

use crate::credentials::Credentials;
use crate::runs::{RunEnd, RunRecord};
use crh_agent::Totals;
use crh_llm::Redactor;
use crh_review::diff::Diff;
use crh_review::report::{Report, SCHEMA_VERSION};
use crh_review::{render, stable_json};

/// The terms of the review, which resuming needs.
pub const TERMS: &str = "stages/terms.json";
/// Where the pipeline puts the workspace.
pub const WORKSPACE: &str = "workspace";

/// The diff of the latest round in the workspace.
const DIFF: &str = "preview-diffs/latest/diff/raw.diff";
const REPORT: &str = "review.json";
const MARKDOWN: &str = "review.md";
const METADATA: &str = "metadata.json";
const TELEMETRY: &str = "telemetry.json";
const REVIEWERS: &str = "reviewers";
const TRANSCRIPTS: &str = "transcripts";
/// Where what comes after the review, to look again at what was fixed, has folders of its own.
const ROUNDS: &str = "rounds";
/// What is kept of fixes, by whoever makes them.
const FIXES: [&str; 4] = ["applied-fixes.json", "residual-work.json", "advisory.json", "fixes"];
const STAGES: &str = "stages";
const RUNS: &str = "stages/runs";
/// Nothing in a run folder is for git, wherever it lies.
const IGNORE: &str = ".gitignore";

/// As many runs in one second of one review are a loop.
const SAME_SECOND_MAX: u32 = 1_000;
/// Longer names are not ours, and some file systems would not take them.
const NAME_MAX: usize = 120;
/// The largest file that is read again. A report with ten thousand findings has a tenth of this.
const FILE_MAX: u64 = 256 << 20;
/// The largest `metadata.json`: a name, a branch and a commit.
const METADATA_MAX: u64 = 64 << 10;

/// The folder of one run, `.crh/runs/{timestamp}_{review_id}[-n]`. Clones are the same folder.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
    redactor: Redactor,
    /// Those of the change under review.
    credentials: Credentials,
    writes: Writes,
    /// Held while the run is under way, so that nobody else goes on with it.
    _lock: Option<Arc<File>>,
}

/// When what is written is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writes {
    /// When the system gets round to it: a review that is lost with the power is made again.
    Sometime,
    /// Before anything else is written: what it says has happened already.
    AtOnce,
}

/// `metadata.json`: what there is to know about a run without its report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// The name of the folder.
    pub run_id: String,
    /// Where the review was made from when its runs began.
    #[serde(flatten)]
    pub standpoint: Standpoint,
    /// What the review said, in the words of readers that know three; none before it did.
    pub verdict: Option<String>,
    /// When it was done; none if it was not.
    pub completed_at: Option<String>,
}

/// Whether a review came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// At this time.
    At(Stamp),
    /// Somebody stopped it: it can be resumed.
    Stopped,
}

impl RunFolder {
    fn at(path: PathBuf, lock: Option<Arc<File>>) -> Self {
        let (redactor, credentials) = (Redactor::default(), Credentials::default());
        Self { path, redactor, credentials, writes: Writes::Sometime, _lock: lock }
    }

    /// Makes the folder of a run that begins now, and the folder around it if it is not there.
    pub fn create(runs: &Path, stamp: Stamp, review_id: &str) -> io::Result<Self> {
        let first = format!("{stamp}_{review_id}");
        if shelf::RunName::parse(&first).is_none() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the id of the review is none"));
        }
        fs::create_dir_all(runs)?;
        for number in 1..=SAME_SECOND_MAX {
            let name = if number == 1 { first.clone() } else { format!("{first}-{number}") };
            let path = runs.join(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    write_whole(&path.join(IGNORE), b"*\n")?;
                    let lock = match lock(&path)? {
                        Lock::Taken(lock) => Some(lock),
                        Lock::Held => None,
                    };
                    return Ok(Self::at(path, lock));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::AlreadyExists, "too many runs began in this second"))
    }

    /// The folder of a run that was made before, to be read.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let foreign =
            |why: &str| FolderError::Foreign { path: path.to_owned(), why: why.to_owned() };
        if !path.is_dir() {
            return Err(foreign("it is no folder"));
        }
        let path = fs::canonicalize(path)
            .map_err(|why| FolderError::Disk { path: path.to_owned(), why })?;
        let folder = Self::at(path, None);
        match folder.metadata() {
            Ok(_) => Ok(folder),
            Err(FolderError::Unfinished { .. }) => {
                Err(foreign(&format!("there is no `{METADATA}` in it")))
            }
            Err(error) => Err(error),
        }
    }

    /// The same, to go on with the run: nobody else can meanwhile.
    pub fn resume(path: &Path) -> Result<Self, FolderError> {
        let folder = Self::open(path)?;
        let disk = |why| FolderError::Disk { path: folder.path.clone(), why };
        match lock(&folder.path).map_err(disk)? {
            Lock::Held => Err(FolderError::InUse(folder.run_id())),
            Lock::Taken(lock) => {
                for written in [folder.path.clone(), folder.path.join(STAGES)] {
                    remove_drafts(&written).map_err(disk)?;
                }
                Ok(Self { _lock: Some(lock), ..folder })
            }
        }
    }

    /// The folder with what it knows of secrets: nothing is stored that has one of them in it.
    #[must_use]
    pub fn redacting(self, redactor: Redactor) -> Self {
        Self { redactor, ..self }
    }

    /// The folder with the credentials of the change: what is stored shows none of them, and the workspace alone has them.
    #[must_use]
    pub fn hiding(self, credentials: Credentials) -> Self {
        Self { credentials, ..self }
    }

    /// The folder for whoever writes of what cannot be done again: every file is on the disk before the next one is written.
    #[must_use]
    pub fn lasting(self) -> Self {
        Self { writes: Writes::AtOnce, ..self }
    }

    /// Takes the credentials of the change out of a text.
    pub fn hide(&self, text: &mut String) {
        self.credentials.hide(text);
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the run, which is that of its folder.
    pub fn run_id(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Where the workspace of the run is.
    pub fn workspace(&self) -> PathBuf {
        self.path.join(WORKSPACE)
    }

    /// Where a run inside the review writes its transcript. The folder is made.
    pub(crate) fn transcript(&self, name: &str) -> io::Result<PathBuf> {
        self.place(&format!("{TRANSCRIPTS}/{name}.jsonl"))
    }

    /// Stores a value as JSON, such as `stages/plan.json`. Only known secrets are masked, since what merely looks like one
    /// may be the code that a finding quotes.
    pub fn store(&self, name: &str, value: &impl Serialize) -> Result<(), NotWritten> {
        let redactor = self.redactor.clone().by_value_alone();
        let value = serde_json::to_value(value).map(|value| self.credentials.numbered(value));
        let value =
            value.map_err(|error| NotWritten { name: name.to_owned(), why: error.into() })?;
        self.write_json(name, &value, &redactor)
    }

    /// The same for what quotes no line of the change, or is masked already.
    pub fn store_as_it_is(&self, name: &str, value: &impl Serialize) -> Result<(), NotWritten> {
        self.write_json(name, value, &self.redactor.clone().by_value_alone())
    }

    /// Reads a value that was stored.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, FolderError> {
        self.read_within(name, FILE_MAX)
    }

    /// The same for a file of at most so many bytes: a larger one is not looked into.
    pub fn read_within<T: DeserializeOwned>(
        &self,
        name: &str,
        most: u64,
    ) -> Result<T, FolderError> {
        let damaged =
            |why: String| FolderError::Damaged { run: self.run_id(), name: name.to_owned(), why };
        let bytes = match read_bounded(&self.path.join(name), most) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (run, name) = (self.run_id(), name.to_owned());
                return Err(FolderError::Unfinished { run, name });
            }
            Err(error) => return Err(damaged(error.to_string())),
        };
        serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))
    }

    /// Writes down what is known when the runs begin.
    pub fn begin(&self, standpoint: &Standpoint) -> Result<(), NotWritten> {
        let mut standpoint = standpoint.clone();
        self.hide(&mut standpoint.branch);
        let (run_id, verdict, completed_at) = (self.run_id(), None, None);
        let metadata = Metadata { run_id, standpoint, verdict, completed_at };
        self.store_as_it_is(METADATA, &metadata)
    }

    /// Writes down what came of the review. What cannot be written is said, and the rest is written all the same.
    pub fn finish(
        &self,
        report: &Report,
        records: &[RunRecord],
        stages: &[StageTime],
        completion: Completion,
    ) -> Vec<NotWritten> {
        let completed_at = match completion {
            Completion::At(stamp) => Some(stamp.iso()),
            Completion::Stopped => None,
        };
        let mut written = Vec::new();
        for record in records {
            let name = format!("{REVIEWERS}/{}.json", record.assignment.name);
            written.push(self.store(&name, &returned(record)));
        }
        written.push(self.write_telemetry(stages));
        written.push(self.write_markdown(report));
        written.push(self.store_as_it_is(REPORT, report));
        // Last: whoever finds it finds the rest.
        let metadata = Metadata { completed_at, ..self.metadata_of(report) };
        written.push(self.store_as_it_is(METADATA, &metadata));
        written.into_iter().filter_map(Result::err).collect()
    }

    /// Writes the report anew, and what follows from it, after something was done about its issues.
    pub fn rewrite(&self, report: &Report) -> Result<(), NotWritten> {
        let metadata = self.metadata_of(report);
        // The report is the last: whoever finds it up to date finds the rest so.
        self.write_markdown(report)?;
        self.store_as_it_is(METADATA, &metadata)?;
        self.store_as_it_is(REPORT, report)
    }

    /// A folder inside of it for one of the reviews that look again at what was fixed.
    pub fn round(&self, round: u32) -> io::Result<Self> {
        let path = self.place(&format!("{ROUNDS}/{round}/{REPORT}"))?;
        let path = path.parent().unwrap_or(&self.path).to_owned();
        let folder = Self { path, ..self.clone() };
        // It is made from where the first one was.
        if let Ok(Metadata { standpoint, .. }) = self.metadata() {
            folder.begin(&standpoint).map_err(|not_written| not_written.why)?;
        }
        Ok(folder)
    }

    /// What there is to know about the run without its report.
    pub fn metadata(&self) -> Result<Metadata, FolderError> {
        self.read_within(METADATA, METADATA_MAX)
    }

    /// The report of the run.
    pub fn report(&self) -> Result<Report, FolderError> {
        self.report_within(FILE_MAX)
    }

    /// The same, if it has at most so many bytes.
    pub fn report_within(&self, most: u64) -> Result<Report, FolderError> {
        let report: Report = self.read_within(REPORT, most)?;
        let problem = match report.schema_version {
            SCHEMA_VERSION => report.problem(),
            other => {
                Some(format!("it has schema_version {other}, and this crh reads {SCHEMA_VERSION}"))
            }
        };
        match problem {
            None => Ok(report),
            Some(why) => {
                Err(FolderError::Damaged { run: self.run_id(), name: REPORT.to_owned(), why })
            }
        }
    }

    /// The runs that completed in an earlier attempt at this review: nobody pays for them again. A record that
    /// cannot be read does not count, so that its run is made once more.
    pub fn earlier(&self) -> Vec<RunRecord> {
        let names = files(&self.path.join(RUNS), ".json").unwrap_or_default();
        let records = names.iter().filter_map(|name| {
            let stored = self.read::<Value>(&format!("{RUNS}/{name}.json")).ok()?;
            // What they quote is held against the code once more.
            serde_json::from_value::<RunRecord>(self.credentials.restored(stored)?).ok()
        });
        records.filter(|record| record.ended == RunEnd::Completed).collect()
    }

    /// What earlier attempts at this review have spent, also on runs that did not end. To be asked before anything
    /// is spent again. What cannot be read may have cost anything, so it is an error.
    pub fn spent_before(&self) -> Result<Totals, FolderError> {
        let runs = self.calls().map_err(|error| FolderError::Damaged {
            run: self.run_id(),
            name: TRANSCRIPTS.to_owned(),
            why: error.to_string(),
        })?;
        Ok(Telemetry::new(&self.run_id(), &[], runs).totals())
    }

    /// The diff that was reviewed; none if the workspace is not there any more.
    pub fn diff(&self) -> Option<Diff> {
        read_bounded(&self.workspace().join(DIFF), FILE_MAX).ok().map(Diff::read)
    }

    /// Stores what one run brought.
    pub(crate) fn keep(&self, record: &RunRecord) -> Result<(), NotWritten> {
        self.store(&format!("{RUNS}/{}.json", record.assignment.name), record)
    }

    /// Stores what a stage brought.
    pub(crate) fn stage(&self, name: &str, output: &impl Serialize) -> Result<(), NotWritten> {
        self.store(&format!("{STAGES}/{name}.json"), output)
    }

    /// The calls of all transcripts as they stand, those of later rounds too, line by line: they can be long.
    fn calls(&self) -> io::Result<Vec<RunCalls>> {
        let mut found = calls_in(&self.path.join(TRANSCRIPTS))?;
        for round in files(&self.path.join(ROUNDS), "")? {
            found.extend(calls_in(&self.path.join(ROUNDS).join(round).join(TRANSCRIPTS))?);
        }
        Ok(found)
    }

    /// What is known of a run when there is a report: what was written when it began, with what the report says.
    fn metadata_of(&self, report: &Report) -> Metadata {
        let (standpoint, completed_at) = match self.metadata() {
            Ok(Metadata { standpoint, completed_at, .. }) => (standpoint, completed_at),
            Err(_) => (Standpoint::default(), None),
        };
        let verdict = Some(report.verdict.of_three().to_owned());
        Metadata { run_id: self.run_id(), standpoint, verdict, completed_at }
    }

    fn write_telemetry(&self, stages: &[StageTime]) -> Result<(), NotWritten> {
        let not_read = |why| NotWritten { name: TELEMETRY.to_owned(), why };
        let telemetry = Telemetry::new(&self.run_id(), stages, self.calls().map_err(not_read)?);
        self.write_json(TELEMETRY, &telemetry, &self.redactor)
    }

    /// Masked before it is rendered: marks of Markdown inside a secret would hide it.
    fn write_markdown(&self, report: &Report) -> Result<(), NotWritten> {
        let masked = serde_json::to_value(report)
            .and_then(|value| serde_json::from_value(self.redactor.redact_json(&value)));
        let masked: Report =
            masked.map_err(|error| NotWritten { name: MARKDOWN.to_owned(), why: error.into() })?;
        self.write(MARKDOWN, render::markdown(&masked).as_bytes())
    }

    fn write_json(
        &self,
        name: &str,
        value: &impl Serialize,
        redactor: &Redactor,
    ) -> Result<(), NotWritten> {
        let text = serde_json::to_value(value)
            .and_then(|value| stable_json(&redactor.redact_json(&value)))
            .map_err(|error| NotWritten { name: name.to_owned(), why: error.into() })?;
        self.write(name, text.as_bytes())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), NotWritten> {
        let written = self.place(name).and_then(|path| match self.writes {
            Writes::Sometime => write_whole(&path, bytes),
            Writes::AtOnce => write_lasting(&path, bytes),
        });
        written.map_err(|why| NotWritten { name: name.to_owned(), why })
    }

    /// Where a file of this name goes; the folders before it are made.
    fn place(&self, name: &str) -> io::Result<PathBuf> {
        if !name.split('/').all(is_plain) {
            let why = "it is not the name of a file in a run folder";
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        let path = self.path.join(name);
        let parent = path.parent().unwrap_or(&self.path);
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        Ok(path)
    }
}

/// What came of asking for a folder.
enum Lock {
    Taken(Arc<File>),
    /// Another process is at work in it.
    Held,
}

/// Takes the lock of a run's folder. Where the file system has none, it is for the user not to resume a run twice.
fn lock(folder: &Path) -> io::Result<Lock> {
    let file = File::open(folder)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(Lock::Held),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Lock::Taken(Arc::new(file))),
    }
}

/// What a run brought, in the shape in which reviewers return: `crh merge` reads it.
fn returned(record: &RunRecord) -> Value {
    let read = record.members.iter().map(|member| json!(member.finding));
    let aside =
        record.set_aside.iter().filter_map(|dropped| match (&dropped.member, &dropped.raw) {
            (Some(member), _) => Some(json!(member.finding)),
            (None, Some(raw)) => Some(raw.clone()),
            (None, None) => None,
        });
    json!({
        "reviewer": record.assignment.reviewer,
        "findings": read.chain(aside).collect::<Vec<_>>(),
        "residual_risks": record.residual_risks,
        "testing_gaps": record.testing_gaps,
        "summary": record.summary,
    })
}

/// The calls of the transcripts in a folder.
fn calls_in(folder: &Path) -> io::Result<Vec<RunCalls>> {
    let mut found = Vec::new();
    for name in files(folder, ".jsonl")? {
        let file = BufReader::new(File::open(folder.join(format!("{name}.jsonl")))?);
        let mut failed = None;
        let lines = file.split(b'\n').map_while(|line| line.map_err(|e| failed = Some(e)).ok());
        found.extend(calls(&name, lines));
        if let Some(error) = failed {
            return Err(error);
        }
    }
    Ok(found)
}

/// The names of the files in a folder that end like this, without the end, sorted; none if there is no such folder.
fn files(folder: &Path, end: &str) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().into_string().unwrap_or_default();
        names.extend(name.strip_suffix(end).filter(|name| is_plain(name)).map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}

/// A name that can lead nowhere else, on any file system.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name.len() <= NAME_MAX && !name.starts_with('.') && name.bytes().all(plain)
}

fn read_bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if u64::try_from(read).unwrap_or(u64::MAX) > most {
        return Err(io::Error::other(format!("it is larger than {most} bytes")));
    }
    Ok(bytes)
}
