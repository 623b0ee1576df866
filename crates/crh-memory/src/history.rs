//! The stored history of a repository: posted reviews, issues that the user dismissed before
//! posting, and outcomes, as JSON Lines in the user's state folder.
//!
//! Invariant: an entry contains no code, no descriptions and no titles. A title is stored as a
//! hash, by which crh recognises it. Only a dismissal that can become a lesson quotes its reason
//! and the title.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::outcome::{CitedLines, OutcomeKind, RaisedAgain};
use crh_os::files;
use crh_review::finding::{Category, Confidence, Severity, Side};
use crh_review::identity::content_id;
use crh_review::report::{Decimal, Issue, Report, Strategy, Validation};
use crh_review::{Tier, normalise_posted_title, stable_json_line};

/// Subfolder of the state folder.
const FOLDER: &str = "history";
/// Subfolder of the user's own lessons.
const LESSONS_FOLDER: &str = "lessons";
/// Subfolder of fitted weights.
const WEIGHTS_FOLDER: &str = "calibration";
/// Maximum bytes of a history: about fifty thousand reviews.
const FILE_MAX: u64 = 64 << 20;
/// Maximum cited line ranges per issue.
const PLACES_MAX: usize = 4;

/// One line of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "entry")]
pub enum HistoryEntry {
    /// A posted review, or an issue that the user dismissed before posting.
    Review(ReviewEntry),
    /// What became of an issue. The last entry for an issue counts.
    Outcome(OutcomeEntry),
}

/// A posted review, or an issue that the user dismissed before posting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewEntry {
    /// `owner/name`, or the hash of the root commit.
    pub repo: String,
    /// Number of the proposed change. Empty if the entry holds an issue that the user dismissed
    /// before posting.
    pub proposal: String,
    /// Web address of the proposed change.
    #[serde(default)]
    pub url: String,
    /// Id of the review, unique in the history.
    pub run: String,
    /// When crh posted the review or the user dismissed the issue, ISO 8601.
    pub at: String,
    /// Base commit.
    pub base: String,
    /// Reviewed commit.
    pub head: String,
    /// Strategy.
    pub strategy: Strategy,
    /// Names of the models, sorted and joined with `+`.
    pub models: String,
    /// Whether all reviewers finished.
    pub is_complete: bool,
    /// Cost in US dollars.
    pub cost_usd: Decimal,
    /// Seconds from start to report.
    pub seconds: Decimal,
    /// Issues of the review.
    pub issues: Vec<IssueEntry>,
}

/// An issue without its texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueEntry {
    /// Key, stable across runs.
    pub key: String,
    /// Severity.
    pub severity: Severity,
    /// Category.
    pub category: Category,
    /// Rule of a static check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Reviewers that reported it.
    pub reviewers: Vec<String>,
    /// Result of the independent model run that checks the issue.
    pub validation: Validation,
    /// Distance to the change.
    pub tier: Tier,
    /// Confidence of the reviewers.
    pub confidence: Confidence,
    /// Probability that maintainers agree, by the model that edits the issues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Confidence>,
    /// Path of the file.
    pub file: String,
    /// Cited code at the reviewed commit, the place of the issue first. Empty if the issue is about
    /// removed lines.
    pub cited: Vec<CitedLines>,
    /// Hash of the title.
    pub title_hash: String,
}

/// What became of an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeEntry {
    /// Key of the issue.
    pub key: String,
    /// Number of the proposed change.
    pub proposal: String,
    /// When crh decided it, ISO 8601.
    pub at: String,
    /// What became of it.
    pub kind: OutcomeKind,
    /// Whether the user of this machine dismissed it, and not a maintainer at the forge.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_local: bool,
    /// Person who dismissed it; empty for other outcomes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Web address of the dismissal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Words of a dismissal that can become a lesson.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<DismissalQuote>,
}

/// What a lesson quotes from a dismissal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DismissalQuote {
    /// The maintainer's reason.
    pub reason: String,
    /// Title of the issue.
    pub title: String,
}

/// Why a history cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("`{}`: {why}", .path.display())]
pub struct HistoryError {
    /// Path of the file or folder.
    pub path: PathBuf,
    /// Error from the operating system.
    pub why: io::Error,
}

