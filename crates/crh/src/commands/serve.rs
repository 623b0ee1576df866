//! `crh serve`: webhooks, the web page and workers in one process.

mod demo;
mod traces;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use secrecy::{ExposeSecret, SecretString};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use super::{github, models};
use crate::cli::{
    AppArgs, LogFormatArg, RestForgeArgs, ServeArgs, ServeLimitArgs, ServeReviewArgs, SignInArgs,
    StrangersArg,
};
use crate::config;
use crate::config::environment::{Environment, GITHUB_APP_VARIABLES};
use crate::config::keys;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::ForgeName;
use crh_server::comment_jobs::CommentJobRunner;
use crh_server::forges::{RestAccess, RestAccessSettings, ServerForges};
use crh_server::github_app::{GitHubAccess, GitHubAppSettings, SecretSource};
use crh_server::http::{HttpServer, HttpSettings, OAuthSettings, SignIn, StartError};
use crh_server::logs::LogFormat;
use crh_server::queue::StrangerPolicy;
use crh_server::run_store::{self, RunStore};
use crh_server::store::{BudgetLimits, DatabaseUrl, MicroUsd, ScopeLimits, Store, StoreError};
use crh_server::webhook::plan::WebhookRules;
use crh_server::worker::{RestForgeChildren, StopReason, StopSignal, Worker, WorkerSettings};

/// Variables with secrets of the server.
const APP_KEY: &str = "CRH_GITHUB_APP_KEY";
const WEBHOOK_SECRET: &str = "CRH_WEBHOOK_SECRET";
const PAGE_TOKEN: &str = "CRH_PAGE_TOKEN";
const CLIENT_SECRET: &str = "CRH_CLIENT_SECRET";
const DATABASE: &str = "CRH_DATABASE";

const GUIDE: &str = "`crh serve --help` explains the options";

/// Everything that a server needs.
struct ServerParts {
    store: Store,
    access: ServerForges,
    worker: WorkerSettings,
    http: HttpSettings,
}

pub(crate) fn run(args: ServeArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    run_with_log(args.log, environment, serve(args, environment))
}

