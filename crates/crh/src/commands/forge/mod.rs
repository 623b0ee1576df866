//! Changes proposed on a forge: finds the proposal of a target, reads it, and says where to fetch
//! its commits.

mod expected_head;
pub(super) mod own_comments;
mod post_lock;
pub(crate) mod posting;
pub(crate) mod posting_messages;

pub(crate) use expected_head::ExpectedHead;
use secrecy::SecretString;

use self::posting::{PostRequest, PostResult};
use super::github::GitHubSession;
use super::launchpad::LaunchpadSession;
use super::{github, launchpad, learning, rest_forge};
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, ui};
use crh_forge::ChangeProposal;
use crh_forge::github::PullRequestRef;
use crh_forge::launchpad::MergeProposalRef;
use crh_forge::posting::{
    ForgeRules, PostingRefusal, PostingWrite, ProposalState, dismissals, plan_withdrawals,
};
use crh_forge::rest::RestChangeRef;
use crh_git::{HostedRepository, Repository};
use crh_pipeline::dismissals::ForgeDismissal;
use crh_pipeline::resolve::{ProposalRemotes, ReviewedHead};
use crh_pipeline::sinks::ForgeName;
use crh_pipeline::target_args::Target;
use crh_review::DismissedIssue;

/// A change proposed on a forge.
pub(crate) struct ForgeProposal {
    pub(crate) proposal: ChangeProposal,
    /// Where to fetch the commits of the proposal.
    pub(crate) remotes: ProposalRemotes,
    /// Target repository.
    pub(crate) target_repository: HostedRepository,
    /// Whether the current folder is a clone of the target or the source repository, or has commits
    /// of the proposal.
    pub(crate) has_clone: bool,
    pub(crate) reviewed_head: ReviewedHead,
    /// Secrets to mask, besides those in environment variables.
    pub(crate) secrets: Vec<SecretString>,
    /// State of the proposal, for posting.
    pub(crate) state: Box<ProposalState>,
    /// Forge-specific part.
    pub(crate) forge: Forge,
}

/// Reference of a proposal on its forge.
pub(crate) enum Forge {
    GitHub(PullRequestRef),
    Launchpad(MergeProposalRef),
    Rest(RestChangeRef),
}

/// Whether to look for the pull request of the current branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PullRequestLookup {
    /// Look for it if crh has a token.
    IfToken,
    /// Do not look for it: the user disabled the lookup.
    Never,
}

impl PullRequestLookup {
    /// From the flag `--no-pr`.
    pub(crate) fn from_no_pr_flag(no_pr: bool) -> Self {
        if no_pr { Self::Never } else { Self::IfToken }
    }
}

impl ForgeProposal {
    /// "pull request" or "merge proposal".
    pub(crate) fn word(&self) -> &'static str {
        self.proposal.kind.word()
    }

    /// Whether the source repository is neither the target nor the user's own. True if the forge
    /// does not name it.
    pub(crate) fn is_foreign(&self) -> bool {
        let Some(source) = &self.proposal.source.repo else { return true };
        let owner = source.split('/').next().unwrap_or_default();
        // Launchpad writes `~` before the name of an owner.
        let owner = owner.strip_prefix('~').unwrap_or(owner);
        let is_users =
            self.state.viewer_login().is_some_and(|viewer| owner.eq_ignore_ascii_case(viewer));
        !source.eq_ignore_ascii_case(&self.proposal.repo) && !is_users
    }

    /// Whether the change comes from a foreign repository, or its author may not write to the
    /// target.
    pub(crate) fn is_by_stranger(&self) -> bool {
        let has_no_access =
            self.state.properties.association.is_some_and(|role| !role.is_trusted());
        has_no_access || self.is_foreign()
    }

    /// Withdraws crh's approvals of older heads, and prints a note for each. If that fails, crh
    /// prints a warning and continues with the review.
    pub(crate) fn withdraw_stale_approvals(&self, environment: &Environment, settings: &Settings) {
        let instance = settings.instance.value.as_str();
        for write in plan_withdrawals(self.forge.rules(), instance, &self.state) {
            let sent = self.forge.withdraw(&write, environment, settings);
            match sent.unwrap_or_else(|failure| Err(format!("{:#}", failure.error))) {
                Ok(()) => ui::note("withdrew crh's approval of an older head"),
                Err(why) => ui::warn(&format!(
                    "crh's approval of an older head may still be there: {}",
                    crh_review::one_line(&why)
                )),
            }
        }
    }

    /// Dismissals on the forge by people who may dismiss issues. crh does not raise these issues
    /// again.
    pub(crate) fn dismissals(&self, instance: &str) -> Vec<ForgeDismissal> {
        let thread_dismissals = dismissals(&self.state, instance).into_iter();
        let forge_dismissals =
            thread_dismissals.filter(|dismissal| dismissal.is_effective).map(|dismissal| {
                ForgeDismissal {
                    reason: format!("dismissed by `{}` at {}", dismissal.by, dismissal.url),
                    about: dismissal.rewritten.then(|| DismissedIssue {
                        dedupe_key: dismissal.key.clone(),
                        file: dismissal.file,
                        side: dismissal.side,
                        title: dismissal.title,
                    }),
                    dedupe_key: dismissal.key,
                }
            });
        forge_dismissals.collect()
    }
}