/// The history of one repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// Reviews, oldest first.
    pub reviews: Vec<ReviewEntry>,
    /// Last outcome of each issue, by proposal and key.
    pub outcomes: BTreeMap<(String, String), OutcomeEntry>,
    /// Number of lines that this version of crh cannot read.
    pub unreadable: usize,
}

/// Path of the history of a repository.
pub fn history_path(state: &Path, repo: &str) -> PathBuf {
    state_file(state, FOLDER, repo, "jsonl")
}

/// Path of the user's own lessons for a repository.
pub fn lessons_path(state: &Path, repo: &str) -> PathBuf {
    state_file(state, LESSONS_FOLDER, repo, "toml")
}

/// Path of the fitted weights of a repository.
pub fn weights_path(state: &Path, repo: &str) -> PathBuf {
    state_file(state, WEIGHTS_FOLDER, repo, "json")
}

fn state_file(state: &Path, folder: &str, repo: &str, extension: &str) -> PathBuf {
    let name = content_id(repo.to_lowercase().as_bytes());
    state.join(folder).join(format!("{}.{extension}", &name[..32]))
}

/// The hash by which a title is recognised.
pub fn title_hash(title: &str) -> String {
    content_id(normalise_posted_title(title).as_bytes())[..32].to_owned()
}

/// Loads the history of a repository. Empty if there is none.
pub fn load(state: &Path, repo: &str) -> Result<History, HistoryError> {
    load_file(&history_path(state, repo))
}

/// Loads the histories of all repositories.
pub fn load_all(state: &Path) -> Result<Vec<History>, HistoryError> {
    let mut histories = Vec::new();
    for path in files_in(state, FOLDER, "jsonl")? {
        histories.push(load_file(&path)?);
    }
    Ok(histories)
}

/// Appends entries that the history does not have yet. Returns how many were new.
pub fn append(state: &Path, repo: &str, entries: &[HistoryEntry]) -> Result<usize, HistoryError> {
    let path = history_path(state, repo);
    let disk_error = |why| HistoryError { path: path.clone(), why };
    let folder = path.parent().unwrap_or(state);
    files::create_private_folder(folder).map_err(disk_error)?;
    let lock = files::open_folder_lock(folder).map_err(disk_error)?;
    lock.lock().map_err(disk_error)?;
    let mut history = load_file(&path)?;
    let mut lines = String::new();
    let mut count = 0;
    for entry in entries.iter().filter(|entry| history.add((*entry).clone())) {
        let line = stable_json_line(entry).map_err(|error| disk_error(error.into()))?;
        lines.push_str(line.trim_end());
        lines.push('\n');
        count += 1;
    }
    if count == 0 {
        return Ok(0);
    }
    let mut options = files::open_options(files::PRIVATE_FILE);
    let mut file = options.append(true).create(true).open(&path).map_err(disk_error)?;
    // An interrupted write may have left a line without its end.
    let is_cut = fs::read(&path).map_err(disk_error)?.last().is_some_and(|byte| *byte != b'\n');
    if is_cut {
        lines.insert(0, '\n');
    }
    file.write_all(lines.as_bytes()).map_err(disk_error)?;
    Ok(count)
}

/// Deletes the history, the user's lessons and the fitted weights of one repository, or of all.
/// Returns the number of deleted files.
pub fn forget(state: &Path, repo: Option<&str>) -> Result<usize, HistoryError> {
    let paths = match repo {
        Some(repo) => {
            vec![history_path(state, repo), lessons_path(state, repo), weights_path(state, repo)]
        }
        None => {
            let mut paths = files_in(state, FOLDER, "jsonl")?;
            paths.extend(files_in(state, LESSONS_FOLDER, "toml")?);
            paths.extend(files_in(state, WEIGHTS_FOLDER, "json")?);
            paths
        }
    };
    let mut count = 0;
    for path in paths {
        match fs::remove_file(&path) {
            Ok(()) => count += 1,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(why) => return Err(HistoryError { path, why }),
        }
    }
    Ok(count)
}

