//! Asks a model for the outcomes of issues, within a budget. Used only if the user names a model.

use std::time::Duration;

use super::model_client::ModelClient;
use super::models;
use super::models::ModelResolver;
use crate::cli::OutcomeJudgeArgs;
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::Failure;
use crate::ui;
use crh_agent::{AgentRun, Budget, NoTools, Transcript};
use crh_llm::{Model, Money};
use crh_memory::outcome::{CodeOnly, IssueHistory, JudgedOutcome, OutcomeJudge};
use crh_pipeline::outcome_judge;

/// Maximum model calls of one command.
const CALLS_MAX: u32 = 300;

/// A model that decides outcomes that crh can only guess from the code.
struct ModelJudge {
    client: ModelClient,
    model: Model,
    money: Money,
}

impl OutcomeJudge for ModelJudge {
    fn judge(&self, history: &IssueHistory) -> Option<JudgedOutcome> {
        let task = outcome_judge::task(history, self.model.effort())?;
        let limits = outcome_judge::limits(self.money);
        let run = AgentRun::new(task, limits, self.model.facts());
        let answer = self.client.drive(run).end.outcome.into_answer();
        let warn = |why: &String| {
            let why = crh_review::one_line(why);
            ui::warn(&format!(
                "the model of `--judge` did not answer, so crh's rules decide: {why}"
            ));
        };
        answer.inspect_err(warn).ok()
    }
}

/// Calls `run` with the judge that the user named. Without one, crh decides from the code alone.
pub(super) fn with_judge<T>(
    args: &OutcomeJudgeArgs,
    settings: &Settings,
    environment: &Environment,
    run: impl FnOnce(&dyn OutcomeJudge) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let Some(name) = &args.judge else { return run(&CodeOnly) };
    // Do not quote the command line: the address may contain a password.
    let name = name.parse().map_err(|error: crh_llm::ModelNameError| {
        Failure::usage(format!("`--judge`: {error}"))
            .hint("`crh model list` shows providers and models")
    })?;
    let model = ModelResolver::new(settings, environment)?.open(&name, None)?;
    let budget = Budget {
        llm_calls: CALLS_MAX,
        tool_calls: 0,
        input_tokens: u64::MAX,
        wall: Duration::MAX,
        money: args.judge_cost,
    };
    let client = ModelClient::open(model.clone(), budget, NoTools, Transcript::disabled())?;
    let judge = ModelJudge { client, model: model.clone(), money: args.judge_cost };
    let result = run(&judge);
    judge.client.print_usage();
    models::warn_if_recording_failed(&model);
    result
}
