//! Changes that are proposed at a forge: which one is meant, what it says, and where its commits are.

#[path = "expected_head.rs"]
mod head;
#[path = "own_comments.rs"]
pub(super) mod own;
#[path = "posting_messages.rs"]
pub(crate) mod posted;

pub(crate) use head::Head;
use secrecy::SecretString;

use super::{github, launchpad};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::Failure;
use crate::{config, ui};
use crh_forge::Proposal;
use crh_forge::github::post::dismissals;
use crh_git::Place;
use crh_pipeline::asked::Target;
use crh_pipeline::dismissed::SaidNo;
use crh_pipeline::target::{Origins, UnderReview};
use crh_review::About;

/// A change that is proposed at a forge, as it was read.
pub(crate) struct Submission {
    pub(crate) proposal: Proposal,
    /// Where its commits are fetched from.
    pub(crate) origins: Origins,
    /// The repository that it is proposed to.
    pub(crate) place: Place,
    /// Whether the folder that the user is in is a clone of that repository, or of the one that it comes from.
    pub(crate) has_clone: bool,
    pub(crate) under_review: UnderReview,
    /// What must not be printed or stored and is in no variable.
    pub(crate) secrets: Vec<SecretString>,
    /// Where, and what is known of it there alone.
    pub(crate) at: Forge,
}

/// Where a change is proposed, and what stands there, as posting decides by it.
pub(crate) enum Forge {
    GitHub { name: crh_forge::github::Name, standing: Box<crh_forge::github::Standing> },
    Launchpad { name: crh_forge::launchpad::Name, standing: Box<crh_forge::launchpad::Standing> },
}

/// Whether the pull request of the current branch is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookedFor {
    /// If there is a token.
    Yes,
    /// The user does not want it.
    No,
}

impl LookedFor {
    /// By the flag `--no-pr`.
    pub(crate) fn unless(no_pr: bool) -> Self {
        if no_pr { Self::No } else { Self::Yes }
    }
}

impl Submission {
    /// What its forge calls it, for people.
    pub(crate) fn word(&self) -> &'static str {
        self.proposal.kind.word()
    }

    /// Whether it comes from a repository that others write to than the one that it is proposed to, and than the user.
    pub(crate) fn is_foreign(&self) -> bool {
        let Some(source) = &self.proposal.source.repo else { return true };
        let owner = source.split('/').next().unwrap_or_default();
        let is_users = match &self.at {
            Forge::GitHub { standing, .. } => owner.eq_ignore_ascii_case(&standing.viewer.login),
            Forge::Launchpad { standing, .. } => {
                standing.viewer.as_deref().is_some_and(|viewer| owner == format!("~{viewer}"))
            }
        };
        !source.eq_ignore_ascii_case(&self.proposal.repo) && !is_users
    }

    /// The issues that somebody said no to who decides about the repository, and who that was. They are not raised again.
    pub(crate) fn dismissed(&self, instance: &str) -> Vec<SaidNo> {
        let standing = match &self.at {
            Forge::GitHub { standing, .. } => standing,
            // Nobody can say no there in a way that a program understands.
            Forge::Launchpad { .. } => return Vec::new(),
        };
        let all = dismissals(standing, instance).into_iter();
        let said_no = all.filter(|dismissal| dismissal.decides).map(|dismissal| SaidNo {
            reason: format!("`{}` said no to it at {}", dismissal.by, dismissal.url),
            about: dismissal.rewritten.then(|| About {
                dedupe_key: dismissal.key.clone(),
                file: dismissal.file,
                side: dismissal.side,
                title: dismissal.title,
            }),
            dedupe_key: dismissal.key,
        });
        said_no.collect()
    }
}

impl Forge {
    /// What to do about commits that are not given out to whoever asks.
    pub(crate) fn to_fetch(&self) -> &'static str {
        match self {
            Self::GitHub { .. } => {
                "the token needs `Contents: read` on the repository; `crh doctor` shows which one is used"
            }
            Self::Launchpad { .. } => launchpad::TO_FETCH,
        }
    }
}

/// What is proposed at a forge and a target is: what was named, or the open pull request of the current branch. Not to find the
/// latter is no failure.
pub(crate) fn of_target(
    target: &Target,
    looked_for: LookedFor,
    environment: &Environment,
    flags: &RawSettings,
) -> Result<Option<Submission>, Failure> {
    match (target, looked_for) {
        (Target::PullRequest(word), _) => {
            let settings = config::load(environment, None, flags.clone())?;
            match launchpad::is_meant(word, &settings) {
                true => launchpad::named_by(word, environment, &settings).map(Some),
                false => github::named_by(word, environment, &settings).map(Some),
            }
        }
        (Target::CurrentBranch, LookedFor::Yes) => {
            let settings = config::load(environment, None, flags.clone())?;
            match github::of_current_branch(environment, &settings) {
                Ok(found) => Ok(found),
                Err(failure) => {
                    left_out(&failure.error);
                    Ok(None)
                }
            }
        }
        (
            Target::CurrentBranch
            | Target::Against(_)
            | Target::Uncommitted
            | Target::Staged
            | Target::Commit(_)
            | Target::Range(_)
            | Target::Named(_)
            | Target::Diff(_),
            _,
        ) => Ok(None),
    }
}

/// Says why the pull request of the current branch, which nobody named, is not looked at.
pub(super) fn left_out(why: &anyhow::Error) {
    let why = ui::on_one_line(&format!("{why:#}"));
    ui::note(&format!(
        "the pull request of this branch is not part of the review: {why} (`--no-pr` does not look for it)"
    ));
}

/// The repository and the number of what is proposed at an address; none if nothing can be. At Launchpad the address names the
/// repository that it comes from.
pub(crate) fn named(url: &str, settings: &Settings) -> Option<(String, String)> {
    launchpad::named(url, settings).or_else(|| github::named(url))
}
