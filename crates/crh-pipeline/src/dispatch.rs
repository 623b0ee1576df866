//! Stage "review": runs all assignments. Static checks start first and run while models work. The
//! report lists failed runs too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::assignment::{Assignment, is_static};
use crate::change_under_review::ChangeUnderReview;
use crate::checks::{CheckOptions, is_analyser, run_analysers, run_checks};
use crate::code_reader::CodeReader;
use crate::context::PanelContext;
use crate::journal::ReviewJournal;
use crate::plan::Plan;
use crate::review_context::ReviewContext;
use crate::runs::{RunRecord, RunResults};
use crate::strategies::{delegate, panel};
use crh_agent::LimitKind;
use crh_review::report::Strategy;

/// How long a cancelled review waits for static checks. Equals the timeout of a tool call.
const CANCEL_WAIT: Duration = Duration::from_secs(10);

/// Timeout for all external linters together. A slow one takes minutes for base and head.
const ANALYSERS_TIMEOUT: Duration = Duration::from_secs(420);

/// Runs a plan. Without `ctx`, only static checks run. Static checks fail after `time_left`.
pub async fn dispatch(
    plan: &Plan,
    change: &Arc<ChangeUnderReview>,
    checks: &Arc<CheckOptions>,
    ctx: Option<&ReviewContext>,
    journal: &ReviewJournal,
    context: &PanelContext,
    time_left: Duration,
) -> RunResults {
    // Static checks run while crh waits for the models.
    let (records, model_runs) = tokio::join!(
        run_static_checks(plan, change, checks, journal, ctx, time_left),
        Box::pin(run_model_strategies(plan, ctx, context))
    );
    let mut runs = RunResults { records, notes: Vec::new() };
    runs.notes.extend(ctx.and_then(|ctx| ctx.static_findings.late_findings_note()));
    runs.records.extend(model_runs.records);
    runs.notes.extend(model_runs.notes);
    runs
}

/// Runs the static checks. They cost nothing and mostly finish at once, so even a cancelled review
/// reports their findings. External linters run separately, so a slow linter does not delay the
/// other checks.
async fn run_static_checks(
    plan: &Plan,
    change: &Arc<ChangeUnderReview>,
    options: &Arc<CheckOptions>,
    journal: &ReviewJournal,
    ctx: Option<&ReviewContext>,
    time_left: Duration,
) -> Vec<RunRecord> {
    let deadline = Instant::now().checked_add(time_left);
    let static_assignments =
        plan.assignments.iter().filter(|assignment| is_static(&assignment.name)).cloned();
    let (analyser_assignments, built_in_assignments): (Vec<_>, Vec<_>) =
        static_assignments.partition(|assignment| is_analyser(&assignment.name));
    let task = CheckTask::spawn(change, options, run_checks);
    let built_in = async {
        let mut records = join_or_fail(task, built_in_assignments, journal, time_left).await;
        // With `crh check`, a reviewer that could read no file counts as failed: a change must not
        // pass unread.
        if plan.strategy == Strategy::Static {
            records.iter_mut().for_each(RunRecord::fail_if_no_file_was_read);
        }
        if let Some(ctx) = ctx {
            ctx.static_findings.add(&records);
        }
        records.iter().for_each(|record| journal.run_ended(record));
        records
    };
    let task = CheckTask::spawn(change, options, run_analysers);
    let (mut records, analyser_records) = tokio::join!(
        built_in,
        join_or_fail(task, analyser_assignments, journal, time_left.min(ANALYSERS_TIMEOUT))
    );
    if let Some(ctx) = ctx {
        ctx.static_findings.finish(&analyser_records);
    }
    analyser_records.iter().for_each(|record| journal.run_ended(record));
    records.extend(analyser_records);
    // The merge needs the symbols of the changed files. crh parses them in the background. The
    // merge itself parses files that are not parsed by then.
    let change = change.clone();
    drop(tokio::task::spawn_blocking(move || CodeReader::new(&change).parse_ahead(deadline)));
    records
}

/// A group of static checks on its own thread. When the task is dropped, the checks stop.
struct CheckTask {
    handle: JoinHandle<Vec<RunRecord>>,
    stop: Arc<AtomicBool>,
}