impl Forge {
    /// Forge of the proposal.
    pub(crate) fn name(&self) -> ForgeName {
        match self {
            Self::GitHub(_) => ForgeName::GitHub,
            Self::Launchpad(_) => ForgeName::Launchpad,
            Self::Rest(change) => change.forge.name(),
        }
    }

    /// Web address of the proposal.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::GitHub(pull_ref) => pull_ref.url(),
            Self::Launchpad(proposal_ref) => proposal_ref.url(),
            Self::Rest(change) => change.url(),
        }
    }

    /// Whether crh stores the review in its summary comment, for the next review.
    pub(crate) fn saves_reviews(&self) -> bool {
        match self {
            Self::GitHub(_) | Self::Rest(_) => true,
            Self::Launchpad(_) => false,
        }
    }

    /// Posts a review and records it in the history, or returns the requests of a dry run.
    pub(crate) fn post(
        &self,
        request: &PostRequest<'_>,
        environment: &Environment,
        settings: &Settings,
    ) -> Result<PostResult, Failure> {
        let state = settings.state_folder.value.path().ok();
        let _lock = state.and_then(|state| post_lock::lock_posts(state, &self.url()));
        let result = self.send(request, environment, settings)?;
        match &result {
            PostResult::DryRun(_) => {}
            PostResult::Done(outcome) => {
                learning::record_posting(request, outcome, environment, settings);
            }
        }
        Ok(result)
    }

    fn send(
        &self,
        request: &PostRequest<'_>,
        environment: &Environment,
        settings: &Settings,
    ) -> Result<PostResult, Failure> {
        match self {
            Self::GitHub(pull_ref) => {
                let (host, repo) = (&pull_ref.host, &pull_ref.repo);
                GitHubSession::open(host, repo, environment, settings)?.post(pull_ref, request)
            }
            Self::Launchpad(proposal_ref) => {
                let session = LaunchpadSession::open(&proposal_ref.service, environment, settings)?;
                session.post(proposal_ref, request)
            }
            Self::Rest(change) => rest_forge::post(change, request, environment),
        }
    }

    pub(crate) fn rules(&self) -> &'static dyn ForgeRules {
        self.name().rules()
    }

    fn withdraw(
        &self,
        write: &PostingWrite,
        environment: &Environment,
        settings: &Settings,
    ) -> Result<Result<(), String>, Failure> {
        match self {
            Self::GitHub(pull_ref) => {
                let (host, repo) = (&pull_ref.host, &pull_ref.repo);
                let session = GitHubSession::open(host, repo, environment, settings)?;
                Ok(session.withdraw(pull_ref, write))
            }
            Self::Launchpad(proposal_ref) => {
                let session = LaunchpadSession::open(&proposal_ref.service, environment, settings)?;
                Ok(session.withdraw(proposal_ref, write))
            }
            Self::Rest(change) => rest_forge::withdraw(change, write, environment),
        }
    }

    /// Arguments of `crh post` for this proposal; for GitHub with placeholders.
    pub(crate) fn post_arguments(&self, head: &str) -> String {
        match self {
            Self::GitHub(_) => "--repo OWNER/NAME --pr N --head SHA".to_owned(),
            Self::Launchpad(_) | Self::Rest(_) => {
                let url = ui::shell_word(&self.url());
                format!("--sink {} --proposal {url} --head {head}", self.name().name())
            }
        }
    }

    /// Hint for commits that cannot be fetched.
    pub(crate) fn fetch_hint(&self) -> &'static str {
        match self {
            Self::GitHub(_) => {
                "the token needs `Contents: read` on the repository; `crh doctor` shows which one is used"
            }
            Self::Launchpad(_) => launchpad::FETCH_HINT,
            Self::Rest(change) => change.forge.rest_profile().fetch_hint,
        }
    }
}

