//! Which pull requests are left alone by a program that nobody sits at: drafts, those of bots, and by labels.
//!
//! Whoever names one at a terminal wants it reviewed. To be left alone is not to be reviewed: it is said, and never green.

use super::super::forge::{Forge, Submission};
use crate::config::github::{Labels, Treatment};
use crate::config::keys::Settings;
use crate::failure::{Failure, Kind};
use crh_forge::github::PullState;

/// Whether the rules count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// A program asks, or the review is posted for others to read.
    Count,
    /// A person asks, or wants it reviewed in any case.
    DoNot,
}

/// Whom a review is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The person who asked for it.
    OnePerson,
    /// Others: it is made in CI, or posted.
    Others,
}

impl Rules {
    /// By the flag `--no-skip`.
    pub(crate) fn unless(no_skip: bool, audience: Audience) -> Self {
        match (no_skip, audience) {
            (false, Audience::Others) => Self::Count,
            (true, _) | (false, Audience::OnePerson) => Self::DoNot,
        }
    }
}

/// Refuses a pull request that the settings of its base leave alone.
pub(crate) fn wanted(
    rules: Rules,
    pull: Option<&Submission>,
    settings: &Settings,
) -> Result<(), Failure> {
    let Some(pull) = pull.filter(|_| rules == Rules::Count) else { return Ok(()) };
    let standing = match &pull.at {
        Forge::GitHub { standing, .. } => standing,
        // The settings are about pull requests.
        Forge::Launchpad { .. } => return Ok(()),
    };
    let treatments = Treatments {
        drafts: settings.github_drafts.value,
        bots: settings.github_bots.value,
        skip: &settings.github_skip_labels.value,
        only: &settings.github_only_labels.value,
    };
    match treatments.skipped(&standing.pull, &pull.proposal.labels) {
        None => Ok(()),
        Some(why) => {
            let why = crh_review::visible(&why);
            let message = anyhow::anyhow!("the pull request is not reviewed: {why}");
            Err(Failure::new(Kind::Skipped, message).hint("`--no-skip` reviews it all the same"))
        }
    }
}

/// What the settings say.
struct Treatments<'a> {
    drafts: Treatment,
    bots: Treatment,
    skip: &'a Labels,
    only: &'a Labels,
}

impl Treatments<'_> {
    /// Why a pull request is left alone; none if it is not.
    fn skipped(&self, pull: &PullState, labels: &[String]) -> Option<String> {
        if pull.draft && self.drafts == Treatment::Skip {
            return Some("it is a draft (`github.drafts`)".to_owned());
        }
        if pull.by_bot && self.bots == Treatment::Skip {
            let login = pull.author.as_ref().map_or("", |author| author.login.as_str());
            return Some(format!("it is by the bot `{login}` (`github.bots`)"));
        }
        if let Some(label) = self.skip.any_of(labels) {
            return Some(format!("it has the label `{label}` (`github.skip_labels`)"));
        }
        let names = self.only.names();
        if !names.is_empty() && self.only.any_of(labels).is_none() {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let names = names.join(", ");
            return Some(format!("it has none of the labels {names} (`github.only_labels`)"));
        }
        None
    }
}
