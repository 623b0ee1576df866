//! Rules to skip pull requests in CI: drafts, bots, labels.
//!
//! At a terminal the user chose the pull request, so the rules do not apply. If crh skips a pull
//! request, the command fails with the exit code of [`FailureKind::Skipped`].

use super::super::forge::{Forge, ForgeProposal};
use crate::config::github::{LabelList, Treatment};
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind};
use crh_forge::posting::ProposalProperties;

/// Whether the rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SkipRules {
    /// crh runs in CI or posts the review.
    Apply,
    /// crh runs at a terminal, or with `--no-skip`.
    Ignore,
}

/// Who reads the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The user who runs crh.
    OnePerson,
    /// Others: crh runs in CI or posts the review.
    Others,
}

impl SkipRules {
    /// From the flag `--no-skip`.
    pub(crate) fn from_no_skip_flag(no_skip: bool, audience: Audience) -> Self {
        match (no_skip, audience) {
            (false, Audience::Others) => Self::Apply,
            (true, _) | (false, Audience::OnePerson) => Self::Ignore,
        }
    }
}

/// Fails if the settings skip this pull request.
pub(crate) fn check_skip_rules(
    rules: SkipRules,
    proposal: Option<&ForgeProposal>,
    settings: &Settings,
) -> Result<(), Failure> {
    let Some(proposal) = proposal.filter(|_| rules == SkipRules::Apply) else { return Ok(()) };
    match &proposal.forge {
        Forge::GitHub(_) | Forge::Rest(_) => {}
        // Launchpad has no labels, and does not tell which accounts are bots.
        Forge::Launchpad(_) => return Ok(()),
    }
    let skip_settings = SkipSettings {
        drafts: settings.github_drafts.value,
        bots: settings.github_bots.value,
        skip_labels: &settings.github_skip_labels.value,
        only_labels: &settings.github_only_labels.value,
    };
    match skip_settings.skip_reason(&proposal.state.properties, &proposal.proposal.labels) {
        None => Ok(()),
        Some(why) => {
            let why = crh_review::escape_invisible(&why);
            let message = anyhow::anyhow!("the pull request is not reviewed: {why}");
            Err(Failure::new(FailureKind::Skipped, message)
                .hint("use `--no-skip` to review it anyway"))
        }
    }
}

struct SkipSettings<'a> {
    drafts: Treatment,
    bots: Treatment,
    skip_labels: &'a LabelList,
    only_labels: &'a LabelList,
}

impl SkipSettings<'_> {
    /// Why the settings skip a pull request.
    fn skip_reason(&self, pull: &ProposalProperties, labels: &[String]) -> Option<String> {
        if pull.draft && self.drafts == Treatment::Skip {
            return Some("it is a draft (`github.drafts`)".to_owned());
        }
        if pull.by_bot && self.bots == Treatment::Skip {
            let login = pull.author.as_ref().map_or("", |author| author.login.as_str());
            return Some(format!("it is by the bot `{login}` (`github.bots`)"));
        }
        if let Some(label) = self.skip_labels.first_match(labels) {
            return Some(format!("it has the label `{label}` (`github.skip_labels`)"));
        }
        let names = self.only_labels.names();
        if !names.is_empty() && self.only_labels.first_match(labels).is_none() {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let names = names.join(", ");
            return Some(format!("it has none of the labels {names} (`github.only_labels`)"));
        }
        None
    }
}
