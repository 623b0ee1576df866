//! The run folder: everything that crh stores about one review.
//!
//! Invariant: files are written atomically, except for transcripts, which grow. No file contains a
//! known API key. Only its owner can read the folder, since it contains the code under review.

mod atomic_write;
mod checkout_state;
mod error;
mod run_list;
mod stamp;
mod telemetry;
mod timestamp;

#[cfg(test)]
mod tests;

use std::fs::{File, TryLockError};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use atomic_write::write_durable;
pub use atomic_write::{remove_temp_files, write_atomic};
pub use checkout_state::CheckoutState;
pub use error::{FileWriteError, FolderError};
pub use run_list::{
    AgeLimit, LocatedRun, RunSummary, RunTrust, RunsToKeep, find_run, list_runs, prunable,
    remove_run,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
pub use stamp::StampKey;
pub use telemetry::{RunCalls, StageTime, Telemetry, parse_calls};
pub use timestamp::Timestamp;

use crate::change_secrets::ChangeSecrets;
use crate::runs::{RunEnd, RunRecord};
use crh_agent::UsageTotals;
use crh_llm::Redactor;
use crh_os::files;
use crh_os::names::canonical;
use crh_review::diff::Diff;
use crh_review::report::{Report, SCHEMA_VERSION};
use crh_review::{render, stable_json};

/// Options of the review. Resuming needs them.
pub const OPTIONS_FILE: &str = "stages/terms.json";
/// Folder of the workspace.
pub const WORKSPACE: &str = "workspace";

/// The diff of the latest version of the change in the workspace.
const DIFF: &str = "preview-diffs/latest/diff/raw.diff";
const REPORT: &str = "review.json";
const MARKDOWN: &str = "review.md";
const METADATA: &str = "metadata.json";
const TELEMETRY: &str = "telemetry.json";
const REVIEWERS: &str = "reviewers";
const TRANSCRIPTS: &str = "transcripts";
/// Folder of the reviews that check applied fixes, one subfolder each.
const ROUNDS: &str = "rounds";
/// Files that the fix commands store.
const FIXES: [&str; 4] = ["applied-fixes.json", "residual-work.json", "advisory.json", "fixes"];
const STAGES: &str = "stages";
const RUNS: &str = "stages/runs";
/// The numbered diff with masked credentials. `crh-mcp` reads it.
const MASKED_DIFF: &str = "stages/masked.diff";
/// Longest diff that crh stores with masked credentials.
const MASKED_DIFF_MAX: usize = 6 << 20;
/// Keeps the run folder out of git, wherever it is.
const IGNORE: &str = ".gitignore";

/// Maximum number of runs that start in one second. More of them indicate a loop.
const SAME_SECOND_MAX: u32 = 1_000;
/// Longest name of a file. Some file systems reject longer ones.
const NAME_MAX: usize = 120;
/// Size limit for reading files. A report with 10,000 findings has a tenth of this.
const FILE_MAX: u64 = 256 << 20;
/// Size limit of `metadata.json`, which has a few short fields.
const METADATA_MAX: u64 = 64 << 10;

/// The folder of one run, `.crh/runs/{timestamp}_{review_id}[-n]`. Clones share the folder.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
    redactor: Redactor,
    /// Credentials in the change under review.
    secrets: ChangeSecrets,
    writes: WriteDurability,
    /// Key that stamped the folder.
    stamp_key: Option<StampKey>,
    /// Lock held while the run is in progress, so that no other process resumes it.
    _lock: Option<Arc<File>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteDurability {
    /// The operating system decides when to flush. If a power cut destroys a review, the user can
    /// repeat it.
    Buffered,
    /// Each file is flushed before the next write, since it records an action that cannot be
    /// repeated.
    Synced,
}

/// `metadata.json`: facts about a run that are readable without its report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunMetadata {
    /// Name of the folder.
    pub run_id: String,
    /// Checkout when the review began.
    #[serde(flatten)]
    pub checkout: CheckoutState,
    /// Verdict as reports show it, such as `Ready with fixes (incomplete)`. `None` until there is a
    /// report.
    pub verdict: Option<String>,
    /// When the review, its fixes and its questions ended. `None` if they have not.
    pub completed_at: Option<String>,
}

impl RunFolder {
    fn new(path: PathBuf, lock: Option<Arc<File>>) -> Self {
        let (redactor, secrets) = (Redactor::default(), ChangeSecrets::default());
        let (writes, stamp_key) = (WriteDurability::Buffered, None);
        Self { path, redactor, secrets, writes, stamp_key, _lock: lock }
    }