fn files_in(state: &Path, folder: &str, extension: &str) -> Result<Vec<PathBuf>, HistoryError> {
    let folder = state.join(folder);
    let disk_error = |why| HistoryError { path: folder.clone(), why };
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(disk_error(why)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(disk_error)?.path();
        if path.extension().is_some_and(|end| end == extension) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn load_file(path: &Path) -> Result<History, HistoryError> {
    let disk_error = |why| HistoryError { path: path.to_owned(), why };
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut bytes)) {
        Ok(size) if size as u64 > FILE_MAX => {
            let why = io::Error::new(ErrorKind::FileTooLarge, "the history is too large");
            return Err(disk_error(why));
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(History::default()),
        Err(why) => return Err(disk_error(why)),
    }
    Ok(History::parse(&bytes))
}

impl History {
    /// Reads JSON Lines. Lines that crh cannot read are counted.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut history = Self::default();
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        for line in lines {
            match serde_json::from_slice(line) {
                Ok(entry) => drop(history.add(entry)),
                Err(_) => history.unreadable += 1,
            }
        }
        history
    }

    /// Adds an entry. Returns whether it is new. An outcome that differs only in its time is not
    /// new.
    fn add(&mut self, entry: HistoryEntry) -> bool {
        match entry {
            HistoryEntry::Review(review) => {
                let is_new = self.reviews.iter().all(|known| known.run != review.run);
                if is_new {
                    self.reviews.push(review);
                }
                is_new
            }
            HistoryEntry::Outcome(outcome) => {
                let key = (outcome.proposal.clone(), outcome.key.clone());
                let same = |known: &OutcomeEntry| {
                    OutcomeEntry { at: outcome.at.clone(), ..known.clone() } == outcome
                };
                let is_new = !self.outcomes.get(&key).is_some_and(same);
                if is_new {
                    self.outcomes.insert(key, outcome);
                }
                is_new
            }
        }
    }

    /// Proposed changes with a posted review, in the order of their first review.
    pub fn proposals(&self) -> Vec<&str> {
        let mut known = BTreeSet::new();
        let proposals = self.reviews.iter().map(|review| review.proposal.as_str());
        proposals.filter(|it| !it.is_empty() && known.insert(*it)).collect()
    }

    /// Every posted issue of a proposed change once, with the first review that posted it. For an
    /// empty `proposal`: the issues that the user dismissed before posting.
    pub fn issues_of<'a>(&'a self, proposal: &str) -> Vec<(&'a ReviewEntry, &'a IssueEntry)> {
        let mut known = BTreeSet::new();
        let reviews = self.reviews.iter().filter(|review| review.proposal == proposal);
        let issues =
            reviews.flat_map(|review| review.issues.iter().map(move |issue| (review, issue)));
        issues.filter(|(_, issue)| known.insert(issue.key.as_str())).collect()
    }

    /// Entries for an issue that the user dismissed on this machine. If the issue was not posted,
    /// they include the issue, so that the dismissal can become a lesson.
    pub fn local_dismissal(
        &self,
        report: &Report,
        issue: &Issue,
        outcome: OutcomeEntry,
    ) -> Vec<HistoryEntry> {
        let is_posted = self
            .issues_of(&report.change.pr_number)
            .iter()
            .any(|(review, known)| !review.proposal.is_empty() && known.key == issue.dedupe_key);
        if is_posted {
            let proposal = report.change.pr_number.clone();
            let known = self.outcome_of(&proposal, &issue.dedupe_key);
            // A dismissal by a maintainer at the forge stays.
            return match known.is_some_and(OutcomeEntry::is_forge_dismissal) {
                true => Vec::new(),
                false => vec![HistoryEntry::Outcome(OutcomeEntry { proposal, ..outcome })],
            };
        }
        let review = ReviewEntry {
            proposal: String::new(),
            run: format!("{}#{}", report.run_id, issue.number),
            issues: vec![IssueEntry::new(issue)],
            ..ReviewEntry::new(report, &outcome.at)
        };
        vec![HistoryEntry::Review(review), HistoryEntry::Outcome(outcome)]
    }

    /// The dismissal of an issue at the forge, if a maintainer dismissed it there.
    pub fn forge_dismissal(&self, key: &str) -> Option<&OutcomeEntry> {
        self.outcomes.values().find(|known| known.key == key && known.is_forge_dismissal())
    }

    /// Entries that withdraw the dismissals that the user of this machine made for an issue.
    pub fn withdrawals(&self, key: &str, at: &str) -> Vec<HistoryEntry> {
        let is_dismissed = |known: &&OutcomeEntry| {
            known.key == key && known.kind == OutcomeKind::Dismissed && known.is_local
        };
        let dismissed = self.outcomes.values().filter(is_dismissed);
        dismissed
            .map(|known| {
                HistoryEntry::Outcome(OutcomeEntry {
                    key: key.to_owned(),
                    proposal: known.proposal.clone(),
                    at: at.to_owned(),
                    kind: OutcomeKind::Open,
                    is_local: false,
                    by: String::new(),
                    url: String::new(),
                    quote: None,
                })
            })
            .collect()
    }

    /// Whether the last review of a proposed change raised an issue of the earlier `review` again.
    pub fn raised_again(&self, review: &ReviewEntry, issue: &IssueEntry) -> RaisedAgain {
        let same_proposal = |it: &&ReviewEntry| it.proposal == review.proposal;
        let Some(last) = self.reviews.iter().rev().find(same_proposal) else {
            return RaisedAgain::Unknown;
        };
        let is_same = |it: &IssueEntry| {
            it.key == issue.key || it.file == issue.file && it.title_hash == issue.title_hash
        };
        match (last.head == review.head, last.issues.iter().any(is_same), last.is_complete) {
            (true, _, _) | (false, false, false) => RaisedAgain::Unknown,
            (false, true, _) => RaisedAgain::Yes,
            (false, false, true) => RaisedAgain::No,
        }
    }

    /// The last outcome of an issue.
    pub fn outcome_of(&self, proposal: &str, key: &str) -> Option<&OutcomeEntry> {
        self.outcomes.get(&(proposal.to_owned(), key.to_owned()))
    }
}

