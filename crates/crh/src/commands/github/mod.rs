//! Pull requests on GitHub: finds and reads them, and opens new ones.

mod own_comments;
mod posting;
mod session;
mod skip_rules;
mod token;

pub(crate) use posting::{GitHubPostRequest, GitHubPostResult, HeadFiles, post};
pub(crate) use session::{GitHubSession, to_failure};
pub(crate) use skip_rules::{Audience, SkipRules, check_skip_rules};
pub(crate) use token::{SECRETS, TOKENS, find_token, token_variables};

use super::forge::{Forge, ForgeProposal};
use crate::config::environment::{Environment, GITHUB_VARIABLES};
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::ChangeProposal;
use crh_forge::github::{GitHubHost, NewPullRequest, PullRequestRef, PullRequestRefError, Repo};
use crh_git::{FetchAddress, HostedRepository, Repository};
use crh_pipeline::resolve::{ProposalRemotes, ReviewedHead};

/// Where to open a pull request for the current branch.
pub(crate) struct PullRequestTarget {
    host: GitHubHost,
    /// Target repository.
    repo: Repo,
    /// Owner of the branch after a push to `origin`.
    owner: String,
}

impl PullRequestTarget {
    /// Finds the target without network access, or says why there is none.
    pub(crate) fn find(
        repository: &Repository,
        environment: &Environment,
        settings: &Settings,
    ) -> Result<Self, String> {
        if settings.git_offline.value {
            return Err("`--offline` is set".to_owned());
        }
        let said = |failure: Failure| ui::one_line(&format!("{:#}", failure.error));
        let remotes = repository.remotes().map_err(|error| ui::one_line(&error.to_string()))?;
        let origin = remotes.iter().find(|remote| remote.name == "origin");
        let origin = origin.ok_or("there is no remote `origin` to push to")?;
        let default = default_host(environment).map_err(said)?;
        let (host, own) = origin
            .hosted_repository()
            .and_then(|place| host_and_repo(&place, &default))
            .ok_or("`origin` is not a GitHub repository")?;
        if !GitHubSession::has_credentials(&host, environment).map_err(said)? {
            return Err(format!("there is no token for `{}`", host.name()));
        }
        // In a clone of a fork, the target is another repository that a remote names.
        let places = crh_git::hosted_repositories(repository).unwrap_or_default().into_iter();
        let base = places.filter(|place| place.host == host.name());
        let repo = base.filter_map(|place| Repo::parse(&place.name)).next();
        let repo = repo.unwrap_or_else(|| own.clone());
        Ok(Self { host, repo, owner: own.owner().to_owned() })
    }

    /// Whether the branch has an open pull request. Errors count as no.
    pub(crate) fn is_open(
        &self,
        branch: &str,
        environment: &Environment,
        settings: &Settings,
    ) -> bool {
        let session = GitHubSession::open(&self.host, &self.repo, environment, settings).ok();
        let open = session.and_then(|hub| hub.open_pulls(&self.repo, &self.owner, branch).ok());
        open.is_some_and(|open| !open.is_empty())
    }

    /// Opens a pull request for a pushed branch and returns its address.
    pub(crate) fn open(
        &self,
        (branch, base): (&str, Option<&str>),
        (title, body): (&str, &str),
        environment: &Environment,
        settings: &Settings,
    ) -> Result<String, Failure> {
        let session = GitHubSession::open(&self.host, &self.repo, environment, settings)?;
        let new = NewPullRequest {
            title: title.to_owned(),
            body: body.to_owned(),
            head: (self.owner.clone(), branch.to_owned()),
            base: base.map(str::to_owned),
        };
        session.open_pull(&self.repo, &new).map_err(session::open_failure)
    }
}

/// Repository and number from a pull request address.
pub(super) fn parse_url(url: &str) -> Option<(String, String)> {
    let name = PullRequestRef::parse(url, &GitHubHost::default(), None).ok()?;
    url.contains("://").then(|| (name.repo.to_string(), name.number.to_string()))
}

/// The GitHub of references without an address.
pub(crate) fn default_host(environment: &Environment) -> Result<GitHubHost, Failure> {
    let [server, api, graphql, ..] = GITHUB_VARIABLES
        .map(|name| environment.variable(name).map(|value| value.to_string_lossy().into_owned()));
    GitHubHost::from_variables(server.as_deref(), api.as_deref(), graphql.as_deref())
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("Actions sets these variables; unset them elsewhere"))
}

/// Reads a pull request named by number, by repository and number, or by address.
pub(super) fn read_named(
    word: &str,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    if settings.git_offline.value {
        return Err(Failure::usage("a pull request cannot be read offline")
            .hint("leave out `--offline`, or name a branch"));
    }
    let default = default_host(environment)?;
    // A bare number belongs to the repository of the current folder, on any host.
    let (host, repo) = match repo_of_folder(environment) {
        Some((host, repo)) => (host, Some(repo)),
        None => (default.clone(), None),
    };
    let host = if word.contains('/') { default } else { host };
    let name = PullRequestRef::parse(word, &host, repo.as_ref()).map_err(ref_failure)?;
    read(name, ReviewedHead::Proposed, environment, settings)
}

