//! `crh stats`: shows, refreshes, exports or deletes what crh knows about posted issues.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::learning::{LaterState, clone_files, now};
use super::{forge, require_parent_folder};
use crate::cli::{ListFormatArg, StatsArgs};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, ui};
use crh_forge::posting::receptions;
use crh_git::{BareRepository, RecentCommit, Repository};
use crh_memory::history;
use crh_memory::history::{History, HistoryEntry, HistoryError, ReviewEntry};
use crh_memory::outcome::{OutcomeKind, ProposalEnd};
use crh_memory::stats::LearningStats;
use crh_pipeline::target_args::Target;
use crh_review::stable_json;

/// Number of commits in which crh looks for reverts.
const REVERT_COMMITS: u32 = 1_000;

pub(super) fn run(args: &StatsArgs, environment: &Environment) -> Result<(), Failure> {
    // A repository cannot set the state folder, so its config is not read.
    let settings = config::load(environment, None, RawSettings::default())?;
    let state = settings.state_folder.value.path()?;
    if args.forget {
        return forget(state, args.repo.as_deref());
    }
    if args.refresh {
        for history in load(state, args.repo.as_deref())? {
            refresh(&history, state, environment, &settings)?;
        }
    }
    let histories = load(state, args.repo.as_deref())?;
    if let Some(file) = &args.export {
        return write(&environment.folder.join(file), &export(&histories)?);
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

fn load(state: &Path, repo: Option<&str>) -> Result<Vec<History>, Failure> {
    let histories = match repo {
        Some(repo) => history::load(state, repo).map(|history| vec![history]),
        None => history::load_all(state),
    };
    histories.map_err(history_failure)
}

fn history_failure(error: HistoryError) -> Failure {
    Failure::new(FailureKind::from_io(&error.why), error)
        .hint("`crh stats --forget` deletes the stored outcomes")
}

fn forget(state: &Path, repo: Option<&str>) -> Result<(), Failure> {
    let count = history::forget(state, repo).map_err(history_failure)?;
    let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    ui::note(&format!("deleted {files} with outcomes, lessons of your own and weights"));
    Ok(())
}

fn export(histories: &[History]) -> Result<String, Failure> {
    let entries = |history: &History| {
        let outcomes: Vec<&history::OutcomeEntry> = history.outcomes.values().collect();
        json!({ "reviews": history.reviews, "outcomes": outcomes })
    };
    let value: Vec<Value> = histories.iter().map(entries).collect();
    stable_json(&json!({ "version": 1, "repositories": value })).or_fail(FailureKind::Bug)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    require_parent_folder(path)?;
    fs::write(path, text).or_fail(FailureKind::Usage)?;
    ui::note(&format!("wrote `{}`", path.display()));
    Ok(())
}

/// Asks the forge what became of the issues of a repository. A proposal that cannot be read is a
/// note.
fn refresh(
    history: &History,
    state: &Path,
    environment: &Environment,
    settings: &Settings,
) -> Result<(), Failure> {
    let commits = recent_commits(environment);
    for proposal in history.proposals() {
        let mut reviews = history.reviews.iter().filter(|review| review.proposal == proposal);
        let Some(review) = reviews.next_back().filter(|review| !review.url.is_empty()) else {
            continue;
        };
        match refresh_proposal(history, review, &commits, environment, settings) {
            Ok(entries) => {
                history::append(state, &review.repo, &entries).map_err(history_failure)?;
            }
            Err(failure) => {
                let why = ui::one_line(&format!("{:#}", failure.error));
                ui::warn(&format!("`{}` was not refreshed: {why}", ui::one_line(&review.url)));
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
) -> Result<Vec<HistoryEntry>, Failure> {
    let target = Target::PullRequest(review.url.clone());
    let lookup = forge::PullRequestLookup::IfToken;
    let found = forge::find_proposal(&target, lookup, environment, &RawSettings::default())?;
    let Some(found) = found else { return Ok(Vec::new()) };
    let state = &found.state;
    let end = match state.properties.open {
        true => ProposalEnd::Open,
        false if is_reverted(&state.properties.head, commits) => ProposalEnd::Reverted,
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
        changed: changed.flatten().collect(),
        at: &at,
    };
    // A later review decided these already. Without one, code would only guess.
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

/// The newest commits of the checkout. Empty outside of one.
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
