//! Pull requests at GitHub: which one is meant, what it says, and whom crh is there.

#[path = "session.rs"]
mod hub;
#[path = "own_comments.rs"]
mod own;
mod posting;
#[path = "skip_rules.rs"]
mod rules;
mod token;

pub(crate) use hub::{Hub, failed};
pub(crate) use posting::{Files, Posted, ToPost, posted};
pub(crate) use rules::{Audience, Rules, wanted};
pub(crate) use token::{SECRETS, TOKENS, token, variables};

use super::forge::{Forge, Submission};
use crate::config::environment::{Environment, GITHUB};
use crate::config::keys::Settings;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_forge::Proposal;
use crh_forge::github::{Host, Name, NameError, NewPull, Repo};
use crh_git::{Address, Place, Repository};
use crh_pipeline::target::{Origins, UnderReview};

/// Where a pull request for the branch that is checked out would be opened.
pub(crate) struct Opening {
    host: Host,
    /// The repository that it is proposed to.
    repo: Repo,
    /// Whose branch it is when it is pushed to `origin`.
    owner: String,
}

impl Opening {
    /// Where it would be, or why there is no such place. Nothing is asked of anybody yet.
    pub(crate) fn of(
        repository: &Repository,
        environment: &Environment,
        settings: &Settings,
    ) -> Result<Self, String> {
        if settings.git_offline.value {
            return Err("nobody is asked offline".to_owned());
        }
        let said = |failure: Failure| ui::on_one_line(&format!("{:#}", failure.error));
        let remotes = repository.remotes().map_err(|error| ui::on_one_line(&error.to_string()))?;
        let origin = remotes.iter().find(|remote| remote.name == "origin");
        let origin = origin.ok_or("there is no remote `origin` to push to")?;
        let default = default_host(environment).map_err(said)?;
        let (host, own) = origin
            .place()
            .and_then(|place| at(&place, &default))
            .ok_or("`origin` is no repository at a GitHub")?;
        if !Hub::has_key(&host, environment).map_err(said)? {
            return Err(format!("there is no token for `{}`", host.name()));
        }
        // In a clone of a fork it is proposed to another repository, which a remote names.
        let places = crh_git::places(repository).unwrap_or_default().into_iter();
        let base = places.filter(|place| place.host == host.name());
        let repo = base.filter_map(|place| Repo::parse(&place.name)).next();
        let repo = repo.unwrap_or_else(|| own.clone());
        Ok(Self { host, repo, owner: own.owner().to_owned() })
    }

    /// Whether there is one for a branch already. What cannot be asked is taken for none.
    pub(crate) fn is_open(
        &self,
        branch: &str,
        environment: &Environment,
        settings: &Settings,
    ) -> bool {
        let hub = Hub::open(&self.host, &self.repo, environment, settings).ok();
        let open = hub.and_then(|hub| hub.open_pulls(&self.repo, &self.owner, branch).ok());
        open.is_some_and(|open| !open.is_empty())
    }

    /// Opens it for a branch that is pushed; its address.
    pub(crate) fn open(
        &self,
        (branch, base): (&str, Option<&str>),
        (title, body): (&str, &str),
        environment: &Environment,
        settings: &Settings,
    ) -> Result<String, Failure> {
        let hub = Hub::open(&self.host, &self.repo, environment, settings)?;
        let new = NewPull {
            title: title.to_owned(),
            body: body.to_owned(),
            head: (self.owner.clone(), branch.to_owned()),
            base: base.map(str::to_owned),
        };
        hub.open_pull(&self.repo, &new).map_err(hub::failed_to_open)
    }
}

/// The repository and the number of a pull request, from its address; none if it is no such address.
pub(super) fn named(url: &str) -> Option<(String, String)> {
    let name = Name::parse(url, &Host::default(), None).ok()?;
    url.contains("://").then(|| (name.repo.to_string(), name.number.to_string()))
}

/// The GitHub that is meant where none is named.
pub(crate) fn default_host(environment: &Environment) -> Result<Host, Failure> {
    let [server, api, graphql, ..] = GITHUB
        .map(|name| environment.variable(name).map(|value| value.to_string_lossy().into_owned()));
    Host::from_variables(server.as_deref(), api.as_deref(), graphql.as_deref())
        .or_fail(Kind::Usage)
        .map_err(|failure| failure.hint("these variables are set by Actions; unset them elsewhere"))
}

/// Reads the pull request that is named: by its number, with its repository, or by its address.
pub(super) fn named_by(
    word: &str,
    environment: &Environment,
    settings: &Settings,
) -> Result<Submission, Failure> {
    if settings.git_offline.value {
        return Err(Failure::usage("a pull request cannot be read offline")
            .hint("leave `--offline` out, or name a branch"));
    }
    let default = default_host(environment)?;
    // A number is one of the repository that the user is in, wherever that is served.
    let (host, repo) = match of_folder(environment) {
        Some((host, repo)) => (host, Some(repo)),
        None => (default.clone(), None),
    };
    let host = if word.contains('/') { default } else { host };
    let name = Name::parse(word, &host, repo.as_ref()).map_err(not_named)?;
    read(name, UnderReview::Proposed, environment, settings)
}

