//! Pull requests on GitHub: finds and reads them, and opens new ones.

mod own_comments;
mod posting;
mod session;
mod skip_rules;
mod token;

pub(crate) use session::{GitHubSession, to_failure};
pub(crate) use skip_rules::{Audience, SkipRules, check_skip_rules};
pub(crate) use token::{SECRETS, TOKENS, find_token, token_variables};

use super::forge::{Forge, ForgeProposal};
use crate::config::environment::{Environment, GITHUB_VARIABLES};
use crate::config::keys::Settings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::github::{GitHubHost, NewPullRequest, PullRequestRef, PullRequestRefError, Repo};
use crh_forge::{ChangeProposal, ForgeError};
use crh_git::{FetchAddress, HostedRepository, PushTarget, Repository};
use crh_pipeline::resolve::{ProposalRemotes, ReviewedHead};

/// Where to open a pull request for the current branch.
pub(crate) struct PullRequestTarget {
    host: GitHubHost,
    /// Target repository.
    repo: Repo,
    /// Owner of the repository `origin`, to which the branch is pushed.
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
        let one_line = |failure: Failure| crh_review::one_line(&format!("{:#}", failure.error));
        let remotes =
            repository.remotes().map_err(|error| crh_review::one_line(&error.to_string()))?;
        let origin = remotes.iter().find(|remote| remote.name == "origin");
        let origin = origin.ok_or("there is no remote `origin` to push to")?;
        let default_host = default_host(environment).map_err(one_line)?;
        let (host, origin_repo) = origin
            .hosted_repository()
            .and_then(|remote_repo| host_and_repo(&remote_repo, &default_host))
            .ok_or("`origin` is not a GitHub repository")?;
        if !GitHubSession::has_credentials(&host, environment).map_err(one_line)? {
            return Err(format!("there is no token for `{}`", host.name()));
        }
        // In a clone of a fork, the target is the repository of another remote.
        // `hosted_repositories` lists it first.
        let repositories = crh_git::hosted_repositories(repository).unwrap_or_default().into_iter();
        let on_host = repositories.filter(|remote_repo| remote_repo.host == host.name());
        let repo = on_host.filter_map(|remote_repo| Repo::parse(&remote_repo.name)).next();
        let repo = repo.unwrap_or_else(|| origin_repo.clone());
        Ok(Self { host, repo, owner: origin_repo.owner().to_owned() })
    }

    /// Whether the branch has an open pull request. False if crh cannot find out.
    pub(crate) fn is_open(
        &self,
        branch: &str,
        environment: &Environment,
        settings: &Settings,
    ) -> bool {
        let session = GitHubSession::open(&self.host, &self.repo, environment, settings).ok();
        let pulls =
            session.and_then(|session| session.open_pulls(&self.repo, &self.owner, branch).ok());
        pulls.is_some_and(|pulls| !pulls.is_empty())
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
        let new_pull = NewPullRequest {
            title: title.to_owned(),
            body: body.to_owned(),
            head: (self.owner.clone(), branch.to_owned()),
            base: base.map(str::to_owned),
        };
        session.open_pull(&self.repo, &new_pull).map_err(session::open_failure)
    }
}

/// Repository and number from a pull request address.
pub(super) fn parse_url(url: &str) -> Option<(String, String)> {
    let pull_ref = PullRequestRef::parse(url, &GitHubHost::default(), None).ok()?;
    url.contains("://").then(|| (pull_ref.repo.to_string(), pull_ref.number.to_string()))
}

/// The GitHub server of pull requests that are named without a URL.
pub(crate) fn default_host(environment: &Environment) -> Result<GitHubHost, Failure> {
    let [server, api, graphql, ..] = GITHUB_VARIABLES
        .map(|name| environment.variable(name).map(|value| value.to_string_lossy().into_owned()));
    GitHubHost::from_variables(server.as_deref(), api.as_deref(), graphql.as_deref())
        .or_fail(FailureKind::Usage)
        .map_err(|failure| {
            failure.hint("GitHub Actions sets these variables; unset them outside of Actions")
        })
}

/// Reads a pull request named by number, by repository and number, or by address.
pub(super) fn read_named(
    text: &str,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    if settings.git_offline.value {
        return Err(Failure::usage("a pull request cannot be read offline")
            .hint("leave out `--offline`, or name a branch"));
    }
    let default_host = default_host(environment)?;
    // A bare number belongs to the repository of the current folder, on any host.
    let (host, repo) = match repo_of_folder(environment) {
        Some((host, repo)) => (host, Some(repo)),
        None => (default_host.clone(), None),
    };
    let is_number = !text.contains('/');
    let host = if is_number { host } else { default_host };
    let pull_ref = PullRequestRef::parse(text, &host, repo.as_ref()).map_err(ref_failure)?;
    let is_missing = |failure: &Failure| {
        matches!(failure.error.downcast_ref::<ForgeError>(), Some(ForgeError::NotFound { .. }))
    };
    match read(pull_ref.clone(), ReviewedHead::Proposed, environment, settings) {
        Err(failure) if is_number && is_missing(&failure) => {
            // A pull request from a fork belongs to the repository from which the fork was made.
            let session =
                GitHubSession::open(&pull_ref.host, &pull_ref.repo, environment, settings)?;
            match session.parent_of_fork(&pull_ref.repo) {
                Ok(Some(repo)) => read(
                    PullRequestRef { repo, ..pull_ref },
                    ReviewedHead::Proposed,
                    environment,
                    settings,
                ),
                Ok(None) | Err(_) => Err(failure),
            }
        }
        result => result,
    }
}

