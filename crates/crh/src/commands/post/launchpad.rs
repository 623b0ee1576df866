//! `crh post --sink launchpad`: the review of a stored run goes to the merge proposal that is named here, and to no other.

use std::process::ExitCode;

use super::super::forge::posted::Shown;
use super::super::forge::{Head, posted};
use super::super::launchpad;
use super::super::launchpad::{Hub, Posted, ToPost};
use super::super::models::Models;
use super::{Run, head_is_meant, told};
use crate::cli::PostArgs;
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::Failure;
use crate::ui;
use crh_forge::launchpad::Name;
use crh_forge::launchpad::post::Refusal;
use crh_review::report::Report;

/// What to do about a run that is about something else.
const OTHER_RUN: &str = "nothing was posted; name the run of this merge proposal";

/// Posts a report to the merge proposal that the flags name.
pub(super) fn posted_to(
    args: &PostArgs,
    run: &Run,
    environment: &Environment,
    settings: &Settings,
) -> Result<ExitCode, Failure> {
    launchpad::fits(args.post)?;
    let (name, head) = wanted(args, settings)?;
    let Run { report, diff, .. } = run;
    is_meant(report, &name, &head)?;
    let hub = Hub::open(&name.service, environment, settings)?;
    if hub.is_nobody() {
        return Err(launchpad::refused(&Refusal::Nobody));
    }
    let secrets: Vec<_> = hub.secrets().to_vec();
    let redactor = Models::new(settings, environment)?.redactor_with(&secrets);
    let instance = settings.instance.value.as_str();
    let to_post = ToPost { report, diff, redactor: &redactor, instance, flags: args.post };
    match launchpad::posted(&hub, &name, &to_post)? {
        Posted::Shown(write) => {
            let writes: Vec<Shown> = write.map(Shown::Launchpad).into_iter().collect();
            posted::show(&writes).map(|()| ExitCode::SUCCESS)
        }
        Posted::Done(outcome) => match &outcome.refusal {
            Some(refusal) => Err(launchpad::refused(refusal)),
            None => told(&outcome),
        },
    }
}

/// Where it goes, by the flags alone.
fn wanted(args: &PostArgs, settings: &Settings) -> Result<(Name, Head), Failure> {
    let open = |what: &str, flag: &str| {
        Failure::usage(format!("nothing says which {what} is meant")).hint(format!("give `{flag}`"))
    };
    let url = args.proposal.as_deref().ok_or_else(|| open("merge proposal", "--proposal URL"))?;
    let head = args.head.as_deref().ok_or_else(|| open("commit", "--head SHA"))?;
    Ok((launchpad::name(url, settings)?, Head::parse(head)?))
}

/// Refuses a run that is about something else than what is posted to. Which repository it is proposed to, Launchpad says.
fn is_meant(report: &Report, name: &Name, head: &Head) -> Result<(), Failure> {
    let (change, service) = (&report.change, &name.service);
    let is_here = change.url.strip_prefix(service.code()).is_some_and(|path| path.starts_with('/'));
    if !change.url.is_empty() && !is_here {
        let message = format!("the run is about `{}`, and not at `{}`", change.url, service.name());
        return Err(Failure::usage(ui::on_one_line(&message)).hint(OTHER_RUN));
    }
    if change.pr_number != name.number.to_string() {
        let claimed = match change.pr_number.as_str() {
            "" => "no merge proposal".to_owned(),
            number => format!("the merge proposal {}", ui::on_one_line(number)),
        };
        let message = format!("the run is about {claimed}, and not about {}", name.number);
        return Err(Failure::usage(message).hint(OTHER_RUN));
    }
    head_is_meant(report, head)
}