/// Finds the proposal of a target: the named one, or the open pull request of the current branch.
/// If the search by branch fails, crh prints a note and goes on without a proposal.
pub(crate) fn find_proposal(
    target: &Target,
    lookup: PullRequestLookup,
    environment: &Environment,
    flags: &RawSettings,
) -> Result<Option<ForgeProposal>, Failure> {
    match (target, lookup) {
        (Target::PullRequest(text), _) => {
            let settings = config::load(environment, None, flags.clone())?;
            let proposal = if launchpad::is_launchpad_url(text, &settings) {
                launchpad::read_named(text, environment, &settings)
            } else if let Some(forge) = rest_forge::forge_of(text, environment) {
                rest_forge::read_named(forge, text, environment, &settings)
            } else {
                github::read_named(text, environment, &settings)
            };
            proposal.map(Some)
        }
        (Target::CurrentBranch, PullRequestLookup::IfToken) => {
            let settings = config::load(environment, None, flags.clone())?;
            match read_for_current_branch(environment, &settings) {
                Ok(proposal) => Ok(proposal),
                Err(failure) => {
                    note_skipped_lookup(&failure.error);
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

/// The open change of the current branch, if the user has a token for its server.
fn read_for_current_branch(
    environment: &Environment,
    settings: &Settings,
) -> Result<Option<ForgeProposal>, Failure> {
    let Ok(repository) = Repository::discover(&environment.folder) else { return Ok(None) };
    if settings.git_offline.value {
        return Ok(None);
    }
    let target = crh_git::push_target(&repository).or_fail(FailureKind::External)?;
    let Some(target) = target else { return Ok(None) };
    let mut proposal = github::read_for_branch(&target, environment, settings)?;
    for forge in ForgeName::all_rest() {
        if proposal.is_none() {
            proposal =
                rest_forge::read_for_branch(forge, &repository, &target, environment, settings)?;
        }
    }
    Ok(proposal)
}

/// Prints why crh ignores the pull request of the current branch.
pub(super) fn note_skipped_lookup(why: &anyhow::Error) {
    let why = crh_review::one_line(&format!("{why:#}"));
    ui::note(&format!(
        "reviewing without the pull request of this branch: {why} (`--no-pr` skips the lookup)"
    ));
}

/// Repository and number of the proposal at an address. For Launchpad this is the source
/// repository.
pub(crate) fn parse_proposal_url(
    url: &str,
    settings: &Settings,
    environment: &Environment,
) -> Option<(String, String)> {
    launchpad::parse_url(url, settings)
        .or_else(|| rest_forge::parse_url(url, environment))
        .or_else(|| github::parse_url(url))
}

/// Fails if crh cannot post a review to a forge: because there is no proposal, because the proposal
/// is on another forge, or because crh is not logged in.
pub(crate) fn check_posting_target(
    forge: ForgeName,
    pull: Option<&ForgeProposal>,
) -> Result<(), Failure> {
    let (name, wanted) = (forge.name(), forge.word());
    let message = format!("`--sink {name}` needs a {wanted}");
    match pull {
        None => {
            let hint = match (forge.rules().rest(), forge) {
                (Some(rest), _) => rest.rest_profile().reference_hint,
                (None, ForgeName::Launchpad) => "pass its address",
                (None, _) => "pass its address, `OWNER/NAME#N`, or `N` inside a clone",
            };
            Err(Failure::usage(message).hint(hint))
        }
        Some(pull) if pull.forge.name() != forge => {
            let (word, sink) = (pull.word(), pull.forge.name().name());
            Err(Failure::usage(format!("{message}, but this is a {word}"))
                .hint(format!("use `--sink {sink}`")))
        }
        Some(pull) if pull.state.viewer.is_none() => {
            let name = forge.rules().profile().name;
            Err(posting::refusal_failure(&PostingRefusal::NotLoggedIn(name)))
        }
        Some(_) => Ok(()),
    }
}
