//! A review that has just ended goes to its pull request.

use crh_forge::github::post::Request;
use crh_pipeline::sinks::Delivery;
use crh_pipeline::sinks::PostAs;
use crh_pipeline::sinks::Sink;
use crh_review::report::Report;

use super::super::forge::Forge;
use super::super::github;
use super::super::github::Files;
use super::super::github::Hub;
use super::super::github::Posted;
use super::super::github::ToPost;
use super::begin::Begun;
use crate::cli::PostFlags;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::ui;

/// Where what became of each part is stored.
fn stored_at(form: PostAs) -> String {
    format!("stages/posted-{}.json", Sink::GitHub(form))
}

/// Posts it, or adds what would be written to `shown`. What went wrong with a part of it is said here.
pub(super) fn of_review(
    report: &Report,
    begun: &Begun,
    form: PostAs,
    flags: PostFlags,
    environment: &Environment,
    shown: &mut Vec<Request>,
) -> Result<Delivery, Failure> {
    let name = match begun.pull.as_ref().map(|pull| &pull.at) {
        Some(Forge::GitHub { name, .. }) => name,
        Some(Forge::Launchpad { .. }) | None => {
            return Ok(Delivery::Failed("the change is in no pull request".to_owned()));
        }
    };
    let hub = Hub::open(&name.host, &name.repo, environment, &begun.settings)?;
    let to_post = ToPost {
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
    let posted = github::posted(&hub, name, &to_post).inspect_err(|_| say_later(begun));
    let outcome = match posted? {
        Posted::Shown(requests) => {
            shown.extend(requests);
            return Ok(Delivery::Shown);
        }
        Posted::Done(outcome) => outcome,
    };
    if let Some(folder) = begun.place.folder()
        && let Err(problem) = folder.store(&stored_at(form), &outcome)
    {
        ui::warn(&problem.to_string());
    }
    for note in &outcome.notes {
        ui::note(note);
    }
    if let Some(said) = github::said(&outcome, name) {
        ui::note(&said);
    }
    Ok(match (&outcome.refusal, outcome.is_complete()) {
        (Some(refusal), _) => Delivery::Failed(refusal.to_string()),
        (None, true) => Delivery::Written,
        (None, false) => {
            say_later(begun);
            Delivery::Failed(github::failures(&outcome))
        }
    })
}

/// Says how what was not posted can be posted all the same, without another review.
fn say_later(begun: &Begun) {
    if let Some(folder) = begun.place.folder() {
        let run = folder.path().display();
        ui::note(&format!(
            "`crh post {run} --repo OWNER/NAME --pr N --head SHA` posts it without another review, and nothing twice"
        ));
    }
}
