//! Runs one review from a resolved change to its report, stage by stage.
//!
//! The caller resolves the change before the review and writes the report to its sinks afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::assemble::{ReportInputs, assemble, mask, mask_keys};
use crate::carry_over::carry_over;
use crate::change_secrets::ChangeSecrets;
use crate::change_under_review::ChangeUnderReview;
use crate::checks::CheckOptions;
use crate::collect::{ReviewFindings, collect};
use crate::consolidate::{
    Calibration, IssueSelection, cited_locations, consolidate, consolidate_for_editor, regroup,
    select_issues, split_by_editor,
};
use crate::context::{IntentPrompt, PanelContext, build_context};
use crate::dispatch::dispatch;
use crate::edit::{EditOutcome, edit, has_editor};
use crate::events::{ReviewEvent, Stage};
use crate::journal::ReviewJournal;
use crate::plan::{Plan, plan};
use crate::prompts::Prompts;
use crate::proof::{TestCommand, proposed_tests, run_tests};
use crate::review_context::ReviewContext;
use crate::review_options::{ModelSet, ReviewOptions};
use crate::runs::{RunRecord, RunResults, milliseconds};
use crate::static_findings::StaticFindings;
use crate::validate::{ValidationOutcome, validate};
use crh_agent::Ledger;
use crh_llm::Money;
use crh_review::eval::{Funnel, RaisedFinding};
use crh_review::finding::{Member, Severity};
use crh_review::report::{self, DroppedFinding, Issue, Report, Strategy};
use crh_review::{Judgement, MergeResult, PastDecisions};

/// Minimum time for static checks. Most need less than a second.
const MIN_CHECK_TIME: Duration = Duration::from_secs(20);

/// Inputs of a review.
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
    /// Whether only the command line names the models.
    pub needs_model_flag: bool,
    /// Shared budget ledger. The caller opens it, so that the progress display can read it.
    pub ledger: Ledger,
    /// Earlier decisions about issues.
    pub remembered: PastDecisions,
    /// Weights for probabilities, fitted to the repository. None if it has none.
    pub calibration: Option<Calibration>,
    /// Issues below this severity are hidden.
    pub min_severity: Severity,
    /// Asks the user what the change is for. None without a terminal.
    pub intent_prompt: Option<IntentPrompt>,
    /// Runs tests that the editor proposes. None if the editor may not propose any.
    pub test_command: Option<Arc<TestCommand>>,
    /// Writes records and events.
    pub journal: ReviewJournal,
    /// Id of the review, which is the name of its run folder if there is one.
    pub run_id: String,
    /// Seed of the random delays between retries. A fixed seed makes recorded reviews replay
    /// exactly.
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
    /// Findings and issues at each step, for an evaluation.
    pub funnel: Funnel,
}

