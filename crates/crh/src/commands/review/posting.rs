//! Posts a finished review to its pull request or merge proposal.

use super::super::forge::posting::{HeadFiles, PostRequest, PostResult};
use super::super::forge::{ForgeProposal, posting_messages};
use super::session::ReviewSession;
use crate::cli::PostFlags;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::ui;
use crh_forge::posting::{ForgeRequest, PostingOutcome};
use crh_pipeline::sinks::{ForgeSink, SinkDelivery};
use crh_review::report::Report;

/// File in the run folder with the result of posting to a sink.
fn stored_at(place: ForgeSink) -> String {
    format!("stages/posted-{}.json", place.name())
}

/// Posts the review, or adds the requests to `shown` for a dry run. Warns about parts that failed.
pub(super) fn of_review(
    report: &Report,
    session: &ReviewSession,
    place: ForgeSink,
    flags: PostFlags,
    environment: &Environment,
    shown: &mut Vec<ForgeRequest>,
) -> Result<SinkDelivery, Failure> {
    let pull = session.pull.as_ref().filter(|pull| pull.forge.name() == place.forge);
    let Some(ForgeProposal { forge, .. }) = pull else {
        let word = place.forge.word();
        return Ok(SinkDelivery::Failed(format!("the change has no {word}")));
    };
    let request = PostRequest {
        report,
        diff: &session.subject.diff,
        files: HeadFiles::open(session.files.as_ref()),
        redactor: &session.redactor,
        instance: session.settings.instance.value.as_str(),
        basis: &session.basis,
        since: session.subject.incremental.as_deref(),
        kind: place.kind,
        flags,
    };
    let post_args = forge.post_arguments(&report.change.head_sha);
    let result = forge.post(&request, environment, &session.settings);
    match result.inspect_err(|_| print_post_command(session, &post_args))? {
        PostResult::DryRun(requests) => {
            shown.extend(requests);
            Ok(SinkDelivery::DryRun)
        }
        PostResult::Done(outcome) => {
            Ok(store_result(&outcome, place, &forge.url(), session, &post_args))
        }
    }
}

/// Stores and prints the result of a posting.
fn store_result(
    outcome: &PostingOutcome,
    place: ForgeSink,
    url: &str,
    session: &ReviewSession,
    post_args: &str,
) -> SinkDelivery {
    if let Some(folder) = session.place.folder()
        && let Err(problem) = folder.store(&stored_at(place), outcome)
    {
        ui::warn(&problem.to_string());
    }
    for note in &outcome.notes {
        ui::note(note);
    }
    if let Some(message) = posting_messages::success_message(outcome, url) {
        ui::note(&message);
    }
    match (&outcome.refusal, outcome.is_complete()) {
        (Some(refusal), _) => SinkDelivery::Failed(refusal.to_string()),
        (None, true) => SinkDelivery::Written,
        (None, false) => {
            print_post_command(session, post_args);
            SinkDelivery::Failed(posting_messages::failure_message(outcome))
        }
    }
}

/// Prints the command that posts the stored review.
fn print_post_command(session: &ReviewSession, post_args: &str) {
    if let Some(folder) = session.place.folder() {
        let run = ui::shell_path(folder.path());
        ui::note(&format!("run `crh post {run} {post_args}` to post it without another review"));
    }
}
