//! Merge proposals at Launchpad: which one is meant, what it says, and whom crh is there.

mod credentials;
#[path = "session.rs"]
mod hub;
#[path = "login_file.rs"]
mod kept;
mod login;
mod posting;

pub(crate) use credentials::{SECRETS, TO_LOG_IN, TOKENS, found};
pub(crate) use hub::Hub;
pub(crate) use login::{login, logout};
pub(crate) use posting::{Posted, ToPost, fits, posted, refused};

use super::forge::{Forge, Submission, own};
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_forge::Proposal;
use crh_forge::launchpad::{Name, NameError, Standing};
use crh_git::{Address, Place, Repository};
use crh_pipeline::target::{Origins, UnderReview};

/// What to do about commits that are not given out.
pub(super) const TO_FETCH: &str = "git at Launchpad takes no OAuth: for a private repository, `LP_GIT_TOKEN` holds an access token with `repository:pull`, made on the page of the repository or of its project";

/// What to do about branches of Bazaar's.
pub(super) const TO_DIFF_BAZAAR: &str = "`bzr diff` prints its diff, and `--diff FILE` takes one";

/// Whether a word is an address of Launchpad's, whatever is there.
pub(super) fn is_meant(word: &str, settings: &Settings) -> bool {
    Name::is_meant(word, settings.launchpad_service_root.value.service())
}

/// The repository that a merge proposal comes from and its number, by its address; none if it is no such address.
pub(super) fn named(url: &str, settings: &Settings) -> Option<(String, String)> {
    let name = Name::parse(url, settings.launchpad_service_root.value.service()).ok()?;
    Some((name.repository, name.number.to_string()))
}

/// Reads the merge proposal that is named by its address.
pub(super) fn named_by(
    word: &str,
    environment: &Environment,
    settings: &Settings,
) -> Result<Submission, Failure> {
    let name = name(word, settings)?;
    if settings.git_offline.value {
        return Err(Failure::usage("a merge proposal cannot be read offline")
            .hint("leave `--offline` out, or name a branch"));
    }
    read(name, environment, settings)
}

/// The merge proposal at an address.
pub(crate) fn name(word: &str, settings: &Settings) -> Result<Name, Failure> {
    Name::parse(word, settings.launchpad_service_root.value.service()).map_err(not_named)
}

fn not_named(error: NameError) -> Failure {
    let hint = match &error {
        NameError::NoName | NameError::Repository | NameError::Number => {
            "open the merge proposal in a browser, and take its address; `launchpad.service_root` names a Launchpad of your own"
        }
        NameError::Bazaar => TO_DIFF_BAZAAR,
        NameError::Elsewhere { .. } => {
            "`launchpad.service_root` or `LP_SERVICE_ROOT` says which Launchpad is asked"
        }
    };
    Failure::new(Kind::Usage, error).hint(hint)
}

/// Reads a merge proposal, once.
fn read(name: Name, environment: &Environment, settings: &Settings) -> Result<Submission, Failure> {
    let hub = Hub::open(&name.service, environment, settings)?;
    if hub.is_nobody() && credentials::git_token(&name.service, environment, settings).is_some() {
        ui::warn(&format!(
            "`{}` is not used: it goes to git with the name of whoever asks Launchpad, and that is nobody",
            credentials::GIT_TOKEN
        ));
    }
    let (mut proposal, standing) = hub.read(&name)?;
    let is_viewers = |author: &Option<String>| author.is_some() && *author == standing.viewer;
    own::without(&mut proposal, |comment| {
        is_viewers(&comment.author) && own::is_marked(&comment.content)
    });
    let origins = origins(&name, &proposal, &standing, environment, settings)?;
    let place = Place { host: name.service.name().to_owned(), name: proposal.repo.clone() };
    Ok(Submission {
        has_clone: has_clone(environment, &proposal),
        proposal,
        origins,
        place,
        under_review: UnderReview::Proposed,
        secrets: hub.secrets().to_vec(),
        at: Forge::Launchpad { name, standing: Box::new(standing) },
    })
}

/// Where the commits of both ends are. What opens repositories is known to belong to whoever is known to ask.
fn origins(
    name: &Name,
    proposal: &Proposal,
    standing: &Standing,
    environment: &Environment,
    settings: &Settings,
) -> Result<Origins, Failure> {
    let token = credentials::git_token(&name.service, environment, settings);
    // One that opens another repository shuts a public one, which needs none.
    let token = token.filter(|_| standing.proposal.private);
    let opening = standing.viewer.as_deref().zip(token);
    let address = |url: Option<&String>| {
        let url = url.map(String::as_str).unwrap_or_default();
        let token = opening.as_ref().map(|(_, token)| token.clone());
        let address = Address::new(url, token).and_then(|address| match &opening {
            Some((user, _)) => address.for_user(user),
            None => Ok(address),
        });
        address.or_fail(Kind::Outside)
    };
    Ok(Origins {
        target: address(proposal.target.git_url.as_ref())?,
        source: address(proposal.source.git_url.as_ref())?,
        head_ref: format!("refs/heads/{}", proposal.source.branch),
    })
}

/// Whether the user is in a clone that has commits of a merge proposal. What its remotes are called says little: repositories at
/// Launchpad have several addresses each.
fn has_clone(environment: &Environment, proposal: &Proposal) -> bool {
    let Ok(repository) = Repository::discover(&environment.folder) else { return false };
    let ends = [&proposal.source.commit, &proposal.target.commit];
    let before = proposal.rounds.last().and_then(|round| round.target.as_ref());
    ends.into_iter().chain(before).any(|commit| repository.commit(commit).is_some())
}
