//! The reviewers, models and stored results of an evaluation, from flags and settings.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;

use super::super::models::ModelResolver;
use super::super::review::{panel, terms};
use super::host::CommandHost;
use crate::cli::{ArmChoice, EvalReviewArgs, PanelArgs, PromptArgs};
use crate::config::environment::Environment;
use crate::config::key::SourcedValue;
use crate::config::keys::{RawSettings, Settings};
use crate::config::review::StrategyChoice;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, input};
use crh_eval::{
    CachePolicy, EvalArm, EvalBudget, EvaluatedReviewers, QuietReviewer, ReviewBatch, ReviewCache,
};
use crh_llm::ModelName;
use crh_pipeline::reviewers::ReviewerCatalogue;
use crh_review::identity::content_id;
use crh_review::report::{ReviewMode, Strategy};
use crh_review::verdict::CommandKind;

/// Folder of stored results (rows), beside the private stores.
const ROWS: &str = "eval-rows";

/// The failure if a strategy needs a model and none is configured.
pub(super) fn no_model_failure() -> Failure {
    Failure::usage("no model is configured")
        .hint("pass one with `--model`, or use `--strategy static`, which needs none")
}

/// The reviewers of `--reviewers`. All of them must exist.
pub(super) fn reviewers(args: &EvalReviewArgs) -> Result<EvaluatedReviewers, Failure> {
    panel::are_known(&args.reviewers, ReviewerCatalogue::built_in())?;
    Ok(EvaluatedReviewers::new(&args.reviewers))
}

/// Selects the panel strategy if reviewers are named. Rejects a flag that contradicts it.
fn set_panel(evaluated: &EvaluatedReviewers, flags: &mut RawSettings) -> Result<(), Failure> {
    if evaluated.names().is_none() {
        return Ok(());
    }
    match &flags.review_strategy {
        None => {
            flags.review_strategy =
                Some(SourcedValue::from_flag("--reviewers", StrategyChoice::Panel));
            Ok(())
        }
        Some(SourcedValue { value: StrategyChoice::Panel, .. }) => Ok(()),
        Some(SourcedValue {
            value: StrategyChoice::Single | StrategyChoice::Delegate | StrategyChoice::Static,
            ..
        }) => Err(Failure::usage("`--reviewers` needs the strategy `panel`")
            .hint("remove `--strategy`, or pass `--strategy panel`")),
    }
}

/// Resolves settings and models without calling a model. If the strategy needs a model and none is
/// configured, fails with `no_model`.
pub(super) fn open(
    args: &EvalReviewArgs,
    evaluated: &EvaluatedReviewers,
    environment: &Environment,
    host: &CommandHost<'_>,
    no_model: impl FnOnce() -> Failure,
) -> Result<ReviewBatch, Failure> {
    let mut flags = RawSettings::default();
    args.set_strategy(&mut flags);
    args.model.clone().set(&mut flags)?;
    args.budget.clone().set(&mut flags);
    set_panel(evaluated, &mut flags)?;
    let settings = config::load(environment, None, flags)?;
    let prompts = PromptArgs::default();
    let panel = PanelArgs::default();
    let mut terms =
        terms::terms(&settings, CommandKind::Review, ReviewMode::ReportOnly, &panel, &prompts)?;
    // Canonical names, so that an alias finds the stored results.
    terms.panel.only = evaluated.names();
    evaluated.warn_of_notes(host);
    let arm = match args.strategy {
        Some(ArmChoice::Bare) => EvalArm::Bare,
        Some(_) | None => EvalArm::Strategy(terms.strategy),
    };
    let prompt_version = arm.prompt_version(&terms.overrides);
    let known = ModelResolver::new(&settings, environment)?.with_prompts(&prompt_version);
    let (model_set, models, recording, is_paid) = match terms.strategy {
        Strategy::Static => (None, Vec::new(), None, false),
        Strategy::Single | Strategy::Delegate | Strategy::Panel => {
            if known.has_no_model(&settings) {
                // A fallback to static checks would measure something else.
                return Err(no_model());
            }
            let (names, recording, is_paid) = model_identities(&known, &settings, environment)?;
            let model_set = known.open_all(&settings, args.record.as_deref())?;
            (Some(model_set), names, recording, is_paid)
        }
    };
    let rows = kept_rows(args, &settings, environment)?;
    Ok(ReviewBatch {
        arm,
        prompt_version,
        build: environment.build_id(),
        eval_budget: is_paid.then(|| EvalBudget::new(args.max_total_cost)),
        max_total_cost: args.max_total_cost,
        quiet: QuietReviewer {
            terms: Arc::new(terms),
            model_set,
            redactor: known.redactor(),
            min_severity: settings.review_min_severity.value.severity(),
        },
        rows,
        models,
        recording,
        jobs: args.jobs,
    })
}

/// Model identities, the first recording, and whether any model costs money.
fn model_identities(
    models: &ModelResolver<'_>,
    settings: &Settings,
    environment: &Environment,
) -> Result<(Vec<String>, Option<PathBuf>, bool), Failure> {
    let roles = models.roles(settings)?;
    let mut is_paid = false;
    let mut recording = None;
    let mut names = Vec::new();
    for name in [roles.reviewer, roles.cheap, roles.escalation, roles.editor] {
        is_paid |= is_live(&name);
        names.push(identity(&name, environment)?);
        if let ModelName::Replay(file) = name {
            recording.get_or_insert(file);
        }
    }
    Ok((names, recording, is_paid))
}

/// Whether calls of this model cost money.
pub(super) fn is_live(name: &ModelName) -> bool {
    match name {
        ModelName::Live(_) => true,
        ModelName::Replay(_) => false,
    }
}

/// Name of a model; for a recording, its content hash.
pub(super) fn identity(name: &ModelName, environment: &Environment) -> Result<String, Failure> {
    Ok(match name {
        ModelName::Live(live) => live.to_string(),
        ModelName::Replay(file) => content_id(&input::bytes(&environment.folder.join(file))?),
    })
}

pub(super) fn kept_rows(
    args: &EvalReviewArgs,
    settings: &Settings,
    environment: &Environment,
) -> Result<ReviewCache, Failure> {
    let folder = settings.store_folder.value.path()?.join(ROWS);
    // A recording must contain every model call, so do not use stored results.
    let is_fresh = args.fresh || args.record.is_some();
    let policy = if is_fresh { CachePolicy::Replaced } else { CachePolicy::Taken };
    ReviewCache::open(folder.clone(), policy, environment.now())
        .with_context(|| format!("storing results in `{}`", folder.display()))
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("set another folder with `store.folder` or `CRH_STORE`"))
}
