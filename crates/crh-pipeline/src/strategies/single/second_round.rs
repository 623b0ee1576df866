//! The second round of `single`: which findings it checks, with which model, and how its answer is
//! applied.

use super::answer::{ContextRequest, InvalidJudgements, SecondAnswer, read_second, submit_spec};
use super::budget::{RemainingBudget, output_tokens};
use super::context_lookups::{ContextLookups, FileLine, plan_lookups};
use super::doubts::{
    LaterValidation, RecheckCandidate, candidates, malformed_id, malformed_json, needs_escalation,
    suspects_elsewhere,
};
use super::judgements::{apply_second_answer, malformed_findings};
use super::material::fence_diffs;
use super::question::{SingleQuestion, TURNS, announce_run, ask, question_tokens};
use crate::consolidate::check_findings;
use crate::events::ReviewEvent;
use crate::prompts::Prompts;
use crate::review_context::ReviewContext;
use crate::runs::{CheckedFinding, RunRecord};
use crh_agent::{AgentOutcome, CallPurpose, FinishedRun, LimitKind, SubmitTool};
use crh_llm::{Model, text_tokens};
use crh_review::diff::Diff;
use crh_review::finding::{Finding, Side};
use crh_review::report::DroppedFinding;
use crh_review::{FindingCheck, Judgement, JudgementResult, stable_json};

const RUN_NAME: &str = "single-round";
/// With a budget of this many calls, no call is left for a validation run.
const CALLS_WITHOUT_VALIDATION: u32 = 2;
/// Tokens for fence tags and the truncation note. Their exact number is not known when the limit
/// for the lookups is computed.
const SLACK: u64 = 200;

/// Checks doubtful findings of a draft, if there are any and the budget allows it.
pub(super) async fn look_again(
    ctx: &ReviewContext,
    prompts: &Prompts,
    record: &mut RunRecord,
    requests: &[ContextRequest],
) {
    let Some(candidates) = find_candidates(ctx, record, requests) else { return };
    if ctx.journal.cancel().is_cancelled() {
        record.notes.push("the review was cancelled before the second round".to_owned());
        return;
    }
    let malformed: Vec<&DroppedFinding> =
        malformed_findings(&record.dropped).take(ctx.options.budget.verify).collect();
    let malformed_values =
        malformed.iter().enumerate().map(|(index, dropped)| malformed_json(index, dropped));
    let candidate_values: Vec<_> =
        candidates.iter().map(|one| one.to_json(&record.members)).chain(malformed_values).collect();
    let malformed_ids = (0..malformed.len()).map(malformed_id);
    let ids: Vec<String> =
        candidates.iter().map(|candidate| candidate.id.clone()).chain(malformed_ids).collect();
    let candidates_json = stable_json(&candidate_values).unwrap_or_default();
    let prompt_tokens =
        question_tokens(&prompts.conversation(&prompts.round(&candidates_json, "")));
    let remaining = RemainingBudget::new(&ctx.options.budget, &ctx.ledger.spent());
    let (model, max_output_tokens) = match choose_model(ctx, record, remaining, prompt_tokens) {
        Ok(choice) => choice,
        Err(limit) => return note_limit(record, limit),
    };
    announce_run(ctx, RUN_NAME, &record.assignment);
    let locate_finding = |finding: &Finding| locate(&ctx.change.diff, finding);
    let lookups = plan_lookups(&candidates, requests, &record.members, locate_finding);
    let max_lookup_tokens = remaining
        .max_input_tokens(model.facts(), max_output_tokens)
        .saturating_sub(prompt_tokens + SLACK);
    let mut results = candidate_diffs(ctx, prompts, record, &candidates, max_lookup_tokens);
    results.push_str(&run_lookups(ctx, record, lookups).await);
    let results = truncate_lines(&results, max_lookup_tokens);
    let turns = remaining.calls.min(TURNS);
    let invalid_judgements =
        if turns == 1 { InvalidJudgements::Ignore } else { InvalidJudgements::AskAgain };
    let reviewer = record.assignment.reviewer.clone();
    let parse = move |value| read_second(value, &reviewer, &ids, invalid_judgements);
    let question = SingleQuestion {
        caller: RUN_NAME,
        model,
        conversation: prompts.conversation(&prompts.round(&candidates_json, &results)),
        submit: SubmitTool::new(submit_spec(), parse),
        // This call checks the draft, so it may use the part of the budget that is reserved for
        // validation.
        purpose: CallPurpose::Validation,
        turns,
        max_output_tokens,
    };
    let finished = ask(ctx, question, |second| second.parsed.members.len()).await;
    record.add_usage(&finished, model.name());
    apply_outcome(record, &candidates, finished);
}

