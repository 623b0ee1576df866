//! `crh dismiss`: hides an issue in all later reviews of a repository.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{learning, run_lookup};
use crate::cli::{DismissArgs, ListFormatArg, issue_digits};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::config::value::quoted;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, ui};
use crh_memory::history;
use crh_memory::history::{DismissalQuote, History, OutcomeEntry};
use crh_memory::lesson::lesson_text;
use crh_memory::outcome::OutcomeKind;
use crh_pipeline::assemble::recount_summary;
use crh_pipeline::dismissals;
use crh_pipeline::dismissals::{Dismissals, DismissalsError, LocalDismissal};
use crh_review::identity::is_key;
use crh_review::report::{Issue, Report};
use crh_review::verdict::command_of;
use crh_review::{PastDecisions, refresh_verdict, stable_json};

/// Maximum digits of an issue number. A longer number may be part of a run's name, so it is
/// rejected.
const DIGITS_MAX: usize = 5;
/// Digits of an abbreviated commit hash.
const SHORT_COMMIT_DIGITS: usize = 12;
/// Digits of the shortest commit hash, a SHA-1.
const COMMIT_DIGITS_MIN: usize = 40;
const LIST_HINT: &str = "`crh dismiss --list` lists dismissed issues with their keys";

/// An issue as the user names it.
#[derive(Debug, PartialEq, Eq)]
enum IssueRef<'a> {
    /// Number of an issue in a run; without a run, in the newest run.
    Number {
        run: Option<&'a str>,
        number: u32,
    },
    Key(&'a str),
}

/// An issue and its run.
struct RunIssue {
    run_id: String,
    report: Report,
    issue: Issue,
}

/// Dismissals of repositories. Each list is loaded once.
pub(super) struct DismissalCache {
    settings: Settings,
    /// Reasons by repository and key of the issue.
    reasons: BTreeMap<String, BTreeMap<String, String>>,
}

pub(crate) fn run(args: DismissArgs, environment: &Environment) -> Result<(), Failure> {
    // A repository cannot set the state folder, so its config is not read.
    let settings = config::load(environment, None, RawSettings::default())?;
    let state = settings.state_folder.value.path()?;
    let Some(text) = &args.issue else { return list(state, args.format) };
    let issue_ref = parse_issue_ref(text)?;
    let run_dir = args.runs.run_dir.as_deref();
    match (args.undo, issue_ref) {
        (true, IssueRef::Key(key)) => undo_key(state, key, environment),
        (true, IssueRef::Number { run, number }) => {
            // Dismissed issues have no number in later runs, so the hint names the list.
            let run_issue = find_issue(environment, run_dir, run, number);
            undo(state, &run_issue.map_err(|failure| failure.hint(LIST_HINT))?, environment)
        }
        (false, IssueRef::Number { run, number }) => {
            let run_issue = find_issue(environment, run_dir, run, number)?;
            dismiss(state, &run_issue, &args.reason.join(" "), environment)
        }
        (false, IssueRef::Key(_)) => Err(bad_issue_ref(text)),
    }
}

/// Loads the dismissals of a repository, for a review.
pub(super) fn load_past_decisions(
    settings: &Settings,
    repo: &str,
) -> Result<PastDecisions, Failure> {
    // Without a state folder there are no dismissals.
    let Ok(state) = settings.state_folder.value.path() else { return Ok(PastDecisions::default()) };
    let dismissals =
        Dismissals::load(&dismissals::dismissals_path(state, repo)).map_err(dismissals_failure)?;
    Ok(PastDecisions { dismissed: dismissals.into_reasons(), ..PastDecisions::default() })
}

/// Hides the dismissed issues of a stored report.
pub(super) fn hide_dismissed(
    report: &mut Report,
    environment: &Environment,
) -> Result<(), Failure> {
    match report.change.repo.is_empty() {
        true => Ok(()),
        false => DismissalCache::load(environment)?.hide_dismissed(report),
    }
}

impl DismissalCache {
    pub(super) fn load(environment: &Environment) -> Result<Self, Failure> {
        let settings = config::load(environment, None, RawSettings::default())?;
        Ok(Self { settings, reasons: BTreeMap::new() })
    }

