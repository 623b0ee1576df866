//! `crh tool`: calls one of the tools that agents have, by hand.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::analysers::{Recorded, Trust, analysers};
use super::store;
use crate::cli::ToolArgs;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, Kind, OrFail};
use crate::{config, input, ui};
use crh_git::{Bare, Repository};
use crh_pipeline::pack::{PackError, Packed};
use crh_pipeline::revisions::Revisions;
use crh_pipeline::tools;
use crh_pipeline::tools::{Bench, ToolError};
use crh_pipeline::workspace::Workspace;
use crh_review::stable_json;

/// The one tool that runs an analyser.
const RUFF: &str = "run_ruff";

/// Why the repository could not be opened. It is opened by the tool that needs it, which knows only that it failed.
pub(super) type NotOpened = Arc<Mutex<Option<Failure>>>;

pub(crate) fn run(args: ToolArgs, environment: &Environment) -> Result<(), Failure> {
    let Some(name) = &args.name else {
        return ui::result_text(&stable_json(&tools::catalogue()).or_fail(Kind::Bug)?);
    };
    let packed = args.packed.as_deref().map(Packed::open).transpose().map_err(no_archive)?;
    let not_opened = NotOpened::default();
    let bench = match (&packed, &args.workspace) {
        (Some(packed), _) => on_archive(packed)?,
        (None, Some(folder)) => on_folder(folder, args.repo.as_deref(), environment, &not_opened)?,
        (None, None) => Bench::new(),
    };
    let bench = match name.as_str() {
        RUFF => {
            let settings = config::load(environment, None, RawSettings::default())?;
            let repo = args.repo.as_deref();
            let trust = match packed.is_some() || args.workspace.is_some() {
                true => Trust::No,
                false => Trust::IfListed,
            };
            bench.with_analysers(analysers(&settings, environment, repo, trust, Recorded::No))
        }
        _ => bench,
    };
    let arguments = match args.arguments.as_str() {
        "-" => {
            let bytes = input::bytes(Path::new("-"))?;
            String::from_utf8(bytes).or_fail(Kind::Usage)?
        }
        given => given.to_owned(),
    };
    match tools::call(name, &arguments, &bench) {
        Ok(mut reply) => {
            // A model gets the text as it is; what is in a change may not act on a terminal.
            if ui::shows_to_person() {
                reply = crh_review::visible(&reply);
            }
            if !reply.ends_with('\n') {
                reply.push('\n');
            }
            ui::result_text(&reply)
        }
        Err(ToolError::TellModel(message)) => {
            Err(Failure::usage(message).hint("`crh tool --list` shows what each tool takes"))
        }
        Err(ToolError::Abort(message)) if args.workspace.is_none() && packed.is_none() => {
            Err(Failure::usage(message)
                .hint("`crh prepare --out DIR` writes one; give it with `--workspace DIR`"))
        }
        Err(ToolError::Abort(message)) => {
            let failure = not_opened.lock().ok().and_then(|mut failure| failure.take());
            Err(failure
                .unwrap_or_else(|| Failure::new(Kind::Outside, anyhow::anyhow!("{message}"))))
        }
    }
}

fn on_archive(packed: &Packed) -> Result<Bench, Failure> {
    let workspace = packed.workspace().or_fail(Kind::Usage)?;
    let ends = ends(&workspace);
    let bench = Bench::new().with_workspace(workspace);
    let (Some(bare), Some((base, head))) = (packed.objects(), ends) else { return Ok(bench) };
    Ok(bench.with_repository(move || {
        Revisions::new(bare, &base, &head).map_err(|error| ToolError::Abort(error.to_string()))
    }))
}

pub(super) fn on_folder(
    folder: &Path,
    repo: Option<&Path>,
    environment: &Environment,
    not_opened: &NotOpened,
) -> Result<Bench, Failure> {
    let workspace = Workspace::open(folder)
        .or_fail(Kind::Usage)
        .map_err(|failure| failure.hint("`crh prepare --out DIR` writes a workspace"))?;
    let ends = ends(&workspace);
    let bench = Bench::new().with_workspace(workspace);
    let Some((base, head)) = ends else { return Ok(bench) };
    let repo: PathBuf = repo.unwrap_or(&environment.folder).to_owned();
    let (environment, not_opened) = (environment.clone(), not_opened.clone());
    Ok(bench.with_repository(move || {
        revisions(&repo, &environment, &base, &head).map_err(|failure| {
            let message = format!("{:#}", failure.error);
            if let Ok(mut slot) = not_opened.lock() {
                *slot = Some(failure);
            }
            ToolError::Abort(message)
        })
    }))
}

/// The two commits of a workspace; none if it is only a diff.
pub(super) fn ends(workspace: &Workspace) -> Option<(String, String)> {
    let round = workspace.latest()?;
    round.base_rev.clone().zip(round.head_rev.clone())
}

/// Both commits, in the private store of a repository.
pub(super) fn revisions(
    repo: &Path,
    environment: &Environment,
    base: &str,
    head: &str,
) -> Result<Revisions, Failure> {
    let names_it = "`--repo DIR` names the repository of the workspace";
    let repository = Repository::discover(repo)
        .or_fail(Kind::Usage)
        .map_err(|failure| failure.hint(names_it))?;
    let settings = config::load(environment, None, RawSettings::default())?;
    let bare = Bare::new(&store::folder(&settings, &repository)?);
    // The store that `crh prepare` has left is used as it is, without asking git anything.
    if let Ok(revisions) = Revisions::new(bare.clone(), base, head) {
        return Ok(revisions);
    }
    store::open(&settings, &repository)?;
    Revisions::new(bare, base, head).map_err(|_| {
        let repo = repo.display();
        Failure::usage(format!("the commits of the workspace are not in `{repo}`")).hint(names_it)
    })
}

pub(super) fn no_archive(error: PackError) -> Failure {
    Failure::new(Kind::Usage, error).hint("`crh prepare --pack FILE` writes one")
}
