//! Trackers that tickets can be filed in, with their requirements: keys in the environment, a
//! GitHub repository, a command.

use std::collections::VecDeque;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::detect::{DetectedTracker, Tracker};
use crate::commands::forge::Forge;
use crate::commands::github::GitHubSession;
use crate::commands::review::session::ReviewSession;
use crate::commands::{github, models};
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::programs;
use crate::programs::ProgramCall;
use crh_forge::ForgeError;
use crh_forge::github::{GitHubHost, Repo};
use crh_forge::tracker::{
    FiledTicket, GitHubIssues, GitHubProgramCall, Jira, JiraAccount, LINEAR, Linear, LinearAccount,
    TrackerTicket,
};
use crh_http::{BaseUrl, NetworkSettings};
use crh_review::report::{Issue, Report};
use crh_review::stable_json_line;

const LINEAR_KEY: &str = "LINEAR_API_KEY";
/// Variables of the Jira address, account and token.
const JIRA: [&str; 3] = ["JIRA_BASE_URL", "JIRA_EMAIL", "JIRA_API_TOKEN"];

/// Environment variables with tracker secrets. crh masks their values everywhere and hides the
/// variables from git.
pub(crate) const SECRETS: [&str; 2] = [LINEAR_KEY, JIRA[2]];

/// Maximum length of the address or id that a command prints.
const ADDRESS_MAX: usize = 500;

pub(super) enum Sink {
    /// By crh's own client.
    GitHub(GitHubIssues),
    /// By the `gh` program.
    Gh(GitHubIssues),
    Linear(Linear),
    Jira(Jira),
    Command(TicketCommand),
}

pub(super) struct TicketCommand {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// Variables that crh removes from the environment of the command.
    pub(super) withheld: Vec<String>,
}

/// Whether crh may use the network. The user's command is not restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NetworkAccess {
    Online,
    /// Offline mode.
    Offline,
}

impl Sink {
    pub(super) fn tracker(&self) -> Tracker {
        match self {
            Self::GitHub(_) | Self::Gh(_) => Tracker::GitHub,
            Self::Linear(_) => Tracker::Linear,
            Self::Jira(_) => Tracker::Jira,
            Self::Command(_) => Tracker::Command,
        }
    }

    /// Display name.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::GitHub(_) => "GitHub",
            Self::Gh(_) => "`gh`",
            Self::Linear(_) => "Linear",
            Self::Jira(_) => "Jira",
            Self::Command(_) => "`tracker.command`",
        }
    }
}

/// The GitHub repository for issues: the target of the pull request, or that of a remote.
pub(super) fn repository(
    session: &ReviewSession,
    environment: &Environment,
) -> Option<(GitHubHost, Repo)> {
    match session.pull.as_ref().map(|pull| &pull.forge) {
        Some(Forge::GitHub(pull_ref)) => Some((pull_ref.host.clone(), pull_ref.repo.clone())),
        Some(_) | None => github::repo_of_folder(environment),
    }
}

/// The usable trackers in order, and why the others are not usable. Sends no request.
pub(super) fn chain(
    named: Option<DetectedTracker>,
    at_github: Option<&(GitHubHost, Repo)>,
    settings: &Settings,
    environment: &Environment,
) -> (VecDeque<Sink>, Vec<String>) {
    let access =
        if settings.git_offline.value { NetworkAccess::Offline } else { NetworkAccess::Online };
    let (mut sinks, mut missing) = (VecDeque::new(), Vec::new());
    if access == NetworkAccess::Offline {
        missing.push("offline mode is on".to_owned());
    }
    let mut add = |sink: Result<Sink, String>| match sink {
        Ok(sink) => sinks.push_back(sink),
        Err(why) => missing.push(why),
    };
    for tracker in order(named.map(|named| named.tracker), access) {
        match (tracker, at_github) {
            (Tracker::Linear, _) => add(linear(settings, environment)),
            (Tracker::Jira, _) => add(jira(settings, environment)),
            (Tracker::Command, _) => add(command(settings).map(Sink::Command)),
            (Tracker::GitHub, Some(at)) => {
                add(by_client(at, settings, environment));
                add(by_gh(at));
            }
            (Tracker::GitHub, None) => add(Err("no GitHub repository".to_owned())),
        }
    }
    (sinks, missing)
}

