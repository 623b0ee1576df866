//! `crh tool`: calls one of the agents' tools by hand.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::analysers::{ChangeTrust, Reproducible, analysers};
use super::store;
use crate::cli::ToolArgs;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, input, ui};
use crh_git::{BareRepository, Repository};
use crh_pipeline::pack::{PackError, PackedChange};
use crh_pipeline::revisions::Revisions;
use crh_pipeline::tools;
use crh_pipeline::tools::{ToolContext, ToolError};
use crh_pipeline::workspace::Workspace;
use crh_review::stable_json;

/// The only tool that runs a linter.
const RUFF: &str = "run_ruff";

/// The failure if a tool cannot open the repository. The tool opens the repository at its first use
/// and can return only a text, so it stores the failure here.
pub(super) type OpenFailure = Arc<Mutex<Option<Failure>>>;

pub(crate) fn run(args: ToolArgs, environment: &Environment) -> Result<(), Failure> {
    let Some(name) = &args.name else {
        return ui::result_text(&stable_json(&tools::catalogue()).or_fail(FailureKind::Bug)?);
    };
    let packed =
        args.packed.as_deref().map(PackedChange::open).transpose().map_err(archive_failure)?;
    let open_failure = OpenFailure::default();
    let context = match (&packed, &args.workspace) {
        (Some(packed), _) => context_for_archive(packed)?,
        (None, Some(folder)) => {
            context_for_workspace(folder, args.repo.as_deref(), environment, &open_failure)?
        }
        (None, None) => ToolContext::new(),
    };
    let context = match name.as_str() {
        RUFF => {
            let settings = config::load(environment, None, RawSettings::default())?;
            let repo = args.repo.as_deref();
            let trust = match packed.is_some() || args.workspace.is_some() {
                true => ChangeTrust::Never,
                false => ChangeTrust::IfListed,
            };
            context.with_analysers(analysers(&settings, environment, repo, trust, Reproducible::No))
        }
        _ => context,
    };
    let arguments = match args.arguments.as_str() {
        "-" => {
            let bytes = input::bytes(Path::new("-"))?;
            String::from_utf8(bytes).or_fail(FailureKind::Usage)?
        }
        text => text.to_owned(),
    };
    match tools::call(name, &arguments, &context) {
        Ok(mut reply) => {
            // A model gets the raw text. On a terminal, control characters are escaped.
            if ui::stdout_is_terminal() {
                reply = crh_review::escape_invisible(&reply);
            }
            if !reply.ends_with('\n') {
                reply.push('\n');
            }
            ui::result_text(&reply)
        }
        Err(ToolError::TellModel(message)) => {
            Err(Failure::usage(message).hint("`crh tool --list` shows the arguments of each tool"))
        }
        Err(ToolError::Abort(message)) if args.workspace.is_none() && packed.is_none() => {
            Err(Failure::usage(message)
                .hint("create one with `crh prepare --out DIR` and pass it with `--workspace DIR`"))
        }
        Err(ToolError::Abort(message)) => {
            let failure = open_failure.lock().ok().and_then(|mut failure| failure.take());
            Err(failure.unwrap_or_else(|| {
                Failure::new(FailureKind::External, anyhow::anyhow!("{message}"))
            }))
        }
    }
}

fn context_for_archive(packed: &PackedChange) -> Result<ToolContext, Failure> {
    let workspace = packed.workspace().or_fail(FailureKind::Usage)?;
    let commits = commits(&workspace);
    let context = ToolContext::new().with_workspace(workspace);
    let (Some(bare), Some((base, head))) = (packed.objects(), commits) else { return Ok(context) };
    Ok(context.with_repository(move || {
        Revisions::new(bare, &base, &head).map_err(|error| ToolError::Abort(error.to_string()))
    }))
}

pub(super) fn context_for_workspace(
    folder: &Path,
    repo: Option<&Path>,
    environment: &Environment,
    open_failure: &OpenFailure,
) -> Result<ToolContext, Failure> {
    let workspace = Workspace::open(folder)
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("create a workspace with `crh prepare --out DIR`"))?;
    let commits = commits(&workspace);
    let context = ToolContext::new().with_workspace(workspace);
    let Some((base, head)) = commits else { return Ok(context) };
    let repo: PathBuf = repo.unwrap_or(&environment.folder).to_owned();
    let (environment, open_failure) = (environment.clone(), open_failure.clone());
    Ok(context.with_repository(move || {
        revisions(&repo, &environment, &base, &head).map_err(|failure| {
            let message = format!("{:#}", failure.error);
            if let Ok(mut slot) = open_failure.lock() {
                *slot = Some(failure);
            }
            ToolError::Abort(message)
        })
    }))
}

/// Base and head commit of a workspace; none for a diff.
pub(super) fn commits(workspace: &Workspace) -> Option<(String, String)> {
    let round = workspace.latest()?;
    round.base_rev.clone().zip(round.head_rev.clone())
}

/// Opens both commits in crh's own bare copy of the repository.
pub(super) fn revisions(
    repo: &Path,
    environment: &Environment,
    base: &str,
    head: &str,
) -> Result<Revisions, Failure> {
    let repo_hint = "set the repository of the workspace with `--repo DIR`";
    let repository = Repository::discover(repo)
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint(repo_hint))?;
    let settings = config::load(environment, None, RawSettings::default())?;
    let bare = BareRepository::new(&store::folder(&settings, &repository)?);
    // Use the store that `crh prepare` has filled, without calling git.
    if let Ok(revisions) = Revisions::new(bare.clone(), base, head) {
        return Ok(revisions);
    }
    store::open(&settings, &repository)?;
    Revisions::new(bare, base, head).map_err(|_| {
        let repo = repo.display();
        Failure::usage(format!("the commits of the workspace are not in `{repo}`")).hint(repo_hint)
    })
}

pub(super) fn archive_failure(error: PackError) -> Failure {
    Failure::new(FailureKind::Usage, error).hint("create one with `crh prepare --pack FILE`")
}