fn ref_failure(error: PullRequestRefError) -> Failure {
    let hint = match &error {
        PullRequestRefError::NoRepository { .. } => "run this in a clone that has a GitHub remote",
        PullRequestRefError::UnknownForm
        | PullRequestRefError::Number { .. }
        | PullRequestRefError::Repository
        | PullRequestRefError::NotAPull { .. } => {
            "copy the address of the pull request from the browser"
        }
        // The address may belong to any forge.
        PullRequestRefError::Host(_) => "copy the address of the change from the browser",
    };
    Failure::new(FailureKind::Usage, error).hint(hint)
}

/// The open pull request of the current branch, if there is one and crh has a token. The host comes
/// from a remote, so crh contacts it only with a token for that host.
pub(super) fn read_for_current_branch(
    environment: &Environment,
    settings: &Settings,
) -> Result<Option<ForgeProposal>, Failure> {
    let Ok(repository) = Repository::discover(&environment.folder) else { return Ok(None) };
    let pushed = crh_git::push_target(&repository).or_fail(FailureKind::External)?;
    let Some(pushed) = pushed.filter(|_| !settings.git_offline.value) else { return Ok(None) };
    let default = default_host(environment)?;
    let Some((host, repo)) = host_and_repo(&pushed.repository, &default) else { return Ok(None) };
    if !GitHubSession::has_credentials(&host, environment)? {
        return Ok(None);
    }
    // In a clone of a fork, a remote may name the target repository.
    let bases =
        remote_places(environment).into_iter().filter(|place| place.host == pushed.repository.host);
    let bases: Vec<Repo> = bases.filter_map(|place| Repo::parse(&place.name)).collect();
    for base in bases {
        let session = GitHubSession::open(&host, &base, environment, settings)?;
        let found = session.open_pulls(&base, repo.owner(), &pushed.branch).map_err(to_failure)?;
        if let Some(name) = found.into_iter().next() {
            return read(name, ReviewedHead::Checkout, environment, settings).map(Some);
        }
    }
    Ok(None)
}

fn read(
    pull_ref: PullRequestRef,
    under_review: ReviewedHead,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    let session = GitHubSession::open(&pull_ref.host, &pull_ref.repo, environment, settings)?;
    let instance = settings.instance.value.as_str();
    let (mut proposal, pull_state) = session.read(&pull_ref, instance).map_err(to_failure)?;
    own_comments::remove_crh_comments(&mut proposal, &pull_state);
    ui::detail(&session.rate_limit_message());
    // The repository may have been renamed. The host never comes from a reply.
    let repo = Repo::parse(&proposal.repo).unwrap_or_else(|| pull_ref.repo.clone());
    let token = session.token().map_err(to_failure)?;
    let address = FetchAddress::new(&pull_ref.host.git_url(&repo), Some(token.clone()));
    let address = address.or_fail(FailureKind::External)?;
    let place = HostedRepository { host: pull_ref.host.name().to_owned(), name: repo.to_string() };
    let has_clone = has_clone(environment, &place, &proposal);
    let name = PullRequestRef { repo, ..pull_ref };
    // The target repository also has the commits of forks.
    let head_ref = format!("refs/pull/{}/head", proposal.number);
    Ok(ForgeProposal {
        proposal,
        origins: ProposalRemotes { target: address.clone(), source: address, head_ref },
        place,
        has_clone,
        under_review,
        secrets: vec![token],
        forge: Forge::GitHub { pull_ref: name, pull_state: Box::new(pull_state) },
    })
}

/// Whether the current folder is a clone of the target or source repository, or has the head
/// commit.
fn has_clone(
    environment: &Environment,
    place: &HostedRepository,
    proposal: &ChangeProposal,
) -> bool {
    let Ok(repository) = Repository::discover(&environment.folder) else { return false };
    let names = [Some(place.name.as_str()), proposal.source.repo.as_deref()];
    let is_remote = remote_places(environment).iter().any(|remote| {
        let is_named = |name: &&str| remote.name.eq_ignore_ascii_case(name);
        remote.host == place.host && names.iter().flatten().any(is_named)
    });
    is_remote || repository.commit(&proposal.source.commit).is_some()
}

/// The GitHub repository that the current folder is a clone of.
pub(crate) fn repo_of_folder(environment: &Environment) -> Option<(GitHubHost, Repo)> {
    let default = default_host(environment).ok()?;
    let places = remote_places(environment);
    let place = places.iter().find(|place| place.host == default.name()).or(places.first())?;
    host_and_repo(place, &default)
}

/// Hosted repositories that the remotes of the current folder name.
fn remote_places(environment: &Environment) -> Vec<HostedRepository> {
    let repository = Repository::discover(&environment.folder).ok();
    repository
        .and_then(|repository| crh_git::hosted_repositories(&repository).ok())
        .unwrap_or_default()
}

fn host_and_repo(place: &HostedRepository, default: &GitHubHost) -> Option<(GitHubHost, Repo)> {
    let repo = Repo::parse(&place.name)?;
    let host = match place.host == default.name() {
        true => default.clone(),
        false => GitHubHost::from_server_url(&format!("https://{}", place.host)).ok()?,
    };
    Some((host, repo))
}