    /// Like [`Self::hide_dismissed`], but a failure is a warning.
    pub(super) fn hide_or_warn(&mut self, report: &mut Report) {
        if let Err(failure) = self.hide_dismissed(report) {
            ui::warn(&format!("dismissed issues count as open: {:#}", failure.error));
        }
    }

    /// Moves the issues of a stored report that the user has dismissed since to the findings that
    /// are not shown. If the dismissals of a repository cannot be read, only its first report fails.
    pub(super) fn hide_dismissed(&mut self, report: &mut Report) -> Result<(), Failure> {
        let repo = &report.change.repo;
        if repo.is_empty() {
            return Ok(());
        }
        if !self.reasons.contains_key(repo) {
            let loaded = load_past_decisions(&self.settings, repo);
            let reasons = self.reasons.entry(repo.clone()).or_default();
            *reasons = loaded?.dismissed;
        }
        let dismissed = self.reasons.get(repo);
        let open = report.open_issues();
        let numbers: Vec<(u32, String)> = open
            .filter_map(|issue| Some((issue.number, dismissed?.get(&issue.dedupe_key)?.clone())))
            .collect();
        if numbers.is_empty() {
            return Ok(());
        }
        for (number, reason) in numbers {
            report.dismiss(number, &reason);
        }
        let command = command_of(report);
        refresh_verdict(report, command);
        recount_summary(report);
        Ok(())
    }
}

fn parse_issue_ref(text: &str) -> Result<IssueRef<'_>, Failure> {
    let is_number = |text: &str| {
        !text.is_empty() && text.len() <= DIGITS_MAX && text.bytes().all(|b| b.is_ascii_digit())
    };
    let (run, number) = match text.rsplit_once('#') {
        Some((run, number)) => (Some(run).filter(|run| !run.is_empty()), number),
        None if is_key(text) => return Ok(IssueRef::Key(text)),
        None => (None, text),
    };
    let number = Some(issue_digits(number))
        .filter(|number| is_number(number))
        .and_then(|number| number.parse().ok());
    number.map(|number| IssueRef::Number { run, number }).ok_or_else(|| bad_issue_ref(text))
}

fn bad_issue_ref(text: &str) -> Failure {
    Failure::usage(format!("{} is not an issue", quoted(text)))
        .hint("write `RUN#3`, `3` for an issue of the newest run, or, with `--undo`, a key of `crh dismiss --list`")
}

fn find_issue(
    environment: &Environment,
    run_dir: Option<&Path>,
    run: Option<&str>,
    number: u32,
) -> Result<RunIssue, Failure> {
    let folder = run_lookup::own_run_folder(environment, run_dir, run)?;
    let report = folder.report().map_err(run_lookup::folder_failure)?;
    let run_id = folder.run_id();
    let pre_existing = || report.pre_existing.iter().find(|issue| issue.number == number);
    let Some(issue) = report.issue(number).or_else(pre_existing).cloned() else {
        return Err(Failure::usage(format!("the run `{run_id}` has no issue #{number}"))
            .hint(format!("`crh show {}` shows its issues", ui::shell_word(&run_id))));
    };
    if report.change.repo.is_empty() {
        let message = format!("the change of run `{run_id}` has no repository with a commit");
        return Err(Failure::usage(message).hint(
            "crh stores dismissals by the first commit of a repository; commit, and run the review again",
        ));
    }
    Ok(RunIssue { run_id, report, issue })
}

/// Dismisses an issue that the user chose at a question after the review, without a new reason.
pub(crate) fn dismiss_issue(
    settings: &Settings,
    run_id: &str,
    report: &Report,
    issue: &Issue,
    environment: &Environment,
) -> Result<(), Failure> {
    let state = settings.state_folder.value.path()?;
    let (run_id, report, issue) = (run_id.to_owned(), report.clone(), issue.clone());
    dismiss(state, &RunIssue { run_id, report, issue }, "", environment)
}