/// Runs a command that serves until a signal ends it.
pub(super) fn run_with_log(
    format: LogFormatArg,
    environment: &Environment,
    command: impl Future<Output = Result<(), Failure>>,
) -> Result<ExitCode, Failure> {
    let format = match format {
        LogFormatArg::Text => LogFormat::Text,
        LogFormatArg::Json => LogFormat::Json,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.or_fail(FailureKind::External)?;
    let traces = traces::start_logging(format, runtime.handle(), environment)?;
    let result = runtime.block_on(command);
    traces.finish();
    result?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(args: ServeArgs, environment: &Environment) -> Result<(), Failure> {
    if args.demo {
        return demo::serve(args, environment).await;
    }
    let parts = assemble(&args, environment).await?;
    note_missing_model(&parts.worker);
    RunningServer::start(parts, args.listen).await?.run_until_signal().await
}

/// A server that answers requests and runs jobs.
struct RunningServer {
    address: SocketAddr,
    store: Store,
    stop: StopSignal,
    worker: Option<JoinHandle<()>>,
    http: JoinHandle<()>,
}

impl RunningServer {
    async fn start(parts: ServerParts, listen: SocketAddr) -> Result<Self, Failure> {
        let ServerParts { store, access, worker, http } = parts;
        let slots = worker.slots;
        let label = http.rules.label.clone();
        let server = HttpServer::bind(listen, store.clone(), access.clone(), http).await;
        let server = server.map_err(start_failure)?;
        let address = server.address();
        ui::note(&format!("crh listens on http://{address}"));
        let stop = StopSignal::default();
        let worker = (slots > 0).then(|| {
            let comments = CommentJobRunner::new(access.clone(), label);
            let worker = Worker::new(store.clone(), worker, access, comments);
            tokio::spawn(worker.run(stop.clone()))
        });
        let http_stop = stop.clone();
        let http = tokio::spawn(server.serve(async move { http_stop.stopped().await }));
        Ok(Self { address, store, stop, worker, http })
    }

    async fn run_until_signal(self) -> Result<(), Failure> {
        wait_for_signal().await?;
        ui::note("crh stops: running reviews end or go back to the queue");
        self.stop.stop(StopReason::Shutdown);
        if let Some(worker) = self.worker {
            worker.await.or_fail(FailureKind::Bug)?;
        }
        // The server would not end by itself, because browsers keep the stream of events open.
        self.http.abort();
        self.store.close().await;
        Ok(())
    }
}

pub(super) async fn wait_for_signal() -> Result<(), Failure> {
    let listen =
        |kind| signal(kind).context("cannot listen for signals").or_fail(FailureKind::External);
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

async fn assemble(args: &ServeArgs, environment: &Environment) -> Result<ServerParts, Failure> {
    let state = state_folder(args.state.as_deref(), environment)?;
    let access = forges(&args.app, &args.forges, Some(&args.forge_secret), environment)?;
    if args.sign_in.client_id.is_some() && !access.rest().is_empty() {
        return Err(Failure::usage("sign-in with GitHub cannot be combined with `--forge`")
            .hint("use `--page-token`; people of other forges cannot sign in"));
    }
    let limits = limits(&args.limits);
    let worker = worker_settings(&args.reviews, &args.limits, &state, &access, environment)?;
    let http = HttpSettings {
        webhook_secret: webhook_secret(args, &access, environment)?,
        rules: WebhookRules {
            strangers: stranger_policy(args.reviews.strangers),
            label: args.reviews.label.clone(),
        },
        public_url: args.public_url.as_deref().map(parse_public_url).transpose()?,
        sign_in: sign_in(&args.sign_in, environment)?,
        state_folder: state.clone(),
        runs: worker.runs.clone(),
        limits,
    };
    let url = database_url(args.database.as_deref(), &state, environment)?;
    let store = open_store(&url).await?;
    Ok(ServerParts { store, access, worker, http })
}

/// The folder of the server. Only its user can read it.
pub(super) fn state_folder(
    named: Option<&Path>,
    environment: &Environment,
) -> Result<PathBuf, Failure> {
    use std::os::unix::fs::DirBuilderExt;
    let folder = match named {
        Some(folder) => environment.folder.join(folder),
        None => {
            let settings = config::load(environment, None, RawSettings::default())?;
            settings.state_folder.value.path()?.join("server")
        }
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("cannot create `{}`", folder.display()))
        .or_fail(FailureKind::External)?;
    Ok(folder)
}

fn webhook_secret(
    args: &ServeArgs,
    access: &ServerForges,
    environment: &Environment,
) -> Result<Option<SecretSource>, Failure> {
    let file = args.webhook_secret.as_deref();
    let secret = || required_secret(file, WEBHOOK_SECRET, "--webhook-secret", environment);
    access.github().map(|_| secret()).transpose()
}

/// The forges of the server: GitHub if there is an App, and those of `--forge`. `secrets` names the
/// files of webhook secrets. It is `None` for a worker, which needs none.
pub(super) fn forges(
    app: &AppArgs,
    args: &RestForgeArgs,
    secrets: Option<&[(String, String)]>,
    environment: &Environment,
) -> Result<ServerForges, Failure> {
    let from_variable = || {
        environment.variable(GITHUB_APP_VARIABLES[0]).map(|id| id.to_string_lossy().into_owned())
    };
    let id = app.app_id.clone().or_else(from_variable);
    if id.is_none() && args.forge.is_empty() {
        return Err(Failure::usage("the id of the GitHub App is missing").hint(format!(
            "for GitHub, set `--app-id` or `{}`; for another forge, pass `--forge`, such as `--forge gitlab=https://gitlab.com`; {GUIDE}",
            GITHUB_APP_VARIABLES[0]
        )));
    }
    let names: Vec<&str> = ForgeName::all_rest().map(|forge| forge.name().name()).collect();
    let files = args.forge.iter().chain(&args.forge_token).chain(secrets.into_iter().flatten());
    if let Some((name, _)) = files.into_iter().find(|(name, _)| !names.contains(&name.as_str())) {
        return Err(Failure::usage(format!("`{name}` is not the name of a forge"))
            .hint(format!("use one of `{}`", names.join("`, `"))));
    }
    let github = id.map(|id| app_access(id, app, environment)).transpose()?;
    let mut rest = Vec::new();
    for forge in ForgeName::all_rest() {
        let forge_name = forge.name().name();
        let named = |list: &[(String, String)]| {
            let of_forge =
                |(name, value): &(String, String)| (name == forge_name).then(|| value.clone());
            list.iter().find_map(of_forge)
        };
        let Some(server) = named(&args.forge) else { continue };
        let secret = |list: &[(String, String)], flag: &str, word: &str| {
            let variable = format!("CRH_{}_{word}", forge_name.to_ascii_uppercase());
            let file = named(list).map(PathBuf::from);
            let flag = format!("{flag} {forge_name}=FILE");
            required_secret(file.as_deref(), &variable, &flag, environment)
        };
        let settings = RestAccessSettings {
            forge,
            server,
            token: secret(&args.forge_token, "--forge-token", "TOKEN")?,
            webhook_secret: secrets
                .map(|secrets| secret(secrets, "--forge-secret", "WEBHOOK_SECRET"))
                .transpose()?,
            network: environment.network_settings(),
            now: Environment::clock,
        };
        rest.push(Arc::new(RestAccess::new(settings).or_fail(FailureKind::Usage)?));
    }
    Ok(ServerForges::new(github, rest))
}

fn app_access(
    id: String,
    args: &AppArgs,
    environment: &Environment,
) -> Result<Arc<GitHubAccess>, Failure> {
    let key_file = environment.variable(GITHUB_APP_VARIABLES[1]).map(PathBuf::from);
    let key_file = args.app_key.clone().or(key_file);
    let key = required_secret(key_file.as_deref(), APP_KEY, "--app-key", environment)?;
    let settings = GitHubAppSettings {
        host: github::default_host(environment)?,
        id,
        key,
        network: environment.network_settings(),
        now: Environment::clock,
    };
    GitHubAccess::new(settings)
        .map(Arc::new)
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint(GUIDE))
}

fn optional_secret(
    file: Option<&Path>,
    variable: &str,
    environment: &Environment,
) -> Option<SecretSource> {
    match file {
        Some(file) => Some(SecretSource::File(environment.folder.join(file))),
        None => {
            let secret = environment.secrets([variable]).remove(variable);
            let is_set = |secret: &SecretString| !secret.expose_secret().trim().is_empty();
            secret.filter(is_set).map(SecretSource::Value)
        }
    }
}

fn required_secret(
    file: Option<&Path>,
    variable: &str,
    flag: &str,
    environment: &Environment,
) -> Result<SecretSource, Failure> {
    let source = optional_secret(file, variable, environment).ok_or_else(|| {
        Failure::usage(format!("a secret is missing: `{flag}`"))
            .hint(format!("name a file with `{flag}`, or set `{variable}`; {GUIDE}"))
    })?;
    source.read().or_fail(FailureKind::Usage).map_err(|failure| {
        failure.hint(format!("`{flag}` names a file with the secret; {GUIDE}"))
    })?;
    Ok(source)
}

fn sign_in(args: &SignInArgs, environment: &Environment) -> Result<SignIn, Failure> {
    let github = match &args.client_id {
        None => None,
        Some(client_id) => Some(OAuthSettings {
            client_id: client_id.clone(),
            client_secret: required_secret(
                args.client_secret.as_deref(),
                CLIENT_SECRET,
                "--client-secret",
                environment,
            )?,
            network: environment.network_settings(),
        }),
    };
    Ok(SignIn {
        token: optional_secret(args.page_token.as_deref(), PAGE_TOKEN, environment),
        github,
    })
}

fn parse_public_url(text: &str) -> Result<String, Failure> {
    let url: crh_http::BaseUrl =
        text.parse().map_err(|error| Failure::usage(format!("`--public-url` {error}")))?;
    if !url.is_origin() {
        return Err(Failure::usage("`--public-url` must not have a path"));
    }
    Ok(url.as_str().to_owned())
}

fn database_url(
    named: Option<&str>,
    state: &Path,
    environment: &Environment,
) -> Result<DatabaseUrl, Failure> {
    let named = named_database(named, environment)?;
    Ok(named.unwrap_or_else(|| DatabaseUrl::Sqlite(state.join("server.db"))))
}

/// The database of the flag or the variable.
pub(super) fn named_database(
    named: Option<&str>,
    environment: &Environment,
) -> Result<Option<DatabaseUrl>, Failure> {
    let variable = environment.secrets([DATABASE]).remove(DATABASE);
    let text = named.map(str::to_owned).or(variable.map(|url| url.expose_secret().to_owned()));
    let parse = |text: String| DatabaseUrl::parse(&text).or_fail(FailureKind::Usage);
    text.map(parse).transpose().map_err(|failure| {
        failure.hint("such as `sqlite:/var/lib/crh/server.db`, or `postgres://USER@HOST/DATABASE`")
    })
}

/// Longest wait for the database, which may start at the same time as the server.
const DATABASE_WAIT: Duration = Duration::from_secs(60);

/// Opens the database. Waits for a PostgreSQL server that does not answer yet.
pub(super) async fn open_store(url: &DatabaseUrl) -> Result<Store, Failure> {
    let start = Instant::now();
    let mut has_note = false;
    loop {
        let error = match Store::open(url).await {
            Ok(store) => return Ok(store),
            Err(error) => error,
        };
        let may_come =
            matches!((&error, url), (StoreError::Unavailable(_), DatabaseUrl::Postgres(_)));
        if !may_come || start.elapsed() > DATABASE_WAIT {
            let hint = format!("check the database at {}", url.place());
            return Err(Failure::new(FailureKind::External, error).hint(hint));
        }
        if !has_note {
            let (place, seconds) = (url.place(), DATABASE_WAIT.as_secs());
            ui::note(&format!(
                "waiting up to {seconds} seconds for the database at {place}: {error}"
            ));
            has_note = true;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn stranger_policy(choice: StrangersArg) -> StrangerPolicy {
    match choice {
        StrangersArg::Ask => StrangerPolicy::NeedApproval,
        StrangersArg::Review => StrangerPolicy::Review,
    }
}

fn limits(args: &ServeLimitArgs) -> BudgetLimits {
    BudgetLimits {
        repository: ScopeLimits {
            concurrent_reviews: args.concurrent_reviews,
            reviews_per_day: args.reviews_per_day,
            usd_per_day: args.usd_per_day.map(MicroUsd::from_usd),
            usd_per_month: args.usd_per_month.map(MicroUsd::from_usd),
        },
        installation: ScopeLimits {
            usd_per_day: args.installation_usd_per_day.map(MicroUsd::from_usd),
            usd_per_month: args.installation_usd_per_month.map(MicroUsd::from_usd),
            ..ScopeLimits::default()
        },
    }
}

/// Settings of the workers. Child processes get only the environment variables in these settings.
pub(super) fn worker_settings(
    args: &ServeReviewArgs,
    limit_args: &ServeLimitArgs,
    state: &Path,
    access: &ServerForges,
    environment: &Environment,
) -> Result<WorkerSettings, Failure> {
    let program = environment.program.clone().ok_or_else(|| {
        Failure::new(FailureKind::External, anyhow::anyhow!("cannot find the program `crh` itself"))
    })?;
    let settings = config::load(environment, None, RawSettings::default())?;
    let model_environment = models::model_variables(&settings, environment)?;
    let model_keys = args.model_keys.as_ref().map(|file| environment.folder.join(file));
    if let Some(file) = &model_keys {
        fs::read_to_string(file)
            .with_context(|| format!("cannot read the keys of models in `{}`", file.display()))
            .or_fail(FailureKind::Usage)?;
    }
    let name = format!("{}-{}", host_name(), std::process::id());
    let github = access.github().map(|github| github.host());
    let variables = github.into_iter().flat_map(|host| {
        [
            ("GITHUB_SERVER_URL", host.server()),
            ("GITHUB_API_URL", host.api()),
            ("GITHUB_GRAPHQL_URL", host.graphql()),
        ]
    });
    let rest = access.rest().iter();
    let rest = rest.map(|rest| (rest.host().name().to_owned(), RestForgeChildren::new(rest)));
    Ok(WorkerSettings {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        slots: args.workers,
        shutdown: Duration::from_secs(args.shutdown_seconds),
        limits: limits(limit_args),
        max_cost: MicroUsd::from_usd(limit_args.max_cost),
        strangers: stranger_policy(args.strangers),
        keep_days: args.keep_days,
        environment: environment.child_variables(keys::variables()),
        forge_environment: variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        rest_forges: rest.collect(),
        runs: args.runs.as_deref().map(|url| open_runs(url, environment)).transpose()?,
        model_keys,
        model_environment,
        ..WorkerSettings::new(&name, program, state.to_owned())
    })
}

fn open_runs(url: &str, environment: &Environment) -> Result<RunStore, Failure> {
    let variables = environment.secrets(run_store::VARIABLES);
    RunStore::open(url, &variables, &environment.network_settings())
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("`crh serve --help` shows the values of `--runs`"))
}

/// Prints at the start that no key of a model is set, so that the operator does not learn it only
/// from the first report.
pub(super) fn note_missing_model(settings: &WorkerSettings) {
    if settings.slots > 0 && settings.model_environment.is_empty() && settings.model_keys.is_none()
    {
        ui::note(
            "no key of a model is set: without a local model, reviews run only the static checks; `crh doctor` lists the variables",
        );
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn start_failure(error: StartError) -> Failure {
    match error {
        StartError::OpenPage(_) => Failure::new(FailureKind::Usage, error).hint(
            "set `--page-token`, or `--client-id` and `--public-url`, or listen on 127.0.0.1",
        ),
        StartError::ShortToken => {
            Failure::new(FailureKind::Usage, error).hint("create one with `openssl rand -hex 32`")
        }
        StartError::Listen { .. } => Failure::new(FailureKind::External, error)
            .hint("choose another address with `--listen`"),
        StartError::Random | StartError::Templates(_) => Failure::new(FailureKind::Bug, error),
        StartError::Secret(_) => Failure::new(FailureKind::Usage, error),
    }
}
