//! Resumes a review from its run folder, and applies what the command line may change.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::super::run_lookup;
use super::resolved_change::ResumeState;
use super::resumed_run::{ResumedRun, START_ANEW_HINT};
use super::session::{ReopenPurpose, ReviewRequest};
use super::since::ReviewExtent;
use super::{progress, terms};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::review_options::ReviewOptions;
use crh_pipeline::run_folder::{FolderError, OPTIONS_FILE, RunFolder};
use crh_pipeline::target_args;
use crh_review::report::ReviewMode;
use crh_review::verdict::CommandKind;

/// File with the stored facts about the change.
const CHANGE_FACTS_FILE: &str = "stages/found.json";

impl ResumedRun {
    /// Opens a run by name or by the path of its folder.
    pub(super) fn open(
        run: &str,
        request: &ReviewRequest,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        reject_changed_options(request)?;
        let run_dir = request.run_dir.as_deref();
        let stored_run = run_lookup::own_run_folder(environment, run_dir, Some(run))?;
        let folder = stored_run.resume().map_err(run_lookup::folder_failure)?;
        let stored: ReviewOptions = read(&folder, OPTIONS_FILE)?;
        // To fix issues, crh opens the runs of both commands.
        let is_same_command = request.command == stored.command;
        if request.reopen_purpose == ReopenPurpose::Reviewing && !is_same_command {
            let run = folder.run_id();
            let (origin, command) = match stored.command {
                CommandKind::Review => ("was started by `crh review`", "crh review"),
                CommandKind::Checks => ("has only static checks", "crh check"),
            };
            return Err(Failure::usage(format!("the run `{run}` {origin}"))
                .hint(format!("use `{command} --resume {run}`")));
        }
        let mut options = terms::with_limits_from(stored, &request.flags);
        options.mode = match request.parsed_target.mode {
            Some(_) => request.mode,
            None => progress::final_mode(&folder).unwrap_or(options.mode),
        };
        let change_facts = read(&folder, CHANGE_FACTS_FILE)?;
        Ok(Self { folder, options, change_facts })
    }
}

/// The mode in which a run finished, else the one it began in. `None` if it cannot be read; opening
/// the run reports the error.
pub(super) fn mode(
    run: &str,
    run_dir: Option<&Path>,
    environment: &Environment,
) -> Option<ReviewMode> {
    let folder = run_lookup::own_run_folder(environment, run_dir, Some(run)).ok()?;
    let initial_mode = || folder.read::<ReviewOptions>(OPTIONS_FILE).ok().map(|it| it.mode);
    progress::final_mode(&folder).or_else(initial_mode)
}

/// Stores what a resumed run needs. Masks the secrets of the change in its title and in plans.
pub(super) fn store(
    folder: &RunFolder,
    options: &ReviewOptions,
    change_facts: ResumeState,
) -> Result<(), Failure> {
    let mut options = options.clone();
    for plan in options.panel.plan.iter_mut().chain(&mut options.panel.untracked_plans) {
        folder.mask_secrets(&mut plan.text);
    }
    folder.store_masked(OPTIONS_FILE, &options).or_fail(FailureKind::External)?;
    let change_facts = change_facts.with_title(|title| folder.mask_secrets(title));
    folder.store_masked(CHANGE_FACTS_FILE, &change_facts).or_fail(FailureKind::External)
}

/// Fails on options that would make a resumed review another review.
fn reject_changed_options(request: &ReviewRequest) -> Result<(), Failure> {
    let ReviewRequest { flags, prompts, parsed_target, extent, panel, .. } = request;
    let options = [
        ("--strategy", flags.review_strategy.is_some()),
        ("--lang", flags.review_language.is_some()),
        ("--since-last", *extent == ReviewExtent::SinceLast),
        ("--depth", flags.review_depth.is_some()),
        ("--reviewers", !panel.reviewers.is_empty()),
        ("--plan", panel.plan.is_some() || parsed_target.plan.is_some()),
        ("--waive", !panel.waive.is_empty()),
        ("--exclude", flags.scope_exclude.is_some()),
        ("PATH", flags.scope_paths.is_some()),
        ("--system-prompt", prompts.system_prompt.is_some()),
        ("--reviewer-prompt", prompts.reviewer_prompt.is_some()),
        ("--mode report-only", parsed_target.mode == Some(target_args::RequestedMode::ReportOnly)),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => {
            let message = format!("`{flag}` cannot be used with `--resume`");
            Err(Failure::usage(message).hint(format!("leave it out, or {START_ANEW_HINT}")))
        }
    }
}

/// Reads a file that was stored when the review began.
fn read<T: DeserializeOwned>(folder: &RunFolder, name: &str) -> Result<T, Failure> {
    folder.read(name).map_err(|error| match error {
        FolderError::Unfinished { run, .. } => {
            let message = format!("the run `{run}` ended before its review began");
            Failure::usage(message).hint(START_ANEW_HINT)
        }
        other => Failure::new(FailureKind::Usage, other).hint(START_ANEW_HINT),
    })
}