fn dismiss(
    state: &Path,
    run_issue: &RunIssue,
    reason: &str,
    environment: &Environment,
) -> Result<(), Failure> {
    let RunIssue { run_id, report, issue } = run_issue;
    let dismissal = LocalDismissal {
        reason: reason.trim().to_owned(),
        title: issue.title.clone(),
        place: format!("{}:{}", issue.location.file, issue.location.line_start),
        run: format!("{run_id}#{}", issue.number),
        at: learning::now(environment),
    };
    let key = &issue.dedupe_key;
    let add = |dismissals: &mut Dismissals| {
        // Keep the earlier reason if no new one is given.
        let earlier_reason = dismissals.entries().get(key).map(|entry| entry.reason.clone());
        let reason = Some(dismissal.reason.clone()).filter(|reason| !reason.is_empty());
        let reason = reason.or(earlier_reason).unwrap_or_default();
        dismissals.add(key, LocalDismissal { reason, ..dismissal.clone() })
    };
    let earlier =
        Dismissals::update(state, &report.change.repo, add).map_err(dismissals_failure)?;
    record_outcome(state, run_issue, &dismissal, &environment.folder);
    let state_text = match &earlier {
        None => "is dismissed",
        Some(earlier) if dismissal.reason.is_empty() || earlier.reason == dismissal.reason => {
            "was already dismissed"
        }
        Some(_) => "was already dismissed, and has a new reason now",
    };
    ui::note(&format!(
        "#{} {state_text}: {} ({}); undo with `crh dismiss --undo {key}`",
        issue.number,
        crh_review::one_line(&issue.title),
        crh_review::one_line(&dismissal.place)
    ));
    Ok(())
}

/// Records the dismissal as the outcome of the issue. With a reason, it can become a lesson.
fn record_outcome(state: &Path, run_issue: &RunIssue, dismissal: &LocalDismissal, folder: &Path) {
    let RunIssue { report, issue, .. } = run_issue;
    let LocalDismissal { reason, title, run, at, .. } = dismissal;
    let url = if report.change.url.is_empty() { run } else { &report.change.url };
    let quote = DismissalQuote { reason: lesson_text(reason), title: lesson_text(title) };
    let outcome = OutcomeEntry {
        key: issue.dedupe_key.clone(),
        proposal: String::new(),
        at: at.clone(),
        kind: OutcomeKind::Dismissed,
        is_local: true,
        by: learning::user_name(folder).unwrap_or_else(|| "the user of this machine".to_owned()),
        url: url.clone(),
        quote: Some(quote).filter(|quote| !quote.reason.is_empty()),
    };
    learning::record_local_dismissal(state, &report.change.repo, |known| {
        known.local_dismissal(report, issue, outcome)
    });
}

fn record_undo(state: &Path, repo: &str, key: &str, environment: &Environment) {
    let at = learning::now(environment);
    learning::record_local_dismissal(state, repo, |known| {
        if let Some(text) = forge_dismissal(known, key) {
            ui::note(&format!("{text}; that dismissal stays"));
        }
        known.withdrawals(key, &at)
    });
}

/// A sentence that names the person who dismissed an issue at the forge.
fn forge_dismissal(known: &History, key: &str) -> Option<String> {
    let OutcomeEntry { by, url, .. } = known.forge_dismissal(key)?;
    Some(format!(
        "`{}` dismissed the issue at {}",
        crh_review::one_line(by),
        crh_review::one_line(url)
    ))
}

/// The failure for an issue that the user did not dismiss on this machine.
fn not_dismissed(message: String, histories: &[History], key: &str) -> Failure {
    match histories.iter().find_map(|known| forge_dismissal(known, key)) {
        Some(text) => Failure::usage(format!("{text}, and you did not on this machine"))
            .hint("delete the reply there, or unresolve the thread"),
        None => Failure::usage(message).hint(LIST_HINT),
    }
}

