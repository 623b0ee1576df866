//! A review that goes on: what is known about it from its run folder, and what the command line may change about it.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::super::run_place;
use super::begin::Beginning;
use super::pinned::Found;
use super::since::Wish;
use super::{progress, terms};
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crh_pipeline::asked;
use crh_pipeline::run_folder::{FolderError, RunFolder, TERMS};
use crh_pipeline::terms::Terms;
use crh_review::report::Mode;
use crh_review::verdict::Asked;

/// Where what was found out about its change is stored.
const FOUND: &str = "stages/found.json";

/// What can be done where going on cannot.
pub(super) const ANEW: &str = "review the change anew, without `--resume`";

/// A review that goes on. Nobody else can go on with it meanwhile.
pub(super) struct Resumed {
    pub(super) folder: RunFolder,
    pub(super) terms: Terms,
    pub(super) found: Found,
}

impl Resumed {
    /// The run of this name, or in the folder at this path.
    pub(super) fn open(
        run: &str,
        beginning: &Beginning,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        as_it_began(beginning)?;
        let found = run_place::run_folder(environment, beginning.run_dir.as_deref(), Some(run))?;
        let folder = RunFolder::resume(found.path()).map_err(run_place::failed)?;
        let began: Terms = read(&folder, TERMS)?;
        if (beginning.asked, began.asked) == (Asked::Checks, Asked::Review) {
            let run = folder.run_id();
            return Err(Failure::usage(format!("the run `{run}` is a review"))
                .hint(format!("`crh review --resume {run}` goes on with it")));
        }
        let mut terms = terms::raised(began, &beginning.flags);
        terms.mode = match beginning.typed.mode {
            Some(_) => beginning.mode,
            None => progress::ended_in(&folder).unwrap_or(terms.mode),
        };
        let found = read(&folder, FOUND)?;
        Ok(Self { folder, terms, found })
    }

    /// Where the workspace of the run is.
    pub(super) fn workspace(&self) -> std::path::PathBuf {
        self.folder.workspace()
    }
}

/// The mode that a run has ended in, else the one that it began in; none if that cannot be read, which is said when the run is opened.
pub(super) fn mode(run: &str, run_dir: Option<&Path>, environment: &Environment) -> Option<Mode> {
    let found = run_place::run_folder(environment, run_dir, Some(run)).ok()?;
    let began_in = || found.read::<Terms>(TERMS).ok().map(|terms| terms.mode);
    progress::ended_in(&found).or_else(began_in)
}

/// Stores what going on needs. It is read before the change is, so nothing that is hidden in it would come back.
pub(super) fn store(folder: &RunFolder, terms: &Terms, found: Found) -> Result<(), Failure> {
    folder.store_as_it_is(TERMS, terms).or_fail(Kind::Outside)?;
    let found = found.with_title(|title| folder.hide(title));
    folder.store_as_it_is(FOUND, &found).or_fail(Kind::Outside)
}

/// Refuses what would make another review of it: what has ended was done without that.
fn as_it_began(beginning: &Beginning) -> Result<(), Failure> {
    let Beginning { flags, prompts, typed, wish, panel, .. } = beginning;
    let given = [
        ("--strategy", flags.review_strategy.is_some()),
        ("--lang", flags.review_language.is_some()),
        ("--since-last", *wish == Wish::SinceLast),
        ("--depth", flags.review_depth.is_some()),
        ("--reviewers", !panel.reviewers.is_empty()),
        ("--plan", panel.plan.is_some() || typed.plan.is_some()),
        ("--waive", !panel.waive.is_empty()),
        ("--exclude", flags.scope_exclude.is_some()),
        ("--system-prompt", prompts.system_prompt.is_some()),
        ("--reviewer-prompt", prompts.reviewer_prompt.is_some()),
        ("--mode report-only", typed.mode == Some(asked::Mode::ReportOnly)),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => {
            let message = format!("`{flag}` cannot be given for a review that goes on");
            Err(Failure::usage(message).hint(format!("leave it out, or {ANEW}")))
        }
    }
}

/// Reads what was stored when the review began.
fn read<T: DeserializeOwned>(folder: &RunFolder, name: &str) -> Result<T, Failure> {
    folder.read(name).map_err(|error| match error {
        FolderError::Unfinished { run, .. } => {
            let message = format!("the run `{run}` ended before its review began");
            Failure::usage(message).hint(ANEW)
        }
        other => Failure::new(Kind::Usage, other).hint(ANEW),
    })
}
