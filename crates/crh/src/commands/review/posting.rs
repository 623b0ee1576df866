//! Posts a finished review to its pull request or merge proposal.

use serde::Serialize;

use super::super::forge::posting_messages::DryRunWrite;
use super::super::forge::{Forge, posting_messages};
use super::super::github::HeadFiles;
use super::super::{github, launchpad};
use super::begin::Begun;
use crate::cli::PostFlags;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::ui;
use crh_forge::posting::PostingOutcome;
use crh_pipeline::sinks::{ForgeSink, GitHubPostKind, SinkDelivery};
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
    shown: &mut Vec<DryRunWrite>,
) -> Result<SinkDelivery, Failure> {
    match (place, begun.pull.as_ref().map(|pull| &pull.forge)) {
        (ForgeSink::GitHub(form), Some(Forge::GitHub { pull_ref, .. })) => {
            to_pull(report, begun, (pull_ref, form), flags, environment, shown)
        }
        (ForgeSink::Launchpad, Some(Forge::Launchpad { proposal_ref, .. })) => {
            to_merge_proposal(report, begun, proposal_ref, flags, environment, shown)
        }
        (ForgeSink::GitHub(_), Some(Forge::Launchpad { .. }) | None) => {
            Ok(SinkDelivery::Failed("the change has no pull request".to_owned()))
        }
        (ForgeSink::Launchpad, Some(Forge::GitHub { .. }) | None) => {
            Ok(SinkDelivery::Failed("the change has no merge proposal".to_owned()))
        }
    }
}

fn to_pull(
    report: &Report,
    begun: &Begun,
    (name, form): (&crh_forge::github::PullRequestRef, GitHubPostKind),
    flags: PostFlags,
    environment: &Environment,
    shown: &mut Vec<DryRunWrite>,
) -> Result<SinkDelivery, Failure> {
    let hub = github::GitHubSession::open(&name.host, &name.repo, environment, &begun.settings)?;
    let to_post = github::GitHubPostRequest {
        report,
        diff: &begun.subject.diff,
        files: HeadFiles::open(begun.files.as_ref()),
        redactor: &begun.redactor,
        instance: begun.settings.instance.value.as_str(),
        basis: &begun.basis,
        since: begun.subject.incremental.as_deref(),
        kind: form,
        flags,
    };
    let place = "--repo OWNER/NAME --pr N --head SHA";
    match github::post(&hub, name, &to_post).inspect_err(|_| say_later(begun, place))? {
        github::GitHubPostResult::DryRun(requests) => {
            shown.extend(requests.into_iter().map(DryRunWrite::GitHub));
            Ok(SinkDelivery::DryRun)
        }
        github::GitHubPostResult::Done(outcome) => {
            Ok(told(&outcome, ForgeSink::GitHub(form), &name.url(), begun, place))
        }
    }
}

fn to_merge_proposal(
    report: &Report,
    begun: &Begun,
    name: &crh_forge::launchpad::MergeProposalRef,
    flags: PostFlags,
    environment: &Environment,
    shown: &mut Vec<DryRunWrite>,
) -> Result<SinkDelivery, Failure> {
    let hub = launchpad::LaunchpadSession::open(&name.service, environment, &begun.settings)?;
    let to_post = launchpad::LaunchpadPostRequest {
        report,
        diff: &begun.subject.diff,
        redactor: &begun.redactor,
        instance: begun.settings.instance.value.as_str(),
        flags,
    };
    let head = &report.change.head_sha;
    let place = format!("--sink launchpad --proposal {} --head {head}", name.url());
    match launchpad::post(&hub, name, &to_post).inspect_err(|_| say_later(begun, &place))? {
        launchpad::LaunchpadPostResult::DryRun(write) => {
            shown.extend(write.map(DryRunWrite::Launchpad));
            Ok(SinkDelivery::DryRun)
        }
        launchpad::LaunchpadPostResult::Done(outcome) => {
            Ok(told(&outcome, ForgeSink::Launchpad, &name.url(), begun, &place))
        }
    }
}

/// Stores and prints the result of a posting.
fn told<Refusal: Serialize + ToString>(
    outcome: &PostingOutcome<Refusal>,
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
