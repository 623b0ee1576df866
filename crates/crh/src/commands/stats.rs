//! `crh stats`: shows, refreshes, exports or deletes what crh knows about posted issues.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use super::learning::{LaterState, clone_files, dismissed_here, now};
use super::outcome_judge::with_judge;
use super::{forge, require_parent_folder};
use crate::cli::{ListFormatArg, StatsArgs};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, input, ui};
use crh_forge::posting::receptions;
use crh_git::{BareRepository, RecentCommit, Repository};
use crh_memory::history;
use crh_memory::history::{History, HistoryEntry, HistoryError, OutcomeEntry, ReviewEntry};
use crh_memory::outcome::{OutcomeJudge, OutcomeKind, ProposalEnd};
use crh_memory::stats::LearningStats;
use crh_pipeline::target_args::Target;
use crh_review::report::Report;
use crh_review::stable_json;

/// Number of commits that crh reads to find reverts, repairs and merged changes.
const REVERT_COMMITS: u32 = 1_000;

/// Kinds of data that `crh stats --forget` deletes.
const FORGETTABLE: &str =
    "stored data about posted issues, your own lessons, results of `crh eval calibrate`";

pub(super) fn run(args: &StatsArgs, environment: &Environment) -> Result<(), Failure> {
    // A repository cannot set the state folder, so its config is not read.
    let settings = config::load(environment, None, RawSettings::default())?;
    let state = settings.state_folder.value.path()?;
    if args.forget {
        return forget(state, args.repo.as_deref());
    }
    if args.judge.judge.is_some() && !args.refresh {
        return Err(
            Failure::usage("`--judge` has no effect without `--refresh`").hint("add `--refresh`")
        );
    }
    add_posted(args, state, environment)?;
    if args.refresh {
        with_judge(&args.judge, &settings, environment, |judge| {
            for history in load(state, args)? {
                refresh(&history, state, environment, &settings, judge)?;
            }
            Ok(())
        })?;
    }
    let histories = load(state, args)?;
    match args.export.as_deref() {
        None => {}
        Some(file) if file == Path::new("-") => return ui::result_text(&export(&histories)?),
        Some(file) => return write(&environment.folder.join(file), &export(&histories)?),
    }
    let stats = LearningStats::new(&histories);
    if let Some(file) = &args.html {
        write(&environment.folder.join(file), &stats.to_html())?;
    }
    if stats.total.shown == 0 {
        ui::note("no posted issues are recorded; `crh post` and `--sink` record them");
    }
    ui::result_text(&match args.format {
        ListFormatArg::Text => stats.to_text(),
        ListFormatArg::Json => stable_json(&stats).or_fail(FailureKind::Bug)?,
    })
}

fn load(state: &Path, args: &StatsArgs) -> Result<Vec<History>, Failure> {
    let mut histories = match &args.repo {
        // A server passes `--pr`, also for pull requests of which this machine has no history.
        Some(repo) if args.pr.is_some() => {
            vec![history::load(state, repo).map_err(history_failure)?]
        }
        Some(repo) => vec![load_known(state, repo)?],
        None => history::load_all(state).map_err(history_failure)?,
    };
    if let Some(proposal) = &args.pr {
        for history in &mut histories {
            history.reviews.retain(|review| review.proposal == *proposal);
            history.outcomes.retain(|(of, _), _| of == proposal);
        }
    }
    Ok(histories)
}

/// The history of a repository, which must have one.
pub(super) fn load_known(state: &Path, repo: &str) -> Result<History, Failure> {
    let known = history::load(state, repo).map_err(history_failure)?;
    match known == History::default() {
        true => Err(Failure::usage(format!(
            "nothing is recorded about `{}`",
            crh_review::one_line(repo)
        ))
        .hint("`crh stats` shows the names of the repositories")),
        false => Ok(known),
    }
}