/// Runs a review.
pub async fn run_review(inputs: ReviewInputs) -> ReviewOutput {
    let ReviewInputs { change, options, journal, .. } = &inputs;
    let mut ctx = inputs.models.clone().map(|models| review_context(&inputs, models));
    let budget = ctx.as_ref().map_or(Money::ZERO, |_| options.budget.money);
    journal.emit(ReviewEvent::Planned { files: change.files().count(), budget });
    let context = gather_context(&inputs, ctx.as_mut()).await;
    let plan =
        journal.stage(Stage::Plan, || plan(change, options.strategy, &inputs.checks, &context));
    if options.strategy == Strategy::Panel {
        announce_team(journal, &context);
    }
    let time_left =
        (options.budget.wall + context.user_wait).saturating_sub(inputs.started.elapsed());
    // Static checks get some time even if they start late.
    let time_left = time_left.max(MIN_CHECK_TIME);
    let runs = journal
        .async_stage(
            Stage::Review,
            dispatch(&plan, change, &inputs.checks, ctx.as_ref(), journal, &context, time_left),
        )
        .await;
    let collected = journal.stage(Stage::Findings, || {
        let findings = collect(&runs).within_paths(&change.scope);
        carry_over(findings, change, &runs, plan.strategy).without_lessons(&change.lessons)
    });
    let (requirements, missing_requirements) =
        context.judged_requirements(&runs, &options.panel.waived).unzip();
    let members: Vec<Member> = collected
        .members
        .iter()
        .cloned()
        .chain(missing_requirements.into_iter().flatten())
        .collect();
    let merged = journal.stage(Stage::Merge, || {
        let merge = if has_editor(ctx.as_ref()) { consolidate_for_editor } else { consolidate };
        merge(members.clone(), change, &inputs.remembered)
    });
    let test_command = inputs.test_command.as_deref();
    let edit = edit(&merged, &collected, &runs, change, ctx.as_ref(), test_command);
    let mut edit = journal.async_stage(Stage::Edit, edit).await;
    edit.groups = edit.groups.map(|groups| regroup(&groups, change));
    let claims =
        split_by_editor(&merged, edit.groups.as_deref(), &members, change, &inputs.remembered);
    let (validation, by_editor) =
        validate_undecided(&claims, &edit, &collected, &inputs, ctx.as_ref()).await;
    let selection = IssueSelection {
        has_editor: has_editor(ctx.as_ref()),
        groups: edit.groups.as_deref(),
        judgements: &validation.judgements,
        by_editor,
        rules: options.publish,
        calibration: inputs.calibration.as_ref(),
    };
    let mut selected = select_issues(claims, &members, change, &inputs.remembered, &selection);
    add_proofs(&mut selected.issues, &edit, &inputs, ctx.as_ref()).await;
    let funnel = funnel(&inputs, &members, &collected.dropped, &merged, &selected);
    let merged = selected;
    let results =
        StageResults { context, plan, runs, collected, requirements, merged, edit, validation };
    let report = journal.stage(Stage::Report, || build_report(&inputs, &results));
    ReviewOutput { report, records: results.into_records(), funnel }
}

/// Validates the issues that the editor leaves undecided: the validation prompt does not contain its
/// answer. With a budget of two calls, nothing else is validated: validation runs have tools, and
/// only a failed request of the editor, which costs no call, leaves a call for one. Then the
/// editor's judgements count, by finding.
async fn validate_undecided(
    claims: &MergeResult,
    edit: &EditOutcome,
    collected: &ReviewFindings,
    inputs: &ReviewInputs,
    ctx: Option<&ReviewContext>,
) -> (ValidationOutcome, BTreeMap<Member, Judgement>) {
    let (change, options, journal) = (&inputs.change, &inputs.options, &inputs.journal);
    let has_two_calls = options.budget.has_two_calls();
    let undecided = match has_two_calls {
        true => Some(BTreeSet::new()),
        false => edit.undecided_issues(claims, options.publish),
    };
    let validate = validate(claims, undecided.as_ref(), collected, change, ctx);
    let mut validation = journal.async_stage(Stage::Validate, validate).await;
    let mut by_editor = BTreeMap::new();
    if has_two_calls && edit.groups.is_some() {
        by_editor = edit.judgements(options.publish);
    } else if has_two_calls {
        let why = match journal.cancel().is_cancelled() {
            true => "the review was stopped",
            false => {
                "with at most two model calls, only the editor validates; raise `--max-llm-calls`"
            }
        };
        validation.note_unchecked(&claims.issues, collected, why);
    }
    (validation, by_editor)
}

/// Runs the tests that the editor proposed for these issues, and adds each proof to its issue.
async fn add_proofs(
    issues: &mut [Issue],
    edit: &EditOutcome,
    inputs: &ReviewInputs,
    ctx: Option<&ReviewContext>,
) {
    let Some((command, ctx)) = inputs.test_command.as_ref().zip(ctx) else { return };
    let tests = proposed_tests(issues, edit.groups.as_deref().unwrap_or_default());
    if tests.is_empty() {
        return;
    }
    let attempts = run_tests(tests, &inputs.change, command, ctx.time_left());
    for attempt in inputs.journal.async_stage(Stage::Proof, attempts).await {
        attempt.add_proof(issues);
    }
}