/// Order of the trackers: the project's own, GitHub, the user's command. crh uses Linear and Jira
/// only if the project names them.
fn order(named: Option<Tracker>, access: NetworkAccess) -> Vec<Tracker> {
    let own = named.into_iter();
    let others = [Tracker::GitHub, Tracker::Command].into_iter();
    let all = own.chain(others.filter(|tracker| named != Some(*tracker)));
    let is_within = |tracker: &Tracker| match (access, tracker) {
        (NetworkAccess::Online, _) | (NetworkAccess::Offline, Tracker::Command) => true,
        (NetworkAccess::Offline, Tracker::GitHub | Tracker::Linear | Tracker::Jira) => false,
    };
    all.filter(is_within).collect()
}

fn linear(settings: &Settings, environment: &Environment) -> Result<Sink, String> {
    let key = environment.secrets([LINEAR_KEY]).remove(LINEAR_KEY).filter(is_set);
    let key = key.ok_or_else(|| format!("Linear needs `{LINEAR_KEY}`"))?;
    let team = settings.tracker_team.value.get().ok_or("Linear needs `tracker.team`")?.to_owned();
    let base = LINEAR.parse::<BaseUrl>().map_err(|error| error.to_string())?;
    let client = Linear::new(&network(environment), LinearAccount { base, key, team });
    client.map(Sink::Linear).map_err(|error| format!("Linear: {error}"))
}

fn jira(settings: &Settings, environment: &Environment) -> Result<Sink, String> {
    let mut set = environment.secrets(JIRA);
    let mut get = |name: &str| {
        let value = set.remove(name).filter(is_set);
        value.ok_or_else(|| format!("Jira needs `{name}`"))
    };
    let [base, email, token] = [get(JIRA[0])?, get(JIRA[1])?, get(JIRA[2])?];
    let base = base.expose_secret().trim().parse::<BaseUrl>();
    let base = base.map_err(|error| format!("`{}` {error}", JIRA[0]))?;
    let project = settings.tracker_project.value.get().ok_or("Jira needs `tracker.project`")?;
    let email = email.expose_secret().trim().to_owned();
    let account = JiraAccount { base, email, token, project: project.to_owned() };
    let client = Jira::new(&network(environment), account);
    client.map(Sink::Jira).map_err(|error| format!("Jira: {error}"))
}

fn command(settings: &Settings) -> Result<TicketCommand, String> {
    let (program, arguments) =
        settings.tracker_command.value.get().ok_or("`tracker.command` is not set")?;
    let keys = models::key_variables(settings).map_err(|failure| failure.error.to_string())?;
    let withheld = keys.into_iter().collect();
    Ok(TicketCommand { program: program.to_owned(), arguments: arguments.to_vec(), withheld })
}

fn by_client(
    (host, repo): &(GitHubHost, Repo),
    settings: &Settings,
    environment: &Environment,
) -> Result<Sink, String> {
    let failed =
        |failure: crate::failure::Failure| crh_review::one_line(&format!("{:#}", failure.error));
    if !GitHubSession::has_credentials(host, environment).map_err(failed)? {
        return Err(format!("no token for `{}`", host.name()));
    }
    let hub = GitHubSession::open(host, repo, environment, settings).map_err(failed)?;
    Ok(Sink::GitHub(GitHubIssues::with_client(hub.client(), repo.clone())))
}

fn by_gh((host, repo): &(GitHubHost, Repo)) -> Result<Sink, String> {
    // The same answer as `gh auth status`, without a request.
    if programs::gh_token(host.name()).is_none() {
        return Err(format!("`gh` is not logged in to `{}`", host.name()));
    }
    let name = host.name().to_owned();
    let ask = move |call: &GitHubProgramCall| gh_api(&name, call);
    Ok(Sink::Gh(GitHubIssues::with_program(Box::new(ask), repo.clone())))
}