    /// Creates the folder of a new run, and its parent folders if necessary.
    pub fn create(runs: &Path, stamp: Timestamp, review_id: &str) -> io::Result<Self> {
        let first = format!("{stamp}_{review_id}");
        if run_list::RunName::parse(&first).is_none() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the review id is invalid"));
        }
        fs::create_dir_all(runs)?;
        for number in 1..=SAME_SECOND_MAX {
            let name = if number == 1 { first.clone() } else { format!("{first}-{number}") };
            let path = runs.join(name);
            match files::folder_builder(files::PRIVATE_FOLDER).create(&path) {
                Ok(()) => {
                    write_atomic(&path.join(IGNORE), b"*\n")?;
                    let lock = match lock(&path)? {
                        LockAttempt::Acquired(lock) => Some(lock),
                        LockAttempt::Held => None,
                    };
                    return Ok(Self::new(path, lock));
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::AlreadyExists, "too many runs started in this second"))
    }

    /// Opens the folder of an existing run for reading.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let not_a_run_folder =
            |why: &str| FolderError::Foreign { path: path.to_owned(), why: why.to_owned() };
        if !path.is_dir() {
            return Err(not_a_run_folder("it is not a folder"));
        }
        let path =
            canonical(path).map_err(|why| FolderError::Disk { path: path.to_owned(), why })?;
        let folder = Self::new(path, None);
        match folder.metadata() {
            Ok(_) => Ok(folder),
            Err(FolderError::Unfinished { .. }) => {
                Err(not_a_run_folder(&format!("it contains no `{METADATA}`")))
            }
            Err(error) => Err(error),
        }
    }

    /// Opens the folder of an existing run. Fails if the key has not stamped it.
    pub fn open_stamped(path: &Path, key: &StampKey) -> Result<Self, FolderError> {
        let folder = Self::open(path)?;
        match key.has_stamped(&folder.path) {
            true => Ok(Self { stamp_key: Some(key.clone()), ..folder }),
            false => Err(FolderError::Unstamped(folder.run_id())),
        }
    }

    /// Locks the folder of an existing run to resume it.
    pub fn resume(self) -> Result<Self, FolderError> {
        let disk_error = |why| FolderError::Disk { path: self.path.clone(), why };
        match lock(&self.path).map_err(disk_error)? {
            LockAttempt::Held => Err(FolderError::InUse(self.run_id())),
            LockAttempt::Acquired(lock) => {
                for folder_to_clean in [self.path.clone(), self.path.join(STAGES)] {
                    remove_temp_files(&folder_to_clean).map_err(disk_error)?;
                }
                Ok(Self { _lock: Some(lock), ..self })
            }
        }
    }

    /// Stamps the folder as created by crh on this machine.
    pub fn stamped(self, key: &StampKey) -> io::Result<Self> {
        key.write_stamp(&self.path)?;
        Ok(Self { stamp_key: Some(key.clone()), ..self })
    }

    /// The key that stamped the folder. `None` unless [`Self::stamped`] or [`Self::open_stamped`]
    /// set it.
    pub fn stamp_key(&self) -> Option<&StampKey> {
        self.stamp_key.as_ref()
    }

    /// Masks these keys in everything that is stored.
    #[must_use]
    pub fn with_redactor(self, redactor: Redactor) -> Self {
        Self { redactor, ..self }
    }

    /// Masks these credentials in everything that is stored. Only the workspace contains them.
    #[must_use]
    pub fn with_secrets(self, secrets: ChangeSecrets) -> Self {
        Self { secrets, ..self }
    }

    /// Flushes every file to disk before the next write. For records of actions that cannot be
    /// repeated.
    #[must_use]
    pub fn with_synced_writes(self) -> Self {
        Self { writes: WriteDurability::Synced, ..self }
    }

    /// Masks the credentials of the change in a text.
    pub fn mask_secrets(&self, text: &mut String) {
        self.secrets.mask(text);
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the run, which is the name of its folder.
    pub fn run_id(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Path of the workspace.
    pub fn workspace(&self) -> PathBuf {
        self.path.join(WORKSPACE)
    }

    /// Path of a transcript. Creates the folder.
    pub(crate) fn transcript(&self, name: &str) -> io::Result<PathBuf> {
        self.path_for(&format!("{TRANSCRIPTS}/{name}.jsonl"))
    }

    /// Stores a value as JSON, for example `stages/plan.json`. Masks only known secrets, since a
    /// string that merely looks like one may be code that a finding quotes.
    pub fn store(&self, name: &str, value: &impl Serialize) -> Result<(), FileWriteError> {
        let redactor = self.redactor.clone().known_secrets_only();
        let value =
            serde_json::to_value(value).map(|value| self.secrets.replace_with_placeholders(value));
        let value =
            value.map_err(|error| FileWriteError { name: name.to_owned(), why: error.into() })?;
        self.write_json(name, &value, &redactor)
    }

    /// Stores a value that quotes no line of the change, or is masked already.
    pub fn store_masked(&self, name: &str, value: &impl Serialize) -> Result<(), FileWriteError> {
        self.write_json(name, value, &self.redactor.clone().known_secrets_only())
    }

    /// Reads a stored value.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, FolderError> {
        self.read_within(name, FILE_MAX)
    }

    /// Reads a stored value, unless the file is larger than `max_bytes`.
    pub fn read_within<T: DeserializeOwned>(
        &self,
        name: &str,
        max_bytes: u64,
    ) -> Result<T, FolderError> {
        let damaged_error =
            |why: String| FolderError::Damaged { run: self.run_id(), name: name.to_owned(), why };
        let bytes = match read_bounded(&self.path.join(name), max_bytes) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let (run, name) = (self.run_id(), name.to_owned());
                return Err(FolderError::Unfinished { run, name });
            }
            Err(error) => return Err(damaged_error(error.to_string())),
        };
        serde_json::from_slice(&bytes).map_err(|error| damaged_error(error.to_string()))
    }

    /// Stores the numbered diff with masked credentials, for clients outside of the review. A diff
    /// over 6 MB is left out.
    pub fn store_masked_diff(&self, diff: &Diff) -> Result<(), FileWriteError> {
        if diff.raw().len() > MASKED_DIFF_MAX {
            return Ok(());
        }
        let mut text = String::from_utf8_lossy(&diff.numbered_text()).into_owned();
        self.mask_secrets(&mut text);
        self.write(MASKED_DIFF, text.as_bytes())
    }

    /// Writes `metadata.json` when the runs begin.
    pub fn write_start(&self, checkout: &CheckoutState) -> Result<(), FileWriteError> {
        let mut checkout = checkout.clone();
        self.mask_secrets(&mut checkout.branch);
        let (run_id, verdict, completed_at) = (self.run_id(), None, None);
        let metadata = RunMetadata { run_id, checkout, verdict, completed_at };
        self.store_masked(METADATA, &metadata)
    }

    /// Writes the results of the review. Continues after a failed write and returns all failures.
    /// The run is not complete, because fixes and questions may follow, see [`Self::complete`].
    pub fn finish(
        &self,
        report: &Report,
        records: &[RunRecord],
        stages: &[StageTime],
    ) -> Vec<FileWriteError> {
        let mut results = Vec::new();
        for record in records {
            let name = format!("{REVIEWERS}/{}.json", record.assignment.name);
            results.push(self.store(&name, &reviewer_output(record)));
        }
        results.push(self.write_telemetry(stages));
        results.push(self.write_markdown(report));
        results.push(self.store_masked(REPORT, report));
        let metadata = RunMetadata { completed_at: None, ..self.metadata_for(report) };
        results.push(self.store_masked(METADATA, &metadata));
        results.into_iter().filter_map(Result::err).collect()
    }

    /// Writes that everything ended at this time, unless an earlier attempt has. It is the last
    /// write of a run, so that a killed run does not count as complete.
    pub fn complete(&self, at: Timestamp) -> Result<(), FileWriteError> {
        match self.metadata() {
            Ok(metadata) if metadata.completed_at.is_none() => {
                let metadata = RunMetadata { completed_at: Some(at.iso()), ..metadata };
                self.store_masked(METADATA, &metadata)
            }
            // The failed write of the metadata has been reported.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Rewrites the report and the files derived from it, after issues were fixed or dismissed.
    pub fn rewrite_report(&self, report: &Report) -> Result<(), FileWriteError> {
        let metadata = self.metadata_for(report);
        // The report is written last. If it is up to date, the other files are too.
        self.write_markdown(report)?;
        self.store_masked(METADATA, &metadata)?;
        self.store_masked(REPORT, report)
    }

    /// Creates a subfolder for a review that checks applied fixes.
    pub fn fix_round(&self, round: u32) -> io::Result<Self> {
        let path = self.path_for(&format!("{ROUNDS}/{round}/{REPORT}"))?;
        let path = path.parent().unwrap_or(&self.path).to_owned();
        let folder = Self { path, ..self.clone() };
        // The fix round starts from the same checkout as the first review.
        if let Ok(RunMetadata { checkout, .. }) = self.metadata() {
            folder.write_start(&checkout).map_err(|error| error.why)?;
        }
        Ok(folder)
    }

    /// Reads `metadata.json`.
    pub fn metadata(&self) -> Result<RunMetadata, FolderError> {
        self.read_within(METADATA, METADATA_MAX)
    }

    /// Reads the report.
    pub fn report(&self) -> Result<Report, FolderError> {
        self.report_within(FILE_MAX)
    }

    /// Reads the report, unless the file is larger than `max_bytes`.
    pub fn report_within(&self, max_bytes: u64) -> Result<Report, FolderError> {
        let report: Report = self.read_within(REPORT, max_bytes)?;
        let problem = match report.schema_version {
            SCHEMA_VERSION => report.location_problem(),
            other => {
                Some(format!("it has schema_version {other}, but this crh reads {SCHEMA_VERSION}"))
            }
        };
        match problem {
            None => Ok(report),
            Some(why) => {
                Err(FolderError::Damaged { run: self.run_id(), name: REPORT.to_owned(), why })
            }
        }
    }

    /// Runs that an earlier attempt completed. They are not repeated and cost nothing again.
    /// Unreadable records are skipped, so that their runs are repeated.
    pub fn completed_runs(&self) -> Vec<RunRecord> {
        let names = file_stems(&self.path.join(RUNS), ".json").unwrap_or_default();
        let records = names.iter().filter_map(|name| {
            let stored = self.read::<Value>(&format!("{RUNS}/{name}.json")).ok()?;
            // Quotes are verified against the code again, so they need the original text.
            serde_json::from_value::<RunRecord>(self.secrets.restore(stored)?).ok()
        });
        records.filter(|record| record.ended == RunEnd::Completed).collect()
    }

    /// What earlier attempts have spent, including unfinished runs. Call it before spending more.
    /// An unreadable transcript is an error, since it may hide any amount.
    pub fn spent_before(&self) -> Result<UsageTotals, FolderError> {
        let runs = self.calls().map_err(|error| FolderError::Damaged {
            run: self.run_id(),
            name: TRANSCRIPTS.to_owned(),
            why: error.to_string(),
        })?;
        Ok(Telemetry::new(&self.run_id(), &[], runs).totals())
    }

    /// The reviewed diff. `None` if the workspace no longer exists.
    pub fn diff(&self) -> Option<Diff> {
        read_bounded(&self.workspace().join(DIFF), FILE_MAX).ok().map(Diff::read)
    }

    /// Stores the result of one run.
    pub(crate) fn store_run(&self, record: &RunRecord) -> Result<(), FileWriteError> {
        self.store(&format!("{RUNS}/{}.json", record.assignment.name), record)
    }

    /// Stores the output of a stage.
    pub(crate) fn store_stage(
        &self,
        name: &str,
        output: &impl Serialize,
    ) -> Result<(), FileWriteError> {
        self.store(&format!("{STAGES}/{name}.json"), output)
    }

    /// Model calls in all transcripts, including those of fix rounds. Transcripts can be long, so
    /// they are read line by line.
    fn calls(&self) -> io::Result<Vec<RunCalls>> {
        let mut calls = calls_in(&self.path.join(TRANSCRIPTS))?;
        for round in file_stems(&self.path.join(ROUNDS), "")? {
            calls.extend(calls_in(&self.path.join(ROUNDS).join(round).join(TRANSCRIPTS))?);
        }
        Ok(calls)
    }

    /// Metadata of a finished review: the initial metadata with the verdict of the report.
    fn metadata_for(&self, report: &Report) -> RunMetadata {
        let (checkout, completed_at) = match self.metadata() {
            Ok(RunMetadata { checkout, completed_at, .. }) => (checkout, completed_at),
            Err(_) => (CheckoutState::default(), None),
        };
        let verdict = Some(render::marked_verdict(report));
        RunMetadata { run_id: self.run_id(), checkout, verdict, completed_at }
    }

    fn write_telemetry(&self, stages: &[StageTime]) -> Result<(), FileWriteError> {
        let telemetry_error = |why| FileWriteError { name: TELEMETRY.to_owned(), why };
        let telemetry =
            Telemetry::new(&self.run_id(), stages, self.calls().map_err(telemetry_error)?);
        self.write_json(TELEMETRY, &telemetry, &self.redactor)
    }

    /// Masks before rendering: Markdown escapes inside a secret would hide it from the redactor.
    fn write_markdown(&self, report: &Report) -> Result<(), FileWriteError> {
        let masked = serde_json::to_value(report)
            .and_then(|value| serde_json::from_value(self.redactor.redact_json(&value)));
        let masked: Report = masked
            .map_err(|error| FileWriteError { name: MARKDOWN.to_owned(), why: error.into() })?;
        self.write(MARKDOWN, render::markdown(&masked).as_bytes())
    }

    fn write_json(
        &self,
        name: &str,
        value: &impl Serialize,
        redactor: &Redactor,
    ) -> Result<(), FileWriteError> {
        let text = serde_json::to_value(value)
            .and_then(|value| stable_json(&redactor.redact_json(&value)))
            .map_err(|error| FileWriteError { name: name.to_owned(), why: error.into() })?;
        self.write(name, text.as_bytes())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FileWriteError> {
        let result = self.path_for(name).and_then(|path| match self.writes {
            WriteDurability::Buffered => write_atomic(&path, bytes),
            WriteDurability::Synced => write_durable(&path, bytes),
        });
        result.map_err(|why| FileWriteError { name: name.to_owned(), why })
    }

    /// Path of a file. Creates its parent folders.
    fn path_for(&self, name: &str) -> io::Result<PathBuf> {
        if !name.split('/').all(is_portable_name) {
            let why = "not a valid name of a file in a run folder";
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        let path = self.path.join(name);
        let parent = path.parent().unwrap_or(&self.path);
        files::create_private_folder(parent)?;
        Ok(path)
    }
}

enum LockAttempt {
    Acquired(Arc<File>),
    /// Another process holds the lock.
    Held,
}

/// Locks a run folder. On file systems without locks, crh cannot detect that a run is resumed
/// twice.
fn lock(folder: &Path) -> io::Result<LockAttempt> {
    let file = files::open_folder_lock(folder)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(LockAttempt::Held),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(LockAttempt::Acquired(Arc::new(file))),
    }
}

/// Result of a run in the format that reviewers return and `crh merge` reads.
fn reviewer_output(record: &RunRecord) -> Value {
    let findings = record.members.iter().map(|member| json!(member.finding));
    let dropped_findings =
        record.dropped.iter().filter_map(|dropped| match (&dropped.member, &dropped.raw) {
            (Some(member), _) => Some(json!(member.finding)),
            (None, Some(raw)) => Some(raw.clone()),
            (None, None) => None,
        });
    json!({
        "reviewer": record.assignment.reviewer,
        "findings": findings.chain(dropped_findings).collect::<Vec<_>>(),
        "residual_risks": record.residual_risks,
        "testing_gaps": record.testing_gaps,
        "summary": record.summary,
    })
}

fn calls_in(folder: &Path) -> io::Result<Vec<RunCalls>> {
    let mut calls = Vec::new();
    for name in file_stems(folder, ".jsonl")? {
        let file = BufReader::new(File::open(folder.join(format!("{name}.jsonl")))?);
        let mut read_error = None;
        let lines = file.split(b'\n').map_while(|line| line.map_err(|e| read_error = Some(e)).ok());
        calls.extend(parse_calls(&name, lines));
        if let Some(error) = read_error {
            return Err(error);
        }
    }
    Ok(calls)
}

/// Sorted names of the files with this suffix, without the suffix. Empty if the folder does not
/// exist.
fn file_stems(folder: &Path, suffix: &str) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().into_string().unwrap_or_default();
        names.extend(
            name.strip_suffix(suffix).filter(|name| is_portable_name(name)).map(str::to_owned),
        );
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether a name is a plain file name on every file system.
fn is_portable_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty()
        && name.len() <= NAME_MAX
        && !name.starts_with('.')
        && name.bytes().all(is_allowed)
}

fn read_bounded(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let size = File::open(path)?.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if u64::try_from(size).unwrap_or(u64::MAX) > max_bytes {
        return Err(io::Error::other(format!("it is larger than {max_bytes} bytes")));
    }
    Ok(bytes)
}