/// Results of the stages before the report.
struct StageResults {
    context: PanelContext,
    plan: Plan,
    runs: RunResults,
    collected: ReviewFindings,
    /// Requirements with their judgements. None without a requirements document.
    requirements: Option<report::Plan>,
    /// Selected issues.
    merged: MergeResult,
    edit: EditOutcome,
    validation: ValidationOutcome,
}

impl StageResults {
    /// Records of all runs, in the order of the stages.
    fn into_records(self) -> Vec<RunRecord> {
        let scout_run = self.context.scout.into_iter();
        let editor_run = self.edit.run;
        scout_run.chain(self.runs.records).chain(editor_run).chain(self.validation.runs).collect()
    }
}

/// Runs the stage "context". The time in which the user answers questions does not count for the
/// time limit.
async fn gather_context(inputs: &ReviewInputs, ctx: Option<&mut ReviewContext>) -> PanelContext {
    let context = inputs
        .journal
        .async_stage(
            Stage::Context,
            build_context(
                &inputs.change,
                &inputs.options,
                inputs.checks.change_origin,
                ctx.as_deref(),
                inputs.intent_prompt.as_ref(),
            ),
        )
        .await;
    if let Some(ctx) = ctx {
        ctx.ledger.delay_start(context.user_wait);
    }
    context
}

/// Builds the report and masks its secrets.
fn build_report(inputs: &ReviewInputs, results: &StageResults) -> Report {
    let ReviewInputs { change, options, journal, .. } = inputs;
    let StageResults { edit, validation, .. } = results;
    let report = assemble(ReportInputs {
        change,
        options,
        context: &results.context,
        plan: &results.plan,
        runs: &results.runs,
        requirements: results.requirements.clone(),
        edit,
        collected: &results.collected,
        merged: results.merged.clone(),
        validation,
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
    let report = Report { needs_model_flag: inputs.needs_model_flag, ..report };
    mask_keys(mask(report, &ChangeSecrets::from_diff(&change.diff)), journal.redactor())
}

/// The findings and issues at each step, with masked secrets.
fn funnel(
    inputs: &ReviewInputs,
    members: &[Member],
    dropped: &[DroppedFinding],
    merged: &MergeResult,
    selected: &MergeResult,
) -> Funnel {
    let ReviewInputs { change, journal, .. } = inputs;
    let locations = cited_locations(members, change);
    let findings = members
        .iter()
        .zip(locations)
        .map(|(member, location)| RaisedFinding::from_member(member, location, merged));
    let dropped = dropped.iter().map(|finding| RaisedFinding::from_dropped(finding, None));
    let mut raised: Vec<RaisedFinding> = findings.chain(dropped).collect();
    // `mask` accepts only a report, so the findings and issues are put into one. It keeps the order
    // of the lists.
    let unmasked = Report {
        suppressed: raised.iter().map(|raised| raised.finding.clone()).collect(),
        issues: merged.issues.clone(),
        pre_existing: selected.issues.clone(),
        ..Report::default()
    };
    let secrets = ChangeSecrets::from_diff(&change.diff);
    let masked = mask_keys(mask(unmasked, &secrets), journal.redactor());
    for (raised, finding) in raised.iter_mut().zip(masked.suppressed) {
        raised.finding = finding;
    }
    Funnel::new(&raised, &masked.issues, &masked.pre_existing)
}

/// Emits the chosen team before the runs start.
fn announce_team(journal: &ReviewJournal, context: &PanelContext) {
    let chosen = &context.team.chosen;
    let team: Vec<(String, String)> =
        chosen.iter().map(|choice| (choice.reviewer.name.clone(), choice.why.clone())).collect();
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
