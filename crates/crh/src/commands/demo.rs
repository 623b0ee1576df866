//! `crh demo`: a small repository with a change that has real defects, reviewed by the static reviewers and a recording of
//! a model. It needs no key and no network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

use super::review;
use super::review::{Questions, Wanted};
use crate::cli::{
    AnalyserFlags, CacheFlags, DemoArgs, ModeArg, ModelFlags, OutputArgs, PanelArgs, PreparedArgs,
    PromptArgs, SarifFlags, TargetArgs, TrustArgs,
};
use crate::config::analysers::AnalysersChoice;
use crate::config::environment::Environment;
use crate::config::key::Given;
use crate::config::keys::RawSettings;
use crate::config::review::{FailOn, StrategyChoice};
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_git::{Written, throw_away};
use crh_review::verdict::Asked;

/// What the model said when it was asked: a recording, bound to the prompts and to this change.
const RECORDING: &str = include_str!("../../demo/recording.jsonl");
/// Where the recording lies while it is played, next to the repository.
const RECORDING_FILE: &str = "recording.jsonl";
const REPOSITORY: &str = "tickets";

const BASE: Written<'_> = Written {
    message: "A help desk",
    files: &[
        ("README.md", include_str!("../../demo/base/README.md")),
        ("tickets/api.py", include_str!("../../demo/base/tickets/api.py")),
        ("tickets/notify.py", include_str!("../../demo/base/tickets/notify.py")),
        ("tickets/store.py", include_str!("../../demo/base/tickets/store.py")),
    ],
};
const CHANGE: Written<'_> = Written {
    message: "Search, page counts, and a login for the mail server\n\nCustomers can search their tickets by words of the title.\n",
    files: &[
        ("tickets/api.py", include_str!("../../demo/change/tickets/api.py")),
        ("tickets/notify.py", include_str!("../../demo/change/tickets/notify.py")),
        ("tickets/store.py", include_str!("../../demo/change/tickets/store.py")),
    ],
};

pub(crate) fn run(args: DemoArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let passing =
        tempfile::tempdir().context("making a temporary folder").or_fail(Kind::Outside)?;
    let folder = match &args.keep {
        Some(folder) => kept(&environment.folder.join(folder))?,
        None => passing.path().to_owned(),
    };
    let repository = folder.join(REPOSITORY);
    let recording = folder.join(RECORDING_FILE);
    let laid_out = fs::create_dir(&repository).and_then(|()| fs::write(&recording, RECORDING));
    laid_out.with_context(|| format!("using `{}`", folder.display())).or_fail(Kind::Outside)?;
    throw_away(&repository, &BASE, "search", &CHANGE).or_fail(Kind::Outside)?;
    let played = format!("replay:{}", recording.display());
    if args.model.is_none() {
        ui::note(
            "this is a demonstration: the change is made up, and the model's part is played from a recording",
        );
    }
    let mut flags = RawSettings::default();
    ModelFlags::named(args.model.unwrap_or(played)).set(&mut flags)?;
    args.look.set(&mut flags);
    // What is recorded is a panel, whatever the user has set.
    flags.review_strategy = Some(Given::by_flag("--strategy", StrategyChoice::Panel));
    // What is shown must not depend on what is installed.
    AnalyserFlags::chosen(AnalysersChoice::Never).set(&mut flags);
    // That the change has defects is what is shown here, and no failure. That nobody could look at it is one.
    flags.review_fail_on = Some(Given::by_flag("--fail-on", FailOn::Never));
    let wanted = Wanted {
        asked: Asked::Review,
        target: TargetArgs {
            mode: mode(args.keep.as_deref()).into_iter().collect(),
            ..TargetArgs::default()
        },
        prepared: PreparedArgs::default(),
        estimate: false,
        output: OutputArgs::shown_as(args.format),
        panel: PanelArgs::default(),
        prompts: PromptArgs {
            record: args.record.map(|file| environment.folder.join(file)),
            ..PromptArgs::default()
        },
        trust: TrustArgs::default(),
        sarif: SarifFlags::default(),
        cache: CacheFlags::default(),
        flags,
        questions: Questions::ToNobody,
    };
    let there = environment.elsewhere(&repository, &folder);
    review::run(wanted, &there)
}

/// Without a folder to keep there is no run folder either, so that nobody is sent to one that is gone.
fn mode(keep: Option<&Path>) -> Option<ModeArg> {
    match keep {
        Some(_) => None,
        None => Some(ModeArg::ReportOnly),
    }
}

/// A folder that the user wants to keep: a new one, so that nothing of theirs is touched.
fn kept(folder: &Path) -> Result<PathBuf, Failure> {
    fs::create_dir(folder)
        .with_context(|| format!("making the folder `{}`", folder.display()))
        .or_fail(Kind::Usage)
        .map_err(|failure| failure.hint("name a folder that is not there yet"))?;
    folder.canonicalize().or_fail(Kind::Outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_change_changes_files_that_were_there() {
        for (path, text) in CHANGE.files {
            let before = BASE.files.iter().find(|(before, _)| before == path);
            assert!(before.is_some_and(|(_, before)| before != text), "{path}");
        }
    }

    #[test]
    fn a_folder_that_is_there_is_not_touched() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("new");
        assert_eq!(kept(&folder).unwrap(), folder.canonicalize().unwrap());
        let failure = kept(&folder).unwrap_err();
        assert_eq!(failure.kind, Kind::Usage);
        assert_eq!(failure.hint.as_deref(), Some("name a folder that is not there yet"));
    }
}
