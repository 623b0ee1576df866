//! Merge proposals on Launchpad: finds and reads them.

pub(super) mod credentials;
mod login;
mod login_file;
mod posting;
mod session;

pub(crate) use credentials::{HINT_LOG_IN, SECRETS, TOKENS, find_login};
pub(crate) use login::{login, logout};
pub(crate) use posting::check_flags;
pub(crate) use session::LaunchpadSession;

use super::forge::{Forge, ForgeProposal, own_comments};
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::ChangeProposal;
use crh_forge::launchpad::{MergeProposalRef, MergeProposalRefError};
use crh_forge::posting::ProposalState;
use crh_git::{FetchAddress, HostedRepository, Repository};
use crh_pipeline::resolve::{ProposalRemotes, ReviewedHead};

pub(super) const FETCH_HINT: &str = "for a private repository, set `LP_GIT_TOKEN` to an access token with `repository:pull`; create it on the page of the repository or its project";

pub(super) const BAZAAR_HINT: &str = "review the output of `bzr diff` with `--diff FILE`";

/// Whether this is an address on Launchpad.
pub(super) fn is_launchpad_url(text: &str, settings: &Settings) -> bool {
    MergeProposalRef::is_launchpad_url(text, settings.launchpad_service_root.value.service())
}

/// Source repository and number from a merge proposal address.
pub(super) fn parse_url(url: &str, settings: &Settings) -> Option<(String, String)> {
    let proposal_ref =
        MergeProposalRef::parse(url, settings.launchpad_service_root.value.service()).ok()?;
    Some((proposal_ref.repository, proposal_ref.number.to_string()))
}

/// Reads the merge proposal at an address.
pub(super) fn read_named(
    text: &str,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    let proposal_ref = parse_ref(text, settings)?;
    if settings.git_offline.value {
        return Err(Failure::usage("a merge proposal cannot be read offline")
            .hint("leave out `--offline`, or name a branch"));
    }
    read(proposal_ref, environment, settings)
}

pub(crate) fn parse_ref(text: &str, settings: &Settings) -> Result<MergeProposalRef, Failure> {
    MergeProposalRef::parse(text, settings.launchpad_service_root.value.service())
        .map_err(ref_failure)
}

fn ref_failure(error: MergeProposalRefError) -> Failure {
    let hint = match &error {
        MergeProposalRefError::UnknownForm
        | MergeProposalRefError::Repository
        | MergeProposalRefError::Number => {
            "pass the address of the merge proposal that your browser shows; for your own Launchpad, set `launchpad.service_root`"
        }
        MergeProposalRefError::Bazaar => BAZAAR_HINT,
        MergeProposalRefError::OtherService { .. } => {
            "set another Launchpad with `launchpad.service_root` or `LP_SERVICE_ROOT`"
        }
    };
    Failure::new(FailureKind::Usage, error).hint(hint)
}

fn read(
    proposal_ref: MergeProposalRef,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    let session = LaunchpadSession::open(&proposal_ref.service, environment, settings)?;
    if session.is_anonymous()
        && credentials::git_token(&proposal_ref.service, environment, settings).is_some()
    {
        ui::warn(&format!(
            "`{}` is not used: git needs the account name, and you are not logged in to Launchpad",
            credentials::GIT_TOKEN
        ));
    }
    let (mut proposal, proposal_state) = session.read(&proposal_ref)?;
    let is_viewer = |author: &Option<String>| {
        author.is_some() && author.as_deref() == proposal_state.viewer_login()
    };
    own_comments::remove_own_comments(&mut proposal, |comment| {
        is_viewer(&comment.author) && own_comments::has_marker(&comment.content)
    });
    let remotes = fetch_remotes(&proposal_ref, &proposal, &proposal_state, environment, settings)?;
    let target_repository = HostedRepository {
        host: proposal_ref.service.name().to_owned(),
        name: proposal.repo.clone(),
    };
    Ok(ForgeProposal {
        has_clone: has_clone(environment, &proposal),
        proposal,
        remotes,
        target_repository,
        reviewed_head: ReviewedHead::Proposed,
        secrets: session.secrets().to_vec(),
        state: Box::new(proposal_state),
        forge: Forge::Launchpad(proposal_ref),
    })
}

/// Where to fetch the commits of a proposal. The git token needs the name of the logged-in account.
fn fetch_remotes(
    proposal_ref: &MergeProposalRef,
    proposal: &ChangeProposal,
    proposal_state: &ProposalState,
    environment: &Environment,
    settings: &Settings,
) -> Result<ProposalRemotes, Failure> {
    let token = credentials::git_token(&proposal_ref.service, environment, settings);
    // crh uses the token only for private repositories: with a token for another repository,
    // Launchpad refuses access even to a public one.
    let token = token.filter(|_| proposal_state.properties.private);
    let user_and_token = proposal_state.viewer_login().zip(token);
    let address = |url: Option<&String>| {
        let url = url.map(String::as_str).unwrap_or_default();
        let token = user_and_token.as_ref().map(|(_, token)| token.clone());
        let address = FetchAddress::new(url, token).and_then(|address| match &user_and_token {
            Some((user, _)) => address.for_user(user),
            None => Ok(address),
        });
        address.or_fail(FailureKind::External)
    };
    Ok(ProposalRemotes {
        target: address(proposal.target.git_url.as_ref())?,
        source: address(proposal.source.git_url.as_ref())?,
        head_ref: format!("refs/heads/{}", proposal.source.branch),
    })
}

/// Whether the current folder is a clone with commits of the proposal. crh does not compare
/// remotes, because a repository on Launchpad has several addresses.
fn has_clone(environment: &Environment, proposal: &ChangeProposal) -> bool {
    let Ok(repository) = Repository::discover(&environment.folder) else { return false };
    let tips = [&proposal.source.commit, &proposal.target.commit];
    let last_target = proposal.rounds.last().and_then(|round| round.target.as_ref());
    tips.into_iter().chain(last_target).any(|commit| repository.commit(commit).is_some())
}
