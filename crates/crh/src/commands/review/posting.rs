//! Posts a finished review to its pull request or merge proposal.

use super::super::forge::posting::{HeadFiles, PostRequest, PostResult};
use super::super::forge::{Forge, ForgeProposal, posting_messages};
use super::begin::Begun;
use crate::cli::PostFlags;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::ui;
use crh_forge::posting::{ForgeRequest, PostingOutcome};
use crh_pipeline::sinks::{ForgeSink, SinkDelivery};
use crh_review::report::Report;

/// File with the result of each part.
fn stored_at(place: ForgeSink) -> String {
    format!("stages/posted-{}.json", place.name())
}

/// Posts the review, or adds the requests to `shown` for a dry run. Warns about parts that failed.
pub(super) fn of_review(
    report: &Report,
    begun: &Begun,
    place: ForgeSink,
    flags: PostFlags,
    environment: &Environment,
    shown: &mut Vec<ForgeRequest>,
) -> Result<SinkDelivery, Failure> {
    let pull = begun.pull.as_ref().filter(|pull| pull.forge.name() == place.forge);
    let Some(ForgeProposal { forge, .. }) = pull else {
        let word = Forge::word(place.forge);
        return Ok(SinkDelivery::Failed(format!("the change has no {word}")));
    };
    let request = PostRequest {
        report,
        diff: &begun.subject.diff,
        files: HeadFiles::open(begun.files.as_ref()),
        redactor: &begun.redactor,
        instance: begun.settings.instance.value.as_str(),
        basis: &begun.basis,
        since: begun.subject.incremental.as_deref(),
        kind: place.kind,
        flags,
    };
    let later = forge.post_arguments(&report.change.head_sha);
    let result = forge.post(&request, environment, &begun.settings);
    match result.inspect_err(|_| say_later(begun, &later))? {
        PostResult::DryRun(requests) => {
            shown.extend(requests);
            Ok(SinkDelivery::DryRun)
        }
        PostResult::Done(outcome) => Ok(told(&outcome, place, &forge.url(), begun, &later)),
    }
}

/// Stores and prints the result of a posting.
fn told(
    outcome: &PostingOutcome,
    place: ForgeSink,
    url: &str,
    begun: &Begun,
    later: &str,
) -> SinkDelivery {
    if let Some(folder) = begun.place.folder()
        && let Err(problem) = folder.store(&stored_at(place), outcome)
    {
        ui::warn(&problem.to_string());
    }
    for note in &outcome.notes {
        ui::note(note);
    }
    if let Some(said) = posting_messages::success_message(outcome, url) {
        ui::note(&said);
    }
    match (&outcome.refusal, outcome.is_complete()) {
        (Some(refusal), _) => SinkDelivery::Failed(refusal.to_string()),
        (None, true) => SinkDelivery::Written,
        (None, false) => {
            say_later(begun, later);
            SinkDelivery::Failed(posting_messages::failure_message(outcome))
        }
    }
}

/// Says how to post the stored review later.
fn say_later(begun: &Begun, place: &str) {
    if let Some(folder) = begun.place.folder() {
        let run = folder.path().display();
        ui::note(&format!("run `crh post {run} {place}` to post it without another review"));
    }
}
