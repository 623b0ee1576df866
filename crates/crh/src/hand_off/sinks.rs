//! The places that a ticket can go to, with what each needs: keys from the environment, a repository at GitHub, a command.

use std::collections::VecDeque;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::detect::{Named, Tracker};
use crate::commands::forge::Forge;
use crate::commands::github::Hub;
use crate::commands::review::Begun;
use crate::commands::{github, models};
use crate::config::environment::Environment;
use crate::config::keys::Settings;
use crate::programs::Job;
use crate::{programs, ui};
use crh_forge::ForgeError;
use crh_forge::github::{Host, Repo};
use crh_forge::tracker::{
    Asked, Filed, GitHubIssues, Jira, JiraAccount, LINEAR, Linear, LinearAccount, Ticket,
};
use crh_http::{BaseUrl, Network};
use crh_review::report::{Issue, Report};
use crh_review::stable_json_line;

/// The key of Linear.
const LINEAR_KEY: &str = "LINEAR_API_KEY";
/// Where the Jira is, the account, and its token.
const JIRA: [&str; 3] = ["JIRA_BASE_URL", "JIRA_EMAIL", "JIRA_API_TOKEN"];

/// The variables that hold secrets of trackers: what is printed and stored shows none of them, and git sees none.
pub(crate) const SECRETS: [&str; 2] = [LINEAR_KEY, JIRA[2]];

/// As much of what a command says as is an address or an id.
const SAID_MAX: usize = 500;

/// A place that a ticket can go to.
pub(super) enum Sink {
    /// By our own client.
    GitHub(GitHubIssues),
    /// By GitHub's own client.
    Gh(GitHubIssues),
    Linear(Linear),
    Jira(Jira),
    Command(TicketCommand),
}

/// A program of the user's that files tickets.
pub(super) struct TicketCommand {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// Variables that it does not get to see.
    pub(super) withheld: Vec<String>,
}

/// Who may be asked. A command of the user's asks whom it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Everybody,
    /// It was said that nothing goes over the network.
    Nobody,
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

    /// Its name, for people.
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

/// The repository at GitHub whose issues are meant: the one that the change is proposed to, or that of a remote.
pub(super) fn repository(begun: &Begun, environment: &Environment) -> Option<(Host, Repo)> {
    match begun.pull.as_ref().map(|pull| &pull.at) {
        Some(Forge::GitHub { name, .. }) => Some((name.host.clone(), name.repo.clone())),
        Some(Forge::Launchpad { .. }) | None => github::of_folder(environment),
    }
}

/// What can be tried, in order, and why the rest cannot. Nothing is asked yet.
pub(super) fn chain(
    named: Option<Named>,
    at_github: Option<&(Host, Repo)>,
    settings: &Settings,
    environment: &Environment,
) -> (VecDeque<Sink>, Vec<String>) {
    let reach = if settings.git_offline.value { Reach::Nobody } else { Reach::Everybody };
    let (mut sinks, mut missing) = (VecDeque::new(), Vec::new());
    if reach == Reach::Nobody {
        missing.push("nobody is asked offline".to_owned());
    }
    let mut add = |sink: Result<Sink, String>| match sink {
        Ok(sink) => sinks.push_back(sink),
        Err(why) => missing.push(why),
    };
    for tracker in order(named.map(|named| named.tracker), reach) {
        match (tracker, at_github) {
            (Tracker::Linear, _) => add(linear(settings, environment)),
            (Tracker::Jira, _) => add(jira(settings, environment)),
            (Tracker::Command, _) => add(command(settings).map(Sink::Command)),
            (Tracker::GitHub, Some(at)) => {
                add(by_client(at, settings, environment));
                add(by_gh(at));
            }
            (Tracker::GitHub, None) => add(Err("there is no repository at GitHub".to_owned())),
        }
    }
    (sinks, missing)
}

/// The trackers to try: the project's own, then GitHub, then the user's command. Linear and Jira are tried only where they are named.
fn order(named: Option<Tracker>, reach: Reach) -> Vec<Tracker> {
    let own = named.into_iter();
    let usual = [Tracker::GitHub, Tracker::Command].into_iter();
    let all = own.chain(usual.filter(|tracker| named != Some(*tracker)));
    let is_within = |tracker: &Tracker| match (reach, tracker) {
        (Reach::Everybody, _) | (Reach::Nobody, Tracker::Command) => true,
        (Reach::Nobody, Tracker::GitHub | Tracker::Linear | Tracker::Jira) => false,
    };
    all.filter(is_within).collect()
}

fn linear(settings: &Settings, environment: &Environment) -> Result<Sink, String> {
    let key = environment.secrets([LINEAR_KEY]).remove(LINEAR_KEY).filter(is_set);
    let key = key.ok_or_else(|| format!("Linear needs `{LINEAR_KEY}`"))?;
    let team = settings.tracker_team.value.get().ok_or("Linear needs `tracker.team`")?.to_owned();
    let base = LINEAR.parse::<BaseUrl>().map_err(|error| error.to_string())?;
    let made = Linear::new(&network(environment), LinearAccount { base, key, team });
    made.map(Sink::Linear).map_err(|error| format!("Linear: {error}"))
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
    let made = Jira::new(&network(environment), account);
    made.map(Sink::Jira).map_err(|error| format!("Jira: {error}"))
}