impl OutcomeEntry {
    fn is_forge_dismissal(&self) -> bool {
        self.kind == OutcomeKind::Dismissed && !self.is_local
    }
}

impl ReviewEntry {
    /// The entry of a report with all its issues.
    pub fn new(report: &Report, at: &str) -> Self {
        let change = &report.change;
        Self {
            repo: change.repo.clone(),
            proposal: change.pr_number.clone(),
            url: change.url.clone(),
            run: report.run_id.clone(),
            at: at.to_owned(),
            base: change.base_sha.clone(),
            head: change.head_sha.clone(),
            strategy: report.strategy,
            models: report.model_set.clone(),
            is_complete: report.status == crh_review::report::Status::Ok,
            cost_usd: report.stats.cost_usd,
            seconds: report.stats.latency_seconds_e2e,
            issues: report.issues.iter().map(IssueEntry::new).collect(),
        }
    }
}

impl IssueEntry {
    /// The entry of an issue.
    pub fn new(issue: &Issue) -> Self {
        let own = &issue.location;
        let own_lines = (own.side == Side::New).then(|| CitedLines {
            file: own.file.clone(),
            first: own.line_start,
            last: own.line_end,
        });
        let mut cited: Vec<CitedLines> = own_lines.into_iter().collect();
        for quote in issue.evidence.iter().filter(|quote| quote.side == Side::New) {
            let Some(first) = Some(quote.line).filter(|_| !cited.is_empty()) else { continue };
            let height = u32::try_from(quote.snippet.trim_end().lines().count()).unwrap_or(1);
            let last = first.saturating_add(height.saturating_sub(1));
            let lines = CitedLines { file: quote.file.clone(), first, last };
            let is_covered = |known: &CitedLines| {
                known.file == lines.file && known.first <= lines.last && lines.first <= known.last
            };
            if cited.len() < PLACES_MAX && !cited.iter().any(is_covered) {
                cited.push(lines);
            }
        }
        Self {
            key: issue.dedupe_key.clone(),
            severity: issue.severity,
            category: issue.category,
            rule: issue.rule.clone(),
            reviewers: issue.reviewers.clone(),
            validation: issue.validation,
            tier: issue.tier,
            confidence: issue.confidence,
            probability: issue.probability,
            file: own.file.clone(),
            cited,
            title_hash: title_hash(&issue.title),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
