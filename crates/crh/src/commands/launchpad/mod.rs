//! Merge proposals on Launchpad: finds and reads them.

mod credentials;
mod login;
mod login_file;
mod posting;
mod session;

pub(crate) use credentials::{HINT_LOG_IN, SECRETS, TOKENS, find_login};
pub(crate) use login::{login, logout};
pub(crate) use posting::{
    LaunchpadPostRequest, LaunchpadPostResult, check_flags, post, refusal_failure,
};
pub(crate) use session::LaunchpadSession;

use super::forge::{Forge, ForgeProposal, own_comments};
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::ChangeProposal;
use crh_forge::launchpad::{MergeProposalRef, MergeProposalRefError, MergeProposalState};
use crh_git::{FetchAddress, HostedRepository, Repository};
use crh_pipeline::resolve::{ProposalRemotes, ReviewedHead};

pub(super) const FETCH_HINT: &str = "for a private repository, set `LP_GIT_TOKEN` to an access token with `repository:pull`; create it on the page of the repository or its project";

pub(super) const BAZAAR_HINT: &str = "review the output of `bzr diff` with `--diff FILE`";

/// Whether this is an address on Launchpad.
pub(super) fn is_launchpad_url(word: &str, settings: &Settings) -> bool {
    MergeProposalRef::is_launchpad_url(word, settings.launchpad_service_root.value.service())
}

/// Source repository and number from a merge proposal address.
pub(super) fn parse_url(url: &str, settings: &Settings) -> Option<(String, String)> {
    let name =
        MergeProposalRef::parse(url, settings.launchpad_service_root.value.service()).ok()?;
    Some((name.repository, name.number.to_string()))
}

/// Reads the merge proposal at an address.
pub(super) fn read_named(
    word: &str,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    let name = parse_ref(word, settings)?;
    if settings.git_offline.value {
        return Err(Failure::usage("a merge proposal cannot be read offline")
            .hint("leave out `--offline`, or name a branch"));
    }
    read(name, environment, settings)
}

pub(crate) fn parse_ref(word: &str, settings: &Settings) -> Result<MergeProposalRef, Failure> {
    MergeProposalRef::parse(word, settings.launchpad_service_root.value.service())
        .map_err(ref_failure)
}

fn ref_failure(error: MergeProposalRefError) -> Failure {
    let hint = match &error {
        MergeProposalRefError::UnknownForm
        | MergeProposalRefError::Repository
        | MergeProposalRefError::Number => {
            "copy the address of the merge proposal from the browser; for your own Launchpad, set `launchpad.service_root`"
        }
        MergeProposalRefError::Bazaar => BAZAAR_HINT,
        MergeProposalRefError::Elsewhere { .. } => {
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
    let is_viewers = |author: &Option<String>| author.is_some() && *author == proposal_state.viewer;
    own_comments::remove_own_comments(&mut proposal, |comment| {
        is_viewers(&comment.author) && own_comments::has_marker(&comment.content)
    });
    let origins = origins(&proposal_ref, &proposal, &proposal_state, environment, settings)?;
    let place = HostedRepository {
        host: proposal_ref.service.name().to_owned(),
        name: proposal.repo.clone(),
    };
    Ok(ForgeProposal {
        has_clone: has_clone(environment, &proposal),
        proposal,
        origins,
        place,
        under_review: ReviewedHead::Proposed,
        secrets: session.secrets().to_vec(),
        forge: Forge::Launchpad { proposal_ref, proposal_state: Box::new(proposal_state) },
    })
}

/// Where to fetch the commits. The git token belongs to the logged-in account.
fn origins(
    proposal_ref: &MergeProposalRef,
    proposal: &ChangeProposal,
    proposal_state: &MergeProposalState,
    environment: &Environment,
    settings: &Settings,
) -> Result<ProposalRemotes, Failure> {
    let token = credentials::git_token(&proposal_ref.service, environment, settings);
    // A token for another repository would break access to a public one.
    let token = token.filter(|_| proposal_state.proposal.private);
    let opening = proposal_state.viewer.as_deref().zip(token);
    let address = |url: Option<&String>| {
        let url = url.map(String::as_str).unwrap_or_default();
        let token = opening.as_ref().map(|(_, token)| token.clone());
        let address = FetchAddress::new(url, token).and_then(|address| match &opening {
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

/// Whether the current folder is a clone with commits of the proposal. Remotes say little:
/// repositories on Launchpad have several addresses.
fn has_clone(environment: &Environment, proposal: &ChangeProposal) -> bool {
    let Ok(repository) = Repository::discover(&environment.folder) else { return false };
    let ends = [&proposal.source.commit, &proposal.target.commit];
    let before = proposal.rounds.last().and_then(|round| round.target.as_ref());
    ends.into_iter().chain(before).any(|commit| repository.commit(commit).is_some())
}