/// Adds reviews that another machine posted.
fn add_posted(args: &StatsArgs, state: &Path, environment: &Environment) -> Result<(), Failure> {
    for file in &args.posted {
        let report: Report = input::json(&environment.folder.join(file), "a report of crh")?;
        let change = &report.change;
        let is_named = |it: &Option<String>, name: &str| {
            it.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(name))
        };
        if !is_named(&args.repo, &change.repo) || !is_named(&args.pr, &change.pr_number) {
            ui::warn(&format!("`{}` is about another change", file.display()));
            continue;
        }
        let at = posting_time(&report.run_id).unwrap_or_else(|| now(environment));
        let review = HistoryEntry::Review(ReviewEntry::new(&report, &at));
        history::append(state, &change.repo, &[review]).map_err(history_failure)?;
    }
    Ok(())
}

/// The time in the id of a run, `20261118T123000Z_…`.
fn posting_time(run_id: &str) -> Option<String> {
    let digits: Vec<&str> = [0..4, 4..6, 6..8, 9..11, 11..13, 13..15]
        .into_iter()
        .map(|range| run_id.get(range).filter(|it| it.bytes().all(|byte| byte.is_ascii_digit())))
        .collect::<Option<_>>()?;
    let [year, month, day, hour, minute, second] = digits.as_slice() else { return None };
    Some(format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z"))
}

pub(super) fn history_failure(error: HistoryError) -> Failure {
    let hint = match error.why.kind() {
        ErrorKind::FileTooLarge => "`crh stats --forget` deletes the stored outcomes",
        _ => "set `state.folder` in your config, or `CRH_STATE`, to another folder",
    };
    Failure::new(FailureKind::from_io(&error.why), error).hint(hint)
}

fn forget(state: &Path, repo: Option<&str>) -> Result<(), Failure> {
    let count = history::forget(state, repo).map_err(history_failure)?;
    ui::note(&match count {
        0 => "there was nothing to delete".to_owned(),
        1 => format!("deleted 1 file ({FORGETTABLE})"),
        _ => format!("deleted {count} files ({FORGETTABLE})"),
    });
    Ok(())
}

fn export(histories: &[History]) -> Result<String, Failure> {
    let entries = |history: &History| {
        let outcome = |entry: &OutcomeEntry| {
            let mut value = json!(entry);
            value["reception"] = json!(entry.kind.reception().name());
            value
        };
        let outcomes: Vec<Value> = history.outcomes.values().map(outcome).collect();
        json!({ "reviews": history.reviews, "outcomes": outcomes })
    };
    let value: Vec<Value> = histories.iter().map(entries).collect();
    stable_json(&json!({ "version": 1, "repositories": value })).or_fail(FailureKind::Bug)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    require_parent_folder(path)?;
    fs::write(path, text)
        .with_context(|| format!("cannot write `{}`", path.display()))
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("name a file that you may write"))?;
    ui::note(&format!("wrote `{}`", path.display()));
    Ok(())
}

/// Refreshes the outcomes of a repository's issues from the forge. Warns about proposals that
/// cannot be read.
fn refresh(
    history: &History,
    state: &Path,
    environment: &Environment,
    settings: &Settings,
    judge: &dyn OutcomeJudge,
) -> Result<(), Failure> {
    let commits = recent_commits(environment);
    for proposal in history.proposals() {
        let mut reviews = history.reviews.iter().filter(|review| review.proposal == proposal);
        let Some(review) = reviews.next_back().filter(|review| !review.url.is_empty()) else {
            continue;
        };
        match refresh_proposal(history, review, &commits, environment, settings, judge) {
            Ok(entries) => {
                history::append(state, &review.repo, &entries).map_err(history_failure)?;
            }
            Err(failure) => {
                let why = crh_review::one_line(&format!("{:#}", failure.error));
                ui::warn(&format!(
                    "`{}` was not refreshed: {why}",
                    crh_review::one_line(&review.url)
                ));
            }
        }
    }
    Ok(())
}

