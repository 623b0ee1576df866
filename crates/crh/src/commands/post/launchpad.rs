//! `crh post --sink launchpad`: posts a stored run to the merge proposal in the flags, and to no
//! other.

use std::process::ExitCode;

use super::super::forge::posting::refusal_failure;
use super::super::forge::{ExpectedHead, Forge};
use super::super::launchpad;
use super::super::launchpad::LaunchpadSession;
use super::{StoredRun, check_head, post_run};
use crate::cli::PostArgs;
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::Failure;
use crh_forge::launchpad::MergeProposalRef;
use crh_forge::posting::PostingRefusal;
use crh_review::report::Report;

const HINT_WRONG_RUN: &str = "nothing was posted; name the run of this merge proposal";

pub(super) fn post_to_launchpad(
    args: &PostArgs,
    run: &StoredRun,
    environment: &Environment,
    settings: &Settings,
) -> Result<ExitCode, Failure> {
    launchpad::check_flags(args.post)?;
    let (url, head) = required_flags(args, "merge proposal")?;
    let proposal_ref = launchpad::parse_ref(url, settings)?;
    check_run_matches(&run.report, &proposal_ref, &head)?;
    let session = LaunchpadSession::open(&proposal_ref.service, environment, settings)?;
    if session.is_anonymous() {
        return Err(refusal_failure(&PostingRefusal::NotLoggedIn("Launchpad")));
    }
    let secrets: Vec<_> = session.secrets().to_vec();
    post_run(args, run, &Forge::Launchpad(proposal_ref), &secrets, None, environment, settings)
}

/// The flags `--proposal` and `--head`. `word` is what the forge calls a proposed change.
pub(super) fn required_flags<'a>(
    args: &'a PostArgs,
    word: &str,
) -> Result<(&'a str, ExpectedHead), Failure> {
    let missing_flag = |value_name: &str, flag: &str| {
        Failure::usage(format!("no {value_name} given")).hint(format!("use `{flag}`"))
    };
    let url = args.proposal.as_deref().ok_or_else(|| missing_flag(word, "--proposal URL"))?;
    let head = args.head.as_deref().ok_or_else(|| missing_flag("head commit", "--head SHA"))?;
    Ok((url, ExpectedHead::parse(head)?))
}

/// Fails if the run is for another proposal. Does not compare repositories: the address names the
/// source repository, the run the target repository.
fn check_run_matches(
    report: &Report,
    proposal_ref: &MergeProposalRef,
    head: &ExpectedHead,
) -> Result<(), Failure> {
    let (change, service) = (&report.change, &proposal_ref.service);
    let is_on_service =
        change.url.strip_prefix(service.code()).is_some_and(|path| path.starts_with('/'));
    if !change.url.is_empty() && !is_on_service {
        let message =
            format!("the run is for `{}`, which is not on `{}`", change.url, service.name());
        return Err(Failure::usage(crh_review::one_line(&message)).hint(HINT_WRONG_RUN));
    }
    if change.pr_number != proposal_ref.number.to_string() {
        let number = proposal_ref.number;
        let message = match change.pr_number.as_str() {
            "" => format!("this run did not review a merge proposal, so it cannot go to {number}"),
            reviewed => {
                let reviewed = crh_review::one_line(reviewed);
                format!("the run is for the merge proposal {reviewed}, not for {number}")
            }
        };
        return Err(Failure::usage(message).hint(HINT_WRONG_RUN));
    }
    check_head(report, head)
}