/// Sends a request with `gh`.
fn gh_api(host: &str, call: &GitHubProgramCall) -> Result<Value, ForgeError> {
    let (what, answer) = match call {
        GitHubProgramCall::Get(path) => {
            (format!("GET {}", path_of(path)), programs::gh_get(host, path))
        }
        GitHubProgramCall::Query(query) => {
            let body = json!({ "query": query }).to_string();
            ("POST a query".to_owned(), programs::gh_post(host, "graphql", &body))
        }
        GitHubProgramCall::Post(path, body) => {
            (format!("POST {path}"), programs::gh_post(host, path, &body.to_string()))
        }
    };
    let text = answer.map_err(|why| gh_failed(host, &what, &why, call))?;
    serde_json::from_str(&text).map_err(|error| match call {
        GitHubProgramCall::Get(_) | GitHubProgramCall::Query(_) => {
            ForgeError::Unreadable { request: what.clone(), message: error.to_string() }
        }
        // The ticket may exist, even if the response is unreadable.
        GitHubProgramCall::Post(..) => {
            ForgeError::Ambiguous { request: what.clone(), message: error.to_string() }
        }
    })
}

fn path_of(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
}

/// The error by the status at the end of the message of `gh`: `gh: Not Found (HTTP 404)`.
fn gh_failed(host: &str, what: &str, gh_message: &str, call: &GitHubProgramCall) -> ForgeError {
    let (what, host) = (what.to_owned(), host.to_owned());
    let status = gh_message.rsplit_once("(HTTP ").and_then(|(_, rest)| rest.get(..3)?.parse().ok());
    let message = crh_review::one_line(gh_message);
    match (status, call) {
        (Some(401), _) => ForgeError::BadToken { host, message },
        (Some(403), _) => ForgeError::Forbidden { request: what, message, needs: None },
        (Some(404 | 410), _) => ForgeError::NotFound { request: what },
        (Some(status @ 400..=499), _) => ForgeError::Refused { request: what, status, message },
        (Some(_) | None, GitHubProgramCall::Get(_) | GitHubProgramCall::Query(_)) => {
            ForgeError::Unreachable { host, message }
        }
        (Some(_) | None, GitHubProgramCall::Post(..)) => {
            ForgeError::Ambiguous { request: what, message }
        }
    }
}

impl TicketCommand {
    /// Passes an issue to the command. The command itself has to detect duplicates, by the
    /// `dedupe_key`.
    pub(super) fn file(
        &self,
        ticket: &TrackerTicket,
        issue: &Issue,
        report: &Report,
    ) -> Result<FiledTicket, String> {
        let TrackerTicket { title, body, labels, dedupe_key, instance } = ticket;
        let change = &report.change;
        let fields = json!({
            "title": title, "body": body, "labels": labels, "dedupe_key": dedupe_key, "instance": instance,
            "severity": issue.severity, "category": issue.category, "confidence": issue.confidence,
            "file": issue.location.file, "line": issue.location.line_start, "line_end": issue.location.line_end,
            "number": issue.number, "reviewers": issue.reviewers, "run_id": report.run_id,
            "repo": change.repo, "pr_number": change.pr_number, "head_sha": change.head_sha,
        });
        let input = stable_json_line(&fields).map_err(|error| error.to_string())?;
        let job = ProgramCall {
            program: &self.program,
            arguments: &self.arguments,
            input: &input,
            removed_variables: &self.withheld,
        };
        let output = programs::run_program(&job)
            .map_err(|why| format!("`tracker.command` failed: {why}"))?;
        let first = output.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let url: String = crh_review::one_line(first.trim()).chars().take(ADDRESS_MAX).collect();
        Ok(FiledTicket { url, already_filed: false })
    }
}

fn is_set(value: &SecretString) -> bool {
    !value.expose_secret().trim().is_empty()
}

/// Short timeouts: a user is waiting.
fn network(environment: &Environment) -> NetworkSettings {
    NetworkSettings { timeouts: crh_forge::github::TIMEOUTS, ..environment.network_settings() }
}

#[cfg(test)]
mod tests;