fn ref_failure(error: PullRequestRefError) -> Failure {
    let hint = match &error {
        PullRequestRefError::NoRepository { .. } => "run this in a clone that has a GitHub remote",
        PullRequestRefError::UnknownForm
        | PullRequestRefError::Number { .. }
        | PullRequestRefError::Repository
        | PullRequestRefError::NotAPull { .. } => {
            "pass the address of the pull request that your browser shows"
        }
        // The address may belong to any forge.
        PullRequestRefError::Host(_) => "pass the address of the change that your browser shows",
    };
    Failure::new(FailureKind::Usage, error).hint(hint)
}

/// The open pull request of a pushed branch, if there is one. The URL of a remote can name any
/// host, so crh contacts the host only if the user has a token for it.
pub(super) fn read_for_branch(
    push_target: &PushTarget,
    environment: &Environment,
    settings: &Settings,
) -> Result<Option<ForgeProposal>, Failure> {
    let default_host = default_host(environment)?;
    let Some((host, repo)) = host_and_repo(&push_target.repository, &default_host) else {
        return Ok(None);
    };
    if !GitHubSession::has_credentials(&host, environment)? {
        return Ok(None);
    }
    // In a clone of a fork, a remote may name the target repository.
    let candidates = remote_repositories(environment)
        .into_iter()
        .filter(|remote_repo| remote_repo.host == push_target.repository.host);
    let candidates: Vec<Repo> =
        candidates.filter_map(|remote_repo| Repo::parse(&remote_repo.name)).collect();
    for candidate in candidates {
        let session = GitHubSession::open(&host, &candidate, environment, settings)?;
        let pulls = session
            .open_pulls(&candidate, repo.owner(), &push_target.branch)
            .map_err(to_failure)?;
        if let Some(pull_ref) = pulls.into_iter().next() {
            return read(pull_ref, ReviewedHead::Checkout, environment, settings).map(Some);
        }
    }
    Ok(None)
}

fn read(
    pull_ref: PullRequestRef,
    reviewed_head: ReviewedHead,
    environment: &Environment,
    settings: &Settings,
) -> Result<ForgeProposal, Failure> {
    let session = GitHubSession::open(&pull_ref.host, &pull_ref.repo, environment, settings)?;
    let instance = settings.instance.value.as_str();
    let (mut proposal, proposal_state) = session.read(&pull_ref, instance).map_err(to_failure)?;
    own_comments::remove_crh_comments(&mut proposal, &proposal_state);
    ui::detail(&session.rate_limit_message());
    // Use the name in the reply, because the repository may have been renamed. Never take the host
    // from a reply.
    let repo = Repo::parse(&proposal.repo).unwrap_or_else(|| pull_ref.repo.clone());
    let token = session.token().map_err(to_failure)?;
    let address = FetchAddress::new(&pull_ref.host.git_url(&repo), Some(token.clone()));
    let address = address.or_fail(FailureKind::External)?;
    let target_repository =
        HostedRepository { host: pull_ref.host.name().to_owned(), name: repo.to_string() };
    let has_clone = has_clone(environment, &target_repository, &proposal);
    let pull_ref = PullRequestRef { repo, ..pull_ref };
    // The target repository also has the commits of forks.
    let head_ref = format!("refs/pull/{}/head", proposal.number);
    Ok(ForgeProposal {
        proposal,
        remotes: ProposalRemotes { target: address.clone(), source: address, head_ref },
        target_repository,
        has_clone,
        reviewed_head,
        secrets: vec![token],
        state: Box::new(proposal_state),
        forge: Forge::GitHub(pull_ref),
    })
}

/// Whether the current folder is a clone of the target or source repository, or has the head
/// commit.
fn has_clone(
    environment: &Environment,
    target: &HostedRepository,
    proposal: &ChangeProposal,
) -> bool {
    let Ok(repository) = Repository::discover(&environment.folder) else { return false };
    let names = [Some(target.name.as_str()), proposal.source.repo.as_deref()];
    let is_remote = remote_repositories(environment).iter().any(|remote| {
        let has_name = |name: &&str| remote.name.eq_ignore_ascii_case(name);
        remote.host == target.host && names.iter().flatten().any(has_name)
    });
    is_remote || repository.commit(&proposal.source.commit).is_some()
}

/// The GitHub repository that the current folder is a clone of.
pub(crate) fn repo_of_folder(environment: &Environment) -> Option<(GitHubHost, Repo)> {
    let default_host = default_host(environment).ok()?;
    let repositories = remote_repositories(environment);
    let repository = repositories
        .iter()
        .find(|remote_repo| remote_repo.host == default_host.name())
        .or(repositories.first())?;
    host_and_repo(repository, &default_host)
}

/// Hosted repositories that the remotes of the current folder name.
fn remote_repositories(environment: &Environment) -> Vec<HostedRepository> {
    let repository = Repository::discover(&environment.folder).ok();
    repository
        .and_then(|repository| crh_git::hosted_repositories(&repository).ok())
        .unwrap_or_default()
}

fn host_and_repo(
    repository: &HostedRepository,
    default_host: &GitHubHost,
) -> Option<(GitHubHost, Repo)> {
    let repo = Repo::parse(&repository.name)?;
    let host = match repository.host == default_host.name() {
        true => default_host.clone(),
        false => GitHubHost::from_server_url(&format!("https://{}", repository.host)).ok()?,
    };
    Some((host, repo))
}