fn undo(state: &Path, run_issue: &RunIssue, environment: &Environment) -> Result<(), Failure> {
    let RunIssue { run_id, report, issue } = run_issue;
    let remove = |dismissals: &mut Dismissals| dismissals.remove(&issue.dedupe_key);
    match Dismissals::update(state, &report.change.repo, remove).map_err(dismissals_failure)? {
        Some(dismissal) => {
            record_undo(state, &report.change.repo, &issue.dedupe_key, environment);
            note_undone(&dismissal);
        }
        None => {
            let message = format!("#{} of `{run_id}` is not dismissed", issue.number);
            let known = history::load(state, &report.change.repo).unwrap_or_default();
            return Err(not_dismissed(message, &[known], &issue.dedupe_key));
        }
    }
    Ok(())
}

fn undo_key(state: &Path, key: &str, environment: &Environment) -> Result<(), Failure> {
    let lists = dismissals::load_all(state).map_err(dismissals_failure)?;
    let matching_lists = lists.iter().filter(|(_, list)| list.entries().contains_key(key));
    let repos: Vec<&str> = matching_lists.map(|(repo, _)| repo.as_str()).collect();
    let repo = match repos.as_slice() {
        [] => {
            let message = format!("no dismissed issue has the key `{key}`");
            let histories = history::load_all(state).unwrap_or_default();
            return Err(not_dismissed(message, &histories, key));
        }
        [repo] => repo,
        repos => {
            let names = repos.join("`, `");
            return Err(Failure::usage(format!(
                "`{key}` is dismissed in several repositories: `{names}`"
            ))
            .hint("name it by a run of the right repository: `crh dismiss --undo RUN#3`"));
        }
    };
    let remove = |dismissals: &mut Dismissals| dismissals.remove(key);
    if let Some(dismissal) = Dismissals::update(state, repo, remove).map_err(dismissals_failure)? {
        record_undo(state, repo, key, environment);
        note_undone(&dismissal);
    }
    Ok(())
}

fn note_undone(dismissal: &LocalDismissal) {
    let LocalDismissal { title, place, .. } = dismissal;
    ui::note(&format!(
        "no longer dismissed: {} ({})",
        crh_review::one_line(title),
        crh_review::one_line(place)
    ));
}

/// Text for the repository of a dismissal. crh identifies a repository that is on no forge by its
/// first commit.
fn repository_label(repo: &str) -> String {
    let is_hash =
        repo.len() >= COMMIT_DIGITS_MIN && repo.bytes().all(|byte| byte.is_ascii_hexdigit());
    match repo.get(..SHORT_COMMIT_DIGITS).filter(|_| is_hash) {
        Some(commit) => format!("repository with first commit {commit}"),
        None => format!("repository {repo}"),
    }
}

fn list(state: &Path, format: ListFormatArg) -> Result<(), Failure> {
    let lists = dismissals::load_all(state).map_err(dismissals_failure)?;
    let entries = lists.iter().flat_map(|(repo, list)| {
        list.entries().iter().map(move |(key, dismissal)| (repo, key, dismissal))
    });
    match format {
        ListFormatArg::Text => {
            let text: String = entries
                .map(|(repo, key, LocalDismissal { reason, title, place, .. })| {
                    let reason_text =
                        if reason.is_empty() { String::new() } else { format!(" ({reason})") };
                    [key, &repository_label(repo), place, &format!("{title}{reason_text}")]
                        .map(|cell| crh_review::one_line(cell))
                        .join("  ")
                        + "\n"
                })
                .collect();
            if text.is_empty() {
                ui::note("no dismissed issues");
            }
            ui::result_text(&text)
        }
        ListFormatArg::Json => {
            let entries: Vec<Value> = entries
                .map(|(repo, key, dismissal)| {
                    let LocalDismissal { reason, title, place, run, at } = dismissal;
                    json!({
                        "dedupe_key": key, "repo": repo, "reason": reason, "title": title,
                        "place": place, "run": run, "at": at,
                    })
                })
                .collect();
            ui::result_text(&stable_json(&entries).or_fail(FailureKind::Bug)?)
        }
    }
}

fn dismissals_failure(error: DismissalsError) -> Failure {
    let kind = match &error {
        DismissalsError::Damaged { .. } => FailureKind::Usage,
        DismissalsError::Disk { .. } => FailureKind::External,
    };
    Failure::new(kind, error)
        .hint("set `state.folder` in your config, or `CRH_STATE`, to another folder")
}