fn refresh_proposal(
    history: &History,
    review: &ReviewEntry,
    commits: &[RecentCommit],
    environment: &Environment,
    settings: &Settings,
    judge: &dyn OutcomeJudge,
) -> Result<Vec<HistoryEntry>, Failure> {
    let target = Target::PullRequest(review.url.clone());
    let lookup = forge::PullRequestLookup::IfToken;
    let found = forge::find_proposal(&target, lookup, environment, &RawSettings::default())?;
    let Some(found) = found else { return Ok(Vec::new()) };
    let state = &found.state;
    let end = match state.properties.open {
        true => ProposalEnd::Open,
        false if is_reverted(&state.properties.head, commits) => ProposalEnd::Reverted,
        // A closed proposal gives the same outcomes as a merged one.
        false => ProposalEnd::Merged,
    };
    let at = now(environment);
    let clone = clone_files(environment, &state.properties.head);
    let changed =
        state.files.iter().flat_map(|file| [Some(file.path.clone()), file.previous.clone()]);
    let later = LaterState {
        receptions: &receptions(state, settings.instance.value.as_str()),
        report: None,
        head: &state.properties.head,
        end,
        files: [&clone, &clone],
        knows_changed_lines: found.forge.rules().profile().outdated_means_changed,
        changed: changed.flatten().collect(),
        dismissed_here: dismissed_here(settings.state_folder.value.path()?, &review.repo),
        judge,
        at: &at,
    };
    // Keep an outcome "fixed": a later review decided it, and the code alone allows only a guess.
    let is_settled = |entry: &HistoryEntry| match entry {
        HistoryEntry::Review(_) => false,
        HistoryEntry::Outcome(now) => {
            let before = history.outcome_of(&now.proposal, &now.key).map(|it| it.kind);
            let is_fixed =
                matches!(before, Some(OutcomeKind::FixedInPlace | OutcomeKind::FixedElsewhere));
            is_fixed && now.kind != OutcomeKind::Dismissed
        }
    };
    let outcomes = later.outcomes(history, &review.proposal).into_iter();
    Ok(outcomes.filter(|entry| !is_settled(entry)).collect())
}

/// The newest commits of the checkout. Empty outside of a checkout.
pub(super) fn recent_commits(environment: &Environment) -> Vec<RecentCommit> {
    let Ok(repository) = Repository::discover(&environment.folder) else { return Vec::new() };
    let bare = BareRepository::new(&repository.common_dir);
    let head = repository.head().ok().flatten();
    head.and_then(|head| bare.recent_commits(&head, REVERT_COMMITS).ok()).unwrap_or_default()
}

/// Whether a later commit reverts the head of a proposal or its merge.
fn is_reverted(head: &str, commits: &[RecentCommit]) -> bool {
    let reverted = |commit: &RecentCommit| {
        let (_, rest) = commit.body.split_once("This reverts commit ")?;
        Some(rest.chars().take_while(char::is_ascii_hexdigit).collect::<String>())
    };
    let is_of_head = |id: String| {
        let merge = commits.iter().find(|commit| commit.id == id);
        id == head || merge.is_some_and(|merge| merge.parents.iter().any(|it| it == head))
    };
    commits.iter().filter_map(reverted).any(is_of_head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(id: char, parents: &[char], body: &str) -> RecentCommit {
        RecentCommit {
            id: id.to_string().repeat(40),
            parents: parents.iter().map(|it| it.to_string().repeat(40)).collect(),
            author: String::new(),
            day: String::new(),
            subject: String::new(),
            body: body.to_owned(),
            files: Vec::new(),
        }
    }

    #[test]
    fn posting_time_comes_from_the_run() {
        let time = posting_time("20261118T123059Z_0123456789abcdef");
        assert_eq!(time.as_deref(), Some("2026-11-18T12:30:59Z"));
        for id in ["", "run", "2026é118T123059Z_0"] {
            assert_eq!(posting_time(id), None, "{id}");
        }
    }

    #[test]
    fn revert_of_the_head_or_its_merge_is_found() {
        let head = "a".repeat(40);
        let merge = commit('b', &['c', 'a'], "");
        let revert = |id: char| {
            commit('d', &[], &format!("This reverts commit {}.\n", id.to_string().repeat(40)))
        };
        assert!(is_reverted(&head, &[revert('a')]));
        assert!(is_reverted(&head, &[revert('b'), merge.clone()]));
        assert!(!is_reverted(&head, &[revert('c'), merge.clone()]));
        assert!(!is_reverted(&head, &[merge]));
    }
}