/// Findings to check again. None if no second round is needed.
fn find_candidates(
    ctx: &ReviewContext,
    record: &mut RunRecord,
    requests: &[ContextRequest],
) -> Option<Vec<RecheckCandidate>> {
    let change = &ctx.change;
    let budget = &ctx.options.budget;
    let checks = check_findings(&record.members, change);
    record.notes.extend(checks.iter().filter_map(|check| check.conflict.clone()));
    let evidence_problem = |check: FindingCheck| check.problem.map(|problem| problem.to_string());
    let evidence_problems: Vec<_> = checks.into_iter().map(evidence_problem).collect();
    let is_changed = |path: &str| change.diff.files().iter().any(|file| file.path.shown() == path);
    let validation = if budget.llm_calls <= CALLS_WITHOUT_VALIDATION {
        LaterValidation::OnlyThisRound
    } else {
        LaterValidation::Follows
    };
    let mut candidates =
        candidates(&record.members, &evidence_problems, requests, is_changed, validation);
    let excess = candidates.len().saturating_sub(budget.verify);
    if excess > 0 {
        candidates.truncate(budget.verify);
        let limit = budget.verify;
        record.notes.push(format!(
            "{excess} more doubtful findings were not checked again: the limit is {limit}"
        ));
    }
    let is_needed = !candidates.is_empty()
        || malformed_findings(&record.dropped).next().is_some()
        || suspects_elsewhere(requests, is_changed);
    is_needed.then_some(candidates)
}

/// The model and its output limit, or the limit that blocks every model.
fn choose_model<'a>(
    ctx: &'a ReviewContext,
    record: &mut RunRecord,
    remaining: RemainingBudget,
    input_tokens: u64,
) -> Result<(&'a Model, u32), LimitKind> {
    let (reviewer, stronger) = (&ctx.models.reviewer, &ctx.models.escalation);
    let check_model = |model: &'a Model| {
        let output = output_tokens(&ctx.options.budget, model.facts());
        match remaining.blocking_limit(model.facts(), input_tokens, output) {
            None => Ok((model, output)),
            Some(limit) => Err(limit),
        }
    };
    let name = stronger.name();
    if !needs_escalation(&record.members) || name == reviewer.name() {
        return check_model(reviewer);
    }
    match check_model(stronger) {
        Ok(choice) => {
            record.notes.push(format!("`{name}` checked severe findings of low confidence"));
            Ok(choice)
        }
        Err(limit) => {
            let choice = check_model(reviewer)?;
            record.notes.push(format!(
                "the budget for {limit} was too small to ask `{name}` about severe findings of low confidence"
            ));
            Ok(choice)
        }
    }
}

/// Diffs of the candidates' files that the shared prompt does not contain.
fn candidate_diffs(
    ctx: &ReviewContext,
    prompts: &Prompts,
    record: &RunRecord,
    candidates: &[RecheckCandidate],
    max_tokens: u64,
) -> String {
    let is_cited = |path: &str| {
        let mut cited_members = candidates.iter().filter_map(|one| record.members.get(one.index));
        cited_members.any(|member| member.finding.file == path)
    };
    let files = ctx.change.files().map(|(_, file)| (file.path.shown().into_owned(), file));
    let files = files.filter(|(path, _)| is_cited(path) && !prompts.shows_diff_of(path)).collect();
    let pieces = fence_diffs(&ctx.change, files, max_tokens).pieces;
    pieces.iter().map(|piece| format!("{piece}\n")).collect()
}

/// The place of a finding. A diff line outside all hunks becomes line 1.
fn locate(diff: &Diff, finding: &Finding) -> FileLine {
    let (side, line) = match (finding.diff_line, finding.line_start) {
        (Some(number), _) => {
            diff.locate(number.get()).map_or((Side::New, 1), |(_, line)| line.side())
        }
        (None, Some(line)) => (finding.side.unwrap_or_default(), line.get()),
        (None, None) => (Side::New, 1),
    };
    let mut files = diff.files().iter();
    let file = files.find(|file| file.path.shown() == finding.file);
    // At base a renamed file has its old path.
    let old_path = file.and_then(|file| file.old_path.as_ref()).filter(|_| side == Side::Old);
    let path = old_path.map_or_else(|| finding.file.clone(), |old| old.shown().into_owned());
    FileLine { path, side, line }
}

/// Runs the lookups that the ledger allows and returns their output.
async fn run_lookups(
    ctx: &ReviewContext,
    record: &mut RunRecord,
    lookups: ContextLookups,
) -> String {
    record.notes.extend(lookups.notes);
    let requested_calls = u32::try_from(lookups.planned.len()).unwrap_or(u32::MAX);
    let granted_calls = ctx.ledger.grant_tool_calls(requested_calls, CallPurpose::Work);
    record.totals.tool_calls += granted_calls;
    if granted_calls < requested_calls {
        let missing_calls = requested_calls - granted_calls;
        record.limited.get_or_insert(LimitKind::ToolCalls);
        record.notes.push(format!(
            "the budget for {} was too small for {missing_calls} lookups",
            LimitKind::ToolCalls
        ));
    }
    let mut results = String::new();
    for (lookup, why) in lookups.planned.iter().take(granted_calls as usize) {
        let (tool, about) = (lookup.tool(), lookup.about());
        let run = RUN_NAME.to_owned();
        ctx.journal.emit(ReviewEvent::ToolCalled {
            run,
            tool: tool.to_owned(),
            about: about.clone(),
        });
        let result = match until_deadline(ctx, lookup.run(&ctx.change)).await {
            Some(Ok(result)) => result,
            Some(Err(failure)) => {
                record.notes.push(format!("{tool} {about} failed: {failure}"));
                format!("this failed: {failure}")
            }
            // The next question reports the cancellation.
            None if ctx.journal.cancel().is_cancelled() => break,
            None => {
                record.notes.push(format!("{tool} {about} was skipped: out of time"));
                break;
            }
        };
        results.push_str(&format!("{tool} {about} ({why}):\n{}\n\n", result.trim_end()));
    }
    results
}

