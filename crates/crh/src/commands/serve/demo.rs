//! `crh serve --demo`: the whole server on a loopback address, with a small forge of its own and a
//! recorded model. Everything is in a temporary folder, which is deleted at the end.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{RunningServer, ServerParts, WEBHOOK_SECRET, limits, stranger_policy, worker_settings};
use crate::cli::ServeArgs;
use crate::commands::demo::{BASE, CHANGE, RECORDING, RECORDING_FILE};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::github::GitHubHost;
use crh_git::{DemoCommit, Git, create_demo_repository};
use crh_http::NetworkSettings;
use crh_pipeline::prompts::fence;
use crh_review::identity::content_id;
use crh_server::demo::{APP_KEY, DemoContent, DemoForge, DemoPull, UploadPack};
use crh_server::forges::ServerForges;
use crh_server::github_app::{GitHubAccess, GitHubAppSettings, SecretSource};
use crh_server::http::{HttpSettings, SignIn};
use crh_server::session::Sessions;
use crh_server::store::{DatabaseUrl, Store};
use crh_server::webhook::plan::WebhookRules;

const REPOSITORY: &str = "demo/tickets";

/// Author of the example change. The recording has this name in its questions.
const AUTHOR: &str = "crh demo";

/// A change by a first-time contributor.
const STRANGERS_CHANGE: DemoCommit<'_> = DemoCommit {
    message: "Say how to start the help desk\n",
    files: &[("HOWTO.md", "# How to\n\nRun `python3 -m tickets.api`.\n")],
};

pub(super) async fn serve(args: ServeArgs, environment: &Environment) -> Result<(), Failure> {
    let folder = tempfile::tempdir()
        .context("cannot create a temporary folder")
        .or_fail(FailureKind::External)?;
    let secret = webhook_secret(environment)?;
    let forge = DemoForge::start(create_content(folder.path())?).await;
    let forge =
        forge.context("cannot start the forge of the demo").or_fail(FailureKind::External)?;
    let parts = assemble(&args, folder.path(), &forge, &secret, environment).await?;
    ui::note(
        "this is a demo: the forge has an example repository, and the model's answers come from a recording",
    );
    let server = RunningServer::start(parts, args.listen).await?;
    forge
        .announce(server.address, &secret.into())
        .await
        .map_err(|error| Failure::new(FailureKind::External, anyhow!(error)))?;
    ui::note(&format!("crh reviews {} and posts its comments there", forge.pull_url(1)));
    ui::note("Ctrl-C ends the demo and deletes its files");
    server.run_until_signal().await
}

/// The secret that signs webhook deliveries: the value of the variable, with which the user can
/// send more deliveries, or a random one.
fn webhook_secret(environment: &Environment) -> Result<String, Failure> {
    if let Some(secret) = environment.secrets([WEBHOOK_SECRET]).remove(WEBHOOK_SECRET) {
        return Ok(secret.expose_secret().to_owned());
    }
    let random = Sessions::new().and_then(|sessions| sessions.random_text());
    random.ok_or_else(|| anyhow!("the system has no random numbers")).or_fail(FailureKind::External)
}

/// Creates the repository with a pull request of a member and one of a stranger.
fn create_content(folder: &Path) -> Result<DemoContent, Failure> {
    let repository = folder.join("tickets");
    fs::create_dir(&repository).or_fail(FailureKind::External)?;
    let git_failed = |error| Failure::new(FailureKind::External, error);
    let branches = [("search", &CHANGE), ("how-to", &STRANGERS_CHANGE)];
    create_demo_repository(&repository, &BASE, &branches).map_err(git_failed)?;
    let git = Git::in_folder(&repository);
    let pull = |number: u64, author: &str, branch: &str, commit: &DemoCommit<'_>| {
        let (title, body) = commit.message.split_once('\n').unwrap_or((commit.message, ""));
        let files = commit.files.iter().map(|(path, _)| {
            let diff =
                git.text(["diff", "--no-ext-diff", "--no-textconv", "main", branch, "--", path])?;
            let hunks = diff.find("\n@@ ").map_or("", |start| &diff[start + 1..]);
            Ok(((*path).to_owned(), hunks.to_owned()))
        });
        let is_member = author == AUTHOR;
        Ok(DemoPull {
            number,
            title: title.to_owned(),
            body: body.trim().to_owned(),
            author: author.to_owned(),
            association: if is_member { "MEMBER" } else { "FIRST_TIME_CONTRIBUTOR" }.to_owned(),
            head_repository: if is_member { REPOSITORY } else { "eve/tickets" }.to_owned(),
            branch: branch.to_owned(),
            head: git.text(["rev-parse", branch])?,
            base: git.text(["rev-parse", "main"])?,
            files: files.collect::<Result<_, crh_git::GitError>>()?,
        })
    };
    let pulls = vec![
        pull(1, AUTHOR, "search", &CHANGE).map_err(git_failed)?,
        pull(2, "eve", "how-to", &STRANGERS_CHANGE).map_err(git_failed)?,
    ];
    Ok(DemoContent {
        repository: REPOSITORY.to_owned(),
        pulls,
        upload_pack: upload_pack(repository),
    })
}

