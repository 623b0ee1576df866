//! `crh serve-answer`: answers a person's reply to an issue. Reads the change from an archive.
//! `crh serve` runs this command with model keys but without a token of the forge, and posts the
//! printed answer.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use serde::Serialize;

use super::session::{NO_MODEL, ReviewRequest, ReviewSession};
use crate::cli::AnswerArgs;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{input, ui};
use crh_agent::{Ledger, TranscriptDetail, UsageTotals};
use crh_pipeline::answer::{ReplyAnswer, answer_reply};
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::prompts::Prompts;
use crh_pipeline::review_context::ReviewContext;
use crh_pipeline::review_options::ModelSet;
use crh_pipeline::static_findings::StaticFindings;
use crh_review::report::Issue;
use crh_review::stable_json;

/// What `crh serve-answer` prints.
#[derive(Debug, Serialize)]
struct PrintedAnswer {
    /// `None` if the model gave no answer.
    answer: Option<ReplyAnswer>,
    /// Why there is no answer.
    failure: Option<String>,
    /// Cost, also without an answer.
    cost_usd: f64,
}

pub(in crate::commands) fn run(args: AnswerArgs, environment: &Environment) -> Result<(), Failure> {
    let issue: Issue = input::json(&environment.folder.join(&args.issue), "an issue")?;
    let reply = input::bytes(&environment.folder.join(&args.reply))?;
    let reply = String::from_utf8_lossy(&reply).into_owned();
    let mut flags = RawSettings::default();
    args.budget.set(&mut flags);
    let session = ReviewRequest::from_archive(args.packed, flags).begin(environment)?;
    let Some(model_set) = &session.model_set else {
        let error =
            anyhow::anyhow!("no model can answer: none is configured, or the strategy is `static`");
        return Err(Failure::new(FailureKind::Skipped, error).hint(NO_MODEL));
    };
    let (answer, spent) = ask(&session, model_set, &issue, &reply)?;
    let (answer, failure) = match answer {
        Ok(answer) => (Some(answer), None),
        Err(why) => (None, Some(why)),
    };
    let printed = PrintedAnswer { answer, failure, cost_usd: spent.money.as_dollars() };
    let text = stable_json(&printed).or_fail(FailureKind::Bug)?;
    // The answer may repeat a key.
    ui::result_text(&session.redactor.redact(&text))
}

fn ask(
    session: &ReviewSession,
    model_set: &ModelSet,
    issue: &Issue,
    reply: &str,
) -> Result<(Result<ReplyAnswer, String>, UsageTotals), Failure> {
    let (redactor, detail) = (session.redactor.clone(), TranscriptDetail::LengthsOnly);
    let journal = ReviewJournal::open(None, redactor, detail, Vec::new(), |_| {});
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(FailureKind::External)?;
    let result = runtime.block_on(async {
        let options = Arc::new(session.terms.clone());
        let context = ReviewContext {
            change: Arc::new(session.subject.clone()),
            prompts: Arc::new(Prompts::new(&session.subject, &options, model_set.min_context())),
            models: model_set.clone(),
            ledger: Ledger::open(options.budget.ledger_budget()),
            options,
            static_findings: StaticFindings::new(),
            journal,
            retry_seed: RandomState::new().hash_one(()),
        };
        let answer = answer_reply(&context, issue, reply).await;
        (answer, context.ledger.spent())
    });
    runtime.shutdown_background();
    Ok(result)
}