/// Runs `work`. None if the review is cancelled or reaches its deadline first.
async fn until_deadline<T>(ctx: &ReviewContext, work: impl Future<Output = T>) -> Option<T> {
    let deadline = async {
        match ctx.ledger.deadline() {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        output = work => Some(output),
        () = ctx.journal.cancel().cancelled() => None,
        () = deadline => None,
    }
}

/// The first lines within a token budget, and a note on the rest.
fn truncate_lines(text: &str, max_tokens: u64) -> String {
    let mut tokens_left = max_tokens;
    let mut truncated = String::new();
    let mut lines = text.split_inclusive('\n');
    for line in lines.by_ref() {
        let tokens = text_tokens(line);
        if tokens > tokens_left {
            let missing_lines = lines.count() + 1;
            truncated.push_str(&format!(
                "[{missing_lines} lines are left out: there is no room for them]\n"
            ));
            break;
        }
        tokens_left -= tokens;
        truncated.push_str(line);
    }
    truncated
}

fn apply_outcome(
    record: &mut RunRecord,
    candidates: &[RecheckCandidate],
    finished: FinishedRun<SecondAnswer>,
) {
    let failure = finished.end.outcome.failure().unwrap_or_default();
    match finished.end.outcome {
        AgentOutcome::Answered(second) => apply_second_answer(record, candidates, second),
        AgentOutcome::OutOfBudget(refusal) => note_limit(record, refusal.limit),
        AgentOutcome::Cancelled => {
            record.notes.push("the review was cancelled in the second round".to_owned());
        }
        AgentOutcome::NoAnswer
        | AgentOutcome::BadAnswer(_)
        | AgentOutcome::Stuck
        | AgentOutcome::ContextFull
        | AgentOutcome::Model(_)
        | AgentOutcome::Aborted(_) => {
            // Validation may check the finding later. If it does not, the report says that the
            // check failed.
            let reason = format!("the second round failed: {failure}");
            let members = candidates.iter().filter_map(|one| record.members.get(one.index));
            record.checked.extend(members.map(|member| CheckedFinding {
                finding: member.finding.clone(),
                judgement: Judgement::new(JudgementResult::Failed, reason.clone()),
            }));
            record.notes.push(format!("{reason}; the first answer is used unchanged"));
        }
    }
}

/// Notes that the budget prevented the second round.
fn note_limit(record: &mut RunRecord, limit: LimitKind) {
    record.limited.get_or_insert(limit);
    record.notes.push(format!(
        "the budget for {limit} was too small to check doubtful findings again; the first answer is used unchanged"
    ));
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::super::sample::member;
    use super::*;
    use crh_review::finding::Severity::P1;

    #[test]
    fn text_is_truncated_at_line_ends_with_a_count() {
        let text = "aa\nbb\ncc\n";
        assert_eq!(truncate_lines(text, 100), text);
        let of_a_line = text_tokens("aa\n");
        assert_eq!(
            truncate_lines(text, of_a_line * 2),
            "aa\nbb\n[1 lines are left out: there is no room for them]\n"
        );
        assert_eq!(truncate_lines(text, 0), "[3 lines are left out: there is no room for them]\n");
        assert_eq!(truncate_lines("", 0), "");
    }

    #[test]
    fn finding_is_located_by_line_or_diff_line() {
        let diff = Diff::read(
            "diff --git a/a b/b\nrename from a\nrename to b\n--- a/a\n+++ b/b\n@@ -8,2 +8,2 @@\n x\n-y\n+z\n",
        );
        let mut finding = member("a", P1, 500).finding;
        let place = |finding: &Finding| {
            let FileLine { path, side, line } = locate(&diff, finding);
            (path, side, line)
        };
        assert_eq!(place(&finding), ("a.py".to_owned(), Side::New, 7));
        finding.side = Some(Side::Old);
        assert_eq!(place(&finding), ("a.py".to_owned(), Side::Old, 7));
        "b".clone_into(&mut finding.file);
        assert_eq!(place(&finding), ("a".to_owned(), Side::Old, 7), "as it was called");
        let mut at = |line: u32| {
            finding.diff_line = NonZeroU32::new(line);
            let (_, side, line) = place(&finding);
            (side, line)
        };
        assert_eq!((at(7), at(8), at(9)), ((Side::New, 8), (Side::Old, 9), (Side::New, 9)));
        assert_eq!((at(1), at(99)), ((Side::New, 1), (Side::New, 1)), "in no hunk");
    }
}