/// Answers git's requests for a fetch over HTTP.
fn upload_pack(repository: PathBuf) -> UploadPack {
    Box::new(move |protocol, request| {
        let git = Git::in_folder(&repository)
            .with_setting("uploadpack.allowAnySHA1InWant=true")
            .with_variable("GIT_PROTOCOL", protocol);
        let mut arguments = vec!["upload-pack", "--stateless-rpc"];
        arguments.extend(request.is_none().then_some("--advertise-refs"));
        arguments.push(".");
        git.run_with_input(arguments, request.unwrap_or_default())
            .map_err(|error| error.to_string())
    })
}

async fn assemble(
    args: &ServeArgs,
    folder: &Path,
    forge: &DemoForge,
    secret: &str,
    environment: &Environment,
) -> Result<ServerParts, Failure> {
    let state = folder.join("server");
    fs::create_dir(&state).or_fail(FailureKind::External)?;
    let recording = folder.join(RECORDING_FILE);
    let text = recording_with_address(&forge.pull_url(1)).ok_or_else(|| {
        Failure::new(FailureKind::Bug, anyhow!("the recording of the demo is not readable"))
    })?;
    fs::write(&recording, text).or_fail(FailureKind::External)?;
    let host =
        GitHubHost::from_variables(Some(&forge.url()), None, None).or_fail(FailureKind::Bug)?;
    let access = GitHubAccess::new(GitHubAppSettings {
        host,
        id: "1".to_owned(),
        key: SecretSource::Value(APP_KEY.into()),
        network: NetworkSettings::default(),
        now: Environment::clock,
    });
    let access = ServerForges::from(Arc::new(access.or_fail(FailureKind::Bug)?));
    // Settings, keys and proxies of the user do not change the demo.
    let demo_environment = environment.isolated(folder, folder);
    let mut worker =
        worker_settings(&args.reviews, &args.limits, &state, &access, &demo_environment)?;
    let path = environment.variable("PATH").map(|path| path.to_string_lossy().into_owned());
    worker.environment = path.map(|path| ("PATH".to_owned(), path)).into_iter().collect();
    worker.model_environment.clear();
    let model = format!("replay:{}", recording.display());
    // The recording is of a panel, and the output must not depend on installed linters.
    worker.review_arguments = ["--model", &model, "--strategy", "panel", "--analysers", "never"]
        .map(str::to_owned)
        .into();
    let http = HttpSettings {
        webhook_secret: Some(SecretSource::Value(secret.into())),
        rules: WebhookRules {
            strangers: stranger_policy(args.reviews.strangers),
            label: args.reviews.label.clone(),
        },
        public_url: None,
        sign_in: SignIn::default(),
        state_folder: state.clone(),
        runs: None,
        limits: limits(&args.limits),
    };
    let store = Store::open(&DatabaseUrl::Sqlite(state.join("server.db"))).await;
    Ok(ServerParts { store: store.or_fail(FailureKind::External)?, access, worker, http })
}

/// The recording of `crh demo`, with the address of the pull request in its questions. `crh demo`
/// recorded a review of the same change without a pull request, whose questions have no address.
fn recording_with_address(url: &str) -> Option<String> {
    let mut new_ids: BTreeMap<String, String> = BTreeMap::new();
    let mut text = String::new();
    for line in RECORDING.lines() {
        let mut line: Value = serde_json::from_str(line).ok()?;
        if let Some(piece) = line.get_mut("piece") {
            let question = piece["value"]["user"]["text"].as_str();
            if let Some(question) =
                question.and_then(|question| question_with_address(question, url))
            {
                piece["value"]["user"]["text"] = json!(question);
                // The id of a piece is the hash of its content.
                let id = content_id(piece["value"].to_string().as_bytes())[..16].to_owned();
                new_ids.insert(piece["id"].as_str()?.to_owned(), id.clone());
                piece["id"] = json!(id);
            }
        }
        if let Some(exchange) = line.get_mut("exchange") {
            for message in exchange["question"]["messages"].as_array_mut()? {
                if let Some(id) = message.as_str().and_then(|id| new_ids.get(id)) {
                    *message = json!(id);
                }
            }
        }
        text += &format!("{line}\n");
    }
    Some(text)
}

/// A question with the address after the title of the change; `None` if it does not name the title.
fn question_with_address(question: &str, url: &str) -> Option<String> {
    let (start, rest) = question.split_once(" kind=\"about\">\n")?;
    let (before, tag) = start.rsplit_once('<')?;
    let (about, after) = rest.split_once(&format!("</{tag}>"))?;
    let (title, others) = about.split_once('\n')?;
    Some(format!("{before}{}{after}", fence("about", &format!("{title}\nurl: {url}\n{others}"))))
}
