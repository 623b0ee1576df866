//! One GitHub that is asked as one account, for as long as a command takes.

use std::hash::{BuildHasher, RandomState};

use secrecy::SecretString;
use tokio::runtime::Runtime;

use super::token::APP_KEY;
use super::{default_host, token, variables};
use crate::config::environment::{Environment, GITHUB_APP};
use crate::config::keys::Settings;
use crate::failure::{Failure, Kind, OrFail};
use crate::{input, ui};
use crh_forge::github::post::{
    Beside, Outcome, Posting, Refusal, Request, SarifError, Waits, carry_out, carry_out_beside,
    planned_beside,
};
use crh_forge::github::{
    App, AppError, Cache, Client, Credentials, Host, Name, NewPull, Repo, Setup, Standing,
    TIMEOUTS, open_pull, read,
};
use crh_forge::{ForgeError, Proposal, RetryPolicy};
use crh_http::Network;
use crh_pipeline::sinks::PostAs;

/// What a token needs to read a pull request.
const TO_READ: &str = "to read, it needs `Contents: read` and `Pull requests: read`; `Checks: read`, `Commit statuses: read` and `Issues: read` only show more";

/// The largest file of a key, in bytes: a long one has a twentieth of it.
const KEY_MAX: u64 = 64 << 10;

/// Where answers are kept, in the folder of the store.
const ANSWERS: &str = "github";

/// One GitHub, asked as one account.
pub(crate) struct Hub {
    client: Client,
    runtime: Runtime,
}

impl Hub {
    /// A way to ask a GitHub about a repository. Nothing is asked yet.
    pub(crate) fn open(
        host: &Host,
        repo: &Repo,
        environment: &Environment,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let default = default_host(environment)?;
        let credentials = credentials(host, &default, repo, environment)?;
        let setup = Setup {
            host: host.clone(),
            credentials,
            cache: Cache::at(settings.store_folder.value.path()?.join(ANSWERS)),
            retry: RetryPolicy::default(),
            now: Environment::clock,
            // Runs that were turned away together must not come back together.
            seed: RandomState::new().hash_one(()),
        };
        let network = Network { timeouts: TIMEOUTS, ..environment.network() };
        let client = Client::new(&network, setup).or_fail(Kind::Usage)?;
        client.tell_waits(ui::note);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self { client, runtime: runtime.or_fail(Kind::Outside)? })
    }

    /// What asks, for a purpose that has a file of its own.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Whether there is anything to ask a GitHub with.
    pub(crate) fn has_key(host: &Host, environment: &Environment) -> Result<bool, Failure> {
        let default = default_host(environment)?;
        let is_app = host.name() == default.name() && environment.variable(GITHUB_APP[0]).is_some();
        Ok(is_app || token(host, &default, environment).is_some())
    }

    /// Reads a pull request.
    pub(crate) fn read(
        &self,
        name: &Name,
        instance: &str,
    ) -> Result<(Proposal, Standing), ForgeError> {
        self.runtime.block_on(read::proposal(&self.client, name, instance))
    }

    /// The open pull requests of a branch, the newest first.
    pub(crate) fn open_pulls(
        &self,
        repo: &Repo,
        owner: &str,
        branch: &str,
    ) -> Result<Vec<Name>, ForgeError> {
        self.runtime.block_on(read::open_pulls_of_branch(&self.client, repo, owner, branch))
    }

    /// Opens a pull request; its address.
    pub(crate) fn open_pull(&self, repo: &Repo, new: &NewPull) -> Result<String, ForgeError> {
        self.runtime.block_on(open_pull(&self.client, repo, new))
    }

    /// The token that git takes along. An App is lent one for an hour at a time, so that it is asked for at each fetch.
    pub(crate) fn token(&self) -> Result<SecretString, ForgeError> {
        self.runtime.block_on(self.client.git_token())
    }

    /// Posts a review: reads what stands, writes what is missing, and reads again where it is not known what was written.
    pub(crate) fn post(&self, name: &Name, posting: &Posting<'_>) -> Result<Outcome, ForgeError> {
        self.runtime.block_on(carry_out(&self.client, name, posting, &Waits::default()))
    }

    /// Shows a review beside the conversation.
    pub(crate) fn post_beside(
        &self,
        name: &Name,
        posting: &Posting<'_>,
        beside: Beside,
    ) -> Result<Outcome, ForgeError> {
        self.runtime.block_on(carry_out_beside(&self.client, name, posting, beside))
    }

    /// What would be written for that, or why nothing would.
    pub(crate) fn planned_beside(
        &self,
        name: &Name,
        posting: &Posting<'_>,
        beside: Beside,
    ) -> Result<Result<Vec<Request>, Refusal>, SarifError> {
        self.runtime.block_on(planned_beside(&self.client, name, posting, beside))
    }

    /// What is left of the limits, in a sentence.
    pub(crate) fn shown_limits(&self) -> String {
        let limits = self.client.limits();
        let shown = limits.iter().map(|limit| {
            format!("{} of {} requests to `{}`", limit.remaining, limit.limit, limit.resource)
        });
        let shown: Vec<String> = shown.collect();
        match shown.as_slice() {
            [] => format!("`{}` says nothing about limits", self.client.host().name()),
            shown => format!("`{}` leaves {}", self.client.host().name(), shown.join(", ")),
        }
    }
}