fn command(settings: &Settings) -> Result<TicketCommand, String> {
    let (program, arguments) =
        settings.tracker_command.value.get().ok_or("there is no `tracker.command`")?;
    let keys = models::key_variables(settings).map_err(|failure| failure.error.to_string())?;
    let withheld = keys.into_iter().collect();
    Ok(TicketCommand { program: program.to_owned(), arguments: arguments.to_vec(), withheld })
}

fn by_client(
    (host, repo): &(Host, Repo),
    settings: &Settings,
    environment: &Environment,
) -> Result<Sink, String> {
    let failed =
        |failure: crate::failure::Failure| ui::on_one_line(&format!("{:#}", failure.error));
    if !Hub::has_key(host, environment).map_err(failed)? {
        return Err(format!("there is no token for `{}`", host.name()));
    }
    let hub = Hub::open(host, repo, environment, settings).map_err(failed)?;
    Ok(Sink::GitHub(GitHubIssues::by_client(hub.client(), repo.clone())))
}

fn by_gh((host, repo): &(Host, Repo)) -> Result<Sink, String> {
    // That is what `gh auth status` would say, without a word to the network.
    if programs::gh_token(host.name()).is_none() {
        return Err(format!("`gh` is not logged in at `{}`", host.name()));
    }
    let name = host.name().to_owned();
    let ask = move |asked: &Asked| gh_api(&name, asked);
    Ok(Sink::Gh(GitHubIssues::by_program(Box::new(ask), repo.clone())))
}

/// Asks GitHub by its own client.
fn gh_api(host: &str, asked: &Asked) -> Result<Value, ForgeError> {
    let (what, answer) = match asked {
        Asked::Get(path) => (format!("GET {}", path_of(path)), programs::gh_get(host, path)),
        Asked::Query(query) => {
            let body = json!({ "query": query }).to_string();
            ("POST a query".to_owned(), programs::gh_post(host, "graphql", &body))
        }
        Asked::Post(path, body) => {
            (format!("POST {path}"), programs::gh_post(host, path, &body.to_string()))
        }
    };
    let text = answer.map_err(|why| gh_failed(host, &what, &why, asked))?;
    serde_json::from_str(&text).map_err(|error| match asked {
        Asked::Get(_) | Asked::Query(_) => {
            ForgeError::Unreadable { what: what.clone(), message: error.to_string() }
        }
        // It was made, whatever the answer looks like.
        Asked::Post(..) => ForgeError::Ambiguous { what: what.clone(), message: error.to_string() },
    })
}

fn path_of(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
}

/// What went wrong, by the status that `gh` ends its sentence with: `gh: Not Found (HTTP 404)`.
fn gh_failed(host: &str, what: &str, said: &str, asked: &Asked) -> ForgeError {
    let (what, host) = (what.to_owned(), host.to_owned());
    let status = said.rsplit_once("(HTTP ").and_then(|(_, rest)| rest.get(..3)?.parse().ok());
    let message = ui::on_one_line(said);
    match (status, asked) {
        (Some(401), _) => ForgeError::BadToken { host, message },
        (Some(403), _) => ForgeError::Forbidden { what, message, needs: None },
        (Some(404 | 410), _) => ForgeError::NotFound { what },
        (Some(status @ 400..=499), _) => ForgeError::Refused { what, status, message },
        (Some(_) | None, Asked::Get(_) | Asked::Query(_)) => {
            ForgeError::Unreachable { host, message }
        }
        (Some(_) | None, Asked::Post(..)) => ForgeError::Ambiguous { what, message },
    }
}

impl TicketCommand {
    /// Hands an issue over. Whether it has a ticket already is for the command to see, by its key.
    pub(super) fn file(
        &self,
        ticket: &Ticket,
        issue: &Issue,
        report: &Report,
    ) -> Result<Filed, String> {
        let Ticket { title, body, labels, dedupe_key, instance } = ticket;
        let change = &report.change;
        let told = json!({
            "title": title, "body": body, "labels": labels, "dedupe_key": dedupe_key, "instance": instance,
            "severity": issue.severity, "category": issue.category, "confidence": issue.confidence,
            "file": issue.location.file, "line": issue.location.line_start, "line_end": issue.location.line_end,
            "number": issue.number, "reviewers": issue.reviewers, "run_id": report.run_id,
            "repo": change.repo, "pr_number": change.pr_number, "head_sha": change.head_sha,
        });
        let input = stable_json_line(&told).map_err(|error| error.to_string())?;
        let job = Job {
            program: &self.program,
            arguments: &self.arguments,
            input: &input,
            withheld: &self.withheld,
        };
        let said =
            programs::done(&job).map_err(|why| format!("`tracker.command` failed: {why}"))?;
        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let url: String = ui::on_one_line(first.trim()).chars().take(SAID_MAX).collect();
        Ok(Filed { url, was_there: false })
    }
}

fn is_set(value: &SecretString) -> bool {
    !value.expose_secret().trim().is_empty()
}

/// A tracker answers a person who waits.
fn network(environment: &Environment) -> Network {
    Network { timeouts: crh_forge::github::TIMEOUTS, ..environment.network() }
}

#[cfg(test)]
mod tests;