fn not_named(error: NameError) -> Failure {
    let hint = match &error {
        NameError::NoRepository { .. } => "inside a clone, a remote says which repository is meant",
        NameError::NoName
        | NameError::Number { .. }
        | NameError::Repository
        | NameError::NotAPull { .. } => "open the pull request in a browser, and take its address",
        // It may be any forge's.
        NameError::Host(_) => "open the change in a browser, and take its address",
    };
    Failure::new(Kind::Usage, error).hint(hint)
}

/// The open pull request of the branch that is checked out; none without a token, or if there is none. Nobody has typed the
/// host: only one that the user has a token for is asked, and no host is given that of another.
pub(super) fn of_current_branch(
    environment: &Environment,
    settings: &Settings,
) -> Result<Option<Submission>, Failure> {
    let Ok(repository) = Repository::discover(&environment.folder) else { return Ok(None) };
    let pushed = crh_git::pushed(&repository).or_fail(Kind::Outside)?;
    let Some(pushed) = pushed.filter(|_| !settings.git_offline.value) else { return Ok(None) };
    let default = default_host(environment)?;
    let Some((host, repo)) = at(&pushed.place, &default) else { return Ok(None) };
    if !Hub::has_key(&host, environment)? {
        return Ok(None);
    }
    // In a clone of a fork it is proposed to another repository, which a remote may name.
    let bases = places(environment).into_iter().filter(|place| place.host == pushed.place.host);
    let bases: Vec<Repo> = bases.filter_map(|place| Repo::parse(&place.name)).collect();
    for base in bases {
        let hub = Hub::open(&host, &base, environment, settings)?;
        let found = hub.open_pulls(&base, repo.owner(), &pushed.branch).map_err(failed)?;
        if let Some(name) = found.into_iter().next() {
            return read(name, UnderReview::Checkout, environment, settings).map(Some);
        }
    }
    Ok(None)
}

/// Reads a pull request, once.
fn read(
    name: Name,
    under_review: UnderReview,
    environment: &Environment,
    settings: &Settings,
) -> Result<Submission, Failure> {
    let hub = Hub::open(&name.host, &name.repo, environment, settings)?;
    let instance = settings.instance.value.as_str();
    let (mut proposal, standing) = hub.read(&name, instance).map_err(failed)?;
    own::without_own(&mut proposal, &standing);
    ui::detail(&hub.shown_limits());
    // The repository may have another name by now; where it is served is not for an answer to say.
    let repo = Repo::parse(&proposal.repo).unwrap_or_else(|| name.repo.clone());
    let token = hub.token().map_err(failed)?;
    let address = Address::new(&name.host.git_url(&repo), Some(token.clone()));
    let address = address.or_fail(Kind::Outside)?;
    let place = Place { host: name.host.name().to_owned(), name: repo.to_string() };
    let has_clone = has_clone(environment, &place, &proposal);
    let name = Name { repo, ..name };
    // The repository that it is proposed to also has the commits of forks.
    let head_ref = format!("refs/pull/{}/head", proposal.number);
    Ok(Submission {
        proposal,
        origins: Origins { target: address.clone(), source: address, head_ref },
        place,
        has_clone,
        under_review,
        secrets: vec![token],
        at: Forge::GitHub { name, standing: Box::new(standing) },
    })
}

/// Whether the user is in a clone of the repository that a pull request is proposed to or comes from. One that has its head
/// already is as good, whatever its remotes are called.
fn has_clone(environment: &Environment, place: &Place, proposal: &Proposal) -> bool {
    let Ok(repository) = Repository::discover(&environment.folder) else { return false };
    let names = [Some(place.name.as_str()), proposal.source.repo.as_deref()];
    let is_remote = places(environment).iter().any(|remote| {
        let is_named = |name: &&str| remote.name.eq_ignore_ascii_case(name);
        remote.host == place.host && names.iter().flatten().any(is_named)
    });
    is_remote || repository.commit(&proposal.source.commit).is_some()
}

/// The repository at a GitHub that the user is in a clone of; none if there is none.
pub(crate) fn of_folder(environment: &Environment) -> Option<(Host, Repo)> {
    let default = default_host(environment).ok()?;
    let places = places(environment);
    let place = places.iter().find(|place| place.host == default.name()).or(places.first())?;
    at(place, &default)
}

/// Where the repository that the user is in is served; nowhere outside of one.
fn places(environment: &Environment) -> Vec<Place> {
    let repository = Repository::discover(&environment.folder).ok();
    repository.and_then(|repository| crh_git::places(&repository).ok()).unwrap_or_default()
}

/// The GitHub and the repository at a place; none if that is no name of a repository.
fn at(place: &Place, default: &Host) -> Option<(Host, Repo)> {
    let repo = Repo::parse(&place.name)?;
    let host = match place.host == default.name() {
        true => default.clone(),
        false => Host::of(&format!("https://{}", place.host)).ok()?,
    };
    Some((host, repo))
}