impl CheckTask {
    fn spawn(
        change: &ChangeUnderReview,
        options: &Arc<CheckOptions>,
        run: fn(&ChangeUnderReview, &CheckOptions) -> Vec<RunRecord>,
    ) -> Self {
        let tool_context = change.tool_context.for_one_call();
        let stop = tool_context.stop_handle();
        let change = ChangeUnderReview { tool_context, ..change.clone() };
        let options = options.clone();
        Self { handle: tokio::task::spawn_blocking(move || run(&change, &options)), stop }
    }
}

impl Drop for CheckTask {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Joins the task and returns its records. If the task panics or takes longer than `max_time`,
/// returns a failed record for each planned assignment. If the user cancels the review and the task
/// does not end within [`CANCEL_WAIT`], returns cancelled records. After this function returns,
/// checks read no further file. A linter that still runs ends at its own time limit.
async fn join_or_fail(
    mut task: CheckTask,
    assignments: Vec<Assignment>,
    journal: &ReviewJournal,
    max_time: Duration,
) -> Vec<RunRecord> {
    let failed_records = |why: &str| {
        assignments
            .iter()
            .map(|assignment| RunRecord::failed(assignment.clone(), why))
            .collect::<Vec<_>>()
    };
    let join_result = tokio::select! {
        done = &mut task.handle => Some(done),
        () = tokio::time::sleep(max_time) => {
            let limited = Some(LimitKind::Wall);
            let records = failed_records("timed out").into_iter();
            return records.map(|record| RunRecord { limited, ..record }).collect();
        }
        () = journal.cancel().cancelled() => tokio::time::timeout(CANCEL_WAIT, &mut task.handle).await.ok(),
    };
    match join_result {
        Some(Ok(records)) => records,
        Some(Err(_)) => failed_records("crashed (a bug in crh)"),
        None => assignments.into_iter().map(RunRecord::cancelled).collect(),
    }
}

/// Runs the assignments that need a model.
async fn run_model_strategies(
    plan: &Plan,
    ctx: Option<&ReviewContext>,
    context: &PanelContext,
) -> RunResults {
    let asks_a_model = |assignment: &&Assignment| !is_static(&assignment.name);
    let assignments: Vec<Assignment> =
        plan.assignments.iter().filter(asks_a_model).cloned().collect();
    let Some((ctx, first)) = ctx.zip(assignments.first()) else { return RunResults::default() };
    let mut runs = match plan.strategy {
        Strategy::Delegate => delegate(ctx, first).await,
        Strategy::Single | Strategy::Panel => panel(ctx, &assignments, context).await,
        Strategy::Static => RunResults::default(),
    };
    runs.notes.splice(0..0, ctx.prompts.notes().iter().cloned());
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts::sample;
    use crh_agent::TranscriptDetail;
    use crh_llm::Redactor;

    static HAS_STOPPED: AtomicBool = AtomicBool::new(false);

    fn run_until_stopped(change: &ChangeUnderReview, _: &CheckOptions) -> Vec<RunRecord> {
        while change.tool_context.check_stopped().is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
        HAS_STOPPED.store(true, Ordering::Relaxed);
        Vec::new()
    }

    #[tokio::test]
    async fn checks_stop_when_their_time_is_over() {
        let (_folder, change) = sample::change_under_review(&sample::contents(""));
        let journal = ReviewJournal::open(
            None,
            Redactor::default(),
            TranscriptDetail::LengthsOnly,
            Vec::new(),
            |_| {},
        );
        let assignment = Assignment {
            name: "secrets".to_owned(),
            reviewer: "secrets".to_owned(),
            label: String::new(),
            why: String::new(),
            focus: String::new(),
            parts: Vec::new(),
        };
        let task = CheckTask::spawn(&change, &Arc::default(), run_until_stopped);
        let records =
            join_or_fail(task, vec![assignment], &journal, Duration::from_millis(5)).await;
        assert_eq!(records[0].limited, Some(LimitKind::Wall));
        let start = Instant::now();
        while !HAS_STOPPED.load(Ordering::Relaxed) {
            assert!(start.elapsed() < Duration::from_secs(60), "the checks run on");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(change.tool_context.check_stopped().is_ok(), "only these checks stop");
    }
}
