//! `crh demo`: reviews a built-in example change with real defects, using static checks and a
//! recorded model. Needs no API key and no network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

use super::review::ReviewCommand;
use super::review::fixing::Questions;
use super::{review, run_lookup};
use crate::cli::{
    AnalyserFlags, CacheFlags, DemoArgs, ModeArg, ModelFlags, OutputArgs, PanelArgs, PromptArgs,
    SarifFlags, TargetArgs, TrustArgs, WorkspaceArgs,
};
use crate::config::analysers::AnalysersChoice;
use crate::config::environment::Environment;
use crate::config::key::SourcedValue;
use crate::config::keys::RawSettings;
use crate::config::review::{FailOn, StrategyChoice};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{config, ui};
use crh_git::{DemoCommit, create_demo_repository};
use crh_os::names::canonical;
use crh_pipeline::run_folder::StampKey;
use crh_review::verdict::CommandKind;

/// Recorded model exchanges, which match only the current prompts and this change.
pub(super) const RECORDING: &str = include_str!("../../demo/recording.jsonl");
/// File name of the recording, next to the example repository.
pub(super) const RECORDING_FILE: &str = "recording.jsonl";
const REPOSITORY: &str = "tickets";

pub(super) const BASE: DemoCommit<'_> = DemoCommit {
    message: "A help desk",
    files: &[
        ("README.md", include_str!("../../demo/base/README.md")),
        ("tickets/api.py", include_str!("../../demo/base/tickets/api.py")),
        ("tickets/notify.py", include_str!("../../demo/base/tickets/notify.py")),
        ("tickets/store.py", include_str!("../../demo/base/tickets/store.py")),
    ],
};
pub(super) const CHANGE: DemoCommit<'_> = DemoCommit {
    message: "Search, page counts, and a login for the mail server\n\nCustomers can search their tickets by words of the title.\n",
    files: &[
        ("tickets/api.py", include_str!("../../demo/change/tickets/api.py")),
        ("tickets/notify.py", include_str!("../../demo/change/tickets/notify.py")),
        ("tickets/store.py", include_str!("../../demo/change/tickets/store.py")),
    ],
};

pub(crate) fn run(args: DemoArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let temporary = tempfile::tempdir()
        .context("cannot create a temporary folder")
        .or_fail(FailureKind::External)?;
    let folder = match &args.keep {
        Some(folder) => create_kept_folder(&environment.folder.join(folder))?,
        None => temporary.path().to_owned(),
    };
    let repository = folder.join(REPOSITORY);
    let recording = folder.join(RECORDING_FILE);
    let result = fs::create_dir(&repository).and_then(|()| fs::write(&recording, RECORDING));
    result
        .with_context(|| format!("cannot write to `{}`", folder.display()))
        .or_fail(FailureKind::External)?;
    create_demo_repository(&repository, &BASE, &[("search", &CHANGE)])
        .or_fail(FailureKind::External)?;
    let replay_model = format!("replay:{}", recording.display());
    if args.model.is_none() {
        ui::note(
            "this is a demo: the change is an example, and the model's answers come from a recording",
        );
    }
    let mut flags = RawSettings::default();
    ModelFlags::with_model(args.model.unwrap_or(replay_model)).set(&mut flags)?;
    args.display.set(&mut flags);
    // The recording is of a panel, so the user's strategy is ignored.
    flags.review_strategy = Some(SourcedValue::from_flag("--strategy", StrategyChoice::Panel));
    // The output must not depend on installed linters.
    AnalyserFlags::with_choice(AnalysersChoice::Never).set(&mut flags);
    // The defects of the example do not fail the command, but an incomplete review does.
    flags.review_fail_on = Some(SourcedValue::from_flag("--fail-on", FailOn::Never));
    let request = ReviewCommand {
        description: None,
        kind: CommandKind::Review,
        target: TargetArgs {
            mode: mode(args.keep.as_deref()).into_iter().collect(),
            ..TargetArgs::default()
        },
        prepared: WorkspaceArgs::default(),
        estimate: false,
        output: OutputArgs::with_format(args.format),
        panel: PanelArgs::default(),
        prompts: PromptArgs {
            record: args.record.map(|file| environment.folder.join(file)),
            ..PromptArgs::default()
        },
        trust: TrustArgs::default(),
        sarif: SarifFlags::default(),
        cache: CacheFlags::default(),
        flags,
        questions: Questions::Never,
    };
    let demo_environment = environment.isolated(&repository, &folder);
    let result = review::run(request, &demo_environment)?;
    if args.keep.is_some()
        && let Err(failure) = stamp_kept_run(&demo_environment, environment)
    {
        let why = crh_review::one_line(&format!("{:#}", failure.error));
        ui::warn(&format!("`crh dismiss` and `crh show` will not use the run: {why}"));
    }
    Ok(result)
}

/// Replaces the stamp of the run by one with the user's key. Later commands read only runs with
/// such a stamp, and the demo has its own key.
fn stamp_kept_run(demo: &Environment, user: &Environment) -> Result<(), Failure> {
    let settings = config::load(user, None, RawSettings::default())?;
    let state = settings.state_folder.value.path()?;
    let key = StampKey::load_or_create(state).or_fail(FailureKind::External)?;
    let (run_dir, newest) = (None, None);
    let run = run_lookup::own_run_folder(demo, run_dir, newest)?;
    key.write_stamp(run.path()).or_fail(FailureKind::External)
}

/// Without `--keep` there is no run folder, because it would be deleted with the repository.
fn mode(keep: Option<&Path>) -> Option<ModeArg> {
    match keep {
        Some(_) => None,
        None => Some(ModeArg::ReportOnly),
    }
}

/// Creates the folder of `--keep`, which must not exist yet.
fn create_kept_folder(folder: &Path) -> Result<PathBuf, Failure> {
    fs::create_dir(folder)
        .with_context(|| format!("cannot create the folder `{}`", folder.display()))
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("name a new folder"))?;
    canonical(folder).or_fail(FailureKind::External)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demo_change_modifies_existing_files() {
        for (path, text) in CHANGE.files {
            let base_file = BASE.files.iter().find(|(base_path, _)| base_path == path);
            assert!(base_file.is_some_and(|(_, base_text)| base_text != text), "{path}");
        }
    }

    #[test]
    fn existing_folder_is_rejected() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("new");
        assert_eq!(create_kept_folder(&folder).unwrap(), folder.canonicalize().unwrap());
        let failure = create_kept_folder(&folder).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Usage);
        assert_eq!(failure.hint.as_deref(), Some("name a new folder"));
    }
}
