//! Settings of a worker.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use secrecy::SecretString;

use crate::{
    forges::RestAccess,
    job::ChangeId,
    queue::{RetryPolicy, StrangerPolicy},
    run_store::RunStore,
    store::{BudgetLimits, MicroUsd},
};

/// Settings of a worker. The command line and the configuration fill them.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    /// Name, unique per process, such as `HOST-PID`.
    pub name: String,
    /// Version of crh, for the page.
    pub version: String,
    /// Jobs that run at once.
    pub slots: u32,
    /// Path of the program `crh`.
    pub program: PathBuf,
    /// State folder of this machine: one folder per installation.
    pub state: PathBuf,
    /// Store that gets a copy of every posted run, for all machines.
    pub runs: Option<RunStore>,
    /// Length of a lease. The worker renews it after each third of this time.
    pub lease: Duration,
    /// Interval between two polls of an empty queue.
    pub poll: Duration,
    /// Time for running jobs to end after a request to shut down. Jobs that still run go back to
    /// the queue.
    pub shutdown: Duration,
    /// How failed jobs run again.
    pub retry: RetryPolicy,
    /// Limits of repositories and installations.
    pub limits: BudgetLimits,
    /// Highest cost of one review.
    pub max_cost: MicroUsd,
    /// Time limits of the children.
    pub timeouts: StepTimeouts,
    /// Whether crh reviews pull requests of strangers without approval.
    pub strangers: StrangerPolicy,
    /// Days after which run folders and ended jobs are deleted.
    pub keep_days: u32,
    /// Variables that all children get: `PATH`, proxies, certificates, language. No secrets.
    pub environment: Vec<(String, String)>,
    /// Addresses of GitHub, such as `GITHUB_API_URL`, for the children that talk to it. No
    /// secrets.
    pub forge_environment: Vec<(String, String)>,
    /// Variable that carries GitHub's token, such as `GITHUB_TOKEN`.
    pub token_variable: String,
    /// Addresses and token variables of forges other than GitHub, by host name.
    pub rest_forges: BTreeMap<String, RestForgeChildren>,
    /// File with keys of models, one `NAME=VALUE` per line, read before each child that calls
    /// models.
    pub model_keys: Option<PathBuf>,
    /// Keys and addresses of models, only for children that call models.
    pub model_environment: Vec<(String, SecretString)>,
    /// More arguments of `crh review`, such as `--model`.
    pub review_arguments: Vec<String>,
    /// More arguments of `crh post`, such as `--request-changes`.
    pub post_arguments: Vec<String>,
}

/// How children reach a forge with a plain REST API.
#[derive(Debug, Clone)]
pub struct RestForgeChildren(Arc<RestAccess>);

impl RestForgeChildren {
    /// Children that use this access.
    pub fn new(access: &Arc<RestAccess>) -> Self {
        Self(access.clone())
    }

    /// Variable with the address of the server. Children need it to read addresses of changes, also
    /// without a token.
    pub(super) fn server(&self) -> (String, SecretString) {
        let names = self.0.forge().rest_profile().server_variables;
        (first(names), self.0.host().web().to_owned().into())
    }

    /// Name of the variable with the token.
    pub(super) fn token_variable(&self) -> String {
        first(self.0.forge().rest_profile().token_variables)
    }
}

fn first(names: &[&str]) -> String {
    names.first().copied().unwrap_or_default().to_owned()
}

/// How `crh prepare` and `crh post` name a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangeArguments {
    pub(super) prepare: String,
    pub(super) post: Vec<String>,
}

/// Time limits of the children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepTimeouts {
    /// Fetching the change, or checking a fix.
    pub prepare: Duration,
    /// The review, or the answer to a reply. `crh review` has its own, shorter limit.
    pub review: Duration,
    /// Posting, or deciding outcomes.
    pub post: Duration,
}

impl Default for StepTimeouts {
    fn default() -> Self {
        Self {
            prepare: Duration::from_secs(15 * 60),
            review: Duration::from_secs(70 * 60),
            post: Duration::from_secs(10 * 60),
        }
    }
}

impl WorkerSettings {
    /// The usual settings of a worker with this name, program and state folder.
    pub fn new(name: &str, program: PathBuf, state: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            version: String::new(),
            slots: 2,
            program,
            state,
            runs: None,
            lease: Duration::from_secs(60),
            poll: Duration::from_secs(1),
            shutdown: Duration::from_secs(30),
            retry: RetryPolicy::default(),
            limits: BudgetLimits::default(),
            max_cost: MicroUsd(2_000_000),
            timeouts: StepTimeouts::default(),
            strangers: StrangerPolicy::default(),
            keep_days: 90,
            environment: Vec::new(),
            forge_environment: Vec::new(),
            token_variable: "GITHUB_TOKEN".to_owned(),
            rest_forges: BTreeMap::new(),
            model_keys: None,
            model_environment: Vec::new(),
            review_arguments: Vec::new(),
            post_arguments: Vec::new(),
        }
    }

    /// How children name a change.
    pub(super) fn change_arguments(&self, change: &ChangeId) -> ChangeArguments {
        let ChangeId { forge, repository, number } = change;
        let (prepare, post) = match self.rest_forges.get(forge) {
            Some(RestForgeChildren(access)) => {
                let (url, sink) = (access.change_url(change), access.forge().name().name());
                (url.clone(), ["--sink", sink, "--proposal", &url].map(str::to_owned))
            }
            None => (
                format!("{repository}#{number}"),
                ["--repo", repository, "--pr", number].map(str::to_owned),
            ),
        };
        ChangeArguments { prepare, post: post.into() }
    }

    pub(super) fn lease_ms(&self) -> i64 {
        i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX)
    }
}
