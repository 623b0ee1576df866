//! Runs one review from a resolved change to its report: the list of stages and nothing else. The
//! caller resolves the change before and writes the report to its sinks after.

use std::sync::Arc;
use std::time::Instant;

use crate::assemble::{ReportInputs, assemble, mask, mask_keys};
use crate::carry_over::carry_over;
use crate::change_secrets::ChangeSecrets;
use crate::change_under_review::ChangeUnderReview;
use crate::checks::CheckOptions;
use crate::collect::collect;
use crate::consolidate::{Consolidation, consolidate_with_model};
use crate::context::{IntentPrompt, PanelContext, build_context};
use crate::dispatch::dispatch;
use crate::events::{ReviewEvent, Stage};
use crate::journal::ReviewJournal;
use crate::plan::plan;
use crate::prompts::Prompts;
use crate::review_context::ReviewContext;
use crate::review_options::{ModelSet, ReviewOptions};
use crate::runs::{RunRecord, milliseconds};
use crate::static_findings::StaticFindings;
use crate::validate::validate;
use crh_agent::Ledger;
use crh_llm::Money;
use crh_review::finding::{Member, Severity};
use crh_review::report::Report;
use crh_review::{PastDecisions, apply_judgements};

/// Everything that a review needs.
#[derive(Debug)]
pub struct ReviewInputs {
    /// The change under review.
    pub change: Arc<ChangeUnderReview>,
    /// Options of this review.
    pub options: Arc<ReviewOptions>,
    /// Options of the static checks.
    pub checks: Arc<CheckOptions>,
    /// Models, by role. None if the strategy uses no model.
    pub models: Option<ModelSet>,
    /// Shared budget ledger. The caller opens it, so that the progress display can read it.
    pub ledger: Ledger,
    /// Earlier decisions about issues.
    pub remembered: PastDecisions,
    /// Issues below this severity are hidden.
    pub min_severity: Severity,
    /// Asks the user what the change is for. None without a terminal.
    pub intent_prompt: Option<IntentPrompt>,
    /// Writes records and events.
    pub journal: ReviewJournal,
    /// Id of this run.
    pub run_id: String,
    /// Seed for retry jitter, so that recorded reviews replay exactly.
    pub retry_seed: u64,
    /// When the command started.
    pub started: Instant,
}

/// Result of a review.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewOutput {
    /// The report.
    pub report: Report,
    /// Records of all runs, validation included.
    pub records: Vec<RunRecord>,
}

/// Runs a review.
#[expect(clippy::too_many_lines, reason = "the list of stages")]
pub async fn run_review(inputs: ReviewInputs) -> ReviewOutput {
    let ReviewInputs { change, options, journal, .. } = &inputs;
    let mut ctx = inputs.models.clone().map(|models| review_context(&inputs, models));
    let budget = ctx.as_ref().map_or(Money::ZERO, |_| options.budget.money);
    journal.emit(ReviewEvent::Planned { files: change.files().count(), budget });
    let context = journal
        .async_stage(
            Stage::Context,
            build_context(
                change,
                options,
                inputs.checks.change_origin,
                ctx.as_ref(),
                inputs.intent_prompt.as_ref(),
            ),
        )
        .await;
    if let Some(ctx) = ctx.as_mut() {
        ctx.ledger.delay_start(context.user_wait);
    }
    let plan =
        journal.stage(Stage::Plan, || plan(change, options.strategy, &inputs.checks, &context));
    announce_team(journal, &context);
    let runs = journal
        .async_stage(
            Stage::Review,
            dispatch(&plan, change, &inputs.checks, ctx.as_ref(), journal, &context),
        )
        .await;
    let collected =
        journal.stage(Stage::Findings, || carry_over(collect(&runs), change, &runs, plan.strategy));
    let requirements = context.judged_requirements(&runs, &options.panel.waived);
    let missing_requirements = requirements.iter().flat_map(|(_, missing)| missing.clone());
    let members: Vec<Member> =
        collected.members.iter().cloned().chain(missing_requirements).collect();
    let consolidated = journal
        .async_stage(
            Stage::Merge,
            consolidate_with_model(members, change, &inputs.remembered, ctx.as_ref()),
        )
        .await;
    let Consolidation { merged, run: pairs_run, notes: pairs_notes } = consolidated;
    let validation = journal
        .async_stage(Stage::Validate, validate(&merged, &collected, change, ctx.as_ref()))
        .await;
    let report = journal.stage(Stage::Report, || {
        let report = assemble(ReportInputs {
            change,
            options,
            context: &context,
            plan: &plan,
            runs: &runs,
            requirements: requirements.map(|(plan, _)| plan),
            pairs_run: pairs_run.as_ref(),
            pairs_notes,
            collected: &collected,
            merged: apply_judgements(merged, &validation.judgements),
            validation: &validation,
            models: inputs.models.as_ref().map(ModelSet::names).unwrap_or_default(),
            prompt_version: Prompts::version(&options.overrides),
            run_id: inputs.run_id.clone(),
            artifact: artifact_path(journal),
            spent: inputs.ledger.spent(),
            took_ms: milliseconds(inputs.started.elapsed()),
            interrupted: journal.cancel().is_cancelled(),
            write_errors: journal.write_problems(),
            min_severity: Some(inputs.min_severity),
        });
        mask_keys(mask(report, &ChangeSecrets::from_diff(&change.diff)), journal.redactor())
    });
    let scout_run = context.scout.into_iter();
    let records = scout_run.chain(runs.records).chain(pairs_run).chain(validation.runs).collect();
    ReviewOutput { report, records }
}

/// Emits the chosen team before the runs start.
fn announce_team(journal: &ReviewJournal, context: &PanelContext) {
    let chosen = &context.team.chosen;
    let team: Vec<(String, String)> =
        chosen.iter().map(|it| (it.reviewer.name.clone(), it.why.clone())).collect();
    if !team.is_empty() {
        journal.emit(ReviewEvent::TeamChosen { team });
    }
}

fn review_context(inputs: &ReviewInputs, models: ModelSet) -> ReviewContext {
    ReviewContext {
        prompts: Arc::new(Prompts::new(&inputs.change, &inputs.options, models.min_context())),
        change: inputs.change.clone(),
        options: inputs.options.clone(),
        models,
        ledger: inputs.ledger.clone(),
        static_findings: StaticFindings::new(),
        journal: inputs.journal.clone(),
        retry_seed: inputs.retry_seed,
    }
}

fn artifact_path(journal: &ReviewJournal) -> String {
    journal.folder().map(|folder| folder.display().to_string()).unwrap_or_default()
}
