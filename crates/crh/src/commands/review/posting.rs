//! A review that has just ended goes to where its change is proposed.

use serde::Serialize;

use super::super::forge::posted::Shown;
use super::super::forge::{Forge, posted};
use super::super::github::Files;
use super::super::{github, launchpad};
use super::begin::Begun;
use crate::cli::PostFlags;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::ui;
use crh_forge::posted::Outcome;
use crh_pipeline::sinks::{Delivery, PostAs, PostTo};
use crh_review::report::Report;

/// Where what became of each part is stored.
fn stored_at(place: PostTo) -> String {
    format!("stages/posted-{}.json", place.word())
}

/// Posts it, or adds what would be written to `shown`. What went wrong with a part of it is said here.
pub(super) fn of_review(
    report: &Report,
    begun: &Begun,
    place: PostTo,
    flags: PostFlags,
    environment: &Environment,
    shown: &mut Vec<Shown>,
) -> Result<Delivery, Failure> {
    match (place, begun.pull.as_ref().map(|pull| &pull.at)) {
        (PostTo::GitHub(form), Some(Forge::GitHub { name, .. })) => {
            to_pull(report, begun, (name, form), flags, environment, shown)
        }
        (PostTo::Launchpad, Some(Forge::Launchpad { name, .. })) => {
            to_merge_proposal(report, begun, name, flags, environment, shown)
        }
        (PostTo::GitHub(_), Some(Forge::Launchpad { .. }) | None) => {
            Ok(Delivery::Failed("the change is in no pull request".to_owned()))
        }
        (PostTo::Launchpad, Some(Forge::GitHub { .. }) | None) => {
            Ok(Delivery::Failed("the change is in no merge proposal".to_owned()))
        }
    }
}

fn to_pull(
    report: &Report,
    begun: &Begun,
    (name, form): (&crh_forge::github::Name, PostAs),
    flags: PostFlags,
    environment: &Environment,
    shown: &mut Vec<Shown>,
) -> Result<Delivery, Failure> {
    let hub = github::Hub::open(&name.host, &name.repo, environment, &begun.settings)?;
    let to_post = github::ToPost {
        report,
        diff: &begun.subject.diff,
        files: Files::of(begun.files.as_ref()),
        redactor: &begun.redactor,
        instance: begun.settings.instance.value.as_str(),
        basis: &begun.basis,
        since: begun.subject.since.as_deref(),
        form,
        flags,
    };
    let place = "--repo OWNER/NAME --pr N --head SHA";
    match github::posted(&hub, name, &to_post).inspect_err(|_| say_later(begun, place))? {
        github::Posted::Shown(requests) => {
            shown.extend(requests.into_iter().map(Shown::GitHub));
            Ok(Delivery::Shown)
        }
        github::Posted::Done(outcome) => {
            Ok(told(&outcome, PostTo::GitHub(form), &name.url(), begun, place))
        }
    }
}

fn to_merge_proposal(
    report: &Report,
    begun: &Begun,
    name: &crh_forge::launchpad::Name,
    flags: PostFlags,
    environment: &Environment,
    shown: &mut Vec<Shown>,
) -> Result<Delivery, Failure> {
    let hub = launchpad::Hub::open(&name.service, environment, &begun.settings)?;
    let to_post = launchpad::ToPost {
        report,
        diff: &begun.subject.diff,
        redactor: &begun.redactor,
        instance: begun.settings.instance.value.as_str(),
        flags,
    };
    let head = &report.change.head_sha;
    let place = format!("--sink launchpad --proposal {} --head {head}", name.url());
    match launchpad::posted(&hub, name, &to_post).inspect_err(|_| say_later(begun, &place))? {
        launchpad::Posted::Shown(write) => {
            shown.extend(write.map(Shown::Launchpad));
            Ok(Delivery::Shown)
        }
        launchpad::Posted::Done(outcome) => {
            Ok(told(&outcome, PostTo::Launchpad, &name.url(), begun, &place))
        }
    }
}

/// Stores what became of a posting, and says it.
fn told<Refusal: Serialize + ToString>(
    outcome: &Outcome<Refusal>,
    place: PostTo,
    url: &str,
    begun: &Begun,
    later: &str,
) -> Delivery {
    if let Some(folder) = begun.place.folder()
        && let Err(problem) = folder.store(&stored_at(place), outcome)
    {
        ui::warn(&problem.to_string());
    }
    for note in &outcome.notes {
        ui::note(note);
    }
    if let Some(said) = posted::said(outcome, url) {
        ui::note(&said);
    }
    match (&outcome.refusal, outcome.is_complete()) {
        (Some(refusal), _) => Delivery::Failed(refusal.to_string()),
        (None, true) => Delivery::Written,
        (None, false) => {
            say_later(begun, later);
            Delivery::Failed(posted::failures(outcome))
        }
    }
}

/// Says how what was not posted can be posted all the same, without another review.
fn say_later(begun: &Begun, place: &str) {
    if let Some(folder) = begun.place.folder() {
        let run = folder.path().display();
        ui::note(&format!(
            "`crh post {run} {place}` posts it without another review, and nothing twice"
        ));
    }
}
