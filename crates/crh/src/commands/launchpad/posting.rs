//! Posts a review to a merge proposal, or shows what would be written; the same for a review that has just ended and for a stored
//! run.

use super::super::forge::posted;
use super::{Hub, credentials};
use crate::cli::PostFlags;
use crate::failure::{Failure, Kind};
use crh_forge::launchpad::Name;
use crh_forge::launchpad::post::{Outcome, Posting, Refusal, Terms, Write};
use crh_llm::Redactor;
use crh_review::diff::Diff;
use crh_review::report::Report;

/// A review that is to be posted.
pub(crate) struct ToPost<'a> {
    pub(crate) report: &'a Report,
    /// The diff that was reviewed.
    pub(crate) diff: &'a Diff,
    pub(crate) redactor: &'a Redactor,
    pub(crate) instance: &'a str,
    pub(crate) flags: PostFlags,
}

/// What became of a posting.
pub(crate) enum Posted {
    /// Nothing: this would be written, if anything is missing.
    Shown(Option<Write>),
    /// This.
    Done(Outcome),
}

/// Posts a review, or says what would be written.
pub(crate) fn posted(hub: &Hub, name: &Name, to_post: &ToPost<'_>) -> Result<Posted, Failure> {
    let ToPost { report, diff, redactor, instance, flags } = to_post;
    let mask = |text: &str| redactor.redact(text).into_owned();
    let terms = Terms { approve: flags.allow_approve };
    let posting = Posting { report, diff, mask: &mask, instance, terms };
    if !flags.dry_run {
        return hub.post(name, &posting).map(Posted::Done);
    }
    let plan = hub.planned(name, &posting)?;
    Ok(match plan.refusal {
        Some(refusal) => Posted::Done(Outcome { refusal: Some(refusal), ..Outcome::default() }),
        None => Posted::Shown(plan.write),
    })
}

/// Refuses flags that say what only GitHub has.
pub(crate) fn fits(flags: PostFlags) -> Result<(), Failure> {
    let given = [
        ("--request-changes", flags.request_changes, "the vote follows from the verdict"),
        ("--resolve-outdated", flags.resolve_outdated, "comments on lines stay there"),
    ];
    match given.iter().find(|(_, is_given, _)| *is_given) {
        Some((flag, _, why)) => Err(Failure::usage(format!("`{flag}` is for GitHub"))
            .hint(format!("leave it out: at Launchpad, {why}"))),
        None => Ok(()),
    }
}

/// Whose fault it is that nothing was posted at all, and what to do about it.
pub(crate) fn refused(refusal: &Refusal) -> Failure {
    let (kind, hint) = match refusal {
        Refusal::HeadMoved { .. } => {
            (Kind::Outside, "nothing was posted; review the new head, and post that")
        }
        Refusal::OtherProposal { .. } => (Kind::Usage, "nothing was posted; name the right run"),
        Refusal::Over { .. } => (Kind::Outside, "nothing was posted"),
        Refusal::NotAllRead { .. } => {
            (Kind::Outside, "nothing was posted, since it might stand there already")
        }
        Refusal::Drafts { .. } => {
            (Kind::Outside, "nothing was posted; save or discard them on the page of the proposal")
        }
        Refusal::Hidden => (Kind::Usage, posted::HIDDEN_FORM),
        Refusal::Nobody => (Kind::Usage, credentials::TO_LOG_IN),
    };
    Failure::new(kind, anyhow::anyhow!("{refusal}")).hint(hint)
}