/// As whom a GitHub is asked: as an App if there is one, else with the token for that host.
fn credentials(
    host: &Host,
    default: &Host,
    repo: &Repo,
    environment: &Environment,
) -> Result<Credentials, Failure> {
    if let Some(id) = environment.variable(GITHUB_APP[0]).filter(|_| host.name() == default.name())
    {
        let key = app_key(environment)?;
        let app = App::new(&id.to_string_lossy(), &key, repo.clone());
        let app = app.map_err(|error| {
            let hint = match error {
                AppError::Id => format!("`{}` holds it", GITHUB_APP[0]),
                AppError::Key => format!("`{APP_KEY}` or `{}` holds it", GITHUB_APP[1]),
            };
            Failure::new(Kind::Usage, error).hint(hint)
        })?;
        return Ok(Credentials::App(Box::new(app)));
    }
    match token(host, default, environment) {
        Some(found) => Ok(Credentials::Token(found.token)),
        None => {
            let variables = variables(host, default, environment);
            Err(Failure::usage(format!("there is no token for `{}`", host.name())).hint(format!(
                "set {variables}, or log in with `gh auth login --hostname {}`; {TO_READ}",
                host.name()
            )))
        }
    }
}

/// The key of the App: its text, or the file it is in.
fn app_key(environment: &Environment) -> Result<SecretString, Failure> {
    if let Some(key) = environment.secrets([APP_KEY]).remove(APP_KEY) {
        return Ok(key);
    }
    let Some(file) = environment.variable(GITHUB_APP[1]) else {
        return Err(Failure::usage(format!(
            "`{}` is set, and no key of the App is",
            GITHUB_APP[0]
        ))
        .hint(format!("set `{}` or `{}`", APP_KEY, GITHUB_APP[1])));
    };
    let path = environment.folder.join(file);
    let bytes = input::bytes_named_by(GITHUB_APP[1], &path, KEY_MAX)?;
    // What is no text is no key: whoever reads it says so.
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}

/// Whose fault it is that a GitHub does not do what it is asked, and what to do about it.
pub(crate) fn failed(error: ForgeError) -> Failure {
    failed_for_want_of(error, TO_READ)
}

/// The same of what posts.
pub(super) fn failed_to_post(error: ForgeError, form: PostAs) -> Failure {
    let needed = match form {
        PostAs::Review => "to post a review, the token needs `Pull requests: write`",
        PostAs::Comment => "to post a comment, the token needs `Issues: write`",
        PostAs::CheckRun => {
            "to make a check run, the token of an App or of Actions needs `Checks: write`"
        }
        PostAs::CodeScanning => "to show alerts, the token needs `Code scanning alerts: write`",
    };
    failed_for_want_of(error, &format!("{needed}; {TO_READ}"))
}

/// The same of what opens a pull request.
pub(super) fn failed_to_open(error: ForgeError) -> Failure {
    failed_for_want_of(error, "to open a pull request, the token needs `Pull requests: write`")
}

fn failed_for_want_of(error: ForgeError, permissions: &str) -> Failure {
    let (kind, hint) = match &error {
        ForgeError::BadToken { .. } => (
            Kind::Usage,
            Some("`crh doctor` shows which token is used; make a new one if it has ended"),
        ),
        ForgeError::Forbidden { .. } | ForgeError::NotFound { .. } => {
            (Kind::Outside, Some(permissions))
        }
        ForgeError::RateLimited { .. } => (Kind::Outside, Some("try again later")),
        ForgeError::Refused { .. }
        | ForgeError::Ambiguous { .. }
        | ForgeError::TooLarge { .. }
        | ForgeError::Bazaar { .. }
        | ForgeError::Unreadable { .. } => (Kind::Outside, None),
        ForgeError::Failing { .. } | ForgeError::Unreachable { .. } => (
            Kind::Outside,
            Some("proxies and certificates come from the environment, as for other programs"),
        ),
    };
    let failure = Failure::new(kind, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
